"""Matched effects against McNemar, Cochran's Q, exact coverage and simulation."""

from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom, norm, ttest_1samp
from scipy.stats import t as student
from simulated import AXES, transect_frame
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from helpers.effects import (
    all_matched_effects,
    holm,
    matched_effects,
    mcnemar,
    paired_interval,
)
from helpers.scorecard import truth

# --- intervals of paired proportions


def test_tango_limits_are_where_the_score_test_turns():
    worse, better, n, z = 12, 2, 50, norm.ppf(0.975)

    def score(delta):
        def loss(risk):  # of the restricted likelihood, as a function of P(better)
            cells = np.array([risk + delta, risk, 1 - 2 * risk - delta])
            return -np.array([worse, better, n - worse - better]) @ np.log(cells)

        bounds = max(0, -delta) + 1e-9, (1 - delta) / 2 - 1e-9
        risk = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x
        return (worse - better - n * delta) / np.sqrt(n * (2 * risk + delta - delta**2))

    low, high = paired_interval(worse, better, n, z)
    assert score(low) == pytest.approx(z, abs=1e-4)
    assert score(high) == pytest.approx(-z, abs=1e-4)


def test_the_interval_never_collapses():
    z = norm.ppf(0.975)
    low, high = paired_interval(0, 0, 400, z)
    assert -low == pytest.approx(high) == pytest.approx(z**2 / (400 + z**2))
    assert paired_interval(5, 0, 5, z)[1] == 1
    assert paired_interval(0, 5, 5, z)[0] == -1
    low, high = paired_interval(3, 8, 60, z)
    np.testing.assert_allclose(paired_interval(8, 3, 60, z), (-high, -low))


@pytest.mark.parametrize(
    ("worse", "better"),
    [(0.01, 0), (0.005, 0.005), (0.02, 0), (0.02, 0.01), (0.05, 0.05), (0.1, 0), (0.08, 0.02)],
)
def test_coverage_at_400_pairs_is_exact_enough(worse, better):
    """The exact coverage, summed over all tables: at least 93 % with 1 to 10 % discordant."""
    n, z = 400, norm.ppf(0.975)
    limits = cache(lambda b, c: paired_interval(b, c, n, z))
    covered = 0.0
    for b in range(int(binom.ppf(1e-6, n, worse)), int(binom.ppf(1 - 1e-6, n, worse)) + 1):
        rest = n - b, better / (1 - worse)
        for c in range(int(binom.ppf(1e-6, *rest)), int(binom.ppf(1 - 1e-6, *rest)) + 1):
            low, high = limits(b, c)
            if low <= worse - better <= high:
                covered += binom.pmf(b, n, worse) * binom.pmf(c, *rest)
    assert 0.93 <= covered <= 0.97


# --- McNemar's test


def test_mid_p_counts_the_observed_split_half():
    for n in (1, 2, 9, 30):
        split = np.arange(n + 1)
        chance = binom.pmf(split, n, 0.5)
        lower = np.cumsum(chance) - chance / 2
        upper = np.cumsum(chance[::-1])[::-1] - chance / 2
        np.testing.assert_allclose(mcnemar(split, n - split), 2 * np.minimum(lower, upper))


def test_mid_p_and_the_interval_say_the_same_but_for_borderline_splits():
    contradicted = []
    for worse, better in combinations(range(41), 2):
        low, high = paired_interval(worse, better, 400, norm.ppf(0.975))
        excluded = low > 0 or high < 0
        assert excluded or mcnemar(worse, better) > 0.05
        if excluded and mcnemar(worse, better) > 0.05:
            contradicted.append((better, worse))
    assert contradicted == [(4, 0), (15, 6), (18, 8), (21, 10)]


@pytest.mark.parametrize("n", [25, 50, 100, 400])
@pytest.mark.parametrize("discordant", [0.02, 0.05, 0.1, 0.3])
def test_mid_p_keeps_its_level_and_wastes_less_of_it_than_the_exact_test(n, discordant):
    """Summed over all counts; the exact test may be told from mid-p by its larger p alone."""
    many = np.arange(n + 1)[:, None]
    worse = np.arange(n + 1)[None, :].clip(max=many)
    chance = binom.pmf(many, n, discordant) * binom.pmf(worse, many, 0.5)
    chance[np.arange(n + 1)[None, :] > many] = 0
    p = mcnemar(worse, many - worse)
    exact = np.minimum(p + binom.pmf(worse, many, 0.5), 1)
    assert chance.sum() == pytest.approx(1)
    rejected, rejected_exactly = ((chance * (q < 0.05)).sum() for q in (p, exact))
    assert rejected_exactly < rejected <= 0.0501 or rejected < 1e-4


