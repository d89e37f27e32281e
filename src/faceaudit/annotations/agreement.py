"""Counts of levels per image: scores, how far raters agree, and who answers unlike the others.

Mean, spread and majority of an image, Krippendorff's alpha and the intraclass correlation follow
from the counts (image × attribute × level); which rater gave which answer no longer matters. Images
with the same counts are interchangeable, so a bootstrap over images is a multinomial draw over the
distinct patterns of counts, and every resample's statistic is a matrix product.
"""

from collections.abc import Collection, Mapping
from typing import Literal

import numpy as np
import pandas as pd
from scipy.stats import median_abs_deviation

from faceaudit.annotations.schema import n_levels, ratio, require_levels, standard_deviation
from faceaudit.utils import seeding
from faceaudit.utils.arguments import require_columns, require_rows
from faceaudit.utils.errors import InputError

Metric = Literal["nominal", "ordinal", "interval"]
NO_ANSWERS = "no answers"
NO_IMAGE_WITH_TWO = "no image has two answers"
ONE_IMAGE_WITH_TWO = "one image has two answers"
EQUAL_ANSWERS = "all answers are equal"
EQUAL_MEANS = "the mean answers of all images are equal"
_ROUNDING_ERROR = 1e-9


def agreement_table(
    counts: dict[str, np.ndarray], *, metric: Metric = "ordinal", n_boot: int = 1000, seed: int = 0
) -> pd.DataFrame:
    """Measure the agreement about every attribute, with intervals from a bootstrap over images.

    Args:
        counts: attribute → (n images, levels), from `count_tensor`.
        metric: distance between levels in alpha: "nominal", "ordinal" or "interval".
        n_boot: resamples.
        seed: of the resamples, drawn for each attribute by its own key.

    Returns:
        Index attribute; columns `images`, `raters` (mean number of answers per image), and the
        value, `<name>_low` and `<name>_high` (95% percentile interval) of each of `sd` (mean
        standard deviation of an image's answers, as a share of the scale's range), `alpha`
        (Krippendorff 2011) and `icc`, ICC(1,k) of Shrout and Fleiss (1979); and `reason`, why some
        of them cannot be estimated (NaN), else empty: agreement takes two answers to an image, two
        such images, and answers that are not all equal; the spread `sd` no more than the first, and
        `icc` images whose mean answers differ.

    Example:
        >>> import numpy as np
        >>> from faceaudit import annotations
        >>> counts = {"makeup": np.array([[3, 0, 0, 0], [0, 0, 1, 2]])}
        >>> table = annotations.agreement_table(counts, n_boot=10)
        >>> table.loc["makeup", ["images", "raters", "icc"]].round(2).tolist()
        [2.0, 3.0, 0.98]
        >>> alone = annotations.agreement_table({"age": np.array([[1, 0], [0, 1]])}, n_boot=10)
        >>> alone.loc["age", "reason"]
        'no image has two answers'
    """
    rows = {}
    for attribute, count in counts.items():
        rng = seeding.rng(seed, f"agreement/{attribute}")
        rows[attribute] = _agreement_row(count[count.sum(axis=1) > 0], metric, n_boot, rng)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("attribute")


def _agreement_row(
    counts: np.ndarray, metric: Metric, n_boot: int, rng: np.random.Generator
) -> dict[str, float | str]:
    """The row of one attribute, from counts of images that have answers."""
    images = len(counts)
    reason = why_unknown(counts)
    row = {"images": images, "raters": counts.sum() / images if images else 0.0}
    for name in ("sd", "alpha", "icc"):
        row[name] = np.nan
        row[f"{name}_low"] = np.nan
        row[f"{name}_high"] = np.nan
    if reason not in (NO_ANSWERS, NO_IMAGE_WITH_TWO):
        patterns, frequency = np.unique(counts, axis=0, return_counts=True)
        resamples = rng.multinomial(images, frequency / images, size=n_boot)
        weights = np.vstack([frequency, resamples]).astype(float)
        # A row for the images, and one for each resample of them.
        statistics = {"sd": mean_sd(patterns, weights)}
        if not reason:
            statistics["alpha"] = krippendorff_alpha(patterns, weights, metric)
            statistics["icc"] = icc(patterns, weights)
        for name, values in statistics.items():
            row[name] = values[0]
            resampled = values[1:]
            # Resamples of one image are all alike: their quantiles would claim to know it exactly.
            if reason != ONE_IMAGE_WITH_TWO and np.isfinite(resampled).any():
                low, high = np.nanquantile(resampled, [0.025, 0.975])
                row[f"{name}_low"] = low
                row[f"{name}_high"] = high
        if not reason and np.isnan(row["icc"]):
            reason = EQUAL_MEANS
    row["reason"] = reason
    return row


