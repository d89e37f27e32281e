"""Risk differences and batched logits against statsmodels, scikit-learn and simulation."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import binom, norm, ttest_rel
from simulated import transect_frame
from sklearn.linear_model import LogisticRegression
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from faceaudit.effects import direct_effects, holm, mde, risk_differences
from faceaudit.effects.resampling import draw_weights
from faceaudit.effects.risks import (
    adjusted_risks,
    corrected_influence,
    firth_logits,
    fit_logits,
    hybrid_score_interval,
    read_cells,
    wilson_interval,
)

CELLS = ["hair_level", "gender_level"]
INFERENCE = ["low", "high", "p", "p_holm", "mde"]


@pytest.fixture(scope="module")
def frame():
    """Facial hair follows gender and raises the errors; seniority is an attribute of the seed."""
    rng = np.random.default_rng(0)

    def risk(skin, hair, gender):
        return 0.08 + 0.12 * skin * (1 - gender) + 0.06 * hair

    frame = transect_frame(200, risk, seed=1, dependence=0.4)
    beard = np.where(frame["gender_level"] == 1, rng.integers(3, size=len(frame)), 0)
    more = rng.random(len(frame)) < 0.1 * beard
    return frame.assign(
        beard=np.array(["none", "some", "full"])[beard],
        error=frame["error"].where(~more, 1),
        senior=np.repeat(rng.random(200) < 0.3, 8),
        smile=np.repeat(rng.choice(["frown", "smile"], 200), 8),
    )[rng.random(len(frame)) < 0.8]


def standardise(frame, formula, treatment, weights):
    """Risk difference by g-computation with statsmodels, standardised over the frame."""
    columns = [c for c in (treatment, "beard", "smile", "error") if c in formula]
    patterns = frame.assign(weight=weights).groupby(columns)["weight"].sum().reset_index()
    family = sm.families.Binomial()
    fitted = smf.glm(formula, patterns, family=family, freq_weights=patterns["weight"]).fit()
    predicted = [fitted.predict(patterns.assign(**{treatment: level})) for level in (0, 1)]
    return np.average(predicted[1] - predicted[0], weights=patterns["weight"])


def test_a_crude_difference_is_that_of_two_rates(frame):
    table = risk_differences(frame, "error", "skin_level", CELLS, "transect")
    assert list(table.columns) == [
        *("estimate", "low", "high", "low90", "high90", "p", "p_holm", "n", "dropped"),
        *("clusters", "verdict", "mde", "reason"),
    ]
    assert list(table.index.names) == CELLS
    for cell, row in table.iterrows():
        rows = frame[(frame[CELLS] == list(cell)).all(axis=1)]
        rates = rows.groupby("skin_level")["error"].mean()
        assert row["estimate"] == pytest.approx(rates[1] - rates[0])
        assert (row["n"], row["clusters"]) == (len(rows), rows["transect"].nunique())
        assert row["low"] < row["estimate"] < row["high"]
    np.testing.assert_allclose(table["p_holm"], holm(table["p"]))
    assert (table["reason"] == "").all()


def test_adjusted_differences_equal_g_computation_with_statsmodels(frame):
    adjust = ["beard", "smile"]
    table = risk_differences(frame, "error", "skin_level", "gender_level", "transect", adjust)
    for gender, row in table.iterrows():
        rows = frame[frame["gender_level"] == gender]
        formula = "error ~ skin_level + beard + smile"
        fitted = smf.glm(formula, rows, family=sm.families.Binomial()).fit(tol=1e-12)
        risks = [fitted.predict(rows.assign(skin_level=level)).mean() for level in (0, 1)]
        assert row["estimate"] == pytest.approx(risks[1] - risks[0], abs=1e-8)
    assert not table.attrs["firth"]


def test_hybrid_score_interval_is_newcombe_s():
    counts = np.array([[56, 70, 48, 80], [9, 10, 3, 10], [0, 10, 0, 20], [10, 10, 0, 20]])
    risk = np.column_stack([counts[:, 2] / counts[:, 3], counts[:, 0] / counts[:, 1]])
    size = counts[:, [3, 1]].astype(float)
    low, high = hybrid_score_interval(risk, size, np.zeros(4), norm.ppf(0.975))
    expected = [confint_proportions_2indep(*row, method="newcomb") for row in counts.tolist()]
    np.testing.assert_allclose(np.column_stack([low, high]), expected)


def all_counts(n: tuple[int, int]) -> pd.DataFrame:
    """An audit of independent images for every pair of numbers of errors, by its name."""
    rows = []
    for few in range(n[0] + 1):
        for many in range(n[1] + 1):
            for arm, (wrong, size) in enumerate(zip((few, many), n, strict=True)):
                errors = (np.arange(size) < wrong).astype(int)
                audit = {"audit": f"{few:02d} {many:02d}", "dark": arm, "error": errors}
                rows.append(pd.DataFrame(audit))
    return pd.concat(rows, ignore_index=True)


@pytest.mark.parametrize("n", [(6, 6), (5, 12)])
def test_of_independent_images_it_is_newcombe_s_interval_which_holds_the_truth(n):
    """Exactly, over all that can be drawn; Student's quantiles would make it wider for no use."""
    frame = all_counts(n)
    table = risk_differences(frame, "error", "dark", "audit")
    counts = [[int(part) for part in name.split()] for name in table.index]
    few, many = np.array(counts).T
    limits = [confint_proportions_2indep(b, n[1], a, n[0], method="newcomb") for a, b in counts]
    np.testing.assert_allclose(table[["low", "high"]], limits, atol=1e-12)
    limits = [
        confint_proportions_2indep(b, n[1], a, n[0], method="newcomb", alpha=0.1) for a, b in counts
    ]
    np.testing.assert_allclose(table[["low90", "high90"]], limits, atol=1e-12)
    significant = table["p"] < 0.05
    assert significant.tolist() == ((table["low"] > 0) | (table["high"] < 0)).tolist()
    coverage = []
    for risk, other in product((0.05, 0.1, 0.2, 0.3, 0.5), repeat=2):
        chance = binom.pmf(few, n[0], risk) * binom.pmf(many, n[1], other)
        coverage.append(
            chance[table["low"].le(other - risk) & table["high"].ge(other - risk)].sum()
        )
    assert 0.95 < np.mean(coverage) < 0.98 and min(coverage) > 0.92
    unit = np.arange(len(frame))
    pd.testing.assert_frame_equal(
        table, risk_differences(frame.assign(unit=unit), "error", "dark", "audit", "unit")
    )


