"""The reference-coded logit against statsmodels and scikit-learn; what it cannot estimate."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy.special import logit as log_odds
from scipy.stats import t
from simulated import transect_frame
from sklearn.linear_model import LogisticRegression

from helpers.effects import holm, logit
from helpers.effects.few_clusters import bias_reduced
from helpers.scorecard import simulated_audits

TERMS = ["skin_level", "gender_level", ("skin_level", "gender_level"), "smile"]
FORMULA = "error ~ C(skin_level) * C(gender_level) + C(smile)"
NAMES = [
    *("intercept", "skin_level=1", "gender_level=1", "skin_level=1 x gender_level=1"),
    *("smile=neutral", "smile=smile"),
]
ORDER = [0, 1, 2, 5, 3, 4]
"""Where statsmodels has the coefficients NAMES."""


@pytest.fixture(scope="module")
def frame():
    def risk(skin, hair, gender):
        return 0.1 + 0.1 * skin * (1 - gender) + 0.05 * hair

    smile = np.repeat(np.random.default_rng(0).choice(["frown", "neutral", "smile"], 150), 8)
    frame = transect_frame(150, risk, seed=1, dependence=0.4).assign(smile=smile)
    return frame[np.random.default_rng(2).random(len(frame)) < 0.8]


def reference(frame, formula=FORMULA, **kwargs):
    return smf.glm(formula, frame, family=sm.families.Binomial()).fit(tol=1e-12, **kwargs)


@pytest.mark.parametrize("answers", [1, 5])
def test_estimates_equal_statsmodels_and_its_residuals_give_the_sandwich(frame, answers):
    rng = np.random.default_rng(3)
    rate = rng.binomial(answers, 0.2 + 0.6 * frame["error"]) / answers
    frame = frame.assign(error=rate)
    table = logit(frame, "error", TERMS, cluster="transect")
    groups = {"groups": frame["transect"]}
    expected = reference(frame, cov_type="cluster", cov_kwds=groups)
    assert list(table.index) == NAMES
    np.testing.assert_allclose(table["estimate"], expected.params.iloc[ORDER], atol=1e-9)
    fitted = expected.fittedvalues.to_numpy()
    codes = np.unique(frame["transect"], return_inverse=True)[1]
    sandwich = bias_reduced(
        expected.model.exog,
        fitted * (1 - fitted),
        (frame["error"].to_numpy() - fitted) / np.sqrt(fitted * (1 - fitted)),
        codes,
        np.eye(len(NAMES))[ORDER],
    )
    np.testing.assert_allclose(table[["se", "df"]].T, sandwich, rtol=1e-7)
    # With a hundred and fifty clusters the usual correction is nearly the same.
    np.testing.assert_allclose(table["se"], expected.bse.iloc[ORDER], rtol=0.02)
    assert table["df"].between(30, frame["transect"].nunique() - 1).all()
    p = 2 * t.sf(np.abs(table["estimate"] / table["se"]), table["df"])
    np.testing.assert_allclose(table["p"], p)
    np.testing.assert_allclose(table["p_holm"].iloc[1:], holm(p[1:]))
    margin = t.ppf(0.975, table["df"]) * table["se"]
    np.testing.assert_allclose(table["high"] - table["estimate"], margin)
    np.testing.assert_allclose(table["estimate"] - table["low"], margin)
    assert (table["reason"] == "").all()


def test_without_clusters_the_rows_are_independent(frame):
    """HC2 of statsmodels' leverages."""
    table = logit(frame, "error", TERMS)
    expected = reference(frame)
    X, leverage = expected.model.exog, expected.get_influence().hat_matrix_diag
    scores = X * (expected.resid_response / np.sqrt(1 - leverage)).to_numpy()[:, None]
    bread = expected.normalized_cov_params.to_numpy()
    variance = np.diag(bread @ scores.T @ scores @ bread)
    np.testing.assert_allclose(table["se"], np.sqrt(variance[ORDER]), rtol=1e-7)


