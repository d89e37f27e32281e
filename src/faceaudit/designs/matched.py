"""Matched images: faces that are there at every combination of the axes' levels.

The planned comparisons get verdicts (`faceaudit.verdicts`). Beside them stand other thresholds,
scores, rates and leakage, which are not adjusted for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.weightstats import DescrStatsW

from faceaudit import effects, plans, words
from faceaudit.effects.contrasts import outcome_grid
from faceaudit.file.specification import Specification
from faceaudit.frames import (
    Rows,
    level_names,
    read_matched_images,
    read_scores,
    with_errors,
    with_level_names,
)
from faceaudit.plans import Plan, cell_name, held_levels
from faceaudit.report.build import Tables, count_images, rows_of, rows_with_sentences
from faceaudit.verdicts import judge, settle_together

# --- images with answers


FAMILY_OF_PART = {
    "effects": plans.CELLS,
    "averages": plans.AVERAGES,
    "no_answer": plans.NO_ANSWER,
    "placebos": plans.PLACEBOS,
}
"""Parts of a report about matched images that have sentences → their families."""
WITHOUT_SENTENCES = (
    "scores",
    "interactions",
    "thresholds",
    "rates",
    "target",
    "manipulation",
    "leakage",
)
"""Parts of a report about matched images that are tables alone."""


@dataclass(frozen=True)
class MatchedImages:
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

    def report_parts(self, tables: Tables, plan: Plan) -> tuple[dict[str, Any], list[str]]:
        """The parts of a report that a classification has, and its limits."""
        made_by = plan.get("generator", {}).get("kind")
        counts = count_images(self.frame, self.source, plan)
        counts |= {"units": self.frame["unit"].nunique(), "made_by": made_by}
        counts |= {"target": plan.get("target"), "units_needed": plan["sizes"]["needed"]}
        parts: dict[str, Any] = {"threshold": plan["threshold"], "data": counts}
        for name, family in FAMILY_OF_PART.items():
            table = tables.get(family) if counts["no_answer"] or name != "no_answer" else None
            parts[name] = rows_with_sentences(name, "effect", table, plan, name, made_by)
        # Scores are no errors, and have no verdict: no sentence speaks of them.
        for name in WITHOUT_SENTENCES:
            parts[name] = rows_of(name, tables.get(name))
        one_class = self.frame["label"].nunique() < 2
        placebos_that_move = [
            row
            for row in parts["placebos"]
            if row.p_holm is not None and row.p_holm < plan["level"]
        ]
        limits = words.render_sentences(
            "limits_of_images", parts, counts, plan, one_class, placebos_that_move
        )
        return parts, limits


def from_table(table: str | Path | pd.DataFrame, specification: Specification) -> MatchedImages:
    """Read a table of images, as the audit file describes it.

    Args:
        table: a `.csv` or `.parquet` file, or a frame.
        specification: whose `columns`, `axes`, `placebos`, `classes` and threshold count.

    Returns:
        The images.

    Raises:
        ValueError: a column that is missing; an image twice; a level, label or score that is none;
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
    rows, own, columns = Rows.read(table), specification, specification.columns
    labelled, answered = columns.answers or [columns.label], columns.decision or columns.score
    images = read_matched_images(rows, columns.image, own, [*labelled, answered, *own.annotated])
    images["label"] = rows.labels(labelled, own.classes)
    images = images.assign(score=read_scores(rows, own), **rows.shares(own.annotated))
    return judged(images, own.model.score_threshold, columns.decision is None, rows.source)


def judged(images: pd.DataFrame, threshold: float, scored: bool, source: str) -> MatchedImages:
    """Images (columns label and score) with their errors: scores above the threshold say 1."""
    return MatchedImages(with_errors(images, threshold, source), scored, source)


# --- the population that is named in the file


def target_population(specification: Specification) -> pd.DataFrame:
    """The people of the target, a row each, with the levels of the axes in words."""
    rows, axes = Rows.read(specification.beside(specification.target.table)), specification.axes
    rows.require(axes)
    return pd.DataFrame(level_names(rows.levels(axes), axes))


def transport_to_target(frame: pd.DataFrame, specification: Specification) -> pd.DataFrame:
    """Error rates that an audit predicts for the target, and gaps between its groups.

    The rates of the combinations of levels are weighted as the population has them (chapter 17).
    It holds if those combinations take in all that differs between the images and the population
    and matters for errors. Rows are those of `faceaudit.effects.transport`.
    """
    people, axes = target_population(specification), specification.axes
    images = with_level_names(frame[frame["error"].notna()], axes)
    return effects.transport(images, "error", [*axes], people, "unit", specification.target.by)


