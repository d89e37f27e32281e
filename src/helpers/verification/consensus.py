"""What people and recognisers say of pairs: consensus of raters, and effects of single steps.

Nine raters place a pair on five points, 0 "likely same" ... 4 "likely different". The paper drops
the two highest and the two lowest and averages the other five: the Human Consensus Identity
Confidence (Liang et al. 2023, 4.1.1). Steps are interventions on one prototype, all else held
fixed, so differences within prototypes are effects. Prototypes made from one seed share most of a
face: the seed is the unit (Fig 5).
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from helpers.utils.checks import check_range, refuse

HIGHEST = 4
"""The rating "likely different"."""
PROTOTYPE, ALL = "prototype", "all"


def hcic(ratings: ArrayLike, n_low: int = 2, n_high: int = 2) -> np.ndarray:
    """Consensus of every pair: 0 all raters say same ... 1 all say different.

    Args:
        ratings: whole numbers 0 ... 4, (n, raters), none missing.
        n_low, n_high: how many of the lowest and of the highest ratings of a pair are dropped.

    Returns:
        float64 (n,).

    Raises:
        ValueError: not a matrix, a rating that is missing, not whole or off the scale (naming its
            row), or fewer raters than would be dropped.

    Example:
        >>> from helpers import verification
        >>> verification.hcic([[0, 0, 0, 1, 1, 2, 2, 4, 4]]).tolist()
        [0.3]
    """
    total, kept = _kept_sum(ratings, n_low, n_high)
    return total / (HIGHEST * kept)


def is_match(ratings: ArrayLike, t: float, n_low: int = 2, n_high: int = 2) -> np.ndarray:
    """Whether `hcic(ratings, n_low, n_high)` <= t, without rounding.

    The paper's t are 0.2, 0.3 and 0.4, and many pairs lie exactly on them: the mean of five ratings
    is 0.3 when they sum to 6. So sums are compared as integers with the decimal `t`. A mean in
    single precision is a little above each of these limits in double precision, so that all of
    these pairs would become non-matches.

    Args:
        ratings, n_low, n_high: as of `hcic`.
        t: highest consensus that counts as a match, in [0, 1].

    Returns:
        bool (n,).

    Raises:
        ValueError: as `hcic`, and for a `t` outside of [0, 1].
    """
    check_range("t", t, 0, 1)
    total, kept = _kept_sum(ratings, n_low, n_high)
    return total <= int(Fraction(str(t)) * HIGHEST * kept)


def _kept_sum(ratings: ArrayLike, n_low: int, n_high: int) -> tuple[np.ndarray, int]:
    """Sum of the ratings that are kept, int64 (n,), and how many these are."""
    ratings = np.asarray(ratings)
    if ratings.ndim != 2:
        raise ValueError(f"ratings of shape {ratings.shape}: (pairs, raters) was expected")
    expected = f"a whole number from 0 (likely same) to {HIGHEST} (likely different)"
    refuse(~np.isin(ratings, np.arange(HIGHEST + 1)), ratings, "ratings", expected)
    n_raters = ratings.shape[1]
    kept = n_raters - n_low - n_high
    if kept < 1:
        raise ValueError(
            f"cannot drop the {n_low} lowest and {n_high} highest of {n_raters} ratings: at least "
            "one must be left"
        )
    kept_ratings = np.sort(ratings.astype(np.int64), axis=1)[:, n_low : n_raters - n_high]
    return kept_ratings.sum(axis=1), kept


def over_seeds(values: pd.Series, by: Sequence[str]) -> pd.DataFrame:
    """Means over seeds with 95 % Student intervals between them.

    Args:
        values: (n,) at most one per seed in each cell; missing ones do not count.
        by: levels of the index that tell the cells; whatever else is in it tells the seeds.

    Returns:
        Index `by`, in order of appearance; columns estimate, low, high (NaN of a single seed) and
        seeds.
    """
    cells = values.dropna().groupby(list(by), sort=False, observed=True)
    mean, seeds = cells.mean(), cells.size()
    half = stdtrit(seeds - 1, 0.975) * cells.sem()
    columns = {"estimate": mean, "low": mean - half, "high": mean + half, "seeds": seeds}
    return pd.DataFrame(columns)


def step_effects(frame: pd.DataFrame) -> pd.DataFrame:
    """Effect of every step of an attribute on similarity, by group and over all groups.

    A step is compared with the next one towards the prototype on its side, within each prototype:
    −30° with −15°, and −15° with the prototype itself, whose similarity to itself is 1. Steps
    without an order (directions of light) are compared with the prototype.

    Args:
        frame: positive pairs, with the columns seed_first, group, attribute, step (a number, or the
            name of a direction; each at most once a prototype) and similarity. Pairs of a prototype
            with itself (step 0) are left out.

    Returns:
        A row per group (then "all", for which a seed's groups are averaged first), attribute and
        step, with the columns group, attribute, step, reference, similarity (mean), estimate (mean
        difference over seeds), low, high (95 % Student interval over seeds), seeds, and reason: why
        the interval is NaN, else empty.
    """
    number = pd.to_numeric(frame["step"], errors="coerce").astype(np.float64)
    cell = ["seed_first", "group", "attribute"]
    rows = frame[[*cell, "step", "similarity"]].assign(number=number)[number != 0]
    steps = rows[["attribute", "step", "number"]].drop_duplicates().astype({"step": object})
    steps = steps.sort_values("number", key=abs)
    # Directions have no side, and so nothing nearer.
    side = [steps["attribute"], np.sign(steps["number"])]
    steps["reference"] = steps.groupby(side)["step"].shift().fillna(PROTOTYPE)
    rows = rows.astype({"step": object}).merge(steps, on=["attribute", "step", "number"])
    known = rows.set_index([*cell, "step"])["similarity"]
    nearer = known.reindex(pd.MultiIndex.from_frame(rows[[*cell, "reference"]])).to_numpy()
    own = rows["reference"] == PROTOTYPE
    rows["estimate"] = rows["similarity"] - np.where(own, 1.0, nearer)
    groups = [*map(str, pd.Categorical(frame["group"]).categories), ALL]
    both = pd.concat([rows.astype({"group": str}), rows.assign(group=ALL)])
    both["group"] = pd.Categorical(both["group"], groups)
    both["attribute"] = pd.Categorical(both["attribute"], frame["attribute"].unique())
    both = both.dropna(subset="estimate").sort_values(["group", "attribute", "number"])
    by = ["group", "attribute", "step", "reference"]
    seeds = both.groupby([*by, "seed_first"], sort=False, observed=True)
    means = seeds[["similarity", "estimate"]].mean()
    table = over_seeds(means["estimate"], by)
    levels = means["similarity"].groupby(by, sort=False, observed=True)
    table.insert(0, "similarity", levels.mean())
    table["reason"] = np.where(table["seeds"] < 2, "one seed", "")
    return table.reset_index().astype({"group": object, "attribute": object})
