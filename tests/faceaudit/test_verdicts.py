"""Verdicts of the cells of one model: adjusted together, by the test that fits the outcomes."""

import numpy as np
import pandas as pd
import pytest

from faceaudit.effects import all_matched_effects, holm
from faceaudit.effects.paired_proportions import score_p
from faceaudit.effects.verdicts import beyond_by_interval
from faceaudit.verdicts import judged_effects

FACES = 40
TOLERANCE = 0.05
AXES = ["skin", "hair"]


def images(worse: int, size: float = 1.0) -> pd.DataFrame:
    """Faces of four images, of which `worse` err by `size` with dark skin and long hair alone."""
    levels = [range(FACES), (0, 1), (0, 1)]
    index = pd.MultiIndex.from_product(levels, names=["face", "skin_level", "hair_level"])
    frame = index.to_frame(index=False)
    is_both = (frame["skin_level"] == 1) & (frame["hair_level"] == 1)
    return frame.assign(error=size * (is_both & (frame["face"] < worse)))


def cells_and_averages(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows of `judged_effects`: those in which the other axis is held, and the others."""
    table = judged_effects(frame, "error", AXES, "face", TOLERANCE)
    is_cell = table[AXES].notna().any(axis=1)
    return table[is_cell], table[~is_cell]


def test_an_interval_beyond_the_tolerance_is_not_enough_among_several_cells():
    frame = images(worse=8)
    alone = all_matched_effects(frame, "error", AXES, "face", TOLERANCE)
    cells, averages = cells_and_averages(frame)
    beyond = cells["low"] > TOLERANCE
    assert beyond.sum() == 2
    assert set(alone.loc[cells.index[beyond], "verdict"]) == {"exceeds"}
    assert set(cells["verdict"]) == {"inconclusive"}
    assert cells["p_beyond_holm"].min() > 0.05
    assert averages[["verdict", "p_beyond_holm"]].isna().all(axis=None)


def test_a_larger_effect_exceeds_the_tolerance_after_the_adjustment_too():
    cells, _ = cells_and_averages(images(worse=12))
    assert cells["verdict"].tolist().count("exceeds") == 2


@pytest.mark.parametrize("size", [1.0, 0.5])
def test_the_test_is_the_score_test_for_errors_of_zero_and_one_alone(size):
    cells, _ = cells_and_averages(images(worse=20, size=size))
    if size == 1:
        p = score_p(cells["worse"], cells["better"], cells["n"], TOLERANCE)
    else:
        p = beyond_by_interval(cells, TOLERANCE, FACES - 1)
    p = np.where(cells["estimate"] > TOLERANCE, p, 1.0)
    assert cells["p_beyond_holm"].to_numpy() == pytest.approx(holm(p))
