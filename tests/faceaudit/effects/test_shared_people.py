import numpy as np
import pytest

from faceaudit.effects import covariance_of_means
from faceaudit.utils.errors import InputError


def by_loop(influences, people):
    """Products of all pairs of terms that have a person in common, one after the other."""
    terms = len(people)
    total, in_common = np.zeros((influences.shape[1],) * 2), 0
    for one in range(terms):
        for other in range(terms):
            if set(people[one]) & set(people[other]):
                in_common += 1
                total += np.outer(influences[one], influences[other])
    return total / terms**2 / (1 - in_common / terms**2)


@pytest.mark.parametrize("members", [1, 2, 3])
def test_products_of_terms_with_a_person_in_common(members):
    random = np.random.default_rng(members)
    people = random.integers(0, 60, (40, members))
    influences = random.normal(size=(40, 2))
    influences -= influences.mean(axis=0)
    covariance = covariance_of_means(influences, people)
    reference = by_loop(influences, people)
    known = np.isfinite(covariance)
    np.testing.assert_allclose(covariance[known], reference[known], atol=1e-15)
    assert known.any()
    assert (np.diag(reference)[~np.diag(known)] < 0).all()


def test_people_of_their_own_give_the_error_of_a_mean():
    x = np.random.default_rng(0).normal(size=(30, 1))
    covariance = covariance_of_means(x - x.mean(), np.arange(30)[:, None])
    assert covariance[0, 0] == pytest.approx(x.var(ddof=1) / 30)


def test_who_gives_to_many_makes_the_mean_less_certain():
    """Mean of what a person bears and of what a giver adds, over draws of both."""
    random = np.random.default_rng(1)
    terms, givers, draws = 240, 40, 300
    people = np.column_stack([np.arange(terms), terms + np.resize(np.arange(givers), terms)])
    values = random.normal(size=(draws, terms + givers))[:, people].sum(axis=2)
    residuals = values - values.mean(axis=1, keepdims=True)
    variances = [covariance_of_means(one[:, None], people)[0, 0] for one in residuals]
    true = 1 / terms + 1 / givers
    assert np.mean(variances) == pytest.approx(true, rel=0.06)
    assert values.mean(axis=1).var() == pytest.approx(true, rel=0.2)
    independent = residuals.var(axis=1, ddof=1).mean() / terms
    assert independent < true / 2


def test_nothing_is_known_where_all_have_one_person_in_common():
    assert np.isnan(covariance_of_means([[1.0], [-1.0]], [[0, 1], [0, 2]])).all()


def test_a_negative_variance_is_not_known():
    # Two terms of opposite influence have a person in common, and two equal ones have none.
    influences = [[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]
    covariance = covariance_of_means(influences, [[0, 1], [1, 2], [3, 4], [4, 5]])
    assert not np.isnan(covariance).any()
    covariance = covariance_of_means([[1.0], [-2.0], [1.0]], [[0, 1], [1, 2], [2, 3]])
    assert np.isnan(covariance).all()


def test_another_number_of_terms():
    with pytest.raises(InputError, match="people has 2 terms, but influences has 3") as refused:
        covariance_of_means(np.zeros((3, 1)), [[0], [1]])
    assert (refused.value.field, refused.value.expected) == ("people", "3 terms")
