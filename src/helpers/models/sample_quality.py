"""How good are a generator's samples? Distances between sets of images in a feature space.

Everything is relative to the features, which are those of a network trained for something else; the
same measures between two halves of the real images say what perfect samples would get. Chapter 15
holds the learned generator's samples against renders.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from helpers.models import AuditedModel
from helpers.models.training import check_images, to_float
from helpers.utils.checks import as_finite


@torch.no_grad()
def features(model: AuditedModel, images: np.ndarray, batch: int = 64) -> np.ndarray:
    """What a network's last layer is given, float64 (n, features).

    Args:
        model: a trained classifier.
        images: uint8 (n, 3, height, width).
        batch: images that go through the network at once.

    Raises:
        ValueError: images of another kind.

    Example:
        >>> import numpy as np
        >>> from helpers import models
        >>> from helpers.models import networks, sample_quality
        >>> model = models.AuditedModel(networks.SmallNet().eval(), training=None, curve=None)
        >>> sample_quality.features(model, np.zeros((2, 3, 32, 32), np.uint8)).shape
        (2, 96)
    """
    check_images(images)
    seen: list[torch.Tensor] = []
    hook = model.network.head.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    try:
        for start in range(0, len(images), batch):
            model.network(to_float(images[start : start + batch], model.device))
    finally:
        hook.remove()
    return torch.cat(seen).double().cpu().numpy()


def frechet_distance(real: ArrayLike, made: ArrayLike) -> float:
    """Fréchet distance between normal distributions fitted to two sets of features.

    |m₁ - m₂|² + tr(C₁ + C₂ - 2 (C₁ C₂)^½) (Heusel et al. 2017), here in the space of the caller's
    features, so that values of other books do not compare.

    Args:
        real, made: (n, D) and (m, D).

    Returns:
        The distance; NaN unless both sets have more rows than columns, as a covariance needs.

    Raises:
        ValueError: sets of different width, or not finite.

    Example:
        >>> import numpy as np
        >>> from helpers.models import sample_quality
        >>> cloud = np.random.default_rng(0).standard_normal((50, 2))
        >>> round(sample_quality.frechet_distance(cloud, cloud + [3, 4]), 6)
        25.0
    """
    real, made = _pair(real, made)
    if min(len(real), len(made)) <= real.shape[1]:
        return float("nan")
    first, second = np.cov(real.T), np.cov(made.T)
    # The product is similar to a positive semidefinite matrix: its eigenvalues are not negative.
    crossed = np.sqrt(np.linalg.eigvals(first @ second).real.clip(min=0)).sum()
    apart = np.square(real.mean(0) - made.mean(0)).sum()
    return float(max(apart + np.trace(first) + np.trace(second) - 2 * crossed, 0.0))


def precision_recall(real: ArrayLike, made: ArrayLike, neighbours: int) -> tuple[float, float]:
    """Share of the made images that look real, and of the real ones that could have been made.

    An image counts if it lies in the ball around one of the other set's images that reaches its
    k-th nearest neighbour (Kynkäänniemi et al. 2019).

    Args:
        real, made: features (n, D) and (m, D), more than `neighbours` rows each.
        neighbours: k (Kynkäänniemi et al.: 3).

    Raises:
        ValueError: sets of different width, with too few rows, or not finite.

    Example:
        >>> import numpy as np
        >>> from helpers.models import sample_quality
        >>> line = np.arange(10.0)[:, None]
        >>> sample_quality.precision_recall(line, line[:5] + 0.5, neighbours=1)
        (1.0, 0.6)
    """
    real, made = _pair(real, made)
    if min(len(real), len(made)) <= neighbours:
        raise ValueError(f"expected more than {neighbours} images in each set")
    return _share_within(made, real, neighbours), _share_within(real, made, neighbours)


def _share_within(asked: np.ndarray, balls: np.ndarray, neighbours: int) -> float:
    # A point is its own nearest neighbour.
    radii = np.sort(cdist(balls, balls))[:, neighbours]
    return float((cdist(asked, balls) <= radii).any(axis=1).mean())


def _pair(real: ArrayLike, made: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    real, made = as_finite(real, "real", ndim=2), as_finite(made, "made", ndim=2)
    if real.shape[1] != made.shape[1]:
        raise ValueError(f"features must be (n, D) and (m, D), not {real.shape} and {made.shape}")
    return real, made
