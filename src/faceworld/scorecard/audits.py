"""The same audit again and again, and the estimates of each estimator in every one of them.

One audit shows little of how often its intervals are right: twelve cells share their faces, so
they are right or wrong together. Here a pool of faces, each asked at every combination of doses
(`faceworld.scorecard.truth.errors_under_do`), is itself the population. Its own effects are the
truth, without any error, and audits are samples from it; audit k depends on the seed and k alone.

Audits by transects are arrays (repetitions, n_transects, 2, …, 2), 1 for an error and NaN for a
missing image. Estimators answer in one unit, differences of error rates, in a *table of estimates*:
a row per audit and cell with audit, attribute, a column per attribute with the level at which it is
held (<NA> for the attribute itself, and for all of them in rows of average effects), estimate, low,
high and p.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import delayed
from scipy.special import expit
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

from faceaudit import effects
from faceaudit.annotations.schema import n_levels
from faceaudit.effects.error_rates import majority
from faceaudit.effects.resampling import draw_weights
from faceaudit.effects.risks import fit_logits
from faceaudit.effects.verdicts import Z, cell_covariance, partial_pooling
from faceaudit.utils import seeding
from faceworld import crowd
from faceworld.scorecard import truth
from helpers.parallel import processes, share_of_cores

AUDITS_AT_ONCE = 50  # Audits whose frames are read together; results do not depend on it.
_FEW = 100  # audits of portraits, which are done before other processes have started
_INTERVAL = ["estimate", "low", "high", "p"]

Estimator = Callable[[pd.DataFrame], pd.DataFrame]
"""Function for `observational_audits`: samples of portraits with a column audit → the
columns estimate, low, high and p of every audit, with audits as the index.
"""


# --- drawing audits


def draw_audits(errors: np.ndarray, n_transects: int, repetitions: int, seed: int) -> np.ndarray:
    """Audits drawn from a pool of faces, with replacement; the same faces for every model.

    Args:
        errors: the pool, (n, 2, …, 2).
        n_transects: faces per audit.
        repetitions: number of audits.
        seed: of the draws.

    Returns:
        (repetitions, n_transects, 2, …, 2).
    """
    generators = seeding.rngs(seed, "repeated audits", range(repetitions))
    rows = [random.integers(len(errors), size=n_transects) for random in generators]
    return errors[np.array(rows)]


def study_table_path(table: str) -> Path:
    """Path of a table of the coverage study, which `benchmarks/coverage_study.py` writes."""
    return Path(__file__).with_suffix(f".{table}.csv")


def coverage_study(table: str, profile: str) -> pd.DataFrame:
    """Results of the coverage study: of the smoke size for that profile, else of the laptop's.

    Args:
        table: "coverage", "grid" or "null".
        profile: of the run.

    Returns:
        The table as `benchmarks/coverage_study.py` describes it.
    """
    rows = pd.read_csv(study_table_path(table))
    size = "smoke" if profile == "smoke" else "laptop"
    return rows[rows["profile"] == size].drop(columns="profile").reset_index(drop=True)


def with_truth(
    estimates: pd.DataFrame, errors: np.ndarray, attributes: Sequence[str]
) -> pd.DataFrame:
    """Add the true effects to a table of estimates.

    Args:
        estimates: a row for every audit and effect.
        errors: the pool that audits drew from, (n, 2, …, 2).
        attributes: names of the axes.

    Returns:
        The estimates with a column truth, the effect in the whole pool.
    """

    def true_effect(differences: np.ndarray) -> pd.DataFrame:
        return pd.DataFrame({"truth": differences.mean(axis=1)})

    pool = _cells_and_averages(errors[None], attributes, true_effect)
    pool = pool.drop_duplicates(["attribute", *attributes])
    return estimates.merge(pool, on=["attribute", *attributes], validate="m:1")


def ideal_audits(
    errors: np.ndarray, attributes: Sequence[str], n_transects: int, repetitions: int, seed: int
) -> pd.DataFrame:
    """Matched effects in every cell, of audits with exact directions and perfect raters.

    Args:
        errors: the pool, (n, 2, …, 2).
        attributes: names of the axes.
        n_transects: faces per audit.
        repetitions: number of audits.
        seed: of the draws.

    Returns:
        A table of estimates with the columns truth, and estimated_truth: the effect in as many
        faces as the pool has, drawn from it anew for every audit. It stands for a truth that is
        itself estimated from that many faces.
    """
    table = matched_audits(draw_audits(errors, n_transects, repetitions, seed), attributes)
    n = len(errors)
    generators = seeding.rngs(seed, "repeated audits/truth", range(repetitions))
    draws = (random.integers(n, size=n) for random in generators)
    counts = np.array([np.bincount(faces, minlength=n) for faces in draws])
    means = (counts @ errors.reshape(n, -1) / n).reshape(repetitions, 1, *errors.shape[1:])

    def estimated(differences: np.ndarray) -> pd.DataFrame:
        audit = np.arange(repetitions)
        return pd.DataFrame({"audit": audit, "estimated_truth": differences[:, 0]})

    estimated_truth = _cells(means, attributes, estimated)
    table = with_truth(table, errors, attributes)
    return table.merge(estimated_truth, on=["audit", "attribute", *attributes], validate="1:1")


# --- tables of all cells


def _cells(
    audits: np.ndarray, attributes: Sequence[str], summarize: Callable[[np.ndarray], pd.DataFrame]
) -> pd.DataFrame:
    """Summarise the differences (repetitions, n) in every cell, and stack the tables.

    Args:
        audits: (repetitions, n, 2, …, 2).
        attributes: names of the axes.
        summarize: differences (repetitions, n) of one cell → a table.

    Returns:
        The tables below each other, with columns for attribute and held levels first.
    """
    tables = []
    for axis, attribute in enumerate(attributes):
        differences = audits.take(1, axis + 2) - audits.take(0, axis + 2)
        others = [name for name in attributes if name != attribute]
        for held in itertools.product((0, 1), repeat=len(others)):
            table = summarize(differences[(slice(None), slice(None), *held)])
            tables.append(table.assign(attribute=attribute, **dict(zip(others, held, strict=True))))
    return _keyed(tables, attributes)


def _cells_and_averages(
    audits: np.ndarray, attributes: Sequence[str], summarize: Callable[[np.ndarray], pd.DataFrame]
) -> pd.DataFrame:
    """As `_cells`, followed by summaries of the differences averaged over an attribute's cells."""
    tables = []
    for axis, attribute in enumerate(attributes):
        differences = np.diff(audits, axis=axis + 2)
        averaged = differences.reshape(*audits.shape[:2], -1).mean(axis=2)
        tables.append(summarize(averaged).assign(attribute=attribute))
    averages = _keyed(tables, attributes)
    return pd.concat([_cells(audits, attributes, summarize), averages], ignore_index=True)


