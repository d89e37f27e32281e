"""Predictions of an experiment for other populations, beside what is observed there.

`helpers.effects.transport` takes the error rates of strata from one frame and their shares from
another. With one frame as both, it gives the frame's own rates; so predictions and observations
come from one function and have the same rows.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from helpers import effects, errors
from helpers.effects.labels import points

STRATA = ("seen_as", "hair", "skin")
QUANTITIES = {
    ("all", ""): "all faces",
    ("female, dark", "female, light"): "women, dark − light",
    ("male, dark", "male, light"): "men, dark − light",
}
CLARITY = ((0.25, 0.5), ("divided", "leaning", "clear"))


def with_strata(frame: pd.DataFrame) -> pd.DataFrame:
    """Perceived strata, from perceived scores: those of `STRATA`, clarity and age_group, as words.

    `clarity` says how far the raters' mean of gender lies from the middle, over half the scale.
    """
    cuts = {"seen_as": ("gender", 0.5, "female", "male")}
    cuts |= {"hair": ("hair_length", 0.4, "short", "long")}
    cuts |= {"skin": ("skin_colour", 0.5, "light", "dark")}
    strata = {
        name: errors.discretize(frame[score], [cut], [low, high])
        for name, (score, cut, low, high) in cuts.items()
    }
    strata["clarity"] = errors.discretize((2 * frame["gender"] - 1).abs(), *CLARITY)
    strata["age_group"] = errors.age_group(frame["age"])
    return frame.assign(**{name: levels.astype(str) for name, levels in strata.items()})


def carry(
    frame: pd.DataFrame,
    target: pd.DataFrame,
    models: Sequence[str],
    cluster: str,
    strata: Sequence[str] = STRATA,
    labelled: pd.DataFrame | None = None,
    n_boot: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Error rate of all faces and disparities of skin in a target, for several models.

    Arguments as for `effects.transport`. Index model, quantity; its columns, and `points`.
    """
    tables = {
        model: effects.transport(
            frame,
            f"error_{model}",
            strata,
            target,
            cluster,
            by=["seen_as", "skin"],
            labelled=labelled,
            n_boot=n_boot,
            seed=seed,
        )
        for model in models
    }
    table = pd.concat(tables, names=["model", "row"]).reset_index("model")
    sides = zip(table["group"], table["reference"], strict=True)
    table["quantity"] = [QUANTITIES.get(side) for side in sides]
    table["points"] = points(table)
    return table.dropna(subset="quantity").set_index(["model", "quantity"])


def explained(observed: pd.DataFrame, predicted: pd.DataFrame, quantity: str) -> str:
    """How much of an observed disparity a prediction accounts for, a line per model.

    Shares have Fieller's 95 % interval, for predictions and observations of different images.
    """
    lines = []
    for model in observed.index.unique("model"):
        found, said = (table.loc[(model, quantity)] for table in (observed, predicted))
        line = f"- **{model}**, {quantity}: {found['points']} points observed, "
        if found["low"] > 0 or found["high"] < 0:
            share = said["estimate"] / found["estimate"]
            line += f"{said['points']} predicted, which is {share:.0%} of it"
            line += f" ({_ratio_limits(said, found)})."
        else:
            line += "so there is no clear disparity to predict."
        lines.append(line)
    return "\n".join(lines)


def _ratio_limits(top: pd.Series, bottom: pd.Series) -> str:
    """Fieller's interval of a ratio of independent estimates, normal ones with these intervals."""
    margins = [(row["high"] - row["low"]) / 2 for row in (top, bottom)]
    square, product, rest = (
        bottom["estimate"] ** 2 - margins[1] ** 2,
        bottom["estimate"] * top["estimate"],
        top["estimate"] ** 2 - margins[0] ** 2,
    )
    if square <= 0:
        return "with no limits to the share"
    root = np.sqrt(max(product**2 - square * rest, 0))
    return f"{(product - root) / square:.0%} to {(product + root) / square:.0%}"


def misses(predicted: pd.DataFrame, observed: pd.DataFrame, models: Sequence[str]) -> pd.Series:
    """Mean distance of predictions from observations over models, by quantity, in points."""
    gone = (predicted["estimate"] - observed["estimate"]).abs().loc[list(models)]
    return 100 * gone.groupby("quantity", sort=False).mean()


def contributions(frame: pd.DataFrame, target: pd.DataFrame, outcome: str) -> pd.Series:
    """What each of `STRATA` adds to observed minus predicted overall rate, in points."""
    here, there = (errors.stratified_errors(f, list(STRATA), outcome) for f in (frame, target))
    return 100 * (there["rate"] - here["rate"]) * there["n"] / len(target)
