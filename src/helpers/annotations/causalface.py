"""CausalFace, the release of the verification paper (Liang et al. 2023): wide CSV and file names.

One CSV holds the ratings of one attribute. After a header row, every row is

    seed_<n>_race_<race>_gender_<gender>_age_0.png,<worker>,<score>,<worker>,<score>,...

with nine workers; scores are levels counted from 0 (gender 0-4, skin colour 0-5). Images lie in
`final_picked_<attribute>/seed_<n>/<race>_<gender>_<y, l, age, smiling>_<value>....png`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from helpers.annotations.ingest import Ingest, is_email, raw_frame, validate
from helpers.annotations.schema import ATTRIBUTES
from helpers.annotations.text import csv_records, read_text, wrong_format

SOURCE = "causalface"
EXPECTED = "a CausalFace CSV (image, worker, score, worker, score, ...)"

ANCESTRY = {"asian": "east asian", "black": "african", "white": "european"}
"""The release's names -> this book's three reference points; stylised, not the same thing."""
VARIATION = {"y": "pose", "l": "light", "age": "age", "smiling": "expression"}
"""The release's names -> this book's sequences."""

_FIELDS = {
    "missing image": "column 1",
    "missing annotator": "worker",
    "e-mail as annotator id": "worker",
    "unreadable time": "no times in this format",
}
_NUMBER = r"(-?\d+(?:\.\d+)?)"
_ROW_NAME = re.compile(
    rf"seed_(?P<seed>\d+)_race_(?P<race>[a-z]+)_gender_(?P<gender>[a-z]+)"
    rf"_(?P<attribute>y|l|age|smiling)_(?P<value>{_NUMBER})"
)
_FILE_NAME = re.compile(
    rf"seed_(?P<seed>\d+)/(?P<race>[a-z]+)_(?P<gender>[a-z]+)"
    rf"_(?P<attribute>y|l|age|smiling)_(?P<value>{_NUMBER})"
)


def read_causalface(path: str | Path, attribute: str, *, salt: str = "helpers") -> Ingest:
    """Read the ratings of one attribute from the release of Liang et al. (2023).

    Serves readers of chapter 16 who have the release.

    Args:
        path: the CSV file.
        attribute: that the file is about, a key of `schema.ATTRIBUTES`; the file does not say.
        salt: of the workers' hashes.

    Returns:
        The tidy table and the report of what was rejected, see `Ingest`; every answer counts
        as an assignment, and none has a time. Image ids are file names without extension, which
        `causalface_names` takes apart. Rows may have different numbers of workers.

    Raises:
        ValueError: the attribute is unknown, or the file is not such a CSV; names the file, the
            line and what was expected.

    Example:
        >>> import tempfile
        >>> from helpers import annotations
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     _ = file.write("image,worker,score\\n"
        ...                    "seed_3_race_white_gender_male_age_0.png,w1,4\\n")
        ...     file.flush()
        ...     annotations.read_causalface(file.name, "gender").frame["level"].tolist()
        [4]
    """
    if attribute not in ATTRIBUTES:
        raise ValueError(f"unknown attribute {attribute!r}, expected one of {list(ATTRIBUTES)}")
    path = Path(path)
    raw = raw_frame(list(_records(path, attribute)))
    return validate(raw, path, SOURCE, salt, _FIELDS)


def causalface_names(names: Iterable[str]) -> pd.DataFrame:
    """Take the release's file names apart (Liang et al. 2023).

    Serves readers of chapter 16 who have the release.

    Args:
        names: image ids of `read_causalface`, or paths that end in `seed_<n>/<file>`.

    Returns:
        One row per name, which is the index: `seed` (int), `group` (ancestry group and perceived
        gender, as `identities.GROUPS`), `attribute` ("pose", "light", "expression", "age") and
        `value` (float). Seeds and values are whatever the names hold.

    Raises:
        ValueError: a name is of neither form, or names another race or gender.

    Example:
        >>> from helpers import annotations
        >>> annotations.causalface_names(["seed_3/white_male_y_-22.5.png"]).values.tolist()
        [[3, 'european male', 'pose', -22.5]]
    """
    names = pd.Index(names, name="name")
    return pd.DataFrame([_parsed(name) for name in names], index=names)


def _parsed(name: str) -> dict[str, object]:
    found = _ROW_NAME.search(name) or _FILE_NAME.search(Path(name).as_posix())
    if not found or found["race"] not in ANCESTRY or found["gender"] not in ("female", "male"):
        raise ValueError(
            f"image name {name!r}: expected seed_<n>_race_<race>_gender_<gender>_<attribute>_"
            f"<value> or seed_<n>/<race>_<gender>_<attribute>_<value>, race one of "
            f"{list(ANCESTRY)}, gender female or male, attribute one of {list(VARIATION)}"
        )
    return {
        "seed": int(found["seed"]),
        "group": f"{ANCESTRY[found['race']]} {found['gender']}",
        "attribute": VARIATION[found["attribute"]],
        "value": float(found["value"]),
    }


def _records(path: Path, attribute: str) -> Iterator[tuple]:
    """Rows of `ingest.RAW_COLUMNS`; seats that nobody took are empty cells and are passed over."""
    records = csv_records(path, read_text(path, EXPECTED), EXPECTED)
    next(records)  # the header's names are not relied on
    number = 0
    for line, (name, *cells) in records:
        if not cells or len(cells) % 2:
            found = f"{len(cells)} cells after the image's name"
            raise wrong_format(path, line, EXPECTED, found)
        image_id = Path(name.strip()).stem
        if not _ROW_NAME.fullmatch(image_id):
            raise wrong_format(path, line, EXPECTED, f"the image name {name!r}")
        for seat, (worker, score) in enumerate(zip(cells[::2], cells[1::2], strict=True), start=1):
            if not worker.strip() and not score.strip():
                continue
            about = (worker, is_email(worker), None, None, "accepted", None, number, line)
            yield (image_id, attribute, _score(score), *about, f"score {seat}")
            number += 1


def _score(cell: str) -> str:
    """The score without the decimals that a spreadsheet adds to whole numbers."""
    return cell.strip().removesuffix(".0")
