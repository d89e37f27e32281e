"""Counts of levels per image: scores, how far raters agree, and who answers unlike the others.

Mean, spread and majority of an image, Krippendorff's alpha and the intraclass correlation follow
from the counts (image × attribute × level); which rater gave which answer no longer matters. Images
with the same counts are interchangeable, so a bootstrap over images is a multinomial draw over the
distinct patterns of counts, and every resample's statistic is a matrix product.
"""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd
from scipy.stats import median_abs_deviation

from faceaudit.annotations.schema import n_levels, ratio, require_levels, standard_deviation
from faceaudit.utils import seeding
from faceaudit.utils.arguments import require_columns, require_rows

Metric = Literal["nominal", "ordinal", "interval"]
NO_ANSWERS, NO_IMAGE_WITH_TWO, ONE_IMAGE_WITH_TWO = (
    "no answers",
    "no image has two answers",
    "one image has two answers",
)
EQUAL_ANSWERS, EQUAL_MEANS = "all answers are equal", "the mean answers of all images are equal"
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
        value, `<name>_low` and `<name>_high` (95 % percentile interval) of each of `sd` (mean
        standard deviation of an image's answers, in units of the range), `alpha` (Krippendorff
        2011) and `icc`, ICC(1,k) of Shrout and Fleiss (1979); and `reason`, why some of them cannot
        be estimated (NaN), else empty: agreement takes two answers to an image, two such images,
        and answers that are not all equal; the spread `sd` no more than the first, and `icc` images
        whose mean answers differ.

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
    images, reason = len(counts), why_unknown(counts)
    alpha = partial(krippendorff_alpha, metric=metric)
    statistics = {"sd": mean_deviation, "alpha": alpha, "icc": icc}
    row = {"images": images, "raters": counts.sum() / images if images else 0.0}
    row |= dict.fromkeys(
        [f"{name}{end}" for name in statistics for end in ("", "_low", "_high")], np.nan
    )
    if reason not in (NO_ANSWERS, NO_IMAGE_WITH_TWO):
        patterns, frequency = np.unique(counts, axis=0, return_counts=True)
        resamples = rng.multinomial(images, frequency / images, size=n_boot)
        weights = np.vstack([frequency, resamples]).astype(float)
        for name in ["sd"] if reason else statistics:
            row[name], *resampled = statistics[name](patterns, weights)
            # Resamples of one image are all alike: their quantiles would claim to know it exactly.
            if reason != ONE_IMAGE_WITH_TWO and np.isfinite(resampled).any():
                ends = np.nanquantile(resampled, [0.025, 0.975])
                row[f"{name}_low"], row[f"{name}_high"] = ends
        if not reason and np.isnan(row["icc"]):
            reason = EQUAL_MEANS
    return row | {"reason": reason}


def why_unknown(counts: np.ndarray) -> str:
    """Why agreement cannot be estimated from counts (n, levels), else empty."""
    pairable = np.count_nonzero(counts.sum(axis=1) > 1)
    if pairable < 2:
        return ONE_IMAGE_WITH_TWO if pairable else NO_IMAGE_WITH_TWO if counts.any() else NO_ANSWERS
    return EQUAL_ANSWERS if np.count_nonzero(counts.any(axis=0)) == 1 else ""


# A row of weights (B, n) says how often each image is in a resample; without, once each.


