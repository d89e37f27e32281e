"""Estimators on audits of found portraits."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from helpers import effects, scorecard


def test_an_audit_of_portraits_depends_on_its_own_number_only():
    pool = pd.DataFrame({"error_a": np.random.default_rng(0).integers(2, size=50)})

    def rate(samples):
        rates = samples.groupby("audit")["error"].mean()
        return pd.DataFrame({"estimate": rates, "low": 0, "high": 1, "p": 1})

    few, many = (
        scorecard.observational_audits(
            pool, ["a", "null"], {"rate": rate}, 3000, repetitions, seed=3, null_rate=0.1
        )
        for repetitions in (2, 5)
    )
    pd.testing.assert_frame_equal(few, many[:4])
    rates = many.groupby("model")["estimate"].mean()
    assert rates["a"] == pytest.approx(pool["error_a"].mean(), abs=0.02)
    assert rates["null"] == pytest.approx(0.1, abs=0.01)


def test_the_papers_logit_as_a_difference_of_rates():
    generator = np.random.default_rng(1)
    frame = pd.DataFrame(
        {name: generator.random(4000) for name in (*effects.PAPER_LEVELS, "age")}
    ).assign(age=lambda table: 0.5 + table["age"] / 2)
    dark = frame["skin_colour"] >= 0.5
    error = (generator.random(4000) < np.where(dark, 0.3, 0.1)).astype(int)
    X = effects.paper_columns(frame)
    values, pattern = np.unique(X, axis=0, return_inverse=True)
    patterns = pd.DataFrame(values, columns=X.columns)
    women = (frame["gender"] < 0.5).to_numpy()
    contrast = ("skin_colour", "Light skin", "Dark skin")
    found = scorecard.paper_difference(patterns, pattern, error, women, contrast, 100, seed=1)
    assert found["low"] < 0.2 < found["high"]
    assert found["estimate"] == pytest.approx(error[dark].mean() - error[~dark].mean(), abs=0.01)

    beta = np.nan_to_num(effects.paper_logit(X, error))  # a level that nobody has
    rates = []
    for level in contrast[1:]:
        set_to = X[women].copy()
        for other in contrast[1:]:
            set_to["skin_colour", other] = float(level == other)
        rates.append(expit(beta[0] + set_to.to_numpy() @ beta[1:]).mean())
    assert found["estimate"] == pytest.approx(rates[1] - rates[0], abs=1e-9)
