"""Sources of an estimate's error: arms of an experiment, and parameters that move along an axis.

*Arms*: the same effects are estimated in several versions of an experiment, each one step further
from the ideal, and compared with the effects under intervention. Estimates
(`faceaudit.effects.all_matched_effects`) and truth (`faceworld.scorecard.truth.true_effects`) share
their keys: `attribute`, and per attribute the level at which it is held, <NA> where it is averaged
over.

*Hidden parameters*: directions hold annotated attributes constant, and all others may move along.
In a known world each image can be given the values that its base face has of some parameters. The
part of an effect that is due to them is the estimated effect minus the effect after that. Images
are in the order of `faceaudit.latents.transects.index` of a 2×2×2 grid.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from numpy.typing import ArrayLike
from scipy.stats import norm
from torch import Tensor

import facerender
from faceaudit.annotations.schema import LEVEL_NAMES
from faceaudit.effects.resampling import resampled_sums
from faceaudit.effects.verdicts import Z
from faceworld.interventions import do
from faceworld.rendering import render_to_store
from faceworld.scorecard.truth import Score, as_grid, parameter_effects

MOVED_BY_DESIGN = "the three axes"  # the group of parameters that transects change on purpose
PARAMETER_GROUPS = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
"""Group → its parameters; every parameter of the renderer is in one."""
_UNORDERED = "hair_style"
_UNSEEN = 0.35  # Earrings and glasses are drawn from this presence on (`facerender.dress`).


# --- arms


def compare_with_truth(estimates: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Add the true effects to estimates, and whether the intervals contain them.

    An estimate without an interval counts as containing the truth.

    Args:
        estimates: columns model, the keys, estimate, low, high; a row per model, arm and effect.
        truth: columns model, the keys, effect, se; one row per model and effect.

    Returns:
        The estimates with the columns truth, truth_se (its Monte-Carlo error) and contained.

    Raises:
        ValueError: two truths of one effect (pandas' MergeError).
    """
    keys = ["model", "attribute", *LEVEL_NAMES]
    known = truth[[*keys, "effect", "se"]].rename(columns={"effect": "truth", "se": "truth_se"})
    table = estimates.merge(known, on=keys, validate="m:1")
    outside = (table["truth"] < table["low"]) | (table["truth"] > table["high"])
    return table.assign(contained=~outside)


