"""The paper's regression against scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from helpers.effects import (
    bootstrap_paper_logit,
    interaction_columns,
    log_odds_ratios,
    paper_columns,
    paper_logit,
    regression_draws,
    summarize_draws,
)
from helpers.resampling import draw_weights

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
    weights = draw_weights(cluster.max() + 1, range(6), seed=5)
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


def test_a_rate_counts_as_part_of_an_error(regression):
    X, error, _ = regression
    rate = np.random.default_rng(1).binomial(5, 0.1 + 0.5 * error) / 5
    both, label = np.vstack([X, X]), np.repeat([1, 0], len(X))
    model = LogisticRegression(solver="newton-cholesky", tol=1e-10)
    model.fit(both, label, sample_weight=np.concatenate([rate, 1 - rate]))
    expected = np.append(model.intercept_, model.coef_)
    np.testing.assert_allclose(paper_logit(X, rate), expected, atol=1e-6)


def test_bad_input_is_named(regression):
    X, error, transect = regression
    with pytest.raises(ValueError, match=r"row 2 is 1.5, a number in \[0, 1\]"):
        paper_logit(X, np.where(X.index == 2, 1.5, error))
    with pytest.raises(ValueError, match="row 2 is nan, an error"):
        paper_logit(X, np.where(X.index == 2, np.nan, error))
    with pytest.raises(ValueError, match="does not fit"):
        paper_logit(X.iloc[1:], error)
    with pytest.raises(ValueError, match="row 7, column 0 is nan"):
        paper_logit(np.where(np.arange(len(X))[:, None] == 7, np.nan, X), error)
    with pytest.raises(ValueError, match="row 1 has no cluster"):
        bootstrap_paper_logit(X, error, 2, 1, pd.Series(transect).where(X.index != 1))
    with pytest.raises(ValueError, match="identifiers for"):
        bootstrap_paper_logit(X, error, 2, 1, transect[1:])
    with pytest.raises(ValueError, match="at least two clusters"):
        bootstrap_paper_logit(X, error, 2, 1, np.zeros(len(X)))
