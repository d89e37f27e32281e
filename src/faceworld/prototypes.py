"""From seeds to prototypes: walks to the six groups, ratings of a crowd, and selection.

Liang et al. 2023, section 3.1 and supplement A: a linear SVM of perceived gender and one-vs-rest
SVMs of the ancestry groups, fitted to labelled samples; each seed is moved along their normals.
Moves here are orthogonal to each other and to whatever is held (the dual basis, see
`faceaudit.latents.orthogonalization`). Seeds are kept if their six prototypes look real and as
intended, and if they differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from faceaudit.latents.directions import Hyperplanes, fit_hyperplanes
from faceaudit.latents.transects import project
from faceaudit.utils import seeding
from facerender.parameters import ANCESTRY_REFERENCES, INDEX, visible_scores
from faceworld import crowd
from faceworld.people import ANCESTRIES, GROUPS, nearest_ancestry, split_groups

if TYPE_CHECKING:
    from torch import Tensor

PLANES: tuple[str, ...] = ("gender", *ANCESTRIES)
ANCESTRY_NOISE = 0.3
"""Standard deviation of a rater's error on the ancestry axes. Assumed."""


# --- walks


def group_planes(codes: ArrayLike, male: ArrayLike, ancestry: ArrayLike) -> Hyperplanes:
    """One SVM of perceived gender and three one-vs-rest SVMs, with unit normals.

    Args:
        codes: latents (n, D).
        male: (n,) scores in [0, 1], male above 0.5: a classifier's or a crowd's.
        ancestry: (n,) index in `ANCESTRIES`.

    Returns:
        The four hyperplanes; names "gender" and those of `ANCESTRIES`.

    Raises:
        ValueError: rows that do not match, or a label that hardly occurs.
    """
    ancestry = np.asarray(ancestry)
    targets = {"gender": np.asarray(male, dtype=np.float64)}
    targets |= {name: (ancestry == k).astype(float) for k, name in enumerate(ANCESTRIES)}
    return fit_hyperplanes(codes, pd.DataFrame(targets), [], dict.fromkeys(PLANES, 0.5)).unit()


def exact_planes(generator) -> Hyperplanes:
    """The planes as they truly lie in a known-truth generator, with unit normals.

    That of an ancestry group is perpendicular, in the ancestry plane, to the way from the average
    of all to its reference; the three normals lie in one plane and add up to zero.

    Args:
        generator: the known-truth generator.

    Returns:
        Hyperplanes as of `group_planes`, without scores.
    """
    normals, intercepts = generator.exact_hyperplanes(["gender", "ancestry_x", "ancestry_y"])
    references = np.array(list(ANCESTRY_REFERENCES.values()))
    normals = np.concatenate([normals[:1], references @ normals[1:]])
    intercepts = np.concatenate([intercepts[:1], references @ intercepts[1:]])
    return Hyperplanes(PLANES, normals, intercepts).unit()


def walk_to_groups(
    codes: ArrayLike, planes: Hyperplanes, *, gender: float, ancestry: float, others: Mapping
) -> tuple[np.ndarray, pd.DataFrame]:
    """Latents of the six prototypes of every seed.

    A prototype lies at decision value ±`gender` of gender and at `ancestry` of its own ancestry
    group, half-way between the other two groups. (Three one-vs-rest normals nearly lie in a plane,
    so all three values cannot be chosen; the difference of the other two is what remains.) It is
    the nearest such point to the seed: directions without a plane stay as they were.

    Args:
        codes: latents (n, D) of the seeds.
        planes: `PLANES` and those of `others`; decision values are in their units.
        gender: decision value of perceived gender, above 0.
        ancestry: decision value of the ancestry group, above 0.
        others: attribute → decision value of all prototypes, or None for the value of the seed.

    Returns:
        (6 n, D) float64, and a frame with the columns seed and group. The six prototypes of a seed
        are consecutive, in the order of `GROUPS`.

    Raises:
        ValueError: a missing plane, or planes that depend on each other.
    """
    codes = np.asarray(codes, dtype=np.float64)
    held = planes.select(list(others))
    held_values = np.array([np.nan if value is None else value for value in others.values()])
    held_values = np.where(np.isnan(held_values), held.decision_values(codes), held_values)
    moved = np.empty((len(codes), len(GROUPS), codes.shape[1]))
    for k, (name, male) in enumerate(zip(*split_groups(GROUPS), strict=True)):
        of_group = planes.select(["gender", name])
        pair = planes.select([other for other in ANCESTRIES if other != name])
        # On this plane a face leans to neither of the other two ancestry groups.
        even = Hyperplanes(("even",), -np.diff(pair.normals, axis=0), -np.diff(pair.intercepts))
        goal = of_group.join(even).join(held)
        target = np.tile([gender if male else -gender, ancestry, 0.0], (len(codes), 1))
        target = np.hstack([target, held_values])
        moved[:, k] = project(codes, goal.normals, goal.intercepts, target)
    index = pd.DataFrame(
        {
            "seed": np.repeat(np.arange(len(codes)), len(GROUPS)),
            "group": np.tile(GROUPS, len(codes)),
        }
    )
    return moved.reshape(-1, codes.shape[1]), index


