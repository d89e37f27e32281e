"""Hyperplanes in latent space, one per attribute, fitted in chapter 03.

Sources: transects 4.1.1 and 5.2; sensitivity 4.2.

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
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.svm import LinearSVC

from faceaudit.utils.arguments import as_finite, require_members, require_shape
from faceaudit.utils.errors import InputError

RIDGE_ALPHAS = (0.1, 1.0, 10.0, 100.0, 1e3, 1e4)
"""Strengths of the ridge penalty, of which RidgeCV chooses by leave-one-out error.

They are decades from hardly to strongly regularised, for latents with coordinates of about unit
variance.
"""
SVM_C = 0.01
"""C of linear SVMs, the inverse of their penalty.

The papers give no C. With 600 and with 5,000 simulated latents in 512 dimensions this one was at
least as accurate as scikit-learn's default of 1, which is slow and does not always converge.
"""
LOGIT_PENALTY = 20.0
"""Weight of half the squared length of a normal in `fit_fractional`."""
_MOST_ITERATIONS = 500
_TOLERANCE = 1e-9
"""Largest change of a coefficient at which the iterations of `fit_fractional` end."""
SHARE_OUTSIDE = 0.001
"""Share of sampled codes that may lie outside of the sampled range, half of it on either side."""


def out_of_range(
    codes: np.ndarray, sampled: np.ndarray, planes: Hyperplanes | None = None
) -> pd.DataFrame:
    """Find codes that lie where the generator hardly ever samples.

    A generator makes an image of every code that a walk leads to. Of codes outside of the sampled
    range it is not known whether the images are faces of the generator's population. Of
    `SHARE_OUTSIDE` of the sampled codes, half lie on either side; of distances only the far side
    counts.

    Args:
        codes: of the experiment, (n, …); all but the first axis are taken together.
        sampled: codes that the generator sampled (truncated as in the experiment), (m, …).
        planes: hyperplanes whose decision values are compared, besides the distance from the mean
            of the sampled codes.

    Returns:
        One row a code: `distance` from the mean, per hyperplane the decision value under its
        attribute's name, and `outside`: the names of those that are out of range, with commas.

    Raises:
        InputError: codes of another shape, empty or not finite; fewer sampled codes than
            1 / `SHARE_OUTSIDE`.

    Example:
        >>> import numpy as np
        >>> from faceaudit.latents import directions
        >>> sampled = np.random.default_rng(0).standard_normal((2000, 3))
        >>> codes = np.array([[0.1, 0, 0], [0, 9, 0]])
        >>> directions.out_of_range(codes, sampled)["outside"].tolist()
        ['', 'distance']
    """
    codes = as_finite(np.reshape(codes, (len(codes), -1)), "codes", ndim=2)
    sampled = as_finite(np.reshape(sampled, (len(sampled), -1)), "codes", ndim=2)
    if len(sampled) * SHARE_OUTSIDE < 1:
        expected = f"{1 / SHARE_OUTSIDE:g} or more"
        raise InputError(
            f"{len(sampled)} sampled codes, {expected} are needed",
            field="sampled",
            found=len(sampled),
            expected=expected,
        )
    mean = sampled.mean(0)
    usual = _measures(sampled, mean, planes)
    low = usual.quantile(SHARE_OUTSIDE / 2)
    high = usual.quantile(1 - SHARE_OUTSIDE / 2)
    low["distance"] = -np.inf
    high["distance"] = usual["distance"].quantile(1 - SHARE_OUTSIDE)
    measures = _measures(codes, mean, planes)
    outside = (measures < low) | (measures > high)
    names = [", ".join(outside.columns[row]) for row in outside.to_numpy()]
    return measures.assign(outside=names)


def _measures(codes: np.ndarray, mean: np.ndarray, planes: Hyperplanes | None) -> pd.DataFrame:
    """Distance of codes (n, D) from a mean (D,), and their decision values, a column each."""
    measures = pd.DataFrame({"distance": np.linalg.norm(codes - mean, axis=1)})
    if planes is not None:
        measures[list(planes.names)] = planes.decision_values(codes)
    return measures


class Plane(NamedTuple):
    """One fitted hyperplane with its cross-validated score.

    Attributes:
        normal: float64 (D,).
        intercept: so that the decision value is code · normal + intercept.
        score: cross-validated, see the fitting function.

    Example:
        >>> Plane(np.array([1.0, 0.0]), -0.5, 0.9).score
        0.9
    """

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
        InputError: shapes that do not fit, or values that are not finite.

    Example:
        >>> planes = Hyperplanes(("age", "gender"), np.eye(2), np.array([0.0, -1.0]))
        >>> planes.decision_values([[0.5, 2.0]]).tolist()
        [[0.5, 1.0]]
    """

    names: tuple[str, ...]
    normals: np.ndarray
    intercepts: np.ndarray
    scores: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        count = len(set(self.names))
        require_shape(as_finite(self.normals, "normals", ndim=2), "normals", (count, -1))
        require_shape(as_finite(self.intercepts, "intercepts"), "intercepts", (count,))

    def decision_values(self, w: ArrayLike) -> np.ndarray:
        """⟨normal, w⟩ + intercept of latents (n, D), as (n, K) float64."""
        return np.asarray(w, dtype=np.float64) @ self.normals.T + self.intercepts

    def unit(self) -> Hyperplanes:
        """The same hyperplanes with unit normals: decision values become signed distances in W."""
        lengths = np.linalg.norm(self.normals, axis=1)
        unit = self.normals / lengths[:, None]
        return Hyperplanes(self.names, unit, self.intercepts / lengths, self.scores)

    def select(self, names: Sequence[str]) -> Hyperplanes:
        """The hyperplanes of some attributes, in the order asked for.

        Raises:
            InputError: an attribute that has none.
        """
        require_members(names, self.names, "hyperplane")
        rows = [self.names.index(name) for name in names]
        scores = {name: self.scores[name] for name in names if name in self.scores}
        return Hyperplanes(tuple(names), self.normals[rows], self.intercepts[rows], scores)

    def join(self, other: Hyperplanes) -> Hyperplanes:
        """These hyperplanes and then the others."""
        return Hyperplanes(
            self.names + other.names,
            np.concatenate([self.normals, other.normals]),
            np.concatenate([self.intercepts, other.intercepts]),
            self.scores | other.scores,
        )

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Hyperplanes:
        """Hyperplanes of the arrays that `save` wrote: names, normals, intercepts, scores.

        Raises:
            InputError: the arrays do not fit together.
        """
        names = tuple(map(str, arrays["names"]))
        scores = pd.Series(arrays["scores"], names).dropna().to_dict()
        normals = np.asarray(arrays["normals"], np.float64)
        intercepts = np.asarray(arrays["intercepts"], np.float64)
        return cls(names, normals, intercepts, scores)

    def save(self, path: str | Path) -> None:
        """Write an `.npz` of plain arrays, scores NaN where unknown; `from_arrays` reads them."""
        scores = [self.scores.get(name, np.nan) for name in self.names]
        np.savez(
            path,
            names=np.array(self.names),
            normals=self.normals,
            intercepts=self.intercepts,
            scores=np.array(scores),
        )


