"""Hyperplanes in latent space, one per attribute (transects 4.1.1, 5.2; sensitivity 4.2).

The *decision value* of a latent w is ⟨normal, w⟩ + intercept. Zero is the neutral face: a score of
0.5 for attributes fitted by ridge regression, the class boundary for those fitted by an SVM.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.svm import LinearSVC

# Decades from hardly to strongly regularised, for latents with coordinates of about unit variance;
# RidgeCV chooses by leave-one-out error.
ALPHAS = (0.1, 1.0, 10.0, 100.0, 1e3, 1e4)
# The papers give no C. With 600 and with 5,000 simulated latents in 512 dimensions this one was at
# least as accurate as scikit-learn's default of 1, which is slow and does not always converge.
C = 0.01


class Plane(NamedTuple):
    """One fitted hyperplane: normal (D,), intercept, and its cross-validated score."""

    normal: np.ndarray
    intercept: float
    score: float


@dataclass(frozen=True, eq=False)  # arrays have no single answer to ==
class Hyperplanes:
    """K hyperplanes in a latent space of D dimensions.

    Attributes:
        names: the attributes, K.
        normals: (K, D) float64, pointing to higher scores; not necessarily of unit length.
        intercepts: (K,) float64.
        scores: attribute → cross-validated R² (ridge) or balanced accuracy (SVM), where known.

    Raises:
        ValueError: shapes that do not fit, values that are not finite, or a name given twice.
    """

    names: tuple[str, ...]
    normals: np.ndarray
    intercepts: np.ndarray
    scores: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        count = len(self.names)
        if self.normals.ndim != 2 or self.normals.shape[0] != count:
            raise ValueError(f"normals: expected ({count}, D), got {self.normals.shape}")
        if self.intercepts.shape != (count,):
            raise ValueError(f"intercepts: expected ({count},), got {self.intercepts.shape}")
        if len(set(self.names)) != count:
            raise ValueError(f"names are not distinct: {', '.join(self.names)}")
        finite = np.isfinite(self.normals).all(axis=1) & np.isfinite(self.intercepts)
        if not finite.all():
            bad = [name for name, good in zip(self.names, finite, strict=True) if not good]
            raise ValueError(f"hyperplanes of {', '.join(bad)} are not finite")

    def decision_values(self, w: ArrayLike) -> np.ndarray:
        """⟨normal, w⟩ + intercept of latents (n, D), as (n, K) float64."""
        return np.asarray(w, dtype=np.float64) @ self.normals.T + self.intercepts

    def unit(self) -> Hyperplanes:
        """The same hyperplanes with unit normals: decision values become signed distances in W."""
        lengths = np.linalg.norm(self.normals, axis=1)
        return Hyperplanes(
            self.names, self.normals / lengths[:, None], self.intercepts / lengths, self.scores
        )

    def select(self, names: Sequence[str]) -> Hyperplanes:
        """The hyperplanes of some attributes, in the order asked for.

        Raises:
            ValueError: an attribute that has none.
        """
        if missing := [name for name in names if name not in self.names]:
            raise ValueError(f"no hyperplane of {', '.join(missing)} among {', '.join(self.names)}")
        rows = [self.names.index(name) for name in names]
        scores = {name: self.scores[name] for name in names if name in self.scores}
        return Hyperplanes(tuple(names), self.normals[rows], self.intercepts[rows], scores)

    def join(self, other: Hyperplanes) -> Hyperplanes:
        """These hyperplanes and then the others; ValueError for a name that is in both."""
        return Hyperplanes(
            self.names + other.names,
            np.concatenate([self.normals, other.normals]),
            np.concatenate([self.intercepts, other.intercepts]),
            self.scores | other.scores,
        )

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Plain arrays `names`, `normals`, `intercepts`, `scores` (NaN where unknown)."""
        return {
            "names": np.array(self.names),
            "normals": self.normals,
            "intercepts": self.intercepts,
            "scores": np.array([self.scores.get(name, np.nan) for name in self.names]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Hyperplanes:
        """The reverse of `to_arrays`.

        Raises:
            ValueError: an array is missing, or they do not fit together.
        """
        if missing := [key for key in ("names", "normals", "intercepts") if key not in arrays]:
            raise ValueError(f"hyperplanes without {', '.join(missing)}; there is {list(arrays)}")
        names = tuple(str(name) for name in arrays["names"])
        known = arrays.get("scores", np.full(len(names), np.nan))
        scores = {n: float(s) for n, s in zip(names, known, strict=True) if not np.isnan(s)}
        return cls(
            names,
            np.asarray(arrays["normals"], dtype=np.float64),
            np.asarray(arrays["intercepts"], dtype=np.float64),
            scores,
        )

    def save(self, path: str | Path) -> None:
        """Write an `.npz` of `to_arrays`."""
        with Path(path).open("wb") as stream:  # numpy would append .npz to other names
            np.savez(stream, **self.to_arrays())

    @classmethod
    def load(cls, path: str | Path) -> Hyperplanes:
        """Read what `save` wrote.

        Raises:
            ValueError: not such a file; the message names it.
        """
        try:
            # Opened here because numpy leaves a damaged file open.
            with Path(path).open("rb") as stream, np.load(stream) as arrays:
                return cls.from_arrays(dict(arrays))
        except FileNotFoundError:
            raise
        except Exception as error:  # numpy and zipfile raise half a dozen kinds for a damaged file
            raise ValueError(f"{path} holds no hyperplanes: {error}") from error


def fit_ridge(
    w: ArrayLike, score: ArrayLike, folds: int = 5, alphas: Sequence[float] = ALPHAS
) -> Plane:
    """Hyperplane of a continuous attribute: ridge regression of its score on the latent.

    Transects 4.1.1. The intercept is shifted by −0.5, so that zero is the middle of the scale.

    Args:
        w: latents (n, D).
        score: mean normalised annotations in [0, 1], (n,).
        folds: of the cross-validation, which repeats the choice of alpha in every fold.
        alphas: penalties to choose from.

    Returns:
        Plane whose score is the mean cross-validated R².

    Raises:
        ValueError: rows that do not match, or scores that are not numbers.
    """
    w, score, _ = _checked(w, score)
    model = RidgeCV(alphas=alphas).fit(w, score)
    splits = KFold(folds, shuffle=True, random_state=0)
    r2 = cross_val_score(RidgeCV(alphas=alphas), w, score, cv=splits, scoring="r2")
    return Plane(model.coef_, float(model.intercept_) - 0.5, float(r2.mean()))


def fit_svm(
    w: ArrayLike, score: ArrayLike, threshold: float, folds: int = 5, c: float = C
) -> Plane:
    """Hyperplane of a binary attribute: linear SVM between scores above and up to a threshold.

    Transects 4.1.1, 5.2 ("binarizing the ranges"). Classes are weighted to count the same; together
    with the regularisation this draws the boundary from the threshold towards the middle.

    Args:
        w: latents (n, D).
        score: mean normalised annotations in [0, 1], (n,).
        threshold: scores above it are positive.
        folds: of the stratified cross-validation.
        c: penalty of errors, scikit-learn's C.

    Returns:
        Plane whose score is the mean cross-validated balanced accuracy.

    Raises:
        ValueError: rows that do not match, scores that are not numbers, or fewer than `folds`
            scores on one side of the threshold; the message names the attribute and the counts.
    """
    w, score, name = _checked(w, score)
    positive = score > threshold
    above, below = int(positive.sum()), int((~positive).sum())
    if min(above, below) < folds:
        raise ValueError(
            f"{name}: {above} of {len(score)} scores are above {threshold} and {below} are not; "
            f"{folds}-fold cross-validation needs at least {folds} of each"
        )
    model = LinearSVC(C=c, dual=False, class_weight="balanced")
    splits = StratifiedKFold(folds, shuffle=True, random_state=0)
    accuracy = cross_val_score(model, w, positive, cv=splits, scoring="balanced_accuracy")
    model.fit(w, positive)
    return Plane(model.coef_[0], float(model.intercept_[0]), float(accuracy.mean()))


def fit_hyperplanes(
    w: ArrayLike, scores: pd.DataFrame, continuous: Sequence[str], binary: Mapping[str, float]
) -> Hyperplanes:
    """Hyperplanes of several attributes: first the continuous ones, then the binary ones.

    Args:
        w: latents (n, D).
        scores: mean normalised annotations, one row per latent, one column per attribute.
        continuous: attributes to fit by `fit_ridge`.
        binary: attribute → threshold, to fit by `fit_svm`.

    Raises:
        ValueError: an attribute without a column, or as in `fit_ridge` and `fit_svm`.
    """
    if missing := [name for name in (*continuous, *binary) if name not in scores]:
        raise ValueError(f"no scores of {', '.join(missing)}; there are {', '.join(scores)}")
    planes = {name: fit_ridge(w, scores[name]) for name in continuous}
    planes |= {name: fit_svm(w, scores[name], threshold) for name, threshold in binary.items()}
    return Hyperplanes(
        names=tuple(planes),
        normals=np.stack([plane.normal for plane in planes.values()]),
        intercepts=np.array([plane.intercept for plane in planes.values()]),
        scores={name: plane.score for name, plane in planes.items()},
    )


def cosines(planes: Hyperplanes) -> pd.DataFrame:
    """Cosines between all pairs of normals, (K, K); 0 for attributes that are not entangled."""
    normals = planes.unit().normals
    return pd.DataFrame(normals @ normals.T, planes.names, planes.names).clip(-1, 1)


def angles(planes: Hyperplanes) -> pd.DataFrame:
    """Angles between all pairs of normals in degrees, (K, K)."""
    return np.degrees(np.arccos(cosines(planes)))


def _checked(w: ArrayLike, score: ArrayLike) -> tuple[np.ndarray, np.ndarray, str]:
    """Latents, scores and what to call the scores in a message."""
    name = str(getattr(score, "name", None) or "scores")
    w, score = np.asarray(w, dtype=np.float64), np.asarray(score, dtype=np.float64)
    if w.ndim != 2 or score.shape != w.shape[:1]:
        raise ValueError(f"{name}: {score.shape} scores for latents of shape {w.shape}")
    if not np.isfinite(score).all():
        rows = np.flatnonzero(~np.isfinite(score))
        raise ValueError(f"{name}: {len(rows)} scores are not numbers, the first in row {rows[0]}")
    if not np.isfinite(w).all():
        raise ValueError(
            f"latents: row {np.flatnonzero(~np.isfinite(w).all(axis=1))[0]} not finite"
        )
    return w, score, name