def test_intervals_hold_the_truth_with_few_clusters(monkeypatch):
    """An attribute of a quarter of 25 faces: with the usual correction, 93 in a hundred do."""
    monkeypatch.setattr(simulated_audits, "KEPT", 1.0)
    log_odds = dict.fromkeys(simulated_audits.ATTRIBUTES, 0.0) | {"senior": 0.5}
    population = simulated_audits.Population(-2.3, log_odds, 0.23)
    audits = population.audits(25, 1, range(300))
    table = logit(audits, "error", ["senior"], "transect", by=["audit"])
    table = table.xs("senior=1", level=1).dropna()
    assert len(table) > 280
    holds = (table["low"] <= 0.5) & (table["high"] >= 0.5)
    assert holds.mean() == pytest.approx(0.965, abs=0.02)
    assert 6 < table["df"].median() < 12


def test_an_attribute_of_few_clusters_is_compared_by_their_rates(frame):
    """Of clusters of one size, with Welch's variances of the rates and the slope of a logit."""
    frame = frame.groupby("transect").head(4)
    frame = frame[frame.groupby("transect")["error"].transform("size") == 4]
    rare = frame[frame["transect"].isin(frame["transect"].unique()[:20])].copy()
    rare["senior"] = rare["transect"].isin(rare["transect"].unique()[:5])
    row = logit(rare, "error", ["senior"], "transect").loc["senior=True"]
    rates = rare.groupby(["senior", "transect"])["error"].mean().groupby("senior")
    rate, variance, n = rates.mean(), rates.var(), rates.size()
    assert row["estimate"] == pytest.approx(np.diff(log_odds(rate)).item())
    expected = np.sqrt((variance / n / (rate * (1 - rate)) ** 2).sum())
    assert row["se"] == pytest.approx(expected)
    assert 4 < row["df"] < 18


def test_a_level_of_one_cluster_has_no_interval(frame):
    alone = frame[frame["error"] > 0]["transect"].mode()[0]
    rare = frame.assign(senior=frame["transect"] == alone)
    table = logit(rare, "error", ["skin_level", "senior", "smile"], "transect")
    assert table["reason"].tolist() == ["", "", "one cluster", "", ""]
    assert np.isfinite(table.loc["senior=True", "estimate"])
    assert table.loc["senior=True", ["se", "df", "low", "high", "p", "p_holm"]].isna().all()
    others = frame[frame["transect"] != alone]
    expected = logit(others, "error", ["skin_level", "smile"], "transect")
    np.testing.assert_allclose(
        table.loc[["smile=neutral", "smile=smile"], "se"], expected["se"].iloc[2:], rtol=0.02
    )


def test_coefficients_equal_scikit_learn(frame):
    table = logit(frame, "error", TERMS)
    X = pd.get_dummies(frame[["skin_level", "gender_level", "smile"]].astype(str), dtype=float)
    X = X[["skin_level_1", "gender_level_1", "smile_neutral", "smile_smile"]]
    X.insert(2, "product", X["skin_level_1"] * X["gender_level_1"])
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    model.fit(X, frame["error"])
    expected = [*model.intercept_, *model.coef_[0]]
    np.testing.assert_allclose(table["estimate"], expected, atol=1e-6)


def test_contrasts_are_the_log_odds_ratios_of_the_cells(frame):
    product = ("skin_level", "gender_level")
    contrasts = {
        "women": {"skin_level=1": 1},
        "men": {"skin_level=1": 1, "skin_level=1 x gender_level=1": 1},
    }
    table = logit(frame, "error", [*product, product], "transect", contrasts)
    rates = frame.groupby(["gender_level", "skin_level"])["error"].mean().unstack()  # noqa: PD010
    np.testing.assert_allclose(table["estimate"], log_odds(rates[1]) - log_odds(rates[0]))
    # A contrast is a coefficient of the regression whose reference are the men.
    men = frame.assign(gender_level=1 - frame["gender_level"])
    expected = logit(men, "error", [*product, product], "transect").loc["skin_level=1"]
    columns = ["estimate", "se", "df", "low", "high", "p"]
    found, expected = (row[columns].astype(float) for row in (table.loc["men"], expected))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("cluster", [None, "transect"])
def test_what_separates_the_outcomes_is_not_estimable(frame, cluster):
    none = frame.assign(error=frame["error"].where(frame["smile"] != "smile", 0))
    perfect = frame.assign(error=frame["skin_level"])
    for separated in (none, perfect):
        table = logit(separated, "error", ["skin_level", "smile"], cluster)
        assert set(table["reason"]) == {"separated: a coefficient would be infinite"}
        assert table[["estimate", "se", "low", "high", "p", "p_holm"]].isna().all(axis=None)


