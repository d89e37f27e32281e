"""The standardised shift, against statsmodels' fit, a loop over resamples, and known answers."""

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm

from faceaudit.effects.resampling import draw_weights
from faceaudit.effects.standardisation import AskedPeople, MadePairs, standardised_shift
from faceaudit.utils.errors import InputError

CLUSTERS, N = 60, 300


def drawn(seed, noise=0.5):
    """An experiment whose slope is 2 + a - 2 b, and people with other attributes than its faces."""
    generator = np.random.default_rng(seed)
    attributes = generator.normal(0, 1, (2 * CLUSTERS, 2))
    of_cluster = np.repeat(generator.normal(0, noise, CLUSTERS), 2)
    slope = 2 + attributes @ [1, -2] + of_cluster
    made = MadePairs(slope, attributes, np.repeat(np.arange(CLUSTERS), 2))
    own = generator.uniform(0, 1, N)
    people = AskedPeople(
        log_odds=generator.normal(-1, 2, N),
        attributes=generator.normal(1, 1, (N, 2)),
        dose=own,
        doses=generator.uniform([0, 0.6], [0.4, 1], (N, 2)),
    )
    return made, people


def exact(people, coefficients):
    per_unit = coefficients[0] + people.attributes @ coefficients[1:]
    away = people.doses - people.dose[:, None]
    positive = people.log_odds[:, None] + per_unit[:, None] * away > 0
    return positive[:, 1].mean() - positive[:, 0].mean()


def test_without_noise_the_known_slope_is_found():
    made, people = drawn(1, noise=0)
    found = standardised_shift(made, people, n_boot=50, seed=1)
    assert found.estimate == pytest.approx(exact(people, np.array([2, 1, -2])), abs=1e-12)
    assert (found.people, found.clusters) == (N, CLUSTERS)


def test_the_fit_is_that_of_statsmodels():
    made, people = drawn(2)
    fit = sm.OLS(made.slope, sm.add_constant(made.attributes)).fit()
    found = standardised_shift(made, people, n_boot=20, seed=1)
    assert found.estimate == pytest.approx(exact(people, fit.params), abs=1e-12)
    per_unit = fit.predict(sm.add_constant(people.attributes))
    assert found.shift == pytest.approx((per_unit * np.diff(people.doses)[:, 0]).mean())


def test_the_interval_is_that_of_a_loop_over_resamples():
    made, people = drawn(3)
    found = standardised_shift(made, people, n_boot=200, seed=7)
    of_clusters = draw_weights(CLUSTERS, range(200), 7, "standardised shift: clusters")
    of_people = draw_weights(N, range(200), 7, "standardised shift: people")
    estimates = []
    for clusters, persons in zip(of_clusters.astype(int), of_people.astype(int), strict=True):
        pairs = np.repeat(clusters, 2)
        rows = np.repeat(np.arange(2 * CLUSTERS), pairs)
        fit = sm.OLS(made.slope[rows], sm.add_constant(made.attributes[rows])).fit()
        who = np.repeat(np.arange(N), persons)
        some = AskedPeople(
            people.log_odds[who], people.attributes[who], people.dose[who], people.doses[who]
        )
        estimates.append(exact(some, fit.params))
    assert (found.low, found.high) == pytest.approx(np.quantile(estimates, [0.025, 0.975]))


def test_intervals_hold_the_truth_of_people_with_other_attributes():
    held, plain = 0, 0
    for seed in range(100):
        made, people = drawn(seed)
        truth = exact(people, np.array([2, 1, -2]))
        found = standardised_shift(made, people, n_boot=100, seed=seed)
        held += found.low <= truth <= found.high
        # With an attribute that says little it is about the shift on made faces.
        some = replace(made, attributes=made.attributes[:, :1])
        bare = replace(people, attributes=people.attributes[:, :1])
        found = standardised_shift(some, bare, n_boot=100, seed=seed)
        plain += found.low <= truth <= found.high
    assert held >= 90 and plain < 50


def test_arrays_that_do_not_fit_are_named():
    made, people = drawn(1)
    with pytest.raises(InputError, match="attributes of the people: shape"):
        standardised_shift(made, replace(people, attributes=np.zeros((N, 3))), seed=1)
    with pytest.raises(InputError, match="depend on each other linearly"):
        standardised_shift(replace(made, attributes=made.attributes[:, [0, 0]]), people, seed=1)
    with pytest.raises(InputError, match="doses: shape"):
        standardised_shift(made, replace(people, doses=people.doses[:, :1]), seed=1)
    with pytest.raises(InputError, match="at least two clusters"):
        standardised_shift(replace(made, cluster=np.zeros(2 * CLUSTERS)), people, seed=1)
