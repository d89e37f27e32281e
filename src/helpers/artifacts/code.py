"""The code that something was computed by, as one hash.

Work may be taken up again only if the code that it was made by is the code of now: sets of rendered
images, trained networks and studies have `made_by` in their keys.
"""

from collections.abc import Iterable
from pathlib import Path

from faceaudit.utils.files import hash_of_hashes
from helpers.artifacts import lineage, manifests

PINS_FILE = lineage.PACKAGE / "__init__.py"  # on whose values all numbers hang


def made_by(source: Path, packages: Iterable[str] = ("torch", "numpy")) -> str:
    """One SHA-256 over the code that computes something, and the versions of what it calls.

    Of our packages those modules count that the source needs (`lineage.dependencies`), and the pins
    of the processor.
    Modules that only draw, and `helpers.artifacts`, which keeps what others compute, do not count.

    Args:
        source: the module that computes.
        packages: whose versions count, of those that manifests record.
    """
    source = source.resolve()
    needed = lineage.dependencies(source)
    keeping = lineage.PACKAGE / "artifacts"
    modules = [path for path in (source, PINS_FILE, *needed.modules) if path.parent != keeping]
    exports = {stub: names for stub, names in needed.exports.items() if stub.parent != keeping}
    code = lineage.hashes_of_files(modules, drawing=False)
    code |= lineage.hashes_of_names(exports, drawing=False)
    return hash_of_hashes(code | {name: manifests.versions()[name] for name in packages})
