"""Robustness values: against PySensemakr's numbers and a bias that is added on purpose."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from statsmodels.regression.linear_model import OLS

from faceaudit.effects import linear_effects, robustness_to_omitted_variables, robustness_value
from faceaudit.utils.errors import InputError

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results"
COVARIATES = ["hair", "age", "light"]


@pytest.fixture(scope="module")
def recorded() -> pd.DataFrame:
    """The portraits that PySensemakr was asked about."""
    return pd.read_csv(RESULTS / "adjusted_portraits.csv")


@pytest.mark.parametrize(("outcome", "is_number"), [("error", False), ("years", True)])
def test_numbers_are_those_of_pysensemakr(recorded, outcome, is_number):
    references = pd.read_csv(RESULTS / "adjusted_references.csv")
    references = references.query("package == 'pysensemakr' and outcome == @outcome")
    expected = references.set_index("quantity")["value"]
    found = robustness_to_omitted_variables(
        recorded, outcome, "skin", COVARIATES, "person", is_number=is_number
    )
    assert abs(found.estimate - expected["slope"]) < 1e-9
    assert abs(found.partial_r2 - expected["partial R2"]) < 1e-9
    assert abs(found.robustness_value - expected["robustness value"]) < 1e-9
    for row in found.benchmarks.itertuples():
        assert abs(row.with_treatment - expected[f"with level, {row.covariate}"]) < 1e-9
        assert abs(row.with_outcome - expected[f"with outcome, {row.covariate}"]) < 1e-9
        assert abs(row.estimate - expected[f"adjusted slope, {row.covariate}"]) < 1e-9


def test_the_paper_s_example_has_its_value():
    # Cinelli & Hazlett (2020), table 1: t = 4.18, 783 degrees of freedom, 13.9%.
    assert abs(robustness_value(4.18445 / 783**0.5) - 0.1388) < 1e-4
    assert robustness_value(0.0) == 0


@pytest.mark.parametrize("wrong", [-1, np.inf, np.nan, "a", None])
def test_a_robustness_value_needs_a_finite_number(wrong):
    with pytest.raises(InputError, match="partial_f is .*, a finite number of at least 0 was exp"):
        robustness_value(wrong)


def test_the_interval_is_that_of_the_linear_adjustment(recorded):
    names = ["hair", "age"]
    found = robustness_to_omitted_variables(recorded, "error", "skin", names, "person")
    expected = linear_effects(recorded, "error", ["skin"], names, "person").loc["skin"]
    assert np.allclose(
        [found.estimate, found.low, found.high], expected[["estimate", "low", "high"]].tolist()
    )


def test_an_attribute_as_strong_as_the_robustness_value_takes_the_slope_to_zero():
    random = np.random.default_rng(1)
    n = 4000
    hidden, dark = random.standard_normal(n), random.integers(2, size=n)
    hair = random.integers(2, size=n)
    frame = pd.DataFrame({"dark": dark, "hair": hair.astype(str)})
    frame["years"] = 0.5 * dark + hair + random.standard_normal(n)
    found = robustness_to_omitted_variables(frame, "years", "dark", ["hair"], is_number=True)

    def left_by(columns: list[np.ndarray], values: np.ndarray) -> np.ndarray:
        return OLS(values, np.column_stack([np.ones(n), *columns])).fit().resid

    def unit(values: np.ndarray) -> np.ndarray:
        return values / np.linalg.norm(values)

    # An attribute that explains the share of what is left of the level, and of the outcome.
    share = found.robustness_value
    level = left_by([hair], dark)
    outcome = left_by([hair, dark], frame["years"].to_numpy())
    noise = unit(left_by([hair, dark, outcome], hidden))
    along_level = np.sqrt(share) * unit(level)
    rest = np.sqrt(1 - share)
    beyond_level = np.sqrt(share) * unit(outcome) + np.sqrt(1 - share) * noise
    omitted = along_level + rest * beyond_level
    fit = OLS(frame["years"], np.column_stack([np.ones(n), dark, hair, omitted])).fit()
    assert abs(fit.params.iloc[1]) < 1e-9


def test_what_is_not_estimable_has_a_reason(recorded):
    for change, reason in (
        ({"hair": recorded["skin"]}, "confounded with the covariates"),
        ({"skin": "dark"}, "constant treatment"),
        ({"person": 1}, "all images are of one person"),
        ({"error": 0}, "no residual variance"),
    ):
        frame = recorded.assign(**change)
        found = robustness_to_omitted_variables(frame, "error", "skin", COVARIATES, "person")
        assert found.reason == reason
        assert np.isnan([found.estimate, found.robustness_value, found.robustness_of_limit]).all()
        assert found.benchmarks.empty


def test_a_covariate_that_explains_half_of_the_level_is_no_benchmark():
    random = np.random.default_rng(1)
    hair = random.integers(2, size=1000)
    dark = np.where(random.random(1000) < 0.1, 1 - hair, hair)
    frame = pd.DataFrame({"dark": dark, "hair": hair, "error": random.integers(2, size=1000)})
    found = robustness_to_omitted_variables(frame, "error", "dark", ["hair"])
    assert found.reason == ""
    assert found.benchmarks.drop(columns="covariate").isna().all(axis=None)
