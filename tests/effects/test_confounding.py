"""E-values against published ones, Γ against binomial tails, tipping points against simulation."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from helpers.effects import e_value, e_values, mcnemar, rosenbaum_gamma


def test_published_e_values():
    # VanderWeele & Ding 2017: 3.9 (1.8 to 8.7) has 7.26 and 3.0; 0.80 (0.71 to 0.91) 1.81 and 1.43.
    assert e_value(3.9) == pytest.approx(7.26, abs=0.005)
    assert e_value(1.8) == pytest.approx(3.0, abs=0.005)
    assert e_value(0.8) == pytest.approx(1.81, abs=0.005)
    assert e_value(0.91) == pytest.approx(1.43, abs=0.005)


def test_e_value_is_where_the_bounding_factor_reaches_the_ratio():
    # Ding & VanderWeele 2016: confounding by RR_EU and RR_UD moves a ratio by at most their
    # product over their sum less one.
    for rr in (1.2, 2.0, 10.0):
        e = e_value(rr)
        assert e * e / (2 * e - 1) == pytest.approx(rr)


def test_e_values_of_risk_differences():
    effects = pd.DataFrame(
        {"estimate": [0.05, 0.01, np.nan, 0.02], "low": [0.02, -0.2, np.nan, 0.01]},
        index=["found", "nothing", "unknown", "no base"],
    ).assign(high=[0.08, 0.03, np.nan, 0.03])
    table = e_values(effects, [0.05, 0.05, 0.05, 0.0])
    assert table.loc["found", "rr"] == pytest.approx(2)
    assert table.loc["found", "e_value"] == pytest.approx(e_value(2.0))
    assert table.loc["found", "e_value_limit"] == pytest.approx(e_value(1.4))
    assert table.loc["nothing", "rr_low"] == 0
    assert table.loc["nothing", "e_value_limit"] == 1
    assert table["reason"].tolist() == ["", "", "no estimate", "no error at the base"]
    assert table.loc[["unknown", "no base"], ["e_value", "e_value_limit"]].isna().all(axis=None)


@pytest.mark.parametrize(("b", "c"), [(30, 5), (5, 30), (12, 0), (200, 150)])
def test_gamma_is_the_last_at_which_the_test_rejects(b, c):
    gamma = rosenbaum_gamma(b, c)

    def worst_p(value):
        tails = binom.sf([max(b, c) - 1, max(b, c)], b + c, value / (1 + value))
        return tails.sum()

    assert worst_p(gamma * (1 - 1e-6)) < 0.05 < worst_p(gamma * (1 + 1e-6))
    assert worst_p(1.0) == pytest.approx(mcnemar(b, c))


def test_gamma_is_missing_where_nothing_is_rejected():
    assert np.isnan(rosenbaum_gamma([10, 0, 3], [10, 0, 0])).all()
    b, c = np.meshgrid(np.arange(40), np.arange(40))
    np.testing.assert_array_equal(np.isfinite(rosenbaum_gamma(b, c)), mcnemar(b, c) < 0.05)
    assert rosenbaum_gamma(30, 5, alpha=0.01) < rosenbaum_gamma(30, 5, alpha=0.05)


def test_no_hidden_bias_within_gamma_makes_false_findings():
    """A hidden attribute that favours one image of each pair by Γ: the bound holds."""
    rng, n, gamma = np.random.default_rng(0), 60, 2.0
    b = rng.binomial(n, gamma / (1 + gamma), size=20_000)
    assert np.mean(np.nan_to_num(rosenbaum_gamma(b, n - b)) >= gamma) <= 0.05
