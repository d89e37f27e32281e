"""The audit of sensitivity flips where the truth is known: codes and steps against do().

Chapter 15 runs it along exact and along fitted directions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from scipy.stats import norm
from scipy.stats import t as student
from torch import Tensor

from facerender.parameters import visible_scores
from helpers.generators import KnownTruthGenerator
from helpers.sensitivity import known_truth
from helpers.sensitivity.intervals import CONFIDENCE, mean_interval
from helpers.utils import seeding

ScoreFaces = Callable[[Tensor, str], np.ndarray]
"""Faces (n, P) and a name for their images → scores (n,)."""


@dataclass(frozen=True)
class KnownTruth:
    """An audit of the known-truth generator, and the truth to hold against it.

    Changes of the score are those of sensitivity, eq 3, before the mean.

    Attributes:
        generator: the world.
        parameters: vector → the parameter that it is about, and the sign of its change.
        audit: codes (n, 512) of the audit.
        many: other codes, on which the truth is computed.
        score: renders faces and asks the classifier.

    Example:
        >>> import numpy as np
        >>> import torch
        >>> from helpers.sensitivity import audit_with_truth
        >>> class World:
        ...     def parameters(self, w):
        ...         return w
        ...     def exact_directions(self, names):
        ...         return np.eye(1)
        >>> def score(faces, name):
        ...     return 0.5 * faces[:, 0].numpy()
        >>> few, many = torch.zeros(2, 1), torch.zeros(9, 1)
        >>> audit = audit_with_truth.KnownTruth(World(), {"Young": ("age", -1)}, few, many, score)
        >>> audit.changes(audit.exact_steps(), "exact")["Young"].tolist()
        [-0.5, -0.5]
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

    def changes(self, steps: Mapping[str, np.ndarray], name: str) -> pd.DataFrame:
        """Change of every audited code's score along each step: (n, vectors).

        Args:
            steps: vector → (512,).
            name: of the images' file.
        """
        return self._changes(self.generator.parameters(self.audit), self._moved(steps), name)

    def smile_changes(self, steps: Mapping[str, np.ndarray]) -> pd.DataFrame:
        """Change of the smile that is seen in every audited code's face: (n, vectors)."""
        start = visible_scores(self.generator.parameters(self.audit))["smiling"]
        moved = self._moved(steps).items()
        return pd.DataFrame({name: visible_scores(ends)["smiling"] - start for name, ends in moved})

    def predicted_error(self, steps: Mapping[str, np.ndarray], truth: pd.DataFrame) -> pd.DataFrame:
        """What leakage adds to each estimate if effects are proportional and add up.

        Every other attribute's change along a step, in SD, times the score's true change per SD.

        Args:
            steps: vector → (512,).
            truth: `mean_changes` of `changes_by_hand`.

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

    def _moved(self, steps: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
        return {
            name: self.generator.parameters(known_truth.moved(self.audit, step))
            for name, step in steps.items()
        }

    def _changes(self, start: Tensor, changed: Mapping[str, Tensor], name: str) -> pd.DataFrame:
        faces = torch.stack([start, *changed.values()])
        before, *after = self.score(faces.flatten(0, 1), name).reshape(len(faces), -1)
        return pd.DataFrame(np.stack(after, 1) - before[:, None], columns=[*changed])


def mean_changes(changes: pd.DataFrame) -> pd.DataFrame:
    """Score sensitivity (sensitivity, eq 3) of every column of changes, with its 95 % t interval.

    Args:
        changes: of a score, (n, vectors).

    Returns:
        A row per vector; columns estimate, low, high.

    Example:
        >>> import pandas as pd
        >>> from helpers.sensitivity import audit_with_truth
        >>> table = audit_with_truth.mean_changes(pd.DataFrame({"Young": [0.1, 0.2, 0.3]}))
        >>> table.loc["Young"].round(3).tolist()
        [0.2, -0.048, 0.448]
    """
    codes = np.arange(len(changes))
    rows = {name: mean_interval(column.to_numpy(), codes) for name, column in changes.items()}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["estimate", "low", "high"])


def against(changes: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Score sensitivities with the truth, the error, and whether the interval holds the truth.

    Args:
        changes: (n, vectors), of `KnownTruth.changes`.
        truth: `mean_changes` of `KnownTruth.changes_by_hand`.

    Returns:
        A row per vector; columns estimate, low, high, truth, error, holds.

    Example:
        >>> import pandas as pd
        >>> from helpers.sensitivity import audit_with_truth
        >>> changes = pd.DataFrame({"Young": [0.1, 0.2, 0.3]})
        >>> truth = audit_with_truth.mean_changes(changes + 0.4)
        >>> audit_with_truth.against(changes, truth)[["error", "holds"]].round(3).values.tolist()
        [[-0.4, False]]
    """
    table = mean_changes(changes)
    table["truth"] = truth["estimate"]
    table["error"] = table["estimate"] - table["truth"]
    return table.assign(holds=table["truth"].between(table["low"], table["high"]))


def expected_to_hold(audited: pd.DataFrame, truth: pd.DataFrame) -> float:
    """Share of 95 % intervals of the audit that can be expected to hold an uncertain truth.

    The truth misses as well: the difference of both has the larger spread, √(1 + r²) times the
    audit's where the truth's interval is r times as wide.

    Args:
        audited: columns low and high.
        truth: the same vectors, columns low and high.

    Example:
        >>> import pandas as pd
        >>> from helpers.sensitivity import audit_with_truth
        >>> wide = pd.DataFrame({"low": [-1.0], "high": [1.0]})
        >>> [round(audit_with_truth.expected_to_hold(wide, r * wide), 3) for r in (0, 1)]
        [0.95, 0.834]
    """
    ratio = (truth["high"] - truth["low"]) / (audited["high"] - audited["low"])
    reach = norm.ppf((1 + CONFIDENCE) / 2) / np.sqrt(1 + ratio**2)
    return float((2 * norm.cdf(reach) - 1).mean())


def repeated_audits(
    changes: pd.DataFrame, n: int, repeats: int, seed: int, n_truth: int | None = None
) -> pd.DataFrame:
    """Whether intervals of audits of `n` faces, drawn from these, hold the truth.

    All vectors of an audit have the same faces, so they are held or missed in company.

    Args:
        changes: (faces, vectors), of `KnownTruth.changes_by_hand`.
        n: faces of each audit.
        repeats: audits.
        seed: of the faces drawn.
        n_truth: faces on which the truth is estimated, drawn anew for each audit; the mean of all
            faces, which is the truth of the draws, if not given.

    Returns:
        A row per audit, a column per vector, bool.

    Example:
        >>> import pandas as pd
        >>> from helpers.sensitivity import audit_with_truth
        >>> faces = pd.DataFrame({"none": [0.0] * 20, "one in twenty": [1.0] + [0.0] * 19})
        >>> (audit_with_truth.repeated_audits(faces, 5, 200, seed=1).mean() > 0.9).tolist()
        [True, False]
    """
    values, rng = changes.to_numpy(), seeding.rng(seed, "flip audit/repeated")
    samples = values[rng.integers(len(values), size=(repeats, n))]
    error = samples.std(axis=1, ddof=1) / np.sqrt(n)
    truth = values.mean(axis=0)
    if n_truth is not None:
        truth = values[rng.integers(len(values), size=(repeats, n_truth))].mean(axis=1)
    reach = student.ppf((1 + CONFIDENCE) / 2, n - 1) * error
    return pd.DataFrame(np.abs(samples.mean(axis=1) - truth) <= reach, columns=changes.columns)
