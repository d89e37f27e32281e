"""Variances against a jackknife, limits against statsmodels, coverage against a known truth."""

import numpy as np
import pytest
from scipy.special import expit, logit, ndtri
from scipy.stats import norm, t
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from helpers.effects import calibrate_intercept
from helpers.effects.reweighting import (
    Experiment,
    difference_intervals,
    own_level,
    rate_intervals,
    shifted_level,
    standardise,
)

FIRST, SECOND = np.array([0]), np.array([1])
MIX = np.array([[0.6, 0.4, 0.0], [0.1, 0.0, 0.9]])


def draw(rng, clusters, risks, together=0.0, kept=1.0, each=1):
    """So many images of a cluster in every stratum; a normal effect makes their errors alike."""
    shared = np.sqrt(together) * rng.standard_normal((clusters, 1, 1))
    own = np.sqrt(1 - together) * rng.standard_normal((clusters, len(risks), each))
    images = rng.random(own.shape) < kept
    errors = images & (shared + own < ndtri(risks)[:, None])
    return Experiment(*(part.sum(axis=2).astype(float) for part in (images, errors)))


def labels(rng, n, risks, mix):
    stratum = rng.choice(len(mix), n, p=mix)
    return stratum, (rng.random(n) < risks[stratum]).astype(int)


def level_of(experiment, faces=None):
    rates = experiment.rates
    if faces is None:
        return own_level(rates)
    stratum, error = faces
    n = np.bincount(stratum, minlength=len(rates))
    return shifted_level(rates, calibrate_intercept(rates, n, error.sum()), stratum, error)


def risks_without(experiment, faces):
    """Risks without each cluster, then without each labelled face: brute force."""
    risks = []
    for g in range(len(experiment.images)):
        parts = [np.delete(part, g, axis=0) for part in (experiment.images, experiment.errors)]
        smaller = Experiment(*parts)
        risks.append(MIX @ level_of(smaller, faces).rates)
    by_face = []
    for i in range(0 if faces is None else len(faces[0])):
        rest = tuple(np.delete(values, i) for values in faces)
        by_face.append(MIX @ level_of(experiment, rest).rates)
    return np.array(risks), np.array(by_face)


def jackknife(risks):
    deviations = risks - risks.mean(axis=0)
    return (len(risks) - 1) / len(risks) * deviations.T @ deviations


@pytest.mark.parametrize("labelled", [False, True])
def test_covariances_are_those_of_a_jackknife(labelled):
    rng, true = np.random.default_rng(3), np.array([0.3, 0.2, 0.4])
    # Several images in one stratum each: ties make variances larger than the least that is taken.
    whole = draw(rng, 300, true, together=0.5, kept=0.8, each=4)
    one = np.arange(300)[:, None] % 3 == np.arange(3)
    experiment = Experiment(whole.images * one, whole.errors * one)
    harder = expit(logit(true) + 0.7)
    faces = labels(rng, 200, harder, np.array([0.4, 0.2, 0.4])) if labelled else None
    found = standardise(MIX, experiment, level_of(experiment, faces))
    by_cluster, by_face = risks_without(experiment, faces)
    np.testing.assert_allclose(found.own, jackknife(by_cluster), rtol=0.03)
    if labelled:
        np.testing.assert_allclose(found.added, jackknife(by_face), rtol=0.03)
    else:
        assert not found.added.any()
    variance = np.diag(found.own + found.added)
    np.testing.assert_allclose(found.size, found.risk * (1 - found.risk) / variance)


def as_student(df):
    """The level at which statsmodels' normal quantile is Student's for 95 %."""
    return 2 * norm.sf(t.ppf(0.975, df))


def test_one_stratum_of_single_images_has_wilsons_interval():
    experiment = Experiment(np.ones((50, 1)), np.repeat([1.0, 0.0], [7, 43])[:, None])
    found = standardise(np.ones((1, 1)), experiment, level_of(experiment))
    # The variance of a mean divides by 49, so that the effective size is one less.
    expected = proportion_confint(0.14 * 49, 49, alpha=as_student(49), method="wilson")
    np.testing.assert_allclose(np.ravel(rate_intervals(found)), expected)


