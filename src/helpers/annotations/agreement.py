"""Counts of levels per image: scores, and how far annotators agree.

Mean, spread and majority of an image, Krippendorff's alpha and the intraclass correlation follow
from the counts (image × attribute × level); which rater gave which answer no longer matters. Images
with the same counts are interchangeable, so a bootstrap over images is a multinomial draw over the
distinct patterns of counts, and every resample's statistic is a matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd

from helpers.annotations.schema import ATTRIBUTES, occurring
from helpers.utils import seeding

Metric = Literal["nominal", "ordinal", "interval", "ratio"]
NOBODY, ALONE, ONE_IMAGE = "no answers", "no image has two answers", "one image has two answers"
ALL_EQUAL, ONE_MEAN = "all answers are equal", "the mean answers of all images are equal"
ENDS = ("", "_low", "_high")


def count_tensor(tidy: pd.DataFrame) -> tuple[pd.Index, dict[str, np.ndarray]]:
    """Count how many annotators gave each image each level.

    Args:
        tidy: answers, one row each, as a reader returns them; columns image_id, attribute and
            level are used.

    Returns:
        The image ids in sorted order, and of every attribute that occurs the counts, int64
        (n images, n levels), rows in the order of the image ids; all 0 for an image without
        answers about that attribute.

    Raises:
        ValueError: an attribute is unknown, or a level is outside its scale.

    Example:
        >>> import pandas as pd
        >>> from helpers import annotations
        >>> tidy = pd.DataFrame({"image_id": "a", "attribute": "makeup", "level": [0, 3, 3]})
        >>> annotations.count_tensor(tidy)[1]["makeup"].tolist()
        [[1, 0, 0, 2]]
    """
    unknown = sorted(set(tidy["attribute"].unique()) - set(ATTRIBUTES))
    if unknown:
        raise ValueError(f"unknown attribute {unknown[0]!r}, expected one of {list(ATTRIBUTES)}")
    images = occurring(pd.Categorical(tidy["image_id"]))
    codes, image_ids = images.codes, images.categories
    counts = {}
    for attribute, levels in ATTRIBUTES.items():
        rows = (tidy["attribute"] == attribute).to_numpy()
        if not rows.any():
            continue
        level = tidy["level"].to_numpy()[rows]
        if not ((level >= 0) & (level < len(levels))).all():
            raise ValueError(f"level of {attribute} outside 0 ... {len(levels) - 1}")
        cells = codes[rows].astype(np.int64) * len(levels) + level
        flat = np.bincount(cells, minlength=len(image_ids) * len(levels))
        counts[attribute] = flat.reshape(len(image_ids), len(levels))
    return pd.Index(image_ids, name="image_id"), counts


def scores(tidy: pd.DataFrame) -> pd.DataFrame:
    """Compute perceived scores: an image's mean level over (levels - 1), in [0, 1].

    Transects, section 4.3.

    Args:
        tidy: answers, one row each, as a reader returns them.

    Returns:
        Index image_id (sorted), one column per attribute that occurs, in the order of `ATTRIBUTES`;
        missing where an image has no answer about the attribute.

    Raises:
        ValueError: an attribute is unknown, or a level is outside its scale.

    Example:
        >>> import pandas as pd
        >>> from helpers import annotations
        >>> tidy = pd.DataFrame({"image_id": "a", "attribute": "age", "level": [1, 4]})
        >>> annotations.scores(tidy)["age"].tolist()
        [0.5]
    """
    image_ids, counts = count_tensor(tidy)
    return pd.DataFrame(
        {attribute: mean(count) for attribute, count in counts.items()}, index=image_ids
    )


def mean(counts: np.ndarray) -> np.ndarray:
    """Mean level over (levels - 1), in [0, 1], of counts (n, levels); nan without answers."""
    answers = counts.sum(axis=1)
    total = counts @ _unit_levels(counts)
    return np.divide(total, answers, out=np.full(len(counts), np.nan), where=answers > 0)


def standard_deviation(counts: np.ndarray, ddof: int = 1) -> np.ndarray:
    """Compute the spread of every image's answers, in units of the scale's range.

    Args:
        counts: (n, levels), of one attribute.
        ddof: 1 divides by answers - 1 (unbiased variance), 0 by the number of answers.

    Returns:
        float64 (n,); nan with `ddof` answers or fewer.

    Example:
        >>> import numpy as np
        >>> from helpers import annotations
        >>> annotations.standard_deviation(np.array([[1, 0, 1]]), ddof=0).tolist()
        [0.5]
    """
    answers = counts.sum(axis=1)
    with np.errstate(invalid="ignore"):
        deviation = _unit_levels(counts) - mean(counts)[:, None]
    squares = (counts * deviation**2).sum(axis=1)
    missing = np.full(len(counts), np.nan)
    return np.sqrt(np.divide(squares, answers - ddof, out=missing, where=answers > ddof))


def _unit_levels(counts: np.ndarray) -> np.ndarray:
    return np.linspace(0.0, 1.0, counts.shape[1])


def agreement_table(
    counts: dict[str, np.ndarray],
    *,
    metric: Metric = "ordinal",
    ddof: int = 1,
    n_boot: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Measure the agreement about every attribute, with intervals from a bootstrap over images.

    Args:
        counts: attribute → (n images, levels), from `count_tensor`.
        metric: distance between levels in alpha: "nominal", "ordinal", "interval" or "ratio"
            (which takes levels as 1, 2, 3, …).
        ddof: of the per-image standard deviation, see `standard_deviation`.
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

    Raises:
        ValueError: the metric is unknown.

    Example:
        >>> import numpy as np
        >>> from helpers import annotations
        >>> counts = {"makeup": np.array([[3, 0, 0, 0], [0, 0, 1, 2]])}
        >>> table = annotations.agreement_table(counts, n_boot=10)
        >>> table.loc["makeup", ["images", "raters", "icc"]].round(2).tolist()
        [2.0, 3.0, 0.98]
        >>> alone = annotations.agreement_table({"age": np.array([[1, 0], [0, 1]])}, n_boot=10)
        >>> alone.loc["age", "reason"]
        'no image has two answers'
    """
    statistics = {
        "sd": partial(mean_deviation, ddof=ddof),
        "alpha": partial(krippendorff_alpha, metric=metric),
        "icc": icc,
    }
    rows = {}
    for attribute, count in counts.items():
        rng = seeding.rng(seed, f"agreement/{attribute}")
        rows[attribute] = _row(count[count.sum(axis=1) > 0], statistics, n_boot, rng)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("attribute")


