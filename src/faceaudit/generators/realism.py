"""Checks that a learned generator needs before its images are believed.

Did it copy its training photographs? Do the codes of an experiment leave the range that it was
sampled in? Does an edit make faces look fake, or not be found as faces, at one level more than at
the other?
"""

import warnings

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from scipy.stats import hypergeom

from faceaudit.utils.arguments import as_finite, check_range

_ROWS = 512
"""Rows whose distances from all others are held at a time."""
_ALARM = 0.01
"""A warning is given that would be given no more often for a generator that copies nothing."""


def memorised(
    made: ArrayLike, training: ArrayLike, held_out: ArrayLike, share: float = 0.01
) -> pd.DataFrame:
    """Find made images that lie nearer to a training image than photographs lie to each other.

    The yardstick are real images that the generator was not trained on: how near do they come to a
    training image? A made image is flagged if it comes nearer than all but `share` of them. As many
    made images as that may be flagged by chance; if there are clearly more, a warning says so. The
    test counts how made and held-out images mix when they are ordered by their distances, so that
    few held-out images, which tell little about where a `share` of them lies, raise no false alarm.
    The idea is that of Meehan, Chaudhuri and Dasgupta (2020), who compare the same two sets of
    distances by ranks; here single images are named, so that they can be looked at.

    Args:
        made: features of made images, (n, D); of a network that tells people apart.
        training: features of the training images, (t, D).
        held_out: features of real images that are not among them, (h, D).
        share: of the held-out images that would be flagged.

    Returns:
        One row a made image: `nearest` (row of the training image), `distance`, `flagged`.

    Raises:
        ValueError: sets of different width, empty or not finite; fewer held-out images than the
            share needs; a share outside of (0, 0.5).

    Example:
        >>> import numpy as np
        >>> from faceaudit.generators import realism
        >>> photographs = np.random.default_rng(0).standard_normal((400, 4))
        >>> made = np.array([[9.0, 9, 9, 9], photographs[7] + 1e-3])
        >>> found = realism.memorised(made, photographs[:200], photographs[200:])
        >>> found["nearest"][1].item(), found["flagged"].tolist()
        (7, [False, True])
    """
    check_range("share", share, 0, 0.5, "()")
    sets = {"made": made, "training": training, "held_out": held_out}.items()
    made, training, held_out = (as_finite(rows, name, ndim=2) for name, rows in sets)
    if len(held_out) * share < 1:
        raise ValueError(f"{len(held_out)} held-out images, {1 / share:g} or more are needed")
    nearest, distance = _nearest(made, training)
    _, usual = _nearest(held_out, training)
    flagged = distance < np.quantile(usual, share)
    # Nearer than the k-th held-out image come so many made ones if no more than k - 1 of the first
    # flagged + k - 1 of all images are held-out; if they lie alike, all orders are as probable.
    k = int(np.ceil((len(usual) - 1) * share)) + 1  # the next one from the threshold on
    drawn = int(flagged.sum()) + k - 1
    if hypergeom.cdf(k - 1, len(made) + len(usual), len(usual), drawn) < _ALARM:
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

    Raises:
        ValueError: sets of different width, or not finite.

    Example:
        >>> import numpy as np
        >>> from faceaudit.generators import realism
        >>> line = np.arange(10.0)[:, None]
        >>> realism.precision_recall(line, line[:5] + 0.5, neighbours=1)
        (1.0, 0.6)
    """
    real, made = as_finite(real, "real", ndim=2), as_finite(made, "made", ndim=2)
    return _share_within(made, real, neighbours), _share_within(real, made, neighbours)


def _share_within(asked: np.ndarray, balls: np.ndarray, neighbours: int) -> float:
    # A point is its own nearest neighbour.
    radii = np.sort(cdist(balls, balls))[:, neighbours]
    return float((cdist(asked, balls) <= radii).any(axis=1).mean())


def _nearest(rows: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which of the others is the nearest, and how far it is, (n,) each."""
    starts = range(0, len(rows), _ROWS)
    apart = (cdist(rows[start : start + _ROWS], others) for start in starts)
    found = [(part.argmin(1), part.min(1)) for part in apart]
    return tuple(np.concatenate(each) for each in zip(*found, strict=True))
