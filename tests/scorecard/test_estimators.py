"""Estimators on many audits, against the same regression on a table of images."""

import numpy as np
import pandas as pd
import pytest

from helpers import effects, scorecard
from helpers.scorecard import estimators, observed_audits
from helpers.scorecard.estimators import as_frame, resample_images
from helpers.scorecard.repeated_audits import draw
from helpers.utils import seeding

AXES = ["skin_colour", "hair_length", "gender"]


def test_the_logit_of_an_audit_equals_the_papers_on_its_images(pool):
    audits = draw(pool, 40, 2, seed=5)
    table = scorecard.logit_audits(audits, AXES, n_boot=3)
    frame = as_frame(audits[1:], AXES)
    levels = frame[[f"{name}_level" for name in AXES]].to_numpy()
    X = np.stack([1 - levels, levels], axis=2).reshape(len(levels), -1)
    beta = effects.paper_logit(X, frame["error"])
    # Dark against light skin of short-haired women: skin is the first pair of columns.
    women = np.array([[1, 0, 1, 0, 1, 0], [0, 1, 1, 0, 1, 0]])
    light, dark = 1 / (1 + np.exp(-(beta[0] + women @ beta[1:])))
    cell = table.query("audit == 1 and attribute == 'skin_colour'").iloc[0]
    assert (cell["hair_length"], cell["gender"]) == (0, 0)
    assert cell["estimate"] == pytest.approx(dark - light, abs=1e-9)


def test_bootstraps_of_images_and_transects_agree_on_independent_images():
    audits = scorecard.null_audits(200, (2, 2, 2), 20, rate=0.2, icc=1e-6, seed=1)
    widths = {}
    for unit in ("images", "transects"):
        table = scorecard.logit_audits(audits, AXES, resample=unit, n_boot=200)
        widths[unit] = (table["high"] - table["low"]).mean()
    assert widths["images"] == pytest.approx(widths["transects"], rel=0.05)


def test_audits_at_once_do_not_matter(pool, monkeypatch):
    frame = as_frame(draw(pool, 100, 1, seed=5), AXES).rename(columns={"error": "error_a"})

    def difference(samples):
        return effects.risk_differences(
            samples, "error", "gender_level", by="audit", adjust=["hair_length_level"]
        )

    def estimate():
        of, audits = {"difference": difference}, draw(pool, 30, 5, seed=5)
        return [
            scorecard.observational_audits(frame, ["a"], of, 90, 5, seed=1, null_rate=0.1),
            scorecard.g_computation_audits(audits, AXES),
        ]

    whole = estimate()
    for module in (estimators, observed_audits):
        monkeypatch.setattr(module, "AUDITS_AT_ONCE", 2)
    for one, other in zip(whole, estimate(), strict=True):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    random = seeding.rng(1, "scorecard: portraits", 3)
    alone = frame.iloc[random.integers(len(frame), size=90)].rename(columns={"error_a": "error"})
    expected = difference(alone.assign(audit=3))[["estimate", "low", "high", "p"]]
    found = whole[0].set_index("audit").loc[[3], expected.columns]
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_resampled_images_keep_their_number_and_their_rates():
    counts = np.array([60, 20, 15, 5])  # two patterns: right answers, then errors
    trials, errors = resample_images(counts, 4000, np.random.default_rng(0))
    assert (trials[0].tolist(), errors[0].tolist()) == ([75, 25], [15, 5])
    assert (trials.sum(axis=1) == 100).all()
    np.testing.assert_allclose(trials[1:].mean(axis=0), [75, 25], atol=0.3)
    np.testing.assert_allclose(errors[1:].var(axis=0), [15 * 0.85, 5 * 0.95], rtol=0.1)


def test_g_computation_of_an_audit_equals_the_effects_of_its_images(pool):
    audits = draw(pool, 40, 2, seed=5)
    table = scorecard.g_computation_audits(audits, AXES).query("attribute == 'skin_colour'")
    table = table[table["gender"].notna()]
    by = ["hair_length_level", "gender_level"]
    for number, audit in enumerate(audits):
        frame = as_frame(audit[None], AXES)
        expected = effects.risk_differences(frame, "error", "skin_colour_level", by, "transect")
        found = table[table["audit"] == number]
        np.testing.assert_allclose(found[["low", "high"]], expected[["low", "high"]])


def test_averages_are_those_of_the_pairs_the_rates_and_the_cells(pool):
    audits = draw(pool, 60, 3, seed=5)
    frame = as_frame(audits[2:], AXES)
    pairs = effects.all_matched_effects(frame, "error", AXES, "transect")
    pairs = pairs[pairs[AXES].isna().all(axis=1)].set_index("attribute")
    matched = scorecard.matched_averages(audits, AXES).query("audit == 2").set_index("attribute")
    assert matched[AXES].isna().all(axis=None)
    for name in ("estimate", "low", "high", "p"):
        np.testing.assert_allclose(matched[name], pairs.loc[AXES, name])
    tables = {
        "g-computation": scorecard.g_computation_audits(audits, AXES),
        "logit": scorecard.logit_audits(audits, AXES, with_="gender", n_boot=3),
    }
    for name, table in tables.items():
        whole = table[AXES].isna().all(axis=1)
        average = table[whole].query("audit == 2").set_index("attribute")["estimate"]
        cells = table[~whole].query("audit == 2").groupby("attribute")["estimate"].mean()
        np.testing.assert_allclose(average[AXES], cells[AXES], err_msg=name)
    rates = effects.risk_differences(frame, "error", "gender_level", cluster="transect")
    found = tables["g-computation"].query("audit == 2 and attribute == 'gender'").iloc[-1]
    assert found["low"] == pytest.approx(rates.loc["all", "low"])


def test_a_main_effects_logit_without_penalty_gives_the_matched_average(pool):
    # Where every transect is complete its fitted rates at each level are those that were counted.
    frame = as_frame(draw(pool, 60, 1, seed=5), AXES)
    levels = [f"{name}_level" for name in AXES]
    matched = scorecard.matched_averages(draw(pool, 60, 1, seed=5), AXES)
    for name in levels:
        others = [other for other in levels if other != name]
        fitted = effects.risk_differences(frame, "error", name, adjust=others)
        pair = matched[matched["attribute"] == name.removesuffix("_level")]
        assert fitted.loc["all", "estimate"] == pytest.approx(pair["estimate"].item(), abs=1e-8)
