"""The linear regression of errors on attributes, equation 2 of the transects paper."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy.stats import t

from faceaudit import effects
from faceworld import populations

AXES = ["dark", "long"]


@pytest.fixture(scope="module")
def portraits():
    """Faces of the PPB-like world, up to three portraits each, whose errors hang on hair alone."""
    people = populations.sample("ppb-like", 500, seed=3).frame
    frame = people.loc[people.index.repeat(people["item"] % 3 + 1)].reset_index(drop=True)
    frame["dark"] = np.where(frame["skin_colour"] > 0.5, "dark", "a light one")
    frame["long"] = (frame["hair_length"] > 0.4).astype(int)
    frame["age"] = pd.cut(frame["age"], 4, labels=False).astype(str)
    drawn = np.random.default_rng(5)
    own = 0.3 * drawn.random(500)[frame["item"]]
    frame["error"] = (drawn.random(len(frame)) < own + 0.3 * (1 - frame["long"])).astype(int)
    return frame


@pytest.mark.parametrize("cluster", ["item", None])
def test_slopes_and_intervals_are_those_of_statsmodels(portraits, cluster):
    found = effects.linear_effects(portraits, "error", AXES, ["age", "gender"], cluster)
    groups = portraits["item"] if cluster else np.arange(len(portraits))
    ols = smf.ols("error ~ C(dark) + long + C(age) + C(gender)", portraits)
    fit = ols.fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    names = ["C(dark)[T.dark]", "long"]
    expected = pd.concat([fit.params, fit.conf_int(), fit.pvalues], axis=1).loc[names]
    np.testing.assert_allclose(found[["estimate", "low", "high", "p"]], expected, rtol=1e-8)
    assert found["n"].eq(len(portraits)).all() and found["clusters"].eq(len(set(groups))).all()
    assert (
        found.loc["dark", "low"] < 0 < found.loc["dark", "high"] and found.loc["long", "high"] < 0
    )


def test_the_sandwich_is_that_of_the_textbook(portraits):
    """Cameron & Miller (2015), equations 10 to 12, in plain numpy."""
    X = np.column_stack([np.ones(len(portraits)), portraits["long"]])
    error = portraits["error"].to_numpy(float)
    bread = np.linalg.inv(X.T @ X)
    slope = bread @ X.T @ error
    scores = pd.DataFrame(X * (error - X @ slope)[:, None]).groupby(portraits["item"]).sum()
    n = len(X)
    G = len(scores)
    variance = G / (G - 1) * (n - 1) / (n - 2) * bread @ scores.T.to_numpy() @ scores @ bread
    found = effects.linear_effects(portraits, "error", ["long"], cluster="item").loc["long"]
    half = (found["high"] - found["low"]) / 2
    assert np.isclose(half, t.ppf(0.975, G - 1) * np.sqrt(variance.to_numpy()[1, 1]))
    assert np.isclose(found["estimate"], np.diff(portraits.groupby("long")["error"].mean())[0])


def test_what_cannot_be_estimated_says_why(portraits):
    def reason(treatment="dark", adjust=(), **changed):
        frame = portraits.assign(**changed)
        row = effects.linear_effects(frame, "error", [treatment, "long"], adjust).loc[treatment]
        assert np.isnan(row[["estimate", "low", "high", "p"]].astype(float)).all()
        return row["reason"]

    assert reason(adjust=["copy"], copy=portraits["dark"]) == "confounded with the covariates"
    assert reason(dark="dark") == "constant treatment"
    assert reason(error=0) == "all err alike"
    with pytest.raises(ValueError, match="column 'age' has the levels .* keep two"):
        effects.linear_effects(portraits, "error", ["age"])


def test_rows_without_an_outcome_are_left_out(portraits):
    missing = portraits.assign(error=portraits["error"].where(portraits.index % 4 > 0))
    found = effects.linear_effects(missing, "error", AXES, ["age"], "item")
    kept = effects.linear_effects(missing[missing.index % 4 > 0], "error", AXES, ["age"], "item")
    pd.testing.assert_frame_equal(found, kept)


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_a_fit_without_residuals_has_no_standard_error(portraits, scale):
    """Who has glasses is misjudged, and others are not: what is left of the errors is rounding."""
    glasses = (portraits["item"] % 3 == 0).map({True: "yes", False: "no"})
    exact = portraits.assign(glasses=glasses, error=scale * (glasses == "yes"))
    found = effects.linear_effects(exact, "error", AXES, ["glasses", "age"], "item")
    assert (found["reason"] == "no residual variance").all()
    assert found[["estimate", "low", "high", "p"]].isna().all(axis=None)
    exact.loc[exact.index[:9], "error"] = scale / 2
    found = effects.linear_effects(exact, "error", AXES, ["glasses", "age"], "item")
    assert (found["reason"] == "").all() and found.notna().all(axis=None)


def test_clusters_that_all_agree_have_no_standard_error():
    """In every pair both images err or none does: the slope of skin is zero in each of them."""
    errors = np.random.default_rng(1).integers(2, size=40)
    pairs = pd.DataFrame({"face": np.repeat(range(40), 2), "dark": [0, 1] * 40})
    pairs["beard"] = pairs["face"] % 3
    pairs["error"] = np.repeat(errors, 2)
    found = effects.linear_effects(pairs, "error", ["dark"], ["beard"], "face").loc["dark"]
    assert found["reason"] == "no residual variance" and np.isnan(found["p"])
    alone = effects.linear_effects(pairs, "error", ["dark"], ["beard"]).loc["dark"]
    assert alone["reason"] == "" and alone["p"] > 0.9
