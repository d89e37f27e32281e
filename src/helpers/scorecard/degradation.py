"""How estimates leave the truth as the conditions of an experiment get worse (chapter 11)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from helpers import effects, transects
from helpers.annotations import crowd
from helpers.annotations.schema import n_levels
from helpers.directions import Hyperplanes
from helpers.effects.labels import CONTRASTS
from helpers.errors import majority
from helpers.orthogonalization import dual_basis
from helpers.scorecard.repeated_audits import cells_of, draw, matched_audits
from helpers.scorecard.scores import name_cells, root_mean_square_bias
from helpers.utils import seeding

NO_FORMULA = "an error rate of 0 or 1 at one level, for which the formula is not made"
"""Why `power_of_cell` has no power by the formula."""


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
        share: of the raw normals, between 0 and 1.

    Returns:
        Latents (n · cells, D), in the order of `transects.grid`.

    Example:
        >>> from helpers import scorecard
        >>> planes = Hyperplanes(("gender", "age"), np.array([[1.0, 1.0], [0.0, 1.0]]), np.zeros(2))
        >>> w = scorecard.between_directions(np.zeros((1, 2)), planes, ["gender"], [[-1, 1]], 0)
        >>> planes.decision_values(w).round(6).tolist()
        [[-1.0, 0.0], [1.0, 0.0]]
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
    """Majority label of perceived gender by so many raters, their noise multiplied.

    Args:
        perceived: visible scores (zero to one), a row per image, with the column gender.
        raters: accepted answers per image.
        noise: factor of the calibrated noise and of the raters' biases.
        seed: of `helpers.annotations.crowd.annotate`.
        stage: of the same.

    Returns:
        (n,) 0 (female) or 1 (male).

    Example:
        >>> from helpers import scorecard
        >>> perceived = pd.DataFrame({"gender": [0.0, 1.0]}, index=["a woman", "a man"])
        >>> scorecard.labels_by(perceived, 5, 1.0, seed=1, stage="example").tolist()
        [0, 1]
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
        high (see `root_mean_square_bias`), in fractions.

    Example:
        >>> from helpers import scorecard
        >>> reference = np.zeros((3, 2))
        >>> worse = reference + [0, 1]
        >>> table = scorecard.departures(np.stack([reference, worse]), reference, ["gender"])
        >>> table["value"].tolist()
        [0.0, 1.0]
    """
    excess = versions - reference
    rows = []
    for axis, attribute in enumerate(attributes):
        change = excess.take(1, axis + 2) - excess.take(0, axis + 2)
        for version, errors in enumerate(change.reshape(*change.shape[:2], -1)):
            rows.append((version, attribute, *root_mean_square_bias(errors)))
    return pd.DataFrame(rows, columns=["version", "attribute", "value", "low", "high"])


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

    Example:
        >>> from helpers import scorecard
        >>> errors = np.zeros((4, 2, 2, 2))
        >>> errors[:2, 1, 0, 0] = 1
        >>> axes = ["skin_colour", "hair_length", "gender"]
        >>> list(scorecard.nearest_cells({"model": errors}, axes, axes[:1], [0.5]))
        ['model, female, short hair: dark − light skin, +50.0 points']
    """
    tables = {
        model: cells_of(
            answers[None], attributes, lambda cell: pd.DataFrame({"truth": cell.mean(axis=1)})
        )
        for model, answers in pool.items()
    }
    cells = name_cells(pd.concat(tables, names=["model", None]).reset_index("model"))
    cells = cells[cells["attribute"].isin(of)].reset_index(drop=True)
    chosen = {}
    for size in sizes:
        row = cells.loc[(cells["truth"].abs() - size).abs().idxmin()]
        levels = [slice(None) if pd.isna(row[name]) else row[name] for name in attributes]
        held = row["cell"].split(": ")[1]
        name = f"{row['model']}, {held}: {CONTRASTS[row['attribute']]}"
        chosen[f"{name}, {100 * row['truth']:+z.1f} points"] = pool[row["model"]][:, *levels]
    return chosen


