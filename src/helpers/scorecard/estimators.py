"""Many audits of one population, and what each estimator says of every one of them.

Chapter 11 scores these estimators. Audits by transects are arrays of errors
(repetitions, n_transects, 2, …, 2), drawn from a pool of faces that were asked under every
intervention (`helpers.scorecard.repeated_audits.draw`). Audits of found portraits are samples of
rows. All estimators answer in one unit, a difference of error rates, so that a regression and a
matched comparison can be scored alike.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
from joblib import delayed
from scipy.special import expit
from scipy.stats import norm

from helpers import effects
from helpers.effects.batched_logit import fit_logits
from helpers.effects.labels import Z
from helpers.resampling import draw_weights
from helpers.scorecard.repeated_audits import cells_of
from helpers.utils import seeding
from helpers.utils.parallel import half_the_cores, processes

_AUDITS_AT_ONCE = 50
_FEW = 100  # audits, which are done before other processes have started


def null_audits(
    n_transects: int, shape: Sequence[int], repetitions: int, *, rate: float, icc: float, seed: int
) -> np.ndarray:
    """Audits of a model that errs at one rate in every cell.

    The beta-binomial model of `helpers.models.null_control`, with errors drawn anew in every audit:
    a fixed pool of random errors would have small effects of its own, and the truth is none.
    Introduced in chapter 11.

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
    over a bootstrap, p is that of the corresponding z-test (transects, section 5.5). Introduced in
    chapter 11.

    Args:
        audits: (repetitions, n_transects, 2, …, 2), 1 for an error.
        attributes: names of the axes.
        with_: an attribute that interacts with all others; None for main effects only.
        resample: "images", as the paper does, or "transects".
        n_boot: resamples.
        seed: of the resamples.

    Returns:
        Rows as those of `repeated_audits.matched_audits`, in fractions.

    Example:
        >>> from helpers import scorecard
        >>> audits = scorecard.null_audits(50, (2, 2), 3, rate=0.2, icc=0.1, seed=1)
        >>> table = scorecard.logit_audits(audits, ["hair_length", "gender"], n_boot=20)
        >>> len(table), (table["low"] < table["estimate"]).all().item()
        (12, True)
    """
    X = _one_hot(attributes)
    if with_:
        X = effects.interaction_columns(X, [name for name in attributes if name != with_], with_)
    draw = {"images": _resampled_images, "transects": _resampled_transects}[resample]
    flat = audits.reshape(*audits.shape[:2], -1)
    parts = []
    for start in range(0, len(flat), _AUDITS_AT_ONCE):
        numbers = range(start, min(start + _AUDITS_AT_ONCE, len(flat)))
        trials, errors = draw(flat[numbers.start : numbers.stop], numbers, n_boot, seed)
        cells = trials.shape[-1]
        coefficients = fit_logits(
            X.to_numpy(), trials.reshape(-1, cells), errors.reshape(-1, cells)
        )
        parts.append(expit(coefficients[:, :1] + coefficients[:, 1:] @ X.to_numpy().T))
    risks = np.concatenate(parts).reshape(len(flat), 1 + n_boot, *audits.shape[2:])
    return cells_of(risks, attributes, _from_resamples)


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
    table = pd.DataFrame(_normal_interval(estimate, spread))
    table.insert(0, "audit", np.arange(len(table)))
    return table


def _normal_interval(estimate: np.ndarray, spread: np.ndarray) -> dict[str, np.ndarray]:
    """Estimate, 95 % interval and two-sided p of normal estimates with standard errors."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * norm.sf(np.abs(estimate) / spread)
    low, high = estimate - Z * spread, estimate + Z * spread
    return {"estimate": estimate, "low": low, "high": high, "p": p}


def g_computation_audits(audits: np.ndarray, attributes: Sequence[str]) -> pd.DataFrame:
    """`helpers.effects.risk_differences` of every audit, with transects as clusters.

    Introduced in chapter 11.

    Args:
        audits: (repetitions, n_transects, 2, …, 2), 1 for an error.
        attributes: names of the axes.

    Returns:
        Rows as those of `repeated_audits.matched_audits`, in fractions.

    Example:
        >>> from helpers import scorecard
        >>> audits = scorecard.null_audits(50, (2, 2), 1, rate=0.2, icc=0.1, seed=1)
        >>> table = scorecard.g_computation_audits(audits, ["hair_length", "gender"])
        >>> long, short = audits[0, :, 1, 0].mean(), audits[0, :, 0, 0].mean()
        >>> bool(np.isclose(table.loc[0, "estimate"], long - short))
        True
    """
    starts = range(0, len(audits), _AUDITS_AT_ONCE)
    parts = [_g_computation(audits[k : k + _AUDITS_AT_ONCE], attributes, k) for k in starts]
    return pd.concat(parts, ignore_index=True).astype(dict.fromkeys(attributes, "Int64"))


def as_frame(audits: np.ndarray, attributes: Sequence[str]) -> pd.DataFrame:
    """One row per image of audits (R, n, 2, …, 2): audit, transect, `<attribute>_level`, error."""
    columns = ["audit", "transect", *(f"{name}_level" for name in attributes)]
    index = np.indices(audits.shape).reshape(audits.ndim, -1)
    frame = pd.DataFrame(dict(zip(columns, index, strict=True)))
    return frame.assign(error=audits.ravel().astype(int))


def _g_computation(audits: np.ndarray, attributes: Sequence[str], start: int) -> pd.DataFrame:
    """Rows of `g_computation_audits`, of audits whose numbers begin with `start`."""
    frame = as_frame(audits, attributes)
    tables = []
    for name in attributes:
        held = {f"{other}_level": other for other in attributes if other != name}
        table = effects.risk_differences(
            frame, "error", f"{name}_level", by=["audit", *held], cluster="transect"
        )
        tables.append(table.reset_index().rename(columns=held).assign(attribute=name))
    table = pd.concat(tables).sort_values("audit", kind="stable")
    table["audit"] += start
    return table[["audit", "attribute", *attributes, "estimate", "low", "high", "p"]]


Estimator = Callable[[pd.DataFrame], pd.DataFrame]
"""What `observational_audits` calls: samples of portraits, told apart by their column audit → the
columns estimate, low, high and p of every audit, with audits as the index.

Introduced in chapter 11.
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

    Introduced in chapter 11.

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
        range(start, min(start + _AUDITS_AT_ONCE, repetitions))
        for start in range(0, repetitions, _AUDITS_AT_ONCE)
    ]
    parts = processes(half_the_cores() if repetitions > _FEW else 1)(
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
    levels are averaged over those in question. Introduced in chapter 11.

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
    return _normal_interval(difference[0], np.nanstd(difference[1:], ddof=1))
