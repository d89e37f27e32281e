"""The audit whose truth is known against one whose truth is simple, a t test and simulation."""

import numpy as np
import pandas as pd
import pytest
import torch

from facerender.parameters import INDEX
from faceworld import load_generator
from faceworld.known_truth import LINKS
from faceworld.scorecard import flips

INTERVAL = ["estimate", "low", "high"]


@pytest.mark.parametrize("n_truth", [90, 30])
def test_repeated_audits_hold_an_estimated_truth_as_often_as_expected(n_truth):
    changes = pd.DataFrame({"a": np.random.default_rng(5).normal(0.1, 0.2, 3000)})
    found = flips.repeated_audits(changes, 30, 2000, seed=1, n_truth=n_truth)
    audited = pd.DataFrame({"low": [-1.0], "high": [1.0]})
    expected = flips.expected_to_hold(audited, audited * np.sqrt(30 / n_truth))
    assert found["a"].mean() == pytest.approx(expected, abs=0.02)


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


def audit_of(generator, score, n: int = 150, n_many: int = 600) -> flips.KnownTruth:
    few, many = generator.sample(n, seed=1), generator.sample(n_many, seed=2)
    return flips.KnownTruth(generator, PARAMETERS, few, many, score)


def test_exact_steps_find_the_truth(generator):
    audit = audit_of(generator, by_column)
    truth = flips.mean_changes(audit.changes_by_hand())
    table = flips.compare_sensitivities(audit.changes(audit.exact_steps(), "exact"), truth)
    assert list(table.columns) == [*INTERVAL, "truth", "error", "holds"]
    np.testing.assert_allclose(table["truth"], truth["estimate"])
    np.testing.assert_allclose(table["error"], table["estimate"] - table["truth"])
    inside = (table["low"] <= table["truth"]) & (table["truth"] <= table["high"])
    assert (table["holds"] == inside).all()
    moving = table.drop(index="Young")
    assert moving["holds"].all() and (moving["estimate"].abs() > 0.05).all()
    assert table.loc["Young", "estimate"] == pytest.approx(0, abs=1e-6)


LEAKS = {
    "Young": {"smiling": 0.1, "hair_length": -0.2},
    "Long_Hair": {"smiling": -0.15, "age": 0.3},
    "Smiling": {"skin_colour": 0.4},
}


def leaking(generator) -> dict[str, np.ndarray]:
    """Steps that move other coordinates besides their own, by these amounts."""
    steps = {}
    for name, others in LEAKS.items():
        own, sign = PARAMETERS[name]
        moves = np.array([sign, *others.values()])
        steps[name] = moves @ generator.exact_directions([own, *others])
    return steps


def test_leakage_predicts_the_error_where_effects_add_up(generator):
    audit, steps = audit_of(generator, by_coordinate), leaking(generator)
    truth = flips.mean_changes(audit.changes_by_hand())
    brought = audit.predicted_error(steps, truth)
    assert list(brought.index) == list(LEAKS)
    assert list(brought.columns) == [own for own, _ in PARAMETERS.values()]
    for name, others in LEAKS.items():
        for own, _ in PARAMETERS.values():
            expected = others.get(own, 0) * WEIGHTS.get(own, 0)
            assert brought.loc[name, own] == pytest.approx(expected, abs=1e-3)
    found = flips.compare_sensitivities(audit.changes(steps, "leaking"), truth)
    np.testing.assert_allclose(found["error"], brought.sum(axis=1), atol=1e-3)
