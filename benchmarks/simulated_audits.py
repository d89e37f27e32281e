"""Audits drawn from a population in which every effect is known, to test intervals on.

A transect is eight images: all combinations of three manipulated attributes on one face, which has
two attributes of its own. The probability of an error follows a logit with main effects,
P(error | x) = expit(a + b·x), so log odds ratios and risk differences are both known. Images of
one transect share a standard normal effect u: an image errs where √r·u + √(1 - r)·e lies below
Φ⁻¹(P(error | x)), a Gaussian copula (Emrich & Piedmonte, The American Statistician 45 (1991)
302-304). It leaves P(error | x) as it is, and r alone sets the correlation of the errors.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr, ndtri
from scipy.stats import norm

from faceaudit.utils import seeding

MANIPULATED = ("skin_level", "hair_level", "gender_level")
SEED_LEVEL = {"smiling": 0.5, "senior": 0.25}
"""Share of faces with each attribute that a transect leaves as it is."""
ATTRIBUTES = (*MANIPULATED, *SEED_LEVEL)
IMAGES = 2 ** len(MANIPULATED)
KEPT = 2 / 3
"""Pruning keeps an image with this probability, whatever it shows."""
PATTERNS = np.array(list(product((0, 1), repeat=len(ATTRIBUTES))))
"""All combinations of levels (32, 5), columns as in `ATTRIBUTES`; faces vary fastest."""
STRATA = PATTERNS[:: 2 ** len(SEED_LEVEL), : len(MANIPULATED)]
"""All combinations of manipulated levels (8, 3)."""
LONG_HAIR = np.array([[0.8, 0.1], [0.1, 0.05]])
"""Share of long hair by skin and gender (2, 2) in another population, much as in a PPB-like set."""

# The trapezoidal rule converges faster than any power for functions that vanish like a normal
# density; 1,601 nodes leave errors of the order of rounding.
_NODES = np.linspace(-8, 8, 1601)
_WEIGHTS = norm.pdf(_NODES) * (_NODES[1] - _NODES[0])


@dataclass(frozen=True)
class Population:
    """Faces and errors: log odds `intercept + Σ log_odds[a]·level`, and the intraclass correlation.

    `correlation` is the mean covariance of the errors of two images of one transect, given their
    levels, over the mean variance of an error.
    """

    intercept: float
    log_odds: Mapping[str, float]
    correlation: float

    @cached_property
    def thresholds(self) -> np.ndarray:
        """Below which an image's latent value means an error, one per row of `PATTERNS`."""
        coefficients = [self.log_odds[name] for name in ATTRIBUTES]
        return ndtri(expit(self.intercept + PATTERNS @ coefficients))

    @cached_property
    def latent(self) -> float:
        """Correlation r of two latent values in a transect that gives the errors' correlation."""
        return brentq(lambda r: self.error_correlation(r) - self.correlation, 0, 0.999)

    def error_correlation(self, latent: float) -> float:
        """Intraclass correlation of the errors at a latent correlation."""
        risks = self.risks_given_transect(latent).reshape(len(_NODES), IMAGES, -1)
        means = np.tensordot(_WEIGHTS, risks, 1)
        # Sums over ordered pairs of different images, by face: all pairs less equal ones.
        joint = _WEIGHTS @ (risks.sum(axis=1) ** 2 - (risks**2).sum(axis=1))
        apart = means.sum(axis=0) ** 2 - (means**2).sum(axis=0)
        variance = (means * (1 - means)).sum(axis=0)
        faces = _shares()[: 2 ** len(SEED_LEVEL)]
        return float(faces @ (joint - apart) / (IMAGES - 1) / (faces @ variance))

    def risks_given_transect(self, latent: float) -> np.ndarray:
        """P(error | pattern, u) at every node of the transect effect u, (nodes, 32)."""
        shifted = self.thresholds - np.sqrt(latent) * _NODES[:, None]
        return ndtr(shifted / np.sqrt(1 - latent))

    def true_effects(self) -> pd.DataFrame:
        """Risk difference and log odds ratio per attribute, integrated over the transect effect.

        The first is the mean over the population of faces and levels, as g-computation estimates
        it; the second is the same for all of them.
        """
        risks = _WEIGHTS @ self.risks_given_transect(self.latent)
        rows = {}
        for column, name in enumerate(ATTRIBUTES):
            high, low = (PATTERNS[:, column] == level for level in (1, 0))
            weights = _shares()[high] / _shares()[high].sum()
            difference, ratio = risks[high] - risks[low], logit(risks[high]) - logit(risks[low])
            rows[name] = {"risk difference": weights @ difference, "log odds": weights @ ratio}
        return pd.DataFrame(rows).T.rename_axis("attribute")

    def rates(self) -> np.ndarray:
        """Error rates by the levels of `MANIPULATED` (2, 2, 2), over all faces."""
        faces = _shares()[: 2 ** len(SEED_LEVEL)]
        return (ndtr(self.thresholds).reshape(IMAGES, -1) @ faces).reshape(2, 2, 2)

    def true_transport(self) -> pd.DataFrame:
        """Error rate of the population of `carried_mixes`, and the women's, dark minus light skin.

        A row per attribute (the rate is of all strata), a column per scale.
        """
        everyone, dark, light = carried_mixes() @ self.rates().ravel()
        table = {"strata": {"rate": everyone}, "skin_level": {"difference": dark - light}}
        return pd.DataFrame(table).T.add_prefix("transported ").rename_axis("attribute")

    def audit(self, transects: int, seed: int, repetition: int) -> pd.DataFrame:
        """One pruned audit: columns transect, `ATTRIBUTES` (0 or 1) and error (0 or 1).

        Audit k depends on the population, the size, the seed and k alone.
        """
        random = seeding.rng(seed, f"simulated audits/{self.correlation}", repetition)
        faces = random.random((transects, len(SEED_LEVEL))) < list(SEED_LEVEL.values())
        face = faces @ (2 ** np.arange(len(SEED_LEVEL))[::-1])
        pattern = 2 ** len(SEED_LEVEL) * np.arange(IMAGES) + face[:, None]
        shared = random.standard_normal((transects, 1))
        own = random.standard_normal((transects, IMAGES))
        value = np.sqrt(self.latent) * shared + np.sqrt(1 - self.latent) * own
        frame = pd.DataFrame(PATTERNS[pattern.ravel()], columns=list(ATTRIBUTES))
        frame.insert(0, "transect", np.repeat(np.arange(transects), IMAGES))
        frame["error"] = (value < self.thresholds[pattern]).ravel().astype(int)
        return frame[random.random(len(frame)) < KEPT].reset_index(drop=True)

    def audits(self, transects: int, seed: int, repetitions: Iterable[int]) -> pd.DataFrame:
        """Several of them below each other, with their numbers in the column audit."""
        parts = [self.audit(transects, seed, k).assign(audit=k) for k in repetitions]
        return pd.concat(parts, ignore_index=True)


def carried_mixes() -> np.ndarray:
    """Shares of `STRATA` (3, 8) among all people elsewhere, and dark- and light-skinned women."""
    skin, hair, gender = STRATA.T
    long = LONG_HAIR[skin, gender]
    within = np.where(hair == 1, long, 1 - long)
    women = [within * ((skin == level) & (gender == 0)) for level in (1, 0)]
    return np.array([within / 4, *women])


def _shares() -> np.ndarray:
    """Share of every row of `PATTERNS` among images; they sum to 1 over the faces of one image."""
    probability = np.array([0.5] * len(MANIPULATED) + list(SEED_LEVEL.values()))
    share = np.where(PATTERNS == 1, probability, 1 - probability).prod(axis=1)
    return share * IMAGES
