"""Tables of images with answers, and of people, as the auditor has them: read and checked.

Every fault is one sentence that names the file, the row or the column, and what to do. An empty
score is no fault: the model gave no answer ("no face found"), which is an outcome of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from faceaudit.file.specification import Specification
from faceaudit.models.answers import require_answers
from faceaudit.utils.errors import fault
from faceaudit.utils.names import MISSING_TEXTS, comparable, composed, paths_on_disk, tidy_cells
from faceaudit.utils.tables import read_parquet, read_table


def require_decided(images: pd.DataFrame, threshold: float, source: str) -> None:
    """Raise ValueError where a model decides alike about all images, though labels differ.

    `images` has the columns label and score, NaN where there is none.
    """
    known = images.dropna(subset=["label", "score"])
    said = known["score"] > threshold
    if known["label"].nunique() < 2 or (said != said.iloc[0]).any():
        return
    of_chosen = threshold <= 0.5 <= known["score"].min()
    raise fault("one_class", source, int(said.iloc[0]), threshold, of_chosen)


NUMBER_IN_OTHER_WRITING = r"[+-]?\d[\d.,'’_\s]*(°|%|\s[^\W\d]{1,3})?"
"""A number with a comma, with marks between thousands, or with a unit; "20-29" is a name."""
MINUS_SIGN = "\N{MINUS SIGN}"
TRUTH_VALUES = {"false": "0", "true": "1"}
"""How programs write 0 and 1 as truth values, in small letters."""

# --- any table


@dataclass(frozen=True)
class Rows:
    """A table whose rows are counted as a spreadsheet does: the header is row 1.

    Texts have no blanks around them and composed accents, and a cell such as "nan", "NA" or "#N/A"
    is None (`faceaudit.utils.names.tidy_cells`).

    Attributes:
        frame: the rows, numbered from 2 on.
        source: of the table, for messages.
        given: the same with the cells as they came, for messages; None if they are those.
    """

    frame: pd.DataFrame
    source: str
    given: pd.DataFrame | None = None

    @classmethod
    def read(cls, table: str | Path | pd.DataFrame) -> Rows:
        """A `.csv` (whose cells are texts), a `.parquet` file or a frame."""
        if isinstance(table, pd.DataFrame):
            source = "the table"
            frame = table
        else:
            source = str(table)
            path = paths_on_disk(Path(), [source])[source]
            if not path.is_file():
                raise ValueError(
                    f"{source}: no such table; paths in an audit file are relative to that file"
                )
            if path.suffix == ".parquet":
                frame = read_parquet(path, source)
            else:
                frame = read_table(path, "a comma-separated table")
        given = frame.set_axis(range(2, len(frame) + 2)).rename(columns=_composed_header)
        frame = given.apply(tidy_cells).dropna(how="all")
        if frame.empty:
            raise ValueError(f"{source}: the table has no rows")
        return cls(frame, source, given)

    def require(self, columns: Iterable[str]) -> None:
        """Raise ValueError where the table lacks a column that the audit file names."""
        if missing := [repr(name) for name in dict.fromkeys(columns) if name not in self.frame]:
            raise fault("no_column", self.source, missing, self.frame)

    def refuse(self, bad: pd.Series, column: str, expected: str) -> None:
        """Raise the ValueError that names the first bad value of a column, if any."""
        if bad.any():
            found = self.cell(bad.idxmax(), column)
            found = "empty" if found == "" else repr(found)
            raise fault("bad_cell", self.source, column, bad.idxmax(), found, expected, bad.sum())

    def cell(self, row: int, column: str) -> object:
        """What stands in a cell: of a missing value how it was written, "" if it was empty."""
        cells = self.frame.loc[[row], column].tolist()
        if pd.isna(cells[0]) and self.given is not None:
            cells = self.given.loc[[row], column].tolist()
        if pd.isna(cells[0]):
            return ""
        return cells[0].strip() if isinstance(cells[0], str) else cells[0]

    def texts(self, column: str, expected: str = "a value") -> pd.Series:
        """A column without a missing value, as text; the number 2.0 is the text "2"."""
        values = self.frame[column]
        self.refuse(values.isna(), column, expected)
        return comparable(values)

    def names(self, column: str) -> pd.Series:
        """A column of the names of images, each once."""
        values = self.frame[column]
        self.refuse(values.isna(), column, "the name of an image")
        # A text is the name of a file as it stands, also "1.0".
        names = comparable(values) if pd.api.types.is_float_dtype(values) else values.astype(str)
        self.refuse(names.duplicated(), column, "an image once; remove one row")
        return names

    def numbers(self, column: str) -> pd.Series:
        """A column as numbers, NaN where a cell is none."""
        return pd.to_numeric(self.frame[column], errors="coerce").astype(float)

    def measures(self, column: str) -> pd.Series | None:
        """A column of numbers, NaN where a cell is none; None where most cells are words.

        Raises ValueError for numbers in another writing: a comma may stand for a point or for
        thousands, and a unit belongs into the name of the column.
        """
        values = self.frame[column]
        if pd.api.types.is_bool_dtype(values):
            return None
        texts = comparable(values).str.replace(MINUS_SIGN, "-")
        numbers = pd.to_numeric(texts, errors="coerce").astype(float)
        numbers = numbers.where(np.isfinite(numbers) & values.notna())
        in_other_writing = texts.str.fullmatch(NUMBER_IN_OTHER_WRITING, na=False) & numbers.isna()
        if (numbers.notna() | in_other_writing).sum() <= values.notna().sum() / 2:
            return None
        plain = "a number as 1234.5, without a comma, marks between thousands or a unit"
        self.refuse(in_other_writing, column, plain)
        return numbers

    def level(self, column: str, names: Sequence[str]) -> pd.Series:
        """Cells that name one of the two levels of an axis: 0.0, 1.0, NaN of others.

        A level is matched by its name alone. Truth values are the names 0 and 1, or False and True
        in any writing, and no others.
        """
        return self._coded(column, _names_in_table(names, column, self.source))

    def answer(self, column: str, names: Sequence[str]) -> tuple[pd.Series, str]:
        """Cells that say 0 or 1, or name one of two classes: 0.0, 1.0, NaN of others; the two.

        The codes 0 and 1 count where no cell of the column is a name, and no name is a number.
        """
        known = _names_in_table(names, column, self.source)
        if _are_truth_values(known):
            known = [TRUTH_VALUES[name.casefold()] for name in known]
        found = self._coded(column, known)
        numbered = pd.to_numeric(pd.Series(known), errors="coerce").notna().any()
        if not numbered and found.notna().any():
            return found, f"{names[0]!r} or {names[1]!r}"
        if not numbered:
            found = self._coded(column, ["0", "1"])
            known = ["0", "1"]
        pairs = zip(names, known, strict=True)
        return found, " or ".join(repr(name) + f" ({k})" * (k != name) for name, k in pairs)

    def _coded(self, column: str, known: list[str]) -> pd.Series:
        """0.0 where a cell is the first of two texts, 1.0 where it is the second, NaN of others."""
        cells = comparable(self.frame[column])
        small = cells.str.casefold()
        if {*known} == {"0", "1"}:
            cells = small.map(TRUTH_VALUES).fillna(cells)
        elif _are_truth_values(known):
            cells = small
            known = [name.casefold() for name in known]
        return cells.map(dict(zip(known, [0.0, 1.0], strict=True))).astype(float)

    def coded(self, column: str, names: Sequence[str], expected: str = "{}") -> pd.Series:
        """`answer` of a column in which others are faults; NaN where a cell is missing."""
        found, either = self.answer(column, names)
        bad = found.isna() & self.frame[column].notna()
        self.refuse(bad, column, expected.format(either))
        return found

    def levels(self, axes: Mapping[str, Sequence[str]]) -> dict[str, pd.Series]:
        """`<axis>_level` of every axis, 0 or 1."""
        found = {}
        for axis, names in axes.items():
            level = self.level(axis, names)
            self.refuse(level.isna(), axis, f"{names[0]!r} or {names[1]!r}")
            found[f"{axis}_level"] = level.astype(int)
        return found

    def labels(self, columns: list[str], classes: Sequence[str]) -> pd.Series:
        """The label, or the majority of the raters' answers: 0 or 1, NaN where they tie."""
        coded = [self.coded(name, classes, "a label, {},") for name in columns]
        if len(columns) == 1:
            self.refuse(self.frame[columns[0]].isna(), columns[0], "a label")
        share = pd.concat(coded, axis=1).mean(axis=1)
        return share.round().where(share != 0.5)

    def shares(self, columns: Iterable[str]) -> dict[str, pd.Series]:
        """Columns of people's mean answers, from 0 to 1."""
        found = {name: self.numbers(name) for name in columns}
        for name, values in found.items():
            self.refuse(~values.between(0, 1), name, "a mean answer from 0 to 1")
        return found


