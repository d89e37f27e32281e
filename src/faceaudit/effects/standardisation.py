"""An experiment's change of the log odds, standardised to other people and added to their answers.

Effects on error rates do not carry over from one set of faces to another: the same push turns more
answers among faces that a model is unsure about. A change of the log odds carries over better. So
the change that an experiment finds is fitted as a function of what is known of a face, predicted
for each person, and added to the log odds of the model's own answer about this person. What is
averaged is how often the answer then lies on the other side.

It is right where the attributes take in all that differs between the experiment's faces and the
people and changes the shift, and where the shift grows evenly with the dose.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from faceaudit.effects.resampling import as_resamples, cluster_codes, draw_weights
from faceaudit.utils.arguments import as_finite, require_shape
from faceaudit.utils.errors import InputError


@dataclass(frozen=True)
class StandardisedShift:
    """A predicted change of the share of positive answers, with its 95% interval.

    Attributes:
        estimate: share of positive answers at the second dose, less that at the first.
        low, high: ends of the interval.
        shift: mean predicted change of the log odds between the two doses.
        people: how many people it is about.
        clusters: how many clusters the experiment has.

    Example:
        >>> StandardisedShift(0.02, 0.0, 0.04, 0.8, 900, 400).clusters
        400
    """

    estimate: float
    low: float
    high: float
    shift: float
    people: int
    clusters: int


@dataclass(frozen=True)
class MadePairs:
    """Pairs of an experiment, whose two faces differ in the dose alone.

    Attributes:
        slope: (m,) change of the log odds per unit of dose.
        attributes: (m, A) of each pair.
        cluster: (m,) the transect that the pair belongs to.

    Example:
        >>> MadePairs([1.5, 0.5], [[0.2], [0.4]], [0, 1]).cluster
        [0, 1]
    """

    slope: ArrayLike
    attributes: ArrayLike
    cluster: ArrayLike


@dataclass(frozen=True)
class AskedPeople:
    """People about whom the model was asked, with their own dose and the two to compare.

    Attributes:
        log_odds: (n,) of a positive answer about each person.
        attributes: (n, A), the same as those of the pairs.
        dose: (n,) the person's own.
        doses: (n, 2) the two that are compared; each person may have others.

    Example:
        >>> AskedPeople([-2.0], [[0.3]], [0.2], [[0.2, 0.8]]).dose
        [0.2]
    """

    log_odds: ArrayLike
    attributes: ArrayLike
    dose: ArrayLike
    doses: ArrayLike


def standardised_shift(
    made: MadePairs, people: AskedPeople, *, n_boot: int = 1000, seed: int
) -> StandardisedShift:
    """Predict for people what another dose changes, from an experiment's change of the log odds.

    The slope is a linear function of the attributes, by least squares. The interval is that of a
    bootstrap that draws whole clusters of the experiment and, independently, people.

    Args:
        made: the experiment's pairs.
        people: whom the estimate is about.
        n_boot: resamples.
        seed: of the resamples.

    Returns:
        The estimate with its interval.

    Raises:
        InputError: arrays that do not fit each other, a value that is no number, fewer than two
            people or clusters, or attributes that depend on each other linearly.

    Example:
        >>> made = MadePairs([4.0, 4.0, 4.0], [[0.1], [0.5], [0.9]], [0, 1, 2])
        >>> people = AskedPeople([-3.0, -1.0], [[0.2], [0.6]], [0.2, 0.2], [[0.2, 0.7]] * 2)
        >>> standardised_shift(made, people, n_boot=20, seed=1).estimate
        0.5
    """
    slope = as_finite(made.slope, "slope")
    code, clusters = cluster_codes(made.cluster)
    of_made = as_finite(made.attributes, "attributes of the pairs", ndim=2)
    require_shape(of_made, "attributes of the pairs", (len(slope), -1))
    require_shape(code, "cluster", (len(slope),))
    log_odds = as_finite(people.log_odds, "log_odds")
    n = len(log_odds)
    of_people = as_finite(people.attributes, "attributes of the people", ndim=2)
    require_shape(of_people, "attributes of the people", (n, of_made.shape[1]))
    own = as_finite(people.dose, "dose")
    require_shape(own, "dose", (n,))
    doses = as_finite(people.doses, "doses", ndim=2)
    require_shape(doses, "doses", (n, 2))

    design = np.column_stack([np.ones(len(slope)), of_made])
    if np.linalg.matrix_rank(design) < design.shape[1]:
        raise InputError(
            f"attributes of the {len(slope)} pairs depend on each other linearly",
            field="attributes of the pairs",
            found=f"{len(slope)} pairs, {of_made.shape[1]} attributes",
            expected="attributes of which none follows from the others, and more pairs than those",
        )
    asked = np.column_stack([np.ones(n), of_people])
    # Sums over the pairs of each cluster, from which every resample is fitted.
    squares = np.zeros((len(clusters), *np.repeat(design.shape[1], 2)))
    products = np.zeros((len(clusters), design.shape[1]))
    np.add.at(squares, code, design[:, :, None] * design[:, None])
    np.add.at(products, code, design * slope[:, None])

    def changes(coefficients: np.ndarray) -> np.ndarray:
        """Each person's change of the answer, -1, 0 or 1, with these coefficients."""
        per_unit = asked @ coefficients
        positive = log_odds[:, None] + per_unit[:, None] * (doses - own[:, None]) > 0
        return positive[:, 1].astype(float) - positive[:, 0]

    def fitted(weight: np.ndarray) -> np.ndarray:
        # A resample may lack the pairs that tell two attributes apart.
        summed = np.tensordot(weight, squares, 1)
        return np.linalg.lstsq(summed, weight @ products, rcond=None)[0]

    coefficients = fitted(np.ones(len(clusters)))
    resamples = as_resamples(n_boot)
    of_clusters = draw_weights(len(clusters), resamples, seed, "standardised shift: clusters")
    of_persons = draw_weights(n, resamples, seed, "standardised shift: people")
    drawn = [
        drawn_people @ changes(fitted(drawn_clusters)) / n
        for drawn_clusters, drawn_people in zip(of_clusters, of_persons, strict=True)
    ]
    low, high = np.quantile(drawn, (0.025, 0.975))
    return StandardisedShift(
        estimate=float(changes(coefficients).mean()),
        low=float(low),
        high=float(high),
        shift=float((asked @ coefficients * (doses[:, 1] - doses[:, 0])).mean()),
        people=n,
        clusters=len(clusters),
    )
