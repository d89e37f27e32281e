"""Rows of a source's files: good ones are kept, and each dropped one is counted under a reason.

A file that is not what its reader takes is refused as a whole, by the error of
`faceaudit.utils.tables.wrong_format`. A row that cannot be used is dropped. Both name the file,
the row and what was found. As soon as no row is left, the reasons are the error.
"""

import hashlib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from faceaudit.annotations.ingest import TRUTH_TEXTS
from faceaudit.utils.names import MISSING_TEXTS, composed, paths_on_disk
from faceaudit.utils.tables import read_table, wrong_format

Folder = str | Path | None
"""Where images lie; None if no image is to be looked for."""
PAIR_COLUMNS = ["first_image", "second_image", "first_identity", "second_identity", "same"]
"""First columns of every set of pairs."""


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


@dataclass(frozen=True)
class DroppedRows:
    """Rows that were dropped for one reason.

    Attributes:
        reason: why.
        field: the column that it is about.
        count: of the rows.
        file, place, found: of the first of them: name of the file, number in it, and the cell.
    """

    reason: str
    field: str
    count: int
    file: str
    place: str
    found: str

    def __str__(self) -> str:
        first = f"{self.file}, {self.place}, {self.found}"
        return f"{self.count} × {self.reason} in {self.field!r} (first: {first})"


