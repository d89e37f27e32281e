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
    assert reason(error=np.nan) == "every image lacks its outcome, treatment or cluster"
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
    errors = np.random.default_rng(1).integers(2, size=60)
    pairs = pd.DataFrame({"face": np.repeat(range(60), 2), "dark": [0, 1] * 60})
    pairs["beard"] = pairs["face"] % 3
    pairs["error"] = np.repeat(errors, 2)
    found = effects.linear_effects(pairs, "error", ["dark"], ["beard"], "face").loc["dark"]
    assert found["reason"] == "no residual variance" and np.isnan(found["p"])
    alone = effects.linear_effects(pairs, "error", ["dark"], ["beard"]).loc["dark"]
    assert alone["reason"] == "" and alone["p"] > 0.9


def audit_of_people(random, few, rates=(0.12, 0.12), portraits=1):
    """300 people, of whom so many are dark: hair goes with skin, and errors with skin."""
    person = np.repeat(np.arange(300), portraits)
    dark = (person < few).astype(int)
    hair = (random.random(300)[person] < 0.4 + 0.2 * dark).astype(int)
    error = (random.random(len(person)) < np.array(rates)[dark]).astype(int)
    return pd.DataFrame({"person": person, "dark": dark, "hair": hair, "error": error})


@pytest.mark.parametrize(
    ("few", "portraits", "found"),
    [
        *((1, 1, "one image"), (1, 4, "one person"), (49, 1, "49 images"), (49, 4, "49 people")),
        *((50, 1, None), (50, 4, None)),
    ],
)
@pytest.mark.parametrize("others", [[], ["hair"]])
def test_a_level_of_few_people_is_not_compared(few, portraits, found, others):
    frame = audit_of_people(np.random.default_rng(1), few, portraits=portraits)
    # An error and a right answer at each level, so that nothing but the number of people counts.
    frame.loc[[0, few * portraits], "error"] = 1
    frame.loc[[few * portraits - 1, len(frame) - 1], "error"] = 0
    arguments = (frame, "error", ["dark", "hair"], others, "person")
    row = effects.linear_effects(frame, "error", ["dark"], others, "person").loc["dark"]
    robust = effects.robustness_to_omitted_variables(frame, "error", "dark", others, "person")
    expected = ""
    if found is not None:
        expected = f"{found} with dark = 1" + ", fewer than 50" * (few > 1)
    assert row["reason"] == robust.reason == expected
    assert row[["estimate", "low", "high", "p"]].isna().all() == (found is not None)
    numbers = [robust.estimate, robust.low, robust.high, robust.robustness_value]
    assert np.isnan(numbers).all() == (found is not None)
    # Another treatment of the same regression has a slope all the same.
    both = effects.linear_effects(*arguments[:3], [], "person")
    assert both.loc["hair", "reason"] == "" and both.loc["dark", "reason"] == expected


@pytest.mark.parametrize(("answer", "level"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_a_level_whose_images_all_err_alike_is_not_compared(answer, level):
    frame = audit_of_people(np.random.default_rng(1), 60)
    frame.loc[frame["dark"] == level, "error"] = answer
    row = effects.linear_effects(frame, "error", ["dark"], ["hair"], "person").loc["dark"]
    robust = effects.robustness_to_omitted_variables(frame, "error", "dark", ["hair"], "person")
    expected = f"all images with dark = {level} have the same outcome"
    assert row["reason"] == robust.reason == expected
    assert row[["estimate", "low", "high", "p"]].isna().all() and np.isnan(robust.estimate)


@pytest.mark.parametrize("rates", [(0.12, 0.12), (0.3, 0.3), (0.1, 0.3)])
def test_intervals_of_fifty_people_hold_the_truth(rates):
    """Of 150 audits at most 17 miss: 1 in 100 draws has more at 94%."""
    random = np.random.default_rng(2)
    missed = 0
    for _ in range(150):
        frame = audit_of_people(random, 50, rates)
        row = effects.linear_effects(frame, "error", ["dark"], ["hair"], "person").loc["dark"]
        missed += not row["low"] <= rates[1] - rates[0] <= row["high"]
    assert missed <= 17
