"""Differences between found portraits, adjusted by two models of which one may be wrong: AIPW.

One model predicts the outcome at either level, the other one the level itself (the *propensity*).
The augmented inverse probability weighted estimator (Robins, Rotnitzky & Zhao, Journal of the
American Statistical Association 89 (1994) 846-866) averages the predictions over all images, and
adds the residuals of the images of a level, each weighted by one over its propensity. It is right
in large samples where one of the models is, and where the covariates take in everything that goes
with the level and moves the outcome.

Both models are cross-fitted (Chernozhukov et al., The Econometrics Journal 21 (2018) C1-C68): the
clusters, such as people, are dealt into folds, and an image is predicted by fits to the images of
other folds. The estimate then has the influence function of the true models, and its uncertainty is
that of the influence function summed over the images of a cluster. The folds are dealt several
times and the influence functions averaged, so that the estimate depends less on the draw.

There is no number without overlap: where a level of a covariate occurs at one level alone, where
too many images have a propensity near 0 or 1, or where the weights leave too few clusters.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import expit, stdtr, stdtrit
from threadpoolctl import threadpool_limits

from faceaudit.effects.covariates import Covariates, read_levels
from faceaudit.effects.mean_difference import LIMITS, mean_difference
from faceaudit.effects.risks import (
    FEWEST_CLUSTERS,
    Cell,
    Risks,
    corrected_influence,
    crude_risks,
    difference_columns,
    few_at_a_level,
    fit_logits,
    obstacle_of_cell,
    several,
)
from faceaudit.effects.verdicts import NOT_ESTIMABLE, mde, verdict
from faceaudit.utils import seeding
from faceaudit.utils.arguments import require_members
from faceaudit.utils.errors import InputError, require_extra

FOLDS = 5
"""Parts of the clusters; a part is predicted by a fit to the others."""
SPLITS = {"logistic": 3, "boosted": 1}
"""How often the clusters are dealt into folds, by the learner."""
PENALTY = 1.0
"""Of the squares of coefficients, as by default in scikit-learn."""
MOST_OUTSIDE = 0.05
"""Largest share of images whose propensity is outside of the bounds."""
TREES = {"max_iter": 60, "max_leaf_nodes": 8, "early_stopping": False, "random_state": 0}
"""Settings of scikit-learn's gradient boosting. Early stopping would split images, not clusters."""

Learner = Literal["logistic", "boosted"]
"""Kinds of both models: main effects with a ridge penalty (logistic; linear for numbers), or
gradient-boosted trees, which find interactions and need the extra `adjusted`."""

ESTIMATES = ["estimate", "se", *LIMITS, "p", "mde"]
"""Columns that are NaN where nothing is estimable."""
EFFECT_COLUMNS = [*ESTIMATES, "verdict", "n", "dropped", "clusters", "reason"]


@dataclass(frozen=True)
class DoublyRobust:
    """The difference between two levels with and without adjustment, and what it rests on.

    Attributes:
        effects: rows "unadjusted" and "adjusted"; columns estimate, se, low, high (95%), low90,
            high90, p, mde, verdict, n (images), dropped (images without an outcome, a level or a
            cluster), clusters, and reason: why nothing is estimable (NaN), else empty.
        overlap: a row per level: level, n, clusters, effective (clusters that the weights leave,
            Kish), propensity_low, propensity_median and propensity_high (the least, the middle and
            the largest chance of this level that an image of it was given), and outside (the share
            of its images outside of the bounds).
        bound: least chance of either level that is used; smaller ones are set to it.
        balance: a row per level of a covariate, or number: covariate, level, before and after (the
            standardised difference of means between the two levels, without weights and with them).
    """

    effects: pd.DataFrame
    overlap: pd.DataFrame
    bound: float
    balance: pd.DataFrame

    @property
    def reason(self) -> str:
        """Why the adjusted difference is not estimable, else empty."""
        return str(self.effects.loc["adjusted", "reason"])


