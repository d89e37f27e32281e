"""The examples that come with the package: recorded tables, each with its audit file.

The people in these tables are invented, and the names of the tables say so (`invented-….csv`):
models and simulated raters were shown faces that the book's own face world drew.
"""

import shutil
from pathlib import Path

from faceaudit.utils.errors import InputError

EXAMPLES = Path(__file__).parent / "examples"
"""Folder of the examples in the package."""


def copy_examples(folder: Path) -> list[Path]:
    """Copy all examples into a folder, which is made.

    Args:
        folder: that is to hold them.

    Returns:
        The audit files there, in the order of their names.

    Raises:
        InputError: the folder has a file of one of these names already; none is copied then.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     [path.name for path in copy_examples(Path(folder))]
        ['pairs.yml', 'portraits.yml', 'table.yml']
    """
    files = sorted(path for path in EXAMPLES.iterdir() if path.suffix in (".csv", ".yml"))
    for file in files:
        if (folder / file.name).exists():
            raise InputError(
                f"{folder / file.name}: there is such a file already, and no example is written "
                "over it; name another folder",
                field="folder",
                found=folder / file.name,
                expected="a folder without files of these names",
            )
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copyfile(file, folder / file.name)
    return [folder / file.name for file in files if file.suffix == ".yml"]