def _composed_header(name: object) -> object:
    return composed(name) if isinstance(name, str) else name


def _names_in_table(names: Sequence[str], column: str, source: str) -> list[str]:
    """Names of levels or classes as cells are compared; ValueError for what is a missing value."""
    for name in names:
        if name.strip() in MISSING_TEXTS:
            raise ValueError(
                f"{source}: column {column!r}: {name!r} is given as a name, but in a table it "
                "stands for a missing value; write another name into the table and the audit file"
            )
    return comparable(pd.Series([composed(name.strip()) for name in names], dtype=object)).tolist()


def _are_truth_values(names: Sequence[str]) -> bool:
    return {name.casefold() for name in names} == {*TRUTH_VALUES}


def read_matched_images(
    rows: Rows, image: str, specification: Specification, more: Iterable[str] = ()
) -> pd.DataFrame:
    """Matched images of a table that has more columns: image_id, unit and `<axis>_level`."""
    axes, unit = {**specification.axes, **specification.placebos}, specification.columns.unit
    rows.require([image, unit, *axes, *more])
    images = {"image_id": rows.names(image), "unit": rows.texts(unit, "the name of a matched face")}
    images = pd.DataFrame(images | rows.levels(axes))
    require_complete(images, axes, specification.design.incomplete, rows.source)
    return images


