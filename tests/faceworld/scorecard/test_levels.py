"""Audits of several levels: the library's own report, and truths by loops over faces."""

import numpy as np
import pandas as pd
import pytest

import faceaudit
from faceworld import scorecard

NAMES = ("Light", "Fair", "Brown", "Black")
GENDERS = ["female", "male"]
PAIRS = {
    "reference": [(0, 1), (0, 2), (0, 3)],
    "adjacent": [(0, 1), (1, 2), (2, 3), (0, 3)],
}


@pytest.fixture
def pool():
    """Errors of 60 faces at four types of skin, as women and as men."""
    rates = np.array([0.1, 0.3, 0.2, 0.5])[:, None] + [0, 0.1]
    return (np.random.default_rng(4).random((60, 4, 2)) < rates).astype(float)


def audits_of(kind):
    return scorecard.LevelAudits("skin_colour", NAMES, ("gender",), kind)


@pytest.mark.parametrize("kind", ["reference", "adjacent", "trend"])
def test_audits_are_those_of_the_library(pool, kind):
    audits = scorecard.draw_audits(pool, 40, 3, seed=1)
    table = audits_of(kind).estimates(audits)
    for number, errors in enumerate(audits):
        face, skin, gender = np.indices(errors.shape).reshape(3, -1)
        images = {"face": face, "skin": np.take(NAMES, skin), "gender": np.take(GENDERS, gender)}
        by_call = faceaudit.table(
            pd.DataFrame(images | {"error": errors.ravel().astype(int)}),
            unit="face",
            axes={"skin": list(NAMES), "gender": GENDERS},
            error="error",
            tolerance=0.05,
            contrasts=kind,
        ).averages
        expected = by_call[by_call["axis"] == "skin"]
        found = table[table["audit"] == number]
        assert found["cell"].tolist() == expected["contrast"].tolist()
        for column in ("estimate", "low", "high", "p"):
            np.testing.assert_allclose(found[column], expected[column].astype(float))


@pytest.mark.parametrize("kind", ["reference", "adjacent", "trend"])
def test_truth_is_counted_in_the_pool(pool, kind):
    slopes, changes = [], {}
    for errors in pool:
        of_types = errors.mean(axis=1)
        slopes.append(3 * np.polyfit(range(4), of_types, 1)[0])
        for low, high in PAIRS.get(kind, []):
            name = f"{NAMES[high]} instead of {NAMES[low]}"
            changes.setdefault(name, []).append(of_types[high] - of_types[low])
    truth = audits_of(kind).truth(pool).set_index("cell")["truth"]
    if kind == "trend":
        assert truth.tolist() == [pytest.approx(np.mean(slopes))]
        return
    assert truth.to_dict() == {name: pytest.approx(np.mean(one)) for name, one in changes.items()}


def test_intervals_hold_together_and_are_wider_for_it(pool):
    table = audits_of("reference").estimates_with_truth(pool, 30, 20, seed=2)
    assert (table["low_family"] < table["low"]).all()
    assert (table["high_family"] > table["high"]).all()
    trend = audits_of("trend").estimates_with_truth(pool, 30, 20, seed=2)
    np.testing.assert_allclose(trend["low_family"], trend["low"])