def test_images_of_one_cluster_are_not_independent():
    frame = all_counts((6, 6)).query("audit == '02 03'")
    alone = risk_differences(frame, "error", "dark").iloc[0]
    twice = pd.concat([frame, frame]).assign(unit=[*range(12)] * 2)
    found = risk_differences(twice, "error", "dark", cluster="unit").iloc[0]
    assert found["high"] - found["low"] > alone["high"] - alone["low"]
    half = risk_differences(frame.assign(error=frame["error"] / 2), "error", "dark").iloc[0]
    assert half["reason"] == "" and half["estimate"] == pytest.approx(alone["estimate"] / 2)


def test_with_many_errors_intervals_are_those_of_t_tests():
    frame = transect_frame(400, lambda skin, hair, gender: 0.4 + 0.1 * skin, 1, dependence=0.5)
    frame["senior"] = frame["transect"] % 3 == 0
    means = frame.groupby(["transect", "skin_level"])["error"].mean().unstack()  # noqa: PD010
    row = risk_differences(frame, "error", "skin_level", cluster="transect").iloc[0]
    paired = ttest_rel(means[1], means[0]).confidence_interval()
    np.testing.assert_allclose([row["low"], row["high"]], paired, atol=0.002)
    paired = ttest_rel(means[1], means[0]).confidence_interval(0.9)
    np.testing.assert_allclose([row["low90"], row["high90"]], paired, atol=0.002)

    row = risk_differences(frame, "error", "senior", cluster="transect").iloc[0]
    means = frame.groupby(["senior", "transect"])["error"].mean()
    compared = CompareMeans(DescrStatsW(means[True]), DescrStatsW(means[False]))
    welch = compared.tconfint_diff(usevar="unequal")
    np.testing.assert_allclose([row["low"], row["high"]], welch, atol=0.002)


def test_p_is_small_exactly_where_the_interval_leaves_zero():
    sides = set()
    for seed in range(40):
        frame = transect_frame(60, lambda skin, hair, gender: 0.05 + 0.04 * skin, seed)
        row = risk_differences(frame, "error", "skin_level", cluster="transect").iloc[0]
        significant = row["p"] < 0.05
        assert significant == (row["low"] > 0 or row["high"] < 0)
        sides.add(significant)
    assert sides == {True, False}


