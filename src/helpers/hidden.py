"""An attribute that nobody annotated: how far it moves along, what that adds to an audit's effects.

Arrays with one value per image are in the order of `helpers.transects.index` of a 2×2×2 grid: eight
images a transect, axes in the order of `AXES`. Tables of effects have the rows and keys of
`helpers.truth.effects`, named by `helpers.ladder.name_cells`.
"""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from torch import Tensor

from helpers import effects, faces, figures, ladder, transects, truth

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
    return ladder.name_cells(truth.effects(as_grid(values), AXES))


def plus_minus(rows: pd.DataFrame, scale: float = 1, digits: int = 2) -> list[str]:
    """Columns effect and se as text: the effect and the half-width of its 95 % interval."""
    pairs = zip(scale * rows["effect"], scale * ladder.Z * rows["se"], strict=True)
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
    return ladder.name_cells(by_model(tables)).assign(arm=arm)


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
    return ladder.name_cells(table.astype(dict.fromkeys(AXES, "Int64"))).assign(arm=arm)


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
    return ladder.name_cells(by_model(tables).assign(skin_colour=pd.NA))


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


def draw_parts(parts: pd.DataFrame, n: int) -> Axes:
    """The measured against the expected part of a hidden attribute in each effect, in points.

    Args:
        parts: columns model, effect, se, expected; one row per effect.
        n: transects that the measurement rests on.
    """
    axis = plt.figure(figsize=(figures.WIDTH, 4.8)).gca()
    for model, rows in parts.groupby("model", sort=False):
        look = figures.look(model)
        axis.errorbar(
            100 * rows["expected"],
            100 * rows["effect"],
            100 * ladder.Z * rows["se"],
            fmt=look.marker,
            color=look.colour,
            label=model,
        )
    axis.axline((0, 0), slope=1, color=figures.GREY, linestyle="--")
    counted = f"measured (points, n = {n:,} transects)"
    axis.set(xlabel="leakage × effect (points)", ylabel=counted)
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=4)
    return axis


def draw_warnings(claims: pd.DataFrame, measures: Sequence[str], part: str) -> Figure:
    """What sensitivity measures said of each effect against the part that was really hidden.

    Args:
        claims: one row per effect; columns model, the measures and `part`.
        measures: columns on the horizontal axes; effects without a finite value are left out.
        part: column on the vertical axis, in points.
    """
    size = (figures.WIDTH, 3.6)
    figure, panels = plt.subplots(1, len(measures), figsize=size, sharey=True)
    for axis, measure in zip(panels, measures, strict=True):
        usable = claims[np.isfinite(claims[measure]) & (claims[measure] > 0)]
        for model, rows in claims.groupby("model", sort=False):
            look, rows = figures.look(model), usable[usable["model"] == model]
            label = model if axis is panels[0] else None
            axis.plot(rows[measure], rows[part], look.marker, color=look.colour, label=label)
        axis.set(xscale="log", xlabel=f"{measure}\n(n = {len(usable)} effects)")
        _label_plainly(axis, usable[measure])
    panels[0].set_ylabel("hidden part (points)")
    figure.legend(loc="outside upper center", ncol=4)
    return figure


def _label_plainly(axis: Axes, values: pd.Series) -> None:
    """Ticks of a log axis as plain numbers, few enough not to touch."""
    decades = np.log10(values.max() / values.min()) if len(values) else 0
    steps = (1, 2, 5) if decades < 1 else (1, 3) if decades < 2 else (1,)
    axis.xaxis.set_major_locator(LogLocator(subs=steps))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_formatter(NullFormatter())
