"""The paper's regression against scikit-learn; matched effects against McNemar and simulation."""

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom, norm, ttest_1samp
from sklearn.linear_model import LogisticRegression
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from helpers import truth
from helpers.effects import (
    all_matched_effects,
    bootstrap_paper_logit,
    holm,
    interaction_columns,
    log_odds_ratios,
    matched_effects,
    paired_interval,
    paper_columns,
    paper_logit,
    regression_draws,
    summarize_draws,
)
from helpers.resampling import cluster_weights

AXES = ["skin_level", "hair_level", "gender_level"]
SCORES = ["gender", "facial_hair", "skin_colour", "age", "makeup", "smiling", "hair_length"]


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    scores = pd.DataFrame(rng.random((800, 7)), columns=SCORES)
    return scores.assign(age=0.4 + 0.6 * scores["age"])


@pytest.fixture
def regression(scores):
    """Covariates, errors and transects of eight images."""
    rng = np.random.default_rng(1)
    X = paper_columns(scores)
    log_odds = -2 + 1.5 * X["gender", "Female"] - X["hair_length", "Long hair"]
    error = (rng.random(len(X)) < 1 / (1 + np.exp(-log_odds))).astype(int)
    return X, error, np.arange(len(X)) // 8


def transect_frame(n, risk, seed, dependence=0.0):
    """n transects of 2 x 2 x 2 images; `risk(skin, hair, gender)` is the chance of an error."""
    cells = np.array(list(product((0, 1), repeat=3)))
    frame = pd.DataFrame(np.tile(cells, (n, 1)), columns=AXES)
    rng = np.random.default_rng(seed)
    shared = np.repeat(rng.random(n), 8)
    common = rng.random(8 * n) < dependence
    chance = np.where(common, shared, rng.random(8 * n))
    error = chance < risk(*(frame[axis] for axis in AXES))
    return frame.assign(transect=np.repeat(np.arange(n), 8), error=error.astype(int))


def reference(X, error, weight=None):
    model = LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    model.fit(np.asarray(X), error, sample_weight=weight)
    return np.append(model.intercept_, model.coef_)


# --- the paper's columns


def test_the_paper_has_seventeen_columns(scores):
    X = paper_columns(scores)
    assert X.shape == (len(scores), 17)
    assert set(np.unique(X)) == {0.0, 1.0}
    assert (X.T.groupby(level="attribute").sum() == 1).all(axis=None)
    counts = X.columns.get_level_values("attribute").value_counts()
    assert sorted(counts) == [2, 2, 2, 2, 2, 3, 4]


def test_levels_of_one_face():
    face = pd.DataFrame(
        {
            **{"gender": [0.8], "facial_hair": [0.25], "skin_colour": [0.2], "age": [0.6]},
            **{"makeup": [1 / 3], "smiling": [0.75], "hair_length": [0.4]},
        }
    )
    X = paper_columns(face).iloc[0]
    assert set(X[X == 1].index.get_level_values("level")) == {
        *("Male", "No/minimal beard", "Light skin", "Adult", "No/light makeup", "Smile"),
        "Long hair",
    }


def test_children_and_missing_scores_are_refused(scores):
    with pytest.raises(ValueError, match="row 3 is a Child"):
        paper_columns(scores.assign(age=scores["age"].where(scores.index != 3, 0.0)))
    with pytest.raises(ValueError, match="'makeup', row 4"):
        paper_columns(scores.assign(makeup=scores["makeup"].where(scores.index != 4)))
    with pytest.raises(ValueError, match="no column .*smiling"):
        paper_columns(scores.drop(columns="smiling"))