def _keyed(tables: Sequence[pd.DataFrame], attributes: Sequence[str]) -> pd.DataFrame:
    """Stack tables, with audit, attribute and the held levels (<NA> for none) as first columns."""
    frame = pd.concat(tables, ignore_index=True)
    frame[list(attributes)] = frame.reindex(columns=list(attributes)).astype("Int64")
    keys = ["attribute", *attributes]
    first = [name for name in ("audit", *keys) if name in frame]
    return frame[first + [name for name in frame if name not in first]]


# --- matched pairs


def matched_audits(audits: np.ndarray, attributes: Sequence[str]) -> pd.DataFrame:
    """`faceaudit.effects.matched_effects` of every audit in every cell.

    Args:
        audits: errors (R audits, n, 2, …, 2).
        attributes: names of the axes.

    Returns:
        Estimates, a row for every audit and cell.
    """
    return _cells(audits, attributes, _matched_cell)


def _matched_cell(differences: np.ndarray) -> pd.DataFrame:
    """Estimate, interval and McNemar's p of every audit in one cell."""
    worse = (differences > 0).sum(axis=1)
    better = (differences < 0).sum(axis=1)
    n = np.isfinite(differences).sum(axis=1)
    # Audits often share their counts, and with them the interval and the test.
    counts, position = np.unique(np.column_stack([worse, better, n]), axis=0, return_inverse=True)
    limits = [effects.paired_interval(*pairs, Z) for pairs in counts.tolist()]
    summary = np.column_stack([limits, effects.mcnemar(*counts.T[:2])])
    table = pd.DataFrame(summary[position], columns=["low", "high", "p"])
    table.insert(0, "audit", np.arange(len(differences)))
    table.insert(1, "estimate", (worse - better) / n)
    return table


