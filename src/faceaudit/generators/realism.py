"""Checks of a learned generator's images.

Did it copy its training photographs? How many of its images look real, and how many of the real
ones could it have made?
"""

import warnings

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from scipy.stats import hypergeom

from faceaudit.utils.arguments import as_finite, check_range
from faceaudit.utils.errors import InputError

_ROWS_AT_ONCE = 512
"""Rows whose distances from all others are held at a time."""
_WARNING_LEVEL = 0.01
"""Level of the test behind the warning: its chance for a generator that copies no photograph."""


def memorised(
    made: ArrayLike, training: ArrayLike, held_out: ArrayLike, share: float = 0.01
) -> pd.DataFrame:
    """Find made images that lie nearer to a training image than photographs lie to each other.

    Real images that the generator was not trained on give the usual distances to the nearest
    training image. A made image is flagged if its distance is smaller than that of all but `share`
    of these. By chance the same share of the made images may be flagged; if there are clearly more,
    a warning says so. The test counts how made and held-out images mix when they are ordered by
    their distances, so that it also holds for few held-out images, whose quantile at `share` is
    uncertain. The idea is that of Meehan, Chaudhuri and Dasgupta (2020), who compare the same two
    sets of distances by ranks; here single images are named, so that they can be looked at.

    Args:
        made: features of made images, (n, D); of a network that recognises people.
        training: features of the training images, (t, D).
        held_out: features of real images that are not among them, (h, D).
        share: of the held-out images that would be flagged.

    Returns:
        One row per made image: `nearest` (row of the training image), `distance`, `flagged`.

    Warns:
        UserWarning: more images are flagged than by chance.

    Raises:
        ValueError: sets of different width, empty or not finite; fewer held-out images than the
            share needs; a share outside of (0, 0.5).

    Example:
        >>> import numpy as np
        >>> from faceaudit.generators import realism
        >>> photographs = np.random.default_rng(0).standard_normal((400, 4))
        >>> made = np.array([[9.0, 9, 9, 9], photographs[7] + 1e-3])
        >>> table = realism.memorised(made, photographs[:200], photographs[200:])
        >>> table["nearest"][1].item(), table["flagged"].tolist()
        (7, [False, True])
    """
    check_range("share", share, 0, 0.5, "()")
    made = as_finite(made, "made", ndim=2)
    training = as_finite(training, "training", ndim=2)
    held_out = as_finite(held_out, "held_out", ndim=2)
    if len(held_out) * share < 1:
        raise InputError(
            f"{len(held_out)} held-out images, {1 / share:g} or more are needed",
            field="held_out",
            found=len(held_out),
            expected=f"{1 / share:g} or more images",
        )
    nearest, distance = _nearest(made, training)
    _, usual = _nearest(held_out, training)
    flagged = distance < np.quantile(usual, share)
    # At least as many made images as were flagged are nearer than the k-th held-out image, exactly
    # if at most k - 1 of the first flagged + k - 1 of all images are held-out. If both kinds have
    # the same distribution, all orders are equally likely.
    k = int(np.ceil((len(usual) - 1) * share)) + 1  # the first held-out image above the threshold
    first = int(flagged.sum()) + k - 1
    if hypergeom.cdf(k - 1, len(made) + len(usual), len(usual), first) < _WARNING_LEVEL:
        warnings.warn(
            f"{flagged.sum()} of {len(flagged)} made images are nearer to a training image than "
            f"{1 - share:.0%} of other photographs are: the generator may have memorised them",
            stacklevel=2,
        )
    return pd.DataFrame({"nearest": nearest, "distance": distance, "flagged": flagged})


def precision_recall(real: ArrayLike, made: ArrayLike, neighbours: int) -> tuple[float, float]:
    """Share of the made images that look real, and of the real ones that could have been made.

    An image counts if it lies in the ball around one of the other set's images that reaches its
    k-th nearest neighbour (Kynkäänniemi et al. 2019).

    Args:
        real, made: features (n, D) and (m, D), more than `neighbours` rows each.
        neighbours: k (Kynkäänniemi et al.: 3).

    Returns:
        Precision and recall: the share of the made images and that of the real ones.

    Raises:
        ValueError: sets of different width, or not finite.

    Example:
        >>> import numpy as np
        >>> from faceaudit.generators import realism
        >>> line = np.arange(10.0)[:, None]
        >>> realism.precision_recall(line, line[:5] + 0.5, neighbours=1)
        (1.0, 0.6)
    """
    real = as_finite(real, "real", ndim=2)
    made = as_finite(made, "made", ndim=2)
    return _share_within(made, real, neighbours), _share_within(real, made, neighbours)


def _share_within(points: np.ndarray, centres: np.ndarray, neighbours: int) -> float:
    """Share of points in the balls around centres that reach the centres' k-th neighbours."""
    # A point is its own nearest neighbour.
    radii = np.sort(cdist(centres, centres))[:, neighbours]
    return float((cdist(points, centres) <= radii).any(axis=1).mean())


def _nearest(rows: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nearest of the others for every row, and its distance, (n,) each."""
    nearest = []
    distances = []
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        distance = cdist(rows[start : start + _ROWS_AT_ONCE], others)
        nearest.append(distance.argmin(1))
        distances.append(distance.min(1))
    return np.concatenate(nearest), np.concatenate(distances)
