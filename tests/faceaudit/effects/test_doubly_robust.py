"""AIPW of found portraits: against other code, in planted worlds, and where it refuses."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from faceaudit.effects import DoublyRobust, doubly_robust_difference, risk_differences
from faceaudit.effects.covariates import read_levels
from faceaudit.effects.doubly_robust import FOLDS, SPLITS, deal_folds, propensity_bound
from faceaudit.effects.mean_difference import mean_difference
from faceaudit.utils import seeding
from faceaudit.utils.errors import InputError

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
import doubly_robust as benchmark

BENCHMARKS = Path(benchmark.__file__).parent
COVARIATES = benchmark.COVARIATES
RECORDED = ["hair", "age", "light"]
"""Covariates of the recorded portraits."""
SEED = 20200715
"""Of their folds."""


@pytest.fixture(scope="module")
def recorded() -> pd.DataFrame:
    """The portraits that DoubleML was asked about."""
    return pd.read_csv(BENCHMARKS / "results" / "adjusted_portraits.csv")


def adjusted(frame: pd.DataFrame, **keywords) -> DoublyRobust:
    """What is found of a world's portraits."""
    return doubly_robust_difference(frame, "outcome", "dark", COVARIATES, "person", **keywords)


@pytest.mark.parametrize(("outcome", "is_number"), [("error", False), ("years", True)])
def test_estimate_and_standard_error_are_those_of_doubleml(recorded, outcome, is_number):
    references = pd.read_csv(BENCHMARKS / "results" / "adjusted_references.csv")
    references = references.query("package == 'doubleml' and outcome == @outcome")
    expected = references.set_index("quantity")["value"]
    found = doubly_robust_difference(
        recorded, outcome, "skin", RECORDED, "person", is_number=is_number, seed=SEED
    )
    found = found.effects.loc["adjusted"]
    assert abs(found["estimate"] - expected["estimate"]) < 1e-6
    # DoubleML does not correct for the number of people.
    assert abs(found["se"] / expected["se"] - 1) < 0.005


def test_a_loop_over_folds_with_scikit_learn_finds_the_same(recorded):
    cell, known = read_levels(recorded, "error", "skin", RECORDED, "person", False)
    bound = propensity_bound(len(cell.present))
    X, arm, error = known.design, cell.arm, cell.error
    scores = []
    for split in range(SPLITS["logistic"]):
        fold = deal_folds(cell, SEED, split)[cell.cluster]
        score = np.empty(len(error))
        for number in range(FOLDS):
            fitted, left = fold != number, fold == number
            chance = LogisticRegression(tol=1e-10, max_iter=1000).fit(X[fitted], arm[fitted])
            chance = chance.predict_proba(X[left])[:, 1].clip(bound, 1 - bound)
            risks = []
            for level, chance_of_level in ((0, 1 - chance), (1, chance)):
                rows = fitted & (arm == level)
                fit = LogisticRegression(tol=1e-10, max_iter=1000).fit(X[rows], error[rows])
                risk = fit.predict_proba(X[left])[:, 1]
                weight = (arm[left] == level) / chance_of_level
                risks.append(risk + weight * (error[left] - risk))
            score[left] = risks[1] - risks[0]
        scores.append(score)
    score = np.mean(scores, axis=0)
    by_person = pd.Series(score - score.mean()).groupby(cell.cluster).sum()
    found = doubly_robust_difference(recorded, "error", "skin", RECORDED, "person", seed=SEED)
    assert abs(found.effects.loc["adjusted", "estimate"] - score.mean()) < 1e-6
    se = np.sqrt((by_person**2).sum()) / len(score)
    assert abs(found.effects.loc["adjusted", "se"] / se - 1) < 0.005


def test_the_unadjusted_row_is_the_counted_difference(recorded):
    found = doubly_robust_difference(recorded, "error", "skin", RECORDED, "person")
    counted = risk_differences(recorded, "error", "skin", None, "person").loc["all"]
    columns = ["estimate", "low", "high", "p", "n", "clusters"]
    assert found.effects.loc["unadjusted", columns].tolist() == counted[columns].tolist()