def sequence_audits(
    audits: np.ndarray, attributes: Sequence[str], tolerance: float
) -> pd.DataFrame:
    """Average effects with confidence sequences, in audits whose faces come one after the other.

    Intervals go on shrinking from look to look. So the last one holds the truth exactly where those
    of all looks do.

    Args:
        audits: errors (R audits, n, 2, …, 2), the faces in the order in which they come.
        attributes: names of the axes.
        tolerance: what the bets seek.

    Returns:
        Estimates, a row for every audit and attribute, with the interval at the last look.
    """
    tables = []
    for axis, attribute in enumerate(attributes):
        differences = np.diff(audits, axis=axis + 2)
        of_faces = differences.reshape(*audits.shape[:2], -1).mean(axis=2)
        games = effects.betting_sequence(of_faces, sought=tolerance)
        low, high = games.interval(0.05)
        p = 2 * np.minimum(games.p_of_at_most(0), games.p_of_at_least(0))
        table = pd.DataFrame({"estimate": of_faces.mean(axis=1), "p": np.minimum(p, 1)})
        table = table.assign(audit=table.index, low=low[:, 0], high=high[:, 0])
        tables.append(table.assign(attribute=attribute))
    return _keyed(tables, attributes)


def pooled_audits(audits: np.ndarray, attributes: Sequence[str]) -> pd.DataFrame:
    """`matched_audits`, with the cells of every attribute pooled by `partial_pooling`.

    Standard errors are half the width of the cells' score intervals over the normal quantile,
    covariances those of the transects that cells share.

    Args:
        audits: of at least three attributes.
        attributes: names of the axes.

    Returns:
        A table of estimates, with normal intervals and p-values of the posterior, and the column
        between: how far the cells of an attribute differ (standard deviation). The scorecard counts
        how often they hold the truth; of a single cell they are no intervals (`partial_pooling`).
    """
    table = matched_audits(audits, attributes)
    parts = []
    for axis, attribute in enumerate(attributes):
        # `_cells` stacks the rows of an attribute cell by cell, the held levels in the order of
        # `itertools.product`, and has all audits of a cell below each other, in their order.
        rows = table[table["attribute"] == attribute]
        by_cell = rows[["estimate", "low", "high"]].to_numpy().reshape(-1, len(audits), 3)
        estimate = by_cell[:, :, 0].T  # (audits, cells), as are low and high
        low = by_cell[:, :, 1].T
        high = by_cell[:, :, 2].T
        # (audits, n, cells): the axes that are left are the held levels, in the same order.
        differences = np.diff(audits, axis=axis + 2).reshape(*audits.shape[:2], -1)
        covariance = cell_covariance(differences, (high - low) / (2 * Z))
        pooled, se, between = partial_pooling(estimate, covariance)
        columns = normal_interval(pooled, se)
        columns["between"] = np.broadcast_to(between[:, None], pooled.shape)
        parts.append(rows.assign(**{name: part.T.ravel() for name, part in columns.items()}))
    return pd.concat(parts, ignore_index=True)


def normal_interval(estimate: np.ndarray, se: np.ndarray) -> dict[str, np.ndarray]:
    """Intervals and tests of estimates that are normal.

    Args:
        estimate: of any shape.
        se: its standard errors.

    Returns:
        Estimate, low and high end of the 95% interval, and two-sided p.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * norm.sf(np.abs(estimate) / se)
    return {"estimate": estimate, "low": estimate - Z * se, "high": estimate + Z * se, "p": p}


# --- regressions


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

    A fit gives the risk in each cell of the design, and differences of these risks are the effects.
    Intervals are the estimate plus and minus 1.96 standard deviations
    over a bootstrap, p is that of the corresponding z-test (transects, section 5.5).

    Args:
        audits: complete ones.
        attributes: names of the axes.
        with_: an attribute that interacts with all others; None for main effects only.
        resample: "images", as the paper probably does, or "transects".
        n_boot: resamples.
        seed: of the resamples.

    Returns:
        A table of estimates, of all cells and of average effects.
    """
    cells = np.array(list(itertools.product((0, 1), repeat=len(attributes))))
    levels = {
        (name, level): (column == level).astype(float)
        for name, column in zip(attributes, cells.T, strict=True)
        for level in (0, 1)
    }
    X = pd.DataFrame(levels).rename_axis(columns=["attribute", "level"])
    if with_:
        X = effects.interaction_columns(X, [name for name in attributes if name != with_], with_)
    X = X.to_numpy()
    counts_of_cells = {"images": _by_image, "transects": _by_transect}[resample]
    flat = audits.reshape(*audits.shape[:2], -1)
    parts = []
    for start in range(0, len(flat), AUDITS_AT_ONCE):
        batch = flat[start : start + AUDITS_AT_ONCE]
        trials, errors = counts_of_cells(batch, range(start, start + len(batch)), n_boot, seed)
        shape = (-1, len(cells))
        coefficients = fit_logits(X, trials.reshape(shape), errors.reshape(shape))
        parts.append(expit(coefficients[:, :1] + coefficients[:, 1:] @ X.T))
    risks = np.concatenate(parts).reshape(len(flat), 1 + n_boot, *audits.shape[2:])
    return _cells_and_averages(risks, attributes, _from_resamples)