def power_of_cell(
    errors: np.ndarray, sizes: Sequence[int], repetitions: int, seed: int, alpha: float = 0.05
) -> pd.DataFrame:
    """How often audits of several sizes find the effect in one cell, and the power formula.

    Args:
        errors: (n, 2) at the low and the high level, for every face of the pool.
        sizes: transects of an audit.
        repetitions: audits of each size.
        seed: of the audits.
        alpha: level of McNemar's mid-p test.

    Returns:
        Columns transects, found, low, high (Wilson), formula, truth, rmse, in fractions; reason:
        why the formula has no answer (NaN), else empty.

    Example:
        >>> from helpers import scorecard
        >>> errors = np.repeat([[0, 0], [0, 1], [1, 1]], [60, 30, 10], axis=0)
        >>> table = scorecard.power_of_cell(errors, [10, 100], 50, seed=1)
        >>> table["found"].is_monotonic_increasing, round(float(table["truth"][0]), 1)
        (True, 0.3)
    """
    # The formula takes effects that raise errors; naming the levels anew changes nothing else.
    ordered = errors[:, np.argsort(errors.mean(axis=0))]
    truth = float(np.diff(errors.mean(axis=0))[0])
    rows = []
    for size in sizes:
        table = matched_audits(draw(errors, size, repetitions, seed), ["level"])
        found = int((table["p"] < alpha).sum())
        ends = proportion_confint(found, repetitions, method="wilson")
        rmse = np.sqrt(((table["estimate"] - truth) ** 2).mean())
        rows.append((size, found / repetitions, *ends, _formula(size, ordered), truth, rmse))
    columns = ["transects", "found", "low", "high", "formula", "truth", "rmse"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(reason=np.where(table["formula"].isna(), NO_FORMULA, ""))


def _formula(size: int, errors: np.ndarray) -> float:
    """`effects.power` from rates and correlation; NaN where a rate is 0 or 1."""
    low, high = errors.mean(axis=0)
    if not 0 < low <= high < 1:
        return np.nan
    within = float(np.corrcoef(errors.T)[0, 1])
    return effects.power(size, effects.Design(high - low, low, within, pairs=1))


def leaking(
    errors: np.ndarray, attributes: Sequence[str], axis: str, shares: Sequence[float]
) -> pd.DataFrame:
    """Effect of one attribute on women's errors when a hidden one comes along in some transects.

    Args:
        errors: (n, 2, …, 2, 2) under intervention; the last axis is the hidden attribute, the
            others are `attributes`, among them gender with women at 0.
        attributes: names of the axes but the last.
        axis: the attribute whose high level brings the hidden one.
        shares: of the transects in which it does.

    Returns:
        Columns attribute, share, estimate, low, high (95 %, over transects), and `hidden`: what
        the hidden attribute itself does to the error rate at the high level; fractions.

    Example:
        >>> from helpers import scorecard
        >>> errors = np.zeros((10, 2, 2, 2))
        >>> errors[:, 1, 0, 1] = 1  # dark-skinned women err once the hidden attribute is there
        >>> table = scorecard.leaking(errors, ["skin_colour", "gender"], "skin_colour", [0, 0.5, 1])
        >>> table["estimate"].tolist(), table["hidden"].tolist()
        ([0.0, 0.5, 1.0], [1.0, 1.0, 1.0])
    """
    women = errors.take(0, list(attributes).index("gender") + 1)
    rest = [name for name in attributes if name != "gender"]
    # (n, levels of the axis, hidden), averaged over the levels of the other attributes
    ordered = np.moveaxis(women, rest.index(axis) + 1, -2)
    risk = ordered.reshape(len(errors), -1, 2, 2).mean(axis=1)
    hidden = (risk[:, 1, 1] - risk[:, 1, 0]).mean()
    order = seeding.rng(0, "scorecard: leaking").permutation(len(errors))
    rows = []
    for share in shares:
        along = (order < share * len(errors)).astype(int)
        change = DescrStatsW(risk[np.arange(len(errors)), 1, along] - risk[:, 0, 0])
        rows.append((axis, share, change.mean, *change.zconfint_mean(), hidden))
    return pd.DataFrame(rows, columns=["attribute", "share", "estimate", "low", "high", "hidden"])
