"""Tables of the chapter on sensitivity flips: what is counted, laid out for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from helpers import sensitivity
from helpers.models import AuditedModel, sample_quality
from helpers.sensitivity.attribute_vectors import AttributeVector
from helpers.utils.checks import as_probabilities, require_columns

VERSIONS = {
    "joint_10": ("workshop (joint)", "1→0", 1),
    "joint_01": ("workshop (joint)", "0→1", 1),
    "conditional_10": ("later paper (conditional)", "1→0", -1),
    "conditional_01": ("later paper (conditional)", "0→1", 1),
    "net": ("both", "net", 1),
}
"""Measure of `sensitivity.flips` → who prints it, under which name, and with which sign."""


def quality_table(
    model: AuditedModel, real: np.ndarray, sets: Mapping[str, np.ndarray]
) -> pd.DataFrame:
    """Precision, recall and Fréchet distance of sets of images from real ones.

    Args:
        model: whose features are compared.
        real: uint8 (n, 3, height, width).
        sets: name → images as `real`.

    Returns:
        A row per set; the distance is missing where there are too few images for a covariance.
    """
    reference = sample_quality.features(model, real)
    rows = {}
    for name, images in sets.items():
        made = sample_quality.features(model, images)
        precision, recall = sample_quality.precision_recall(reference, made)
        enough = min(len(reference), len(made)) > reference.shape[1]
        distance = sample_quality.frechet_distance(reference, made) if enough else np.nan
        rows[name] = {"precision": precision, "recall": recall, "Fréchet distance": distance}
    return pd.DataFrame(rows).T


def disaggregated(
    frame: pd.DataFrame, names: Sequence[str], threshold: float = 0.5
) -> pd.DataFrame:
    """Accuracy, false positive and false negative rate by attribute (sensitivity, Table 1).

    Args:
        frame: score, the bool label Smiling and the bool attributes `names`.
        threshold: of the decision.

    Returns:
        A row for everybody and for each level of each attribute: n, and each rate in per cent with
        its 95 % Wilson interval as text; "nobody" where a group has no such face.

    Raises:
        ValueError: a column is missing, or scores that are no probabilities.
    """
    require_columns(frame, ["score", "Smiling", *names])
    as_probabilities(frame["score"], "score")
    frame = frame.assign(error=(frame["score"] >= threshold) != frame["Smiling"])
    groups = {"everybody": frame}
    for name in names:
        groups |= {f"{name} = {int(level)}": frame[frame[name] == level] for level in (False, True)}
    rows = {}
    for name, group in groups.items():
        parts = {
            "accuracy": ~group["error"],
            "false positives": group.loc[~group["Smiling"], "error"],
            "false negatives": group.loc[group["Smiling"], "error"],
        }
        rows[name] = {"n": len(group)} | {k: _with_interval(v) for k, v in parts.items()}
    return pd.DataFrame(rows).T


def _with_interval(events: pd.Series) -> str:
    if events.empty:
        return "nobody"
    low, high = proportion_confint(events.sum(), len(events), method="wilson")
    return f"{100 * events.mean():.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def all_flips(
    scores: Mapping[str, np.ndarray], names: Sequence[str], threshold: float = 0.5
) -> pd.DataFrame:
    """`sensitivity.flips` under the longest steps away from (−) and towards (+) every attribute.

    Args:
        scores: vector → scores (n, L) along ascending λ, which is 0 in the middle.
        names: the vectors.

    Returns:
        Index vector, direction, measure.
    """
    tables = {
        (name, sign): sensitivity.flips(
            scores[name][:, scores[name].shape[1] // 2], scores[name][:, column], threshold
        )
        for name in names
        for sign, column in {"−": 0, "+": -1}.items()
    }
    return pd.concat(tables, names=["vector", "direction", "measure"])


def table_one(flips: pd.DataFrame) -> pd.DataFrame:
    """Flip rates under a step towards each attribute, as both versions of the paper define them.

    Args:
        flips: of `all_flips`.

    Returns:
        A row per vector; in each column of `VERSIONS` per cent with their 95 % interval, as text.
    """
    towards = 100 * flips.xs("+", level="direction")
    columns = {
        (who, name): _in_words(sign * towards.xs(measure, level="measure"), "z.1f", "no codes")
        for measure, (who, name, sign) in VERSIONS.items()
    }
    return pd.DataFrame(columns)


def score_table(curves: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """How far the score moves under the longest step towards each attribute.

    Args:
        curves: vector → `sensitivity.curve`.

    Returns:
        A row per vector; a column per measure of `score_sensitivity`, with its 95 % interval, as
        text, and how many codes are near the boundary.
    """
    last = {name: curve[curve["λ"] == curve["λ"].max()] for name, curve in curves.items()}
    ends = pd.concat({name: table.set_index("measure") for name, table in last.items()})
    measures = ("score sensitivity", "stability", "near the boundary")
    columns = {name: _in_words(ends.xs(name, level=1), "+z.3f", "no codes") for name in measures}
    columns["codes near it"] = ends.xs("near the boundary", level=1)["n"]
    return pd.DataFrame(columns)


def _in_words(table: pd.DataFrame, form: str, missing: str) -> pd.Series:
    """estimate [low, high] of every row; the ends in order, whatever the sign.

    Args:
        form: with "z", so that no minus stands before a zero.
        missing: where there is no estimate.
    """

    def words(row: pd.Series) -> str:
        if np.isnan(row["estimate"]):
            return missing
        low, high = sorted((row["low"], row["high"]))
        return f"{row['estimate']:{form}} [{low:{form}}, {high:{form}}]"

    return table.apply(words, axis=1)


def beside_truth(explained: Mapping[str, pd.DataFrame], truth: pd.DataFrame) -> pd.DataFrame:
    """Effects along learned vectors beside the effect by hand, where the world has the attribute.

    Args:
        explained: of `explained_by_smile`.
        truth: of `audit_with_truth.mean_changes`.

    Returns:
        A row per vector; columns total, rest and by hand, each with its 95 % interval, as text.
    """
    names = [name for name in explained if name in truth.index]
    parts = {
        part: pd.DataFrame({name: explained[name].loc[part] for name in names}).T
        for part in ("total", "rest")
    }
    tables = parts | {"by hand": truth.loc[names]}
    return pd.DataFrame({k: _in_words(v, "+z.3f", "not estimable") for k, v in tables.items()})


def leaning(flips: pd.DataFrame) -> list[str]:
    """Vectors in order of how far decisions lean to one side under a step towards them."""
    net = flips.xs(("+", "net"), level=("direction", "measure"))["estimate"]
    return [*net.abs().sort_values(ascending=False).index]


def brought_along(
    kinds: Mapping[str, Mapping[str, AttributeVector]],
    codes: np.ndarray,
    attributes: pd.DataFrame,
    others: Mapping[str, str],
) -> pd.DataFrame:
    """What goes along vectors besides their own attributes.

    Codes are projected on a vector, and their place on it is regressed on its own attribute and on
    another: the other's coefficient is how far apart faces with and without it lie that are alike
    in the vector's own.

    Args:
        kinds: kind ("balanced", …) → name → vector.
        codes: (n, D).
        attributes: bool (n, K), of the same faces.
        others: title → column of `attributes`.

    Returns:
        A row per name, a column per (title, kind), in standard deviations of the places.
    """
    columns = {}
    for title, other in others.items():
        for kind, vectors in kinds.items():
            gaps = {}
            for name, vector in vectors.items():
                place = codes @ vector.direction
                design = np.column_stack([np.ones(len(codes)), attributes[[name, other]]])
                fit, *_ = np.linalg.lstsq(design.astype(float), place / place.std(), rcond=None)
                gaps[name] = fit[2]
            columns[title, kind] = gaps
    return pd.DataFrame(columns)


@dataclass(frozen=True)
class Example:
    """A code that a step along a vector moves far: its row, and the decisions before and after."""

    vector: str
    row: int
    smiles_before: bool
    smiles_after: bool


def examples(
    scores: Mapping[str, np.ndarray], vectors: Sequence[str], each: int, threshold: float = 0.5
) -> list[Example]:
    """The codes that the longest step towards each attribute moves most; those that flip first.

    No code comes twice.

    Args:
        scores: vector → scores (n, L) along ascending λ, which is 0 in the middle.
        vectors: names.
        each: codes per vector.
    """
    found: list[Example] = []
    for name in vectors:
        before, after = scores[name][:, scores[name].shape[1] // 2], scores[name][:, -1]
        flipped = (before >= threshold) != (after >= threshold)
        rows = np.lexsort((-np.abs(after - before), ~flipped))
        rows = rows[~np.isin(rows, [one.row for one in found])][:each]
        found += [Example(name, r, before[r] >= threshold, after[r] >= threshold) for r in rows]
    return found


def explained_by_smile(
    score_changes: Mapping[str, np.ndarray],
    smile_changes: Mapping[str, pd.Series],
    n_boot: int,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """`sensitivity.explained` for every vector but "Smiling", which serves to calibrate."""
    calibration = score_changes["Smiling"], smile_changes["Smiling"]
    return {
        name: sensitivity.explained(
            change, smile_changes[name], *calibration, cluster=None, n_boot=n_boot, seed=seed
        )
        for name, change in score_changes.items()
        if name != "Smiling"
    }