# --- matched effects


def test_a_cell_counts_its_pairs():
    frame = transect_frame(200, lambda skin, hair, gender: 0.1 + 0.2 * skin * gender, seed=1)
    effects = matched_effects(
        frame, "error", "skin_level", ["hair_level", "gender_level"], "transect"
    )
    assert list(effects.columns) == [
        *("estimate", "low", "high", "p", "p_holm", "n", "transects", "missing"),
        *("dropped", "worse", "better", "verdict", "mde", "reason"),
    ]
    for (hair, gender), row in effects.iterrows():
        cell = frame[(frame["hair_level"] == hair) & (frame["gender_level"] == gender)]
        wide = cell.pivot_table(index="transect", columns="skin_level", values="error")
        assert row["estimate"] == pytest.approx((wide[1] - wide[0]).mean())
        assert (row["n"], row["transects"], row["missing"]) == (200, 200, 0)
        table = pd.crosstab(wide[0], wide[1])
        assert (row["worse"], row["better"]) == (table.loc[0, 1], table.loc[1, 0])
        exact = statsmodels_mcnemar(table, exact=True).pvalue
        discordant = [table.loc[0, 1], table.loc[1, 0]]
        half = binom.pmf(min(discordant), sum(discordant), 0.5)
        assert row["p"] == pytest.approx(exact - half)
    np.testing.assert_allclose(effects["p_holm"], holm(effects["p"]))


def test_the_average_is_close_to_the_t_test_of_transect_means():
    risk = lambda skin, hair, gender: 0.15 + 0.1 * skin  # noqa: E731
    frame = transect_frame(300, risk, seed=2, dependence=0.4)
    row = matched_effects(frame, "error", "skin_level", [], "transect").loc["all"]
    means = frame.pivot_table(index="transect", columns="skin_level", values="error")
    test = ttest_1samp(means[1] - means[0], 0)
    interval = test.confidence_interval()
    assert row["estimate"] == pytest.approx((means[1] - means[0]).mean())
    np.testing.assert_allclose([row["low"], row["high"]], interval, atol=0.003)
    assert np.log10(row["p"]) == pytest.approx(np.log10(test.pvalue), rel=0.2)
    assert row["n"] == 1200 and row["transects"] == 300


def test_coverage_of_the_average_with_dependent_rare_errors():
    base, effect, hits = 0.03, 0.02, []
    for seed in range(250):
        frame = transect_frame(
            100, lambda skin, hair, gender: base + effect * skin, seed, dependence=0.5
        )
        frame = frame[np.random.default_rng(seed).random(len(frame)) < 0.8]
        row = matched_effects(frame, "error", "skin_level", [], "transect").iloc[0]
        hits.append(row["low"] <= effect <= row["high"])
    assert 0.91 <= np.mean(hits) <= 0.99


def test_the_null_is_not_rejected_too_often():
    flagged = 0
    for seed in range(60):
        frame = transect_frame(60, lambda skin, hair, gender: 0.1 + 0 * skin, seed, dependence=0.3)
        by = ["hair_level", "gender_level"]
        flagged += (
            matched_effects(frame, "error", "skin_level", by, "transect")["p_holm"] < 0.05
        ).any()
    assert flagged <= 6


def test_no_discordant_pair_is_no_certainty():
    frame = transect_frame(100, lambda skin, hair, gender: 0.0 * skin, seed=1)
    for by in ([], ["gender_level"], ["hair_level", "gender_level"]):
        effects = matched_effects(frame, "error", "skin_level", by, "transect")
        assert (effects["estimate"] == 0).all() and (effects["p"] == 1).all()
        assert (effects["high"] > 0.02).all() and (effects["low"] < -0.02).all()


def test_what_has_no_pair_says_why():
    frame = transect_frame(30, lambda skin, hair, gender: 0.3 + 0 * skin, seed=1)
    absent = (frame["gender_level"] == 1) & (frame["skin_level"] == 0)
    short = frame[~absent | ((frame["transect"] == 4) & (frame["hair_level"] == 0))]
    effects = matched_effects(
        short, "error", "skin_level", ["hair_level", "gender_level"], "transect"
    )
    assert effects.loc[(1, 1), "reason"] == "no pair"
    assert effects.loc[(1, 1), ["estimate", "low", "high", "p", "p_holm"]].isna().all()
    assert effects.loc[(1, 1), "missing"] == 30
    assert effects.loc[(0, 1), "reason"] == "one transect"
    assert effects.loc[(0, 1), ["low", "high", "p", "p_holm"]].isna().all()
    assert effects.loc[[(0, 0), (1, 0)], "reason"].eq("").all()
    constant = matched_effects(
        frame[frame["skin_level"] == 1], "error", "skin_level", [], "transect"
    )
    assert constant.loc["all", "reason"] == "no pair"


