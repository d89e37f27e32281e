"""From the ideal experiment to the realistic one: which estimates hold the truth, and what led
the others astray (chapters 10 and 14).

The same effects are estimated in several versions of an experiment (*arms*), each one step further
from the ideal, and compared with the effects under intervention. Estimates come from
`helpers.effects.all_matched_effects` and the truth from `helpers.scorecard.truth.effects`; both
have a row per attribute and cell and share their keys: `attribute`, and per attribute the level at
which it is held, <NA> where it is averaged over. What share of intervals is enough, and which
effects are flagged, the chapters decide.
"""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from scipy.stats import norm

from helpers.effects.labels import LEVEL_NAMES, Z


def compare(estimates: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Estimates beside the true effects, and whether their intervals hold them.

    An estimate without an interval contains everything: it cannot be wrong.

    Args:
        estimates: columns model, the keys, estimate, low, high; a row per model, arm and effect.
        truth: columns model, the keys, effect, se; one row per model and effect.

    Returns:
        The estimates with the columns truth, truth_se (its Monte-Carlo error) and contained.

    Raises:
        ValueError: two truths of one effect (pandas' MergeError).

    Example:
        >>> import pandas as pd
        >>> held = {"model": "m", "attribute": "gender", "gender": pd.NA, "hair_length": 0}
        >>> row = pd.DataFrame({**held, "skin_colour": 1, "estimate": 0.1}, index=[0])
        >>> known = row.assign(effect=0.05, se=0.01)
        >>> compare(row.assign(low=0.02, high=0.18), known)["contained"].item()
        True
    """
    keys = ["model", "attribute", *LEVEL_NAMES]
    known = truth[[*keys, "effect", "se"]].rename(columns={"effect": "truth", "se": "truth_se"})
    table = estimates.merge(known, on=keys, validate="m:1")
    outside = (table["truth"] < table["low"]) | (table["truth"] > table["high"])
    return table.assign(contained=~outside)


def coverage(ladder: pd.DataFrame) -> pd.Series:
    """How often intervals hold the truth, and how often they should.

    The truth is estimated too, so that even honest intervals hold its estimate less often than
    95 % of the time.

    Args:
        ladder: rows of `compare`.

    Returns:
        cells, the number of rows; contained, the share that hold the truth; expected, the share
        that honest intervals with normal errors would; allowing, the share in which estimate and
        truth agree within both errors together; median_se and median_truth_se (fractions).

    Example:
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"estimate": [0.1, 0.1], "low": 0.02, "high": 0.18})
        >>> rows = rows.assign(truth=[0.05, 0.2], truth_se=0.01, contained=[True, False])
        >>> coverage(rows)[["cells", "contained", "allowing"]].tolist()
        [2.0, 0.5, 0.5]
    """
    standard_error = (ladder["high"] - ladder["low"]) / (2 * Z)
    inflation = np.hypot(1, ladder["truth_se"] / standard_error)
    gap = ladder["truth"] - ladder["estimate"]
    end = ladder["high"].where(gap > 0, ladder["low"])
    margin = (end - ladder["estimate"]).abs()
    agree = gap.abs() <= np.hypot(margin, Z * ladder["truth_se"])
    return pd.Series(
        {
            "cells": len(ladder),
            "contained": ladder["contained"].mean(),
            "expected": (2 * norm.cdf(Z / inflation) - 1).mean(),
            "allowing": agree.mean(),
            "median_se": standard_error.median(),
            "median_truth_se": ladder["truth_se"].median(),
        }
    )


def tally(ladder: pd.DataFrame) -> pd.DataFrame:
    """`coverage` of each model and of all models, as counts.

    Args:
        ladder: rows of `compare`.

    Returns:
        A row per model and the row "all"; counts cells, contained, allowing, and the share
        expected.

    Example:
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"model": ["a", "b"], "estimate": 0.1, "low": 0.02, "high": 0.18})
        >>> rows = rows.assign(truth=0.05, truth_se=0.01, contained=True)
        >>> tally(rows)["contained"].to_dict()
        {'a': 1, 'b': 1, 'all': 2}
    """
    parts = {name: coverage(part) for name, part in ladder.groupby("model", sort=False)}
    table = pd.DataFrame({**parts, "all": coverage(ladder)}).T
    counts = table[["contained", "allowing"]].mul(table["cells"], axis=0).round()
    counts.insert(0, "cells", table["cells"])
    return counts.astype(int).assign(expected=table["expected"])


def causes(ladder: pd.DataFrame, steps: Mapping[str, str]) -> pd.DataFrame:
    """What each step away from the ideal adds to an estimate, and which step to blame for a miss.

    A cell is missed when the last arm's interval excludes the truth. To blame is the step from
    which on the truth stays outside. The contributions of the steps add up to the difference
    between the last arm's estimate and the truth.

    Args:
        ladder: rows of `compare`, named by `helpers.effects.labels.name_cells`; only full cells
            are used.
        steps: arm → what the step to it adds, from the ideal arm to the last.

    Returns:
        Index model, attribute, cell; columns truth, estimate (of the last arm), one per step with
        its contribution, and cause ("contained" where there is no miss).

    Example:
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"arm": ["A", "B"], "estimate": [0.0, 0.2], "truth": 0.0})
        >>> rows = rows.assign(model="m", attribute="gender", cell="dark skin", scope="cell")
        >>> steps = {"A": "sampling", "B": "directions"}
        >>> causes(rows.assign(contained=[True, False]), steps)["cause"].item()
        'directions'
    """
    arms, values = list(steps), ["estimate", "contained", "truth"]
    cells = ladder[ladder["scope"] == "cell"]
    wide = cells.pivot_table(values, ["model", "attribute", "cell"], "arm", "first", sort=False)
    estimate, inside = wide["estimate"][arms], wide["contained"][arms].ne(False)
    truth = wide["truth"][arms[0]]
    contributions = estimate.diff(axis=1)
    contributions[arms[0]] = estimate[arms[0]] - truth
    # From right to left: is the truth inside this arm's interval, or that of a later arm?
    returns = inside.astype(int).iloc[:, ::-1].cummax(axis=1).iloc[:, ::-1]
    cause = returns.idxmin(axis=1).map(steps).where(~inside[arms[-1]], "contained")
    table = contributions.rename(columns=steps).rename_axis(columns=None)
    table.insert(0, "truth", truth)
    table.insert(1, "estimate", estimate[arms[-1]])
    return table.assign(cause=cause)


def step_errors(
    frames: Mapping[str, pd.DataFrame], outcome: str, attributes: Sequence[str], face: str
) -> pd.DataFrame:
    """What every arm adds to the estimate of the arm before it, with its standard error.

    Sampled faces are the units, and a face that two arms share is one unit: what it does to both
    estimates cancels in their difference. Its influence on an arm's mean difference over n pairs
    is (its own difference − the mean) / n, and zero where it has no pair.

    Args:
        frames: arm → its images, in the order of the steps; columns `outcome`, `face` and per
            attribute `<attribute>_level` (0, 1); at most one image of a face at the same levels.
        outcome: column of errors.
        attributes: those that the transects manipulate.
        face: column that names the sampled face, alike in all arms.

    Returns:
        A row per arm and cell: arm, attribute, the levels held, change (of the first arm, its
        estimate) and se.

    Raises:
        ValueError: two images of a face at the same levels.

    Example:
        >>> import pandas as pd
        >>> one = pd.DataFrame({"face": [0, 0, 1, 1], "skin_level": [0, 1, 0, 1]})
        >>> arms = {"A": one.assign(error=[0, 0, 0, 1]), "B": one.assign(error=[0, 1, 0, 1])}
        >>> step_errors(arms, "error", ["skin"], "face")[["change", "se"]].round(2).to_numpy()
        array([[0.5, 0.5],
               [0.5, 0.5]])
    """
    levels = [f"{name}_level" for name in attributes]
    every = pd.unique(np.concatenate([frame[face] for frame in frames.values()]))
    places = pd.MultiIndex.from_product([every, *[(0, 1)] * len(levels)])
    before, rows = None, []
    for arm, frame in frames.items():
        errors = frame.set_index([face, *levels])[outcome].reindex(places).to_numpy(dtype=float)
        mean, influence = _influences(errors.reshape(len(every), *[2] * len(levels)))
        step = (mean, influence) if before is None else (mean - before[0], influence - before[1])
        ses = np.sqrt((step[1] ** 2).sum(axis=0))
        rows += [
            {"arm": arm, **place, "change": change, "se": se}
            for place, change, se in zip(_cells(attributes), step[0], ses, strict=True)
        ]
        before = mean, influence
    table = pd.DataFrame(rows, columns=["arm", "attribute", *attributes, "change", "se"])
    return table.astype(dict.fromkeys(attributes, "Int64"))


def _influences(errors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean differences (cells,) of errors (faces, 2, …, 2), and the faces' influence on them."""
    pairs = [np.diff(errors, axis=axis).reshape(len(errors), -1) for axis in range(1, errors.ndim)]
    difference = np.concatenate(pairs, axis=1)
    n = (~np.isnan(difference)).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.nansum(difference, axis=0) / np.where(n, n, np.nan)
        scale = np.sqrt(n / (n - 1)) / n
    return mean, np.nan_to_num(difference - mean) * scale


