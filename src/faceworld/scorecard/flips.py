"""The audit of sensitivity flips where the truth is known: codes and steps against do().

A vector moves the latent code, and with it every attribute that is entangled with its own. The
truth is the effect of its own attribute alone: the same change of that one parameter, by do().
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from scipy.stats import norm
from scipy.stats import t as student
from torch import Tensor

from faceaudit.sensitivity.measures import CONFIDENCE, mean_changes
from faceaudit.utils import seeding
from facerender.parameters import INDEX
from faceworld.interventions import do
from faceworld.known_truth import AGE_GATES, LATENTS, KnownTruthGenerator, age_gate

# --- one vector


def take_step(w: Tensor, step: np.ndarray) -> Tensor:
    """Codes (n, 512) after a step (512,)."""
    return w + torch.as_tensor(step, dtype=w.dtype, device=w.device)


def do_step(generator: KnownTruthGenerator, w: Tensor, step: np.ndarray, name: str) -> Tensor:
    """Parameters (n, P) of faces in which only the attribute of a step changes.

    With age changes what it gates, facial hair and makeup, as it does along an exact direction:
    the effect of age is the total one.
    """
    start = generator.parameters(w)
    dose = generator.parameters(take_step(w, step))[:, INDEX[name]]
    changed = do(start, **{name: dose})
    for gated in AGE_GATES if name == "age" else ():
        before = age_gate(gated, start[:, INDEX[name]].cpu().numpy())
        after = age_gate(gated, dose.cpu().numpy())
        changed[:, INDEX[gated]] *= torch.from_numpy(after / before).to(changed.device)
    return changed


def leakage(
    generator: KnownTruthGenerator, steps: np.ndarray, names: Sequence[str] = LATENTS
) -> pd.DataFrame:
    """Change of every latent coordinate, in SD, under each step (K, 512): (K, len(names))."""
    origin = np.zeros((1, generator.latent_dim))
    ends = torch.from_numpy(np.concatenate([origin, steps]))
    coordinates = generator.coordinates(ends, names)
    return pd.DataFrame(coordinates[1:] - coordinates[0], columns=list(names))


# --- an audit


@dataclass(frozen=True)
class KnownTruth:
    """An audit of the known-truth generator, and the truth to hold against it.

    Changes of the score are those of sensitivity, eq 3, before the mean.

    Attributes:
        generator: the world.
        parameters: vector → the parameter that it is about, and the sign of its change.
        audit_codes: codes (n, 512) of the audit.
        truth_codes: other codes, on which the truth is computed.
        score: renders faces (n, P) into a file of a name and asks the classifier, (n,).
    """

    generator: KnownTruthGenerator
    parameters: Mapping[str, tuple[str, int]]
    audit_codes: Tensor
    truth_codes: Tensor
    score: Callable[[Tensor, str], np.ndarray]

    def exact_steps(self) -> dict[str, np.ndarray]:
        """Steps (512,) that move one attribute's coordinate by one SD and no other at all."""
        steps = {}
        for name, (parameter, sign) in self.parameters.items():
            (direction,) = self.generator.exact_directions([parameter])
            steps[name] = sign * direction
        return steps

    def changes_by_hand(self) -> pd.DataFrame:
        """Change of every face's score when one attribute alone is set, by do(): (n, vectors)."""
        changed = {
            name: do_step(self.generator, self.truth_codes, step, self.parameters[name][0])
            for name, step in self.exact_steps().items()
        }
        return self._changes(self.truth_codes, changed, "by_hand")

    def changes(self, steps: Mapping[str, np.ndarray], name: str) -> pd.DataFrame:
        """Change of every audited code's score along each step: (n, vectors).

        Args:
            steps: vector → (512,).
            name: of the images' file.
        """
        changed = {
            vector: self.generator.parameters(take_step(self.audit_codes, step))
            for vector, step in steps.items()
        }
        return self._changes(self.audit_codes, changed, name)

    def predicted_error(self, steps: Mapping[str, np.ndarray], truth: pd.DataFrame) -> pd.DataFrame:
        """Error that leakage adds to each estimate, if effects are proportional and add up.

        Every other attribute's change along a step, in SD, times the score's true change per SD.

        Args:
            steps: vector → (512,).
            truth: `mean_changes` of `changes_by_hand`.

        Returns:
            A row per vector, a column per attribute; a vector's own attribute is 0.
        """
        effect_per_sd = pd.Series(
            {
                parameter: sign * truth.loc[name, "estimate"]
                for name, (parameter, sign) in self.parameters.items()
            }
        )
        moves = leakage(self.generator, np.stack(list(steps.values())), effect_per_sd.index)
        errors = moves.set_axis(list(steps)) * effect_per_sd
        for name in steps:
            own_attribute, _ = self.parameters[name]
            errors.loc[name, own_attribute] = 0.0
        return errors

    def _changes(self, codes: Tensor, changed: Mapping[str, Tensor], name: str) -> pd.DataFrame:
        """Change of the score from faces of codes to the changed faces: (n, vectors)."""
        faces = torch.stack([self.generator.parameters(codes), *changed.values()])
        before, *after = self.score(faces.flatten(0, 1), name).reshape(len(faces), -1)
        return pd.DataFrame(np.stack(after, 1) - before[:, None], columns=list(changed))


