"""From seeds to prototypes: walking a seed to each of the six groups in latent space.

Liang et al. 2023, section 3.1: a linear SVM of perceived gender and one-vs-rest SVMs of the
ancestry groups, fitted to labelled samples; each seed is moved along their normals. Moves here are
orthogonal to each other and to whatever is held (the dual basis, see `orthogonalization`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike

from facerender.parameters import ANCESTRY_REFERENCES, visible_scores
from helpers.directions import Hyperplanes, fit_svm
from helpers.identities.groups import ANCESTRIES, GROUPS, split
from helpers.transects import project

PLANES: tuple[str, ...] = ("gender", *ANCESTRIES)


def group_planes(codes: ArrayLike, male: ArrayLike, ancestry: ArrayLike) -> Hyperplanes:
    """One SVM of perceived gender and three one-vs-rest SVMs, with unit normals.

    Liang et al. 2023, section 3.1.

    Args:
        codes: latents (n, D).
        male: (n,) scores in [0, 1], male above 0.5: a classifier's or a crowd's.
        ancestry: (n,) index in `ANCESTRIES`.

    Returns:
        The four hyperplanes; names "gender" and those of `ANCESTRIES`.

    Raises:
        ValueError: rows that do not match, or a label that hardly occurs.

    Example:
        >>> import numpy as np
        >>> from helpers import identities
        >>> codes = np.random.default_rng(0).normal(size=(90, 4))
        >>> planes = identities.group_planes(codes, codes[:, 0] > 0, codes[:, 1:].argmax(axis=1))
        >>> planes.names
        ('gender', 'african', 'east asian', 'european')
    """
    ancestry = np.asarray(ancestry)
    targets = {"gender": np.asarray(male, dtype=np.float64)}
    targets |= {name: (ancestry == k).astype(float) for k, name in enumerate(ANCESTRIES)}
    fitted = [fit_svm(codes, pd.Series(y, name=name), 0.5) for name, y in targets.items()]
    normals = np.stack([plane.normal for plane in fitted])
    intercepts = np.array([plane.intercept for plane in fitted])
    scores = dict(zip(PLANES, [plane.score for plane in fitted], strict=True))
    return Hyperplanes(PLANES, normals, intercepts, scores).unit()


def exact_planes(generator) -> Hyperplanes:
    """The planes as they truly lie in a known-truth generator, with unit normals.

    That of an ancestry group is perpendicular, in the ancestry plane, to the way from the average
    of all to its reference; the three normals lie in one plane and add up to zero.
    """
    normals, intercepts = generator.exact_hyperplanes(["gender", "ancestry_x", "ancestry_y"])
    references = np.array(list(ANCESTRY_REFERENCES.values()))
    return Hyperplanes(
        PLANES,
        np.concatenate([normals[:1], references @ normals[1:]]),
        np.concatenate([intercepts[:1], references @ intercepts[1:]]),
    ).unit()


def prototypes(
    codes: ArrayLike,
    planes: Hyperplanes,
    *,
    gender: float,
    ancestry: float,
    others: Mapping[str, float | None],
) -> tuple[np.ndarray, pd.DataFrame]:
    """Latents of the six prototypes of every seed.

    A prototype lies at decision value ±`gender` of gender and at `ancestry` of its own ancestry
    group, half-way between the other two groups. (Three one-vs-rest normals nearly lie in a plane,
    so all three values cannot be chosen; the difference of the other two is what remains.) It is
    the nearest such point to the seed, so whatever no plane speaks of stays as it was.

    Args:
        codes: latents (n, D) of the seeds.
        planes: `PLANES` and those of `others`; decision values are in their units.
        gender, ancestry: decision values, above 0.
        others: attribute → decision value that all prototypes get, or None to keep the seed's own.

    Returns:
        (6 n, D) float64, and a frame with the columns seed and group. The six prototypes of a seed
        are consecutive, in the order of `GROUPS`.

    Raises:
        ValueError: a missing plane, values that are not positive, or planes that depend on each
            other.

    Example:
        >>> import numpy as np
        >>> from helpers import identities
        >>> codes = np.random.default_rng(0).normal(size=(90, 4))
        >>> planes = identities.group_planes(codes, codes[:, 0] > 0, codes[:, 1:].argmax(axis=1))
        >>> six, index = identities.prototypes(codes[:1], planes, gender=1, ancestry=1, others={})
        >>> planes.select(["gender"]).decision_values(six).round(6).ravel().tolist()
        [-1.0, 1.0, -1.0, 1.0, -1.0, 1.0]
    """
    if not (gender > 0 and ancestry > 0):
        raise ValueError(f"gender and ancestry must be above 0; got {gender} and {ancestry}")
    codes = np.asarray(codes, dtype=np.float64)
    held = planes.select(list(others))
    kept = held.decision_values(codes)
    for column, value in enumerate(others.values()):
        if value is not None:
            kept[:, column] = value
    moved = np.empty((len(codes), len(GROUPS), codes.shape[1]))
    for k, (name, male) in enumerate(zip(*split(GROUPS), strict=True)):
        own, rest = planes.select(["gender", name]), _difference(planes, name)
        normals = np.concatenate([own.normals, rest.normals, held.normals])
        intercepts = np.concatenate([own.intercepts, rest.intercepts, held.intercepts])
        target = np.tile([gender if male else -gender, ancestry, 0.0], (len(codes), 1))
        moved[:, k] = project(codes, normals, intercepts, np.hstack([target, kept]))
    index = pd.DataFrame(
        {
            "seed": np.repeat(np.arange(len(codes)), len(GROUPS)),
            "group": np.tile(GROUPS, len(codes)),
        }
    )
    return moved.reshape(-1, codes.shape[1]), index


def label_leakage(
    generator,
    codes: ArrayLike,
    planes: Mapping[str, Hyperplanes],
    attributes: Sequence[str],
    distance: float = 1.0,
) -> pd.DataFrame:
    """How much of the labels' bias the fitted normals carry.

    Args:
        generator: the known-truth generator.
        codes: latents (n, D), starting points of the moves.
        planes: origin of the labels ("classifier", "crowd") → its `group_planes`.
        attributes: visible scores to watch.
        distance: of the move to either side, in W.

    Returns:
        One row per origin and plane, "exact" for comparison: columns labels, plane, accuracy (cross
        validated), angle (degrees from the exact normal) and per attribute the mean change of its
        score from `distance` below to `distance` above, along the normal as it is.

    Example:
        >>> from helpers import identities
        >>> from helpers.generators import load_generator
        >>> generator = load_generator("known-truth")
        >>> codes = generator.sample(3, 1)
        >>> identities.label_leakage(generator, codes, {}, ["age"]).round(2)["angle"].tolist()
        [0.0, 0.0, 0.0, 0.0]
    """
    codes, exact = np.asarray(codes, dtype=np.float64), exact_planes(generator)
    rows = []
    for labels, fitted in {**planes, "exact": exact}.items():
        fitted = fitted.unit().select(PLANES)
        cosines = (fitted.normals * exact.normals).sum(1).clip(-1, 1)
        for name, normal, cosine in zip(PLANES, fitted.normals, cosines, strict=True):
            ends = torch.from_numpy(
                np.stack([codes + normal * side for side in (distance, -distance)])
            )
            high, low = (visible_scores(generator.parameters(end)) for end in ends)
            change = (high - low).mean()[list(attributes)].to_dict()
            accuracy, angle = fitted.scores.get(name, np.nan), float(np.degrees(np.arccos(cosine)))
            row = {"labels": labels, "plane": name, "accuracy": accuracy, "angle": angle}
            rows.append(row | change)
    return pd.DataFrame(rows)


def _difference(planes: Hyperplanes, ancestry: str) -> Hyperplanes:
    """The plane on which a face leans to neither of the other two ancestry groups."""
    pair = planes.select([name for name in ANCESTRIES if name != ancestry])
    return Hyperplanes(
        (" - ".join(pair.names),),
        pair.normals[:1] - pair.normals[1:],
        pair.intercepts[:1] - pair.intercepts[1:],
    )
