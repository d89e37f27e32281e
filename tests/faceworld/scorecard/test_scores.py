"""Scores against errors that are known, and against audits of known models."""

import numpy as np
import pandas as pd
import pytest

from faceaudit import effects
from faceworld import scorecard
from faceworld.scorecard import draw_audits, matched_audits, with_truth

AXES = ["skin_colour", "hair_length", "gender"]
OF = {"alarm": "max", "missed": "mean"}


def scored(table: pd.DataFrame, pool: np.ndarray, model="a", estimator="b") -> pd.DataFrame:
    table = with_truth(table, pool, AXES).assign(model=model, estimator=estimator)
    return scorecard.name_cells_with_attribute(table)


def test_main_effects_cancel_where_interactions_do_not(pool):
    audits = draw_audits(pool, 200, 20, seed=2)
    tables = [
        scored(scorecard.logit_audits(audits, AXES, with_=with_, n_boot=50), pool, "a", name)
        for with_, name in ((None, "main effects"), ("gender", "interactions"))
    ]
    table = pd.concat([*tables, scored(matched_audits(audits, AXES), pool, "a", "matched")])
    scores = scorecard.score_estimators(table).loc["a"]
    assert scores.loc["main effects", "bias"] > 0.15
    assert scores.loc["interactions", "bias"] < 0.03
    assert scores.loc["matched", "bias_low"] < 0.01
    right = (table["p"] < 0.01) & (table["estimate"] * table["truth"] > 0)
    table["missed"] = (~right).astype(float).where(table["truth"].abs() > 0.1)
    missed = scorecard.share_of_audits(table, {"missed": "mean"}).loc["a", "missed"]
    assert missed["main effects"] > 0.9
    assert missed["matched"] < 0.05


def test_errors_without_effects_raise_few_alarms():
    random = np.random.default_rng(4)
    rates = random.beta(0.4, 3.6, (200, 100, 1, 1, 1))  # mean 0.1, correlation in a transect 0.2
    audits = (random.random((200, 100, 2, 2, 2)) < rates).astype(float)
    table = matched_audits(audits, AXES).assign(truth=0.0, model="null", estimator="matched")
    table["alarm"] = (table.groupby("audit")["p"].transform(effects.holm) < 0.05).astype(float)
    shares = scorecard.share_of_audits(table.assign(missed=np.nan), OF).loc["null", "matched"]
    assert shares["alarm"] <= 0.06
    assert shares.filter(like="missed").isna().all()


def test_scores_of_known_errors():
    generator = np.random.default_rng(0)
    errors = generator.normal([0.03, -0.01], 0.02, (4000, 2))
    table = pd.DataFrame(
        {
            "model": "a",
            "estimator": "b",
            "audit": np.repeat(np.arange(4000), 2),
            "cell": np.tile(["one", "two"], 4000),
            "truth": 0.1,
            "estimate": 0.1 + errors.ravel(),
        }
    )
    table["low"], table["high"] = table["estimate"] - 0.0392, table["estimate"] + 0.0392
    score = scorecard.score_estimators(table).loc["a", "b"]
    bias = np.sqrt((0.03**2 + 0.01**2) / 2)
    assert score["bias_low"] < bias < score["bias_high"]
    assert score["bias"] == pytest.approx(bias, abs=0.001)
    assert score["rmse"] == pytest.approx(np.hypot(bias, 0.02), abs=0.001)
    inside = (np.abs(errors) <= 0.0392).mean()
    assert score["coverage"] == pytest.approx(inside)
    assert score["coverage_low"] < inside < score["coverage_high"]
