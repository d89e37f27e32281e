"""The logit against statsmodels and scikit-learn; its sandwich against dense matrices, HC2, Welch's
test and its own bias."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy.stats import t, ttest_ind
from simulated import transect_frame
from sklearn.linear_model import LogisticRegression

from helpers.effects.regression import bias_reduced, logit
from helpers.scorecard import simulated_audits

FACTORS = ["skin_level", "gender_level", "smile"]
NAMES = ["intercept", "skin_level=1", "gender_level=1", "smile=neutral", "smile=smile"]
SEPARATED = "separated: a coefficient would be infinite"


@pytest.fixture(scope="module")
def frame():
    def risk(skin, hair, gender):
        return 0.1 + 0.1 * skin * (1 - gender) + 0.05 * hair

    smile = np.repeat(np.random.default_rng(0).choice(["frown", "neutral", "smile"], 150), 8)
    frame = transect_frame(150, risk, seed=1, dependence=0.4).assign(smile=smile)
    return frame[np.random.default_rng(2).random(len(frame)) < 0.8]


@pytest.mark.parametrize("answers", [1, 5])
def test_estimates_equal_statsmodels_and_its_residuals_give_the_sandwich(frame, answers):
    rng = np.random.default_rng(3)
    frame = frame.assign(error=rng.binomial(answers, 0.2 + 0.6 * frame["error"]) / answers)
    table = logit(frame, "error", FACTORS, "transect")
    formula = "error ~ C(skin_level) + C(gender_level) + C(smile)"
    model = smf.glm(formula, frame, family=sm.families.Binomial())
    expected = model.fit(tol=1e-12, cov_type="cluster", cov_kwds={"groups": frame["transect"]})
    assert list(table.index) == NAMES and (table["reason"] == "").all()
    np.testing.assert_allclose(table["estimate"], expected.params, atol=1e-9)
    fitted = expected.fittedvalues.to_numpy()
    residual = (frame["error"].to_numpy() - fitted) / np.sqrt(fitted * (1 - fitted))
    codes = np.unique(frame["transect"], return_inverse=True)[1]
    sandwich = bias_reduced(model.exog, fitted * (1 - fitted), residual, codes, np.eye(5))
    np.testing.assert_allclose(table[["se", "df"]].T, sandwich, rtol=1e-7)
    # With a hundred and fifty clusters the usual correction is nearly the same.
    np.testing.assert_allclose(table["se"], expected.bse, rtol=0.02)
    p = 2 * t.sf(np.abs(table["estimate"] / table["se"]), table["df"])
    np.testing.assert_allclose(table["p"], p)
    margin = t.ppf(0.975, table["df"]) * table["se"]
    np.testing.assert_allclose(table["high"] - table["estimate"], margin)
    np.testing.assert_allclose(table["estimate"] - table["low"], margin)


def test_coefficients_equal_scikit_learn(frame):
    X = pd.get_dummies(frame[FACTORS].astype(str), dtype=float)
    X = X[["skin_level_1", "gender_level_1", "smile_neutral", "smile_smile"]]
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    model.fit(X, frame["error"])
    table = logit(frame, "error", FACTORS, "transect")
    np.testing.assert_allclose(table["estimate"], [*model.intercept_, *model.coef_[0]], atol=1e-6)


def test_intervals_hold_the_truth_with_few_clusters(monkeypatch):
    """An attribute of a quarter of 25 faces: with the usual correction, 93 in a hundred do."""
    monkeypatch.setattr(simulated_audits, "KEPT", 1.0)
    log_odds = dict.fromkeys(simulated_audits.ATTRIBUTES, 0.0) | {"senior": 0.5}
    population = simulated_audits.Population(-2.3, log_odds, 0.23)
    audits = population.audits(25, 1, range(300))
    table = logit(audits, "error", ["senior"], "transect", by=["audit"])
    table = table.xs("senior=1", level=1).dropna()
    holds = (table["low"] <= 0.5) & (table["high"] >= 0.5)
    assert len(table) > 280 and holds.mean() == pytest.approx(0.965, abs=0.02)
    assert 6 < table["df"].median() < 12


def test_what_is_not_estimable_says_why(frame):
    alone = frame[frame["error"] > 0]["transect"].mode()[0]
    odd = frame.assign(
        none=frame["error"].where(frame["smile"] != "smile", 0),
        unknown=frame["error"].where(frame["smile"] != "smile"),
        never=0,
        senior=frame["transect"] == alone,
        copy=frame["skin_level"],
        one=1,
    )
    confounded = "confounded with other terms"
    for outcome, factors, cluster, reasons in [
        ("none", ["smile"], "transect", 3 * [SEPARATED]),
        ("unknown", ["smile"], "transect", ["", "", confounded]),
        ("never", ["skin_level"], "transect", 2 * ["all outcomes are 0"]),
        ("error", ["senior"], "transect", ["", "one cluster"]),
        ("error", ["skin_level", "copy"], "transect", ["", confounded, confounded]),
        ("error", ["skin_level"], "one", 2 * ["one cluster"]),
    ]:
        table = logit(odd, outcome, factors, cluster)
        assert table["reason"].tolist() == reasons
        assert (
            table[["se", "low", "high", "p"]].isna().all(axis=1) == (table["reason"] != "")
        ).all()


def test_every_cell_has_a_regression_of_its_own(frame):
    table = logit(frame, "error", ["skin_level", "smile"], "transect", by=["gender_level"])
    for gender, part in frame.groupby("gender_level"):
        alone = logit(part, "error", ["skin_level", "smile"], "transect")
        pd.testing.assert_frame_equal(table.loc[gender], alone, check_exact=True)


def dense(design, weights, residual, codes, contrast):
    """Standard error and degrees of freedom with all (n, n) matrices written out."""
    X = np.sqrt(weights)[:, None] * design
    bread = np.linalg.inv(X.T @ X)
    rest = np.eye(len(X)) - X @ bread @ X.T
    pulls = np.zeros((codes.max() + 1, len(X)))
    for cluster, pull in enumerate(pulls):
        rows = codes == cluster
        size, axis = np.linalg.eigh(rest[np.ix_(rows, rows)])
        axis, size = axis[:, size > 1e-9], size[size > 1e-9]
        pull[rows] = axis / np.sqrt(size) @ axis.T @ X[rows] @ bread @ contrast
    gram = pulls @ rest @ pulls.T
    return np.sqrt(((pulls @ residual) ** 2).sum()), np.trace(gram) ** 2 / (gram**2).sum()


def regression(sizes, seed, columns=3):
    """Design, weights, residuals and codes; the last column is constant within clusters."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    n = len(codes)
    own = rng.normal(size=(n, columns - 2))
    shared = (rng.random(len(sizes)) < 0.5)[codes]
    design = np.column_stack([np.ones(n), own, shared])
    weights = rng.uniform(0.05, 0.25, n)
    response = rng.normal(size=n) + rng.normal(size=len(sizes))[codes]
    return design, weights, pearson(design, weights, response), codes


