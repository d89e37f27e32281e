"""The ladder of arms: names of cells, coverage of the truth, and which step to blame."""

import numpy as np
import pandas as pd
import pytest

from helpers.effects import labels
from helpers.scorecard import error_sources

AXES = ["skin_colour", "hair_length", "gender"]
STEPS = {"A": "sampling", "B": "directions", "C": "perception"}


def effects(**columns) -> pd.DataFrame:
    """Skin in its four cells, then averaged over hair (two rows), then over everything."""
    held = [(0, 0), (0, 1), (1, 0), (1, 1), (None, 0), (None, 1), (None, None)]
    table = pd.DataFrame(held, columns=["hair_length", "gender"]).astype("Int64")
    table.insert(0, "skin_colour", pd.array([pd.NA] * len(held), dtype="Int64"))
    return table.assign(attribute="skin_colour", model="m", **columns)


def arm(name: str, estimates: list[float], width: float = 0.1) -> pd.DataFrame:
    estimate = np.array([*estimates, 0.0, 0.0, 0.0])
    limits = {"low": estimate - width, "high": estimate + width}
    return labels.name_cells(effects(arm=name, estimate=estimate, n=50, **limits))


@pytest.fixture
def rungs() -> pd.DataFrame:
    """True effects of zero; missed from A on, from B on, at B and again at C, and never."""
    arms = [
        arm("A", [0.2, 0.0, 0.0, 0.0]),
        arm("B", [0.3, 0.2, 0.2, 0.2]),
        arm("C", [0.2, 0.3, 0.3, 0.05]),
    ]
    estimates = pd.concat(arms, ignore_index=True)
    again = (estimates["arm"] == "B") & (estimates["cell"] == "female, long hair")
    estimates.loc[again, ["estimate", "low", "high"]] = [0.05, -0.05, 0.15]
    return error_sources.compare(estimates, effects(effect=0.0, se=0.02))


def test_the_blame_goes_to_the_step_after_which_the_truth_stays_outside(rungs):
    table = error_sources.causes(rungs, STEPS)
    cause = table["cause"].droplevel(["model", "attribute"])
    assert cause.to_dict() == {
        "female, short hair": "sampling",
        "male, short hair": "directions",
        "female, long hair": "perception",
        "male, long hair": "contained",
    }
    total = table["truth"] + table[list(STEPS.values())].sum(axis=1)
    np.testing.assert_allclose(total, table["estimate"])


def test_coverage_expects_less_when_the_truth_is_uncertain():
    draws = np.random.default_rng(0)
    n, se, truth_se = 4000, 0.03, 0.03
    estimate, truth = draws.normal(0, se, n), draws.normal(0, truth_se, n)
    half = labels.Z * se
    rows = pd.DataFrame({"estimate": estimate, "low": estimate - half, "high": estimate + half})
    rows = rows.assign(truth=truth, truth_se=truth_se)
    rows["contained"] = (rows["low"] <= truth) & (truth <= rows["high"])
    found = error_sources.coverage(rows)
    assert found["cells"] == n and found["median_se"] == pytest.approx(se)
    assert (
        found["contained"]
        == pytest.approx(found["expected"], abs=0.02)
        == pytest.approx(0.83, abs=0.02)
    )
    assert found["allowing"] == pytest.approx(0.95, abs=0.015)


def grid_frame(errors: np.ndarray, names: np.ndarray) -> pd.DataFrame:
    """Images of faces (n, 2, 2, 2) with their levels and the faces' names."""
    places = np.indices(errors.shape).reshape(4, -1)
    levels = {f"{axis}_level": places[k + 1] for k, axis in enumerate(AXES)}
    return pd.DataFrame({"face": names[places[0]], "error": errors.ravel(), **levels})


def differences(frame: pd.DataFrame) -> pd.Series:
    """Dark minus light skin of every face, short-haired women."""
    cell = frame.query("hair_length_level == 0 and gender_level == 0")
    wide = cell.pivot_table("error", "face", "skin_colour_level", dropna=False)
    return (wide[1] - wide[0]).dropna()


def one_step(table: pd.DataFrame, arm_name: str) -> pd.Series:
    rows = table[(table["arm"] == arm_name) & (table["attribute"] == "skin_colour")]
    (row,) = rows[rows["hair_length"].eq(0) & rows["gender"].eq(0)].to_dict("records")
    return pd.Series(row)


def test_steps_of_arms_that_share_some_faces_and_lack_some_images_have_honest_errors():
    """The standard error is the spread of the step over repeated experiments."""
    random = np.random.default_rng(2)
    steps, ses = [], []
    for _ in range(120):
        liking = random.random((70, 1, 1, 1))  # a face's own chance of an error
        errors = (random.random((70, 2, 2, 2)) < liking).astype(float)
        lost = random.random((45, 2, 2, 2)) < 0.15
        later = np.where(random.random((45, 2, 2, 2)) < 0.3, 0, errors[25:])
        frames = {
            "A": grid_frame(errors[:50], np.arange(50)),
            "B": grid_frame(later, 25 + np.arange(45))[~lost.ravel()],
        }
        row = one_step(error_sources.step_errors(frames, "error", AXES, "face"), "B")
        steps.append(row["change"])
        ses.append(row["se"])
    assert np.std(steps) == pytest.approx(np.mean(ses), rel=0.18)