def fit_ridge(w: ArrayLike, score: ArrayLike, folds: int = 5) -> Plane:
    """Hyperplane of a continuous attribute: ridge regression of its score on the latent.

    Transects 4.1.1. The intercept is shifted by −0.5, so that zero is the middle of the scale.

    Args:
        w: latents (n, D).
        score: mean normalised annotations in [0, 1], (n,).
        folds: of the cross-validation, which repeats the choice of alpha in every fold.

    Returns:
        Plane whose score is the mean cross-validated R².

    Raises:
        InputError: rows that do not match, or scores that are not numbers.

    Example:
        >>> w = np.random.default_rng(0).standard_normal((200, 3))
        >>> plane = fit_ridge(w, 0.5 + 0.1 * w[:, 0])
        >>> round(float(plane.normal[0]), 2), round(plane.score, 2)
        (0.1, 1.0)
    """
    w, score, _ = _check_scores(w, score)
    return _ridges(w, score[:, None], folds)[0]


def _ridges(w: np.ndarray, scores: np.ndarray, folds: int = 5) -> list[Plane]:
    """One plane for each column of scores (n, K): they share the decomposition of the latents."""
    model = RidgeCV(alphas=RIDGE_ALPHAS, alpha_per_target=True)
    r2 = []
    for seen, unseen in KFold(folds, shuffle=True, random_state=0).split(w):
        predicted = model.fit(w[seen], scores[seen]).predict(w[unseen])
        r2.append(r2_score(scores[unseen], predicted, multioutput="raw_values"))
    model.fit(w, scores)
    normals = np.atleast_2d(model.coef_)
    intercepts = np.atleast_1d(model.intercept_)
    rows = zip(normals, intercepts, np.mean(r2, axis=0), strict=True)
    return [
        Plane(normal, float(intercept) - 0.5, float(score)) for normal, intercept, score in rows
    ]


