"""Annotations of the CausalFace release: a wide CSV file per attribute. See chapter 6."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from helpers.annotations.ingest import Ingest, validate
from helpers.annotations.raw import Notes, Source, identity, is_email, parts
from helpers.annotations.schema import ATTRIBUTES
from helpers.annotations.text import csv_rows, opened, wrong_format

SOURCE = "causalface"
EXPECTED = "a CausalFace table (a header; then an image and pairs of worker and score a row)"
_IMAGE = re.compile(r"seed_\d+_race_(asian|black|white)_gender_(female|male)_age_\d+\.png")


def read_causalface(path: str | Path, attribute: str, *, salt: str = "helpers") -> Ingest:
    """Read the answers about one attribute, as Liang et al. (2023) published them.

    A row is `seed_<n>_race_<race>_gender_<gender>_age_0.png`, then a worker and a score, nine
    times. Times are unknown and therefore counted as unreadable.

    Args:
        path: the CSV file.
        attribute: what was asked, a key of `ATTRIBUTES`; scores are its levels, counted from 0.
        salt: of the annotators' hashes.

    Returns:
        The tidy table, images called like their files without ending, and the report of what was
        rejected, see `Ingest`.

    Raises:
        ValueError: the attribute is unknown; the file is no such table or has no header; names the
            file, the row and what was expected. Nothing in it can be used.

    Example:
        >>> import tempfile
        >>> from helpers import annotations
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     _ = file.write("image,worker,score\\n"
        ...                    "seed_1_race_asian_gender_male_age_0.png,w1,4\\n")
        ...     file.flush()
        ...     annotations.read_causalface(file.name, "gender").frame["level"].tolist()
        [4]
    """
    if attribute not in ATTRIBUTES:
        raise ValueError(f"unknown attribute {attribute!r}, expected one of {list(ATTRIBUTES)}")
    path = Path(path)
    fields = {"unusable image id": "image", "missing annotator": "worker"}
    fields |= {"several answers of one name": "worker"}
    source = Source(path, parts(_visits(path, attribute)), fields, Notes(), [attribute])
    return validate([source], SOURCE, salt)


def _visits(path: Path, attribute: str) -> Iterator[tuple[tuple, list]]:
    with opened(path, EXPECTED) as stream:
        header, rows = csv_rows(path, stream, EXPECTED, unique=False)
        if _IMAGE.fullmatch(header[0].strip()):
            raise wrong_format(path, "row 1", EXPECTED, "an image where the header stands")
        if len(header) < 3 or len(header) % 2 == 0:
            raise wrong_format(path, "row 1", EXPECTED, f"{len(header)} columns")
        for row, (name, *cells) in rows:
            name = name.strip()
            known = _IMAGE.fullmatch(name) is not None
            image, problem = (Path(name).stem, None) if known else (None, "unusable image id")
            for pair, worker, score in zip(count(1), cells[::2], cells[1::2], strict=False):
                if worker.strip() or score.strip():
                    who = (identity(worker), is_email(worker))
                    place = f"row {row}, pair {pair}"
                    answers = [(attribute, score, f"score {pair}")] * bool(score.strip())
                    yield (place, image, *who, math.nan, None, problem, *[None] * 4), answers