def test_interactions_are_products(scores):
    X = paper_columns(scores)
    Z = interaction_columns(X, ["skin_colour", "hair_length"])
    assert Z.shape[1] == 17 + 8
    pd.testing.assert_frame_equal(Z[X.columns], X)
    column = Z["skin_colour x gender", "Dark skin, Female"]
    np.testing.assert_array_equal(column, X["skin_colour", "Dark skin"] * X["gender", "Female"])
    with pytest.raises(ValueError, match="no attribute .*glasses"):
        interaction_columns(X, ["glasses"])
    with pytest.raises(ValueError, match="itself"):
        interaction_columns(X, ["gender"])


# --- the paper's regression


def test_paper_logit_equals_scikit_learn(regression):
    X, error, _ = regression
    np.testing.assert_allclose(paper_logit(X, error), reference(X, error), atol=1e-6)


def test_levels_of_an_attribute_mirror_each_other(regression):
    X, error, _ = regression
    coefficients = pd.Series(paper_logit(X, error)[1:], X.columns)
    sums = coefficients.groupby(level="attribute").sum()
    np.testing.assert_allclose(sums, 0, atol=1e-9)
    # Each of two levels is half of the log odds ratio.
    weak = pd.Series(paper_logit(X[["gender"]], error, C=1e6)[1:], X[["gender"]].columns)
    rate = pd.Series(error).groupby(X["gender", "Male"].to_numpy()).mean()
    log_odds_ratio = np.log(rate[1] / (1 - rate[1])) - np.log(rate[0] / (1 - rate[0]))
    assert weak["gender", "Male"] == pytest.approx(log_odds_ratio / 2, abs=1e-4)
    assert weak["gender", "Female"] == pytest.approx(-log_odds_ratio / 2, abs=1e-4)


@pytest.mark.parametrize("clustered", [True, False])
def test_bootstrap_equals_a_loop_over_the_same_resamples(regression, clustered):
    X, error, transect = regression
    cluster = transect if clustered else np.arange(len(X))
    fitted = bootstrap_paper_logit(X, error, 6, seed=5, cluster=transect if clustered else None)
    weights = cluster_weights(cluster, 6, seed=5)
    for row, weight in zip(fitted, weights, strict=True):
        np.testing.assert_allclose(row, reference(X, error, weight[cluster]), atol=1e-6)


def test_bootstrap_does_not_depend_on_chunks(regression):
    X, error, transect = regression
    whole = bootstrap_paper_logit(X, error, 23, seed=2, cluster=transect)
    parts = bootstrap_paper_logit(X, error, 23, seed=2, cluster=transect, chunk=5)
    np.testing.assert_allclose(whole, parts, atol=1e-10)
    assert whole.shape == (23, 18)