def interval_coverage(ladder: pd.DataFrame) -> pd.Series:
    """How often intervals contain the truth, and how often they should.

    The truth is estimated too, so that even honest intervals contain its estimate less often than
    95% of the time.

    Args:
        ladder: rows of `compare_with_truth`.

    Returns:
        cells, the number of rows; contained, the share that contain the truth; expected, the share
        that honest intervals with normal errors would; allowing, the share in which estimate and
        truth agree within both errors together; median_se and median_truth_se (fractions).
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


def contributions(ladder: pd.DataFrame, steps: Mapping[str, str]) -> pd.DataFrame:
    """Change of an estimate by each step away from the ideal, and whether the last one misses.

    The first step's contribution is the estimate of its arm minus the truth, that of every other
    step the estimate of its arm minus that of the arm before. They add up to the difference between
    the last arm's estimate and the truth. They can cancel, so no step by itself is the cause of a
    miss.

    Args:
        ladder: rows of `compare_with_truth`, named by `faceworld.scorecard.truth.name_cells`; only
            full cells are used.
        steps: arm → name of the step that leads to it, from the ideal arm to the last.

    Returns:
        Index model, attribute, cell; columns truth, estimate (of the last arm), one per step with
        its contribution, and missed (the last arm's interval excludes the truth).

    Raises:
        ValueError: two rows of one arm and effect.
    """
    arms = list(steps)
    values = ["estimate", "contained", "truth"]
    cells = ladder[ladder["scope"] == "cell"]
    keys = ["model", "attribute", "cell", "arm"]
    # Of two rows of one effect, pivot_table would take one and say so nowhere.
    wide = cells.set_index(keys)[values].unstack("arm", sort=False)  # noqa: PD010
    estimate = wide["estimate"][arms]
    truth = wide["truth"][arms[0]]
    table = estimate.diff(axis=1)
    table[arms[0]] = estimate[arms[0]] - truth
    table = table.rename(columns=steps).rename_axis(columns=None)
    table.insert(0, "truth", truth)
    table.insert(1, "estimate", estimate[arms[-1]])
    # Where the last arm lacks an effect, `contained` is NaN, which `~` would not take: no miss.
    return table.assign(missed=wide["contained"][arms[-1]].eq(False))


def _cell_differences(values: np.ndarray) -> np.ndarray:
    """High minus low of every axis of (n, 2, …, 2) in every cell of the others, (n, cells)."""
    pairs = [np.diff(values, axis=axis).reshape(len(values), -1) for axis in range(1, values.ndim)]
    return np.concatenate(pairs, axis=1)


# --- hidden parameters


def parameter_changes(parameters: Tensor, population: Tensor) -> pd.DataFrame:
    """Mean change of every parameter along every axis, in SD of a population.

    The hair style is left out, as its values have no order.

    Args:
        parameters: (n * 8, P) faces of transects.
        population: (m, P) faces whose standard deviations are the unit.

    Returns:
        A row per axis (attribute) and parameter: group, effect, se, low and high (95%, transects
        are the units), in SD.
    """
    spread = facerender.to_frame(population).astype(float).std()
    values = facerender.to_frame(parameters).astype(float) / spread
    group_of = {name: group for group, names in PARAMETER_GROUPS.items() for name in names}
    tables = [
        parameter_effects(values[name]).assign(parameter=name, group=group_of[name])
        for name in values.columns.drop(_UNORDERED)
    ]
    table = pd.concat(tables, ignore_index=True).query("scope == 'average'")
    margin = Z * table["se"]
    table = table.assign(low=table["effect"] - margin, high=table["effect"] + margin)
    columns = ["attribute", "parameter", "group", "effect", "se", "low", "high"]
    return table[columns].reset_index(drop=True)


def hold_parameters(parameters: Tensor, base: Tensor, names: Sequence[str]) -> Tensor:
    """Give every image its base face's values of some parameters, and leave all others.

    Args:
        parameters: (n * k, P), the k images of each transect in a row.
        base: (n, P) base faces.
        names: parameters to hold.

    Returns:
        (n * k, P).
    """
    base_of_image = base.repeat_interleave(len(parameters) // len(base), 0)
    return do(parameters, **{name: base_of_image[:, facerender.INDEX[name]] for name in names})


def looks_differ(first: Tensor, second: Tensor) -> np.ndarray:
    """Which faces (n, P) are rendered differently, bool (n,): a visible parameter differs."""
    return (_visible(first) != _visible(second)).any(dim=1).cpu().numpy()


def _visible(parameters: Tensor) -> Tensor:
    """Parameters with one value for all values that are rendered alike."""
    visible = parameters.clone()
    for name in ("earrings", "glasses"):
        column = facerender.INDEX[name]
        visible[:, column] = visible[:, column].clamp(min=_UNSEEN)
    style = facerender.INDEX[_UNORDERED]
    visible[:, style] = visible[:, style].round()
    return visible


def answers_to(
    changed: Tensor,
    parameters: Tensor,
    known: Mapping[str, np.ndarray],
    scores: Mapping[str, Score],
    *,
    size: int,
    path: Path,
    device: str = "cpu",
) -> dict[str, np.ndarray]:
    """Models' answers to changed faces; only those that look different are rendered and asked.

    Args:
        changed: (n, P) faces after an intervention.
        parameters: (n, P) the same faces before.
        known: model → its answers (n,) to the faces before.
        scores: model → how to ask it, uint8 images (m, 3, size, size) → (m,).
        size: height and width of the images in pixels.
        path: where the images are kept.
        device: to render on.

    Returns:
        Model → answers (n,).
    """
    differ = looks_differ(changed, parameters)
    answers = {name: np.array(known[name], dtype=float) for name in scores}
    if differ.any():
        pictures = render_to_store(changed[differ], size, path, device=device)
        for name, score in scores.items():
            answers[name][differ] = score(pictures)
    return answers


def typical_size(parts: np.ndarray, seed: int, n_boot: int = 1000) -> dict[str, float]:
    """Typical size of the parts of all effects: root mean square over cells, with interval.

    Squares of noisy numbers are too large on average; the squared standard errors are taken off.
    Whole transects are resampled for the interval.

    Args:
        parts: (n, 2, 2, 2), by transect and level: error as rendered minus error after holding.
        seed: of the draws.
        n_boot: resamples.

    Returns:
        size, low and high (95%), in the unit of the parts; zero where noise explains everything.
    """
    change = _cell_differences(parts)
    n = len(change)
    noise = (change.var(axis=0, ddof=1) / n).mean()
    means = resampled_sums(change, range(n_boot), seed, "sizes of parts") / n
    square = (change.mean(axis=0) ** 2).mean() - noise
    # A resample's mean square is too large twice over: by the sample's noise, and by its own.
    resampled = (means**2).mean(axis=1) - 2 * noise
    low, high = np.quantile(resampled, [0.025, 0.975])
    roots = np.sqrt(np.clip([square, low, high], 0, None))
    return dict(zip(("size", "low", "high"), roots.tolist(), strict=True))


def change_of_distance(
    before: ArrayLike, after: ArrayLike, true: ArrayLike, seed: int, n_boot: int = 1000
) -> dict[str, float]:
    """By how much the effects of one version lie nearer to the truth than those of another.

    The distance is the root mean square over the twelve cells. Both versions are resampled
    together, transect by transect.

    Args:
        before, after: errors (n * 8,) of the same transects in two versions.
        true: (12,) effects in the cells, in the order of `faceworld.scorecard.truth.true_effects`.
        seed: of the draws.
        n_boot: resamples.

    Returns:
        change of the distance, negative where `after` is nearer, low and high (95%).
    """
    both = [_cell_differences(as_grid(errors)) for errors in (before, after)]
    n = len(both[0])
    true = np.asarray(true, dtype=float)

    def distance(means: np.ndarray) -> np.ndarray:
        return np.sqrt(((means - true) ** 2).mean(axis=-1))

    start, end = (distance(change.mean(axis=0)) for change in both)
    drawn = [resampled_sums(change, range(n_boot), seed, "approach") / n for change in both]
    low, high = np.quantile(distance(drawn[1]) - distance(drawn[0]), [0.025, 0.975])
    return {"change": float(end - start), "low": float(low), "high": float(high)}
