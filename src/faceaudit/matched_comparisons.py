"""The comparisons of matched images, and their verdicts.

Every contrast of an axis is compared within faces, in each cell of the other axes and on average;
in place of contrasts, the trend of an axis can be. Its pairs are the two halves of the levels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri

from faceaudit import effects, families
from faceaudit.comparisons import (
    Axes,
    Contrast,
    all_contrasts,
    cell_name,
    held_levels,
    other_contrasts,
)
from faceaudit.effects.contrasts import outcome_grid
from faceaudit.effects.impact_ratio import impact_ratio
from faceaudit.effects.mean_difference import LIMITS, mean_difference
from faceaudit.effects.survey_weights import WEIGHT, effective_number, without_equal_weights
from faceaudit.effects.trend import largest_trend, level_halves, trends_of_halves
from faceaudit.effects.verdicts import NOT_ESTIMABLE
from faceaudit.families import (
    LOOK,
    Plan,
    kind_of_contrasts,
    kind_of_pairs,
    look_of,
    pairs_of_contrasts,
)
from faceaudit.models.answers import Notify, silent
from faceaudit.outcomes import (
    ERROR,
    FLIP,
    MISSING,
    NUMBER,
    SELECTION,
    first_outcome,
    further_outcomes,
    tolerance_of,
)
from faceaudit.verdicts import GAMES, Games, judge

NO_MEAN = "no mean fits all looks"
"""Why there is no interval where a sequence has none left: its faces are of several populations."""


def with_numbered_units(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Images whose units are numbers; comparisons group by the unit.

    The order is that of the names. Of a monitored audit it is that of arrival: faces of an earlier
    look come first, and those of one look in an order that is drawn by their names alone, so that
    who makes the table cannot choose it.

    Weights stay only where they differ.
    """
    units, names = pd.factorize(frame["unit"], sort=True)
    if look_of(plan) is not None:
        looks = np.ones(len(names), int)
        if LOOK in frame:
            looks[units] = frame[LOOK]
        draws = np.array([_draw_of_face(str(name), plan["seed"]) for name in names], np.uint64)
        place = np.empty(len(names), int)
        place[np.lexsort((draws, looks))] = np.arange(len(names))
        units = place[units]
    return without_equal_weights(frame.assign(unit=units))


def _draw_of_face(name: str, seed: int) -> int:
    """A number of 64 bits by which the faces of one look are brought into an order."""
    digest = blake2b(f"{seed}/faces of a look/{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def judged_families(
    frame: pd.DataFrame, places: pd.DataFrame, plan: Plan, say: Notify = silent
) -> dict[str, pd.DataFrame]:
    """All families of matched images that decide whether a model passes, each judged for itself.

    Args:
        frame: of `MatchedImages`, of `with_numbered_units`.
        places: of `with_missing_images`.
        plan: of the audit.
        say: takes a sentence after every family.

    Returns:
        Family → a row per comparison, of `judge`. With one axis, its only cell is the average.
    """
    tables = {families.CELLS: effects_by_cell(frame, plan)}
    say(f"compared: {families.CELLS}")
    if len(plan["axes"]) > 1:
        tables[families.AVERAGES] = average_effects(frame, plan, first_outcome(plan))
        say(f"compared: {families.AVERAGES}")
    if further_outcomes(plan):
        tables[families.OUTCOMES] = effects_on_further_outcomes(frame, plan)
        say(f"compared: {families.OUTCOMES}")
    tables[families.MISSING] = average_effects(places, plan, MISSING)
    say(f"compared: {families.MISSING}")
    return tables


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
    table = compare_places(places, frame, plan)
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
    table = compare_places(places, frame, plan)
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
        A row per face and combination of levels of axes and placebos: unit, `<axis>_level`, missing
        (1 where there is no image, no label or no answer, else 0), where errors are counted first
        error (1 where it is missing), and the weight if there is one.

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
    missing = outcome.isna().astype(float).rename(MISSING).reset_index()
    if first_outcome(plan) == ERROR:
        missing[ERROR] = outcome.fillna(1.0).to_numpy()
    if WEIGHT in frame:
        weight_of_unit = frame.groupby("unit")[WEIGHT].first()
        missing[WEIGHT] = missing["unit"].map(weight_of_unit)
    return missing


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
    return compare_places(places, frame, plan)