def analyse(data: MatchedImages, plan: Plan) -> dict[str, pd.DataFrame]:
    """All tables of a report about matched images.

    Args:
        data: the images.
        plan: of `faceaudit.make_plan`.

    Returns:
        The families of the plan by their names, each with a row per comparison (see
        `judge`; "interactions" has estimate, low, high, p and p_holm), and besides
        them "thresholds", "scores", "rates", "manipulation" (how far people saw every axis move
        along itself) and "leakage" (every other attribute along it).
    """
    frame, found = data.frame, {plans.CELLS: effects_by_cell(data.frame, plan)}
    if len(plan["axes"]) > 1:
        found[plans.AVERAGES] = average_effects(frame, plan, "error")
        found[plans.INTERACTIONS] = interactions(frame, plan)
    found[plans.NO_ANSWER] = average_effects(frame, plan, "no_answer")
    found = settle_together(found, plan["level"], frame["no_answer"].any())
    if plan["placebos"]:
        found[plans.PLACEBOS] = average_effects(frame, plan, "error", plan["placebos"])
        found["placebos, no answer"] = average_effects(frame, plan, "no_answer", plan["placebos"])
    if data.scored:
        found["thresholds"] = other_thresholds(frame, plan)
        distance = (frame["score"] - frame["label"]).abs()
        found["scores"] = average_effects(frame.assign(distance=distance), plan, "distance")
    found["rates"] = _error_rates_by_cell(frame, plan["axes"])
    moved = _shifts_of_attributes(frame, plan)
    own = moved["axis"] == moved["attribute"]
    found["manipulation"], found["leakage"] = moved[own], moved[~own]
    return found


