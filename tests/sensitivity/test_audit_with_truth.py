"""The audit whose truth is known against one whose truth is simple, a t test and simulation."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from facerender.parameters import INDEX, NAMES
from helpers.generators import load_generator
from helpers.sensitivity import audit_with_truth
from helpers.sensitivity.known_truth import step_of_one
from helpers.world.known_truth import LINKS

INTERVAL = ["estimate", "low", "high"]


def test_mean_changes_agree_with_a_t_test():
    changes = pd.DataFrame(np.random.default_rng(3).normal(0.1, 0.2, (25, 2)), columns=list("ab"))
    table = audit_with_truth.mean_changes(changes)
    assert list(table.columns) == INTERVAL
    for name, column in changes.items():
        interval = stats.ttest_1samp(column, 0).confidence_interval(0.95)
        np.testing.assert_allclose(table.loc[name], [column.mean(), *interval])


def test_repeated_audits_hold_the_mean_as_often_as_they_should():
    changes = pd.DataFrame(
        np.random.default_rng(4).normal(0.1, 0.2, (3000, 3)), columns=list("abc")
    )
    found = audit_with_truth.repeated_audits(changes, n=30, repeats=800, seed=1)
    assert list(found) == list("abc") and found.mean().between(0.93, 0.97).all()
    again, other = (audit_with_truth.repeated_audits(changes, 30, 800, seed) for seed in (1, 2))
    pd.testing.assert_frame_equal(found, again)
    assert not found.equals(other)


def test_repeated_audits_of_rare_changes_hold_their_mean_less_often():
    """One face in a hundred moves: an audit of 30 that misses it has no width."""
    changes = pd.DataFrame({"rare": (np.arange(500) % 100 == 0).astype(float)})
    found = audit_with_truth.repeated_audits(changes, n=30, repeats=400, seed=1)
    assert found["rare"].mean() == pytest.approx(1 - 0.99**30, abs=0.08)


@pytest.mark.parametrize("n_truth", [90, 30])
def test_repeated_audits_hold_an_estimated_truth_as_often_as_expected(n_truth):
    changes = pd.DataFrame({"a": np.random.default_rng(5).normal(0.1, 0.2, 3000)})
    found = audit_with_truth.repeated_audits(changes, 30, 2000, seed=1, n_truth=n_truth)
    audited = pd.DataFrame({"low": [-1.0], "high": [1.0]})
    expected = audit_with_truth.expected_to_hold(audited, audited * np.sqrt(30 / n_truth))
    assert found["a"].mean() == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize(("ratio", "expected"), [(0, 0.95), (0.5, 0.9204), (1, 0.8342)])
def test_fewer_intervals_hold_an_uncertain_truth(ratio, expected):
    audited = pd.DataFrame({"low": [0.0, 1.0], "high": [0.2, 1.4]})
    truth = pd.DataFrame({"low": [0.0, 0.0], "high": [0.2 * ratio, 0.4 * ratio]})
    found = audit_with_truth.expected_to_hold(audited, truth)
    assert found == pytest.approx(expected, abs=1e-4)


def test_simulated_audits_hold_as_often_as_expected():
    """Audit and truth both miss the effect; the interval is the audit's alone."""
    rng, ratio = np.random.default_rng(7), 0.75
    found, truth = rng.normal(0, 1, 20_000), rng.normal(0, ratio, 20_000)
    audited = pd.DataFrame({"low": [0.0], "high": [2 * 1.96]})
    expected = audit_with_truth.expected_to_hold(audited, ratio * audited)
    assert (np.abs(found - truth) < 1.96).mean() == pytest.approx(expected, abs=0.015)


PARAMETERS = {
    "Young": ("age", -1),
    "Long_Hair": ("hair_length", 1),
    "Pale_Skin": ("skin_colour", -1),
    "Smiling": ("smiling", 1),
}
WEIGHTS = {"smiling": 0.6, "hair_length": -0.3, "skin_colour": 0.4}


def by_column(faces: torch.Tensor, _: str) -> np.ndarray:
    """A score that is linear in three parameters and blind to all others."""
    return sum(weight * faces[:, INDEX[name]].double().numpy() for name, weight in WEIGHTS.items())


def by_coordinate(faces: torch.Tensor, _: str) -> np.ndarray:
    """The same of their latent coordinates, so that effects are the same for every face."""
    columns = {name: faces[:, INDEX[name]].double().numpy() for name in WEIGHTS}
    return sum(WEIGHTS[name] * LINKS[name].coordinate(value) for name, value in columns.items())


@pytest.fixture(scope="module")
def generator():
    return load_generator("known-truth", size=16)


def audit_of(generator, score, n: int = 150, n_many: int = 600) -> audit_with_truth.KnownTruth:
    few, many = generator.sample(n, seed=1), generator.sample(n_many, seed=2)
    return audit_with_truth.KnownTruth(generator, PARAMETERS, few, many, score)


def test_exact_steps_move_one_coordinate_by_one_in_the_right_direction(generator):
    steps = audit_of(generator, by_column, 2, 2).exact_steps()
    for name, (own, sign) in PARAMETERS.items():
        ends = generator.coordinates(torch.from_numpy(steps[name])[None], NAMES)[0]
        np.testing.assert_allclose(ends, sign * (np.array(NAMES) == own), atol=1e-12)