@dataclass(frozen=True)
class Predictions:
    """What fits to other folds say of every image, in each of S splits.

    Attributes:
        propensity: chance of the high level (S, n), within the bounds.
        outcome: predicted outcome at the low and at the high level (S, n, 2).
        outside: whether a chance, averaged over the splits, was outside of the bounds (n,).
        chance: of the high level, averaged over the splits, before the bounds (n,).
    """

    propensity: np.ndarray
    outcome: np.ndarray
    outside: np.ndarray = field(repr=False)
    chance: np.ndarray = field(repr=False)


@dataclass(frozen=True)
class Fit:
    """What a model predicts, and from which images.

    Attributes:
        target: (n,), from 0 to 1 or numbers.
        use: which images are fitted (n,).
        is_number: whether the target has no bounds, and so a linear regression.
    """

    target: np.ndarray
    use: np.ndarray
    is_number: bool = False


def doubly_robust_difference(
    frame: pd.DataFrame,
    outcome: str,
    treatment: str,
    covariates: Sequence[str],
    cluster: str | None = None,
    *,
    learner: Learner = "logistic",
    is_number: bool = False,
    seed: int = 1,
    tolerance: float = 0.05,
) -> DoublyRobust:
    """The outcome at the higher level of `treatment` minus at the lower, over all images.

    The estimate is cross-fitted AIPW (see the module). It is an effect only if the covariates take
    in everything that goes with the level and moves the outcome.

    Args:
        frame: a row per image.
        outcome: column of 0 and 1, or in between where it is a rate; see `is_number`.
        treatment: column of the two levels that are compared.
        covariates: columns that are adjusted for, at least one. Those of floating-point numbers
            enter as numbers, all others as categories.
        cluster: column of the units of inference, such as people; None: rows are independent.
        learner: "logistic": main effects with scikit-learn's ridge penalty, by a fit of our own.
            "boosted": scikit-learn's gradient-boosted trees, of the extra `adjusted`.
        is_number: whether the outcome is a number without bounds.
        seed: of the folds.
        tolerance: for the verdict.

    Returns:
        Estimates, overlap and balance. Of rates, the intervals are made from Wilson's for the sizes
        that clusters are worth (`faceaudit.effects.risks.hybrid_score_interval`), else they are
        Student's. Not estimable is a level without an image, with fewer than ten clusters
        (`faceaudit.effects.risks.FEWEST_CLUSTERS`), or with so few after weighting; a level of a
        covariate that occurs at one level alone; and more than `MOST_OUTSIDE` of the images with a
        propensity outside of the bounds.
        The bounds are 5 / (√G ln G) and one minus that, for G clusters (Gruber, Phillips, Lee & van
        der Laan, American Journal of Epidemiology 191 (2022) 1640-1651).

    Raises:
        InputError: an empty frame, a missing column, no covariate, a missing or infinite value of
            one, an outcome outside of [0, 1] that is no number, more than two levels, or an extra
            that is not installed.

    Example:
        >>> from faceaudit import effects
        >>> random = np.random.default_rng(1)
        >>> short = random.integers(2, size=2000)
        >>> dark = random.random(2000) < 0.3 + 0.3 * short
        >>> error = (random.random(2000) < 0.1 + 0.2 * short).astype(int)
        >>> frame = pd.DataFrame({"dark": dark, "short": short, "error": error})
        >>> found = effects.doubly_robust_difference(frame, "error", "dark", ["short"])
        >>> found.effects["estimate"].round(3).tolist()
        [0.049, -0.013]
    """
    require_members([learner], SPLITS, "learner")
    if not covariates:
        raise InputError(
            "covariates is empty, at least one column was expected",
            field="covariates",
            found=[],
            expected="at least one column",
        )
    if learner == "boosted":
        require_extra("adjusted", "sklearn")
    cell, known = read_levels(frame, outcome, treatment, covariates, cluster, is_number)
    obstacle = obstacle_of_cell(cell) or _obstacle_of_levels(cell, known)
    if obstacle:
        return _refused(cell, known, obstacle, is_number, tolerance)
    bound = propensity_bound(len(cell.present))
    predictions = _predict(cell, known, learner, is_number, seed, bound)
    weights = _weights(cell, predictions)
    overlap = _overlap(cell, predictions, weights)
    balance = _balance(cell, known, weights)
    obstacle = _obstacle_of_overlap(predictions.outside, overlap, bound, cell.unit)
    if obstacle:
        refused = _refused(cell, known, obstacle, is_number, tolerance)
        return replace(refused, overlap=overlap, balance=balance)
    risks = _averages(cell, predictions, is_number)
    effects = _effects(cell, risks, is_number, tolerance)
    return DoublyRobust(effects, overlap, bound, balance)