def test_all_effects_have_the_keys_and_values_of_the_truth():
    frame = transect_frame(60, lambda skin, hair, gender: 0.2 + 0.3 * skin * gender, seed=3)
    names = [axis.removesuffix("_level") for axis in AXES]
    effects = all_matched_effects(frame, "error", names, "transect")
    ordered = frame.sort_values(["transect", *AXES])
    expected = truth.effects(ordered["error"].to_numpy(float).reshape(60, 2, 2, 2), names)
    both = effects.merge(expected, on=["attribute", *names], validate="1:1")
    assert len(both) == len(effects) == len(expected) == 27
    np.testing.assert_allclose(both["estimate"], both["effect"])
    cells = effects[names].notna().sum(axis=1) == 2
    np.testing.assert_allclose(effects.loc[cells, "p_holm"], holm(effects.loc[cells, "p"]))
    assert cells.sum() == 12 and effects.loc[~cells, "p_holm"].isna().all()


@pytest.mark.parametrize("by", [[], AXES[1:]])
def test_rates_of_several_answers_are_compared_too(by):
    """The interval holds the true difference as often as it says, whatever the pairs share."""

    def share_of_five(audit):
        frame = transect_frame(60, lambda skin, hair, gender: 0.2 + 0 * skin, audit, dependence=0.5)
        rng = np.random.default_rng(audit)
        risk = np.clip(0.1 + 0.2 * frame["skin_level"] + 0.4 * frame["error"], 0, 1)
        return frame.assign(error=rng.binomial(5, risk) / 5)

    rows = [
        matched_effects(share_of_five(audit), "error", AXES[0], by, "transect").iloc[0]
        for audit in range(400)
    ]
    table = pd.DataFrame(rows)
    covered = ((table["low"] <= 0.2) & (table["high"] >= 0.2)).mean()
    assert 0.92 <= covered <= 0.98
    width, spread = (table["high"] - table["low"]).mean(), table["estimate"].std()
    assert width / (2 * 1.96 * spread) == pytest.approx(1, abs=0.15)
    assert table["estimate"].mean() == pytest.approx(0.2, abs=0.01)
    frame = share_of_five(0)
    pairs = frame.pivot_table("error", ["transect", *AXES[1:]], AXES[0])
    whole = matched_effects(frame, "error", AXES[0], [], "transect").loc["all"]
    assert whole["estimate"] == pytest.approx((pairs[1] - pairs[0]).mean())
    assert whole["worse"] == (pairs[1] - pairs[0] > 0).sum()


@pytest.mark.parametrize("transects", [2, 3, 5, 20])
def test_few_transects_detect_no_less_than_their_interval_is_wide(transects):
    frame = transect_frame(transects, lambda skin, hair, gender: 0.5 + 0 * skin, seed=1)
    row = matched_effects(frame, "error", "skin_level", [], "transect").loc["all"]
    half = (row["high"] - row["low"]) / 2
    quantiles = student.ppf([0.975, 0.8], transects - 1)
    assert row["mde"] == pytest.approx(half * quantiles.sum() / quantiles[0])
    assert row["mde"] > half


def test_images_that_lack_something_are_left_out_and_counted():
    frame = transect_frame(40, lambda skin, hair, gender: 0.3 + 0.2 * skin, seed=1)
    lacking = frame.astype(float)
    lacking.loc[lacking.index[:3], "error"] = np.nan  # the first gender, in the first transect
    lacking.loc[[9, 17], "transect"] = np.nan
    lacking.loc[30, "skin_level"] = np.nan
    lost = lacking.isna().any(axis=1)
    arguments = "error", "skin_level", ["gender_level"], "transect"
    table, reference = (
        matched_effects(lacking, *arguments),
        matched_effects(frame[~lost], *arguments),
    )
    assert table["dropped"].tolist() == frame[lost].groupby("gender_level").size().tolist()
    assert (table["n"] + table["missing"] == 80).all() and (reference["dropped"] == 0).all()
    shown = [column for column in table if column != "dropped"]
    pd.testing.assert_frame_equal(table[shown], reference[shown], check_index_type=False)
    nothing = matched_effects(frame.assign(error=np.nan), *arguments)
    assert (nothing["reason"] == "no pair").all() and (nothing["dropped"] == 160).all()
