"""Many audits of one population, and what each estimator says of every one of them.

Chapter 11 scores these estimators. Audits by transects are arrays of errors
(repetitions, n_transects, 2, …, 2), drawn from a pool of faces that were asked under every
intervention (`helpers.scorecard.repeated_audits.draw`); those of found portraits are in
`helpers.scorecard.observed_audits`. All estimators answer in one unit, a difference of error
rates, so that a regression and a matched comparison can be scored alike.
"""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import norm

from helpers import effects
from helpers.effects.labels import Z
from helpers.effects.logits import fit_logits
from helpers.resampling import draw_weights
from helpers.scorecard.repeated_audits import averages_of, cells_of
from helpers.utils import seeding

AUDITS_AT_ONCE = 50
"""Audits whose frames are read together; results do not depend on it."""


def null_audits(
    n_transects: int, shape: Sequence[int], repetitions: int, *, rate: float, icc: float, seed: int
) -> np.ndarray:
    """Audits of a model that errs at one rate in every cell.

    The beta-binomial model of `helpers.models.null_control`, with errors drawn anew in every audit:
    a fixed pool of random errors would have small effects of its own, and the truth is none.

    Args:
        n_transects: transects of an audit.
        shape: levels of the axes, for example (2, 2, 2).
        repetitions: number of audits; audit k depends on the seed and k alone.
        rate: error rate, between 0 and 1.
        icc: intraclass correlation of the errors of one transect, between 0 and 1.
        seed: of the draws.

    Returns:
        float64 (repetitions, n_transects, *shape), 1 for an error.

    Example:
        >>> from helpers import scorecard
        >>> audits = scorecard.null_audits(400, (2, 2, 2), 5, rate=0.1, icc=0.2, seed=1)
        >>> audits.shape, round(float(audits.mean()), 1)
        ((5, 400, 2, 2, 2), 0.1)
    """
    audits = np.empty((repetitions, n_transects, *shape))
    concentration = (1 - icc) / icc
    for k, audit in enumerate(audits):
        random = seeding.rng(seed, "scorecard: null", k)
        own = random.beta(rate * concentration, (1 - rate) * concentration, n_transects)
        audit[:] = random.random(audit.shape) < own.reshape(-1, *[1] * len(shape))
    return audits


def logit_audits(
    audits: np.ndarray,
    attributes: Sequence[str],
    *,
    with_: str | None = None,
    resample: str = "transects",
    n_boot: int = 100,
    seed: int = 0,
) -> pd.DataFrame:
    """The paper's L2 logit on the attributes' levels, read in differences of error rates.

    A fit gives the risk in each cell of the design, and with it what the model believes each
    attribute to change there. Intervals are the estimate plus and minus 1.96 standard deviations
    over a bootstrap, p is that of the corresponding z-test (transects, section 5.5).

    Args:
        audits: (repetitions, n_transects, 2, …, 2), 1 for an error.
        attributes: names of the axes.
        with_: an attribute that interacts with all others; None for main effects only.
        resample: "images", as the paper does, or "transects".
        n_boot: resamples.
        seed: of the resamples.

    Returns:
        Rows as those of `repeated_audits.matched_audits`, in fractions, then those of the average
        effects, with <NA> at every attribute.

    Example:
        >>> from helpers import scorecard
        >>> audits = scorecard.null_audits(50, (2, 2), 3, rate=0.2, icc=0.1, seed=1)
        >>> table = scorecard.logit_audits(audits, ["hair_length", "gender"], n_boot=20)
        >>> len(table), (table["low"] < table["estimate"]).all().item()
        (18, True)
    """
    X = _one_hot(attributes)
    if with_:
        X = effects.interaction_columns(X, [name for name in attributes if name != with_], with_)
    draw = {"images": _resampled_images, "transects": _resampled_transects}[resample]
    flat = audits.reshape(*audits.shape[:2], -1)
    parts = []
    for start in range(0, len(flat), AUDITS_AT_ONCE):
        numbers = range(start, min(start + AUDITS_AT_ONCE, len(flat)))
        trials, errors = draw(flat[numbers.start : numbers.stop], numbers, n_boot, seed)
        cells = trials.shape[-1]
        coefficients = fit_logits(
            X.to_numpy(), trials.reshape(-1, cells), errors.reshape(-1, cells)
        )
        parts.append(expit(coefficients[:, :1] + coefficients[:, 1:] @ X.to_numpy().T))
    risks = np.concatenate(parts).reshape(len(flat), 1 + n_boot, *audits.shape[2:])
    tables = [each(risks, attributes, _from_resamples) for each in (cells_of, averages_of)]
    return pd.concat(tables, ignore_index=True)


def _one_hot(attributes: Sequence[str]) -> pd.DataFrame:
    """Both levels of every attribute as columns, one row per cell of the design."""
    cells = np.array(list(product((0, 1), repeat=len(attributes))))
    columns = {
        (name, level): (cells[:, place] == level).astype(float)
        for place, name in enumerate(attributes)
        for level in (0, 1)
    }
    return pd.DataFrame(columns).rename_axis(columns=["attribute", "level"])