def test_a_covariate_without_errors_needs_the_penalty_and_keeps_the_rates(frame):
    some = frame.assign(error=frame["error"].where(frame["beard"] != "full", 0))
    arguments = "error", "skin_level", "hair_level", "transect"
    table = risk_differences(some, *arguments, ["beard", "smile"])
    assert table.attrs["firth"]
    crude = risk_differences(some, *arguments)
    # Beards are spread evenly over the arms, so that adjusting for them hardly matters.
    np.testing.assert_allclose(table["estimate"], crude["estimate"], atol=0.015)
    np.testing.assert_allclose(table["mde"], crude["mde"], rtol=0.15)


@pytest.mark.parametrize("adjust", [(), ("smile",)])
def test_what_is_absent_is_not_estimable(frame, adjust):
    place = list(zip(frame["hair_level"], frame["gender_level"], frame["skin_level"], strict=True))
    absent = pd.Series([p in {(0, 0, 0), (0, 0, 1), (0, 1, 0)} for p in place], frame.index)
    lone = pd.Series([p == (1, 0, 1) for p in place], frame.index)
    first = frame[lone]["transect"].iloc[0]
    short = frame[~absent & (~lone | (frame["transect"] == first))]
    table = risk_differences(short, "error", "skin_level", CELLS, "transect", adjust)
    assert list(table["reason"]) == [
        *("no image", "no image with skin_level = 0", "one transect with skin_level = 1", "")
    ]
    assert list(table["verdict"].iloc[:3]) == 3 * ["not estimable"]
    assert table.iloc[:3][INFERENCE].isna().all(axis=None)
    assert table["estimate"].isna().tolist() == [True, True, False, False]
    assert list(table["n"].iloc[:2]) == [0, (frame[~absent][CELLS] == [0, 1]).all(axis=1).sum()]
    if not adjust:
        whole = risk_differences(frame, "error", "skin_level", CELLS, "transect")
        shown = ["estimate", "low", "high"]
        pd.testing.assert_series_equal(table.loc[(1, 1), shown], whole.loc[(1, 1), shown])


def test_a_constant_covariate_or_a_copy_changes_nothing(frame):
    adult = frame.assign(age="adult", copy=frame["smile"])
    arguments = "error", "skin_level", "gender_level", "transect"
    table = risk_differences(adult, *arguments, ["smile", "age", "copy"])
    pd.testing.assert_frame_equal(table, risk_differences(frame, *arguments, ["smile"]))


def test_a_covariate_that_tells_the_arms_is_confounded(frame):
    # Every man has a beard and no woman has: gender cannot be told from it ...
    bearded = frame.assign(beard=frame["gender_level"])
    table = risk_differences(bearded, "error", "gender_level", "hair_level", None, ["beard"])
    assert set(table["reason"]) == {"confounded with the covariates"}
    assert table["estimate"].isna().all() and set(table["verdict"]) == {"not estimable"}
    # ... but other effects can.
    table = risk_differences(bearded, "error", "skin_level", "gender_level", None, ["beard"])
    assert (table["reason"] == "").all()


@pytest.mark.parametrize("adjust", [(), ("smile",)])
def test_rows_that_lack_something_are_left_out_and_counted(frame, adjust):
    rng = np.random.default_rng(3)
    lacking = frame.astype({"error": float, "skin_level": float, "transect": float})
    for column in ("error", "skin_level", "transect"):
        lacking[column] = lacking[column].where(rng.random(len(frame)) > 0.02)
    lost = lacking[["error", "skin_level", "transect"]].isna().any(axis=1)
    arguments = "error", "skin_level", "gender_level", "transect", adjust
    table = risk_differences(lacking, *arguments)
    reference = risk_differences(lacking[~lost], *arguments)
    assert table["dropped"].tolist() == frame[lost].groupby("gender_level").size().tolist()
    assert (reference["dropped"] == 0).all() and (table["reason"] == "").all()
    pd.testing.assert_frame_equal(table.drop(columns="dropped"), reference.drop(columns="dropped"))
    nothing = risk_differences(frame.assign(error=np.nan), *arguments)
    assert nothing["n"].sum() == 0 and nothing["dropped"].sum() == len(frame)
    assert set(nothing["reason"]) == {"every image lacks its outcome, treatment or cluster"}