def test_changes_by_hand_are_those_of_single_parameters(generator):
    audit = audit_of(generator, by_column, n=2, n_many=50)
    changes = audit.changes_by_hand()
    assert changes.shape == (50, 4) and list(changes.columns) == list(PARAMETERS)
    for name, (own, sign) in PARAMETERS.items():
        if own not in WEIGHTS:
            assert (changes[name] == 0).all()
            continue
        s = generator.coordinates(audit.many, [own])[:, 0]
        expected = LINKS[own].value(s + sign) - LINKS[own].value(s)
        np.testing.assert_allclose(changes[name], WEIGHTS[own] * expected, atol=1e-6)


def test_the_score_is_asked_once_for_each_set_of_images(generator):
    asked = []

    def score(faces, name):
        asked.append((tuple(faces.shape), name))
        return by_column(faces, name)

    audit = audit_of(generator, score, n=6, n_many=9)
    truth = audit_with_truth.mean_changes(audit.changes_by_hand())
    audit_with_truth.against(audit.changes(audit.exact_steps(), "exact"), truth)
    assert asked == [((45, len(NAMES)), "by_hand"), ((30, len(NAMES)), "exact")]


def test_exact_steps_find_the_truth(generator):
    audit = audit_of(generator, by_column)
    truth = audit_with_truth.mean_changes(audit.changes_by_hand())
    table = audit_with_truth.against(audit.changes(audit.exact_steps(), "exact"), truth)
    assert list(table.columns) == [*INTERVAL, "truth", "error", "holds"]
    np.testing.assert_allclose(table["truth"], truth["estimate"])
    np.testing.assert_allclose(table["error"], table["estimate"] - table["truth"])
    inside = (table["low"] <= table["truth"]) & (table["truth"] <= table["high"])
    assert (table["holds"] == inside).all()
    moving = table.drop(index="Young")
    assert moving["holds"].all() and (moving["estimate"].abs() > 0.05).all()
    assert table.loc["Young", "estimate"] == pytest.approx(0, abs=1e-6)


def test_on_the_same_codes_exact_steps_give_the_same_changes(generator):
    codes = generator.sample(50, seed=3)
    audit = audit_with_truth.KnownTruth(generator, PARAMETERS, codes, codes, by_column)
    truth = audit_with_truth.mean_changes(audit.changes_by_hand())
    table = audit_with_truth.against(audit.changes(audit.exact_steps(), "exact"), truth)
    np.testing.assert_allclose(table[INTERVAL], truth, atol=1e-6)


LEAKS = {
    "Young": {"smiling": 0.1, "hair_length": -0.2},
    "Long_Hair": {"smiling": -0.15, "age": 0.3},
    "Smiling": {"skin_colour": 0.4},
}


def leaking(generator) -> dict[str, np.ndarray]:
    """Steps that move other coordinates as well, at another length before they are scaled."""
    steps = {}
    for name, others in LEAKS.items():
        own, sign = PARAMETERS[name]
        moves = np.array([sign, *others.values()])
        direction = moves @ generator.exact_directions([own, *others])
        steps[name] = step_of_one(generator, 0.3 * direction, own, sign)
    return steps


def test_leakage_predicts_the_error_where_effects_add_up(generator):
    audit, steps = audit_of(generator, by_coordinate), leaking(generator)
    truth = audit_with_truth.mean_changes(audit.changes_by_hand())
    brought = audit.predicted_error(steps, truth)
    assert list(brought.index) == list(LEAKS)
    assert list(brought.columns) == [own for own, _ in PARAMETERS.values()]
    for name, others in LEAKS.items():
        for own, _ in PARAMETERS.values():
            expected = others.get(own, 0) * WEIGHTS.get(own, 0)
            assert brought.loc[name, own] == pytest.approx(expected, abs=1e-3)
    found = audit_with_truth.against(audit.changes(steps, "leaking"), truth)
    np.testing.assert_allclose(found["error"], brought.sum(axis=1), atol=1e-3)


def test_leakage_predicts_the_error_to_first_order_where_effects_bend(generator):
    codes = generator.sample(400, seed=3)
    audit = audit_with_truth.KnownTruth(generator, PARAMETERS, codes, codes, by_column)
    truth, steps = audit_with_truth.mean_changes(audit.changes_by_hand()), leaking(generator)
    predicted = audit.predicted_error(steps, truth).sum(axis=1)
    error = audit_with_truth.against(audit.changes(steps, "leaking"), truth)["error"]
    assert (error.abs() > 0.005).all()
    np.testing.assert_allclose(error, predicted, rtol=0.3)


def test_smile_changes_are_those_of_the_visible_smile(generator):
    audit = audit_of(generator, by_column, n=5, n_many=2)
    steps = audit.exact_steps()
    changes = audit.smile_changes(steps)
    assert changes.shape == (5, 4)
    np.testing.assert_allclose(changes.drop(columns="Smiling"), 0, atol=1e-6)
    start = generator.coordinates(audit.audit, ["smiling"])[:, 0]
    expected = LINKS["smiling"].value(start + 1) - LINKS["smiling"].value(start)
    np.testing.assert_allclose(changes["Smiling"], expected, atol=1e-6)
