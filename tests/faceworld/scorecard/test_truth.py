"""Interventions: exactly what is asked for changes, and effects are what a known rule implies."""

import numpy as np
import pandas as pd
import pytest

from faceaudit.latents import transects
from faceworld.scorecard import truth

N = 30
PLACES = transects.index(N, dict.fromkeys(truth.AXES, (-1.0, 1.0)))


def test_effects_average_over_cells_and_standard_errors_cluster_by_face():
    errors = np.random.default_rng(0).integers(0, 2, (200, 2, 2)).astype(float)
    errors[:, 1] = errors[:, :1].max(2)  # strong dependence within a face
    frame = truth.true_effects(errors, ["a", "b"])
    assert list(frame.columns) == ["attribute", "a", "b", "n", "effect", "se"]
    assert len(frame) == 6
    row = frame.iloc[0]
    assert row["attribute"] == "a" and pd.isna(row["b"])
    per_face = (errors[:, 1] - errors[:, 0]).mean(1)
    assert row["effect"] == pytest.approx(per_face.mean())
    assert row["se"] == pytest.approx(per_face.std(ddof=1) / np.sqrt(200))
    held = frame.query("attribute == 'a' and b == 1").iloc[0]
    assert held["effect"] == pytest.approx((errors[:, 1, 1] - errors[:, 0, 1]).mean())


def one_cell(table: pd.DataFrame, attribute: str, **levels: int) -> pd.Series:
    chosen = (table["attribute"] == attribute) & (table["scope"] == "cell")
    for name, level in levels.items():
        chosen &= table[name].eq(level).fillna(False)
    (row,) = table[chosen].to_dict("records")
    return pd.Series(row)


def test_changes_are_mean_differences_within_transects():
    values = np.random.default_rng(1).random(len(PLACES))
    row = one_cell(truth.parameter_effects(values), "gender", skin_colour=1, hair_length=0)
    cell = PLACES.assign(value=values).query("skin_colour_level == 1 and hair_length_level == 0")
    wide = cell.pivot_table("value", "transect", "gender_level")
    difference = wide[1] - wide[0]
    assert row["effect"] == pytest.approx(difference.mean())
    assert row["se"] == pytest.approx(difference.sem())
    assert row["cell"] == "short hair, dark skin"
