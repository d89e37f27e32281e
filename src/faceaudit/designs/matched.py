"""Matched images: faces that are there at every combination of the axes' levels.

The planned comparisons get verdicts (`faceaudit.verdicts`). Other thresholds, scores, rates and
leakage are reported beside them and are not adjusted for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from faceaudit import effects, plans
from faceaudit.checks import MISSING_ALONG_PLACEBOS, examine
from faceaudit.effects.contrasts import outcome_grid
from faceaudit.file.parts import KnownTruth, TargetPopulation
from faceaudit.file.specification import Specification
from faceaudit.frames import (
    InputTables,
    Rows,
    errors_at,
    level_names,
    read_errors,
    read_matched_images,
    read_scores,
    with_errors,
    with_level_names,
)
from faceaudit.models.answers import Notify
from faceaudit.models.asking import ask, model_of
from faceaudit.plans import Plan, cell_name, held_levels
from faceaudit.report.build import Tables, count_images, rows_of, rows_with_sentences
from faceaudit.report.coverage import Covered, coverage_rows
from faceaudit.report.limits import limits_of_images
from faceaudit.report.page import contact_sheet
from faceaudit.verdicts import beyond_elsewhere, judge, settle_together

if TYPE_CHECKING:  # with torch
    from faceaudit.images.faces import MakeImages

FAMILY_OF_PART = {
    "effects": plans.CELLS,
    "averages": plans.AVERAGES,
    "missing": plans.MISSING,
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
            no_answer (0 or 1), error (0, 1, or NaN where there is no label or no
            answer), and the annotated columns; unless the table has errors alone, label (0, 1 or
            NaN where raters tie) and score (NaN where the model gave no answer; of decisions 0 or
            1).
        scored: whether scores are more than decisions.
        source: of the images, for messages and the report.
    """

    frame: pd.DataFrame
    scored: bool
    source: str

    @classmethod
    def from_answers(
        cls, images: pd.DataFrame, threshold: float, scored: bool, source: str
    ) -> MatchedImages:
        """Images whose labels and scores are known (columns label and score).

        Scores above the threshold mean 1.
        """
        return cls(with_errors(images, threshold), scored, source)

    @classmethod
    def from_table(
        cls, table: str | Path | pd.DataFrame | Rows, specification: Specification
    ) -> MatchedImages:
        """Read a table of images, as the audit file describes it.

        Args:
            table: a `.csv` or `.parquet` file, a frame, or rows that were read before.
            specification: whose `columns`, `axes`, `placebos`, `classes` and threshold count.

        Returns:
            The images.

        Raises:
            InputError: a column that is missing; an image twice; a level, label or score that is
                none; scores or labels that are all alike; a unit that lacks a combination of levels
                (unless `design.incomplete` is "pairs") or has one twice.

        Example:
            >>> audit = Specification(
            ...     name="mine", question="?", axes={"skin": ("light", "dark")},
            ...     images="faces.csv", design={"tolerance": 0.1},
            ... )
            >>> table = pd.DataFrame({
            ...     "image_id": ["a", "b", "c", "d"],
            ...     "unit": [1, 1, 2, 2],
            ...     "skin": ["light", "dark", "light", "dark"],
            ...     "label": [0, 0, 1, 1],
            ...     "score": [0.2, 0.7, 0.9, None],
            ... })
            >>> data = MatchedImages.from_table(table, audit)
            >>> data.frame["error"].tolist(), data.frame["no_answer"].tolist()
            ([0.0, 1.0, 0.0, nan], [0.0, 0.0, 0.0, 1.0])
        """
        rows = Rows.read(table)
        columns = specification.columns
        annotated = specification.annotated
        label_columns = [] if columns.error else columns.answers or [columns.label]
        answer_column = columns.error or columns.decision or columns.score
        images = read_matched_images(
            rows, columns.image, specification, [*label_columns, answer_column, *annotated]
        )
        if columns.error:
            images["error"] = read_errors(rows, columns.error)
            images["no_answer"] = images["error"].isna().astype(float)
            return cls(images.assign(**rows.shares(annotated)), False, rows.source)
        images["label"] = rows.labels(label_columns, specification.classes)
        images["score"] = read_scores(rows, specification)
        images = images.assign(**rows.shares(annotated))
        threshold = specification.model.score_threshold
        return cls.from_answers(images, threshold, columns.decision is None, rows.source)

    @classmethod
    def from_model(
        cls,
        specification: Specification,
        plan: dict[str, Any],
        tables: InputTables,
        folder: Path,
        say: Notify,
        device: str = "cpu",
        pictures: MakeImages | None = None,
    ) -> tuple[MatchedImages, dict[str, Any], dict[str, Any]]:
        """Make or read the images of an audit file, get their labels, and ask its model.

        Args:
            specification: of the audit.
            plan: of `faceaudit.make_plan`.
            tables: of the audit file.
            folder: for images and answers, which are used again.
            say: takes a sentence after every stage.
            device: "cpu" or "cuda", where networks of files compute.
            pictures: makes the images where the audit file names a world of faces.

        Returns:
            The images; what the report has besides, by arguments of `build_report`; and a contact
            sheet of the first faces.
        """
        from faceaudit.images.faces import make_labelled_images  # with torch

        threshold = plan["threshold"]
        model = model_of(specification, device=device)
        labelled_images = make_labelled_images(
            specification, plan, folder, model, say, device, pictures, tables
        )
        images = labelled_images.images
        labelled = labelled_images.labelled
        answers, about_model = examine(model, images, labelled["label"], folder, say, plan["seed"])
        about = {**labelled_images.report_arguments, **about_model}
        doubts_of_images = labelled_images.report_arguments.get("doubts", ())
        about["doubts"] = [*doubts_of_images, *about_model["doubts"]]
        images_with_scores = labelled.assign(score=answers.values)
        data = cls.from_answers(images_with_scores, threshold, True, labelled_images.source)
        if labelled_images.truth is not None:
            world = specification.generator
            # `make_labelled_images` has a truth of no other images.
            assert isinstance(world, KnownTruth)
            score = partial(ask, model, folder=folder / "answers")
            about["truth"] = labelled_images.truth(score, threshold)
            say(f"truth: {world.base_faces} other faces, by intervention")
        return data, about, contact_sheet(images, labelled, specification.axes)

    def analyse(self, plan: Plan) -> dict[str, pd.DataFrame]:
        """All tables of a report about matched images.

        Args:
            plan: of `faceaudit.make_plan`.

        Returns:
            The families of the plan by their names, each with a row per comparison (see `judge`;
            "interactions" has estimate, low, high, p and p_holm), and besides them "thresholds",
            "scores", "rates", "manipulation" (how far people saw every axis move along itself) and
            "leakage" (every other attribute along it).
        """
        # Numbers in the order of the names: every comparison below groups by the unit.
        units, _ = pd.factorize(self.frame["unit"], sort=True)
        frame = self.frame.assign(unit=units)
        tables = {plans.CELLS: effects_by_cell(frame, plan)}
        if len(plan["axes"]) > 1:
            tables[plans.AVERAGES] = average_effects(frame, plan, "error")
            tables[plans.INTERACTIONS] = interactions(frame, plan)
        places = with_missing_images(frame, plan)
        tables[plans.MISSING] = average_effects(places, plan, "missing")
        tables = settle_together(tables, plan["level"], places["missing"].any())
        placebos = plan["placebos"]
        if placebos:
            tables[plans.PLACEBOS] = average_effects(frame, plan, "error", placebos)
            tables[MISSING_ALONG_PLACEBOS] = average_effects(places, plan, "missing", placebos)
        if self.scored:
            tables["thresholds"] = other_thresholds(frame, plan)
            distance = (frame["score"] - frame["label"]).abs()
            tables["scores"] = average_effects(frame.assign(distance=distance), plan, "distance")
        tables["rates"] = _error_rates_by_cell(frame, plan["axes"])
        shifts = _shifts_of_attributes(frame, plan)
        along_itself = shifts["axis"] == shifts["attribute"]
        tables["manipulation"] = shifts[along_itself]
        tables["leakage"] = shifts[~along_itself]
        return tables

    def report_parts(self, tables: Tables, plan: Plan) -> tuple[dict[str, Any], list[str]]:
        """The parts of a report that a classification has, and its limits."""
        kind_of_generator = plan.get("generator", {}).get("kind")
        counts = count_images(self.frame, self.source, plan)
        units = self.frame["unit"].nunique()
        axes = [*plan["axes"], *plan["placebos"]]
        counts["units"] = units
        counts["no_image"] = units * 2 ** len(axes) - len(self.frame)
        counts["made_by"] = kind_of_generator
        counts["target"] = plan.get("target")
        counts["units_needed"] = plan["sizes"]["needed"]
        parts: dict[str, Any] = {"threshold": plan["threshold"], "data": counts}
        any_missing = counts["no_image"] or counts["no_label"] or counts["no_answer"]
        for name, family in FAMILY_OF_PART.items():
            # Where nothing is missing there is no effect on it.
            table = tables.get(family) if name != "missing" or any_missing else None
            parts[name] = rows_with_sentences(name, table, plan)
        # Scores are no errors and have no verdict, so that no sentence is about them.
        for name in WITHOUT_SENTENCES:
            parts[name] = rows_of(name, tables.get(name))
        parts["coverage"] = coverage_rows(self._covered(plan["axes"]), plan["policy"])
        labels = self.frame.get("label")
        one_class = labels is not None and labels.nunique() < 2
        return parts, limits_of_images(parts, counts, plan, one_class)

    def _covered(self, axes: Mapping[str, Sequence[str]]) -> Covered:
        """Faces with an error of 0 or 1 at every combination of levels, of all faces."""
        frame = self.frame
        combinations_of_levels = list(product((0, 1), repeat=len(axes)))
        levels = frame[[f"{axis}_level" for axis in axes]].to_numpy()
        # The number of a combination in the list, with the last axis running fastest.
        combination = levels @ (1 << np.arange(len(axes))[::-1])
        known = frame["error"].notna()
        faces = frame.loc[known, "unit"].groupby(combination[known]).nunique()
        faces = faces.reindex(range(len(combinations_of_levels)), fill_value=0)
        names = [
            ", ".join(axes[axis][level] for axis, level in zip(axes, combination, strict=True))
            for combination in combinations_of_levels
        ]
        smallest = names[int(faces.idxmin())]
        fewest = int(faces.min())
        unanswered = 1 - fewest / frame["unit"].nunique()
        return Covered("faces", "cell", smallest, fewest, smallest, unanswered)