# --- overlap


def propensity_bound(clusters: int) -> float:
    """Least propensity that is used, of so many clusters; never more than a half."""
    if clusters < 2:
        return 0.5
    return min(5 / (np.sqrt(clusters) * np.log(clusters)), 0.5)


def _obstacle_of_levels(cell: Cell, known: Covariates) -> str:
    """Why the levels of the covariates rule out a comparison, else empty."""
    few = few_at_a_level(cell.present.sum(axis=0), cell.levels, cell.unit)
    if few:
        return few
    for name, code in known.codes.items():
        images = np.bincount(2 * code + cell.arm, minlength=2 * len(known.levels[name]))
        level, absent = np.divmod(np.flatnonzero(images == 0), 2)
        if len(level):
            first = known.levels[name][level[0]]
            return f"no overlap: no image with {name} = {first} has {cell.levels[absent[0]]}"
    return ""


def _obstacle_of_overlap(
    outside: np.ndarray, overlap: pd.DataFrame, bound: float, unit: str
) -> str:
    """Why the propensities rule out a comparison, else empty."""
    share = outside.mean()
    if share > MOST_OUTSIDE:
        return (
            f"no overlap: {share:.0%} of the images have a propensity below {bound:.2g} or above "
            f"{1 - bound:.2g}"
        )
    fewest = overlap.loc[overlap["effective"].idxmin()]
    # So many clusters must be left by the weights too.
    if fewest["effective"] < FEWEST_CLUSTERS:
        left = int(fewest["effective"])
        return f"no overlap: the weights leave {several(left, unit)} with {fewest['level']}"
    return ""


def _weights(cell: Cell, predictions: Predictions) -> np.ndarray:
    """One over the chance of an image's own level, averaged over the splits: (n,)."""
    of_high = predictions.propensity
    own = np.where(cell.arm == 1, of_high, 1 - of_high)
    return (1 / own).mean(axis=0)