def test_what_cannot_be_told_apart_is_not_estimable(frame):
    twice = frame.assign(copy=frame["skin_level"], age="adult")
    table = logit(twice, "error", ["skin_level", "copy", "smile", "age"], "transect")
    assert list(table.loc[["skin_level=1", "copy=1"], "reason"]) == 2 * [
        "confounded with other terms"
    ]
    assert table.loc["copy=1", ["estimate", "se", "low", "p", "p_holm"]].isna().all()
    alone = logit(frame, "error", ["skin_level", "smile"], "transect")
    both = ["intercept", "smile=smile"]
    pd.testing.assert_frame_equal(
        table.loc[both, ["estimate", "low"]], alone.loc[both, ["estimate", "low"]], rtol=0.01
    )
    # Their sum is known, though neither of them is.
    together = {"sum": {"skin_level=1": 1, "copy=1": 1}}
    total = logit(twice, "error", ["skin_level", "copy", "smile"], "transect", together)
    assert total.loc["sum", "estimate"] == pytest.approx(alone.loc["skin_level=1", "estimate"])


def test_no_variation_or_one_cluster_says_so(frame):
    for value in (0, 1):
        table = logit(frame.assign(error=value), "error", ["skin_level"], "transect")
        assert set(table["reason"]) == {f"all outcomes are {value}"}
        assert table[["estimate", "se", "low", "high", "p"]].isna().all(axis=None)
    table = logit(frame.assign(transect=1), "error", ["skin_level"], "transect")
    assert set(table["reason"]) == {"one cluster"}
    assert table["estimate"].notna().all() and table[["se", "low", "p"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="smile"), "no column .*smile"),
        (lambda f: f.assign(error=1.5), "'error', row .*1.5, a number in"),
        (lambda f: f.assign(smile=f["smile"].where(f.index != f.index[4])), "'smile', row "),
        (lambda f: f.iloc[:0], "no rows"),
    ],
)
def test_bad_frames_are_named(frame, change, message):
    with pytest.raises(ValueError, match=message):
        logit(change(frame), "error", TERMS, "transect")


def test_rows_that_lack_an_outcome_or_a_cluster_are_left_out(frame):
    some = frame.assign(error=frame["error"].where(frame.index % 50 > 0))
    some["transect"] = some["transect"].where(some.index % 70 > 0)
    kept = some[["error", "transect"]].notna().all(axis=1)
    table, reference = (logit(f, "error", TERMS, "transect") for f in (some, frame[kept]))
    np.testing.assert_allclose(table[["estimate", "se"]], reference[["estimate", "se"]])
    # A level of which no outcome is known is not estimable, the others are.
    unknown = frame.assign(error=frame["error"].where(frame["smile"] != "smile"))
    table = logit(unknown, "error", ["skin_level", "smile"], "transect")
    assert table["reason"].tolist() == ["", "", "", "confounded with other terms"]
    assert np.isnan(table["estimate"].iloc[-1]) and table["low"].iloc[:3].notna().all()
    nothing = logit(frame.assign(error=np.nan), "error", TERMS, "transect")
    assert list(nothing.index) == NAMES and nothing["estimate"].isna().all()
    assert set(nothing["reason"]) == {"every image lacks its outcome or cluster"}


def test_too_many_levels_are_refused(frame):
    number = frame.assign(score=np.arange(len(frame)), bins=np.arange(len(frame)) % 50)
    with pytest.raises(ValueError, match="column 'score' has 945 levels: cut it into bins"):
        logit(number, "error", ["skin_level", "score"])
    number["other"] = np.random.default_rng(0).integers(5, size=len(frame))
    with pytest.raises(ValueError, match="the regression has 250 coefficients, .* 200"):
        logit(number, "error", ["bins", "other", ("bins", "other")])


def test_every_cell_has_a_regression_of_its_own(frame):
    table = logit(frame, "error", ["skin_level", "smile"], "transect", by=["gender_level"])
    for gender, part in frame.groupby("gender_level"):
        alone = logit(part, "error", ["skin_level", "smile"], "transect")
        pd.testing.assert_frame_equal(table.loc[gender], alone, check_exact=True)


def test_unknown_coefficients_are_named(frame):
    with pytest.raises(ValueError, match="no coefficient .*skin_level=0"):
        logit(frame, "error", ["skin_level"], contrasts={"a": {"skin_level=0": 1}})
