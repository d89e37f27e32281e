"""The auditor's door: a table of images with labels and a model's answers, read and checked.

A row is an image. It names the matched face it shows (the unit), the level of every axis, what
people say it shows, and what the model answered. Every fault is one sentence that names the file,
the row or the column, and what to do. An empty score is no fault: the model gave no answer ("no
face found"), which is an outcome of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pandas as pd

from faceaudit.plausibility import require_decided
from faceaudit.reading import as_levels, coded, read_table, refuse_rows, require_named
from faceaudit.specification import Specification


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

    Example:
        >>> frame = pd.DataFrame({"error": [0, 1]})
        >>> Audited(frame, scored=True, source="faces.csv").frame["error"].mean().item()
        0.5
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
    source = "the table" if isinstance(table, pd.DataFrame) else str(table)
    raw = read_table(table, source)
    columns, axes = specification.columns, {**specification.axes, **specification.placebos}
    answered = columns.decision or columns.score
    labelled = columns.answers or [columns.label]
    needed = [columns.image, columns.unit, *axes, *labelled, answered, *specification.annotated]
    require_named(raw, needed, source)
    images = pd.DataFrame({"image_id": raw[columns.image].astype(str)}, raw.index)
    refuse_rows(raw[columns.image].isna(), raw[columns.image], source, "the name of an image")
    refuse_rows(raw[columns.unit].isna(), raw[columns.unit], source, "the name of a matched face")
    refuse_rows(
        images["image_id"].duplicated(), raw[columns.image], source, "an image once; remove one row"
    )
    images["unit"] = raw[columns.unit].astype(str)
    for axis, names in axes.items():
        images[f"{axis}_level"] = as_levels(raw[axis], names, source)
    images["label"] = as_labels(raw[labelled], specification.classes, source)
    images["score"] = _scores(raw[answered], specification, source)
    if columns.decision is not None and columns.score in raw:
        _require_agreement(raw, specification, source)
    for name in specification.annotated:
        images[name] = as_annotated(raw[name], source)
    require_complete(images, axes, specification.design.incomplete, source)
    return judged(images, specification.threshold, columns.decision is None, source)


def judged(images: pd.DataFrame, threshold: float, scored: bool, source: str) -> Audited:
    """Images with their errors: the answer is 1 where the score is above the threshold.

    Args:
        images: columns label and score.
        threshold: of the score.
        scored: whether scores are more than decisions.
        source: of the images.

    Returns:
        The images with the columns no_answer and error.

    Raises:
        ValueError: answers that are the same for all images, though labels differ.

    Example:
        >>> images = pd.DataFrame({"label": [0, 1], "score": [0.7, 0.4]})
        >>> judged(images, 0.5, True, "faces.csv").frame["error"].tolist()
        [1.0, 1.0]
    """
    require_decided(images, threshold, source)
    score, label = images["score"], images["label"]
    wrong = ((score > threshold) != (label == 1)).astype(float)
    known = score.notna() & label.notna()
    found = images.assign(no_answer=score.isna().astype(float), error=wrong.where(known))
    return Audited(found, scored, source)


def require_complete(
    images: pd.DataFrame, axes: Mapping[str, Sequence[str]], incomplete: str, source: str
) -> None:
    """Raise ValueError where a unit has a combination of levels twice, or lacks one.

    Args:
        images: columns unit and `<axis>_level`.
        axes: all axes and placebos → the names of their levels.
        incomplete: "refuse", or "pairs" where units may lack images.
        source: of the images.

    Example:
        >>> images = pd.DataFrame({"unit": [*"aabb"], "skin_level": [0, 1, 0, 1]})
        >>> require_complete(images, {"skin": ("light", "dark")}, "refuse", "faces.csv")
    """
    places = [f"{axis}_level" for axis in axes]
    for axis in axes:
        if images[f"{axis}_level"].nunique() < 2:
            raise ValueError(
                f"{source}: column {axis!r} has one level only; give images of both levels, or "
                "leave the axis out of the audit file"
            )
    twice = images.duplicated(["unit", *places])
    if twice.any():
        row = images[twice].iloc[0]
        raise ValueError(
            f"{source}: unit {row['unit']!r} has two images at {_where(axes, row[places])}; keep "
            "one of them, or give them different units"
        )
    if images["unit"].nunique() < 2:
        raise ValueError(f"{source}: one unit only; an audit compares at least two matched faces")
    if images["unit"].is_unique:
        raise ValueError(
            f"{source}: every unit has one image only, so that no faces are matched; columns.unit "
            "must name the column of the matched face, which several images share"
        )
    size = images.groupby("unit", sort=False)["unit"].transform("size")
    short = images.loc[size < 2 ** len(places), "unit"].unique()
    if not len(short) or incomplete == "pairs":
        return
    of_first = set(map(tuple, images.loc[images["unit"] == short[0], places].to_numpy()))
    lacking = next(one for one in product((0, 1), repeat=len(places)) if one not in of_first)
    raise ValueError(
        f"{source}: unit {short[0]!r} lacks the image at {_where(axes, lacking)} ({len(short)} "
        "such units); add the images (with an empty score if the model gave no answer), remove the "
        "units, or set design.incomplete to pairs, so that only complete pairs count"
    )


def _where(axes: Mapping[str, Sequence[str]], levels: Iterable[int]) -> str:
    """A combination of levels by their names."""
    named = zip(axes.items(), levels, strict=True)
    return ", ".join(f"{axis} {names[level]!r}" for (axis, names), level in named)


def as_labels(values: pd.DataFrame, classes: Sequence[str], source: str) -> pd.Series:
    """The label, or the majority of the raters' answers: 0 or 1, NaN where they tie.

    Args:
        values: a column of labels, or one of each rater.
        classes: names of the answers 0 and 1.
        source: of the table.

    Returns:
        A label for every row.

    Raises:
        ValueError: a cell that is no label, or an empty one where there is one column.

    Example:
        >>> as_labels(pd.DataFrame({"label": ["male", "0"]}), ("female", "male"), "a.csv").tolist()
        [1.0, 0.0]
    """
    found = values.apply(coded, names=classes, source=source, expected="a label, {},")
    if values.shape[1] == 1:
        name = values.columns[0]
        refuse_rows(values[name].isna(), values[name], source, "a label")
    share = found.mean(axis=1)
    return share.round().where(share != 0.5)


def _scores(values: pd.Series, specification: Specification, source: str) -> pd.Series:
    """Scores or decisions as numbers, NaN where the cell is empty."""
    empty, decided = values.isna(), specification.columns.decision is not None
    if decided:
        score = coded(values, specification.classes, source)
    else:
        score = pd.to_numeric(values, errors="coerce")
        expected = "a number (an empty cell where the model gave no answer)"
        refuse_rows(score.isna() & ~empty, values, source, expected)
        outside = ~score.between(0, 1) & ~empty
        refuse_rows(outside, values, source, "a score from 0 to 1 (are these logits?)")
    if not decided:
        check_answers(score, f"{source}: column {values.name!r}")
    return score.astype(float)


def _require_agreement(raw: pd.DataFrame, specification: Specification, source: str) -> None:
    """Raise ValueError where a column of scores says otherwise than that of decisions.

    A column that is called score and that the file does not name may be of something else; then it
    counts only if nearly every row contradicts it.
    """
    columns, threshold = specification.columns, specification.threshold
    score = pd.to_numeric(raw[columns.score], errors="coerce")
    decided = coded(raw[columns.decision], specification.classes, source)
    known = score.notna() & decided.notna() & (score != threshold)
    wrong = known & ((decided == 1) != (score > threshold))
    if wrong.sum() > (0 if "score" in columns.model_fields_set else 0.9 * known.sum()):
        expected = (
            f"what column {columns.score!r} says at the threshold of {threshold:g} (set "
            "model.threshold, name another score, or score: null)"
        )
        refuse_rows(wrong, raw[columns.decision], source, expected)


def check_answers(score: pd.Series, where: str) -> None:
    """Raise ValueError where a model answered nothing, or the same to every image.

    Args:
        score: of the images, NaN for no answer.
        where: the place that the sentence names.

    Example:
        >>> check_answers(pd.Series([0.1, 0.7]), "faces.csv: column 'score'")
    """
    if score.isna().all():
        raise ValueError(f"{where} has no answer at all; is it the right column or model?")
    given = score.dropna()
    if len(given) > 1 and (given == given.iloc[0]).all():
        raise ValueError(
            f"{where} is {given.iloc[0]:g} for every image; a constant answer shows "
            "nothing, is it the right column or model output?"
        )


def as_annotated(values: pd.Series, source: str) -> pd.Series:
    """Mean answers of people, from 0 to 1.

    Args:
        values: of a column.
        source: of the table.

    Returns:
        Numbers.

    Raises:
        ValueError: a cell that is none, or outside.

    Example:
        >>> as_annotated(pd.Series(["0.25"], name="makeup"), "faces.csv").tolist()
        [0.25]
    """
    score = pd.to_numeric(values, errors="coerce")
    refuse_rows(~score.between(0, 1), values, source, "a mean answer from 0 to 1")
    return score.astype(float)
