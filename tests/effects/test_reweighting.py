"""Transported rates against loops over strata, and a population that is known."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.special import expit, logit
from scipy.stats import norm, t
from statsmodels.stats.proportion import proportion_confint

from helpers.effects import calibrate_intercept, ratio_interval, transport

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
    male, dark = rng.random(n) < 0.5, rng.random(n) < 0.5
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
    frame, target = experiment(60, 0), population(300, 1)
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


def test_neither_the_order_of_rows_nor_the_names_of_transects_matter():
    frame, target = experiment(20, 0), population(100, 1)
    table = transport(frame, "error", STRATA, target, "transect", ["skin"])
    other = frame.sample(frac=1, random_state=0).assign(transect=lambda it: 99 - it["transect"])
    mixed = target.sample(frac=1, random_state=1)
    again = transport(other, "error", STRATA, mixed, "transect", ["skin"])
    pd.testing.assert_frame_equal(table, again)


def test_missing_strata_are_named_and_bounded():
    frame, target = experiment(40, 0), population(500, 1)
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


def test_a_group_without_any_stratum_has_no_estimate():
    frame, target = experiment(20, 0), population(200, 1)
    women = frame[frame["gender"] == "female"]
    table = transport(women, "error", STRATA, target, "transect", ["gender"])
    male = table.query("group == 'male'").iloc[0]
    assert np.isnan(male[["estimate", "low", "high"]].astype(float)).all()
    assert (male["lower"], male["upper"], male["missing"], male["n"]) == (0, 1, 1, 0)
    gap = table.query("kind == 'difference'").iloc[0]
    assert np.isnan(gap[["estimate", "low", "high"]].astype(float)).all()
    assert gap["upper"] - gap["lower"] == pytest.approx(1)


@pytest.mark.parametrize("outcome", [0, 1])
def test_without_any_error_or_with_errors_only_transects_count_as_one_image(outcome):
    frame, target = experiment(30, 0), population(300, 1)
    frame.loc[frame["gender"] == "male", "error"] = outcome
    table = transport(frame, "error", STRATA, target, "transect", ["gender"])
    male = table.query("group == 'male'").iloc[0]
    student = 2 * norm.sf(t.ppf(0.975, 29))
    low, high = proportion_confint(30 * outcome, 30, alpha=student, method="wilson")
    assert male["estimate"] == pytest.approx(outcome)
    np.testing.assert_allclose(male[["low", "high"]].astype(float), [low, high], atol=1e-12)
    # The difference is Newcombe's: rates without any variation have no correlation.
    female = table.query("group == 'female' and kind == 'rate'").iloc[0]
    gap = table.query("kind == 'difference'").iloc[0]
    below = np.hypot(female["estimate"] - female["low"], high - outcome)
    above = np.hypot(female["high"] - female["estimate"], outcome - low)
    assert gap["low"] == pytest.approx(gap["estimate"] - below)
    assert gap["high"] == pytest.approx(gap["estimate"] + above)


def test_the_intercept_is_that_of_a_logit_with_an_offset():
    rng = np.random.default_rng(0)
    rates, n = rng.uniform(0.02, 0.4, 8), rng.integers(5, 60, 8)
    errors = rng.binomial(n, expit(logit(rates) + 0.7))
    fit = sm.GLM(
        np.column_stack([errors, n - errors]),
        np.ones((8, 1)),
        family=sm.families.Binomial(),
        offset=logit(rates),
    ).fit(tol=1e-12)
    assert calibrate_intercept(rates, n, errors.sum()) == pytest.approx(fit.params[0], abs=1e-6)


def test_a_calibrated_prediction_follows_easier_photographs():
    shift = -0.8
    frame, target = experiment(1500, 0), population(4000, 1, shift)
    labelled = population(3000, 2, shift)
    arguments = (frame, "error", STRATA, target, "transect", ["gender", "skin"])
    plain = transport(*arguments).set_index(["kind", "group", "reference"])
    table = transport(*arguments, labelled=labelled)
    assert table.attrs["intercept"] == pytest.approx(shift, abs=0.2)
    calibrated = table.set_index(["kind", "group", "reference"])
    truth = target.assign(risk=risk(target, shift))["risk"].mean()
    overall = ("rate", "all", "")
    assert abs(calibrated.loc[overall, "estimate"] - truth) < 0.01
    assert plain.loc[overall, "estimate"] - truth > 0.03
    # The labelled sample is small beside the experiment: its noise must show.
    tiny = transport(*arguments, labelled=labelled.head(100)).iloc[0]
    calibrated_width = calibrated.loc[overall, "high"] - calibrated.loc[overall, "low"]
    assert tiny["high"] - tiny["low"] > 2 * calibrated_width


def test_bad_arguments_are_named():
    frame, target = experiment(5, 0), population(50, 1)

    def call(frame=frame, target=target, strata=STRATA, by=(), **options):
        return transport(frame, "error", strata, target, "transect", by, **options)

    wrong = {
        "columns among the strata": {"by": ["age"]},
        "by is \\[\\]: columns among the strata \\[\\]": {"strata": []},
        "no column \\['skin'\\]": {"target": target.drop(columns="skin")},
        "target has no rows": {"target": target.iloc[:0]},
        "column 'skin', row 3 is .*, a level was expected": {
            "target": target.assign(skin=target["skin"].where(target.index != 3))
        },
        "column 'error', row 0 is 0.5, 0 or 1 was": {"frame": frame.assign(error=0.5)},
        "no cluster identifier": {"frame": frame.assign(transect=np.nan)},
        "at least two clusters": {"frame": frame.assign(transect=1)},
        "errors is 0: a shift": {"labelled": target.assign(error=0)},
        "fewer than two faces": {"labelled": target.assign(skin="green")},
    }
    for message, options in wrong.items():
        with pytest.raises(ValueError, match=message):
            call(**options)
    with pytest.raises(ValueError, match="rates in \\[0, 1\\]"):
        calibrate_intercept([0.1, 1.2], [5, 5], 3)
    with pytest.raises(ValueError, match="errors is 10: .* fewer than 10 errors"):
        calibrate_intercept([0.1, 0.2], [5, 5], 10)


def test_limits_of_a_ratio_are_where_the_difference_is_just_significant():
    top, bottom = (0.05, 0.03, 0.07), (0.10, 0.06, 0.14)
    low, high = ratio_interval(top, bottom)
    assert low < 0.5 < high
    for share in (low, high):
        margin = np.hypot(0.02, share * 0.04)
        assert abs(0.05 - share * 0.10) == pytest.approx(margin)
    assert ratio_interval(top, (0.10, -0.01, 0.21)) == (-np.inf, np.inf)


def test_ratio_intervals_cover_the_ratio():
    rng, covered = np.random.default_rng(0), []
    for a, b in zip(rng.normal(0.05, 0.02, 400), rng.normal(0.1, 0.02, 400), strict=True):
        spans = [(x, x - 1.96 * 0.02, x + 1.96 * 0.02) for x in (a, b)]
        low, high = ratio_interval(*spans)
        covered.append(low <= 0.5 <= high)
    assert np.mean(covered) == pytest.approx(0.95, abs=0.03)
