"""Which seeds to keep: those whose six prototypes look real and as intended, and that differ.

Liang et al. 2023, section 3.1 and supplement A.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from torch import Tensor

from facerender.parameters import INDEX, visible_scores
from helpers.annotations import crowd, cues
from helpers.identities.groups import ANCESTRIES, GROUPS, nearest_ancestry, split
from helpers.utils import seeding
from helpers.utils.checks import require_columns

ANCESTRY_NOISE = 0.3
"""Standard deviation, on the ancestry axes, of what a rater sees; assumed, nothing is known."""


def perceived_ancestry(
    parameters: Tensor, items: Sequence[int], n_raters: int, *, seed: int, stage: str
) -> np.ndarray:
    """The ancestry group that most raters name: index in `ANCESTRIES`.

    A rater sees the face's place in the ancestry plane with noise and names the nearest reference.
    Of groups named equally often, the one nearest to the mean of what was seen wins.

    Args:
        parameters: (n, P) of the renderer.
        items: (n,) numbers that key the draws.
        n_raters: of each face.
        seed: of the crowd.
        stage: that keys its answers.

    Returns:
        int64 (n,).

    Example:
        >>> from helpers import identities
        >>> parameters, labels, _ = identities.identity_set({"east asian male": 2}, 1, seed=1)
        >>> identities.perceived_ancestry(parameters, labels, 9, seed=1, stage="example").tolist()
        [1, 1]
    """
    place = parameters[:, [INDEX["ancestry_x"], INDEX["ancestry_y"]]].cpu().numpy()
    draws = seeding.normals(seed, f"{stage}/perceived ancestry", items, 2 * n_raters)
    seen = place[:, None] + ANCESTRY_NOISE * draws.reshape(len(place), n_raters, 2)
    votes = nearest_ancestry(seen)[..., None] == np.arange(len(ANCESTRIES))
    tie = nearest_ancestry(seen.mean(1))[:, None] == np.arange(len(ANCESTRIES))
    return (votes.sum(1) + 0.5 * tie).argmax(1)


def judge(
    parameters: Tensor, index: pd.DataFrame, n_raters: int, *, seed: int, stage: str
) -> pd.DataFrame:
    """What a crowd says of prototypes: how real they look, and of which group.

    The paper had one annotator judge realism and agreement with the intended group. What follows
    from the answers is decided in the chapter.

    Args:
        parameters: (n, P) of the prototypes.
        index: one row per prototype, columns seed and group (as intended).
        n_raters: accepted answers for each prototype.
        seed: of the crowd.
        stage: that keys its answers.

    Returns:
        `index` with fakeness and gender (mean scores in [0, 1]) and perceived (the group as most
        see it; perceived as male from a mean score of 0.5 on).

    Raises:
        ValueError: rows that do not match, or an unknown group.

    Example:
        >>> import pandas as pd
        >>> from helpers import identities
        >>> parameters, _, frame = identities.identity_set({"european male": 2}, 1, seed=1)
        >>> index = frame.rename(columns={"identity": "seed"})
        >>> judged = identities.judge(parameters, index, 5, seed=1, stage="example")
        >>> judged["perceived"].tolist()
        ['european male', 'european male']
    """
    require_columns(index, ["seed", "group"])
    split(index["group"])
    if len(parameters) != len(index):
        raise ValueError(f"{len(parameters)} rows of parameters for {len(index)} prototypes")
    items = index["seed"].to_numpy() * len(GROUPS) + pd.Index(GROUPS).get_indexer(index["group"])
    keys = {"n_raters": n_raters, "seed": seed, "stage": stage}
    scores = crowd_scores(parameters, ["gender", "fakeness"], items.tolist(), **keys)
    ancestry = np.array(ANCESTRIES)[perceived_ancestry(parameters, items.tolist(), **keys)]
    judged = index.assign(**{name: scores[name].to_numpy() for name in scores})
    gender = np.where(judged["gender"] >= 0.5, "male", "female")
    return judged.assign(perceived=[f"{a} {g}" for a, g in zip(ancestry, gender, strict=True)])


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
        attributes: columns of the result, of `helpers.annotations.ATTRIBUTES`.
        items: (n,) numbers that key the answers.
        n_raters: of each face.
        seed: of the crowd.
        stage: that keys its answers.

    Returns:
        float64 (n, attributes) in [0, 1], a column each.

    Example:
        >>> from helpers import identities
        >>> parameters, labels, _ = identities.identity_set({"african male": 2}, 1, seed=1)
        >>> asked = {"n_raters": 5, "seed": 1, "stage": "example"}
        >>> (identities.crowd_scores(parameters, ["gender"], labels, **asked) > 0.5).values.tolist()
        [[True], [True]]
    """
    seen = cues.perceived(visible_scores(parameters).clip(0, 1))
    perceived = seen[list(attributes)].set_axis(items)
    answers = crowd.annotate(perceived, n_raters, seed=seed, stage=stage)
    means = crowd.mean_scores(answers).loc[[str(item) for item in items], list(attributes)]
    return means.reset_index(drop=True)


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
        ValueError: another shape, a coordinate that is not a number, or fewer seeds than n.

    Example:
        >>> import numpy as np
        >>> from helpers import identities
        >>> identities.max_min_selection(np.array([0.0, 1, 5, 4]).repeat(2).reshape(4, 1, 1, 2), 3)
        array([0, 2, 1])
    """
    landmarks = np.asarray(landmarks, dtype=np.float64)
    if landmarks.ndim != 4 or landmarks.shape[-1] != 2:
        raise ValueError(f"landmarks must be (seeds, groups, points, 2), not {landmarks.shape}")
    if not np.isfinite(landmarks).all():
        row = np.flatnonzero(~np.isfinite(landmarks).all((1, 2, 3)))[0]
        raise ValueError(f"landmarks of seed {row}: not all are finite numbers")
    if not 1 <= n <= len(landmarks):
        raise ValueError(f"n must be from 1 to the {len(landmarks)} seeds there are, not {n}")
    chosen = np.zeros(n, dtype=np.int64)
    nearest = _distance(landmarks, 0)
    for step in range(1, n):
        nearest[chosen[step - 1]] = -np.inf
        chosen[step] = nearest.argmax()
        nearest = np.minimum(nearest, _distance(landmarks, chosen[step]))
    return chosen


def _distance(landmarks: np.ndarray, seed: int) -> np.ndarray:
    """Distance of all seeds to one, of the group in which they are most alike, (seeds,)."""
    return np.sqrt(((landmarks - landmarks[seed]) ** 2).sum((2, 3))).min(1)
