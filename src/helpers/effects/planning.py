"""What a finished audit says about the next one: planning values, reach, noise, pruning.

The numbers come from `helpers.effects`; here they are arranged for the book, and drawn.
"""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
import statsmodels.api as sm

from helpers import effects
from helpers.effects.labels import LEVEL_NAMES

GENDERS = {
    level: {"female": "women", "male": "men"}[name]
    for level, name in enumerate(LEVEL_NAMES["gender"])
}
ARMS = ("all", "pruned", "complete transects")


def planning_values(
    frame: pd.DataFrame, outcome: str, attributes: Sequence[str], transect: str = "transect"
) -> pd.DataFrame:
    """What the errors of a finished audit say about the pairs along each axis.

    Index axis; columns low, high (error rates at the levels), differ (share of pairs in which one
    image is an error and the other is not), within (correlation of the errors of a pair) and
    between (mean correlation of the differences of two pairs of a transect). Complete pairs only.
    """
    rows = {}
    for axis in attributes:
        others = _others(axis, attributes)
        pairs = frame.pivot_table(outcome, [transect, *others], f"{axis}_level").dropna()
        change = (pairs[1] - pairs[0]).rename("change").reset_index()
        alike = change.pivot_table("change", transect, others).corr().to_numpy()
        rows[axis] = {
            "low": pairs[0].mean(),
            "high": pairs[1].mean(),
            "differ": (pairs[0] != pairs[1]).mean(),
            "within": pairs[0].corr(pairs[1]),
            "between": np.nanmean(alike[np.triu_indices(len(alike), 1)]),
        }
    return pd.DataFrame(rows).T.rename_axis("axis")


def detectable(
    frame: pd.DataFrame, outcome: str, attributes: Sequence[str], transect: str = "transect"
) -> pd.DataFrame:
    """Minimum detectable effects of an audit, in points, by axis.

    Index axis; columns average (over all cells) and cell (the least precise one).
    """
    rows = {}
    for axis in attributes:
        for name, by in {"average": [], "cell": _others(axis, attributes)}.items():
            table = effects.matched_effects(frame, outcome, f"{axis}_level", by, transect)
            rows.setdefault(axis, {})[name] = 100 * table["mde"].max()
    return pd.DataFrame(rows).T.rename_axis("axis")


def slopes(
    frame: pd.DataFrame,
    outcome: str,
    scores: Mapping[int, pd.Series],
    by: str,
    cluster: str = "transect",
) -> pd.DataFrame:
    """Change of the error rate per unit of a score, by group and number of raters behind the score.

    Least squares with 95 % intervals from the cluster sandwich. `scores` are on the index of
    `frame`. Index `by`, raters; columns estimate, low, high and n images.
    """
    rows = {}
    for (group, part), (raters, score) in product(frame.groupby(by), scores.items()):
        fit = sm.OLS(part[outcome], sm.add_constant(score[part.index].to_numpy())).fit(
            cov_type="cluster", cov_kwds={"groups": part[cluster]}
        )
        low, high = fit.conf_int().iloc[1]
        estimate = fit.params.iloc[1]
        rows[group, raters] = {"estimate": estimate, "low": low, "high": high, "n": len(part)}
    return pd.DataFrame(rows).T.rename_axis([by, "raters"])


def pruned_effects(
    frame: pd.DataFrame, kept: str, models: Sequence[str], attributes: Sequence[str]
) -> pd.DataFrame:
    """`effects.pruning_bounds` of several models and axes by gender level, in points.

    Columns model, attribute, gender, arm, and estimate, low, high, lower, upper, n.
    """
    tables = {
        (model, axis): effects.pruning_bounds(
            frame, kept, f"error_{model}", f"{axis}_level", ["gender_level"], "transect"
        )
        for model, axis in product(models, attributes)
    }
    table = pd.concat(tables, names=["model", "attribute", "arm", "gender"]).reset_index()
    limits = ["estimate", "low", "high", "lower", "upper"]
    table[limits] *= 100
    return table[["model", "attribute", "gender", "arm", *limits, "n"]]


def _others(axis: str, attributes: Sequence[str]) -> list[str]:
    return [f"{other}_level" for other in attributes if other != axis]
