"""Tables of images with answers, and of people, as the auditor has them: read and checked.

Every fault is one sentence that names the file, the row or the column, and what to do. An empty
score is no fault: the model gave no answer ("no face found"), which is an outcome as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from faceaudit.file.specification import Specification
from faceaudit.models.answers import require_answers
from faceaudit.models.asking import is_constant
from faceaudit.outcomes import REASONS, WITHOUT_REASON
from faceaudit.utils.errors import InputError, missing_in_table
from faceaudit.utils.names import (
    MISSING_TEXTS,
    TRUTH_VALUES,
    comparable,
    composed,
    paths_on_disk,
    tidy_cells,
)
from faceaudit.utils.tables import read_parquet, read_table

NUMBER_IN_OTHER_WRITING = r"[+-]?\d[\d.,'’_\s]*(°|%|\s[^\W\d]{1,3})?"
"""A number with a comma, with marks between thousands, or with a unit; "20-29" is a name."""
MINUS_SIGN = "\N{MINUS SIGN}"
ERROR_NAMES = ("False", "True")
"""Names of 0 and 1 in a column of errors."""
EXPECTED_ERROR_CELL = "1 (an error), 0, or an empty cell without an answer"

# --- any table


def listed_on_one_line(names: Iterable[object]) -> str:
    """Names with commas between them; a line break in a header or a cell becomes a blank."""
    return re.sub(r"\s*\n\s*", " ", ", ".join(map(str, names)))


@dataclass(frozen=True)
class Rows:
    """A table whose rows are counted as a spreadsheet does: the header is row 1.

    Texts have no blanks around them and composed accents, and a cell such as "nan", "NA" or "#N/A"
    is None (`faceaudit.utils.names.tidy_cells`).

    Attributes:
        frame: the rows by their numbers.
        source: of the table, for messages.
        as_written: the same with the cells as they came, for messages; None if they are those.
        is_file: whether the table is a file, which an audit file names.
    """

    frame: pd.DataFrame
    source: str
    as_written: pd.DataFrame | None = None
    is_file: bool = False

    @classmethod
    def read(cls, table: str | Path | pd.DataFrame | Rows, first_row: int = 2) -> Rows:
        """A `.csv` (whose cells are texts), a `.parquet` file or a frame; rows stay as they are.

        Args:
            table: which is read.
            first_row: number of the first row, for messages.
        """
        if isinstance(table, Rows):
            return table
        is_file = isinstance(table, (str, Path))
        if is_file:
            source = str(table)
            frame = _read_file(source)
        else:
            source = "the table"
            frame = table
        numbers = range(first_row, first_row + len(frame))
        frame = frame.set_axis(numbers).rename(columns=_composed_header)
        tidy = frame.apply(tidy_cells).dropna(how="all")
        if tidy.empty:
            raise InputError(f"{source}: the table has no rows", field=source, expected="rows")
        return cls(tidy, source, frame, is_file)

    def require(self, columns: Iterable[str]) -> None:
        """Raise InputError where the table lacks a column that is named, or has it twice."""
        columns = list(dict.fromkeys(columns))
        missing_columns = [name for name in columns if name not in self.frame]
        if missing_columns:
            # Without a column of names that was added.
            written = self.frame if self.as_written is None else self.as_written
            columns_of_table = listed_on_one_line(written)
            advice = "the names are set under columns and axes" if self.is_file else ""
            raise missing_in_table(self.source, missing_columns, columns_of_table, advice)
        for name in columns:
            if (self.frame.columns == name).sum() > 1:
                raise InputError(
                    f"{self.source}: several columns have the name {name!r}; keep or rename one",
                    field=f"column {name!r}",
                    expected="one column of this name",
                )

    def refuse(self, bad: pd.Series, column: str, expected: str) -> None:
        """Raise InputError about the first cell of a column that is bad, if any is.

        Args:
            bad: whether the cell of a row is bad, with the index of `frame`.
            column: of the cells.
            expected: what the message says that was expected.
        """
        if not bad.any():
            return
        row = bad.idxmax()
        count = bad.sum()
        cell = self.cell(row, column)
        found = "empty" if cell == "" else repr(cell)
        rows = f" ({count} such rows)" if count > 1 else ""
        raise InputError(
            f"{self.source}: column {column!r}, row {row} is {found}, {expected} was "
            f"expected{rows}",
            field=f"column {column!r}, row {row}",
            found=cell,
            expected=expected,
        )

    def cell(self, row: int, column: str) -> object:
        """The content of a cell: of a missing value how it was written, "" if it was empty."""
        # Lists hold Python's own numbers: a cell is 4, not np.int64(4).
        (cell,) = self.frame.loc[[row], column].tolist()
        if pd.isna(cell) and self.as_written is not None:
            (cell,) = self.as_written.loc[[row], column].tolist()
        if pd.isna(cell):
            return ""
        return cell.strip() if isinstance(cell, str) else cell

    def texts(self, column: str, expected: str = "a value") -> pd.Series:
        """A column without a missing value, as text; the number 2.0 is the text "2"."""
        cells = self.frame[column]
        self.refuse(cells.isna(), column, expected)
        return comparable(cells)

    def names(self, column: str) -> pd.Series:
        """A column of the names of images, each once."""
        cells = self.frame[column]
        self.refuse(cells.isna(), column, "the name of an image")
        # A text is the name of a file as it is, also "1.0".
        names = comparable(cells) if pd.api.types.is_float_dtype(cells) else cells.astype(str)
        again = names.duplicated()
        if again.any():
            row = again.idxmax()
            name = names[row]
            first = (names == name).idxmax()
            raise InputError(
                f"{self.source}: column {column!r}, row {row} is {name!r}, as row {first} is; name "
                "an image once, and remove or rename the other row",
                field=f"column {column!r}, row {row}",
                found=name,
                expected="an image once",
            )
        return names

    def numbers(self, column: str) -> pd.Series:
        """A column as numbers, NaN where a cell is none."""
        return pd.to_numeric(self.frame[column], errors="coerce").astype(float)

    def measures(self, column: str) -> pd.Series | None:
        """A column of numbers, NaN where a cell is none; None where most cells are words.

        Raises:
            InputError: numbers in another writing: a comma may stand for a point or for thousands,
                and a unit belongs into the name of the column.
        """
        cells = self.frame[column]
        if pd.api.types.is_bool_dtype(cells):
            return None
        texts = comparable(cells).str.replace(MINUS_SIGN, "-")
        numbers = pd.to_numeric(texts, errors="coerce").astype(float)
        numbers = numbers.where(np.isfinite(numbers) & cells.notna())
        in_other_writing = texts.str.fullmatch(NUMBER_IN_OTHER_WRITING, na=False) & numbers.isna()
        if (numbers.notna() | in_other_writing).sum() <= cells.notna().sum() / 2:
            return None
        expected = "a number as 1234.5, without a comma, marks between thousands or a unit"
        self.refuse(in_other_writing, column, expected)
        return numbers

    def level(self, column: str, names: Sequence[str]) -> pd.Series:
        """Cells that name one of the levels of an axis: its place from 0.0 on, NaN of others.

        A level is matched by its name alone. Truth values are the names 0 and 1, or False and True
        in any writing, and no others.
        """
        return self._coded(column, _names_in_table(names, column, self.source))

    def answer(self, column: str, names: Sequence[str]) -> tuple[pd.Series, str]:
        """Cells that name one of the classes, or are its place from 0 on.

        Places count where no cell of the column is a name, and no name is a number.

        Returns:
            The place of each row's class, NaN of other cells; and in words which cells are read.
        """
        texts = _names_in_table(names, column, self.source)
        if _are_truth_values(texts):
            texts = [TRUTH_VALUES[text.casefold()] for text in texts]
        codes = self._coded(column, texts)
        names_are_numbers = pd.to_numeric(pd.Series(texts), errors="coerce").notna().any()
        if not names_are_numbers:
            if codes.notna().any():
                return codes, _one_of_names(names)
            texts = [str(place) for place in range(len(names))]
            codes = self._coded(column, texts)
        alternatives = []
        for name, text in zip(names, texts, strict=True):
            alternatives.append(repr(name) if name == text else f"{name!r} ({text})")
        return codes, " or ".join(alternatives)

    def _coded(self, column: str, texts: list[str]) -> pd.Series:
        """The place of each cell's text among these texts, from 0.0 on; NaN of others."""
        cells = comparable(self.frame[column])
        lower_case = cells.str.casefold()
        if set(texts) == {"0", "1"}:
            cells = lower_case.map(TRUTH_VALUES).fillna(cells)
        elif _are_truth_values(texts):
            cells = lower_case
            texts = [text.casefold() for text in texts]
        return cells.map({text: place for place, text in enumerate(texts)}).astype(float)

    def coded(self, column: str, names: Sequence[str], expected: str = "{}") -> pd.Series:
        """Codes of `answer`, NaN where a cell is missing; InputError about any other cell.

        `expected` is what the message says that was expected, with {} for the cells.
        """
        codes, alternatives = self.answer(column, names)
        bad = codes.isna() & self.frame[column].notna()
        self.refuse(bad, column, expected.format(alternatives))
        return codes

    def levels(self, axes: Mapping[str, Sequence[str]]) -> dict[str, pd.Series]:
        """`<axis>_level` of every axis: the place of the level among its names, from 0 on."""
        levels = {}
        for axis, names in axes.items():
            level = self.level(axis, names)
            self.refuse(level.isna(), axis, _one_of_names(names))
            levels[f"{axis}_level"] = level.astype(int)
        return levels

    def labels(self, columns: list[str], classes: Sequence[str]) -> pd.Series:
        """The label, or the majority of the raters' answers: 0 or 1, NaN where they tie.

        Of a single column, there may be more than two classes.
        """
        answers = [self.coded(column, classes, "a label, {},") for column in columns]
        if len(columns) == 1:
            self.refuse(self.frame[columns[0]].isna(), columns[0], "a label")
            return answers[0]
        share = pd.concat(answers, axis=1).mean(axis=1)
        return share.round().where(share != 0.5)

    def shares(self, columns: Iterable[str]) -> dict[str, pd.Series]:
        """Columns of people's mean answers, from 0 to 1."""
        shares = {}
        for column in columns:
            shares[column] = self.numbers(column)
        for column, share in shares.items():
            self.refuse(~share.between(0, 1), column, "a mean answer from 0 to 1")
        return shares