@pytest.mark.parametrize("name", benchmark.WORLDS)
def test_one_of_both_models_may_be_wrong(name):
    world = benchmark.World(0.1, *benchmark.WORLDS[name])
    errors = []
    for audit in range(25):
        frame = world.audit(800, seeding.rng(7, f"planted/{name}", audit))
        found = adjusted(frame).effects
        errors.append(found["estimate"] - world.truth)
    mean = pd.DataFrame(errors).mean()
    standard_error = pd.DataFrame(errors).sem()
    assert mean["unadjusted"] > 3 * standard_error["unadjusted"]
    if name == "both models wrong":
        assert mean["adjusted"] > 0.15
    else:
        assert abs(mean["adjusted"]) < 3 * standard_error["adjusted"] < 0.03


def test_trees_find_the_interaction_that_main_effects_lack():
    world = benchmark.World(0.1, *benchmark.WORLDS["both models wrong"])
    frame = world.audit(3000, seeding.rng(7, "planted/trees"))
    by_trees = adjusted(frame, learner="boosted").effects.loc["adjusted"]
    by_main_effects = adjusted(frame).effects.loc["adjusted"]
    assert by_trees["low"] < world.truth < by_trees["high"]
    assert by_main_effects["low"] > world.truth + 0.1


def test_weights_take_the_differences_out_of_the_covariates():
    frame = benchmark.World(0.1).audit(3000, seeding.rng(7, "planted/balance"))
    balance = adjusted(frame).balance.set_index(["covariate", "level"])
    assert balance["before"].abs().max() > 0.3
    assert balance["after"].abs().max() < 0.05
    hair = frame.groupby("dark")["hair"]
    unit = np.sqrt(hair.var(ddof=0).mean())
    before = (hair.mean()[1] - hair.mean()[0]) / unit
    assert abs(balance.loc[("hair", "1"), "before"] - before) < 1e-12


def test_results_hang_on_the_seed_and_not_on_the_order_of_rows(recorded):
    mixed = recorded.sample(frac=1, random_state=3)
    tables = [
        doubly_robust_difference(frame, "error", "skin", RECORDED, "person", seed=seed).effects
        for frame, seed in ((recorded, 1), (mixed, 1), (recorded, 2))
    ]
    estimates = [table.loc["adjusted", "estimate"] for table in tables]
    assert abs(estimates[0] - estimates[1]) < 1e-12
    assert 1e-6 < abs(estimates[0] - estimates[2]) < 0.01


def test_a_level_without_errors_still_has_an_interval():
    frame = benchmark.World(0.1).audit(400, seeding.rng(7, "planted/none"))
    frame.loc[frame["dark"] == 0, "outcome"] = 0
    found = adjusted(frame).effects.loc["adjusted"]
    assert found["low"] < found["estimate"] < found["high"] < 1
    none = adjusted(frame.assign(outcome=0)).effects.loc["adjusted"]
    assert none["low"] < none["estimate"] == 0 < none["high"]


def test_covariates_that_do_not_vary_leave_the_counted_difference():
    frame = benchmark.World(0.1).audit(200, seeding.rng(7, "planted/constant"))
    frame = frame.assign(place="here", height=1.0)
    for is_number in (False, True):
        found = doubly_robust_difference(
            frame, "outcome", "dark", ["place", "height"], "person", is_number=is_number
        )
        assert np.ptp(found.effects["estimate"]) < 0.01
        assert abs(found.balance[["before", "after"]]).max(axis=None) < 1e-9


def test_people_may_be_at_both_levels():
    frame = benchmark.World(0.1).audit(200, seeding.rng(7, "planted/both"))
    frame["dark"] = np.random.default_rng(1).integers(2, size=len(frame))
    found = adjusted(frame)
    assert found.overlap["clusters"].sum() > found.effects["clusters"].iloc[0]
    row = found.effects.loc["adjusted"]
    assert row["low"] < 0 < row["high"] and abs(row["estimate"]) < 0.1


def separated(frame: pd.DataFrame) -> pd.DataFrame:
    """The level follows from a number."""
    return frame.assign(age=frame["dark"] * 10.0 + frame["age"])


def with_few(frame: pd.DataFrame, people: int) -> pd.DataFrame:
    """Only so many people have the high level."""
    few = frame.loc[frame["dark"] == 1, "person"].unique()[:people]
    return frame[(frame["dark"] == 0) | frame["person"].isin(few)]


