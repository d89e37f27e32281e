"""What one step of an attribute does to the similarity of a face to itself (Liang et al., Fig 5).

The steps are interventions on one prototype, all else held fixed, so differences within prototypes
are effects. Prototypes made from one seed share most of a face: the seed is the unit. Chapter 16
draws the effects; chapter 17 takes its own means over seeds.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from helpers.utils.checks import require_columns, require_present

COLUMNS = ["similarity", "seed_first", "seed_second", "group", "attribute", "step"]
PROTOTYPE, ALL = "prototype", "all"


def over_seeds(values: pd.Series, by: Sequence[str]) -> pd.DataFrame:
    """Means over seeds with 95 % Student intervals between them.

    Args:
        values: (n,) at most one per seed in each cell; missing ones do not count.
        by: levels of the index that tell the cells; whatever else is in it tells the seeds.

    Returns:
        Index `by`, in order of appearance; columns estimate, low, high (NaN of a single seed) and
        seeds.

    Example:
        >>> import pandas as pd
        >>> from helpers import verification
        >>> cells = pd.MultiIndex.from_product([["a"], [1, 2, 3]], names=["group", "seed"])
        >>> table = verification.over_seeds(pd.Series([0.1, 0.2, 0.3], cells), ["group"])
        >>> table.round(2).loc["a"].tolist()
        [0.2, -0.05, 0.45, 3.0]
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
        frame: the positive pairs of `helpers.identities.pairs`, with the columns seed_first,
            seed_second, group, attribute, step (a number, or the name of a direction) and
            similarity. Pairs of a prototype with itself (step 0) are left out.

    Returns:
        A row per group (then "all", for which a seed's groups are averaged first), attribute and
        step, with the columns group, attribute, step, reference, similarity (mean), estimate (mean
        difference over seeds), low, high (95 % Student interval over seeds), seeds, and reason: why
        the interval is NaN, else empty.

    Raises:
        ValueError: a missing column or value, a pair of two seeds, or a prototype that has a step
            twice, naming the row.

    Example:
        >>> import pandas as pd
        >>> from helpers import verification
        >>> pose = {"seed_first": [1, 1, 2, 2], "seed_second": [1, 1, 2, 2], "group": "a",
        ...         "attribute": "pose", "step": [15, 30] * 2, "similarity": [0.9, 0.7, 0.8, 0.5]}
        >>> table = verification.step_effects(pd.DataFrame(pose))
        >>> table.loc[:1, ["step", "reference", "estimate"]].round(2).values.tolist()
        [[15, 'prototype', -0.15], [30, 15, -0.25]]
    """
    require_columns(frame, COLUMNS)
    for column in COLUMNS:
        require_present(frame[column], "a value")
    mixed = frame["seed_first"] != frame["seed_second"]
    if mixed.any():
        raise ValueError(
            f"row {frame.index[mixed][0]!r} is a pair of two seeds: step effects are of positives"
        )
    number = pd.to_numeric(frame["step"], errors="coerce").astype(np.float64)
    rows = frame[COLUMNS].assign(number=number)[number != 0]
    cell = ["seed_first", "group", "attribute"]
    if (twice := rows.duplicated([*cell, "step"])).any():
        raise ValueError(f"row {rows.index[twice][0]!r}: its prototype has this step already")
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