def why_unknown(counts: np.ndarray) -> str:
    """Why agreement cannot be estimated from counts (n, levels), else empty."""
    pairable = np.count_nonzero(counts.sum(axis=1) > 1)
    if not counts.any():
        return NO_ANSWERS
    if pairable == 0:
        return NO_IMAGE_WITH_TWO
    if pairable == 1:
        return ONE_IMAGE_WITH_TWO
    if np.count_nonzero(counts.any(axis=0)) == 1:
        return EQUAL_ANSWERS
    return ""


def mean_sd(counts: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Mean over images of the SD of an image's answers, as a share of the scale's range.

    Images with fewer than two answers do not count.

    Args:
        counts: (n, levels).
        weights: how often each image is in each of B resamples, (B, n); without, once each.

    Returns:
        (B,), nan where no image has two answers.
    """
    several = counts.sum(axis=1) > 1
    weights = _once_each(counts, weights)[:, several]
    counts = counts[several]
    return ratio(weights @ standard_deviation(counts), weights.sum(axis=1))


def icc(counts: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """ICC(1,k): reliability of an image's mean answer, one-way random effects.

    1 - MSW / MSB from the analysis of variance of answers by image (Shrout and Fleiss 1979, case
    1). With unequal numbers of answers it is that of a typical number of them. Images without
    answers do not count.

    Args:
        counts: (n, levels).
        weights: how often each image is in each of B resamples, (B, n); without, once each.

    Returns:
        (B,), nan where no image has two answers, or where all images have one mean.
    """
    answered = counts.sum(axis=1) > 0
    weights = _once_each(counts, weights)[:, answered]
    counts = counts[answered]
    levels = np.arange(counts.shape[1])
    answers = counts.sum(axis=1)
    total = counts @ levels
    images = weights.sum(axis=1)
    n = weights @ answers
    between_images = weights @ (total**2 / answers)
    between = ratio(between_images - ratio((weights @ total) ** 2, n), images - 1)
    within = ratio(weights @ (counts @ levels**2) - between_images, n - images)
    return 1 - ratio(within, between)


def krippendorff_alpha(
    counts: np.ndarray, weights: np.ndarray | None = None, metric: Metric = "ordinal"
) -> np.ndarray:
    """Krippendorff's alpha: 1 - observed / expected disagreement; 0 is agreement by chance.

    Krippendorff, Computing Krippendorff's alpha-reliability (2011), on any metric and missing data.
    Images with fewer than two answers do not count.

    Args:
        counts: (n, levels).
        weights: how often each image is in each of B resamples, (B, n); without, once each.
        metric: distance between levels.

    Returns:
        (B,), nan where all answers are equal, and where there is one image, whose disagreement is
        the one expected by chance.
    """
    pairable = counts.sum(axis=1) > 1
    weights = _once_each(counts, weights)[:, pairable]
    counts = counts[pairable]
    levels = counts.shape[1]
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(levels)
    pairs = pairs / (counts.sum(axis=1) - 1)[:, None, None]
    observed = (weights @ pairs.reshape(len(counts), levels**2)).reshape(-1, levels, levels)
    marginal = observed.sum(axis=2)
    distance = squared_distance(marginal, metric)
    expected = marginal[:, :, None] * marginal[:, None, :]
    disagreement = (observed * distance).sum(axis=(1, 2))
    by_chance = ratio((expected * distance).sum(axis=(1, 2)), marginal.sum(axis=1) - 1)
    return np.where(weights.sum(axis=1) > 1, 1 - ratio(disagreement, by_chance), np.nan)


def squared_distance(marginal: np.ndarray, metric: Metric) -> np.ndarray:
    """Krippendorff's squared distances (B or 1, levels, levels) from the levels' frequencies."""
    level = np.arange(marginal.shape[1], dtype=float)[None]
    if metric == "ordinal":
        # Mid-ranks: the answers between two levels, plus half of those at either.
        level = marginal.cumsum(axis=1) - marginal / 2
    squared = (level[:, :, None] - level[:, None, :]) ** 2
    return (squared > 0).astype(float) if metric == "nominal" else squared


def _once_each(counts: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """The weights (B, n); without, every image once, (1, n)."""
    return np.ones((1, len(counts))) if weights is None else weights


def screen_raters(
    tidy: pd.DataFrame,
    *,
    cut: float = 3.0,
    gold: Mapping[tuple[str, str], Collection[int]] | None = None,
) -> pd.DataFrame:
    """Compare every rater with the others, and with gold questions; no rater is removed.

    A rater's distance is the mean of |level − mean level of the others| / (levels − 1), over the
    answers to questions that another rater answered too. It is flagged beyond median + cut · 1.4826
    MAD of all raters' distances, where MAD is the median absolute deviation (Leys et al., Journal
    of Experimental Social Psychology 49 (2013) 764-766). It compares raters who were asked alike,
    and says little of one with few answers.

    Among few raters the rule knows little, because these few are all it has for what is usual: a
    flag among fewer than ten is a reason to look, and no finding.

    Args:
        tidy: answers, one row each, as a reader returns them.
        cut: robust standard deviations above the median from which a rater is flagged.
        gold: (image id, attribute) → levels that are accepted, counted from 0.

    Returns:
        A row per rater, index annotator_id (sorted), with the columns

        - answers; compared: those that the distance is made of;
        - distance: in units of the scale, NaN where nothing could be compared; flagged: bool;
        - seconds: median time for an answer; those of one assignment share its time equally;
        - gold: gold questions answered; gold_right: share with an accepted level.

    Raises:
        InputError: no answers, or a missing column; an unknown attribute, or a level outside of its
            scale; a gold question that nobody answered.

    Example:
        >>> import pandas as pd
        >>> from faceaudit import annotations
        >>> levels = {"anne": [0, 4, 2], "ben": [0, 4, 2], "cleo": [0, 4, 3], "dora": [5, 0, 2]}
        >>> tidy = pd.DataFrame(levels, ["a", "b", "c"]).rename_axis("image_id").reset_index()
        >>> tidy = tidy.melt("image_id", var_name="annotator_id", value_name="level")
        >>> table = annotations.screen_raters(tidy.assign(attribute="age", seconds=3.0))
        >>> table.index[table["flagged"]].tolist()
        ['dora']
    """
    require_columns(tidy, ["annotator_id", "image_id", "attribute", "level", "seconds"])
    require_rows(tidy)
    require_levels(tidy)
    tidy = tidy.reset_index(drop=True)
    attribute = tidy["attribute"].astype("str")
    unit = tidy["level"] / attribute.map(lambda name: n_levels(name) - 1)
    assignment = ["annotator_id", "image_id", "submitted_at", "seconds"]
    keys = [column for column in assignment if column in tidy]
    size = tidy.groupby(keys, observed=True, dropna=False)["level"].transform("size")
    columns = {
        "distance": _distance_from_others(unit, tidy["image_id"], attribute),
        "seconds": tidy["seconds"] / size,  # an equal share of its assignment's
        "right": _accepted(tidy, gold or {}),
    }
    by = pd.DataFrame(columns).groupby(tidy["annotator_id"].astype("str"))
    table = pd.DataFrame({"answers": by.size(), "compared": by["distance"].count()})
    distance = by["distance"].mean()
    table["distance"] = distance
    spread = median_abs_deviation(distance, scale="normal", nan_policy="omit")
    table["flagged"] = distance > distance.median() + cut * spread + _ROUNDING_ERROR
    table["seconds"] = by["seconds"].median()
    return table.assign(gold=by["right"].count(), gold_right=by["right"].mean()).sort_index()


def _distance_from_others(unit: pd.Series, image_id: pd.Series, attribute: pd.Series) -> pd.Series:
    """Distance of every answer from the mean of the others to its question, in ranges.

    Args:
        unit: levels over (levels - 1).
        image_id: of every answer.
        attribute: of every answer.

    Returns:
        NaN where there is no other answer.
    """
    answers = unit.groupby([image_id, attribute], observed=True)
    others = answers.transform("size") - 1
    mean = (answers.transform("sum") - unit) / others.where(others > 0)
    return (unit - mean).abs()


def _accepted(tidy: pd.DataFrame, gold: Mapping[tuple[str, str], Collection[int]]) -> pd.Series:
    """1.0 or 0.0 for answers to gold questions, NaN for all others."""
    questions = pd.MultiIndex.from_frame(tidy[["image_id", "attribute"]])
    unanswered = sorted(set(gold) - set(questions.unique()), key=str)
    if unanswered:
        raise InputError(
            f"nobody answered the gold question {unanswered[0]!r} ({len(unanswered)} in all)",
            field="gold",
            found=unanswered[0],
            expected="questions that were answered",
        )
    accepted = [(*question, level) for question, levels in gold.items() for level in levels]
    answers = pd.MultiIndex.from_frame(tidy[["image_id", "attribute", "level"]])
    return pd.Series(answers.isin(accepted), dtype=float).where(questions.isin(gold))
