"""What the counted gap between two groups of women is made of, by intervention.

Every counted woman is given the skin colour of a woman with light skin and of one with dark skin;
then their hair length instead; then both. The difference of her two errors is the effect on her of
what she was given. Labels stay, and so does all else about her face. The joint effect is divided by
`faceaudit.effects.shapley_shares`. What the counted gap has beyond the joint effect, or lacks,
comes with other differences between the groups.

Women who give are drawn from the counted women themselves, and give both attributes together where
both are given. So one woman is in several terms of a mean, and the intervals allow for it.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from faceaudit.effects.reweighting import ratio_interval
from faceaudit.effects.shapley import sets_of, shapley_shares
from faceaudit.effects.shared_people import covariance_of_means
from faceaudit.effects.verdicts import Z
from faceaudit.utils import seeding
from faceaudit.utils.errors import InputError
from facerender.parameters import INDEX
from faceworld.interventions import do

GROUPS = ("light", "dark")
"""Who gives: a mean is of the second less the first."""
GIVEN = {"skin": "skin_colour", "hair": "hair_length"}
"""Intervention → the parameter that is given."""
SETS = sets_of(GIVEN)
"""Skin alone, hair alone, and both."""
SKIN, HAIR, BOTH = SETS
ROWS = (
    "skin alone",
    "hair length alone",
    "both",
    "Shapley share of skin",
    "Shapley share of hair length",
    "other differences between the groups",
    "counted gap",
)
"""Of the table of `take_apart`."""
SHARES = [row for row in ROWS if row.startswith("Shapley")]
"""Those that sum to the effect of both."""


def draw_donors(group: ArrayLike, seed: int) -> np.ndarray:
    """Draw who gives to whom: each woman of a group gives equally often.

    Args:
        group: "light" or "dark", of every counted woman (n,).
        seed: of the run.

    Returns:
        For every counted woman the numbers of a woman with light and of one with dark skin, (n, 2).

    Raises:
        InputError: a group without a woman.
    """
    group = np.asarray(group)
    donors = []
    for name in GROUPS:
        members = np.flatnonzero(group == name)
        if not len(members):
            raise InputError(
                f"group has no woman with {name} skin, so none can give",
                field="group",
                found=sorted(set(group.tolist())),
                expected=list(GROUPS),
            )
        order = seeding.rng(seed, f"11_who_was_right: {name} skin").permutation(len(members))
        donors.append(members[np.resize(order, len(group))])
    return np.stack(donors, axis=1)


def give(women: torch.Tensor, donors: np.ndarray, what: frozenset[str]) -> torch.Tensor:
    """The counted women, each with what one woman of either group gives her.

    Args:
        women: parameters (n, P), columns as in `facerender.parameters.NAMES`.
        donors: (n, 2), of `draw_donors`.
        what: one of `SETS`.

    Returns:
        Parameters (2n, P): a woman with what light-skinned and then with what dark-skinned women
        give her, woman after woman.
    """
    given_by = torch.from_numpy(donors.T.copy())
    changed = []
    for givers in given_by:
        values = {GIVEN[one]: women[givers, INDEX[GIVEN[one]]] for one in what}
        changed.append(do(women, **values))
    return torch.stack(changed, dim=1).flatten(0, 1)


def take_apart(
    changes: Mapping[frozenset[str], ArrayLike],
    errors: ArrayLike,
    group: ArrayLike,
    donors: np.ndarray,
) -> pd.DataFrame:
    """Divide the counted gap into shares of skin, of hair length, and what is left.

    Args:
        changes: one of `SETS` → the error of every counted woman with what dark-skinned women give
            less that with what light-skinned women give, -1, 0 or 1 (n,).
        errors: of the counted women as they are, 0 or 1 (n,).
        group: "light" or "dark", of every counted woman (n,).
        donors: (n, 2), of `draw_donors`.

    Returns:
        A row for each of `ROWS`; columns estimate, se, low and high (95%, over women and who gives
        to them; fractions), and share, share_low and share_high: the estimate over the counted gap,
        with Fieller's interval.
    """
    errors, dark = np.asarray(errors, dtype=float), np.asarray(group) == GROUPS[1]
    effects = {one: np.asarray(change, dtype=float) for one, change in changes.items()}
    shares = shapley_shares(effects)
    of_terms = np.column_stack([*(effects[one] for one in SETS), *(shares[one] for one in GIVEN)])
    estimate = of_terms.mean(axis=0)
    in_group = np.where(dark, errors - errors[dark].mean(), errors[~dark].mean() - errors)
    size = np.where(dark, dark.sum(), (~dark).sum())
    gap = errors[dark].mean() - errors[~dark].mean()
    in_gap = in_group * len(errors) / size
    joint = SETS.index(BOTH)
    estimate = np.r_[estimate, gap - estimate[joint], gap]
    influences = of_terms - of_terms.mean(axis=0)
    influences = np.column_stack([influences, in_gap - influences[:, joint], in_gap])
    covariance = covariance_of_means(influences, _people(donors))
    se = np.sqrt(np.diag(covariance))
    table = {"estimate": estimate, "se": se, "low": estimate - Z * se, "high": estimate + Z * se}
    table = pd.DataFrame(table, index=pd.Index(ROWS))
    ends = table[["estimate", "low", "high"]].to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        table["share"] = table["estimate"] / gap
    of_gap = [
        ratio_interval(tuple(one), tuple(ends[-1]), shared)
        for one, shared in zip(ends, covariance[-1], strict=True)
    ]
    table[["share_low", "share_high"]] = [*of_gap[:-1], (1.0, 1.0)]
    return table


def mean_change(change: ArrayLike, donors: np.ndarray) -> dict[str, float]:
    """Mean of a change over the counted women, with its error over women and who gives to them.

    Args:
        change: of every counted woman (n,).
        donors: (n, 2), of `draw_donors`.

    Returns:
        estimate, se, low and high (95%), in the unit of the change.
    """
    change = np.asarray(change, dtype=float)
    estimate = change.mean()
    influence = (change - estimate)[:, None]
    se = np.sqrt(covariance_of_means(influence, _people(donors))[0, 0])
    ends = {"estimate": estimate, "se": se, "low": estimate - Z * se, "high": estimate + Z * se}
    return {name: float(value) for name, value in ends.items()}


def _people(donors: np.ndarray) -> np.ndarray:
    """Who is in the term of every counted woman: herself, and who gives to her (n, 3)."""
    return np.column_stack([np.arange(len(donors)), donors])


def by_seed(record: Sequence[Mapping[str, str | float]]) -> pd.DataFrame:
    """The gaps of other seeds, taken apart, as `benchmarks/counted_gap.py` recorded them.

    Args:
        record: its rows, with what, such as "seed 01, celeba-like", and points for each of `ROWS`.

    Returns:
        A row for each model and seed, both in the index; a column for each of `ROWS`, fractions.
    """
    table = pd.DataFrame(list(record)).set_index("what") / 100
    names = [tuple(reversed(what.split(", "))) for what in table.index]
    table.index = pd.MultiIndex.from_tuples(names, names=["model", "seed"])
    return table[list(ROWS)]


def shares_within(held_out: pd.DataFrame, seeds: pd.DataFrame) -> pd.DataFrame:
    """Whether the Shapley shares of a seed lie in the intervals that other seeds give for it.

    Args:
        held_out: gaps of seeds from which no interval was computed, of `by_seed`.
        seeds: gaps of those from which the intervals are computed.

    Returns:
        For each seed that was held out and each model, whether both shares lie within.
    """
    within = {}
    for model, gaps in held_out.groupby(level="model"):
        limits = seeds.loc[model, SHARES].apply(interval_of_another, result_type="expand")
        shares = gaps.droplevel("model")[SHARES]
        within[model] = ((shares > limits.loc[0]) & (shares < limits.loc[1])).all(axis=1)
    return pd.DataFrame(within)


def interval_of_another(values: ArrayLike) -> tuple[float, float]:
    """Where the result of another seed lies in 95 of 100 cases, if results are normal.

    It is Student's prediction interval, which allows for the few seeds that were run.

    Args:
        values: a result of each seed, (s,).

    Returns:
        The limits, in the unit of the values; NaN for a single seed.
    """
    values = np.asarray(values, dtype=float)
    count = len(values)
    if count < 2:
        return np.nan, np.nan
    reach = stdtrit(count - 1, 0.975) * values.std(ddof=1) * np.sqrt(1 + 1 / count)
    return float(values.mean() - reach), float(values.mean() + reach)