def test_independent_images_of_two_strata_have_newcombes_interval():
    images = np.repeat(np.eye(2), [80, 120], axis=0)
    errors = np.concatenate([np.arange(80) < 12, np.arange(120) < 30])
    experiment = Experiment(images, images * errors[:, None])
    found = standardise(np.eye(2), experiment, level_of(experiment))
    for limits, n, rate in zip(
        np.transpose(rate_intervals(found)), (79, 119), (0.15, 0.25), strict=True
    ):
        expected = proportion_confint(rate * n, n, alpha=as_student(n), method="wilson")
        np.testing.assert_allclose(limits, expected)
    # Satterthwaite's degrees of freedom of two means whose images vary alike.
    df = (1 / 80 + 1 / 120) ** 2 / (1 / 80**3 + 1 / 120**3) - 1
    expected = confint_proportions_2indep(
        0.15 * 79, 79, 0.25 * 119, 119, method="newcomb", compare="diff", alpha=as_student(df)
    )
    np.testing.assert_allclose(np.ravel(difference_intervals(found, FIRST, SECOND)), expected)


def test_in_one_stratum_labelled_faces_are_all_that_counts():
    rng = np.random.default_rng(1)
    experiment = draw(rng, 20, np.array([0.3]))
    stratum, error = np.zeros(60, int), np.repeat([1, 0], [9, 51])
    found = standardise(np.ones((1, 1)), experiment, level_of(experiment, (stratum, error)))
    expected = proportion_confint(9 / 60 * 59, 59, alpha=as_student(59), method="wilson")
    np.testing.assert_allclose(np.ravel(rate_intervals(found)), expected)


def test_correlated_groups_have_a_narrower_difference():
    rng = np.random.default_rng(2)
    alike = draw(rng, 200, np.full(3, 0.3), together=0.8)
    mixed = [rng.permutation(column) for column in alike.errors.T]
    apart = Experiment(alike.images, np.transpose(mixed))
    low, high = zip(
        *(
            difference_intervals(standardise(MIX, it, level_of(it)), FIRST, SECOND)
            for it in (alike, apart)
        ),
        strict=True,
    )
    widths = np.ravel(high) - np.ravel(low)
    # MIX shares a tenth of its first stratum, so that "apart" is nearly independent.
    assert widths[0] < 0.75 * widths[1]


def test_a_heavy_stratum_that_happens_to_have_no_error_is_not_known_exactly():
    errors = np.zeros((100, 2))
    errors[0, 1] = 1
    experiment = Experiment(np.ones((100, 2)), errors)
    found = standardise(np.array([[0.9, 0.1]]), experiment, level_of(experiment))
    _, heavy = proportion_confint(0, 100, method="wilson")
    assert rate_intervals(found)[1] > 0.85 * heavy


def test_many_errors_leave_strata_that_differ_their_own_variances():
    """Stratified sampling: the variance within strata alone counts."""
    rng, true = np.random.default_rng(5), np.array([0.02, 0.6])
    experiment = draw(rng, 2000, true)
    found = standardise(np.array([[0.8, 0.2]]), experiment, level_of(experiment))
    within = (np.array([0.8, 0.2]) ** 2 * true * (1 - true)).sum() / 2000
    assert np.diag(found.own) == pytest.approx(within, rel=0.1)
    # As one sample of independent images it would be more than twice that.
    risk = 0.8 * 0.02 + 0.2 * 0.6
    assert risk * (1 - risk) * (0.64 + 0.04) / 2000 > 2 * within


def coverage(rng, repetitions, clusters, labelled):
    """Share of intervals that hold the truth: two rates, then their difference."""
    risks, mix = np.array([0.01, 0.05, 0.04]), np.array([[0.9, 0.1, 0.0], [0.0, 0.2, 0.8]])
    easier = expit(logit(risks) - 0.6 * labelled)
    truth = mix @ easier
    truth, inside = np.append(truth, truth[0] - truth[1]), []
    for _ in range(repetitions):
        experiment = draw(rng, clusters, risks, together=0.6)
        faces = labels(rng, 300, easier, mix.mean(axis=0)) if labelled else None
        try:
            found = standardise(mix, experiment, level_of(experiment, faces))
        except ValueError:  # no intercept
            continue
        ends = zip(rate_intervals(found), difference_intervals(found, FIRST, SECOND), strict=True)
        low, high = (np.concatenate(both) for both in ends)
        inside.append((low <= truth) & (truth <= high))
    return np.mean(inside, axis=0)


@pytest.mark.parametrize(("clusters", "labelled"), [(25, False), (100, False), (100, True)])
def test_intervals_of_rare_errors_in_uneven_mixes_hold_the_truth(clusters, labelled):
    covered = coverage(np.random.default_rng(4), 500, clusters, labelled)
    assert (covered > 0.92).all(), covered