def _row(
    counts: np.ndarray,
    statistics: dict[str, Callable[..., np.ndarray]],
    n_boot: int,
    rng: np.random.Generator,
) -> dict[str, float | str]:
    """The row of one attribute, from counts of images that have answers."""
    images, reason = len(counts), why_unknown(counts)
    row = {"images": images, "raters": counts.sum() / images if images else 0.0}
    row |= dict.fromkeys([f"{name}{end}" for name in statistics for end in ENDS], np.nan)
    if reason not in (NOBODY, ALONE):
        patterns, frequency = np.unique(counts, axis=0, return_counts=True)
        resamples = rng.multinomial(images, frequency / images, size=n_boot)
        weights = np.vstack([frequency, resamples]).astype(float)
        for name in ["sd"] if reason else statistics:
            row[name], *resampled = statistics[name](patterns, weights)
            known = np.isfinite(resampled)
            # Resamples of one image are all alike: their quantiles would claim to know it exactly.
            if reason != ONE_IMAGE and known.any():
                ends = np.quantile(np.array(resampled)[known], [0.025, 0.975])
                row[f"{name}_low"], row[f"{name}_high"] = ends
        if not reason and np.isnan(row["icc"]):
            reason = ONE_MEAN
    return row | {"reason": reason}


def why_unknown(counts: np.ndarray) -> str:
    """Why agreement cannot be estimated from counts (n, levels), else empty."""
    pairable = np.count_nonzero(counts.sum(axis=1) > 1)
    if pairable < 2:
        return ONE_IMAGE if pairable else ALONE if counts.any() else NOBODY
    return ALL_EQUAL if np.count_nonzero(counts.any(axis=0)) == 1 else ""


# A row of weights (B, n) says how often each image is in a resample; without, once each.


def mean_deviation(
    counts: np.ndarray, weights: np.ndarray | None = None, ddof: int = 1
) -> np.ndarray:
    """Mean over images of the standard deviation of an image's answers, (B,), in ranges.

    Images with fewer than two answers do not count; nan where there is no other.
    """
    several = counts.sum(axis=1) > 1
    weights, counts = _once_each(counts, weights)[:, several], counts[several]
    return _ratio(weights @ standard_deviation(counts, ddof), weights.sum(axis=1))


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
    between = _ratio(between_images - _ratio((weights @ total) ** 2, n), images - 1)
    within = _ratio(weights @ (counts @ levels**2) - between_images, n - images)
    return 1 - _ratio(within, between)


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
    by_chance = _ratio((expected * distance).sum(axis=(1, 2)), marginal.sum(axis=1) - 1)
    return np.where(weights.sum(axis=1) > 1, 1 - _ratio(disagreement, by_chance), np.nan)


def squared_distance(marginal: np.ndarray, metric: Metric) -> np.ndarray:
    """Krippendorff's squared distances between levels.

    Args:
        marginal: (B, levels), how often each level occurs; only the ordinal metric depends on it.
        metric: "ratio" takes levels as 1, 2, 3, ...

    Returns:
        (B or 1, levels, levels)

    Raises:
        ValueError: the metric is unknown.
    """
    level = np.arange(marginal.shape[1])
    if metric == "nominal":
        return (level[:, None] != level)[None].astype(float)
    if metric == "interval":
        return ((level[:, None] - level) ** 2)[None].astype(float)
    if metric == "ratio":
        value = level + 1.0
        return (((value[:, None] - value) / (value[:, None] + value)) ** 2)[None]
    if metric == "ordinal":
        # Mid-ranks: the answers between two levels, plus half of those at either.
        rank = marginal.cumsum(axis=1) - marginal / 2
        return (rank[:, :, None] - rank[:, None, :]) ** 2
    raise ValueError(f"unknown metric {metric!r}, expected nominal, ordinal, interval or ratio")


def _once_each(counts: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    return np.ones((1, len(counts))) if weights is None else weights


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    undefined = np.full(len(denominator), np.nan)
    return np.divide(numerator, denominator, out=undefined, where=denominator > 0)
