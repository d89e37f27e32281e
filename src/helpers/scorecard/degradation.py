"""How estimates leave the truth as the conditions of an experiment get worse."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from helpers import effects, transects
from helpers.annotations import crowd
from helpers.annotations.schema import n_levels
from helpers.directions import Hyperplanes
from helpers.effects.labels import CONTRASTS, Z
from helpers.errors import majority
from helpers.orthogonalization import dual_basis
from helpers.scorecard.repeated_audits import cells_of, draw, matched_audits
from helpers.scorecard.scores import name_cells, root_mean_square_bias
from helpers.utils import seeding


def between_directions(
    base: np.ndarray, planes: Hyperplanes, axes: Sequence[str], targets: Sequence, share: float
) -> np.ndarray:
    """Transects along a mixture of the dual basis (share 0) and the raw normals (share 1).

    Both kinds of step are scaled to change their own decision value by one, so a mixture does too;
    only what moves besides is different.

    Args:
        base: latents (n, D).
        planes: hyperplanes of all annotated attributes, among them the axes.
        axes: attributes of the grid.
        targets: decision values of the levels of each axis.
        share: of the raw normals.

    Returns:
        Latents (n · cells, D), in the order of `transects.grid`.
    """
    own = planes.select(axes)
    dual = dual_basis(planes.normals)[[planes.names.index(name) for name in axes]]
    raw = own.normals / (own.normals**2).sum(axis=1, keepdims=True)
    steps = (1 - share) * dual + share * raw
    cells = transects.grid(base, own.normals, own.intercepts, steps, targets)
    return cells.reshape(-1, cells.shape[-1])


def labels_by(
    perceived: pd.DataFrame, raters: int, noise: float, seed: int, stage: str
) -> np.ndarray:
    """Majority label of perceived gender by so many raters, their noise multiplied, (n,) 0 or 1.

    Args:
        perceived: visible scores, with the column gender.
        raters: accepted answers per image.
        noise: factor of the calibrated noise and of the raters' biases.
        seed, stage: of `helpers.annotations.crowd.annotate`.
    """
    people = crowd.rater_pool(seed)
    people = replace(people, noise=noise * people.noise, bias=noise * people.bias)
    answers = crowd.annotate(perceived[["gender"]], raters, seed=seed, stage=stage, pool=people)
    accepted = answers[(answers["status"] == "accepted") & (answers["visit"] == 0)]
    level = accepted.groupby("image_id")["gender"].mean().loc[perceived.index]
    return majority(level / (n_levels("gender") - 1)).to_numpy()


def departures(
    versions: np.ndarray, reference: np.ndarray, attributes: Sequence[str]
) -> pd.DataFrame:
    """Typical difference between the effects in versions of an experiment and in a reference.

    Both have the same faces, so what the faces contribute cancels.

    Args:
        versions: (V, n, 2, …, 2) errors, 0 or 1.
        reference: (n, 2, …, 2), for example under intervention.
        attributes: names of the axes.

    Returns:
        Columns version, attribute, and the root mean square over the attribute's cells: value, low,
        high (see `root_mean_square_bias`).
    """
    excess = versions - reference
    rows = []
    for axis, attribute in enumerate(attributes):
        change = excess.take(1, axis + 2) - excess.take(0, axis + 2)
        for version, errors in enumerate(change.reshape(*change.shape[:2], -1)):
            ends = dict(zip(("value", "low", "high"), root_mean_square_bias(errors), strict=True))
            rows.append({"version": version, "attribute": attribute} | ends)
    return pd.DataFrame(rows)


def nearest_cells(
    pool: Mapping[str, np.ndarray],
    attributes: Sequence[str],
    of: Sequence[str],
    sizes: Sequence[float],
) -> dict[str, np.ndarray]:
    """For each size the cell, of all models, whose true effect is nearest to it.

    Args:
        pool: model → errors (n, 2, …, 2) under every intervention.
        attributes: names of the axes.
        of: those whose effects are considered.
        sizes: of effects without sign, as fractions.

    Returns:
        Name of the cell with its effect in points → errors (n, 2) at its low and high level.
    """
    tables = []
    for model, answers in pool.items():
        cells = cells_of(
            answers[None], attributes, lambda cell: pd.DataFrame({"truth": cell.mean(axis=1)})
        )
        tables.append(name_cells(cells).assign(model=model))
    cells = pd.concat(tables, ignore_index=True)
    cells = cells[cells["attribute"].isin(of)]
    chosen = {}
    for size in sizes:
        row = cells.loc[(cells["truth"].abs() - size).abs().idxmin()]
        levels = [slice(None) if pd.isna(row[name]) else row[name] for name in attributes]
        held = row["cell"].split(": ")[1]
        name = f"{row['model']}, {held}: {CONTRASTS[row['attribute']]}"
        chosen[f"{name}, {100 * row['truth']:+.1f} points"] = pool[row["model"]][:, *levels]
    return chosen


def power_of_cell(
    errors: np.ndarray, sizes: Sequence[int], repetitions: int, seed: int, alpha: float = 0.05
) -> pd.DataFrame:
    """How often audits of several sizes find the effect in one cell, and the power formula.

    Args:
        errors: (n, 2) at the low and the high level, for every face of the pool.
        sizes: transects of an audit.
        repetitions: audits of each size.
        alpha: level of McNemar's exact test.

    Returns:
        Columns transects, found, low, high (Wilson), formula, truth, rmse.
    """
    # The formula takes effects that raise errors; naming the levels anew changes nothing else.
    ordered = errors[:, np.argsort(errors.mean(axis=0))]
    rows = []
    for size in sizes:
        table = matched_audits(draw(errors, size, repetitions, seed), ["level"])
        found = int((table["p"] < alpha).sum())
        low_end, high_end = proportion_confint(found, repetitions, method="wilson")
        rows.append(
            {
                "transects": size,
                "found": found / repetitions,
                "low": low_end,
                "high": high_end,
                "formula": _formula(size, ordered),
                "truth": float(np.diff(errors.mean(axis=0))[0]),
                "rmse": np.sqrt(((table["estimate"] - np.diff(errors.mean(axis=0))) ** 2).mean()),
            }
        )
    return pd.DataFrame(rows)


def _formula(size: int, errors: np.ndarray) -> float:
    """`effects.power` from rates and correlation; NaN where its latent effect cannot have them."""
    low, high = errors.mean(axis=0)
    if not 0 < low < high < 1:
        return np.nan
    try:
        within = float(np.corrcoef(errors.T)[0, 1])
        return effects.power(size, effects.Design(high - low, low, within, pairs=1))
    except ValueError:
        return np.nan


def leaking(
    errors: np.ndarray, attributes: Sequence[str], axis: str, shares: Sequence[float]
) -> pd.DataFrame:
    """Effect of one attribute on women's errors when a hidden one comes along in some transects.

    Args:
        errors: (n, 2, …, 2, 2) under intervention; the last axis is the hidden attribute, the
            others are `attributes`, among them gender with women at 0.
        axis: the attribute whose high level brings the hidden one.
        shares: of the transects in which it does.

    Returns:
        Columns attribute, share, estimate, low, high (95 %, over transects), and `hidden`: what
        the hidden attribute itself does to the error rate at the high level.
    """
    women = errors.take(0, list(attributes).index("gender") + 1)
    rest = [name for name in attributes if name != "gender"]
    # (n, levels of the axis, hidden), averaged over the levels of the other attributes
    ordered = np.moveaxis(women, rest.index(axis) + 1, -2)
    risk = ordered.reshape(len(errors), -1, 2, 2).mean(axis=1)
    order = seeding.rng(0, "scorecard: leaking").permutation(len(errors))
    rows = []
    for share in shares:
        along = (order < share * len(errors)).astype(int)
        change = risk[np.arange(len(errors)), 1, along] - risk[:, 0, 0]
        margin = Z * change.std(ddof=1) / np.sqrt(len(errors))
        rows.append(
            {
                "attribute": axis,
                "share": share,
                "estimate": change.mean(),
                "low": change.mean() - margin,
                "high": change.mean() + margin,
                "hidden": (risk[:, 1, 1] - risk[:, 1, 0]).mean(),
            }
        )
    return pd.DataFrame(rows)


def tipping(leaked: pd.DataFrame, share: float) -> pd.DataFrame:
    """What a leak of one share would have to do, and does, to account for the estimate: points.

    Args:
        leaked: rows of `leaking` with a column model.
        share: which of the planted shares.

    Returns:
        Index (model, attribute); estimate, low, high, tipping point
        (`effects.leakage_tipping_point`), what the hidden attribute really does, and whether that
        explains the estimate away: "yes", "no", or "no clear effect" where there is none.
    """
    rows = leaked[leaked["share"] == share].set_index(["model", "attribute"])
    point = effects.leakage_tipping_point(rows["estimate"], share)
    away = (rows["estimate"] * rows["hidden"] > 0) & (rows["hidden"].abs() >= point)
    clear = (rows["low"] > 0) | (rows["high"] < 0)
    table = 100 * rows[["estimate", "low", "high"]].assign(
        **{"tipping point": point, "hidden does": rows["hidden"]}
    )
    verdict = np.where(clear, np.where(away, "yes", "no"), "no clear effect")
    return table.assign(**{"explained away": verdict})
