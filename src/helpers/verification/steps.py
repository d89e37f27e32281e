"""What one step of an attribute does to the similarity of a face to itself (Liang et al., Fig 5).

The steps are interventions on one prototype, all else held fixed, so differences within prototypes
are effects. Prototypes made from one seed share most of a face: the seed is the unit.
"""

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from helpers.utils.checks import require_columns, require_present

COLUMNS = ["similarity", "seed_first", "seed_second", "group", "attribute", "step"]
PROTOTYPE, ALL = "prototype", "all"


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
    keys = ["seed_first", "group", "attribute", "step"]
    if (twice := rows.duplicated(keys)).any():
        raise ValueError(f"row {rows.index[twice][0]!r}: its prototype has this step already")
    rows = rows.merge(_references(rows), on=["attribute", "step"])
    nearer = rows[[*keys, "similarity"]].rename(
        columns={"step": "reference", "similarity": "reference_similarity"}
    )
    rows = rows.merge(nearer, on=["seed_first", "group", "attribute", "reference"], how="left")
    own = rows["reference"] == PROTOTYPE
    rows["effect"] = rows["similarity"] - rows["reference_similarity"].mask(own, 1.0)
    rows = rows.dropna(subset="effect")
    levels = [str(level) for level in pd.Categorical(frame["group"]).categories]
    both = pd.concat([rows.assign(group=rows["group"].astype(str)), rows.assign(group=ALL)])
    order = {
        "group": pd.Categorical(both["group"], [*levels, ALL]).codes,
        "attribute": pd.factorize(both["attribute"])[0],
        "number": both["number"],
    }
    # Directions have no number: they stay in their order of appearance.
    both = both.iloc[np.lexsort([np.nan_to_num(key) for key in reversed(order.values())])]
    return _summary(both)


def _references(rows: pd.DataFrame) -> pd.DataFrame:
    """The next step towards the prototype of every attribute and step; "prototype" if none."""
    steps = rows[["attribute", "step", "number"]].drop_duplicates(["attribute", "step"])
    references = []
    for attribute, number in zip(steps["attribute"], steps["number"], strict=True):
        others = steps[(steps["attribute"] == attribute) & (steps["number"] * number > 0)]
        nearer = others[others["number"].abs() < abs(number)]
        last = nearer["number"].abs().nlargest(1).index
        references.append(steps.loc[last[0], "step"] if len(last) else PROTOTYPE)
    return steps.drop(columns="number").assign(reference=references)


def _summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds of the means within each, with Student intervals."""
    keys = ["group", "attribute", "step", "reference"]
    seeds = rows.groupby([*keys, "seed_first"], sort=False)
    means = seeds[["similarity", "effect"]].mean()
    by = means.groupby(keys, sort=False)
    table = by["similarity"].mean().to_frame()
    table["estimate"] = by["effect"].mean()
    table["seeds"] = by.size()
    spread = by["effect"].std() / np.sqrt(table["seeds"])
    reach = stdtrit(table["seeds"] - 1, 0.975) * spread
    table["low"], table["high"] = table["estimate"] - reach, table["estimate"] + reach
    table["reason"] = np.where(table["seeds"] < 2, "one seed", "")
    columns = ["similarity", "estimate", "low", "high", "seeds", "reason"]
    return table[columns].reset_index()