class InputTables:
    """The tables that an audit file names; each is read once.

    Args:
        specification: whose paths count.
        given: path as the audit names it → rows of a table that is no file.
        pictures: name of a picture → its pixels, uint8 (height, width, 3); None where pictures are
            files.
    """

    def __init__(
        self,
        specification: Specification,
        given: Mapping[Path, Rows] | None = None,
        pictures: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self._specification = specification
        self._read: dict[Path, Rows] = {}
        for path, rows in (given or {}).items():
            self._read[specification.beside(path)] = rows
        self.pictures = pictures

    def rows(self, path: Path) -> Rows:
        """The rows of a table.

        Args:
            path: of the table as the audit file has it, relative to that file.
        """
        file = self._specification.beside(path)
        if file not in self._read:
            self._read[file] = Rows.read(file)
        return self._read[file]


def _read_file(source: str) -> pd.DataFrame:
    path = paths_on_disk(Path(), [source])[source]
    if not path.is_file():
        raise InputError(
            f"{source}: no such table; paths in an audit file are relative to that file",
            field=source,
            expected="a table",
        )
    if path.suffix == ".parquet":
        return read_parquet(path, source)
    return read_table(path, "a comma-separated table")


def _composed_header(name: object) -> object:
    return composed(name) if isinstance(name, str) else name


def _names_in_table(names: Sequence[str], column: str, source: str) -> list[str]:
    """Names of levels or classes in the form in which cells are compared.

    Raises:
        InputError: a name that stands for a missing value where it is in a table.
    """
    for name in names:
        if name.strip() in MISSING_TEXTS:
            raise InputError(
                f"{source}: column {column!r}: {name!r} is given as a name, but in a table it "
                "stands for a missing value; write another name into the table, and give that one",
                field=f"column {column!r}",
                found=name,
                expected="another name",
            )
    return comparable(pd.Series([composed(name.strip()) for name in names], dtype=object)).tolist()


def _one_of_names(names: Sequence[str]) -> str:
    """Names in words: 'light' or 'dark'; 'I', 'III' or 'V'."""
    *first, last = map(repr, names)
    return f"{', '.join(first)} or {last}"


def _are_truth_values(names: Sequence[str]) -> bool:
    return {name.casefold() for name in names} == set(TRUTH_VALUES)


def read_matched_images(
    rows: Rows, image_column: str, specification: Specification, more_columns: Iterable[str] = ()
) -> pd.DataFrame:
    """Matched images of a table: image_id, unit and `<axis>_level`.

    Args:
        rows: of the table.
        image_column: column of the names of images.
        specification: whose axes, placebos, `columns.unit` and `design.incomplete` count.
        more_columns: columns that the table must have as well.

    Raises:
        InputError: a column is missing, a cell is wrong, or units do not match.
    """
    axes = {**specification.axes, **specification.placebos}
    unit_column = specification.columns.unit
    rows.require([image_column, unit_column, *axes, *more_columns])
    names = rows.names(image_column)
    units = rows.texts(unit_column, "the name of a matched face")
    images = pd.DataFrame({"image_id": names, "unit": units, **rows.levels(axes)})
    require_complete(images, axes, specification.design.incomplete, rows.source)
    return images


def read_scores(rows: Rows, specification: Specification) -> pd.Series:
    """Scores, or of decisions the places of their classes; NaN where the cell is empty."""
    columns = specification.columns
    if columns.decision is not None:
        return rows.coded(columns.decision, specification.classes).astype(float)
    score = rows.numbers(columns.score)
    filled = rows.frame[columns.score].notna()
    expected = "a number (an empty cell where the model gave no answer)"
    rows.refuse(score.isna() & filled, columns.score, expected)
    outside = ~score.between(0, 1) & filled
    rows.refuse(outside, columns.score, "a score from 0 to 1 (are these logits?)")
    # One score for all images is judged, as one decision is: the report names a constant decider.
    if not is_constant(score.to_numpy(float)):
        require_answers(score.to_numpy(float), f"{rows.source}: column {columns.score!r}")
    return score.astype(float)


def read_numbers(rows: Rows, column: str) -> pd.Series:
    """Numbers without bounds; NaN where the cell is empty, since the model gave no answer."""
    number = rows.numbers(column)
    expected = "a number (an empty cell where the model gave no answer)"
    unusable = ~np.isfinite(number) & rows.frame[column].notna()
    rows.refuse(unusable, column, expected)
    require_answers(number.to_numpy(float), f"{rows.source}: column {column!r}")
    return number


def read_errors(rows: Rows, column: str) -> pd.Series:
    """Errors as 0 and 1; NaN where the cell is empty, since the model gave no answer."""
    return rows.coded(column, ERROR_NAMES, EXPECTED_ERROR_CELL)


def read_weights(rows: Rows, column: str, units: pd.Series) -> pd.Series:
    """Survey weights of matched faces; each image has that of its face.

    Args:
        rows: of the table.
        column: of the weights.
        units: (n,) the face of each row.

    Raises:
        InputError: a weight that is no number above 0, or images of one unit with different ones.
    """
    weight = rows.numbers(column)
    usable = np.isfinite(weight) & (weight > 0)
    rows.refuse(~usable, column, "a weight above 0")
    differs = weight != weight.groupby(units).transform("first")
    if differs.any():
        unit = units[differs.idxmax()]
        rows.refuse(differs, column, f"the same weight as in the other rows of unit {unit!r}")
    return weight


def read_reasons(rows: Rows, column: str, has_answer: pd.Series) -> pd.Series:
    """Why images have no answer, "" where they have one.

    Args:
        rows: of the table.
        column: of the reasons.
        has_answer: (n,) whether an image has an answer.

    Raises:
        InputError: a cell that is no reason, or an answer beside one.
    """
    cells = rows.frame[column]
    reasons = comparable(cells).str.casefold().where(cells.notna(), WITHOUT_REASON)
    known = ", ".join(REASONS.values())
    unknown = cells.notna() & ~reasons.isin(REASONS.values())
    rows.refuse(unknown, column, f"one of {known}")
    rows.refuse((reasons != WITHOUT_REASON) & has_answer, column, "an empty cell beside an answer")
    return reasons


def require_complete(
    images: pd.DataFrame, axes: Mapping[str, Sequence[str]], incomplete: str, source: str
) -> None:
    """Raise InputError where units do not match: one has a combination of levels twice or lacks it.

    Args:
        images: columns unit and `<axis>_level`, by the numbers of their rows.
        axes: all axes and placebos → the names of their levels.
        incomplete: "refuse", or "pairs" where units may lack images.
        source: of the images.
    """
    units = images["unit"].unique()
    level_columns = [f"{axis}_level" for axis in axes]
    levels_of_axes = [range(len(names)) for names in axes.values()]
    combinations = pd.MultiIndex.from_product([units, *levels_of_axes])
    counts = images.groupby(["unit", *level_columns]).size().reindex(combinations, fill_value=0)
    if len(units) == len(images):
        raise InputError(
            f"{source}: every unit has one image only; columns.unit must name what several images "
            "share",
            field="columns.unit",
            found="one image of every unit",
            expected="what several images share",
        )
    doubled = counts > 1
    if doubled.any():
        unit, place = _unit_and_place(doubled, axes)
        cell = list(doubled.index[doubled][0])
        is_of_cell = (images[["unit", *level_columns]] == cell).all(axis=1)
        first, second, *_ = images.index[is_of_cell]
        raise InputError(
            f"{source}: unit {unit!r} has two images at {place}, rows {first} and {second}; keep "
            "one, or rename the unit",
            field=f"unit {unit!r}",
            found=f"two images at {place}",
            expected="one image",
        )
    absent = counts == 0
    absent_everywhere = absent.groupby(level=list(range(1, absent.index.nlevels))).all()
    if absent_everywhere.any():
        # A unit of any name, since all of them lack the image.
        _, place = _unit_and_place(pd.concat({"": absent_everywhere}), axes)
        raise InputError(
            f"{source}: there is no image at {place}, of any unit; add these images, or leave an "
            "axis out",
            field="axes",
            found=f"no image at {place}",
            expected="images at every combination of levels",
        )
    if incomplete == "refuse" and absent.any():
        unit, place = _unit_and_place(absent, axes)
        incomplete_units = absent.groupby(level=0).any().sum()
        raise InputError(
            f"{source}: unit {unit!r} lacks the image at {place} ({incomplete_units} such units); "
            "add the images (with an empty score if the model gave no answer), remove the units, "
            "or set design.incomplete to 'pairs', so that only complete pairs count",
            field=f"unit {unit!r}",
            found=f"no image at {place}",
            expected="an image at every combination of levels",
        )


def _unit_and_place(bad: pd.Series, axes: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """The unit and the levels, in words, of the first bad combination of both."""
    unit, *levels = bad.index[bad][0]
    named_levels = []
    for (axis, names), level in zip(axes.items(), levels, strict=True):
        named_levels.append(f"{axis} {names[level]!r}")
    return unit, ", ".join(named_levels)


def level_names(levels: Mapping, axes: Mapping[str, Sequence[str]]) -> dict[str, np.ndarray]:
    """The levels of every axis (`<axis>_level`) by their names."""
    return {axis: np.take(names, levels[f"{axis}_level"]) for axis, names in axes.items()}


def with_level_names(frame: pd.DataFrame, axes: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Image, unit, error if it is known, and the levels by their names, of images with answers."""
    first = [name for name in ("image_id", "unit", "error") if name in frame]
    return frame[first].assign(**level_names(frame, axes))