def fit_svm(w: ArrayLike, score: ArrayLike, threshold: float, folds: int = 5) -> Plane:
    """Hyperplane of a binary attribute: linear SVM between scores above and up to a threshold.

    Transects 4.1.1, 5.2 ("binarizing the ranges"). Classes are weighted to count the same; together
    with the regularisation this draws the boundary from the threshold towards the middle.

    Args:
        w: latents (n, D).
        score: mean normalised annotations in [0, 1], (n,).
        threshold: scores above it are positive.
        folds: of the stratified cross-validation.

    Returns:
        Plane whose score is the mean cross-validated balanced accuracy.

    Raises:
        InputError: rows that do not match, scores that are not numbers, or fewer than `folds`
            scores on one side of the threshold; the message names the attribute and the counts.

    Example:
        >>> w = np.random.default_rng(0).standard_normal((200, 3))
        >>> plane = fit_svm(w, 0.5 + 0.1 * w[:, 0], threshold=0.5)
        >>> bool(plane.score > 0.9)
        True
    """
    w, score, name = _check_scores(w, score)
    positive = score > threshold
    above = int(positive.sum())
    below = len(score) - above
    if min(above, below) < folds:
        counts = f"{above} of {len(score)} scores are above {threshold} and {below} are not"
        raise InputError(
            f"{name}: {counts}; at least {folds} of each are needed",
            field=name,
            found=counts,
            expected=f"at least {folds} of each",
        )
    model = LinearSVC(C=SVM_C, dual=False, class_weight="balanced")
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

    Returns:
        Hyperplanes of all of them, with their cross-validated scores.

    Raises:
        InputError: an attribute without a column, or as in `fit_ridge` and `fit_svm`.

    Example:
        >>> w = np.random.default_rng(0).standard_normal((200, 3))
        >>> scores = pd.DataFrame({"age": 0.5 + 0.1 * w[:, 0], "makeup": 0.5 + 0.1 * w[:, 1]})
        >>> fit_hyperplanes(w, scores, ["age"], {"makeup": 0.5}).names
        ('age', 'makeup')
    """
    require_members([*continuous, *binary], scores.columns, "score")
    planes = {}
    if continuous:
        columns = []
        for name in continuous:
            latents, column, _ = _check_scores(w, scores[name])
            columns.append(column)
        ridges = _ridges(latents, np.stack(columns, axis=1))
        planes = dict(zip(continuous, ridges, strict=True))
    for name, threshold in binary.items():
        planes[name] = fit_svm(w, scores[name], threshold)
    return Hyperplanes(
        names=tuple(planes),
        normals=np.stack([plane.normal for plane in planes.values()]),
        intercepts=np.array([plane.intercept for plane in planes.values()]),
        scores={name: plane.score for name, plane in planes.items()},
    )


def fit_fractional(w: ArrayLike, scores: pd.DataFrame) -> Hyperplanes:
    """Hyperplanes whose decision value is the logit of the mean score: fractional logit.

    Maximises Σ y log σ(d) + (1 − y) log(1 − σ(d)) − `LOGIT_PENALTY` ‖n‖²/2 for scores y in [0, 1]
    (Papke and Wooldridge 1996), d the decision value. Fitted scores follow a scale to both of its
    ends, and a step of one is one logit for every attribute. A fitted normal is too long for faces
    outside of its sample. Half of the sample measures by how much: the slope g of a logit on the
    decision values of a fit to the other half. The whole sample's normal is scaled by
    (1 + (1/g² − 1)/2)^−½.

    Args:
        w: latents (n, D).
        scores: mean normalised annotations in [0, 1], one row per latent, one column per attribute.

    Returns:
        Hyperplanes of all columns; their scores are R² on the unseen half.

    Raises:
        InputError: rows that do not match, or scores that are not numbers.

    Example:
        >>> w = np.random.default_rng(0).standard_normal((400, 3))
        >>> planes = fit_fractional(w, pd.DataFrame({"age": 1 / (1 + np.exp(-w[:, 0]))}))
        >>> planes.decision_values([[0.0, 0, 0], [1, 0, 0]]).round(1).tolist()
        [[-0.0], [0.7]]
    """
    w = as_finite(w, "latents", ndim=2)
    y = as_finite(scores, "scores", ndim=2)
    require_shape(y, "scores", (len(w), -1))
    seen = np.arange(len(w)) % 2 == 0
    of_half = _fractional_logit(w[seen], y[seen], LOGIT_PENALTY)
    unseen_y = y[~seen]
    unseen_values = w[~seen] @ of_half[:-1] + of_half[-1]
    recalibrated = [
        _fractional_logit(values[:, None], column[:, None], 0.0)
        for values, column in zip(unseen_values.T, unseen_y.T, strict=True)
    ]
    slope, intercept = np.hstack(recalibrated)
    scale = (1 + np.maximum(slope**-2 - 1, 0) / 2) ** -0.5
    planes = scale * _fractional_logit(w, y, LOGIT_PENALTY)
    predicted = expit(slope * unseen_values + intercept)
    r2 = r2_score(unseen_y, predicted, multioutput="raw_values")
    names = tuple(scores)
    return Hyperplanes(names, planes[:-1].T, planes[-1], dict(zip(names, r2, strict=True)))


def _fractional_logit(w: np.ndarray, y: np.ndarray, penalty: float) -> np.ndarray:
    """Slopes and, in the last row, intercepts of all columns of y, (D + 1, K).

    Every step uses the largest curvature that a logit can have (Böhning and Lindsay 1988). It is
    the same for all columns and steps, so that it is factorised once.
    """
    x = np.c_[w, np.ones(len(w))]
    ridge = np.r_[np.full(w.shape[1], penalty), 0.0][:, None]
    curvature = cho_factor(x.T @ x / 4 + np.diag(ridge[:, 0]))
    coefficients = np.zeros((x.shape[1], y.shape[1]))
    for _ in range(_MOST_ITERATIONS):
        step = cho_solve(curvature, x.T @ (y - expit(x @ coefficients)) - ridge * coefficients)
        coefficients += step
        if np.abs(step).max() < _TOLERANCE:
            break
    return coefficients


def cosines(planes: Hyperplanes) -> pd.DataFrame:
    """Cosines between all pairs of normals; 0 for attributes that are not entangled.

    Args:
        planes: K hyperplanes.

    Returns:
        (K, K), rows and columns named by attribute.

    Example:
        >>> planes = Hyperplanes(("age", "makeup"), np.array([[2.0, 0], [3, 3]]), np.zeros(2))
        >>> round(float(cosines(planes).loc["age", "makeup"]), 4)
        0.7071
    """
    normals = planes.unit().normals
    return pd.DataFrame(normals @ normals.T, planes.names, planes.names).clip(-1, 1)


def _check_scores(w: ArrayLike, score: ArrayLike) -> tuple[np.ndarray, np.ndarray, str]:
    """Latents (n, D) and scores (n,) as float64, and the name of the scores for messages."""
    name = str(getattr(score, "name", None) or "scores")
    w = as_finite(w, "latents", ndim=2)
    score = as_finite(score, name)
    require_shape(score, name, w.shape[:1])
    return w, score, name