def _by_transect(
    flat: np.ndarray, numbers: Sequence[int], n_boot: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Trials and errors (audits, 1 + n_boot, cells): of each audit, then of its resamples."""
    n = flat.shape[1]
    weights = np.vstack([np.ones(n), draw_weights(n, range(n_boot), seed)])
    errors = weights @ flat
    return np.full(errors.shape, float(n)), errors


def _by_image(
    flat: np.ndarray, numbers: Sequence[int], n_boot: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """As `_by_transect`, with single images resampled."""
    n = flat.shape[1]
    resampled = []
    for number, errors in zip(numbers, flat.sum(axis=1), strict=True):
        random = seeding.rng(seed, "scorecard: images", number)
        counts = np.concatenate([n - errors, errors])
        resampled.append(resample_images(counts, n_boot, random))
    trials, errors = np.swapaxes(resampled, 0, 1)
    return trials, errors


def resample_images(
    counts: np.ndarray, n_boot: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Resample images as if each were drawn alone.

    Images with equal levels and outcome are interchangeable, so one multinomial draw of how many
    there are of each replaces a draw of every image, with the same distribution.

    Args:
        counts: (2 P,) images of every pattern of levels that are answered right, then those with an
            error.
        n_boot: number of resamples.
        random: of the draws.

    Returns:
        Trials and errors, each (1 + n_boot, P): of the images as they are, then of resampled ones.
    """
    resamples = random.multinomial(int(counts.sum()), counts / counts.sum(), n_boot)
    right, errors = np.split(np.vstack([counts, resamples]).astype(float), 2, axis=1)
    return right + errors, errors


def _from_resamples(differences: np.ndarray) -> pd.DataFrame:
    """Estimate (first column), interval and p from the spread over resamples (the others)."""
    estimate = differences[:, 0]
    spread = np.nanstd(differences[:, 1:], axis=1, ddof=1)
    table = pd.DataFrame(normal_interval(estimate, spread))
    table.insert(0, "audit", np.arange(len(table)))
    return table


def as_frame(audits: np.ndarray, attributes: Sequence[str]) -> pd.DataFrame:
    """One row per image of audits (R, n, 2, …, 2): audit, transect, `<attribute>_level`, error."""
    return image_places(audits, attributes).assign(error=audits.ravel().astype(int))


def image_places(audits: np.ndarray, attributes: Sequence[str]) -> pd.DataFrame:
    """One row per image of audits (R, n, 2, …, 2): audit, transect, `<attribute>_level`."""
    columns = ["audit", "transect", *(f"{name}_level" for name in attributes)]
    index = np.indices(audits.shape).reshape(audits.ndim, -1)
    return pd.DataFrame(dict(zip(columns, index, strict=True)))


def of_frames(
    audits: np.ndarray,
    attributes: Sequence[str],
    estimate: Callable[[pd.DataFrame, str], list[pd.DataFrame]],
) -> pd.DataFrame:
    """Estimates of every audit by an estimator that takes a frame with a row per image.

    Args:
        audits: errors (R audits, n, 2, …, 2).
        attributes: names of the axes.
        estimate: takes a row per image (audit, transect, `<attribute>_level`, error) and one of the
            attributes. Returns tables with the columns audit, estimate, low, high and p, and those
            of the attributes that are held.

    Returns:
        A table of estimates.
    """
    parts = []
    for start in range(0, len(audits), AUDITS_AT_ONCE):
        frame = as_frame(audits[start : start + AUDITS_AT_ONCE], attributes)
        tables = [
            table.assign(attribute=name) for name in attributes for table in estimate(frame, name)
        ]
        table = pd.concat(tables).sort_values("audit", kind="stable")
        parts.append(table.assign(audit=table["audit"] + start))
    columns = ["audit", "attribute", *attributes, *_INTERVAL]
    table = pd.concat(parts, ignore_index=True).reindex(columns=columns)
    return table.astype(dict.fromkeys(attributes, "Int64"))


# --- portraits


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
        estimators: name → function of samples below each other, see `Estimator`.
        n: portraits of an audit.
        repetitions: number of audits.
        seed: of the draws.
        null_rate: error rate of the null control.

    Returns:
        Columns model, estimator, audit, estimate, low, high, p.
    """

    def observe(numbers: Sequence[int]) -> pd.DataFrame:
        samples = []
        for number in numbers:
            random = seeding.rng(seed, "scorecard: portraits", number)
            sample = pool.iloc[random.integers(len(pool), size=n)]
            null = (random.random(n) < null_rate).astype(int)
            samples.append(sample.assign(audit=number, error_null=null))
        stacked = pd.concat(samples, ignore_index=True)
        tables = []
        for model, (name, estimate) in itertools.product(models, estimators.items()):
            stacked["error"] = stacked[f"error_{model}"]
            table = estimate(stacked)[_INTERVAL].rename_axis("audit").reset_index()
            tables.append(table.assign(model=model, estimator=name))
        return pd.concat(tables).sort_values("audit", kind="stable")

    # Frames are read once for many audits; with few, no other process is worth its start.
    numbers = range(repetitions)
    starts = range(0, repetitions, AUDITS_AT_ONCE)
    batches = [numbers[start : start + AUDITS_AT_ONCE] for start in starts]
    parallel = processes(share_of_cores() if repetitions > _FEW else 1)
    parts = parallel(map(delayed(observe), batches))
    return pd.concat(parts, ignore_index=True)[["model", "estimator", "audit", *_INTERVAL]]


# --- scores over audits


def name_cells_with_attribute(table: pd.DataFrame) -> pd.DataFrame:
    """As `faceworld.scorecard.truth.name_cells`, with the attribute that changes in the name.

    Args:
        table: a row for every cell.

    Returns:
        The table with the columns cell, for example "skin: male, long hair", and scope.
    """
    attribute = table["attribute"].str.split("_").str[0]
    named = truth.name_cells(table)
    return named.assign(cell=attribute + ": " + named["cell"])


def score_estimators(table: pd.DataFrame) -> pd.DataFrame:
    """Bias, RMSE and coverage of every model and estimator, with 95% Monte-Carlo intervals.

    - bias: root mean square over cells of the mean error, free of the audits' noise: the squares
      are estimated by products of different audits, and may come out below zero, which reads 0;
    - rmse: root mean square error over audits and cells;
    - coverage: share of intervals that hold the truth.

    An audit is one observation, since its cells share their faces. Rows without an estimate are
    left out and counted by `estimable`, the share of the others.

    Args:
        table: columns model, estimator, audit, cell, truth, estimate, low, high; fractions.

    Returns:
        Index (model, estimator); columns audits, cells, estimable, and per score its value and
        ends, for example bias, bias_low, bias_high.
    """
    groups = table.groupby(["model", "estimator"], sort=False)
    scores = pd.DataFrame({key: _score(part) for key, part in groups}).T
    return scores.rename_axis(["model", "estimator"])


def _score(part: pd.DataFrame) -> dict[str, float]:
    """Scores of one model and estimator, by the names of their columns."""
    known = part[part["estimate"].notna()]
    audits = known["audit"].nunique()
    summary = {
        "audits": part["audit"].nunique(),
        "cells": part["cell"].nunique(),
        "estimable": len(known) / len(part),
    }
    bias = rmse = coverage = [np.nan] * 3
    if audits > 1:
        inside = known["truth"].between(known["low"], known["high"])
        known = known.assign(error=known["estimate"] - known["truth"])
        errors = known.pivot_table("error", "audit", "cell").to_numpy(float)
        squares = np.nanmean(errors**2, axis=1)
        bias = root_mean_square_bias(errors)
        rmse = _root(squares.mean(), squares.std(ddof=1) / np.sqrt(len(squares)))
        coverage = _share(inside.mean(), audits)
    return summary | _ends("bias", bias) | _ends("rmse", rmse) | _ends("coverage", coverage)


def _ends(name: str, values: Iterable[float]) -> dict[str, float]:
    """A value and the ends of its interval by the names of their columns."""
    return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))


def root_mean_square_bias(errors: np.ndarray) -> tuple[float, float, float]:
    """Size of the mean errors of several quantities, and its 95% interval.

    The squared means are estimated by products of different rows, so the rows' noise adds nothing;
    the interval is a jackknife's. Estimates below zero read 0.

    Args:
        errors: (n, quantities), rows independent; NaN where there is none.

    Returns:
        The size, and the low and high end of its interval.
    """
    n = np.isfinite(errors).sum(axis=0)
    filled = np.nan_to_num(errors)
    total = filled.sum(axis=0)
    squares = (filled**2).sum(axis=0)

    def mean_square(total: np.ndarray, squares: np.ndarray, n: np.ndarray) -> np.ndarray:
        return ((total**2 - squares) / (n * (n - 1))).mean(axis=-1)

    without = mean_square(total - filled, squares - filled**2, n - np.isfinite(errors))
    rows = len(errors)
    spread = np.sqrt((rows - 1) / rows * ((without - without.mean()) ** 2).sum())
    return _root(float(mean_square(total, squares, n)), spread)


def _root(square: float, spread: float) -> tuple[float, float, float]:
    """Root of an estimated square, with its interval."""
    ends = np.array([square, square - Z * spread, square + Z * spread])
    return tuple(np.sqrt(ends.clip(0)))


def _share(share: float, n: int) -> tuple[float, float, float]:
    """A share with its Wilson interval, if it were of `n` independent observations."""
    return share, *proportion_confint(share * n, n, method="wilson")


def share_of_audits(table: pd.DataFrame, of: Mapping[str, str]) -> pd.DataFrame:
    """Shares of audits by model and estimator, with Wilson intervals that count audits.

    Args:
        table: columns model, estimator, audit, and those of `of`: 0 or 1 per cell, NaN where the
            question does not arise.
        of: column → how the cells of one audit are joined: "max" for any of them, "mean" for a
            share of them.

    Returns:
        Index (model, estimator); per column its mean over audits and the ends of the interval, for
        example missed, missed_low, missed_high; NaN where the question arises in no audit.
    """
    per_audit = table.groupby(["model", "estimator", "audit"], sort=False)[list(of)].agg(of)
    rows = {}
    for key, part in per_audit.groupby(["model", "estimator"], sort=False):
        rows[key] = {}
        for name, values in part.items():
            known = values.dropna()
            share = _share(known.mean(), len(known)) if len(known) else [np.nan] * 3
            rows[key] |= _ends(name, share)
    return pd.DataFrame(rows).T.rename_axis(["model", "estimator"])


def differences_from_reference(
    versions: np.ndarray, reference: np.ndarray, attributes: Sequence[str]
) -> pd.DataFrame:
    """Typical difference between the effects in versions of an experiment and in a reference.

    Both have the same faces, so what the faces contribute cancels.

    Args:
        versions: (V, n, 2, …, 2) errors, 0 or 1.
        reference: (n, 2, …, 2), for example under intervention.
        attributes: names of the axes.

    Returns:
        Columns version, attribute, and the root mean square over the attribute's cells: value, low,
        high (see `root_mean_square_bias`), in fractions.
    """
    excess = versions - reference
    rows = []
    for axis, attribute in enumerate(attributes):
        change = excess.take(1, axis + 2) - excess.take(0, axis + 2)
        for version, errors in enumerate(change.reshape(*change.shape[:2], -1)):
            rows.append((version, attribute, *root_mean_square_bias(errors)))
    return pd.DataFrame(rows, columns=["version", "attribute", "value", "low", "high"])


# --- labels


def labels_by(
    perceived: pd.DataFrame, raters: int, noise: float, seed: int, stage: str
) -> np.ndarray:
    """Majority label of perceived gender by simulated raters, whose noise is multiplied.

    Args:
        perceived: visible scores (zero to one), a row per image, with the column gender.
        raters: accepted answers per image.
        noise: factor of the calibrated noise and of the raters' biases.
        seed: of `faceworld.crowd.annotate`.
        stage: of the same.

    Returns:
        (n,) 0 (female) or 1 (male).
    """
    pool = crowd.rater_pool(seed)
    pool = replace(pool, noise=noise * pool.noise, bias=noise * pool.bias)
    answers = crowd.annotate(perceived[["gender"]], raters, seed=seed, stage=stage, pool=pool)
    accepted = answers[(answers["status"] == "accepted") & (answers["visit"] == 0)]
    level = accepted.groupby("image_id")["gender"].mean().loc[perceived.index]
    return majority(level / (n_levels("gender") - 1)).to_numpy()
