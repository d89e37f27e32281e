"""What pruning does to matched effects, and the most that it can have done.

Dropping images breaks pairs, and whether an image is dropped may depend on the attribute and on
what makes the model err: the pairs that remain need not stand for all (transects, sections 5.2.1
and 5.4, prunes image by image). What the dropped images would have shown is unknown to whoever
prunes because their labels cannot be trusted, but an error is 0 or 1, and that bounds the effect.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import norm

from helpers.effects.matched import matched_effects
from helpers.pruning import complete_transects
from helpers.utils.checks import as_binary, require_columns, require_present

ARMS = ("all", "pruned", "complete transects", "worst case")
COLUMNS = ["estimate", "low", "high", "lower", "upper", "n", "transects", "missing", "reason"]


def pruning_bounds(
    frame: pd.DataFrame, kept: str, outcome: str, attribute: str, by: Sequence[str], transect: str
) -> pd.DataFrame:
    """Matched effects before and after pruning, side by side with worst-case bounds.

    - "all": every image, as if all labels could be trusted;
    - "pruned": pairs of which both images are kept;
    - "complete transects": transects of which every image is kept;
    - "worst case": no estimate, but `lower` and `upper`, between which the mean difference of all
      pairs lies whatever the errors of the dropped images are (Manski, American Economic Review
      80(2) (1990) 319-323: each may be 0 or 1). Their errors are not looked at. `low` and `high`
      cover the effect, not the bounds, with 95 % (Imbens & Manski, Econometrica 72 (2004)
      1845-1857; standard errors of the bounds with transects as units).

    Args:
        frame: all generated images; a missing outcome is bounded like a dropped one.
        kept: column that says which images pruning leaves, true or false.
        outcome, attribute, by, transect: columns as for `helpers.effects.matched_effects`.

    Returns:
        Index arm (see above), then the cell; columns estimate, low, high, lower, upper, n
        (complete pairs; in the worst case, all of which there was an image), transects, missing (of
        those, pairs that the arm lacks or has to bound), reason (why there is no interval, else
        empty).

    Raises:
        ValueError: as `matched_effects` does, for a missing attribute or transect, and for a `kept`
            other than true and false.

    Example:
        >>> import pandas as pd
        >>> from helpers import effects
        >>> frame = pd.DataFrame({"t": [0, 0, 1, 1, 2, 2], "skin_level": [0, 1] * 3})
        >>> frame = frame.assign(error=[0, 1, 0, 0, 0, 1], kept=[True] * 5 + [False])
        >>> table = effects.pruning_bounds(frame, "kept", "error", "skin_level", [], "t")
        >>> table.loc["worst case", ["lower", "upper"]].round(2).values.tolist()
        [[0.33, 0.67]]
    """
    by = list(by)
    require_columns(frame, [kept, attribute, transect])
    for column in (attribute, transect):
        require_present(frame[column], "a value")
    left = frame[as_binary(frame[kept]) == 1]
    whole = complete_transects(left, frame.groupby(transect).size().max(), transect)
    everything = matched_effects(frame, outcome, attribute, by, transect)

    def arm(images: pd.DataFrame) -> pd.DataFrame:
        """Matched effects of what is left, with a row for every cell."""
        found = everything.iloc[:0]
        if len(images):
            found = matched_effects(images, outcome, attribute, by, transect)
        table = found.reindex(everything.index)
        counts = table[["n", "transects"]].fillna(0).astype(np.int64)
        return table.assign(**counts, reason=table["reason"].fillna("no pair"))

    bounds = _pair_bounds(frame, kept, outcome, attribute, by, transect)
    worst = _worst_case(bounds, everything, by, transect)
    arms = [everything, arm(left), arm(whole)]
    arms = [table.assign(missing=worst["n"] - table["n"]) for table in arms]
    tables = [table.reindex(columns=COLUMNS) for table in (*arms, worst)]
    return pd.concat(tables, keys=ARMS, names=["arm"])


def _pair_bounds(
    frame: pd.DataFrame, kept: str, outcome: str, attribute: str, by: list[str], transect: str
) -> pd.DataFrame:
    """Least and largest difference of every pair of which there was an image, and its place."""
    axes = [c for c in frame if str(c).endswith("_level") and c not in (*by, attribute)]
    place = [transect, *by, *axes]
    higher = frame[attribute] == frame[attribute].max()
    error = frame[outcome].astype(float).where(frame[kept].astype(bool))
    images = frame[place].assign(error=error)
    low, high = (images[side].set_index(place)["error"] for side in (~higher, higher))
    low, high = low.align(high, join="outer")
    bounds = {
        "lower": high.fillna(0) - low.fillna(1),
        "upper": high.fillna(1) - low.fillna(0),
        "unknown": low.isna() | high.isna(),
    }
    return pd.DataFrame(bounds).reset_index()


def _worst_case(
    pairs: pd.DataFrame, everything: pd.DataFrame, by: list[str], transect: str
) -> pd.DataFrame:
    """Bounds of every cell; where no pair is unknown, they meet and the interval is the usual."""
    groups = dict(list(pairs.groupby(by[0] if len(by) == 1 else by))) if by else {"all": pairs}
    rows = []
    for cell, usual in everything.iterrows():
        part = groups.get(cell, pairs.iloc[:0])
        transects = part[transect].nunique()
        row = {
            "lower": part["lower"].mean(),
            "upper": part["upper"].mean(),
            "n": len(part),
            "transects": transects,
            "missing": int(part["unknown"].sum()),
            "reason": "no pair" if part.empty else "one transect" if transects == 1 else "",
        }
        if not row["reason"]:
            known = row["missing"] == 0
            interval = usual[["low", "high"]] if known else _interval(part, transect)
            row["low"], row["high"] = interval
        rows.append(row)
    return pd.DataFrame(rows, index=everything.index)


def _interval(pairs: pd.DataFrame, transect: str) -> tuple[float, float]:
    """Imbens and Manski's interval, within -1 and 1."""
    values = pairs[["lower", "upper"]]
    lower, upper = values.mean()
    sums = (values - values.mean()).groupby(pairs[transect]).sum()
    scale = len(sums) / (len(sums) - 1) / len(pairs) ** 2
    errors = np.sqrt((sums**2).sum() * scale)
    largest = max(errors.max(), np.finfo(float).tiny)

    def excess(quantile: float) -> float:
        return norm.cdf(quantile + (upper - lower) / largest) - norm.cdf(-quantile) - 0.95

    quantile = brentq(excess, 1.0, 2.0)
    low, high = lower - quantile * errors["lower"], upper + quantile * errors["upper"]
    return max(low, -1.0), min(high, 1.0)
