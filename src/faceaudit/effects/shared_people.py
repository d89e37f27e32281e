"""Covariance of means whose terms have people in common.

Where each person is given an attribute of another one, a term of the mean belongs to several
people: to the one who is changed, and to those who gave. Two terms that have a person in common are
not independent. The products of their residuals are added up, as in a cluster-robust variance, with
all pairs of terms in place of the pairs within a cluster (Aronow, Samii & Assenova, Political
Analysis 23 (2015) 564-577, for terms of two people; Cameron, Gelbach & Miller, Journal of Business
& Economic Statistics 29 (2011) 238-249, for clusters that cross each other).
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from faceaudit.utils.errors import InputError


def covariance_of_means(influences: ArrayLike, people: ArrayLike) -> np.ndarray:
    """Covariance of means over terms, of which any two may have people in common.

    The sum is divided by the share of pairs of terms that have no person in common, as residuals
    are from an estimated mean. With one person a term, and another one in each term, the result is
    the usual squared standard error of a mean.

    Args:
        influences: what each term adds to each mean, less that mean, (n, q).
        people: the people of every term, whole numbers from 0, (n, m). A person may be in any
            number of terms, and more than once in one of them.

    Returns:
        Covariance (q, q), in the squared unit of the influences. A variance below zero, which few
        people can make, is NaN; all are where any two terms have a person in common.

    Raises:
        InputError: the two have another number of terms.

    Example:
        >>> import numpy as np
        >>> from faceaudit.effects.shared_people import covariance_of_means
        >>> x = np.array([[-1.0], [0.0], [1.0]])
        >>> own, shared = [[0], [1], [2]], [[0, 3], [1, 4], [2, 4]]
        >>> [round(float(covariance_of_means(x, one)[0, 0]), 3) for one in (own, shared)]
        [0.333, 0.5]
    """
    influences = np.asarray(influences, dtype=float)
    people = np.asarray(people)
    terms = len(influences)
    if len(people) != terms:
        raise InputError(
            f"people has {len(people)} terms, but influences has {terms}",
            field="people",
            found=f"{len(people)} terms",
            expected=f"{terms} terms",
        )
    rows = np.repeat(np.arange(terms), people.shape[1])
    present = csr_array((np.ones(people.size), (rows, people.ravel())))
    in_common = (present @ present.T > 0).astype(float)
    independent = 1 - in_common.sum() / terms**2
    if independent <= 0:
        return np.full((influences.shape[1],) * 2, np.nan)
    covariance = influences.T @ (in_common @ influences) / terms**2 / independent
    negative = np.diag(covariance) < 0
    covariance[negative] = np.nan
    covariance[:, negative] = np.nan
    return covariance
