"""Transported rates against loops, a jackknife and statsmodels, and a population that is known."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.special import expit, logit, ndtri
from scipy.stats import norm, t
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from faceaudit.effects import ratio_interval, transport
from faceaudit.effects.reweighting import (
    Experiment,
    calibrate_intercept,
    difference_intervals,
    rate_intervals,
    shifted_level,
    standardise,
    unshifted_level,
)
from faceaudit.effects.verdicts import Z

STRATA = ["skin", "hair", "gender"]
NAMES = {"skin": ["light", "dark"], "hair": ["short", "long"], "gender": ["female", "male"]}


def risk(frame, shift=0.0):
    dark, long, male = (frame[c] == NAMES[c][1] for c in STRATA)
    return expit(-2.5 + 1.0 * dark - 1.5 * (long & ~male) + 0.8 * (long & male) + shift)


def experiment(n, seed):
    rng = np.random.default_rng(seed)
    cells = pd.DataFrame(list(product(*NAMES.values())), columns=STRATA)
    frame = pd.concat([cells] * n, ignore_index=True)
    chance = risk(frame) * np.repeat(rng.uniform(0.1, 1.9, n), 8)
    errors = (rng.random(8 * n) < chance).astype(int)
    return frame.assign(transect=np.repeat(np.arange(n), 8), error=errors)


def population(n, seed, shift=0.0):
    """Dark-skinned women mostly short-haired, as in a PPB-like sample."""
    rng = np.random.default_rng(seed)
    male = rng.random(n) < 0.5
    dark = rng.random(n) < 0.5
    long = rng.random(n) < np.where(male, 0.1, np.where(dark, 0.2, 0.8))
    levels = {"skin": dark, "hair": long, "gender": male}
    frame = pd.DataFrame({c: np.take(NAMES[c], v.astype(int)) for c, v in levels.items()})
    return frame.assign(error=(rng.random(n) < risk(frame, shift)).astype(int))


def loop_rate(images, target):
    """R(P), stratum by stratum."""
    total = 0.0
    for cell, part in target.groupby(STRATA):
        here = np.logical_and.reduce([images[c] == v for c, v in zip(STRATA, cell, strict=True)])
        total += len(part) / len(target) * images.loc[here, "error"].mean()
    return total


def test_rates_and_differences_against_loops():
    frame = experiment(60, 0)
    target = population(300, 1)
    table = transport(frame, "error", STRATA, target, "transect", ["gender", "skin"])
    groups = [part for _, part in target.groupby(["gender", "skin"])]
    expected = [loop_rate(frame, part) for part in [target, *groups]]
    rates = table[table["kind"] == "rate"]
    assert rates["group"].tolist() == [
        "all",
        *(f"{g}, {s}" for g in ("female", "male") for s in ("dark", "light")),
    ]
    np.testing.assert_allclose(rates["estimate"], expected)
    np.testing.assert_allclose(rates[["lower", "upper"]], np.transpose([expected] * 2))
    gap = table[table["group"].eq("female, dark") & table["reference"].eq("female, light")]
    assert gap["estimate"].item() == pytest.approx(expected[1] - expected[2])
    assert len(table) == 5 + 6
    assert (table["missing"] == 0).all() and (table["reason"] == "").all()
    assert table.attrs["intercept"] == 0


def test_missing_strata_are_named_and_bounded():
    frame = experiment(40, 0)
    target = population(500, 1)
    seen = frame[~((frame["hair"] == "long") & (frame["gender"] == "male"))]
    table = transport(seen, "error", STRATA, target, "transect", ["gender"])
    table = table.set_index(["kind", "group"])
    male = table.loc[("rate", "male")]
    lost = target[target["gender"] == "male"]["hair"].eq("long").mean()
    assert male["missing"] == pytest.approx(lost)
    assert male["reason"] == "not in the experiment: dark/long/male; light/long/male"
    assert male["upper"] - male["lower"] == pytest.approx(lost)
    covered = target[(target["gender"] == "male") & (target["hair"] == "short")]
    assert male["estimate"] == pytest.approx(loop_rate(frame, covered))
    assert male["lower"] == pytest.approx((1 - lost) * male["estimate"])
    complete = loop_rate(frame, target[target["gender"] == "male"])
    assert male["lower"] <= complete <= male["upper"]
    difference = table.loc[("difference", "female")]
    assert difference["reason"].startswith("male not in the experiment")
    assert difference["missing"] == pytest.approx(lost)
    assert difference["upper"] - difference["lower"] == pytest.approx(lost)
    assert table.loc[("rate", "female"), "reason"] == ""


def test_the_intercept_is_that_of_a_logit_with_an_offset():
    rng = np.random.default_rng(0)
    rates = rng.uniform(0.02, 0.4, 8)
    n = rng.integers(5, 60, 8)
    errors = rng.binomial(n, expit(logit(rates) + 0.7))
    fit = sm.GLM(
        np.column_stack([errors, n - errors]),
        np.ones((8, 1)),
        family=sm.families.Binomial(),
        offset=logit(rates),
    ).fit(tol=1e-12)
    assert calibrate_intercept(rates, n, errors.sum()) == pytest.approx(fit.params[0], abs=1e-6)


def test_limits_of_a_ratio_are_where_the_difference_is_just_significant():
    top = (0.05, 0.03, 0.07)
    bottom = (0.10, 0.06, 0.14)
    for covariance in (0.0, 1e-4, -1e-4):
        low, high = ratio_interval(top, bottom, covariance)
        assert low < 0.5 < high
        for share in (low, high):
            square = 0.02**2 + (share * 0.04) ** 2 - 2 * share * Z**2 * covariance
            assert abs(0.05 - share * 0.10) == pytest.approx(np.sqrt(square))
    assert ratio_interval(top, (0.10, -0.01, 0.21)) == (-np.inf, np.inf)


FIRST = np.array([0])
SECOND = np.array([1])
MIX = np.array([[0.6, 0.4, 0.0], [0.1, 0.0, 0.9]])


def draw(rng, clusters, risks, together=0.0, kept=1.0, each=1):
    """So many images of a cluster in every stratum; a normal effect makes their errors alike."""
    shared = np.sqrt(together) * rng.standard_normal((clusters, 1, 1))
    own = np.sqrt(1 - together) * rng.standard_normal((clusters, len(risks), each))
    images = rng.random(own.shape) < kept
    errors = images & (shared + own < ndtri(risks)[:, None])
    return Experiment(*(part.sum(axis=2).astype(float) for part in (images, errors)))


def draw_labels(rng, n, risks, mix):
    stratum = rng.choice(len(mix), n, p=mix)
    return stratum, (rng.random(n) < risks[stratum]).astype(int)


def level_of(experiment, faces=None):
    rates = experiment.rates
    if faces is None:
        return unshifted_level(rates)
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
    rng = np.random.default_rng(3)
    true = np.array([0.3, 0.2, 0.4])
    # Several images in one stratum each: ties make variances larger than the least that is taken.
    whole = draw(rng, 300, true, together=0.5, kept=0.8, each=4)
    one = np.arange(300)[:, None] % 3 == np.arange(3)
    experiment = Experiment(whole.images * one, whole.errors * one)
    harder = expit(logit(true) + 0.7)
    faces = draw_labels(rng, 200, harder, np.array([0.4, 0.2, 0.4])) if labelled else None
    found = standardise(MIX, experiment, level_of(experiment, faces))
    by_cluster, by_face = risks_without(experiment, faces)
    np.testing.assert_allclose(found.cluster_covariance, jackknife(by_cluster), rtol=0.03)
    if labelled:
        np.testing.assert_allclose(found.face_covariance, jackknife(by_face), rtol=0.03)
    else:
        assert not found.face_covariance.any()
    variance = np.diag(found.cluster_covariance + found.face_covariance)
    np.testing.assert_allclose(found.size, found.risk * (1 - found.risk) / variance)


def as_student(df):
    """The level at which statsmodels' normal quantile is Student's for 95%."""
    return 2 * norm.sf(t.ppf(0.975, df))


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


def coverage(rng, repetitions, clusters, labelled):
    """Share of intervals that hold the truth: two rates, then their difference."""
    risks = np.array([0.01, 0.05, 0.04])
    mix = np.array([[0.9, 0.1, 0.0], [0.0, 0.2, 0.8]])
    easier = expit(logit(risks) - 0.6 * labelled)
    truth = mix @ easier
    truth = np.append(truth, truth[0] - truth[1])
    inside = []
    for _ in range(repetitions):
        experiment = draw(rng, clusters, risks, together=0.6)
        faces = draw_labels(rng, 300, easier, mix.mean(axis=0)) if labelled else None
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