def test_cluster_bootstrap_sees_the_dependence_within_transects():
    # Errors that are equal throughout a transect: images carry no more than transects do.
    rng = np.random.default_rng(3)
    seed_level = np.repeat(rng.random(100) < 0.5, 8)
    error = np.repeat(rng.random(100) < 0.3, 8).astype(int)
    X = np.column_stack([seed_level, ~seed_level])
    images = bootstrap_paper_logit(X, error, 300, seed=1)[:, 1].std()
    transects = bootstrap_paper_logit(X, error, 300, seed=1, cluster=np.arange(800) // 8)
    assert 2.2 < transects[:, 1].std() / images < 3.4  # sqrt(8) = 2.8


def test_draws_carry_the_fit_and_the_resamples(regression):
    X, error, transect = regression
    draws = regression_draws(X, error, 20, 3, transect)
    np.testing.assert_array_equal(draws.loc["fit"], paper_logit(X, error)[1:])
    resamples = bootstrap_paper_logit(X, error, 20, 3, transect)
    np.testing.assert_array_equal(draws.drop(index="fit"), resamples[:, 1:])
    summary = summarize_draws(draws)
    np.testing.assert_allclose(summary["sd"], resamples[:, 1:].std(axis=0, ddof=1))
    np.testing.assert_allclose(summary["high"], np.quantile(resamples[:, 1:], 0.975, axis=0))


def test_log_odds_ratios_are_those_the_model_predicts(regression):
    X, error, _ = regression
    skins = ["Light skin", "Dark skin"]
    draws = regression_draws(X, error, 2, seed=3)
    main = log_odds_ratios(draws, "skin_colour", *skins)
    np.testing.assert_allclose(main["main effects"], 2 * draws["skin_colour", "Dark skin"])

    Z = interaction_columns(X, ["skin_colour"])
    fit = regression_draws(Z, error, 2, seed=3)
    ratios = log_odds_ratios(fit, "skin_colour", *skins)
    face = X.iloc[[0, 0]].copy()
    face[[("skin_colour", skin) for skin in skins]] = np.eye(2)
    for gender in ("Female", "Male"):
        face["gender"] = 0.0
        face["gender", gender] = 1.0
        light, dark = interaction_columns(face, ["skin_colour"]) @ fit.loc["fit"]
        assert ratios.loc["fit", gender] == pytest.approx(dark - light)


def test_perfect_separation_is_held_by_the_penalty():
    X = np.repeat(np.eye(2), 50, axis=0)
    error = np.repeat([0, 1], 50)
    np.testing.assert_allclose(paper_logit(X, error), reference(X, error), atol=1e-6)


def test_what_cannot_be_estimated_is_nan(regression):
    X, error, _ = regression
    constant = np.column_stack([X, np.ones(len(X))])
    coefficients = paper_logit(constant, error)
    assert np.isnan(coefficients[-1])
    np.testing.assert_allclose(coefficients[:-1], reference(X, error), atol=1e-6)
    assert np.isnan(bootstrap_paper_logit(constant, error, 3, seed=1)[:, -1]).all()
    assert np.isnan(paper_logit(X, np.zeros(len(X)))).all()
    one_pattern = paper_logit(np.ones((10, 2)), [0, 1] * 5)
    np.testing.assert_allclose(one_pattern, [0, np.nan, np.nan], atol=1e-12)


def test_bad_input_is_named(regression):
    X, error, transect = regression
    with pytest.raises(ValueError, match=r"row 2: 0.5 where 0 or 1"):
        paper_logit(X, np.where(X.index == 2, 0.5, error))
    with pytest.raises(ValueError, match="does not fit"):
        paper_logit(X.iloc[1:], error)
    with pytest.raises(ValueError, match="column 0: nan"):
        paper_logit(np.where(np.arange(len(X))[:, None] == 7, np.nan, X), error)
    with pytest.raises(ValueError, match="row 1 has no cluster"):
        bootstrap_paper_logit(X, error, 2, 1, pd.Series(transect).where(X.index != 1))
    with pytest.raises(ValueError, match="identifiers for"):
        bootstrap_paper_logit(X, error, 2, 1, transect[1:])
    with pytest.raises(ValueError, match="at least two clusters"):
        bootstrap_paper_logit(X, error, 2, 1, np.zeros(len(X)))


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


# --- matched effects


def test_a_cell_counts_its_pairs():
    frame = transect_frame(200, lambda skin, hair, gender: 0.1 + 0.2 * skin * gender, seed=1)
    effects = matched_effects(
        frame, "error", "skin_level", ["hair_level", "gender_level"], "transect"
    )
    assert list(effects.columns) == [
        *("estimate", "low", "high", "p", "p_holm", "n", "transects", "missing"),
        *("worse", "better", "reason"),
    ]
    for (hair, gender), row in effects.iterrows():
        cell = frame[(frame["hair_level"] == hair) & (frame["gender_level"] == gender)]
        wide = cell.pivot_table(index="transect", columns="skin_level", values="error")
        assert row["estimate"] == pytest.approx((wide[1] - wide[0]).mean())
        assert (row["n"], row["transects"], row["missing"]) == (200, 200, 0)
        table = pd.crosstab(wide[0], wide[1])
        assert (row["worse"], row["better"]) == (table.loc[0, 1], table.loc[1, 0])
        assert row["p"] == pytest.approx(mcnemar(table, exact=True).pvalue)
    np.testing.assert_allclose(effects["p_holm"], holm(effects["p"]))


def test_one_column_of_cells_has_a_flat_index():
    frame = transect_frame(50, lambda skin, hair, gender: 0.2 + 0 * skin, seed=1)
    effects = matched_effects(frame, "error", "skin_level", ["gender_level"], "transect")
    assert effects.index.name == "gender_level"
    assert list(effects.index) == [0, 1]
    assert list(effects["n"]) == [100, 100]


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


def test_effects_of_opposite_sign_are_missed_by_the_regression_and_seen_by_cell():
    def risk(skin, hair, gender):
        return np.where(skin == gender, 0.05, 0.25)

    frame = transect_frame(400, risk, seed=4)
    blocks = {axis: pd.get_dummies(frame[axis], dtype=float) for axis in AXES}
    X = pd.concat(blocks, axis=1, names=["attribute", "level"])
    coefficients = pd.Series(paper_logit(X, frame["error"])[1:], X.columns)
    spread = bootstrap_paper_logit(X, frame["error"], 200, 1, frame["transect"]).std(axis=0)[1:]
    skin = [column for column in X.columns if column[0] == "skin_level"]
    assert (coefficients[skin].abs() < 2 * pd.Series(spread, X.columns)[skin]).all()
    average = matched_effects(frame, "error", "skin_level", [], "transect").iloc[0]
    assert average["low"] < 0 < average["high"]

    cells = matched_effects(
        frame, "error", "skin_level", ["hair_level", "gender_level"], "transect"
    )
    assert (cells["p_holm"] < 1e-4).all()
    truth = np.where(cells.index.get_level_values("gender_level") == 0, 0.2, -0.2)
    np.testing.assert_allclose(cells["estimate"], truth, atol=0.06)

    Z = interaction_columns(X, ["skin_level"], with_="gender_level")
    beta = pd.Series(paper_logit(Z, frame["error"])[1:], Z.columns)
    products = beta["skin_level x gender_level"]
    main = beta["skin_level", 1] - beta["skin_level", 0]
    assert main + products["1, 0"] - products["0, 0"] > 1.2
    assert main + products["1, 1"] - products["0, 1"] < -1.2


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


def test_effects_that_cancel_within_every_transect_leave_a_width():
    frame = transect_frame(50, lambda skin, hair, gender: 1.0 * (skin == gender), seed=1)
    row = matched_effects(frame, "error", "skin_level", [], "transect").iloc[0]
    assert row["estimate"] == 0
    assert row["high"] - row["low"] > 0.1


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="transect"), "no column .*transect"),
        (lambda f: f.assign(error=0.5), "'error', row 0"),
        (lambda f: f.assign(transect=f["transect"].where(f.index != 2)), "'transect', row 2"),
        (lambda f: f.assign(skin_level=f.index % 3), "levels .0, 1, 2.*two"),
        (lambda f: pd.concat([f, f.iloc[[9]]]), "two images in one place"),
        (lambda f: f.iloc[:0], "no rows"),
    ],
)
def test_bad_frames_are_named(change, message):
    frame = transect_frame(10, lambda skin, hair, gender: 0.3 + 0 * skin, seed=1)
    with pytest.raises(ValueError, match=message):
        matched_effects(change(frame), "error", "skin_level", ["gender_level"], "transect")
    with pytest.raises(ValueError, match="define the cells"):
        matched_effects(frame, "error", "skin_level", ["skin_level"], "transect")


def test_holm_equals_statsmodels():
    p = np.random.default_rng(0).random(20) ** 4
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1])


def test_holm_leaves_out_what_is_not_estimable():
    np.testing.assert_allclose(holm([0.01, np.nan, 0.04]), [0.02, np.nan, 0.04])
    assert np.isnan(holm([np.nan])).all()
