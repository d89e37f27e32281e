"""Two versions of a model on the same images: did retraining help, and where?

Paired twice: the same face at two levels, and the same image by two models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from faceaudit.planning import cell_name, held_levels
from faceaudit.tables import Audited
from faceaudit.words import points
from helpers import effects
from helpers.effects import max_t_intervals
from helpers.effects.matched import matched_effects

RESAMPLES = 2000


@dataclass(frozen=True)
class Comparison:
    """What changed from one version to the next.

    Attributes:
        errors: a row per combination of levels and for all images: cell, before, after (error
            rates), estimate (after minus before), low, high, p, p_holm, n (images both answered),
            verdict ("better", "worse" or "no clear change").
        effects: a row per axis and cell: axis, cell, before, after (effects), estimate (after minus
            before, of faces that both answered in all images), low, high, n.

    Example:
        >>> Comparison(pd.DataFrame(), pd.DataFrame()).errors.empty
        True
    """

    errors: pd.DataFrame
    effects: pd.DataFrame


def compare(before: Audited, after: Audited, plan: Mapping[str, Any]) -> Comparison:
    """Compare two versions of a model on the same images with the same labels.

    Error rates are compared image by image (matched pairs, with matched faces as units); the
    intervals of the table are alone, its p-values adjusted by Holm. Effects are compared by
    differences of differences, one value per face; those intervals hold for all cells at once
    (`helpers.effects.verdicts`).

    Args:
        before, after: of `from_table`, of the two versions.
        plan: of the audit.

    Returns:
        The comparison.

    Raises:
        ValueError: other images, units, levels or labels in the one than in the other.

    Example:
        >>> from faceaudit.pretended import pretend
        >>> (old, plan), (new, _) = pretend(80, 0.4, seed=1), pretend(80, 0.0, seed=1)
        >>> found = compare(old, new, plan)
        >>> found.errors.query("cell == 'dark, female'")["verdict"].item()
        'better'
    """
    pairs = _joined(before, after)
    axes = plan["axes"]
    return Comparison(_errors(pairs, axes, plan), _effects(pairs, axes, plan))


def in_lines(found: Comparison, tolerance: float) -> list[str]:
    """The comparison for a terminal: a line per group, then a line per effect that changed.

    Args:
        found: of `compare`.
        tolerance: of the plan, for the heading.

    Returns:
        The lines.

    Example:
        >>> from faceaudit.pretended import pretend
        >>> (old, plan), (new, _) = pretend(80, 0.4, seed=1), pretend(80, 0.0, seed=1)
        >>> in_lines(compare(old, new, plan), 0.05)[1][:10]
        'all images'
    """
    lines = [f"error rates, after minus before, in points (tolerance {100 * tolerance:g})"]
    for row in found.errors.itertuples():
        lines.append(
            f"{row.cell}: {100 * row.before:.1f} % → {100 * row.after:.1f} %, "
            f"{points(row.estimate)} ({points(row.low)} to {points(row.high)}), "
            f"{row.verdict}"
        )
    lines.append("effects of the axes, after minus before, in points; intervals hold together")
    for row in found.effects.itertuples():
        lines.append(
            f"{row.axis.replace('_', ' ')}, {row.cell}: {points(row.before)} → "
            f"{points(row.after)}, {points(row.estimate)} ({points(row.low)} to "
            f"{points(row.high)})"
        )
    return lines


def _joined(before: Audited, after: Audited) -> pd.DataFrame:
    """One row per image, with both models' errors."""
    same = ["unit", "label", *(name for name in before.frame if name.endswith("_level"))]
    left, right = (data.frame.set_index("image_id").sort_index() for data in (before, after))
    if not left.index.equals(right.index):
        other = left.index.symmetric_difference(right.index)
        raise ValueError(
            f"{after.source}: other images than in {before.source} ({len(other)}, such as "
            f"{other[0]!r}); both versions must be asked about the same ones"
        )
    for name in same:
        differs = ~(left[name].eq(right[name]) | (left[name].isna() & right[name].isna()))
        if differs.any():
            raise ValueError(
                f"{after.source}: column {name!r} of image {left.index[differs][0]!r} is not that "
                f"of {before.source}"
            )
    return left.assign(before=left["error"], after=right["error"]).reset_index()


def _errors(pairs: pd.DataFrame, axes: Mapping[str, Any], plan: Mapping[str, Any]) -> pd.DataFrame:
    levels = [f"{axis}_level" for axis in axes]
    parts = {"all images": pairs}
    for held, part in pairs.groupby(levels):
        parts[cell_name(axes, dict(zip(axes, held, strict=True)))] = part
    rows = []
    for cell, part in parts.items():
        known = part.dropna(subset=["before", "after"])
        # The version takes the place of an axis: two images of a pair are one image, asked twice.
        long = pd.concat(
            [
                known[["unit", "image_id"]].assign(version_level=k, error=known[name])
                for k, name in enumerate(("before", "after"))
            ]
        ).rename(columns={"image_id": "image_level"})
        row = matched_effects(long, "error", "version_level", [], "unit", plan["tolerance"])
        own = {"cell": cell, "before": known["before"].mean(), "after": known["after"].mean()}
        columns = ["estimate", "low", "high", "p", "n"]
        rows.append(own | row.iloc[0][columns].to_dict())
    table = pd.DataFrame(rows)
    table["p_holm"] = effects.holm(table["p"])
    sure = table["p_holm"] < plan["level"]
    states = [sure & (table["estimate"] < 0), sure & (table["estimate"] > 0)]
    return table.assign(verdict=np.select(states, ["better", "worse"], "no clear change"))


def _effects(pairs: pd.DataFrame, axes: Mapping[str, Any], plan: Mapping[str, Any]) -> pd.DataFrame:
    placed = pairs.set_index(["unit", *(name for name in pairs if name.endswith("_level"))])
    wide = placed[["before", "after"]]
    values, rows = {}, []
    for axis in axes:
        for held in held_levels(axes, axis):
            part = wide
            for name, level in held.items():
                part = part[part.index.get_level_values(f"{name}_level") == level]
            sides = [part.xs(level, level=f"{axis}_level") for level in (0, 1)]
            gap = (sides[1] - sides[0]).groupby("unit").mean()
            values[axis, cell_name(axes, held)] = gap["after"] - gap["before"]
            rows.append({"axis": axis, "cell": cell_name(axes, held), **gap.mean().to_dict()})
    changes = pd.DataFrame(values).dropna()
    # Two more or fewer misread images change a value by 2 at most, by 1 as a rule.
    found = max_t_intervals(changes, 1, n_boot=RESAMPLES, seed=plan["seed"], stage="audit/compare")
    table = pd.DataFrame(rows)
    for name in ("estimate", "low", "high"):
        table[name] = found[name].to_numpy()
    return table.assign(n=len(changes))