def _resampled_transects(
    flat: np.ndarray, numbers: Sequence[int], n_boot: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Trials and errors of every cell: the audit's own, then those of its resamples."""
    n = flat.shape[1]
    weights = np.vstack([np.ones(n), draw_weights(n, range(n_boot), seed)])
    errors = weights @ flat
    return np.full(errors.shape, float(n)), errors


def _resampled_images(
    flat: np.ndarray, numbers: Sequence[int], n_boot: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The same with single images resampled."""
    errors = flat.sum(axis=1)
    pairs = [
        resample_images(
            np.concatenate([flat.shape[1] - own, own]),
            n_boot,
            seeding.rng(seed, "scorecard: images", number),
        )
        for number, own in zip(numbers, errors, strict=True)
    ]
    trials, errors = np.swapaxes(pairs, 0, 1)
    return trials, errors


def resample_images(
    counts: np.ndarray, n_boot: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Trials and errors (1 + n_boot, P) of images as they are, then of resampled ones.

    Images with equal levels and outcome are interchangeable, so one multinomial draw of how many
    there are of each replaces a draw of every image, with the same distribution.

    Args:
        counts: (2 P,) images of every pattern of levels that are judged right, then those that err.
        n_boot: resamples.
        random: source of the draws.
    """
    drawn = random.multinomial(int(counts.sum()), counts / counts.sum(), n_boot)
    right, errors = np.split(np.vstack([counts, drawn]).astype(float), 2, axis=1)
    return right + errors, errors


def _from_resamples(differences: np.ndarray) -> pd.DataFrame:
    """Estimate (first column), interval and p from the spread over resamples (the others)."""
    estimate, spread = differences[:, 0], np.nanstd(differences[:, 1:], axis=1, ddof=1)
    table = pd.DataFrame(normal_interval(estimate, spread))
    table.insert(0, "audit", np.arange(len(table)))
    return table


def normal_interval(estimate: np.ndarray, spread: np.ndarray) -> dict[str, np.ndarray]:
    """Estimate, 95 % interval and two-sided p of normal estimates with standard errors."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * norm.sf(np.abs(estimate) / spread)
    low, high = estimate - Z * spread, estimate + Z * spread
    return {"estimate": estimate, "low": low, "high": high, "p": p}


def g_computation_audits(audits: np.ndarray, attributes: Sequence[str]) -> pd.DataFrame:
    """`helpers.effects.risk_differences` of every audit, with transects as clusters.

    Args:
        audits: (repetitions, n_transects, 2, …, 2), 1 for an error.
        attributes: names of the axes.

    Returns:
        Rows as those of `repeated_audits.matched_audits`, in fractions, and those of the average
        effects, with <NA> at every attribute.

    Example:
        >>> from helpers import scorecard
        >>> audits = scorecard.null_audits(50, (2, 2), 1, rate=0.2, icc=0.1, seed=1)
        >>> table = scorecard.g_computation_audits(audits, ["hair_length", "gender"])
        >>> long, short = audits[0, :, 1, 0].mean(), audits[0, :, 0, 0].mean()
        >>> bool(np.isclose(table.loc[0, "estimate"], long - short))
        True
    """
    return _of_frames(audits, attributes, _g_computation)


def matched_averages(audits: np.ndarray, attributes: Sequence[str]) -> pd.DataFrame:
    """`helpers.effects.matched_effects` of every audit, averaged over all pairs of its transects.

    Args:
        audits: (repetitions, n_transects, 2, …, 2), 1 for an error.
        attributes: names of the axes.

    Returns:
        Rows as those of `repeated_audits.matched_audits`, with <NA> at every attribute.

    Example:
        >>> from helpers import scorecard
        >>> audits = scorecard.null_audits(50, (2, 2), 2, rate=0.2, icc=0.1, seed=1)
        >>> table = scorecard.matched_averages(audits, ["hair_length", "gender"])
        >>> change = audits[1, :, 1].mean() - audits[1, :, 0].mean()
        >>> len(table), bool(np.isclose(table.query("audit == 1")["estimate"].iloc[0], change))
        (4, True)
    """
    return _of_frames(audits, attributes, _matched_averages)


def as_frame(audits: np.ndarray, attributes: Sequence[str]) -> pd.DataFrame:
    """One row per image of audits (R, n, 2, …, 2): audit, transect, `<attribute>_level`, error."""
    columns = ["audit", "transect", *(f"{name}_level" for name in attributes)]
    index = np.indices(audits.shape).reshape(audits.ndim, -1)
    frame = pd.DataFrame(dict(zip(columns, index, strict=True)))
    return frame.assign(error=audits.ravel().astype(int))


def _of_frames(
    audits: np.ndarray,
    attributes: Sequence[str],
    estimate: Callable[[pd.DataFrame, Sequence[str]], pd.DataFrame],
) -> pd.DataFrame:
    """What an estimator says of the frames of some audits at a time, sorted by audit."""
    parts = []
    for start in range(0, len(audits), AUDITS_AT_ONCE):
        frame = as_frame(audits[start : start + AUDITS_AT_ONCE], attributes)
        table = estimate(frame, attributes).sort_values("audit", kind="stable")
        parts.append(table.assign(audit=table["audit"] + start))
    columns = ["audit", "attribute", *attributes, "estimate", "low", "high", "p"]
    table = pd.concat(parts, ignore_index=True).reindex(columns=columns)
    return table.astype(dict.fromkeys(attributes, "Int64"))


def _g_computation(frame: pd.DataFrame, attributes: Sequence[str]) -> pd.DataFrame:
    """Rows of `g_computation_audits`: of the cells, then of the averages."""
    tables = []
    for name in attributes:
        others = {f"{other}_level": other for other in attributes if other != name}
        for held in (others, {}):
            table = effects.risk_differences(
                frame, "error", f"{name}_level", by=["audit", *held], cluster="transect"
            )
            tables.append(table.reset_index().rename(columns=held).assign(attribute=name))
    return pd.concat(tables)


def _matched_averages(frame: pd.DataFrame, attributes: Sequence[str]) -> pd.DataFrame:
    tables = {
        name: effects.matched_effects(frame, "error", f"{name}_level", ["audit"], "transect")
        for name in attributes
    }
    return pd.concat(tables, names=["attribute", "audit"]).reset_index()
