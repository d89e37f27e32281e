"""Records of a source's files: good ones are kept, and each dropped one is counted under a reason.

A file that is not what its reader takes is refused as a whole, by the error of
`faceaudit.utils.tables.wrong_format`. A row that cannot be used is dropped. Both name the file,
the row and what was found. As soon as no row is left, the reasons are the error.
"""

import hashlib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from faceaudit.annotations.ingest import TRUTH_TEXTS
from faceaudit.utils.names import MISSING_TEXTS, composed, paths_on_disk
from faceaudit.utils.tables import read_table, wrong_format

Folder = str | Path | None
DROPPED = ["reason", "field", "count", "file", "place", "found"]
PAIR = ["first_image", "second_image", "first_identity", "second_identity", "same"]


def as_file(path: str | Path, expected: str) -> Path:
    """The path of a file to read; ValueError if a folder lies there."""
    if Path(path).is_dir():
        raise wrong_format(Path(path), "the whole file", expected, "a folder")
    return Path(path)


class DataSet(NamedTuple):
    """A source as its reader returns it.

    Attributes:
        frame: one row an image, in the files' order: `image` (a path from the folder of images),
            `identity` (a text that says which images show one person) where the source has one, and
            the source's attributes. Of a set of pairs one row a pair: `first_image` and
            `second_image` (paths), `first_identity` and `second_identity`, `same` (0 or 1) and the
            source's attributes.
        card: what a manifest should say, ready for JSON: `source`, `version` (as the caller names
            it, or the SHA-256 of the files), `terms` of use, `kept` (the number of rows) and
            `dropped` (reason and field → number).
        dropped: one row per reason that occurred: `reason`, `field`, `count`, and of the first
            example `file`, `place` and `found`.
    """

    frame: pd.DataFrame
    card: dict[str, object]
    dropped: pd.DataFrame


class Records:
    """Records that may still be dropped; the index holds their numbers in the file."""

    def __init__(self, frame: pd.DataFrame, path: str | Path, unit: str = "row") -> None:
        self.frame, self.path, self.unit = frame, Path(path), unit
        self.lost: list[tuple] = []

    @classmethod
    def read(
        cls,
        path: str | Path,
        expected: str,
        needed: Sequence[str],
        names: Mapping[str, str],
        *,
        others: bool = True,
    ) -> "Records":
        """The cells of a CSV file as texts; columns without a name are left out.

        Columns get new names. Others than the needed ones are kept or not.
        """
        expected = f"{expected} with the columns {', '.join(needed)}"
        table = read_table(as_file(path, expected), expected, needed)
        if lacking := [name for name in needed if name not in table]:
            raise wrong_format(path, "row 2", expected, f"no cell of {lacking[0]}")
        table = (table if others else table[needed]).rename(columns=names)
        frame = table.astype("str").apply(lambda column: column.str.strip().map(composed))
        return cls(frame.set_axis(range(2, len(frame) + 2)), path)

    @classmethod
    def lines(cls, path: str | Path) -> "Records":
        """The lines of a text file that are not empty, in the column `line`."""
        try:
            text = as_file(path, "text").read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise wrong_format(path, "the whole file", "text in UTF-8", str(error)) from None
        lines = composed(text).splitlines()
        frame = pd.DataFrame({"line": lines}, range(1, len(lines) + 1), dtype="str")
        return cls(frame[frame["line"].str.strip() != ""], path, "line")

    def drop(self, bad: ArrayLike, reason: str, field: str) -> None:
        """Leave out rows, and count them under a reason; ValueError if no row is left."""
        bad = pd.Series(bad, self.frame.index).astype(bool)
        if bad.any():
            found = f"{self.frame.loc[bad, field].iloc[0]!r:.60}"
            place = f"{self.unit} {bad.idxmax()}"
            self.lost.append((reason, field, int(bad.sum()), self.path.name, place, found))
            self.frame = self.frame[~bad]
        if self.frame.empty:
            told = "{2} × {0} in {1!r} (first: {3}, {4}, {5})"
            why = "; ".join(told.format(*one) for one in self.lost) or "none was found"
            raise ValueError(f"{self.path}: no {self.unit} can be used: {why}")

    def present(self, columns: Iterable[str]) -> None:
        for column in columns:
            empty = self.frame[column].isna() | self.frame[column].isin(MISSING_TEXTS)
            self.drop(empty, "missing value", column)

    def labels(self, columns: Iterable[str], known: Collection[str]) -> None:
        for column in columns:
            self.drop(~self.frame[column].isin(known), "unknown label", column)

    def truths(self, column: str, more: Mapping[str, bool] | None = None) -> pd.Series:
        """The truth values of a column of texts such as True, TRUE or T; rows of others go."""
        known = TRUTH_TEXTS | dict(more or {})
        found = self.frame[column].str.casefold().map(known)
        self.drop(found.isna(), "unknown label", column)
        return found[self.frame.index].astype(bool)

    def numbers(
        self, columns: Sequence[str], least: float = -math.inf, most: float = math.inf
    ) -> None:
        """Turn columns into numbers that are finite."""
        for column in columns:
            found = pd.to_numeric(self.frame[column], "coerce")
            self.drop(~np.isfinite(found), "no number", column)
            outside = ~found[self.frame.index].between(least, most)
            self.drop(outside, "number outside the scale", column)
        self.frame = self.frame.assign(**{c: pd.to_numeric(self.frame[c]) for c in columns})

    def images(self, columns: Sequence[str], folder: Folder) -> None:
        """Keep rows whose images lie in the folder, if one is given, and are not one image.

        Their names become those on the disk, which may spell accents otherwise.
        """
        if folder is not None and not Path(folder).is_dir():
            raise ValueError(f"{folder}: no such folder of images")
        self.present(columns)
        for column in columns:
            if folder is not None:
                paths = paths_on_disk(Path(folder), self.frame[column].unique())
                known = {name: path for name, path in paths.items() if path.is_file()}
                self.drop(~self.frame[column].isin(known), "no such image", column)
                spelled = {
                    name: path.relative_to(folder).as_posix()
                    for name, path in known.items()
                    if not name.isascii()
                }
                self.frame = self.frame.assign(**{column: self.frame[column].replace(spelled)})
        for other in columns[1:]:
            itself = self.frame[other] == self.frame[columns[0]]
            self.drop(itself, "image paired with itself", other)

    def distinct(self, column: str) -> None:
        self.drop(self.frame[column].duplicated(), "image of an earlier row", column)

    def finish(
        self,
        source: str,
        terms: str,
        version: str | None,
        order: Sequence[str],
        files: Iterable[str | Path] = (),
    ) -> DataSet:
        """The data set, with some columns first."""
        dropped = pd.DataFrame(self.lost, columns=DROPPED)
        digest = hashlib.sha256()
        for path in [*files] or [self.path]:
            digest.update(Path(path).read_bytes())
        card = {"source": source, "version": version or f"sha256:{digest.hexdigest()}"}
        card |= {"terms": terms, "kept": len(self.frame)}
        counts = dropped.groupby(["reason", "field"], sort=False)["count"].sum()
        card["dropped"] = {": ".join(why): int(n) for why, n in counts.items()}
        rest = [column for column in self.frame if column not in order]
        return DataSet(self.frame[[*order, *rest]].reset_index(drop=True), card, dropped)
