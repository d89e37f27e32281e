"""Matched images: faces that are there at every combination of the axes' levels.

The planned comparisons get verdicts (`faceaudit.verdicts`). Other thresholds, scores, rates and
leakage are reported beside them and are not adjusted for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from faceaudit import effects, families
from faceaudit.checks import (
    LABELS_ALONG_AXES,
    MISSING_ALONG_PLACEBOS,
    OTHER_LEVELS,
    examine,
)
from faceaudit.comparisons import (
    Axes,
    Contrast,
    all_contrasts,
    cell_name,
    combinations_of_levels,
)
from faceaudit.effects.survey_weights import (
    WEIGHT,
    effective_number,
    weighted_mean,
    weights_of_units,
    without_equal_weights,
)
from faceaudit.families import Plan, kind_of_contrasts
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
    read_weights,
    with_level_names,
)
from faceaudit.matched_comparisons import (
    Place,
    at_levels_of,
    average_effects,
    compare_places,
    interactions,
    judged_families,
    label_changes,
    matched_row,
    other_levels,
    with_missing_images,
    with_numbered_units,
)
from faceaudit.models.answers import ANSWERS_FOLDER, Notify, ask_and_keep, silent
from faceaudit.models.asking import model_of, require_judged_answers
from faceaudit.outcomes import (
    ERROR,
    FLIP,
    MISSING,
    NUMBER,
    REASONS,
    errors_at,
    first_outcome,
    has_own_missing,
    with_outcomes,
)
from faceaudit.report.build import Tables, count_images, rows_of, rows_with_sentences
from faceaudit.report.coverage import WORST_CASES, Covered, coverage_rows, worst_case_rows
from faceaudit.report.limits import limits_of_images
from faceaudit.report.monitored import monitored_part
from faceaudit.report.page import contact_sheet
from faceaudit.verdicts import beyond_elsewhere, settle_together, was_judged

if TYPE_CHECKING:  # an audit of a table does without
    from faceaudit.images.faces import MakeImages

FAMILY_OF_PART = {
    "effects": families.CELLS,
    "averages": families.AVERAGES,
    "outcomes": families.OUTCOMES,
    "missing": families.MISSING,
    "placebos": families.PLACEBOS,
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
            answer), the other outcomes of the audit, the annotated columns, and the weight of the
            face where it has one (`faceaudit.effects.survey_weights.WEIGHT`); of a monitored audit
            the look at which its face came first, from 1 on; of a generator's images mean answers
            about all that was asked of them; unless the table has errors alone, score (NaN where
            the model gave no answer; of decisions the place of the class), and where errors are
            counted label (the place of the class, NaN where raters tie).
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
        if specification.names_reasons:
            more_columns.append(columns.reason)
        if columns.weight is not None:
            more_columns.append(columns.weight)
        images = read_matched_images(rows, columns.image, specification, more_columns)
        if columns.weight is not None:
            images[WEIGHT] = read_weights(rows, columns.weight, images["unit"])
        if specification.names_reasons:
            has_answer = rows.frame[answer_column].notna()
            reasons = read_reasons(rows, columns.reason, has_answer)
            if specification.reads_reasons:
                images["reason"] = reasons
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

            def score(other_images: np.ndarray) -> np.ndarray:
                scores, _ = ask_and_keep(model, other_images, folder / ANSWERS_FOLDER)
                require_judged_answers(model, scores)
                return scores

            about["truth"] = labelled_images.truth(score, threshold)
            say(f"truth: {world.base_faces} other faces, by intervention")
        return data, about, contact_sheet(images, labelled, specification.axes)

    def analyse(self, plan: Plan, say: Notify = silent) -> dict[str, pd.DataFrame]:
        """All tables of a report about matched images.

        Args:
            plan: of `faceaudit.make_plan`.
            say: takes a sentence after every stage, which can take seconds.

        Returns:
            The families of the plan by their names, each with a row per comparison (see `judge`;
            "interactions" has estimate, low, high, p and p_holm), and besides them "thresholds",
            "scores", "rates", "manipulation" (how far people saw every axis move along itself) and
            "leakage" (every other attribute along it). Where errors are counted and some are not
            known, "worst cases" has the averages in which these count as errors. Where labels of a
            face differ, "labels" says how often they do, along every axis and placebo. Where pairs
            of levels are not compared, "levels" has them.
        """
        frame = with_numbered_units(self.frame, plan)
        outcome = first_outcome(plan)
        places = with_missing_images(frame, plan)
        tables = judged_families(frame, places, plan, say)
        if len(plan["axes"]) > 1:
            tables[families.INTERACTIONS] = interactions(frame, plan)
            say(f"compared: {families.INTERACTIONS}")
        is_judged = has_own_missing(frame, places[MISSING], plan)
        tables = settle_together(tables, plan["level"], is_judged)
        if outcome == ERROR and places[MISSING].any():
            worst = average_effects(places, plan, ERROR)
            tables[WORST_CASES] = worst.assign(subject=worst["axis"], measure="")
            say(f"compared: {WORST_CASES}")
        others = other_levels(frame, places, plan)
        if others is not None:
            tables[OTHER_LEVELS] = others
        placebos = plan["placebos"]
        if placebos:
            tables[families.PLACEBOS] = average_effects(frame, plan, outcome, placebos)
            tables[MISSING_ALONG_PLACEBOS] = average_effects(places, plan, MISSING, placebos)
            say(f"compared: {families.PLACEBOS}")
        if self.scored and outcome == ERROR:
            tables["thresholds"] = other_thresholds(frame, plan)
            distance = (frame["score"] - frame["label"]).abs()
            tables["scores"] = average_effects(frame.assign(distance=distance), plan, "distance")
            say("compared: other thresholds and scores")
        if outcome != FLIP:
            tables["rates"] = _rates_by_cell(frame, outcome, plan["axes"])
        changed_labels = label_changes(frame, plan) if "label" in frame else None
        if changed_labels is not None:
            tables[LABELS_ALONG_AXES] = changed_labels
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
        if WEIGHT in self.frame:
            weights = weights_of_units(self.frame)
            counts["sum_of_weights"] = float(weights.sum())
            counts["effective_units"] = effective_number(weights)
        parts: dict[str, Any] = {"threshold": plan["threshold"], "data": counts}
        for name, family in FAMILY_OF_PART.items():
            is_shown = family != families.MISSING or was_judged(tables[family])
            table = tables.get(family) if is_shown else None
            parts[name] = rows_with_sentences(name, table, plan)
        # Scores are no errors and have no verdict, so that no sentence is about them.
        for name in WITHOUT_SENTENCES:
            parts[name] = rows_of(name, tables.get(name))
        parts["coverage"] = coverage_rows(
            covered_faces(self.frame, outcome, plan["axes"]), plan["policy"]
        )
        parts["monitored"] = monitored_part(self.frame, plan)
        parts["worst_cases"] = worst_case_rows(tables.get(WORST_CASES))
        labels = self.frame.get("label")
        one_class = labels is not None and labels.nunique() < 2
        return parts, limits_of_images(parts, counts, plan, one_class)


def covered_faces(frame: pd.DataFrame, outcome: str, axes: Axes) -> Covered:
    """How many faces have a known outcome at every combination of levels, of all faces.

    Args:
        frame: of `MatchedImages`; an outcome that is not known is NaN.
        outcome: column that is asked for.
        axes: of the audit.
    """
    frame = without_equal_weights(frame)
    shape = [len(names) for names in axes.values()]
    levels = frame[[f"{axis}_level" for axis in axes]].to_numpy()
    # The number of a combination, with the last axis running fastest.
    combination = np.ravel_multi_index(levels.T, shape)
    names = [cell_name(axes, dict(zip(axes, levels, strict=True))) for levels in np.ndindex(*shape)]
    known = frame[outcome].notna()
    faces = frame.loc[known, "unit"].groupby(combination[known]).nunique()
    faces = faces.reindex(range(len(names)), fill_value=0)
    emptiest = names[int(faces.idxmin())]
    unanswered = 1 - int(faces.min()) / frame["unit"].nunique()
    unit = "faces"
    if WEIGHT in frame:
        unit = "effective faces"
        weights = frame[known].groupby([combination[known], "unit"])[WEIGHT].first()
        by_cell = weights.groupby(level=0)
        faces = (by_cell.sum() ** 2 / by_cell.agg(lambda of_cell: (of_cell**2).sum())).round(9)
        faces = faces.reindex(range(len(names)), fill_value=0)
    smallest = names[int(faces.idxmin())]
    return Covered(unit, "cell", smallest, int(faces.min()), emptiest, unanswered)


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
    # Of each contrast, the images whose partners at its other levels have another label.
    label_changes = [_label_changes(frame, contrast) for contrast in contrasts]
    tables = []
    for threshold in sorted({*plan["other thresholds"], plan["threshold"]}):
        error = errors_at(frame, threshold)
        averages = average_effects(frame.assign(error=error), plan, "error")
        table = averages[["axis", "contrast", "estimate", "low", "high"]]
        rate = weighted_mean(error, frame)
        rows_of_one_label = []
        for row, (contrast, changes) in enumerate(zip(contrasts, label_changes, strict=True)):
            if not changes.any():  # then all pairs are of one label
                rows_of_one_label.append(averages.iloc[[row]])
                continue
            error_of_one_label = error.mask(changes & error.notna(), 0.0)
            images = frame.assign(error=error_of_one_label)
            rows_of_one_label.append(compare_places([Place(ERROR, contrast, {})], images, plan))
        of_one_label = pd.concat(rows_of_one_label)
        table["same_label"] = of_one_label["estimate"].to_numpy()
        table["p_beyond"] = of_one_label["p_beyond"].to_numpy()
        tables.append(table.assign(threshold=threshold, rate=rate))
    return beyond_elsewhere(pd.concat(tables, ignore_index=True), plan)


def _label_changes(frame: pd.DataFrame, contrast: Contrast) -> pd.Series:
    """Whether the images of a face at the levels of a contrast have different labels: (n,)."""
    images = frame if contrast.is_trend else at_levels_of(frame, contrast)
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
    if WEIGHT in frame:
        table["rate"] = [weighted_mean(of_cell[outcome], of_cell) for _, of_cell in cells]
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


# --- the steps as functions

from_table = MatchedImages.from_table
analyse = MatchedImages.analyse
