"""Tables of the chapter on sensitivity flips: what is counted, laid out for the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from scipy.stats import t as student
from statsmodels.stats.proportion import proportion_confint
from torch import Tensor

from helpers import keyed, sample_quality, sensitivity
from helpers.attribute_vectors import AttributeVector
from helpers.generators import KnownTruthGenerator
from helpers.models import AuditedModel
from helpers.sensitivity import known_truth
from helpers.sensitivity.intervals import mean_interval

ScoreFaces = Callable[[Tensor, str], np.ndarray]
"""Faces (n, P) and a name for their images → scores (n,)."""

PARAMETERS = {
    "Young": ("age", -1),
    "Heavy_Makeup": ("makeup", 1),
    "No_Beard": ("facial_hair", -1),
    "Blond_Hair": ("hair_colour", 1),
    "Pale_Skin": ("skin_colour", -1),
    "Long_Hair": ("hair_length", 1),
    "Wearing_Earrings": ("earrings", 1),
    "Eyeglasses": ("glasses", 1),
    "High_Cheekbones": ("cheekbones", 1),
    "Ruddy_Skin": ("haemoglobin", 1),
    "Smiling": ("smiling", 1),
}
"""Attribute → the parameter of the face world that it is about, and the sign of its change."""

VERSIONS = {
    "joint_10": ("workshop (joint)", "1→0"),
    "joint_01": ("workshop (joint)", "0→1"),
    "conditional_10": ("later paper (conditional)", "1→0"),
    "conditional_01": ("later paper (conditional)", "0→1"),
    "net": ("both", "net"),
}


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
    """
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
    """Flip rates under a step towards each attribute, as both versions of the paper define them."""
    towards = flips.xs("+", level="direction")["estimate"]
    columns = {title: towards.xs(name, level="measure") for name, title in VERSIONS.items()}
    return pd.DataFrame(columns)


def movers(before: np.ndarray, after: np.ndarray, count: int, threshold: float = 0.5) -> np.ndarray:
    """Rows whose score moves most, those whose decision flips first, int (count,)."""
    flipped = (before >= threshold) != (after >= threshold)
    return np.lexsort((-np.abs(after - before), ~flipped))[:count]


def leaning(flips: pd.DataFrame) -> list[str]:
    """Vectors in order of how far decisions lean to one side under a step towards them."""
    net = flips.xs(("+", "net"), level=("direction", "measure"))["estimate"]
    return [*net.abs().sort_values(ascending=False).index]


@dataclass(frozen=True)
class KnownTruth:
    """An audit of the known-truth generator, and the truth to hold against it.

    Attributes:
        generator: the world.
        parameters: vector → the parameter that it is about, and the sign of its change.
        audit: codes (n, 512) of the audit.
        many: other codes, on which the truth is computed.
        score: renders faces and asks the classifier.
    """

    generator: KnownTruthGenerator
    parameters: Mapping[str, tuple[str, int]]
    audit: Tensor
    many: Tensor
    score: ScoreFaces

    def exact_steps(self) -> dict[str, np.ndarray]:
        """Steps (512,) that move one attribute's coordinate by one SD and no other at all."""
        return {
            name: sign * self.generator.exact_directions([parameter])[0]
            for name, (parameter, sign) in self.parameters.items()
        }

    def changes_by_hand(self) -> pd.DataFrame:
        """Change of every face's score when one attribute alone is set, by do(): (n, vectors)."""
        steps = self.exact_steps()
        changed = {
            name: known_truth.do_step(self.generator, self.many, step, self.parameters[name][0])
            for name, step in steps.items()
        }
        return self._changes(self.generator.parameters(self.many), changed, "by_hand")

    def audited(
        self, steps: Mapping[str, np.ndarray], truth: pd.DataFrame, name: str
    ) -> pd.DataFrame:
        """Score sensitivity along steps of the audit's codes, with the truth and whether it holds.

        Args:
            steps: vector → (512,).
            truth: `mean_changes` of `changes_by_hand`.
            name: of the images' file.
        """
        changed = {
            vector: self.generator.parameters(known_truth.moved(self.audit, step))
            for vector, step in steps.items()
        }
        start = self.generator.parameters(self.audit)
        table = mean_changes(self._changes(start, changed, name))
        table["truth"] = truth["estimate"]
        table["error"] = table["estimate"] - table["truth"]
        return table.assign(holds=table["truth"].between(table["low"], table["high"]))

    def predicted_error(self, steps: Mapping[str, np.ndarray], truth: pd.DataFrame) -> pd.DataFrame:
        """What leakage adds to each estimate if effects are proportional and add up.

        Every other attribute's change along a step, in SD, times the score's true change per SD.

        Returns:
            A row per vector, a column per attribute; a vector's own attribute is 0.
        """
        effects = pd.Series(
            {
                parameter: sign * truth.loc[name, "estimate"]
                for name, (parameter, sign) in self.parameters.items()
            }
        )
        moves = known_truth.leakage(self.generator, np.stack([*steps.values()]), effects.index)
        brought = moves.set_axis([*steps]) * effects
        for name in steps:
            brought.loc[name, self.parameters[name][0]] = 0.0
        return brought

    def _changes(self, start: Tensor, changed: Mapping[str, Tensor], name: str) -> pd.DataFrame:
        faces = torch.stack([start, *changed.values()])
        before, *after = self.score(faces.flatten(0, 1), name).reshape(len(faces), -1)
        return pd.DataFrame(np.stack(after, 1) - before[:, None], columns=[*changed])


def mean_changes(changes: pd.DataFrame) -> pd.DataFrame:
    """Score sensitivity (eq 3) of every column of changes (n, vectors): estimate, low, high."""
    codes = np.arange(len(changes))
    rows = {name: mean_interval(column.to_numpy(), codes) for name, column in changes.items()}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["estimate", "low", "high"])


def repeated_audits(changes: pd.DataFrame, n: int, repeats: int, seed: int) -> pd.Series:
    """How often an audit of `n` faces, drawn from these, has an interval that holds their mean.

    Args:
        changes: (faces, vectors), of `KnownTruth.changes_by_hand`.
    """
    drawn = keyed.generator(seed, "flip audit/repeated").integers(len(changes), size=(repeats, n))
    samples = changes.to_numpy()[drawn]
    error = samples.std(axis=1, ddof=1) / np.sqrt(n)
    misses = np.abs(samples.mean(axis=1) - changes.mean().to_numpy())
    holds = misses <= student.ppf(0.975, n - 1) * error
    return pd.Series(holds.mean(axis=0), index=changes.columns)


def overlap(
    vectors: Mapping[str, Mapping[str, AttributeVector]], towards: Mapping[str, AttributeVector]
) -> pd.DataFrame:
    """Cosines of attribute vectors with those of other attributes.

    Args:
        vectors: kind ("balanced", …) → name → vector.
        towards: other attribute → its vector.

    Returns:
        A row per name, a column per (other attribute, kind).
    """
    columns = {
        (other, kind): {name: float(v.direction @ along.direction) for name, v in named.items()}
        for other, along in towards.items()
        for kind, named in vectors.items()
    }
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

    Args:
        scores: vector → scores (n, L) along ascending λ, which is 0 in the middle.
        vectors: names.
        each: codes per vector.
    """
    found = []
    for name in vectors:
        before, after = scores[name][:, scores[name].shape[1] // 2], scores[name][:, -1]
        rows = movers(before, after, each, threshold)
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