REFUSED = {
    "no overlap: no image with hair = 0 has dark = 1": lambda frame: frame.assign(
        hair=frame["dark"]
    ),
    "no image with age = 9 has dark = 1": lambda frame: frame.assign(
        age=frame["age"].where((frame["dark"] == 1) | (frame["person"] % 3 > 0), 9)
    ),
    "of the images have a propensity below": separated,
    "constant treatment": lambda frame: with_few(frame, 0),
    "one person with dark = 1": lambda frame: with_few(frame, 1),
    "9 people with dark = 1, fewer than 10": lambda frame: with_few(frame, 9),
    "every image lacks its outcome": lambda frame: frame.assign(outcome=np.nan),
    "all images are of one person": lambda frame: frame.assign(person=1),
}
"""Reason, or a part of it → what is done to portraits."""


@pytest.mark.parametrize("is_number", [False, True])
@pytest.mark.parametrize("reason", REFUSED)
def test_without_overlap_there_is_a_reason_and_no_number(reason, is_number):
    frame = benchmark.World(0.1).audit(300, seeding.rng(7, "planted/refused"))
    found = adjusted(REFUSED[reason](frame), is_number=is_number)
    row = found.effects.loc["adjusted"]
    assert reason in found.reason
    assert row["verdict"] == "not estimable"
    assert row[["estimate", "se", "low", "high", "low90", "high90", "p", "mde"]].isna().all()
    assert not found.balance["after"].notna().any() or "propensity" in found.reason
    assert len(found.overlap) == 2


def test_weights_that_leave_few_people_are_refused():
    world = benchmark.World(0.1, strength=3, intercept=-3)
    frame = world.audit(120, seeding.rng(7, "planted/few"))
    found = adjusted(frame)
    assert found.reason.startswith(("no overlap: the weights leave", "no overlap: "))
    assert np.isnan(found.effects.loc["adjusted", "estimate"])


def test_wrong_arguments_are_named(monkeypatch):
    frame = benchmark.World(0.1).audit(100, seeding.rng(7, "planted/arguments"))
    for change, keywords, message in (
        ({}, {"learner": "forest"}, "no learner of forest among logistic, boosted"),
        ({"outcome": 2}, {}, "column 'outcome', row 0 is 2, a number in .0, 1. was expected"),
        ({"hair": None}, {}, "column 'hair', row 0 is None, a level was expected"),
        ({"age": np.inf}, {}, "column 'age', row 0 is inf, a finite number was expected"),
        ({"age": np.nan}, {}, "column 'age', row 0 is nan, a finite number was expected"),
        ({"dark": np.arange(len(frame)) % 3}, {}, "keep two of them"),
    ):
        with pytest.raises(InputError, match=message):
            adjusted(frame.assign(**change), **keywords)
    with pytest.raises(InputError, match="covariates is empty"):
        doubly_robust_difference(frame, "outcome", "dark", [], "person")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="install faceaudit.adjusted."):
        adjusted(frame, learner="boosted")


def test_intervals_of_a_perfect_difference_end_at_one():
    frame = benchmark.World(0.1).audit(400, seeding.rng(7, "planted/perfect"))
    found = adjusted(frame.assign(outcome=frame["dark"])).effects
    assert (found["estimate"] > 0.9).all() and (found["high"] <= 1).all()
    assert (found["high90"] <= 1).all()
    mirrored = adjusted(frame.assign(outcome=1 - frame["dark"])).effects
    assert (mirrored["low"] >= -1).all() and (mirrored["low90"] >= -1).all()


def test_means_of_one_person_say_why_they_have_no_interval():
    frame = benchmark.World(0.1).audit(100, seeding.rng(7, "planted/one"))
    found = adjusted(frame.assign(person=1), is_number=True).effects.loc["unadjusted"]
    assert found["reason"] == "all images are of one face or person" and np.isnan(found["low"])


def test_one_person_at_a_level_has_no_difference_of_means():
    years = np.arange(40.0)
    is_dark = years == 7
    found = mean_difference(years, is_dark, np.arange(40))
    assert found["reason"] == "one face or person at a level" and np.isnan(found["estimate"])
    is_dark[8] = True
    assert mean_difference(years, is_dark, np.arange(40))["reason"] == ""