def other_thresholds(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Average effects where the score is cut elsewhere, and at the audit's own threshold.

    Returns:
        A row per threshold and axis: axis, estimate, low, high, threshold and rate (of errors).
    """
    tables = []
    for threshold in sorted({*plan["other thresholds"], plan["threshold"]}):
        wrong = ((frame["score"] > threshold) != (frame["label"] == 1)).astype(float)
        cut = frame.assign(error=wrong.where(frame["error"].notna()))
        table = average_effects(cut, plan, "error")[["axis", "estimate", "low", "high"]]
        tables.append(table.assign(threshold=threshold, rate=cut["error"].mean()))
    return pd.concat(tables, ignore_index=True)


def _error_rates_by_cell(frame: pd.DataFrame, axes: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Images, answers, errors and error rate of every combination of levels."""
    frame = frame.assign(answered=1 - frame["no_answer"])
    cells = frame.groupby([f"{axis}_level" for axis in axes])
    counts = {"images": ("unit", "size"), "answered": ("answered", "sum")}
    table = cells.agg(**counts, errors=("error", "sum"), rate=("error", "mean"))
    names = [cell_name(axes, dict(zip(axes, levels, strict=True))) for levels, _ in cells]
    table.insert(0, "group", names)
    return table.astype({"answered": int, "errors": int}).reset_index(drop=True)


def _shifts_of_attributes(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """How far people's mean answers in [0, 1] differ along every axis, by matched pairs."""
    seen = {name: name for name in plan["annotated"]}
    if plan["attribute"] in plan["axes"]:  # of which the label says what people saw
        seen.setdefault(plan["attribute"], "label")
    rows = [
        matched_row(frame, column, axis, {}, plan) | {"attribute": attribute}
        for axis in plan["axes"]
        for attribute, column in seen.items()
        if attribute == axis or column != "label"
    ]
    return pd.DataFrame(rows, columns=["axis", "attribute", "estimate", "low", "high"])


# --- the planned comparisons of matched images, and their verdicts


def effects_by_cell(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """The main family: the effect of every axis on errors in every cell of the others.

    Args:
        frame: of `MatchedImages`.
        plan: of the audit.

    Returns:
        A row per axis and cell: those of `matched_row` and of `judge`, and how strong something
        hidden would have to be: e_value and e_value_limit, gamma (Rosenbaum's Γ of the faces) and
        tipping: what a hidden attribute that moves over its whole range along with the axis would
        have to change the error rate by, to explain what the interval is sure of.
    """
    axes = plan["axes"]
    places = [(axis, held) for axis in axes for held in held_levels(axes, axis)]
    return with_sensitivity(_compare(places, frame, "error", plan))


def average_effects(
    frame: pd.DataFrame, plan: Plan, outcome: str, axes: Sequence[str] | None = None
) -> pd.DataFrame:
    """The effect of every axis, averaged over all pairs that differ in it alone.

    Args:
        frame: of `MatchedImages`.
        plan: of the audit.
        outcome: column in [0, 1].
        axes: those to compare; by default all of the plan.

    Returns:
        A row per axis, of `matched_row` and `judge`, with the cell "all faces".
    """
    return _compare([(axis, {}) for axis in axes or plan["axes"]], frame, outcome, plan)


def _compare(
    places: Iterable[tuple[str, Mapping]], frame: pd.DataFrame, outcome: str, plan: Plan
) -> pd.DataFrame:
    rows = [matched_row(frame, outcome, axis, held, plan) for axis, held in places]
    return judge(pd.DataFrame(rows), plan["tolerance"], plan["level"])


def interactions(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """How much the effect of one axis differs between the levels of another, by Student's t.

    Units are matched faces with all their images (note N10 compares the genders so).

    Args:
        frame: of `MatchedImages`.
        plan: of the audit.

    Returns:
        A row per pair of axes: axis, cell (the other axis), estimate (effect at the high level of
        the other minus at the low one), low, high, p, p_holm, transects; NaN with fewer than two
        complete faces.
    """
    every = [*plan["axes"], *plan["placebos"]]
    grid, rows = outcome_grid(frame, "error", every, "unit"), []
    for first, second in combinations(plan["axes"], 2):
        effect = np.diff(grid, axis=1 + every.index(first))
        differ = np.diff(effect, axis=1 + every.index(second))
        value = differ.mean(axis=tuple(range(1, grid.ndim)))  # over all other axes, for each face
        low = high = p = np.nan
        if len(value) > 1 and value.std() > 0:
            found = DescrStatsW(value)
            (low, high), p = found.tconfint_mean(plan["level"]), found.ttest_mean(0)[1]
        row = {"axis": first, "cell": second, "other": second, "transects": len(value)}
        estimate = value.mean() if len(value) > 1 else np.nan
        rows.append(row | {"estimate": estimate, "low": low, "high": high, "p": p})
    return pd.DataFrame(rows).assign(p_holm=lambda table: effects.holm(table["p"]))


def matched_row(
    frame: pd.DataFrame, outcome: str, axis: str, held: Mapping[str, int], plan: Plan
) -> dict[str, Any]:
    """One comparison, of the faces in one cell (`held`: axis → level; `{}` for all faces).

    Returns:
        Column → value: axis, contrast, cell, held, those of `faceaudit.effects.matched_effects`,
        exact (one pair a face, of outcomes 0 and 1), base_rate (at the low level, in complete
        pairs), faces_worse and faces_better (those with more at the high or at the low level).
    """
    levels, place = [column for column in frame if column.endswith("_level")], f"{axis}_level"
    inside = (frame[[f"{name}_level" for name in held]] == [*held.values()]).all(axis=1)
    part = frame.loc[inside, ["unit", outcome, *levels]]
    row = effects.matched_effects(part, outcome, place, [], "unit", plan["tolerance"]).iloc[0]
    exact = row["n"] == row["transects"] and part[outcome].dropna().isin([0, 1]).all()
    others = ["unit", *(level for level in levels if level != place)]
    pairs = part.pivot_table(outcome, others, place, dropna=False).reindex(columns=[0, 1]).dropna()
    change = (pairs[1] - pairs[0]).groupby("unit").sum().round(9)
    low, high = (plan["axes"] | plan["placebos"])[axis]
    found = {"axis": axis, "contrast": f"{high} instead of {low}", "held": dict(held)}
    found |= {"cell": cell_name(plan["axes"], held), **row.to_dict(), "exact": bool(exact)}
    found["base_rate"] = float(pairs[0].mean())
    return found | {"faces_worse": (change > 0).sum(), "faces_better": (change < 0).sum()}


def with_sensitivity(table: pd.DataFrame) -> pd.DataFrame:
    """How strong something hidden would have to be, beside every effect.

    Γ asks for independent pairs. Those of one face are not, so each face counts once, as a pair of
    its images at the one level and at the other; of these the one or the other errs more often.
    With one pair per face, that is the pair.
    """
    # A ratio to a level without errors has no number; then the other level is the base, so that
    # results which mirror each other have the same values.
    mirrored = (table["base_rate"] == 0) & (table["estimate"] > 0)
    turned = table[["estimate", "low", "high"]].copy()
    turned[mirrored] = -table.loc[mirrored, ["estimate", "high", "low"]].to_numpy()
    base = table["base_rate"].where(~mirrored, table["estimate"]).fillna(0)
    values = effects.e_values(turned, base)[["e_value", "e_value_limit"]]
    gamma = effects.rosenbaum_gamma(table["faces_worse"], table["faces_better"])
    sure = np.maximum(table["low"], -table["high"]).clip(lower=0).fillna(0)
    return table.join(values).assign(gamma=gamma, tipping=sure)
