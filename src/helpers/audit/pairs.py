"""The verification route: a table of pairs with similarities, read, checked and compared by group.

Serves chapter 20.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpers.audit.planning import MEASURES
from helpers.audit.reading import read_table, refuse_rows, require_named
from helpers.audit.specification import Specification
from helpers.audit.verdicts import beyond_by_interval, settled
from helpers.effects import holm
from helpers.verification import disparities, vertex_bootstrap
from helpers.verification.curves import by_group

RESAMPLES = 1000


@dataclass(frozen=True)
class Pairs:
    """Pairs of images and the recogniser's similarity of each.

    Serves chapter 20, through `from_pairs`.

    Attributes:
        frame: a row per pair: group, first, second (identities), same (0 or 1), similarity.
        source: of the pairs.

    Example:
        >>> Pairs(pd.DataFrame({"same": [0, 1]}), "pairs.csv").frame["same"].sum().item()
        1
    """

    frame: pd.DataFrame
    source: str


def from_pairs(table: str | Path | pd.DataFrame, specification: Specification) -> Pairs:
    """Read a table of pairs, as the audit file describes it.

    Introduced in chapter 20.

    Args:
        table: a `.csv` or `.parquet` file, or a frame.
        specification: whose `columns` and `reference` count.

    Returns:
        The pairs.

    Raises:
        ValueError: a column that is missing, an identity, a label or a similarity that is none,
            similarities that are all alike, one group only, or a reference that is no group.

    Example:
        >>> one = Specification(
        ...     name="mine", kind="verification", question="?", pairs="pairs.csv", reference="a",
        ...     model={"kind": "table", "threshold": 0.5}, design={"tolerance": 0.05},
        ... )
        >>> pairs = {"group": ["a", "b"], "first": [1, 1], "second": [1, 2], "same": [1, 0]}
        >>> from_pairs(pd.DataFrame(pairs | {"similarity": [0.9, 0.1]}), one).frame.shape
        (2, 5)
    """
    source = "the table" if isinstance(table, pd.DataFrame) else str(table)
    raw, columns = read_table(table, source), specification.columns
    names = ["group", "first", "second", "same", "similarity"]
    own = {name: getattr(columns, name) for name in names}
    require_named(raw, [*own.values()], source)
    found = raw[[*own.values()]].set_axis(names, axis=1)
    for column in own.values():
        refuse_rows(raw[column].isna(), raw[column], source, "a value")
    similarity = pd.to_numeric(found["similarity"], errors="coerce")
    bad = ~np.isfinite(similarity)
    refuse_rows(bad, raw[columns.similarity], source, "a finite similarity")
    code = {"0": 0, "1": 1, "False": 0, "True": 1, "0.0": 0, "1.0": 1}
    same = found["same"].astype(str).map(code)
    refuse_rows(same.isna(), raw[columns.same], source, "1 (the same person) or 0")
    if (similarity == similarity.iloc[0]).all():
        raise ValueError(
            f"{source}: column {columns.similarity!r} is {similarity.iloc[0]:g} for every pair; is "
            "it the right column?"
        )
    found = found.astype({"group": str, "first": str, "second": str})
    if specification.reference not in set(found["group"]):
        raise ValueError(
            f"{source}: the reference {specification.reference!r} is none of the groups "
            f"{', '.join(sorted(set(found['group'])))}"
        )
    if found["group"].nunique() < 2:
        raise ValueError(f"{source}: one group only; at least two are compared")
    return Pairs(found.assign(same=same.astype(int), similarity=similarity), source)


def analyse_pairs(data: Pairs, plan: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Error rates by group at one threshold, with intervals, and their differences.

    FRTE-style: one threshold for all groups, given, or set so that the reference group's FMR is at
    most the one asked for; ratios are to the reference. Intervals are those of the vertex bootstrap
    (chapter 17), which takes identities as the units. Where the threshold is set by this sample,
    the intervals take it as given.

    Introduced in chapter 20.

    Args:
        data: the pairs.
        plan: of `helpers.audit.make_plan`.

    Returns:
        "rates": a row per group: group, threshold, fnmr, fnmr_low, fnmr_high, fmr, fmr_low,
        fmr_high, positives, negatives, fnmr_ratio, fmr_ratio and reason; "error rates by group": a
        row per measure and other group, of `helpers.verification.disparities`, with p_beyond (of a
        difference no larger than the tolerance) and Holm's adjustment over all of them.

    Raises:
        ValueError: the FMR asked for is below what the negatives of the reference can show.

    Example:
        >>> seeds = [[n, n] for n in range(9)] + [[n, (n + 1) % 9] for n in range(9)]
        >>> frame = pd.DataFrame(seeds * 2, columns=["first", "second"])
        >>> frame["group"], frame["same"] = np.repeat(["a", "b"], 18), [*[1] * 9, *[0] * 9] * 2
        >>> frame["similarity"] = [0.2, *[0.9] * 8, *[0.1] * 9, *[0.9] * 9, 0.8, *[0.1] * 8]
        >>> plan = {"threshold": 0.5, "fmr": None, "reference": "a", "tolerance": 0.05}
        >>> found = analyse_pairs(Pairs(frame, "pairs.csv"), plan | {"seed": 1, "level": 0.05})
        >>> found["rates"][["fnmr", "fmr"]].round(2).values.tolist()
        [[0.11, 0.0], [0.0, 0.11]]
    """
    frame = data.frame
    columns = frame["similarity"], frame["same"], frame["group"]
    threshold = _threshold(columns, plan, data.source)
    vertices = frame[["first", "second"]].to_numpy()
    bands = vertex_bootstrap(
        *columns, vertices, n_boot=RESAMPLES, seed=plan["seed"], thresholds=[threshold]
    )
    table = bands.curves.set_index("group", drop=False)
    base = table.loc[plan["reference"]]
    for rate in ("fnmr", "fmr"):
        table[f"{rate}_ratio"] = table[rate] / base[rate] if base[rate] > 0 else np.nan
    compared = disparities(
        *columns,
        vertices,
        threshold=threshold,
        tolerance=plan["tolerance"],
        reference=plan["reference"],
        n_boot=RESAMPLES,
        seed=plan["seed"],
    )
    compared = compared[compared["measure"].isin(MEASURES)].reset_index(drop=True)
    return {"rates": table.reset_index(drop=True), "error rates by group": _judged(compared, plan)}


def _threshold(columns: tuple[pd.Series, ...], plan: Mapping[str, Any], source: str) -> float:
    if plan["threshold"] is not None:
        return float(plan["threshold"])
    reference = next(one for one in by_group(*columns) if one.label == plan["reference"])
    threshold, reason = reference.threshold_at(plan["fmr"])
    if reason:
        raise ValueError(
            f"{source}: model.fmr is {plan['fmr']}, in the reference {plan['reference']!r} that is "
            f"{reason}; ask for a larger one or bring more pairs"
        )
    return threshold


def _judged(table: pd.DataFrame, plan: Mapping[str, Any]) -> pd.DataFrame:
    """Verdicts with Holm over both measures and all groups together."""
    found = table.assign(p_holm=holm(table["p"]))
    df = (found["identities"] - 1).clip(lower=1)
    found["p_beyond"] = beyond_by_interval(found, plan["tolerance"], df)
    return settled(found, plan["level"])