def _cells(attributes: Sequence[str]) -> list[dict[str, object]]:
    """Keys of the cells in the order of `_influences`."""
    return [
        {"attribute": name, **dict(zip((a for a in attributes if a != name), held, strict=True))}
        for name in attributes
        for held in itertools.product((0, 1), repeat=len(attributes) - 1)
    ]


def same_faces(base: ArrayLike, others: ArrayLike) -> np.ndarray:
    """Which of other base points began as the same sampled face.

    Projection moves a code by a few of its many coordinates, so two projections of one code are
    much nearer to each other than two codes are: here, than half the median distance.

    Args:
        base: (n, D) codes.
        others: (m, D) codes, also projected from sampled ones.

    Returns:
        int (n,): row of `others`, or -1 where the face is not among them.

    Example:
        >>> same_faces([[0.0, 9.0], [9.0, 0.0]], [[9.0, 1.0], [-9.0, -9.0]]).tolist()
        [-1, 0]
    """
    distance = cdist(np.asarray(base), np.asarray(others))
    nearest = distance.argmin(axis=1)
    near = distance[np.arange(len(nearest)), nearest] < np.median(distance) / 2
    return np.where(near, nearest, -1)


def count_flags(table: pd.DataFrame, level: float) -> pd.DataFrame:
    """Cells whose adjusted p-value lies below a level, by model, attribute and direction.

    Args:
        table: effects named by `helpers.effects.labels.name_cells`; columns model, attribute,
            scope, estimate, p_holm. Only full cells are counted.
        level: of the test.

    Returns:
        Index model, attribute; columns raises, lowers (the error rate) and cells, those tested.

    Example:
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"estimate": [0.2, -0.1, 0.0], "p_holm": [0.01, 0.01, 0.5]})
        >>> rows = rows.assign(model="m", attribute="gender", scope="cell")
        >>> count_flags(rows, 0.05).loc[("m", "gender")].to_dict()
        {'raises': 1, 'lowers': 1, 'cells': 3}
    """
    cells = table[table["scope"] == "cell"]
    flagged = cells["p_holm"] < level
    counts = {
        "raises": flagged & (cells["estimate"] > 0),
        "lowers": flagged & (cells["estimate"] < 0),
        "cells": cells["p_holm"].notna(),
    }
    by = [cells["model"], cells["attribute"]]
    return pd.DataFrame(counts).groupby(by, sort=False).sum()
