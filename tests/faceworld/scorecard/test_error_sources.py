"""The ladder of arms: names of cells, coverage of the truth, and what each step adds."""

import numpy as np
import pandas as pd
import pytest

from faceaudit.effects import verdicts
from faceworld.scorecard import error_sources

AXES = ["skin_colour", "hair_length", "gender"]


def test_coverage_expects_less_when_the_truth_is_uncertain():
    draws = np.random.default_rng(0)
    n, se, truth_se = 4000, 0.03, 0.03
    estimate, truth = draws.normal(0, se, n), draws.normal(0, truth_se, n)
    half = verdicts.Z * se
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