def test_the_difference_of_effects_has_the_error_of_the_cluster_bootstrap(frame):
    table = direct_effects(frame, "error", "gender_level", ["beard"], None, "transect")
    se = (table["mde"] / mde(1.0)).loc[("all", "total - direct")]
    codes = pd.factorize(frame["transect"], sort=True)[0]
    draws = []
    for weight in draw_weights(codes.max() + 1, range(80), seed=2)[:, codes]:
        total, direct = (
            standardise(frame, f"error ~ C(gender_level) {more}", "gender_level", weight)
            for more in ("", "+ beard")
        )
        draws.append(total - direct)
    assert np.std(draws) / se == pytest.approx(1, abs=0.25)


def test_the_error_of_a_difference_is_that_of_the_delta_method(frame):
    """By hand, from statsmodels' predictions and sandwich, for those who lack marginaleffects."""
    clustered = {"cov_type": "cluster", "cov_kwds": {"groups": frame["transect"]}}
    model = smf.glm("error ~ skin_level + beard", frame, family=sm.families.Binomial())
    fitted = model.fit(tol=1e-12, **clustered)
    gradient = []
    for level in (0, 1):
        X = model.exog.copy()
        X[:, model.exog_names.index("skin_level")] = level
        risk = 1 / (1 + np.exp(-X @ fitted.params))
        gradient.append((risk * (1 - risk)) @ X / len(X))
    slope = gradient[1] - gradient[0]
    se = np.sqrt(slope @ fitted.cov_params() @ slope)

    (cell,), _ = read_cells(frame, "error", "skin_level", None, "transect", ["beard"])
    influence, _ = corrected_influence(cell, adjusted_risks(cell))
    assert np.sqrt((np.diff(influence, axis=1) ** 2).sum()) == pytest.approx(se, rel=0.02)


@pytest.mark.parametrize("C", [0.01, 1.0, 1e4])
def test_batched_newton_equals_scikit_learn(C):
    rng = np.random.default_rng(1)
    patterns = rng.integers(2, size=(12, 4)).astype(float)
    trials = rng.integers(1, 40, size=(6, 12)).astype(float)
    errors = rng.binomial(trials.astype(int), 0.2).astype(float)
    trials[:, 3] = errors[:, 3] = 0  # a pattern that no resample holds
    fitted = fit_logits(patterns, trials, errors, C)
    for row, n, wrong in zip(fitted, trials, errors, strict=True):
        model = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10, max_iter=1000)
        model.fit(
            np.vstack([patterns, patterns]),
            np.repeat([0, 1], 12),
            sample_weight=np.append(n - wrong, wrong),
        )
        np.testing.assert_allclose(row, [*model.intercept_, *model.coef_[0]], atol=1e-6)


# --- without a penalty, and with Firth's


@pytest.fixture
def counts():
    rng = np.random.default_rng(1)
    patterns = np.array([[i, j, i * j] for i in (0.0, 1.0) for j in (0.0, 1.0, 2.0)])
    trials = rng.integers(20, 60, size=(5, 6)).astype(float)
    return patterns, trials, rng.binomial(trials.astype(int), 0.3).astype(float)


def penalised(coefficients, patterns, trials, errors, jeffreys):
    """Minus the log likelihood, less half the log determinant of the information."""
    design = np.column_stack([np.ones(len(patterns)), patterns])
    predictor = design @ coefficients
    risk = expit(predictor)
    likelihood = errors @ predictor - trials @ np.logaddexp(0, predictor)
    information = (design.T * (trials * risk * (1 - risk))) @ design
    return -likelihood - jeffreys * np.linalg.slogdet(information)[1] / 2


@pytest.mark.parametrize("separated", [False, True])
def test_firth_maximises_the_penalised_likelihood(counts, separated):
    patterns, trials, errors = counts
    if separated:
        errors = errors * (patterns[:, 0] == 0)
    fitted = firth_logits(patterns, trials, errors)
    for row, n, wrong in zip(fitted, trials, errors, strict=True):
        arguments = patterns, n, wrong, 1.0
        best = minimize(penalised, np.zeros(4), arguments, method="BFGS", options={"gtol": 1e-9})
        np.testing.assert_allclose(row, best.x, atol=1e-4)


def test_wilson_intervals_are_those_of_statsmodels():
    events = np.array([0, 1, 7, 40])
    expected = proportion_confint(events, 40, method="wilson")
    np.testing.assert_allclose(wilson_interval(events, 40), expected, atol=1e-12)