# --- ratings


def crowd_scores(
    parameters: Tensor,
    attributes: Sequence[str],
    items: Sequence[int],
    n_raters: int,
    *,
    seed: int,
    stage: str,
) -> pd.DataFrame:
    """Mean scores in [0, 1] of annotated attributes by a simulated crowd, one row per face.

    Args:
        parameters: (n, P) of the renderer.
        attributes: columns of the result, of `faceaudit.annotations.ATTRIBUTES`.
        items: (n,) numbers that key the answers.
        n_raters: of each face.
        seed: of the crowd.
        stage: that keys its answers.

    Returns:
        float64 (n, attributes), a column each.
    """
    seen = crowd.perceived(visible_scores(parameters).clip(0, 1))
    perceived = seen[list(attributes)].set_axis(items)
    answers = crowd.annotate(perceived, n_raters, seed=seed, stage=stage)
    means = crowd.mean_scores(answers).loc[[str(item) for item in items], list(attributes)]
    return means.reset_index(drop=True)


def perceived_ancestry(
    parameters: Tensor, items: Sequence[int], n_raters: int, *, seed: int, stage: str
) -> np.ndarray:
    """The ancestry group that most raters name.

    A rater sees the face's place in the ancestry plane with noise and names the nearest reference.
    Of groups named equally often, the one nearest to the mean of the noisy places wins.

    Args:
        parameters: (n, P) of the renderer.
        items: (n,) numbers that key the answers.
        n_raters: of each face.
        seed: of the crowd.
        stage: that keys its answers.

    Returns:
        Index in `ANCESTRIES`, int64 (n,).
    """
    place = parameters[:, [INDEX["ancestry_x"], INDEX["ancestry_y"]]].cpu().numpy()
    draws = seeding.normals(seed, f"{stage}/perceived ancestry", items, 2 * n_raters)
    seen = place[:, None] + ANCESTRY_NOISE * draws.reshape(len(place), n_raters, 2)
    votes = nearest_ancestry(seen)[..., None] == np.arange(len(ANCESTRIES))
    tie = nearest_ancestry(seen.mean(1))[:, None] == np.arange(len(ANCESTRIES))
    return (votes.sum(1) + 0.5 * tie).argmax(1)


# --- selection


def max_min_selection(landmarks: ArrayLike, n: int) -> np.ndarray:
    """The n seeds that are farthest from each other, greedily (supplement A, Algorithm 1).

    Starting with the first seed, the next one is the seed s with the largest

        D(s) = min over chosen f and groups g of ‖M(s, g) − M(f, g)‖.

    The loop as printed runs `while i <= n` after the first seed was added, which adds one seed too
    many if i starts at 1; here n are chosen. D is updated by each chosen seed instead of being
    computed anew, so the work grows with n · seeds.

    Args:
        landmarks: (seeds, groups, points, 2), of the prototypes.
        n: seeds to choose.

    Returns:
        int64 (n,): positions of the seeds, in the order of their choice; of equally far ones, the
        first.

    Raises:
        ValueError: fewer seeds than n.
    """
    landmarks = np.asarray(landmarks, dtype=np.float64)
    if len(landmarks) < n:
        raise ValueError(f"{n} seeds are wanted, and there are {len(landmarks)} to choose from")
    chosen = np.zeros(n, dtype=np.int64)
    nearest = np.full(len(landmarks), np.inf)
    for step in range(n):
        if step:
            chosen[step] = nearest.argmax()
        # Of the group in which two seeds are most alike.
        apart = np.sqrt(((landmarks - landmarks[chosen[step]]) ** 2).sum((2, 3))).min(1)
        nearest = np.minimum(nearest, apart)
        nearest[chosen[step]] = -np.inf
    return chosen