# --- the population that is named in the file


def target_population(
    target: TargetPopulation, axes: Mapping[str, Sequence[str]], tables: InputTables
) -> pd.DataFrame:
    """The people of the target, a row each, with the levels of the axes in words."""
    rows = tables.rows(target.table)
    rows.require(axes)
    return pd.DataFrame(level_names(rows.levels(axes), axes))


def transport_to_target(
    frame: pd.DataFrame,
    people: pd.DataFrame,
    target: TargetPopulation,
    axes: Mapping[str, Sequence[str]],
) -> pd.DataFrame:
    """Error rates that an audit predicts for the target, and gaps between its groups.

    The rates of the combinations of levels are weighted as the population has them (chapter 17).
    It holds if those combinations take in all that differs between the images and the population
    and matters for errors.

    Args:
        frame: of `MatchedImages`.
        people: of `target_population`.
        target: of the audit file, with the axes whose levels are compared.
        axes: axis → names of its low and high level.

    Returns:
        Rows of `faceaudit.effects.transport`.
    """
    images = with_level_names(frame[frame["error"].notna()], axes)
    return effects.transport(images, "error", list(axes), people, "unit", target.by)


# --- tables that are not adjusted for


def other_thresholds(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Average effects where the score is cut elsewhere, and at the audit's own threshold.

    Another threshold trades errors of one class for errors of the other, whatever the model does:
    along an axis that moves the label, such as gender where gender is told, it has an effect by
    itself. A shift of the scores shows in pairs of one label. So `same_label` is the part of the
    effect that comes from these, in points of the whole: the others count as pairs without change.

    Returns:
        A row per threshold and axis: axis, estimate, low, high, threshold, rate (of errors),
        same_label, and p_beyond_holm of a `same_label` no larger than the tolerance (NaN at the
        audit's own threshold).
    """
    # Of each axis, the images whose partner at its other level has another label.
    label_changes = {axis: _label_changes(frame, axis) for axis in plan["axes"]}
    tables = []
    for threshold in sorted({*plan["other thresholds"], plan["threshold"]}):
        error = errors_at(frame, threshold)
        table = average_effects(frame.assign(error=error), plan, "error")
        table = table[["axis", "estimate", "low", "high"]]
        of_one_label = pd.concat(
            average_effects(
                frame.assign(error=error.mask(changes & error.notna(), 0.0)), plan, "error", [axis]
            )
            for axis, changes in label_changes.items()
        )
        table["same_label"] = of_one_label["estimate"].to_numpy()
        table["p_beyond"] = of_one_label["p_beyond"].to_numpy()
        tables.append(table.assign(threshold=threshold, rate=error.mean()))
    return beyond_elsewhere(pd.concat(tables, ignore_index=True), plan)


def _label_changes(frame: pd.DataFrame, axis: str) -> pd.Series:
    """Whether the two images of a pair that differs in an axis have different labels: (n,)."""
    level_columns = [column for column in frame if column.endswith("_level")]
    matching = ["unit", *(column for column in level_columns if column != f"{axis}_level")]
    return frame.groupby(matching)["label"].transform("nunique") > 1


def _error_rates_by_cell(frame: pd.DataFrame, axes: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Images, answers, errors and error rate of every combination of levels."""
    frame = frame.assign(answered=1 - frame["no_answer"])
    cells = frame.groupby([f"{axis}_level" for axis in axes])
    table = cells.agg(
        images=("unit", "size"),
        answered=("answered", "sum"),
        errors=("error", "sum"),
        rate=("error", "mean"),
    )
    names = [cell_name(axes, dict(zip(axes, levels, strict=True))) for levels, _ in cells]
    table.insert(0, "group", names)
    return table.astype({"answered": int, "errors": int}).reset_index(drop=True)


def _shifts_of_attributes(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """How far people's mean answers in [0, 1] differ along every axis, by matched pairs."""
    column_of_attribute = {name: name for name in plan["annotated"]}
    # Where the attribute is an axis, the label has people's answers about it.
    if plan["attribute"] in plan["axes"]:
        column_of_attribute.setdefault(plan["attribute"], "label")
    rows = []
    for axis in plan["axes"]:
        for attribute, column in column_of_attribute.items():
            if attribute == axis or column != "label":
                row = matched_row(frame, column, axis, {}, plan)
                rows.append({**row, "attribute": attribute})
    return pd.DataFrame(rows, columns=["axis", "attribute", "estimate", "low", "high"])


# --- the planned comparisons of matched images, and their verdicts


def effects_by_cell(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """The main family: the effect of every axis on errors in every cell of the others.

    Args:
        frame: of `MatchedImages`.
        plan: of the audit.

    Returns:
        A row per axis and cell: those of `matched_row`, of `judge` and of `with_sensitivity`.
    """
    axes = plan["axes"]
    places = []
    for axis in axes:
        for held in held_levels(axes, axis):
            places.append((axis, held))
    return with_sensitivity(_compare(places, frame, "error", plan))


def with_missing_images(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Every face at every combination of levels, and whether its error is unknown there.

    An image that is absent from the table, one whose raters tie and one that the model refuses all
    leave the error rates without a trace. Which of the three it is depends on who prepared the
    table: a refused image can be deleted, and a hard one can have no label. So they are one outcome
    of one family, and an axis that changes it by more than the tolerance changes who is counted.

    Args:
        frame: of `MatchedImages`.
        plan: of the audit.

    Returns:
        A row per face and combination of levels of axes and placebos: unit, `<axis>_level` and
        missing (1 where there is no image, no label or no answer, else 0).

    Example:
        >>> frame = pd.DataFrame({"unit": ["a", "a", "b"], "skin_level": [0, 1, 0]})
        >>> plan = {"axes": {"skin": ("light", "dark")}, "placebos": {}}
        >>> with_missing_images(frame.assign(error=[1, None, 0]), plan)["missing"].tolist()
        [0.0, 1.0, 0.0, 1.0]
    """
    level_columns = [f"{axis}_level" for axis in [*plan["axes"], *plan["placebos"]]]
    levels = [(0, 1)] * len(level_columns)
    names = ["unit", *level_columns]
    places = pd.MultiIndex.from_product([frame["unit"].unique(), *levels], names=names)
    error = frame.set_index(names)["error"].reindex(places)
    return error.isna().astype(float).rename("missing").reset_index()


def average_effects(
    frame: pd.DataFrame, plan: Plan, outcome: str, axes: Sequence[str] | None = None
) -> pd.DataFrame:
    """The effect of every axis, averaged over all pairs that differ in it alone.

    Args:
        frame: of `MatchedImages`, or of `with_missing_images`.
        plan: of the audit.
        outcome: column in [0, 1].
        axes: those to compare; by default all of the plan.

    Returns:
        A row per axis, of `matched_row` and `judge`, with the cell "all faces".
    """
    places = [(axis, {}) for axis in axes or plan["axes"]]
    return _compare(places, frame, outcome, plan)


def _compare(
    places: Iterable[tuple[str, Mapping[str, int]]], frame: pd.DataFrame, outcome: str, plan: Plan
) -> pd.DataFrame:
    """Comparisons with verdicts, a row for each axis and what is held meanwhile."""
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
    from statsmodels.stats.weightstats import DescrStatsW  # half a second to import

    axes = [*plan["axes"], *plan["placebos"]]
    grid = outcome_grid(frame, "error", axes, "unit")
    rows = []
    for first, second in combinations(plan["axes"], 2):
        effect = np.diff(grid, axis=1 + axes.index(first))
        difference = np.diff(effect, axis=1 + axes.index(second))
        # Of each face, the mean over all other axes.
        differences = difference.mean(axis=tuple(range(1, grid.ndim)))
        estimate = low = high = p = np.nan
        if len(differences) > 1:
            estimate = differences.mean()
            if differences.std() > 0:
                statistics = DescrStatsW(differences)
                low, high = statistics.tconfint_mean(plan["level"])
                p = statistics.ttest_mean(0)[1]
        rows.append(
            {
                "axis": first,
                "cell": second,
                "other": second,
                "transects": len(differences),
                "estimate": estimate,
                "low": low,
                "high": high,
                "p": p,
            }
        )
    return pd.DataFrame(rows).assign(p_holm=lambda table: effects.holm(table["p"]))


def matched_row(
    frame: pd.DataFrame, outcome: str, axis: str, held: Mapping[str, int], plan: Plan
) -> dict[str, Any]:
    """One comparison, of the faces in one cell.

    Args:
        frame: of `MatchedImages`.
        outcome: column in [0, 1].
        axis: whose two levels are compared.
        held: the cell, axis → level; `{}` for all faces.
        plan: of the audit.

    Returns:
        Column → value: axis, contrast, cell, held, those of `faceaudit.effects.matched_effects`,
        exact (one pair a face, of outcomes 0 and 1), base_rate (at the low level, in complete
        pairs), faces_worse and faces_better (those with more at the high or at the low level).
    """
    level_columns = [column for column in frame if column.endswith("_level")]
    compared = f"{axis}_level"
    held_columns = [f"{name}_level" for name in held]
    in_cell = (frame[held_columns] == list(held.values())).all(axis=1)
    images = frame.loc[in_cell, ["unit", outcome, *level_columns]]
    effect = effects.matched_effects(images, outcome, compared, [], "unit", plan["tolerance"])
    effect = effect.iloc[0]
    one_pair_a_face = effect["n"] == effect["transects"]
    exact = one_pair_a_face and images[outcome].dropna().isin([0, 1]).all()

    others = [column for column in level_columns if column != compared]
    pairs = _complete_pairs(images, outcome, compared, others)
    change = np.bincount(pairs.face, pairs.at_high - pairs.at_low).round(9)
    low, high = (plan["axes"] | plan["placebos"])[axis]
    return {
        "axis": axis,
        "contrast": f"{high} instead of {low}",
        "held": dict(held),
        "cell": cell_name(plan["axes"], held),
        **effect.to_dict(),
        "exact": bool(exact),
        "base_rate": float(pairs.at_low.mean()) if len(pairs.at_low) else np.nan,
        "faces_worse": (change > 0).sum(),
        "faces_better": (change < 0).sum(),
    }


class CompletePairs(NamedTuple):
    """Pairs of images of one face that differ in one axis alone, by face and place.

    Attributes:
        face: (pairs,) number of the face.
        at_low: (pairs,) outcome at the low level.
        at_high: (pairs,) outcome at the high level.
    """

    face: np.ndarray
    at_low: np.ndarray
    at_high: np.ndarray


def _complete_pairs(
    images: pd.DataFrame, outcome: str, compared: str, others: Sequence[str]
) -> CompletePairs:
    """Pairs with both outcomes.

    Args:
        images: columns unit, the outcome, and levels of 0 and 1.
        outcome: column of the outcome, NaN where it is unknown.
        compared: column of the levels that are compared.
        others: columns of the levels at which the images of a pair agree.
    """
    known = images[images[outcome].notna()]
    face, _ = pd.factorize(known["unit"], sort=True)
    place = face
    for column in others:
        place = 2 * place + known[column].to_numpy()
    value = known[outcome].to_numpy(float)
    is_high = known[compared].to_numpy() == 1
    low, high = np.flatnonzero(~is_high), np.flatnonzero(is_high)
    _, of_low, of_high = np.intersect1d(
        place[low], place[high], assume_unique=True, return_indices=True
    )
    low = low[of_low]
    return CompletePairs(face[low], value[low], value[high[of_high]])


def with_sensitivity(table: pd.DataFrame) -> pd.DataFrame:
    """Effects with how strong a hidden attribute would have to be to explain them.

    Γ asks for independent pairs. Those of one face are not, so each face counts once, as a pair of
    its images at the one level and at the other; of these the one or the other errs more often.
    With one pair per face, that is the pair.

    Args:
        table: columns estimate, low, high, base_rate, faces_worse and faces_better.

    Returns:
        The table with e_value and e_value_limit, gamma (Rosenbaum's Γ of the faces) and tipping:
        what a hidden attribute that moves over its whole range along with the axis would have to
        change the error rate by, to explain what the interval is sure of.
    """
    # A ratio to a level without errors has no number; then the other level is the base, so that
    # results which mirror each other have the same values.
    mirrored = (table["base_rate"] == 0) & (table["estimate"] > 0)
    oriented = table[["estimate", "low", "high"]].copy()
    oriented[mirrored] = -table.loc[mirrored, ["estimate", "high", "low"]].to_numpy()
    base = table["base_rate"].where(~mirrored, table["estimate"]).fillna(0)
    e_values = effects.e_values(oriented, base)[["e_value", "e_value_limit"]]
    gamma = effects.rosenbaum_gamma(table["faces_worse"], table["faces_better"])
    nearest_to_zero = np.maximum(table["low"], -table["high"]).clip(lower=0).fillna(0)
    return table.join(e_values).assign(gamma=gamma, tipping=nearest_to_zero)


# --- the steps as functions

from_table = MatchedImages.from_table
analyse = MatchedImages.analyse