def pearson(design, weights, response):
    return sm.OLS(response, np.sqrt(weights)[:, None] * design).fit().resid


@pytest.mark.parametrize(
    ("sizes", "columns"),
    [([8] * 10, 4), ([1, 2, 3, 4, 5, 6, 7, 8, 8, 40], 4), ([1] * 30, 5), ([2] * 12, 9)],
)
def test_the_sandwich_equals_dense_matrices(sizes, columns):
    parts = regression(sizes, 1, columns)
    contrasts = np.vstack([np.eye(columns), np.arange(columns)])
    expected = [dense(*parts, one) for one in contrasts]
    np.testing.assert_allclose(
        np.column_stack(bias_reduced(*parts, contrasts)), expected, rtol=1e-6
    )


def test_clusters_of_one_row_give_hc2():
    design, _, residual, codes = regression([1] * 40, 4, columns=5)
    fitted = sm.OLS(residual + design.sum(axis=1), design).fit(cov_type="HC2")
    se, _ = bias_reduced(design, np.ones(40), fitted.resid, codes, np.eye(5))
    np.testing.assert_allclose(se, fitted.bse)


@pytest.mark.parametrize(("with_it", "size"), [(10, 1), (10, 8), (3, 8), (1, 4)])
def test_two_groups_of_clusters_are_compared_by_welch_s_test(with_it, size):
    """Of the clusters' means, with the degrees of freedom it has under equal variances.

    The formula is that of Imbens & Kolesár, Review of Economics and Statistics 98 (2016) 701-712.
    """
    groups = np.arange(20) < with_it
    codes = np.repeat(np.arange(20), size)
    rng = np.random.default_rng(5)
    response = rng.normal(size=len(codes)) + rng.normal(size=20)[codes]
    design = np.column_stack([np.ones(len(codes)), groups[codes]])
    residual = pearson(design, np.ones(len(codes)), response)
    se, df = bias_reduced(design, np.ones(len(codes)), residual, codes, np.array([[0.0, 1.0]]))
    if with_it == 1:
        assert np.isnan([se, df]).all()
        return
    means = response.reshape(20, size).mean(axis=1)
    test = ttest_ind(means[groups], means[~groups], equal_var=False)
    estimate = means[groups].mean() - means[~groups].mean()
    assert se.item() == pytest.approx(estimate / test.statistic)
    n = np.array([with_it, 20 - with_it])
    assert df.item() == pytest.approx((1 / n).sum() ** 2 / (1 / (n**2 * (n - 1))).sum())


def test_the_variance_has_no_bias_where_the_model_is_right():
    """Its expectation is a sum over single errors; that of the plain sandwich is too small."""
    design, weights, _, codes = regression([1, 2, 3, 4, 5, 6, 7, 8], 6)
    X = np.sqrt(weights)[:, None] * design
    bread = np.linalg.inv(X.T @ X)
    rest = np.eye(len(X)) - X @ bread @ X.T
    found = sum(bias_reduced(design, weights, one, codes, np.eye(3))[0] ** 2 for one in rest)
    np.testing.assert_allclose(found, np.diag(bread))
    scores = [(X * one[:, None])[codes == g].sum(axis=0) for one in rest for g in range(8)]
    plain = ((np.array(scores) @ bread) ** 2).sum(axis=0)
    assert (plain[[0, 2]] < 0.8 * np.diag(bread)[[0, 2]]).all()