def mean_deviation(counts: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Mean over images of the standard deviation of an image's answers, (B,), in ranges.

    Images with fewer than two answers do not count; nan where there is no other.
    """
    several = counts.sum(axis=1) > 1
    weights, counts = _once_each(counts, weights)[:, several], counts[several]
    return ratio(weights @ standard_deviation(counts), weights.sum(axis=1))


def icc(counts: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """ICC(1,k): reliability of an image's mean answer, one-way random effects, (B,).

    1 - MSW / MSB from the analysis of variance of answers by image (Shrout and Fleiss 1979, case
    1). With unequal numbers of answers it is that of a typical number of them. Images without
    answers do not count; nan where no image has two answers, or where all images have one mean.
    """
    answered = counts.sum(axis=1) > 0
    weights, counts = _once_each(counts, weights)[:, answered], counts[answered]
    levels = np.arange(counts.shape[1])
    answers, total = counts.sum(axis=1), counts @ levels
    images, n = weights.sum(axis=1), weights @ answers
    between_images = weights @ (total**2 / answers)
    between = ratio(between_images - ratio((weights @ total) ** 2, n), images - 1)
    within = ratio(weights @ (counts @ levels**2) - between_images, n - images)
    return 1 - ratio(within, between)


def krippendorff_alpha(
    counts: np.ndarray, weights: np.ndarray | None = None, metric: Metric = "ordinal"
) -> np.ndarray:
    """Krippendorff's alpha, (B,): 1 - observed / expected disagreement; 0 is agreement by chance.

    Images with fewer than two answers do not count; nan where all answers are equal, and where
    there is one image, whose disagreement is what chance gives (Krippendorff, Computing
    Krippendorff's alpha-reliability, 2011, on any metric and missing data).
    """
    pairable = counts.sum(axis=1) > 1
    weights, counts = _once_each(counts, weights)[:, pairable], counts[pairable]
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
    return np.ones((1, len(counts))) if weights is None else weights


def screen_raters(
    tidy: pd.DataFrame,
    *,
    cut: float = 3.0,
    gold: Mapping[tuple[str, str], Collection[int]] | None = None,
) -> pd.DataFrame:
    """Compare every rater with the others, and with what else is known; nobody is left out.

    A rater's distance is the mean of |level − mean level of the others| / (levels − 1), over the
    answers to questions that somebody else answered too. It is flagged beyond median + cut · 1.4826
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
        ValueError: no answers, or a missing column; an unknown attribute, or a level outside of its
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
    rater, attribute = tidy["annotator_id"], tidy["attribute"].astype("str")
    unit = tidy["level"] / attribute.map(lambda name: n_levels(name) - 1)
    visit = [c for c in ("annotator_id", "image_id", "submitted_at", "seconds") if c in tidy]
    size = tidy.groupby(visit, observed=True, dropna=False)["level"].transform("size")
    columns = {
        "distance": _distance_from_others(unit, tidy["image_id"], attribute),
        "seconds": tidy["seconds"] / size,  # an equal share of its assignment's
        "right": _accepted(tidy, gold or {}),
    }
    by = pd.DataFrame(columns).groupby(rater.astype("str").rename("annotator_id"))
    table = pd.DataFrame({"answers": by.size(), "compared": by["distance"].count()})
    distance = table["distance"] = by["distance"].mean()
    spread = median_abs_deviation(distance, scale="normal", nan_policy="omit")
    table["flagged"] = distance > distance.median() + cut * spread + _ROUNDING_ERROR
    table["seconds"] = by["seconds"].median()
    return table.assign(gold=by["right"].count(), gold_right=by["right"].mean()).sort_index()


def _distance_from_others(unit: pd.Series, *question: pd.Series) -> pd.Series:
    """Of every answer from the mean of the others to its question; NaN where there is no other."""
    answers = unit.groupby([*question], observed=True)
    others = answers.transform("size") - 1
    mean = (answers.transform("sum") - unit) / others.where(others > 0)
    return (unit - mean).abs()


def _accepted(tidy: pd.DataFrame, gold: Mapping[tuple[str, str], Collection[int]]) -> pd.Series:
    """1.0 or 0.0 for answers to gold questions, NaN for all others."""
    asked = pd.MultiIndex.from_frame(tidy[["image_id", "attribute"]])
    if missing := sorted(set(gold) - set(asked.unique()), key=str):
        raise ValueError(
            f"nobody answered the gold question {missing[0]!r} ({len(missing)} in all)"
        )
    right = [(*question, level) for question, levels in gold.items() for level in levels]
    given = pd.MultiIndex.from_frame(tidy[["image_id", "attribute", "level"]])
    return pd.Series(given.isin(right), dtype=float).where(asked.isin(gold))
