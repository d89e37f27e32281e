"""An attribute that nobody annotated, against plain loops and arithmetic."""

import numpy as np
import pandas as pd
import pytest

import facerender
from helpers import effects, transects
from helpers.scorecard import hidden_attribute

N = 30
LEVELS = [f"{axis}_level" for axis in hidden_attribute.AXES]
PLACES = transects.index(N, dict.fromkeys(hidden_attribute.AXES, (-1.0, 1.0)))


def one_cell(table: pd.DataFrame, attribute: str, **levels: int) -> pd.Series:
    chosen = (table["attribute"] == attribute) & (table["scope"] == "cell")
    for name, level in levels.items():
        chosen &= table[name].eq(level).fillna(False)
    (row,) = table[chosen].to_dict("records")
    return pd.Series(row)


def test_scarves_cover_earrings_and_hair_but_no_glasses():
    parameters = facerender.defaults(2)
    for name in ("earrings", "hair_colour", "glasses"):
        parameters[:, facerender.INDEX[name]] = 0.8
    parameters[1, facerender.INDEX["hair_style"]] = facerender.HAIR_STYLES.index("covered")
    for name, covered in (("earrings", 0.0), ("hair_colour", 0.0), ("glasses", 0.8)):
        shown = hidden_attribute.shown(parameters, name)
        assert shown.tolist() == pytest.approx([0.8, covered])


def test_grid_follows_the_levels():
    grid = hidden_attribute.as_grid(PLACES[LEVELS].to_numpy())
    for axis in range(3):
        assert (grid.take(0, axis + 1)[..., axis] == 0).all()
        assert (grid.take(1, axis + 1)[..., axis] == 1).all()


def test_changes_are_mean_differences_within_transects():
    values = np.random.default_rng(1).random(len(PLACES))
    row = one_cell(hidden_attribute.changes(values), "gender", skin_colour=1, hair_length=0)
    cell = PLACES.assign(value=values).query("skin_colour_level == 1 and hair_length_level == 0")
    wide = cell.pivot_table("value", "transect", "gender_level")
    difference = wide[1] - wide[0]
    assert row["effect"] == pytest.approx(difference.mean())
    assert row["se"] == pytest.approx(difference.sem())
    assert row["cell"] == "short hair, dark skin"


def test_text_of_an_effect():
    rows = pd.DataFrame({"effect": [0.123], "se": [0.01]})
    assert hidden_attribute.plus_minus(rows, 100, 1) == ["+12.3 ± 2.0"]


def test_stacked_tables_have_their_keys_and_named_cells():
    error = np.random.default_rng(0).integers(0, 2, N * 8)
    frame = PLACES.assign(error=error)
    table = effects.all_matched_effects(
        frame[["transect", *LEVELS, "error"]], "error", hidden_attribute.AXES, "transect"
    )
    both = hidden_attribute.stacked({("arm", m): table for m in "ab"}, ["arm", "model"])
    assert both["model"].tolist() == ["a"] * len(table) + ["b"] * len(table)
    assert both.index.is_unique and set(both["arm"]) == {"arm"}
    row = one_cell(both[both["model"] == "b"], "skin_colour", hair_length=1, gender=0)
    cell = frame.query("hair_length_level == 1 and gender_level == 0")
    by_level = cell.groupby("skin_colour_level")["error"].mean()
    assert row["cell"] == "female, long hair"
    assert row["estimate"] == pytest.approx(by_level[1] - by_level[0])


def test_stacked_tables_take_levels_from_columns_and_leave_others_open():
    rows = pd.DataFrame({"gender_level": [0, 1], "hair_length_level": [1, 1], "estimate": 0.1})
    table = hidden_attribute.stacked({"a": rows}, ["model"])
    assert table["cell"].tolist() == ["female, long hair", "male, long hair"]
    assert table["scope"].tolist() == ["cell", "cell"]
    assert table["skin_colour"].isna().all()
