"""A black box whose true effects are known to be nought: the audit must flag nothing in it.

Chapters 1, 2 and 8 to 13 audit it beside the trained models.
"""

from collections.abc import Sequence

import numpy as np
from scipy import stats

from helpers.utils import seeding
from helpers.utils.checks import check_range


def null_control(
    label: Sequence[int],
    item: Sequence[int],
    cluster: Sequence[int],
    *,
    rate: float,
    icc: float,
    seed: int,
) -> np.ndarray:
    """Answer as a classifier that errs at one rate whatever the face looks like.

    Each cluster draws its own error probability from Beta(a, b) with mean `rate` and a + b = (1 -
    icc) / icc, each image its error from that (a beta-binomial model). The draws are keyed by
    cluster and item, so they know neither the label nor any attribute: every true effect is exactly
    zero, while errors in one cluster (a transect) hang together with intraclass correlation `icc`,
    as they do in real classifiers.

    Args:
        label: (n,) 0 female, 1 male: what the control should answer.
        item: (n,) a number of its own for each image.
        cluster: (n,) the transect, or other unit, that the image belongs to.
        rate: expected error rate, above 0 and below 1.
        icc: correlation of two errors in one cluster, above 0 and below 1.
        seed: of the run.

    Returns:
        P(male), float64 (n,), above 0.5 where the control answers "male".

    Raises:
        ValueError: rate or icc outside (0, 1), or repeated items.

    Example:
        >>> import numpy as np
        >>> from helpers import models
        >>> item = np.arange(4000)
        >>> score = models.null_control(item % 2, item, item // 8, rate=0.1, icc=0.2, seed=1)
        >>> round(float(((score > 0.5) != item % 2).mean()), 1)
        0.1
    """
    check_range("rate", rate, 0, 1, "()")
    check_range("icc", icc, 0, 1, "()")
    if len(np.unique(item)) != len(item):
        raise ValueError("item must be a different number for each image")
    concentration = (1 - icc) / icc
    clusters, position = np.unique(cluster, return_inverse=True)
    draws = seeding.uniforms(seed, "null control: cluster", clusters, 1)[:, 0]
    cluster_rate = stats.beta.ppf(draws, rate * concentration, (1 - rate) * concentration)
    image = seeding.uniforms(seed, "null control: image", item, 2)
    wrong = image[:, 0] < cluster_rate[position]
    confidence = 0.55 + 0.45 * image[:, 1]
    answers_male = (np.asarray(label) == 1) != wrong
    return np.where(answers_male, confidence, 1 - confidence)