def _overlap(cell: Cell, predictions: Predictions, weights: np.ndarray) -> pd.DataFrame:
    """Propensities and effective numbers of clusters of both levels."""
    rows = []
    for arm in (0, 1):
        at_level = cell.arm == arm
        of_level = predictions.chance if arm == 1 else 1 - predictions.chance
        chances = of_level[at_level]
        of_clusters = np.bincount(cell.cluster[at_level], weights[at_level])
        row = {
            "level": cell.levels[arm],
            "n": int(at_level.sum()),
            "clusters": int(cell.present[:, arm].sum()),
            "effective": float(of_clusters.sum() ** 2 / (of_clusters**2).sum()),
            "propensity_low": float(chances.min()),
            "propensity_median": float(np.median(chances)),
            "propensity_high": float(chances.max()),
            "outside": float(predictions.outside[at_level].mean()),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def _balance(cell: Cell, known: Covariates, weights: np.ndarray | None) -> pd.DataFrame:
    """Standardised differences of means, without weights and with them (NaN where there are none).

    Both are in units of the two levels' standard deviation without weights (Austin, Statistics in
    Medicine 28 (2009) 3083-3107). A covariate that does not vary has the difference 0.
    """
    names = [(name, level) for name, level, _ in known.contrasts]
    table = pd.DataFrame(names, columns=["covariate", "level"])
    if table.empty:
        return table.assign(before=np.nan, after=np.nan)
    values = np.column_stack([values for _, _, values in known.contrasts])
    is_high = cell.arm == 1
    high = values[is_high]
    low = values[~is_high]
    unit = np.sqrt((low.var(axis=0) + high.var(axis=0)) / 2)
    unit = np.where(unit > 0, unit, 1.0)
    table["before"] = (high.mean(axis=0) - low.mean(axis=0)) / unit
    table["after"] = np.nan
    if weights is not None:
        of_high = weights[is_high] / weights[is_high].sum()
        of_low = weights[~is_high] / weights[~is_high].sum()
        table["after"] = (of_high @ high - of_low @ low) / unit
    return table


# --- cross-fitting


def deal_folds(cell: Cell, seed: int, split: int) -> np.ndarray:
    """Fold of every cluster (G,); each fold has its share of those with either level."""
    kind = cell.present @ [1, 2]
    order = seeding.rng(seed, "doubly robust: folds", split).permutation(len(kind))
    order = order[np.argsort(kind[order], kind="stable")]
    fold = np.empty(len(kind), dtype=np.int64)
    fold[order] = np.arange(len(kind)) % FOLDS
    return fold


def _predict(
    cell: Cell, known: Covariates, learner: Learner, is_number: bool, seed: int, bound: float
) -> Predictions:
    """Propensities and outcomes of all images, by fits to other folds."""
    folds = np.stack([deal_folds(cell, seed, split) for split in range(SPLITS[learner])])
    fold_of_image = folds[:, cell.cluster]
    predict = _by_regression if learner == "logistic" else _by_trees
    everybody = np.ones(len(cell.arm), dtype=bool)
    chances = predict(Fit(cell.arm.astype(np.float64), everybody), known, fold_of_image)
    fits = [Fit(cell.error, cell.arm == arm, is_number) for arm in (0, 1)]
    outcomes = [predict(fit, known, fold_of_image) for fit in fits]
    chance = chances.mean(axis=0)
    return Predictions(
        propensity=chances.clip(bound, 1 - bound),
        outcome=np.stack(outcomes, axis=-1),
        outside=(chance < bound) | (chance > 1 - bound),
        chance=chance,
    )


def _by_regression(fit: Fit, known: Covariates, fold_of_image: np.ndarray) -> np.ndarray:
    """Predictions (S, n) by ridge regressions on main effects, with the folds (S, n) of all images.

    Images with equal covariates share their row of the regression, and one batched fit serves all
    folds of all splits.
    """
    pattern = known.pattern
    _, first = np.unique(pattern, return_index=True)
    patterns = known.design[first]
    splits = len(fold_of_image)
    use = fit.use.astype(np.float64)
    key = fold_of_image * len(first) + pattern
    size = FOLDS * len(first)

    def outside_of_folds(values: np.ndarray) -> np.ndarray:
        """Sums over the images of all other folds, (S × FOLDS, P)."""
        sums = np.stack([np.bincount(one, values, minlength=size) for one in key])
        sums = sums.reshape(splits, FOLDS, len(first))
        return (sums.sum(axis=1, keepdims=True) - sums).reshape(-1, len(first))

    trials = outside_of_folds(use)
    totals = outside_of_folds(use * fit.target)
    regression = _ridge if fit.is_number else _logits
    predicted = regression(patterns, trials, totals).reshape(splits, FOLDS, len(first))
    return predicted[np.arange(splits)[:, None], fold_of_image, pattern]


def _logits(patterns: np.ndarray, trials: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Risks (B, P) by logits with a ridge penalty; all alike where all or none of a fit err."""
    # A total is a sum minus a part of it; what is left of none is rounding.
    totals = np.where(np.abs(totals) < 1e-9, 0.0, totals)
    coefficients = fit_logits(patterns, trials, totals, C=1 / PENALTY)
    risk = expit(coefficients[:, :1] + coefficients[:, 1:] @ patterns.T)
    alike = totals.sum(axis=1, keepdims=True) / trials.sum(axis=1, keepdims=True)
    return np.where(np.isnan(risk), alike, risk)


def _ridge(patterns: np.ndarray, trials: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Means (B, P) by least squares with a ridge penalty, which leaves the intercept free."""
    design = np.column_stack([np.ones(len(patterns)), patterns])
    penalty = np.diag([0.0, *np.full(patterns.shape[1], PENALTY)])
    products = np.einsum("bp,pi,pj->bij", trials, design, design, optimize=True)
    coefficients = np.linalg.solve(products + penalty, (totals @ design)[..., None])[..., 0]
    return coefficients @ design.T


def _by_trees(fit: Fit, known: Covariates, fold_of_image: np.ndarray) -> np.ndarray:
    """Predictions (S, n) by gradient-boosted trees, with the folds (S, n) of all images.

    Fits of so few images are done sooner than several threads have met.
    """
    columns = [*known.codes.values(), *known.numbers.values()]
    design = np.column_stack(columns).astype(np.float64)
    is_category = [name in known.codes for name in (*known.codes, *known.numbers)]
    predicted = np.empty(fold_of_image.shape)
    with threadpool_limits(1, "openmp"):
        for split, fold in enumerate(fold_of_image):
            for number in range(FOLDS):
                training = fit.use & (fold != number)
                held_out = fold == number
                target = fit.target[training]
                predict = _fitted_trees(design[training], target, is_category, fit.is_number)
                predicted[split, held_out] = predict(design[held_out])
    return predicted


def _fitted_trees(
    design: np.ndarray, target: np.ndarray, is_category: list[bool], is_number: bool
) -> Callable[[np.ndarray], np.ndarray]:
    """Predictor (m, k) → (m,) of boosted trees; all alike where all targets are."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    if np.ptp(target) == 0:
        return lambda rows: np.full(len(rows), target[0])
    settings = {**TREES, "categorical_features": is_category}
    if set(np.unique(target)) <= {0.0, 1.0}:
        classifier = HistGradientBoostingClassifier(**settings).fit(design, target)
        return lambda rows: classifier.predict_proba(rows)[:, 1]
    regressor = HistGradientBoostingRegressor(**settings).fit(design, target)
    if is_number:
        return regressor.predict
    return lambda rows: regressor.predict(rows).clip(0, 1)


# --- estimates


def _averages(cell: Cell, predictions: Predictions, is_number: bool) -> Risks:
    """Averages of both levels with their influence function, summed over the images of a cluster.

    In a small sample the residuals may carry the average of rates beyond 0 or 1, where it ends.
    """
    at_level = cell.arm[:, None] == [0, 1]
    chances = np.stack([1 - predictions.propensity, predictions.propensity], axis=-1)
    weights = at_level / chances
    residual = cell.error[:, None] - predictions.outcome
    scores = (predictions.outcome + weights * residual).mean(axis=0)
    average = scores.mean(axis=0)
    n = len(scores)
    of_image = (scores - average) / n
    clusters = len(cell.present)
    influence = [np.bincount(cell.cluster, of_image[:, arm], minlength=clusters) for arm in (0, 1)]
    # What the residuals of a cluster would add to the variance if all had one variance.
    slopes = weights.mean(axis=0) / n
    share = np.bincount(cell.cluster, (slopes**2).sum(axis=1), minlength=clusters)
    bounded = average if is_number else average.clip(0, 1)
    return Risks(bounded, np.column_stack(influence), share, adjusted=True)


def _effects(
    cell: Cell, adjusted: Risks | None, is_number: bool, tolerance: float, reason: str = ""
) -> pd.DataFrame:
    """The rows of `DoublyRobust.effects`; without adjusted averages, the reason."""
    rows = [_counted_columns(cell, is_number, tolerance)]
    if adjusted is None:
        rows.append({"verdict": NOT_ESTIMABLE, "reason": reason})
    elif is_number:
        rows.append(_with_verdict(_student_columns(cell, adjusted), tolerance))
    else:
        rows.append(_columns_of_rates(cell, adjusted, tolerance))
    table = pd.DataFrame(rows, pd.Index(["unadjusted", "adjusted"], name="adjustment"))
    table["n"] = len(cell.error)
    table["dropped"] = cell.dropped
    table["clusters"] = len(cell.present)
    return table.reindex(columns=EFFECT_COLUMNS)


def _counted_columns(cell: Cell, is_number: bool, tolerance: float) -> dict[str, Any]:
    """The difference of two rates or means as they are counted."""
    if not is_number:
        return _columns_of_rates(cell, crude_risks(cell), tolerance)
    return _with_verdict(mean_difference(cell.error, cell.arm == 1, cell.cluster), tolerance)


def _columns_of_rates(cell: Cell, risks: Risks, tolerance: float) -> dict[str, Any]:
    """The difference of two rates with intervals made from Wilson's."""
    columns = difference_columns([cell], [risks], tolerance)
    row = {name: values[0] for name, values in columns.items()}
    row["se"] = np.nan if np.isnan(row["low"]) else _standard_error(cell, risks)
    return row


def _with_verdict(row: dict[str, Any], tolerance: float) -> dict[str, Any]:
    low, high, low90, high90 = (row[name] for name in LIMITS)
    return {**row, "verdict": str(verdict(low, high, low90, high90, tolerance))}


def _standard_error(cell: Cell, risks: Risks) -> float:
    """Of the difference of two averages, corrected for few clusters."""
    influence, _ = corrected_influence(cell, risks)
    return float(np.sqrt((np.diff(influence, axis=1) ** 2).sum()))


def _student_columns(cell: Cell, averages: Risks) -> dict[str, Any]:
    """The difference of two averages of numbers, with Student's intervals."""
    estimate = float(averages.risk[1] - averages.risk[0])
    se = _standard_error(cell, averages)
    _, df = corrected_influence(cell, averages)
    margin = float(stdtrit(df, 0.975) * se)
    margin90 = float(stdtrit(df, 0.95) * se)
    # Rounding leaves a little where all clusters agree.
    if se <= 1e-12 * max(float(np.abs(cell.error).max()), 1.0):
        reason = "no variation"
        return {**dict.fromkeys(ESTIMATES, np.nan), "reason": reason}
    return {
        "estimate": estimate,
        "se": se,
        "low": estimate - margin,
        "high": estimate + margin,
        "low90": estimate - margin90,
        "high90": estimate + margin90,
        "p": 2 * stdtr(df, -abs(estimate) / se),
        "mde": mde(se, df=df),
        "reason": "",
    }


def _refused(
    cell: Cell, known: Covariates, obstacle: str, is_number: bool, tolerance: float
) -> DoublyRobust:
    """The counted difference as far as there is one, and no adjusted one."""
    effects = _effects(cell, None, is_number, tolerance, obstacle)
    both_levels = bool(cell.n.all())
    balance = _balance(cell, known if both_levels else Covariates(0, {}, {}, {}), None)
    bound = propensity_bound(len(cell.present))
    return DoublyRobust(effects, _overlap_unknown(cell), bound, balance)


def _overlap_unknown(cell: Cell) -> pd.DataFrame:
    """Images and clusters of both levels, without propensities."""
    rows = pd.DataFrame({"level": cell.levels, "n": cell.n, "clusters": cell.present.sum(axis=0)})
    unknown = (
        "effective",
        "propensity_low",
        "propensity_median",
        "propensity_high",
        "outside",
    )
    return rows.assign(**dict.fromkeys(unknown, np.nan))