def label_changes(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame | None:
    """How often images of one face have different labels, along every axis and placebo.

    Where the audit compares by trends, each level is compared with the first.

    Args:
        frame: of `MatchedImages`, with labels; a pair of images without both labels does not count.
        plan: of the audit.

    Returns:
        A row per contrast, judged like effects: the estimate is the share of pairs whose labels
        differ, faces_changed the number of faces with such a pair, transects that of all faces;
        None where all labels of every face are the same.

    Example:
        >>> frame = pd.DataFrame({"unit": list("aabb"), "skin_level": [0, 1] * 2})
        >>> plan = {"axes": {"skin": ("light", "dark")}, "placebos": {}, "tolerance": 0.05}
        >>> changes = label_changes(frame.assign(label=[0, 1, 1, 1]), plan | {"level": 0.05})
        >>> changes["estimate"].item(), changes["faces_changed"].item()
        (0.5, 1)
    """
    labels = frame.groupby("unit")["label"]
    if not (labels.transform("min") < labels.transform("max")).any():
        return None
    axes = {**plan["axes"], **plan["placebos"]}
    columns = [f"{axis}_level" for axis in axes]
    rows = []
    for contrast in all_contrasts(axes, kind_of_pairs(plan)):
        compared = f"{contrast.axis}_level"
        others = [column for column in columns if column != compared]
        images = at_levels_of(frame[["unit", "label", *columns]], contrast)
        pairs = _complete_pairs(images, "label", compared, others)
        changed = pairs.at_low != pairs.at_high
        changes = CompletePairs(pairs.face, np.zeros(len(changed)), changed.astype(float))
        row = _effect_on_number(images, changes, others, plan["tolerance"])
        row["exact"] = row["n"] == row["transects"]
        row["faces_changed"] = len(np.unique(pairs.face[changed]))
        rows.append({"axis": contrast.axis, "contrast": contrast.name, **row})
    return judge(pd.DataFrame(rows), plan["tolerance"], plan["level"])


def other_levels(frame: pd.DataFrame, places: pd.DataFrame, plan: Plan) -> pd.DataFrame | None:
    """The pairs of levels that the contrasts of the audit do not compare, on average over faces.

    Args:
        frame: of `MatchedImages`, of `with_numbered_units`.
        places: of `with_missing_images`.
        plan: of the audit.

    Returns:
        A row per pair and outcome, the first outcome and what is missing, each judged for itself;
        None where all pairs are compared.
    """
    contrasts = other_contrasts(plan["axes"], kind_of_contrasts(plan))
    if not contrasts:
        return None
    tables = [
        compare_places([Place(outcome, contrast, {}) for contrast in contrasts], images, plan)
        for outcome, images in ((first_outcome(plan), frame), (MISSING, places))
    ]
    return pd.concat(tables, ignore_index=True)


class Place(NamedTuple):
    """What a comparison is of: an outcome, its levels, and the cell, axis → level."""

    outcome: str
    contrast: Contrast
    held: Mapping[str, int]


def compare_places(places: Sequence[Place], frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
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
    weights = None
    if WEIGHT in frame:
        known = frame.assign(**{WEIGHT: frame[WEIGHT].where(frame[outcome].notna())})
        weights_of_images = outcome_grid(known, WEIGHT, axes, "unit", levels, is_rate=False)
        weights = weights_of_images.reshape(len(grid), -1)[:, 0]
    rows = []
    contrasts = all_contrasts(plan["axes"], kind_of_contrasts(plan))
    for first, second in pairs_of_contrasts(contrasts):
        effect = _difference_of_levels(grid, first, axes)
        difference = _difference_of_levels(effect, second, axes)
        # Of each face, the mean over all other axes.
        differences = difference.mean(axis=tuple(range(1, grid.ndim)))
        mean = _mean_of_faces(differences, weights)
        rows.append(
            {
                "axis": first.axis,
                "outcome": outcome,
                "contrast": first.name,
                "other": second.axis,
                "other_contrast": second.name,
                "names": [*first.key, *second.key],
                "transects": len(differences),
                **mean,
            }
        )
    return pd.DataFrame(rows).assign(p_holm=lambda table: effects.holm(table["p"]))


def _mean_of_faces(differences: np.ndarray, weights: np.ndarray | None) -> dict[str, float]:
    """The mean of one number of each face: estimate, low, high (95%) and p of the t-test.

    Args:
        differences: (faces,).
        weights: (faces,) above 0; None: all are alike.
    """
    faces = len(differences)
    if faces < 2:
        return dict.fromkeys(["estimate", "low", "high", "p"], np.nan)
    # As a difference from zeros at the same faces.
    number = np.concatenate([np.zeros(faces), differences])
    face = np.tile(np.arange(faces), 2)
    weight = None if weights is None else np.tile(weights, 2)
    mean = mean_difference(number, np.repeat([False, True], faces), face, weight)
    return {name: mean[name] for name in ("estimate", "low", "high", "p")}


def _difference_of_levels(grid: np.ndarray, contrast: Contrast, axes: Sequence[str]) -> np.ndarray:
    """The high level of a contrast minus the low one, or the trend; its dimension has one entry.

    Args:
        grid: (faces, levels of each axis), outcomes or differences of them.
        contrast: of one of the axes.
        axes: in the order of the grid's dimensions.
    """
    dimension = 1 + axes.index(contrast.axis)
    if contrast.is_trend:
        trend = np.tensordot(grid, contrast.weights, (dimension, 0))
        return np.expand_dims(trend, dimension)
    return grid.take([contrast.high], dimension) - grid.take([contrast.low], dimension)


def at_levels_of(frame: pd.DataFrame, contrast: Contrast) -> pd.DataFrame:
    """The images at one of the two levels of a contrast, which are then 0 and 1."""
    column = f"{contrast.axis}_level"
    level = frame[column].to_numpy()
    is_high = level == contrast.high
    is_compared = is_high | (level == contrast.low)
    return frame[is_compared].assign(**{column: is_high[is_compared].astype(int)})


def matched_row(
    frame: pd.DataFrame, outcome: str, contrast: Contrast, held: Mapping[str, int], plan: Plan
) -> dict[str, Any]:
    """One comparison, of the faces in one cell.

    Args:
        frame: of `MatchedImages`.
        outcome: column in [0, 1].
        contrast: whose levels are compared.
        held: the cell, axis → level; `{}` for all faces.
        plan: of the audit.

    Returns:
        Column → value: axis, outcome, contrast, cell, held, names (as the plan has them), those of
        `faceaudit.effects.matched_effects`, exact (one pair a face, of outcomes 0 and 1), base_rate
        (at the low level, in complete pairs; a trend has none), faces_worse and faces_better (those
        with more at the high or at the low level), largest (that rates can differ by); where faces
        have weights, effective_units, and no test is exact.
        Of a monitored audit, those of `_effect_at_every_look` in their place, and the games.
    """
    level_columns = [column for column in frame if column.endswith("_level")]
    compared = f"{contrast.axis}_level"
    is_in_cell = np.ones(len(frame), bool)
    for name, level in held.items():
        is_in_cell &= frame[f"{name}_level"].to_numpy() == level
    weight = WEIGHT if WEIGHT in frame else None
    weight_column = [WEIGHT] if weight else []
    columns = ["unit", outcome, *weight_column, *level_columns]
    of_cell = frame.loc[is_in_cell, columns]
    others = [column for column in level_columns if column != compared]
    levels = len(contrast.weights)
    if contrast.is_trend:
        matching = ["unit", *others]
        images = level_halves(of_cell, outcome, compared, levels, matching, outcome == NUMBER)
    else:
        images = at_levels_of(of_cell, contrast)
    if outcome == FLIP:
        images = _with_flips(images, compared, others)
    pairs = _complete_pairs(images, outcome, compared, others)
    tolerance = _tolerance(outcome, plan)
    if outcome == NUMBER:
        effect = _effect_on_number(images, pairs, others, tolerance)
        exact = False
    else:
        if contrast.is_trend:
            table = trends_of_halves(
                images, outcome, compared, levels, [], "unit", tolerance, weight
            )
            effect = table.iloc[0].to_dict()
        else:
            effect = _effect_on_rate(images, outcome, pairs, others, tolerance)
        one_pair_a_face = effect["n"] == effect["transects"]
        known = images[outcome].to_numpy(float)
        are_errors = not contrast.is_trend and np.isin(known[~np.isnan(known)], (0, 1)).all()
        exact = one_pair_a_face and are_errors and not weight
    if contrast.is_trend and len(np.unique(pairs.face)) < 2:
        effect["reason"] = _reason_without_trend(of_cell, outcome, contrast, plan)
    if pairs.weight is not None:
        first_of_face = np.unique(pairs.face, return_index=True)[1]
        effect["effective_units"] = effective_number(pairs.weight[first_of_face])
    if look_of(plan) is not None:
        effect |= _effect_at_every_look(pairs, effect["reason"], tolerance, plan)
        exact = False
    change = np.bincount(pairs.face, pairs.at_high - pairs.at_low).round(9)
    cell = cell_name(plan["axes"], held)
    return {
        "axis": contrast.axis,
        "outcome": outcome,
        "contrast": contrast.name,
        "held": dict(held),
        "cell": cell,
        "names": [*contrast.key, cell],
        "base_rate": np.nan if contrast.is_trend else pairs.rate_at_low,
        **effect,
        "exact": bool(exact),
        "largest": largest_trend(levels) if contrast.is_trend else 1.0,
        **(_ratio_of_rates(pairs) if outcome == SELECTION and not contrast.is_trend else {}),
        "faces_worse": (change > 0).sum(),
        "faces_better": (change < 0).sum(),
    }


def _reason_without_trend(
    of_cell: pd.DataFrame, outcome: str, contrast: Contrast, plan: Plan
) -> str:
    """Why the faces of a cell have no trend, of which at most one is complete."""
    axis = contrast.axis
    names = {**plan["axes"], **plan.get("placebos", {})}[axis]
    known = of_cell.loc[of_cell[outcome].notna(), f"{axis}_level"]
    for level, name in enumerate(names):
        if not (known == level).any():
            return f"no outcome at the level {name}"
    complete = of_cell[outcome].notna().groupby(of_cell["unit"]).sum() >= len(names)
    return "only one face has all levels" if complete.any() else "no face at every level"


def _effect_at_every_look(
    pairs: CompletePairs, reason: str, tolerance: float, plan: Plan
) -> dict[str, Any]:
    """A comparison whose interval and tests hold at every look of a monitored audit.

    Units are faces: each has the mean of its pairs, and all count alike.

    Args:
        pairs: whose faces are numbered in the order of arrival.
        reason: why there is no interval, else empty.
        tolerance: for the verdict, and what the gamblers seek.
        plan: of the audit, with its level.

    Returns:
        estimate, base_rate, low, high, low90, high90, p, mde, verdict, reason, and the games.
    """
    unknown = dict.fromkeys(["low", "high", "low90", "high90", "p", "mde"], np.nan)
    if reason:
        return {**unknown, "verdict": NOT_ESTIMABLE, "reason": reason, GAMES: None}
    each = np.bincount(pairs.face).clip(min=1)
    faces = np.unique(pairs.face)
    differences = (np.bincount(pairs.face, pairs.at_high - pairs.at_low) / each)[faces]
    at_low = (np.bincount(pairs.face, pairs.at_low) / each)[faces]
    effect = {"estimate": differences.mean(), "base_rate": at_low.mean()}
    look = look_of(plan)
    assert look is not None
    games = Games.of(differences, plan["level"], look["release"], tolerance)
    low, high = games.interval(plan["level"])
    low90, high90 = games.interval(2 * plan["level"])
    # The 90% interval is the narrower one, and the first that is empty.
    if low90 > high90:
        return effect | {**unknown, "verdict": NOT_ESTIMABLE, "reason": NO_MEAN, GAMES: None}
    z = float(-ndtri(plan["level"] / 2))
    return effect | {
        "low": low,
        "high": high,
        "low90": low90,
        "high90": high90,
        "p": games.p_of_none(),
        "mde": effects.mde((high - low) / (2 * z)),
        "verdict": str(effects.verdict(low, high, low90, high90, tolerance)),
        "reason": "",
        GAMES: games,
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


def _effect_on_rate(
    images: pd.DataFrame,
    outcome: str,
    pairs: CompletePairs,
    others: Sequence[str],
    tolerance: float,
) -> dict[str, Any]:
    """The mean difference of an outcome in [0, 1], with the columns of `matched_effects`.

    Args:
        images: at the two levels that are compared.
        outcome: column of the outcome, NaN where it is unknown.
        pairs: of these images.
        others: columns of the levels at which the images of a pair agree.
        tolerance: for the verdict.
    """
    return effects.effect_of_pairs(
        pairs.at_high - pairs.at_low,
        pairs.face,
        expected=_expected_pairs(images, others),
        dropped=int(images[outcome].isna().sum()),
        tolerance=tolerance,
        weight=pairs.weight,
    )


def _expected_pairs(images: pd.DataFrame, others: Sequence[str]) -> int:
    """How many pairs there would be if no face lacked an image."""
    places = int(np.prod([images[column].nunique() for column in others]))
    return images["unit"].nunique() * places


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
    effect = mean_difference(number, is_high, np.tile(pairs.face, 2), pairs.weight_of_images)
    low, high, low90, high90 = (effect[name] for name in LIMITS)
    return {
        **effect,
        "n": len(pairs.face),
        "transects": len(np.unique(pairs.face)),
        "missing": _expected_pairs(images, others) - len(pairs.face),
        "worse": int((pairs.at_high > pairs.at_low).sum()),
        "better": int((pairs.at_high < pairs.at_low).sum()),
        "verdict": str(effects.verdict(low, high, low90, high90, tolerance)),
    }


def _ratio_of_rates(pairs: CompletePairs) -> dict[str, float]:
    """The rate at the high level over that at the low one: ratio, ratio_low and ratio_high."""
    is_high = np.repeat([False, True], len(pairs.face))
    outcome = np.concatenate([pairs.at_low, pairs.at_high])
    ratio = impact_ratio(outcome, is_high, np.tile(pairs.face, 2), weight=pairs.weight_of_images)
    return {"ratio": ratio.ratio, "ratio_low": ratio.low, "ratio_high": ratio.high}


class CompletePairs(NamedTuple):
    """Pairs of images of one face that differ in one axis alone, by face and place.

    Attributes:
        face: (pairs,) number of the face.
        at_low: (pairs,) outcome at the low level.
        at_high: (pairs,) outcome at the high level.
        weight: (pairs,) of the face; None: all are alike.
    """

    face: np.ndarray
    at_low: np.ndarray
    at_high: np.ndarray
    weight: np.ndarray | None = None

    @property
    def rate_at_low(self) -> float:
        """The mean outcome at the low level; NaN without a pair."""
        if not len(self.at_low):
            return np.nan
        return float(np.average(self.at_low, weights=self.weight))

    @property
    def weight_of_images(self) -> np.ndarray | None:
        """The weights (2 · pairs,) of the images at the low level, and then of the others."""
        return None if self.weight is None else np.tile(self.weight, 2)


def _complete_pairs(
    images: pd.DataFrame, outcome: str, compared: str, others: Sequence[str]
) -> CompletePairs:
    """Pairs with both outcomes.

    Args:
        images: columns unit, the outcome, levels from 0 on, and a weight if faces have one.
        outcome: column of the outcome, NaN where it is unknown.
        compared: column of the levels that are compared.
        others: columns of the levels at which the images of a pair agree.
    """
    is_known = images[outcome].notna().to_numpy()
    face, _ = pd.factorize(images["unit"][is_known], sort=True)
    place = face
    for column in others:
        level = images[column].to_numpy()[is_known]
        place = place * (level.max(initial=0) + 1) + level
    value = images[outcome].to_numpy(float)[is_known]
    is_high = images[compared].to_numpy()[is_known] == 1
    low, high = np.flatnonzero(~is_high), np.flatnonzero(is_high)
    _, of_low, of_high = np.intersect1d(
        place[low], place[high], assume_unique=True, return_indices=True
    )
    low = low[of_low]
    weight = images[WEIGHT].to_numpy(float)[is_known][low] if WEIGHT in images else None
    return CompletePairs(face[low], value[low], value[high[of_high]], weight)


def with_sensitivity(table: pd.DataFrame) -> pd.DataFrame:
    """Effects with how strong a hidden attribute would have to be to explain them.

    Γ asks for independent pairs. Those of one face are not, so each face counts once, as a pair of
    its images at the one level and at the other; of these the one or the other errs more often.
    With one pair per face, that is the pair. Of faces with weights it is not known.

    Args:
        table: columns estimate, low, high, base_rate, faces_worse and faces_better; and
            effective_units where faces have weights.

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
    gamma = np.nan
    if "effective_units" not in table:
        gamma = effects.rosenbaum_gamma(table["faces_worse"], table["faces_better"])
    nearest_to_zero = np.maximum(table["low"], -table["high"]).clip(lower=0).fillna(0)
    return table.join(e_values).assign(gamma=gamma, tipping=nearest_to_zero)
