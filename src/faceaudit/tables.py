"""Tables of images with answers, and of people, as the auditor has them: read and checked.

Every fault is one sentence that names the file, the row or the column, and what to do. An empty
score is no fault: the model gave no answer ("no face found"), which is an outcome of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from faceaudit.plausibility import require_decided
from faceaudit.specification import Specification
from helpers import effects

# --- any table


@dataclass(frozen=True)
class Rows:
    """A table as it came, whose rows are counted as a spreadsheet does: the header is row 1."""

    frame: pd.DataFrame
    source: str

    @classmethod
    def read(cls, table: str | Path | pd.DataFrame) -> Rows:
        """A `.csv` (as text, None for an empty cell), a `.parquet` file or a frame."""
        source = "the table" if isinstance(table, pd.DataFrame) else str(table)
        if isinstance(table, pd.DataFrame):
            frame = table.set_axis(range(2, len(table) + 2))
        elif not Path(table).is_file():
            raise ValueError(f"{source}: no such table; the path is relative to the audit file")
        elif Path(table).suffix == ".csv":
            frame = _comma_separated(table)
        elif Path(table).suffix == ".parquet":
            frame = pd.read_parquet(table).reset_index(drop=True).rename(lambda row: row + 2)
        else:
            raise ValueError(f"{source}: a .csv or .parquet file was expected")
        if frame.empty:
            raise ValueError(f"{source}: the table has no rows")
        if doubled := [*frame.columns[frame.columns.duplicated()]]:
            raise ValueError(f"{source}: two columns are named {doubled[0]!r}; rename one")
        return cls(frame, source)

    def require(self, columns: Iterable[str]) -> None:
        """Raise ValueError where the table lacks a column that the audit file names."""
        if missing := [repr(name) for name in dict.fromkeys(columns) if name not in self.frame]:
            raise ValueError(
                f"{self.source}: no column {', '.join(missing)}; it has "
                f"{', '.join(map(str, self.frame))}; the names are set under columns and axes"
            )

    def refuse(self, bad: pd.Series, column: str, expected: str) -> None:
        """Raise the ValueError that names the first bad value of a column, if any."""
        if bad.any():
            found = self.frame.loc[bad, column].tolist()[0]
            found = "empty" if pd.isna(found) else repr(found)
            number = f" ({bad.sum()} such rows)" if bad.sum() > 1 else ""
            raise ValueError(
                f"{self.source}: column {column!r}, row {bad.idxmax()} is {found}, {expected} was "
                f"expected{number}"
            )

    def texts(self, column: str, expected: str = "a value") -> pd.Series:
        """A column without an empty cell, as text."""
        self.refuse(self.frame[column].isna(), column, expected)
        return self.frame[column].astype(str)

    def numbers(self, column: str) -> pd.Series:
        """A column as numbers, NaN where a cell is none."""
        return pd.to_numeric(self.frame[column], errors="coerce")

    def coded(self, column: str, names: Sequence[str], expected: str = "{}") -> pd.Series:
        """Cells that say 0 or 1, or name one of two things: 0.0, 1.0, NaN where empty."""
        plain = [name.removesuffix(".0") for name in names]
        # Names come before codes: where one of them is "0" or "1", no codes stand beside them.
        codes = plain if {"0", "1"} & {*plain} else ["0", "1"]
        code = dict(zip([*codes, *plain], [0.0, 1.0] * 2, strict=True))
        found = self.frame[column].astype(str).str.strip().str.removesuffix(".0").map(code)
        pairs = zip(names, codes, strict=True)
        either = " or ".join(repr(name) + f" ({code})" * (code != name) for name, code in pairs)
        bad = found.isna() & self.frame[column].notna()
        self.refuse(bad, column, expected.format(either))
        return found

    def levels(self, axes: Mapping[str, Sequence[str]]) -> dict[str, pd.Series]:
        """`<axis>_level` of every axis, 0 or 1."""
        for axis, names in axes.items():
            self.refuse(self.frame[axis].isna(), axis, f"{names[0]!r} or {names[1]!r}")
        coded = {axis: self.coded(axis, names) for axis, names in axes.items()}
        return {f"{axis}_level": level.astype(int) for axis, level in coded.items()}

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
        return {name: values.astype(float) for name, values in found.items()}


def _comma_separated(table: str | Path) -> pd.DataFrame:
    """A table as text. What a cut row lacks is missing at first, and what is empty is not."""
    form = {"engine": "python", "header": None, "skip_blank_lines": False, "encoding": "utf-8-sig"}
    try:
        cells = pd.read_csv(table, dtype=str, na_filter=False, **form)
    except ValueError as error:  # pandas' own faults and those of UTF-8 are of this kind
        told = f"{table}: no table of comma-separated values in UTF-8 ({error})"
        raise ValueError(told) from None
    cells = cells.rename(lambda row: row + 1).dropna(how="all")
    cells = cells.apply(lambda column: column.str.strip())
    if (cut := cells.isna().any(axis=1)).any():
        found, width = cells.loc[cut.idxmax()].count(), cells.shape[1]
        raise ValueError(f"{table}: row {cut.idxmax()} has {found} cells, {width} were expected")
    header, frame = cells[:1].squeeze("index"), cells[1:]
    if other := [one for one in ";\t" if cells.shape[1] == 1 and one in header[0]]:
        raise ValueError(f"{table}: columns are separated by {other[0]!r}, commas were expected")
    # A column without a name, such as one of row numbers, is of no use.
    frame = (
        frame.set_axis(header, axis=1).loc[:, (header != "").to_numpy()].rename_axis(columns=None)
    )
    # An empty cell is no answer, but the word "nan" is a fault of what wrote it.
    return frame.replace("", None).dropna(how="all")


# --- images with answers


@dataclass(frozen=True)
class Audited:
    """Images with labels and answers, ready for the analysis.

    Attributes:
        frame: a row per image: image_id, unit, `<axis>_level` (0 or 1) of every axis and placebo,
            label (0, 1 or NaN where raters tie), score (NaN where the model gave no answer; of
            decisions 0 or 1), no_answer (0 or 1), error (0, 1, or NaN where there is no label or no
            answer), and the annotated columns.
        scored: whether scores are more than decisions.
        source: of the images, for messages and the report.
    """

    frame: pd.DataFrame
    scored: bool
    source: str


def from_table(table: str | Path | pd.DataFrame, specification: Specification) -> Audited:
    """Read a table of images, as the audit file describes it.

    Args:
        table: a `.csv` or `.parquet` file, or a frame.
        specification: whose `columns`, `axes`, `placebos`, `classes` and threshold count.

    Returns:
        The images.

    Raises:
        ValueError: a column that is missing; an image twice; a level, label or score that is none;
            a decision that its score contradicts;
            scores or labels that are all alike; a unit that lacks a combination of levels (unless
            `design.incomplete` is "pairs") or has one twice.

    Example:
        >>> one = Specification(
        ...     name="mine", question="?", axes={"skin": ("light", "dark")},
        ...     images="faces.csv", design={"tolerance": 0.1},
        ... )
        >>> images = {"image_id": [*"abcd"], "unit": [1, 1, 2, 2], "skin": ["light", "dark"] * 2}
        >>> images |= {"label": [0, 0, 1, 1], "score": [0.2, 0.7, 0.9, None]}
        >>> from_table(pd.DataFrame(images), one).frame[["error", "no_answer"]].T.values.tolist()
        [[0.0, 1.0, 0.0, nan], [0.0, 0.0, 0.0, 1.0]]
    """
    rows, columns = Rows.read(table), specification.columns
    axes = {**specification.axes, **specification.placebos}
    labelled = columns.answers or [columns.label]
    answered = columns.decision or columns.score
    needed = [columns.image, columns.unit, *axes, *labelled, answered, *specification.annotated]
    rows.require(needed)
    names = rows.texts(columns.image, "the name of an image")
    rows.refuse(names.duplicated(), columns.image, "an image once; remove one row")
    images = {"image_id": names, "unit": rows.texts(columns.unit, "the name of a matched face")}
    images |= rows.levels(axes)
    images["label"] = rows.labels(labelled, specification.classes)
    images["score"] = _scores(rows, specification)
    images = pd.DataFrame(images | rows.shares(specification.annotated))
    require_complete(images, axes, specification.design.incomplete, rows.source)
    return judged(images, specification.model.cut, columns.decision is None, rows.source)


def _scores(rows: Rows, specification: Specification) -> pd.Series:
    """Scores, or decisions as 0 and 1; NaN where the cell is empty."""
    columns, threshold = specification.columns, specification.model.cut
    if columns.decision is None:
        score, given = rows.numbers(columns.score), rows.frame[columns.score].notna()
        expected = "a number (an empty cell where the model gave no answer)"
        rows.refuse(score.isna() & given, columns.score, expected)
        outside = ~score.between(0, 1) & given
        rows.refuse(outside, columns.score, "a score from 0 to 1 (are these logits?)")
        check_answers(score, f"{rows.source}: column {columns.score!r}")
        return score.astype(float)
    decided = rows.coded(columns.decision, specification.classes)
    if "score" in columns.model_fields_set and columns.score in rows.frame:
        score = rows.numbers(columns.score)
        known = score.notna() & decided.notna() & (score != threshold)
        expected = f"what column {columns.score!r} says at model.threshold, {threshold:g},"
        rows.refuse(known & ((decided == 1) != (score > threshold)), columns.decision, expected)
    return decided.astype(float)


def check_answers(score: pd.Series, where: str) -> None:
    """Raise ValueError where a model answered nothing (NaN), or the same to every image."""
    if score.isna().all():
        raise ValueError(f"{where} has no answer at all; is it the right column or model?")
    if score.notna().sum() > 1 and score.min() == score.max():
        raise ValueError(
            f"{where} is {score.max():g} for every image; a constant answer shows nothing, is it "
            "the right column or model output?"
        )


def judged(images: pd.DataFrame, threshold: float, scored: bool, source: str) -> Audited:
    """Images (columns label and score) with their errors: scores above the threshold say 1."""
    require_decided(images, threshold, source)
    score, label = images["score"], images["label"]
    wrong = ((score > threshold) != (label == 1)).astype(float)
    known = score.notna() & label.notna()
    found = images.assign(no_answer=score.isna().astype(float), error=wrong.where(known))
    return Audited(found, scored, source)


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

    places = [f"{axis}_level" for axis in axes]

    def where(levels: Iterable[int]) -> str:
        named = zip(axes.items(), levels, strict=True)
        return ", ".join(f"{axis} {names[level]!r}" for (axis, names), level in named)

    def refuse(bad: Any, fault: str) -> None:
        if bad:
            raise ValueError(f"{source}: {fault}")

    for axis in axes:
        told = f"column {axis!r} has one level only; give images of both, or leave the axis out"
        refuse(images[f"{axis}_level"].nunique() < 2, told)
    for row in images[images.duplicated(["unit", *places])][:1].to_dict("records"):
        at = where(row[place] for place in places)
        refuse(True, f"unit {row['unit']!r} has two images at {at}; keep one, or rename the unit")
    one = images["unit"].nunique() < 2
    refuse(one, "one unit only; an audit compares at least two matched faces")
    told = "every unit has one image only; columns.unit must name what several images share"
    refuse(images["unit"].is_unique, told)
    size = images.groupby("unit", sort=False)["unit"].transform("size")
    short = images.loc[size < 2 ** len(places), "unit"].unique()
    if len(short) and incomplete == "refuse":
        there = set(
            images.loc[images["unit"] == short[0], places].itertuples(index=False, name=None)
        )
        lacking = next(one for one in product((0, 1), repeat=len(places)) if one not in there)
        raise ValueError(
            f"{source}: unit {short[0]!r} lacks the image at {where(lacking)} ({len(short)} "
            "such units); add the images (with an empty score if the model gave no answer), remove "
            "the units, or set design.incomplete to pairs, so that only complete pairs count"
        )


# --- the population that is named in the file


def target_population(specification: Specification) -> pd.DataFrame:
    """The people of the target, a row each, with the levels of the axes in words."""
    rows = Rows.read(specification.beside(specification.target.table))
    rows.require(specification.axes)
    levels = rows.levels(specification.axes)
    axes = specification.axes.items()
    return pd.DataFrame({axis: np.take(names, levels[f"{axis}_level"]) for axis, names in axes})


def transported(
    frame: pd.DataFrame, plan: Mapping[str, Any], people: pd.DataFrame, by: list[str]
) -> pd.DataFrame:
    """Error rates that an audit predicts for the target, and gaps between its groups.

    The rates of the combinations of levels are weighted as the population has them (chapter 13).
    It holds if those combinations take in all that differs between the images and the population
    and matters for errors. Rows are those of `helpers.effects.transport`.
    """
    known = frame[frame["error"].notna()]
    named = {axis: np.take(names, known[f"{axis}_level"]) for axis, names in plan["axes"].items()}
    images = known[["unit", "error"]].assign(**named)
    return effects.transport(images, "error", [*plan["axes"]], people, "unit", by)
