"""Matched images: faces that are there at every combination of the axes' levels.

The planned comparisons get verdicts (`faceaudit.verdicts`). Other thresholds, scores, rates and
leakage are reported beside them and are not adjusted for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from statsmodels.stats.weightstats import DescrStatsW

from faceaudit import effects, plans
from faceaudit.checks import MISSING_ALONG_PLACEBOS, examine
from faceaudit.comparisons import (
    Axes,
    Contrast,
    all_contrasts,
    cell_name,
    combinations_of_levels,
    held_levels,
)
from faceaudit.effects.contrasts import outcome_grid
from faceaudit.effects.impact_ratio import impact_ratio
from faceaudit.effects.mean_difference import LIMITS, mean_difference
from faceaudit.file.parts import KnownTruth, TargetPopulation
from faceaudit.file.specification import Specification
from faceaudit.frames import (
    InputTables,
    Rows,
    level_names,
    read_errors,
    read_matched_images,
    read_numbers,
    read_reasons,
    read_scores,
    with_level_names,
)
from faceaudit.models.answers import Notify
from faceaudit.models.asking import ask, model_of
from faceaudit.outcomes import (
    ERROR,
    FLIP,
    MISSING,
    NUMBER,
    REASONS,
    SELECTION,
    errors_at,
    first_outcome,
    further_outcomes,
    tolerance_of,
    with_outcomes,
)
from faceaudit.plans import Plan, kind_of_contrasts, pairs_of_contrasts
from faceaudit.report.build import Tables, count_images, rows_of, rows_with_sentences
from faceaudit.report.coverage import Covered, coverage_rows
from faceaudit.report.limits import limits_of_images
from faceaudit.report.page import contact_sheet
from faceaudit.verdicts import beyond_elsewhere, judge, settle_together

if TYPE_CHECKING:  # an audit of a table does without
    from faceaudit.images.faces import MakeImages

FAMILY_OF_PART = {
    "effects": plans.CELLS,
    "averages": plans.AVERAGES,
    "outcomes": plans.OUTCOMES,
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
        frame: a row per image: image_id, unit, `<axis>_level` (from 0 on) of every axis and
            placebo, no_answer (0 or 1), error (0, 1, or NaN where there is no label or no
            answer), the other outcomes of the audit, and the annotated columns; unless the table
            has errors alone, score (NaN where the model gave no answer; of decisions the place of
            the class), and where errors are counted label (the place of the class, NaN where raters
            tie).
        scored: whether scores are more than decisions.
        source: of the images, for messages and the report.
    """

    frame: pd.DataFrame
    scored: bool
    source: str

    @classmethod
    def from_answers(
        cls, images: pd.DataFrame, specification: Specification, scored: bool, source: str
    ) -> MatchedImages:
        """Images whose scores are known, and their labels where errors are counted.

        Args:
            images: columns score, label and reason as `with_outcomes` takes them.
            specification: whose outcomes, classes and threshold count.
            scored: whether scores are more than decisions.
            source: of the images.
        """
        threshold = specification.model.score_threshold
        classes = len(specification.classes)
        return cls(
            with_outcomes(images, specification.outcomes, threshold, classes), scored, source
        )

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
        label_columns = columns.answers or [columns.label]
        if columns.error or not specification.has_labels:
            label_columns = []
        answer_column = columns.error or columns.number or columns.decision or columns.score
        more_columns = [*label_columns, answer_column, *annotated]
        if specification.reads_reasons:
            more_columns.append(columns.reason)
        images = read_matched_images(rows, columns.image, specification, more_columns)
        if specification.reads_reasons:
            has_answer = rows.frame[answer_column].notna()
            images["reason"] = read_reasons(rows, columns.reason, has_answer)
        if columns.error:
            images["error"] = read_errors(rows, columns.error)
            images["no_answer"] = images["error"].isna().astype(float)
            for name in specification.outcomes[1:]:
                images[name] = (images["reason"] == REASONS[name]).astype(float)
            return cls(images.assign(**rows.shares(annotated)), False, rows.source)
        if columns.number:
            images[NUMBER] = read_numbers(rows, columns.number)
            images["no_answer"] = images[NUMBER].isna().astype(float)
            return cls(images.assign(**rows.shares(annotated)), False, rows.source)
        if label_columns:
            images["label"] = rows.labels(label_columns, specification.classes)
        images["score"] = read_scores(rows, specification)
        images = images.assign(**rows.shares(annotated))
        return cls.from_answers(images, specification, columns.decision is None, rows.source)

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
        from faceaudit.images.faces import make_labelled_images  # as above

        threshold = plan["threshold"]
        model = model_of(specification, device=device)
        labelled_images = make_labelled_images(
            specification, plan, folder, model, say, device, pictures, tables
        )
        images = labelled_images.images
        labelled = labelled_images.labelled
        labels = labelled.get("label", pd.Series(np.nan, labelled.index))
        answers, about_model = examine(model, images, labels, folder, say, plan["seed"])
        about = {**labelled_images.report_arguments, **about_model}
        doubts_of_images = labelled_images.report_arguments.get("doubts", ())
        about["doubts"] = [*doubts_of_images, *about_model["doubts"]]
        images_with_scores = labelled.assign(score=answers.values, reason=answers.reasons_in_tables)
        data = cls.from_answers(images_with_scores, specification, True, labelled_images.source)
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
        outcome = first_outcome(plan)
        tables = {plans.CELLS: effects_by_cell(frame, plan)}
        if len(plan["axes"]) > 1:
            tables[plans.AVERAGES] = average_effects(frame, plan, outcome)
            tables[plans.INTERACTIONS] = interactions(frame, plan)
        if further_outcomes(plan):
            tables[plans.OUTCOMES] = effects_on_further_outcomes(frame, plan)
        places = with_missing_images(frame, plan)
        tables[plans.MISSING] = average_effects(places, plan, MISSING)
        tables = settle_together(tables, plan["level"], places[MISSING].any())
        placebos = plan["placebos"]
        if placebos:
            tables[plans.PLACEBOS] = average_effects(frame, plan, outcome, placebos)
            tables[MISSING_ALONG_PLACEBOS] = average_effects(places, plan, MISSING, placebos)
        if self.scored and outcome == ERROR:
            tables["thresholds"] = other_thresholds(frame, plan)
            distance = (frame["score"] - frame["label"]).abs()
            tables["scores"] = average_effects(frame.assign(distance=distance), plan, "distance")
        if outcome != FLIP:
            tables["rates"] = _rates_by_cell(frame, outcome, plan["axes"])
        shifts = _shifts_of_attributes(frame, plan)
        along_itself = shifts["axis"] == shifts["attribute"]
        tables["manipulation"] = shifts[along_itself]
        tables["leakage"] = shifts[~along_itself]
        return tables

    def report_parts(self, tables: Tables, plan: Plan) -> tuple[dict[str, Any], list[str]]:
        """The parts of a report that a classification has, and its limits."""
        kind_of_generator = plan.get("generator", {}).get("kind")
        outcome = first_outcome(plan)
        counts = count_images(self.frame, self.source, plan)
        units = self.frame["unit"].nunique()
        combinations = combinations_of_levels({**plan["axes"], **plan["placebos"]})
        counts["units"] = units
        counts["no_image"] = units * combinations - len(self.frame)
        counts["made_by"] = kind_of_generator
        counts["target"] = plan.get("target")
        counts["units_needed"] = plan["sizes"].get("needed")
        parts: dict[str, Any] = {"threshold": plan["threshold"], "data": counts}
        any_missing = counts["no_image"] or counts["no_label"] or counts["no_answer"]
        for name, family in FAMILY_OF_PART.items():
            # Where nothing is missing there is no effect on it.
            table = tables.get(family) if name != "missing" or any_missing else None
            parts[name] = rows_with_sentences(name, table, plan)
        # Scores are no errors and have no verdict, so that no sentence is about them.
        for name in WITHOUT_SENTENCES:
            parts[name] = rows_of(name, tables.get(name))
        parts["coverage"] = coverage_rows(self._covered(plan["axes"], outcome), plan["policy"])
        labels = self.frame.get("label")
        one_class = labels is not None and labels.nunique() < 2
        return parts, limits_of_images(parts, counts, plan, one_class)

    def _covered(self, axes: Mapping[str, Sequence[str]], outcome: str) -> Covered:
        """Faces whose outcome is known at every combination of levels, of all faces."""
        frame = self.frame
        shape = [len(names) for names in axes.values()]
        levels = frame[[f"{axis}_level" for axis in axes]].to_numpy()
        # The number of a combination, with the last axis running fastest.
        combination = np.ravel_multi_index(levels.T, shape)
        names = [
            cell_name(axes, dict(zip(axes, levels, strict=True))) for levels in np.ndindex(*shape)
        ]
        known = frame[outcome].notna()
        faces = frame.loc[known, "unit"].groupby(combination[known]).nunique()
        faces = faces.reindex(range(len(names)), fill_value=0)
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
        A row per threshold and contrast: axis, contrast, estimate, low, high, threshold, rate (of
        errors), same_label, and p_beyond_holm of a `same_label` no larger than the tolerance (NaN
        at the audit's own threshold).
    """
    contrasts = all_contrasts(plan["axes"], kind_of_contrasts(plan))
    # Of each contrast, the images whose partner at its other level has another label.
    label_changes = [_label_changes(frame, contrast) for contrast in contrasts]
    tables = []
    for threshold in sorted({*plan["other thresholds"], plan["threshold"]}):
        error = errors_at(frame, threshold)
        table = average_effects(frame.assign(error=error), plan, "error")
        table = table[["axis", "contrast", "estimate", "low", "high"]]
        of_one_label = pd.concat(
            _compare(
                [Place(ERROR, contrast, {})],
                frame.assign(error=error.mask(changes & error.notna(), 0.0)),
                plan,
            )
            for contrast, changes in zip(contrasts, label_changes, strict=True)
        )
        table["same_label"] = of_one_label["estimate"].to_numpy()
        table["p_beyond"] = of_one_label["p_beyond"].to_numpy()
        tables.append(table.assign(threshold=threshold, rate=error.mean()))
    return beyond_elsewhere(pd.concat(tables, ignore_index=True), plan)


def _label_changes(frame: pd.DataFrame, contrast: Contrast) -> pd.Series:
    """Whether the two images of a pair of a contrast have different labels: (n,)."""
    images = at_levels_of(frame, contrast)
    level_columns = [column for column in frame if column.endswith("_level")]
    compared = f"{contrast.axis}_level"
    matching = ["unit", *(column for column in level_columns if column != compared)]
    changes = images.groupby(matching)["label"].transform("nunique") > 1
    return changes.reindex(frame.index, fill_value=False)


def _rates_by_cell(frame: pd.DataFrame, outcome: str, axes: Axes) -> pd.DataFrame:
    """Images, answers, and the outcome's sum and mean, of every combination of levels."""
    frame = frame.assign(answered=1 - frame["no_answer"])
    cells = frame.groupby([f"{axis}_level" for axis in axes])
    table = cells.agg(
        images=("unit", "size"),
        answered=("answered", "sum"),
        errors=(outcome, "sum"),
        rate=(outcome, "mean"),
    )
    names = [cell_name(axes, dict(zip(axes, levels, strict=True))) for levels, _ in cells]
    table.insert(0, "group", names)
    if outcome != ERROR:
        table = table.drop(columns="errors").assign(errors=None)
        return table.astype({"answered": int}).reset_index(drop=True)
    return table.astype({"answered": int, "errors": int}).reset_index(drop=True)


def _shifts_of_attributes(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """How far people's mean answers in [0, 1] differ along every axis, by matched pairs."""
    column_of_attribute = {name: name for name in plan["annotated"]}
    # Where the attribute is an axis, the label has people's answers about it.
    if plan["attribute"] in plan["axes"] and "label" in frame:
        column_of_attribute.setdefault(plan["attribute"], "label")
    rows = []
    for contrast in all_contrasts(plan["axes"], kind_of_contrasts(plan)):
        for attribute, column in column_of_attribute.items():
            if attribute == contrast.axis or column != "label":
                row = matched_row(frame, column, contrast, {}, plan)
                rows.append({**row, "attribute": attribute})
    columns = ["axis", "contrast", "attribute", "estimate", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


# --- the planned comparisons of matched images, and their verdicts


def effects_by_cell(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """The main family: every contrast's effect on the first outcome, in every cell of the others.

    Args:
        frame: of `MatchedImages`.
        plan: of the audit.

    Returns:
        A row per contrast and cell: those of `matched_row`, of `judge` and of `with_sensitivity`.
    """
    axes = plan["axes"]
    outcome = first_outcome(plan)
    places = [
        Place(outcome, contrast, held)
        for contrast in all_contrasts(axes, kind_of_contrasts(plan))
        for held in held_levels(axes, contrast.axis)
    ]
    table = _compare(places, frame, plan)
    # How strong something hidden would have to be is told by ratios of rates.
    return table if outcome == NUMBER else with_sensitivity(table)


def effects_on_further_outcomes(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """The family of the outcomes besides the first: the average effect of every contrast on each.

    Args:
        frame: of `MatchedImages`.
        plan: of the audit.

    Returns:
        A row per outcome and contrast, of `matched_row` and `judge`.
    """
    contrasts = all_contrasts(plan["axes"], kind_of_contrasts(plan))
    places = [
        Place(outcome, contrast, {}) for outcome in further_outcomes(plan) for contrast in contrasts
    ]
    table = _compare(places, frame, plan)
    table["names"] = [[place.outcome, *place.contrast.key] for place in places]
    return table


def with_missing_images(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Every face at every combination of levels, and whether its first outcome is unknown there.

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
    axes = {**plan["axes"], **plan["placebos"]}
    levels = [range(len(names)) for names in axes.values()]
    names = ["unit", *(f"{axis}_level" for axis in axes)]
    places = pd.MultiIndex.from_product([frame["unit"].unique(), *levels], names=names)
    outcome = frame.set_index(names)[first_outcome(plan)].reindex(places)
    return outcome.isna().astype(float).rename(MISSING).reset_index()


def average_effects(
    frame: pd.DataFrame, plan: Plan, outcome: str, axes: Axes | None = None
) -> pd.DataFrame:
    """The effect of every contrast, averaged over all pairs that differ in it alone.

    Args:
        frame: of `MatchedImages`, or of `with_missing_images`.
        plan: of the audit.
        outcome: column in [0, 1].
        axes: those to compare; by default all of the plan.

    Returns:
        A row per contrast, of `matched_row` and `judge`, with the cell "all faces".
    """
    contrasts = all_contrasts(axes or plan["axes"], kind_of_contrasts(plan))
    places = [Place(outcome, contrast, {}) for contrast in contrasts]
    return _compare(places, frame, plan)


class Place(NamedTuple):
    """What a comparison is of: an outcome, two levels, and the cell, axis → level."""

    outcome: str
    contrast: Contrast
    held: Mapping[str, int]


def _compare(places: Sequence[Place], frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Comparisons of one family with verdicts, a row for each place."""
    rows = [matched_row(frame, place.outcome, place.contrast, place.held, plan) for place in places]
    # A family about what is missing has no other outcomes in it.
    tolerance = _tolerance(places[0].outcome, plan)
    return judge(pd.DataFrame(rows), tolerance, plan["level"])


def _tolerance(outcome: str, plan: Plan) -> float:
    return tolerance_of(outcome, first_outcome(plan), plan["tolerance"])


def interactions(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """How much an effect on the first outcome differs between levels of another axis, by t.

    Units are matched faces with all their images (note N10 compares the genders so).

    Args:
        frame: of `MatchedImages`.
        plan: of the audit.

    Returns:
        A row per pair of contrasts of different axes: axis, contrast, other (the other axis),
        other_contrast, names (as the plan has them), estimate (effect at the high level of the
        other minus at the low one), low, high, p, p_holm, transects; NaN with fewer than two
        complete faces.
    """
    names = {**plan["axes"], **plan["placebos"]}
    axes = list(names)
    levels = [len(names[axis]) for axis in axes]
    outcome = first_outcome(plan)
    grid = outcome_grid(frame, outcome, axes, "unit", levels, is_rate=outcome != NUMBER)
    rows = []
    contrasts = all_contrasts(plan["axes"], kind_of_contrasts(plan))
    for first, second in pairs_of_contrasts(contrasts):
        effect = _difference_of_levels(grid, first, axes)
        difference = _difference_of_levels(effect, second, axes)
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
                "axis": first.axis,
                "outcome": outcome,
                "contrast": first.name,
                "other": second.axis,
                "other_contrast": second.name,
                "names": [*first.key, *second.key],
                "transects": len(differences),
                "estimate": estimate,
                "low": low,
                "high": high,
                "p": p,
            }
        )
    return pd.DataFrame(rows).assign(p_holm=lambda table: effects.holm(table["p"]))


def _difference_of_levels(grid: np.ndarray, contrast: Contrast, axes: Sequence[str]) -> np.ndarray:
    """The high level of a contrast minus the low one; its dimension stays, with one entry.

    Args:
        grid: (faces, levels of each axis), outcomes or differences of them.
        contrast: of one of the axes.
        axes: in the order of the grid's dimensions.
    """
    dimension = 1 + axes.index(contrast.axis)
    return grid.take([contrast.high], dimension) - grid.take([contrast.low], dimension)


def at_levels_of(frame: pd.DataFrame, contrast: Contrast) -> pd.DataFrame:
    """The images at one of the two levels of a contrast, which are then 0 and 1."""
    column = f"{contrast.axis}_level"
    level = frame[column]
    images = frame[level.isin([contrast.low, contrast.high])]
    return images.assign(**{column: (images[column] == contrast.high).astype(int)})


def matched_row(
    frame: pd.DataFrame, outcome: str, contrast: Contrast, held: Mapping[str, int], plan: Plan
) -> dict[str, Any]:
    """One comparison, of the faces in one cell.

    Args:
        frame: of `MatchedImages`.
        outcome: column in [0, 1].
        contrast: whose two levels are compared.
        held: the cell, axis → level; `{}` for all faces.
        plan: of the audit.

    Returns:
        Column → value: axis, outcome, contrast, cell, held, names (as the plan has them), those of
        `faceaudit.effects.matched_effects`, exact (one pair a face, of outcomes 0 and 1), base_rate
        (at the low level, in complete pairs), faces_worse and faces_better (those with more at the
        high or at the low level).
    """
    level_columns = [column for column in frame if column.endswith("_level")]
    compared = f"{contrast.axis}_level"
    held_columns = [f"{name}_level" for name in held]
    in_cell = (frame[held_columns] == list(held.values())).all(axis=1)
    images = at_levels_of(frame.loc[in_cell, ["unit", outcome, *level_columns]], contrast)
    others = [column for column in level_columns if column != compared]
    if outcome == FLIP:
        images = _with_flips(images, compared, others)
    pairs = _complete_pairs(images, outcome, compared, others)
    tolerance = _tolerance(outcome, plan)
    if outcome == NUMBER:
        effect = _effect_on_number(images, pairs, others, tolerance)
        exact = False
    else:
        table = effects.matched_effects(images, outcome, compared, [], "unit", tolerance)
        effect = table.iloc[0].to_dict()
        one_pair_a_face = effect["n"] == effect["transects"]
        exact = one_pair_a_face and images[outcome].dropna().isin([0, 1]).all()
    change = np.bincount(pairs.face, pairs.at_high - pairs.at_low).round(9)
    cell = cell_name(plan["axes"], held)
    return {
        "axis": contrast.axis,
        "outcome": outcome,
        "contrast": contrast.name,
        "held": dict(held),
        "cell": cell,
        "names": [*contrast.key, cell],
        **effect,
        "exact": bool(exact),
        "base_rate": float(pairs.at_low.mean()) if len(pairs.at_low) else np.nan,
        **(_ratio_of_rates(pairs) if outcome == SELECTION else {}),
        "faces_worse": (change > 0).sum(),
        "faces_better": (change < 0).sum(),
    }


def _with_flips(images: pd.DataFrame, compared: str, others: Sequence[str]) -> pd.DataFrame:
    """Images of pairs with whether the answer differs from that at the low level.

    Args:
        images: columns unit, flip (the answer) and levels; the compared one is 0 or 1.
        compared: column of the levels that are compared.
        others: columns of the levels at which the images of a pair agree.

    Returns:
        The images, whose column flip is 0 at the low level, and at the high one 1 where the answer
        is another one; NaN without an answer to both images.
    """
    answers = images.groupby(["unit", *others])[FLIP]
    both_known = answers.transform("count") == 2
    differs = answers.transform("max") != answers.transform("min")
    flips = (differs & (images[compared] == 1)).astype(float)
    return images.assign(**{FLIP: flips.where(both_known)})


def _effect_on_number(
    images: pd.DataFrame, pairs: CompletePairs, others: Sequence[str], tolerance: float
) -> dict[str, Any]:
    """The mean difference of a number without bounds, with the columns of `matched_effects`.

    Args:
        images: at the two levels that are compared.
        pairs: of these images.
        others: columns of the levels at which the images of a pair agree.
        tolerance: for the verdict.
    """
    is_high = np.repeat([False, True], len(pairs.face))
    number = np.concatenate([pairs.at_low, pairs.at_high])
    effect = mean_difference(number, is_high, np.tile(pairs.face, 2))
    places = int(np.prod([images[column].nunique() for column in others]))
    low, high, low90, high90 = (effect[name] for name in LIMITS)
    return {
        **effect,
        "n": len(pairs.face),
        "transects": len(np.unique(pairs.face)),
        "missing": images["unit"].nunique() * places - len(pairs.face),
        "worse": int((pairs.at_high > pairs.at_low).sum()),
        "better": int((pairs.at_high < pairs.at_low).sum()),
        "verdict": str(effects.verdict(low, high, low90, high90, tolerance)),
    }


def _ratio_of_rates(pairs: CompletePairs) -> dict[str, float]:
    """The rate at the high level over that at the low one: ratio, ratio_low and ratio_high."""
    is_high = np.repeat([False, True], len(pairs.face))
    outcome = np.concatenate([pairs.at_low, pairs.at_high])
    ratio = impact_ratio(outcome, is_high, np.tile(pairs.face, 2))
    return {"ratio": ratio.ratio, "ratio_low": ratio.low, "ratio_high": ratio.high}


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
        images: columns unit, the outcome, and levels from 0 on.
        outcome: column of the outcome, NaN where it is unknown.
        compared: column of the levels that are compared.
        others: columns of the levels at which the images of a pair agree.
    """
    known = images[images[outcome].notna()]
    face, _ = pd.factorize(known["unit"], sort=True)
    place = face
    for column in others:
        level = known[column].to_numpy()
        place = place * (level.max(initial=0) + 1) + level
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
