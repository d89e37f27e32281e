"""Predictions for other populations beside what is observed there."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers.effects import populations_carried
from helpers.effects.figures import draw_transport

MODELS = ("celeba-like", "null")


def faces(n: int, short: float, seed: int) -> pd.DataFrame:
    """Faces with errors for short hair only; dark-skinned women wear it short more often."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"gender": rng.choice([0.1, 0.9], n), "skin_colour": rng.random(n)})
    cropped = rng.random(n) < np.where(frame["skin_colour"] >= 0.5, short, 0.5)
    frame["hair_length"] = np.where(cropped, 0.1, 0.8)
    frame["age"] = 0.6
    frame["face"] = np.arange(n)
    frame["error_celeba-like"] = (rng.random(n) < np.where(cropped, 0.3, 0.05)).astype(int)
    frame["error_null"] = (rng.random(n) < 0.1).astype(int)
    return populations_carried.with_strata(frame)


@pytest.fixture(scope="module")
def experiment() -> pd.DataFrame:
    return faces(6000, short=0.5, seed=0)


@pytest.fixture(scope="module")
def target() -> pd.DataFrame:
    return faces(6000, short=0.9, seed=1)


def carry(frame: pd.DataFrame, target: pd.DataFrame, **options) -> pd.DataFrame:
    return populations_carried.carry(frame, target, MODELS, "face", n_boot=200, **options)


def test_strata_are_cut_as_in_the_papers_figures():
    frame = pd.DataFrame(
        {
            "gender": [0.0, 0.5, 0.9],
            "hair_length": [0.39, 0.4, 1.0],
            "skin_colour": [0.49, 0.5, 1.0],
            "age": [0.0, 0.6, 1.0],
        }
    )
    strata = populations_carried.with_strata(frame)
    assert strata["seen_as"].tolist() == ["female", "male", "male"]
    assert strata["hair"].tolist() == ["short", "long", "long"]
    assert strata["skin"].tolist() == ["light", "dark", "dark"]
    assert strata["clarity"].tolist() == ["clear", "divided", "clear"]
    assert strata["age_group"].tolist() == ["Child", "Adult", "Senior"]


def test_a_frame_predicts_itself_exactly(target):
    own = carry(target, target)
    women = target[target["seen_as"] == "female"].groupby("skin")["error_celeba-like"].mean()
    assert own.loc[("celeba-like", "all faces"), "estimate"] == pytest.approx(
        target["error_celeba-like"].mean()
    )
    assert own.loc[("celeba-like", "women, dark − light"), "estimate"] == pytest.approx(
        women["dark"] - women["light"]
    )


def test_a_disparity_that_comes_with_hair_is_predicted(experiment, target):
    own, predicted = carry(experiment, experiment), carry(experiment, target)
    observed = carry(target, target)
    row = ("celeba-like", "women, dark − light")
    assert abs(own.loc[row, "estimate"]) < 0.03
    assert predicted.loc[row, "estimate"] == pytest.approx(0.1, abs=0.03)
    assert observed.loc[row, "low"] < predicted.loc[row, "estimate"] < observed.loc[row, "high"]
    assert list(predicted.index.unique("quantity")) == list(populations_carried.QUANTITIES.values())


def test_sentences_say_the_share_or_that_there_is_nothing_to_predict(experiment, target):
    lines = populations_carried.explained(
        carry(target, target), carry(experiment, target), "women, dark − light"
    ).splitlines()
    assert "**celeba-like**" in lines[0]
    assert "% of it" in lines[0]
    assert "no clear disparity" in lines[1]


def test_misses_average_over_models_in_points(experiment, target):
    predicted, observed = carry(experiment, target), carry(target, target)
    found = populations_carried.misses(predicted, observed, MODELS)
    rows = [(model, "all faces") for model in MODELS]
    gone = (predicted.loc[rows, "estimate"] - observed.loc[rows, "estimate"]).abs()
    assert found["all faces"] == pytest.approx(100 * gone.mean())


def test_contributions_add_up_to_the_miss(experiment, target):
    parts = populations_carried.contributions(experiment, target, "error_celeba-like")
    predicted, observed = carry(experiment, target), carry(target, target)
    row = ("celeba-like", "all faces")
    miss = observed.loc[row, "estimate"] - predicted.loc[row, "estimate"]
    assert parts.sum() == pytest.approx(100 * miss)


def test_the_figure_has_a_panel_per_model(experiment, target):
    figure = draw_transport({"predicted": carry(experiment, target)})
    assert [ax.get_title() for ax in figure.axes] == list(MODELS)
    assert figure.legends[0].texts[0].get_text() == "predicted, n = 6,000"
    plt.close("all")


def test_limits_of_a_share_are_where_the_difference_is_just_significant():
    index = pd.MultiIndex.from_tuples([("a", "gap")], names=["model", "quantity"])
    observed = pd.DataFrame({"estimate": 0.10, "low": 0.06, "high": 0.14, "points": "+10"}, index)
    predicted = pd.DataFrame({"estimate": 0.05, "low": 0.03, "high": 0.07, "points": "+5"}, index)
    words = populations_carried.explained(observed, predicted, "gap")
    assert "+10 points observed" in words and "which is 50% of it" in words
    low, high = (float(part) / 100 for part in re.findall(r"\((\d+)% to (\d+)%\)", words)[0])
    for share in (low, high):
        margin = np.hypot(0.02, share * 0.04)
        assert abs(0.05 - share * 0.10) == pytest.approx(margin, abs=0.001)
    unclear = observed.assign(low=-0.01)
    assert "no clear disparity" in populations_carried.explained(unclear, predicted, "gap")
