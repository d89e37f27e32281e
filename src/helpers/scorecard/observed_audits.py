"""Many audits of found portraits, and what each estimator says of every one of them.

Chapter 11 scores these estimators beside those by transects (`helpers.scorecard.estimators`). An
audit is a sample of rows, one per portrait.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
from joblib import delayed
from scipy.special import expit

from helpers.effects.logits import fit_logits
from helpers.scorecard.estimators import AUDITS_AT_ONCE, normal_interval, resample_images
from helpers.utils import seeding
from helpers.utils.parallel import processes, share_of_cores

_FEW = 100  # audits, which are done before other processes have started

Estimator = Callable[[pd.DataFrame], pd.DataFrame]
"""What `observational_audits` calls: samples of portraits, told apart by their column audit → the
columns estimate, low, high and p of every audit, with audits as the index.
"""


def observational_audits(
    pool: pd.DataFrame,
    models: Sequence[str],
    estimators: Mapping[str, Estimator],
    n: int,
    repetitions: int,
    seed: int,
    *,
    null_rate: float,
) -> pd.DataFrame:
    """Every estimator and model on samples of `n` rows of the pool, drawn with replacement.

    Args:
        pool: one row per portrait; 0 or 1 in `error_<model>`, except for the null control, whose
            errors are drawn anew in every audit.
        models: names; "null" is the control.
        estimators: name → function of samples below each other, with the columns audit and error,
            that returns estimate, low, high and p of every audit.
        n: portraits of an audit.
        repetitions: number of audits; audit k depends on the seed and k alone.
        seed: of the draws.
        null_rate: error rate of the null control.

    Returns:
        Columns model, estimator, audit, estimate, low, high, p.

    Example:
        >>> from helpers import scorecard
        >>> def rate(samples):
        ...     rates = samples.groupby("audit")["error"].mean()
        ...     return pd.DataFrame({"estimate": rates, "low": 0, "high": 1, "p": 1})
        >>> pool, of = pd.DataFrame({"error_a": [1, 1]}), {"rate": rate}
        >>> table = scorecard.observational_audits(pool, ["a"], of, 5, 2, seed=1, null_rate=0.1)
        >>> table["estimate"].tolist()
        [1.0, 1.0]
    """
    # Frames are read once for many audits; with few, no other process is worth its start.
    numbers = [
        range(start, min(start + AUDITS_AT_ONCE, repetitions))
        for start in range(0, repetitions, AUDITS_AT_ONCE)
    ]
    parts = processes(share_of_cores() if repetitions > _FEW else 1)(
        delayed(_observe)(pool, models, estimators, n, part, seed, null_rate) for part in numbers
    )
    return pd.concat(parts, ignore_index=True)


def _observe(
    pool: pd.DataFrame,
    models: Sequence[str],
    estimators: Mapping[str, Estimator],
    n: int,
    numbers: Sequence[int],
    seed: int,
    null_rate: float,
) -> pd.DataFrame:
    """Rows of `observational_audits`, of audits with these numbers."""
    samples = []
    for number in numbers:
        random = seeding.rng(seed, "scorecard: portraits", number)
        sample = pool.iloc[random.integers(len(pool), size=n)]
        null = (random.random(n) < null_rate).astype(int)
        samples.append(sample.assign(audit=number, error_null=null))
    stacked, tables = pd.concat(samples, ignore_index=True), []
    for model, (name, estimate) in product(models, estimators.items()):
        stacked["error"] = stacked[f"error_{model}"]
        table = estimate(stacked)[["estimate", "low", "high", "p"]].rename_axis("audit")
        tables.append(table.reset_index().assign(model=model, estimator=name))
    table = pd.concat(tables).sort_values("audit", kind="stable")
    return table[["model", "estimator", "audit", "estimate", "low", "high", "p"]]


def paper_difference(
    patterns: pd.DataFrame,
    pattern: np.ndarray,
    error: np.ndarray,
    among: np.ndarray,
    contrast: tuple[str, str, str],
    n_boot: int,
    seed: int,
) -> dict[str, float]:
    """What the paper's logit believes an attribute to change, with images resampled.

    The logit of transects, section 5.5, fitted to everybody; the risks that it predicts at the two
    levels are averaged over those in question.

    Args:
        patterns: distinct rows (P, 17) of `effects.paper_columns`.
        pattern: (n,) which of them an image shows.
        error: (n,) 0 or 1.
        among: (n,) bool, whose error rates are meant.
        contrast: attribute, its level to start from and the one to go to.
        n_boot: resamples.
        seed: of the resamples.

    Returns:
        estimate, low, high (fractions), p.

    Example:
        >>> from helpers import scorecard
        >>> levels = pd.DataFrame(np.eye(2)[::-1], columns=[("skin", "dark"), ("skin", "light")])
        >>> pattern, error = np.repeat([0, 1], 100), np.repeat([1, 0, 1], [10, 160, 30])
        >>> everybody, contrast = np.full(200, True), ("skin", "light", "dark")
        >>> found = scorecard.paper_difference(levels, pattern, error, everybody, contrast, 50, 1)
        >>> bool(found["low"] < 0.2 < found["high"])
        True
    """
    size = len(patterns)
    counts = np.bincount(pattern + size * np.asarray(error), minlength=2 * size)
    trials, errors = resample_images(counts, n_boot, seeding.rng(seed, "scorecard: images"))
    coefficients = fit_logits(patterns.to_numpy(), trials, errors)
    attribute, *levels = contrast
    rates = []
    for level in levels:
        set_to = patterns.copy()
        for other in levels:
            set_to[attribute, other] = float(other == level)
        predictor = coefficients[:, :1] + coefficients[:, 1:] @ set_to.to_numpy().T
        rates.append(expit(predictor) @ np.bincount(pattern[among], minlength=size) / among.sum())
    difference = rates[1] - rates[0]
    return normal_interval(difference[0], np.nanstd(difference[1:], ddof=1))
