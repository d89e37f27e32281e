"""An attribute that nobody annotated: how far it moves along, what that adds to an audit's effects.

Arrays with one value per image are in the order of `helpers.transects.index` of a 2×2×2 grid: eight
images a transect, axes in the order of `AXES`. Tables of effects have the rows and keys of
`helpers.scorecard.truth.effects`, named by `helpers.effects.labels.name_cells`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from torch import Tensor

from helpers import effects, faces, transects
from helpers.effects import labels
from helpers.scorecard import truth

AXES = ("skin_colour", "hair_length", "gender")
LEVELS = tuple(f"{axis}_level" for axis in AXES)


def earrings_shown(parameters: Tensor) -> pd.Series:
    """Presence of earrings, zero to one, where no scarf covers them: what raters would see."""
    face = faces.to_frame(parameters)
    bare = face["hair_style"] != faces.HAIR_STYLES.index("covered")
    return (face["earrings"] * bare).astype(float).rename("earrings")


def as_grid(values: np.ndarray) -> np.ndarray:
    """Values of images (n * 8, …) by transect and levels of the axes, (n, 2, 2, 2, …)."""
    values = np.asarray(values)
    return values.reshape(-1, 2, 2, 2, *values.shape[1:])


def changes(values: np.ndarray) -> pd.DataFrame:
    """Mean change of a value per image along each axis, in every cell and averaged, with its se."""
    return labels.name_cells(truth.effects(as_grid(values), AXES))


def plus_minus(rows: pd.DataFrame, scale: float = 1, digits: int = 2) -> list[str]:
    """Columns effect and se as text: the effect and the half-width of its 95 % interval."""
    pairs = zip(scale * rows["effect"], scale * labels.Z * rows["se"], strict=True)
    return [f"{effect:+.{digits}f} ± {margin:.{digits}f}" for effect, margin in pairs]


def by_model(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One table of several models', with a column model and rows numbered anew."""
    return pd.concat(tables, names=["model"]).reset_index("model").reset_index(drop=True)


def matched(places: pd.DataFrame, errors: Mapping[str, np.ndarray], arm: str) -> pd.DataFrame:
    """`effects.all_matched_effects` of every model's errors.

    Args:
        places: a row per image; columns transect and `LEVELS`, others are ignored.
        errors: model → errors, 0 or 1, in the order of the rows.
        arm: kept in a column of this name.
    """
    places = places[["transect", *LEVELS]]
    tables = {
        model: effects.all_matched_effects(places.assign(error=error), "error", AXES, "transect")
        for model, error in errors.items()
    }
    return labels.name_cells(by_model(tables)).assign(arm=arm)


def adjusted(
    places: pd.DataFrame, errors: Mapping[str, np.ndarray], covariate: str, arm: str
) -> pd.DataFrame:
    """Effects in every cell, adjusted for a categorical column of `places` by g-computation.

    Each cell has a regression of its own, so that the covariate may act differently in each.
    """
    found = []
    for model, error in errors.items():
        for attribute in AXES:
            others = [axis for axis in AXES if axis != attribute]
            cells = places.assign(error=error).groupby([f"{axis}_level" for axis in others])
            for levels, cell in cells:
                table = effects.risk_differences(
                    cell, "error", f"{attribute}_level", cluster="transect", adjust=[covariate]
                )
                key = {"model": model, "attribute": attribute}
                found.append(table.assign(**key, **dict(zip(others, levels, strict=True))))
    table = pd.concat(found, ignore_index=True)
    return labels.name_cells(table.astype(dict.fromkeys(AXES, "Int64"))).assign(arm=arm)


def put_on(
    errors: Mapping[str, np.ndarray], doses: Mapping[str, Sequence[float]], attribute: str
) -> pd.DataFrame:
    """Effect of the hidden attribute itself on errors, by hair and gender, averaged over skin.

    Args:
        errors: model → errors (n, 2, 2, 2, 2) from `truth.errors_under_do`.
        doses: of `AXES` and of the attribute, in the order of the errors' axes.
        attribute: name of the hidden one.
    """
    tables, by = {}, ["gender_level", "hair_length_level"]
    for model, error in errors.items():
        frame = transects.index(len(error), doses).assign(error=error.ravel().astype(int))
        table = effects.matched_effects(frame, "error", f"{attribute}_level", by, "transect")
        tables[model] = table.reset_index().rename(columns=lambda name: name.removesuffix("_level"))
    return labels.name_cells(by_model(tables).assign(skin_colour=pd.NA))


def base_rates(cells: pd.DataFrame, errors: Mapping[str, np.ndarray]) -> pd.Series:
    """Error rate of each full cell at the low level of the attribute that is changed there."""
    rates = {model: as_grid(error).mean(axis=0) for model, error in errors.items()}

    def rate(row: pd.Series) -> float:
        place = (0 if axis == row["attribute"] else row[axis] for axis in AXES)
        return float(rates[row["model"]][tuple(place)])

    return cells.apply(rate, axis=1)


def short_haired(values: np.ndarray) -> np.ndarray:
    """Values of short-haired images, (n, 4, …): woman light, woman dark, man light, man dark."""
    cells = as_grid(values)[:, :, 0]
    return np.concatenate([cells[:, :, 0], cells[:, :, 1]], axis=1)