# --- compared with the truth


def compare_sensitivities(changes: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Score sensitivities, the truth, the error, and whether the interval contains the truth.

    Args:
        changes: (n, vectors), of `KnownTruth.changes`.
        truth: `mean_changes` of `KnownTruth.changes_by_hand`.

    Returns:
        A row per vector; columns estimate, low, high, truth, error, holds.
    """
    table = mean_changes(changes)
    table["truth"] = truth["estimate"]
    table["error"] = table["estimate"] - table["truth"]
    return table.assign(holds=table["truth"].between(table["low"], table["high"]))


def expected_to_hold(audited: pd.DataFrame, truth: pd.DataFrame) -> float:
    """Share of 95% intervals of the audit that can be expected to contain an uncertain truth.

    The truth has an error as well: the spread of the difference is √(1 + r²) times the audit's
    where the truth's interval is r times as wide.

    Args:
        audited: columns low and high.
        truth: the same vectors, columns low and high.
    """
    ratio = (truth["high"] - truth["low"]) / (audited["high"] - audited["low"])
    reach = norm.ppf((1 + CONFIDENCE) / 2) / np.sqrt(1 + ratio**2)
    return float((2 * norm.cdf(reach) - 1).mean())


def repeated_audits(
    changes: pd.DataFrame, n: int, repeats: int, seed: int, n_truth: int | None = None
) -> pd.DataFrame:
    """Whether intervals of audits of `n` faces, drawn from these, contain the truth.

    All vectors of an audit have the same faces, so hits and misses of one audit go together.

    Args:
        changes: (faces, vectors), of `KnownTruth.changes_by_hand`.
        n: faces of each audit.
        repeats: audits.
        seed: of the faces drawn.
        n_truth: faces on which the truth is estimated, drawn anew for each audit; the mean of all
            faces, which is the truth of the draws, if not given.

    Returns:
        A row per audit, a column per vector, bool.
    """
    values = changes.to_numpy()
    rng = seeding.rng(seed, "flip audit/repeated")
    samples = values[rng.integers(len(values), size=(repeats, n))]
    error = samples.std(axis=1, ddof=1) / np.sqrt(n)
    truth = values.mean(axis=0)
    if n_truth is not None:
        truth = values[rng.integers(len(values), size=(repeats, n_truth))].mean(axis=1)
    reach = student.ppf((1 + CONFIDENCE) / 2, n - 1) * error
    return pd.DataFrame(np.abs(samples.mean(axis=1) - truth) <= reach, columns=changes.columns)