def read_scores(rows: Rows, specification: Specification) -> pd.Series:
    """Scores, or decisions as 0 and 1; NaN where the cell is empty."""
    columns = specification.columns
    if columns.decision is not None:
        return rows.coded(columns.decision, specification.classes).astype(float)
    score, given = rows.numbers(columns.score), rows.frame[columns.score].notna()
    expected = "a number (an empty cell where the model gave no answer)"
    rows.refuse(score.isna() & given, columns.score, expected)
    outside = ~score.between(0, 1) & given
    rows.refuse(outside, columns.score, "a score from 0 to 1 (are these logits?)")
    require_answers(score.to_numpy(float), f"{rows.source}: column {columns.score!r}")
    return score.astype(float)


def with_errors(images: pd.DataFrame, threshold: float, source: str) -> pd.DataFrame:
    """Images (columns label and score) with their errors: scores above the threshold say 1.

    Returns:
        The images with the columns no_answer (0 or 1) and error (0 or 1, NaN where there is no
        label or no answer).

    Raises:
        ValueError: the model decides alike about all images, though their labels differ.
    """
    require_decided(images, threshold, source)
    score, label = images["score"], images["label"]
    wrong = ((score > threshold) != (label == 1)).astype(float)
    known = score.notna() & label.notna()
    return images.assign(no_answer=score.isna().astype(float), error=wrong.where(known))


def require_complete(
    images: pd.DataFrame, axes: Mapping[str, Sequence[str]], incomplete: str, source: str
) -> None:
    """Raise ValueError where units do not match: one has a combination of levels twice or lacks it.

    Args:
        images: columns unit and `<axis>_level`.
        axes: all axes and placebos → the names of their levels.
        incomplete: "refuse", or "pairs" where units may lack images.
        source: of the images.
    """
    units, places = images["unit"].unique(), [f"{axis}_level" for axis in axes]
    whole = pd.MultiIndex.from_product([units, *[(0, 1)] * len(axes)])
    counts = images.groupby(["unit", *places]).size().reindex(whole, fill_value=0)

    if len(units) == len(images):
        raise fault("one_image", source)
    lacking = (counts == 0) & (incomplete == "refuse")
    for macro, bad in (("doubled", counts > 1), ("lacking_image", lacking)):
        for unit, *levels in counts.index[bad][:1]:
            named = zip(axes.items(), levels, strict=True)
            place = ", ".join(f"{axis} {names[level]!r}" for (axis, names), level in named)
            raise fault(macro, source, unit, place, bad.groupby(level=0).any().sum())


def level_names(levels: Mapping, axes: Mapping[str, Sequence[str]]) -> dict[str, np.ndarray]:
    """The levels of every axis (`<axis>_level`, 0 or 1) by their names."""
    return {axis: np.take(names, levels[f"{axis}_level"]) for axis, names in axes.items()}


def with_level_names(frame: pd.DataFrame, axes: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Image, unit, error, and the levels of the axes by their names, of images with answers."""
    return frame[["image_id", "unit", "error"]].assign(**level_names(frame, axes))
