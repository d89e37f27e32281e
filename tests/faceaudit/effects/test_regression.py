"""The paper's regression against scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from faceaudit.effects import (
    bootstrap_paper_logit,
    interaction_columns,
    log_odds_ratios,
    paper_columns,
    paper_logit,
    regression_draws,
    summarize_draws,
)
from faceaudit.effects.resampling import draw_weights

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


def test_paper_logit_equals_scikit_learn(regression):
    X, error, _ = regression
    np.testing.assert_allclose(paper_logit(X, error), reference(X, error), atol=1e-6)


@pytest.mark.parametrize("clustered", [True, False])
def test_bootstrap_equals_a_loop_over_the_same_resamples(regression, clustered):
    X, error, transect = regression
    cluster = transect if clustered else np.arange(len(X))
    fitted = bootstrap_paper_logit(X, error, 6, seed=5, cluster=transect if clustered else None)
    weights = draw_weights(cluster.max() + 1, range(6), seed=5)
    assert fitted.clusters == len(weights[0]) and fitted.lost == 0 and not fitted.reason
    for row, weight in zip(fitted.coefficients, weights, strict=True):
        np.testing.assert_allclose(row, reference(X, error, weight[cluster]), atol=1e-6)


def test_cluster_bootstrap_sees_the_dependence_within_transects():
    # Errors that are equal throughout a transect: images carry no more than transects do.
    rng = np.random.default_rng(3)
    seed_level = np.repeat(rng.random(100) < 0.5, 8)
    error = np.repeat(rng.random(100) < 0.3, 8).astype(int)
    X = np.column_stack([seed_level, ~seed_level])
    images = bootstrap_paper_logit(X, error, 300, seed=1)
    transects = bootstrap_paper_logit(X, error, 300, seed=1, cluster=np.arange(800) // 8)
    spread = [draws.coefficients[:, 1].std() for draws in (transects, images)]
    assert 2.2 < spread[0] / spread[1] < 3.4  # sqrt(8) = 2.8


def test_lost_resamples_are_counted_and_above_five_per_cent_there_is_no_interval():
    """One face of twenty errs: a resample without it has no fit."""
    face = np.repeat(np.arange(20), 8)
    dark = np.tile([0, 1], 80)
    X = pd.DataFrame({("skin", "light"): 1 - dark, ("skin", "dark"): dark}, dtype=float)
    error = ((face == 3) & (dark == 1)).astype(int)
    lost = (draw_weights(20, range(200), seed=1)[:, 3] == 0).sum()
    draws = bootstrap_paper_logit(X, error, 200, seed=1, cluster=face)
    assert draws.lost == lost and 50 < lost < 100 and draws.clusters == 20
    assert draws.reason == f"{lost / 200:.0%} of the resamples have no fit"

    summary = summarize_draws(regression_draws(X, error, 200, seed=1, cluster=face))
    assert (summary["lost"] == lost).all() and (summary["reason"] == draws.reason).all()
    assert summary["estimate"].notna().all()
    assert summary[["sd", "low", "high"]].isna().all(axis=None)

    error = ((face < 8) & (dark == 1)).astype(int)
    table = regression_draws(X, error, 200, seed=1, cluster=face)
    summary = summarize_draws(table)
    assert (summary["lost"] == 0).all() and (summary["reason"] == "").all()
    limits = table.drop(index="fit").quantile([0.025, 0.975]).T
    np.testing.assert_array_equal(summary[["low", "high"]], limits)


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