class Records:
    """Rows of a file that a reader sorts out.

    Attributes:
        frame: the rows that are left; the index holds their numbers in the file.
        path: of the file.
        unit: what one of them is called, as "row" or "line".
        dropped: an entry for each reason and column.
    """

    def __init__(self, frame: pd.DataFrame, path: str | Path, unit: str = "row") -> None:
        self.frame = frame
        self.path = Path(path)
        self.unit = unit
        self.dropped: list[DroppedRows] = []

    @classmethod
    def from_csv(
        cls,
        path: str | Path,
        expected: str,
        needed: Sequence[str],
        new_names: Mapping[str, str],
        *,
        others: bool = True,
    ) -> "Records":
        """Read the cells of a CSV file as texts; columns without a name are left out.

        Args:
            path: of the file.
            expected: what the file should be, for the error.
            needed: columns that it must have.
            new_names: column of the file → its name in the frame.
            others: keep the other columns too.
        """
        expected = f"{expected} with the columns {', '.join(needed)}"
        table = read_table(as_file(path, expected), expected, needed)
        for name in needed:
            if name not in table:
                raise wrong_format(path, "row 2", expected, f"no cell of {name}")
        if not others:
            table = table[needed]
        texts = table.rename(columns=new_names).astype("str")
        frame = texts.apply(lambda column: column.str.strip().map(composed))
        return cls(frame.set_axis(range(2, len(frame) + 2)), path)

    @classmethod
    def from_lines(cls, path: str | Path) -> "Records":
        """Read the lines of a text file that are not empty, into the column `line`."""
        try:
            text = as_file(path, "text").read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise wrong_format(path, "the whole file", "text in UTF-8", str(error)) from None
        lines = composed(text).splitlines()
        frame = pd.DataFrame({"line": lines}, range(1, len(lines) + 1), dtype="str")
        return cls(frame[frame["line"].str.strip() != ""], path, "line")

    def drop(self, unusable: ArrayLike, reason: str, field: str) -> None:
        """Drop rows, and count them under a reason.

        Args:
            unusable: (rows,) whether each row is dropped.
            reason: why.
            field: the column that it is about.

        Raises:
            ValueError: no row is left; it lists all reasons so far.
        """
        is_unusable = pd.Series(unusable, self.frame.index).astype(bool)
        if is_unusable.any():
            cell = f"{self.frame.loc[is_unusable, field].iloc[0]!r:.60}"
            place = f"{self.unit} {is_unusable.idxmax()}"
            count = int(is_unusable.sum())
            rows = DroppedRows(reason, field, count, self.path.name, place, cell)
            self.dropped.append(rows)
            self.frame = self.frame[~is_unusable]
        if self.frame.empty:
            reasons = "; ".join(map(str, self.dropped)) or "none was found"
            raise ValueError(f"{self.path}: no {self.unit} can be used: {reasons}")

    def drop_missing(self, columns: Iterable[str]) -> None:
        """Drop rows without a value in one of the columns."""
        for column in columns:
            cells = self.frame[column]
            self.drop(cells.isna() | cells.isin(MISSING_TEXTS), "missing value", column)

    def drop_unknown_labels(self, columns: Iterable[str], known: Collection[str]) -> None:
        """Drop rows with a label that is not among the known ones."""
        for column in columns:
            self.drop(~self.frame[column].isin(known), "unknown label", column)

    def drop_repeated(self, column: str) -> None:
        """Drop rows whose image stands in an earlier row."""
        self.drop(self.frame[column].duplicated(), "image of an earlier row", column)

    def truth_values(self, column: str, more: Mapping[str, bool] | None = None) -> pd.Series:
        """Read texts such as True, TRUE or T as truth values; rows with other texts are dropped.

        Args:
            column: of texts.
            more: further texts in small letters → what they mean.

        Returns:
            Booleans, with the index of the rows that are left.
        """
        known = TRUTH_TEXTS | dict(more or {})
        values = self.frame[column].str.casefold().map(known)
        self.drop(values.isna(), "unknown label", column)
        return values[self.frame.index].astype(bool)

    def to_numbers(
        self,
        columns: Sequence[str],
        least: float = -math.inf,
        most: float = math.inf,
        keep_missing: bool = False,
    ) -> None:
        """Turn columns into numbers; rows with one that is not finite or off the scale are dropped.

        Args:
            columns: of texts.
            least, most: ends of the scale.
            keep_missing: whether rows without a value are kept, as NaN.
        """
        for column in columns:
            cells = self.frame[column]
            numbers = pd.to_numeric(cells, "coerce")
            kept = (cells.isna() | cells.isin(MISSING_TEXTS)) & keep_missing
            self.drop(~np.isfinite(numbers) & ~kept, "no number", column)
            outside = ~numbers.between(least, most) & ~kept
            self.drop(outside[self.frame.index], "number outside the scale", column)
        numbers = {column: pd.to_numeric(self.frame[column], "coerce") for column in columns}
        self.frame = self.frame.assign(**numbers)

    def drop_unusable_images(self, columns: Sequence[str], folder: Folder) -> None:
        """Drop rows that name no image, one that is not in the folder, or one image twice.

        Names become those on the disk, which may spell accents otherwise.

        Args:
            columns: of images, as paths from the folder; one, or two of a pair.
            folder: where images lie; without it none is looked for.

        Raises:
            ValueError: there is no such folder, or no row is left.
        """
        if folder is not None and not Path(folder).is_dir():
            raise ValueError(f"{folder}: no such folder of images")
        self.drop_missing(columns)
        for column in columns:
            if folder is not None:
                self._look_for_images(column, Path(folder))
        for other in columns[1:]:
            itself = self.frame[other] == self.frame[columns[0]]
            self.drop(itself, "image paired with itself", other)

    def _look_for_images(self, column: str, folder: Path) -> None:
        paths = paths_on_disk(folder, self.frame[column].unique())
        files = {name: path for name, path in paths.items() if path.is_file()}
        self.drop(~self.frame[column].isin(files), "no such image", column)
        spelling_on_disk = {
            name: path.relative_to(folder).as_posix()
            for name, path in files.items()
            if not name.isascii()
        }
        spelled = self.frame[column].replace(spelling_on_disk)
        self.frame = self.frame.assign(**{column: spelled})

    def as_data_set(
        self,
        source: str,
        terms: str,
        version: str | None,
        first_columns: Sequence[str],
        files: Iterable[str | Path] = (),
    ) -> DataSet:
        """The rows that are left, with their card.

        Args:
            source: what the set is called.
            terms: of its use.
            version: of the set; without it the card has the hash of the files.
            first_columns: that the frame begins with.
            files: that the set was read from, if they are not the one file of these rows.
        """
        digest = hashlib.sha256()
        for path in list(files) or [self.path]:
            digest.update(Path(path).read_bytes())
        dropped = pd.DataFrame(self.dropped, columns=[field.name for field in fields(DroppedRows)])
        counts = dropped.groupby(["reason", "field"], sort=False)["count"].sum()
        card = {
            "source": source,
            "version": version or f"sha256:{digest.hexdigest()}",
            "terms": terms,
            "kept": len(self.frame),
            "dropped": {f"{reason}: {field}": int(n) for (reason, field), n in counts.items()},
        }
        other_columns = [column for column in self.frame if column not in first_columns]
        frame = self.frame[[*first_columns, *other_columns]].reset_index(drop=True)
        return DataSet(frame, card, dropped)
