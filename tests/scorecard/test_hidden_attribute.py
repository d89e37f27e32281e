"""An attribute that nobody annotated, against plain loops and arithmetic."""

import numpy as np
import pandas as pd
import pytest

from helpers import faces, transects
from helpers.scorecard import hidden_attribute
from helpers.scorecard.figures import draw_parts, draw_warnings

N = 30
PLACES = transects.index(N, dict.fromkeys(hidden_attribute.AXES, (-1.0, 1.0)))


@pytest.fixture
def errors() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    return {name: generator.integers(0, 2, N * 8) for name in ("first", "second")}


def one_cell(table: pd.DataFrame, attribute: str, **levels: int) -> pd.Series:
    chosen = (table["attribute"] == attribute) & (table["scope"] == "cell")
    for name, level in levels.items():
        chosen &= table[name].eq(level).fillna(False)
    (row,) = table[chosen].to_dict("records")
    return pd.Series(row)


def test_scarves_cover_earrings():
    parameters = faces.defaults(2)
    parameters[:, faces.INDEX["earrings"]] = 0.8
    parameters[1, faces.INDEX["hair_style"]] = faces.HAIR_STYLES.index("covered")
    assert hidden_attribute.earrings_shown(parameters).tolist() == pytest.approx([0.8, 0.0])


def test_grid_follows_the_levels():
    grid = hidden_attribute.as_grid(PLACES[list(hidden_attribute.LEVELS)].to_numpy())
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


def test_matched_and_base_rates_by_model(errors):
    table = hidden_attribute.matched(PLACES, errors, "some arm")
    cells = table[table["scope"] == "cell"]
    assert set(table["arm"]) == {"some arm"} and len(cells) == 2 * 12
    rates = hidden_attribute.base_rates(cells, errors)
    for model, error in errors.items():
        row = one_cell(table[table["model"] == model], "skin_colour", hair_length=1, gender=0)
        cell = PLACES.assign(e=error).query("hair_length_level == 1 and gender_level == 0")
        by_level = cell.groupby("skin_colour_level")["e"].mean()
        assert row["estimate"] == pytest.approx(by_level[1] - by_level[0])
        place = (cells["model"] == model) & (cells["attribute"] == "skin_colour")
        place &= (cells["hair_length"] == 1) & (cells["gender"] == 0)
        assert rates[place.fillna(False)].tolist() == pytest.approx([by_level[0]])


def test_adjusting_for_what_is_balanced_changes_nothing(errors):
    places = PLACES.assign(covariate=PLACES["transect"] % 2 == 0)
    table = hidden_attribute.adjusted(places, errors, "covariate", "adjusted")
    crude = hidden_attribute.matched(places, errors, "crude").query("scope == 'cell'")
    keys = ["model", "attribute", "cell"]
    both = table.merge(crude, on=keys, suffixes=("", "_crude"), validate="1:1")
    assert len(both) == 2 * 12
    assert both["estimate"].to_numpy() == pytest.approx(both["estimate_crude"].to_numpy(), abs=0.01)


def test_adjusting_removes_a_confounder():
    covariate = np.random.default_rng(2).random(len(PLACES)) < 0.2 + 0.6 * PLACES["gender_level"]
    places = PLACES.assign(covariate=covariate)
    noise = np.random.default_rng(3).random(len(PLACES)) < 0.1
    errors = {"confounded": (covariate ^ noise).astype(int)}
    crude = hidden_attribute.matched(places, errors, "").query(
        "scope == 'cell' and attribute == 'gender'"
    )
    table = hidden_attribute.adjusted(places, errors, "covariate", "").query(
        "attribute == 'gender'"
    )
    assert crude["estimate"].mean() > 0.3
    assert abs(table["estimate"].mean()) < 0.1


def test_putting_on_compares_each_face_with_itself(errors):
    doses = dict.fromkeys((*hidden_attribute.AXES, "hat"), (0.0, 1.0))
    asked = {name: error.reshape(-1, 2, 2, 2, 2) for name, error in errors.items()}
    table = hidden_attribute.put_on(asked, doses, "hat")
    assert len(table) == 2 * 4
    (row,) = table.query("model == 'first' and cell == 'female, long hair'").to_dict("records")
    worn = asked["first"][:, :, 1, 0]
    assert row["estimate"] == pytest.approx((worn[..., 1] - worn[..., 0]).mean())
    assert row["n"] == worn[..., 0].size


def test_short_haired_images_of_each_transect():
    chosen = hidden_attribute.short_haired(PLACES["image_id"].to_numpy())
    assert chosen.shape == (N, 4)
    assert chosen[3].tolist() == [f"00003_{cell}" for cell in ("000", "100", "001", "101")]


def test_drawing_names_models_and_counts():
    parts = pd.DataFrame({"model": ["a", "b"], "effect": [0.1, 0.0], "se": 0.01, "expected": 0.0})
    axis = draw_parts(parts, 400)
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["a", "b"]
    assert "400 transects" in axis.get_ylabel()
    claims = parts.assign(first=[2.0, np.inf], second=[np.nan, 3.0], part=1.0)
    figure = draw_warnings(claims, ["first", "second"], "part")
    assert [a.get_xlabel() for a in figure.axes] == [
        "first\n(n = 1 effects)",
        "second\n(n = 1 effects)",
    ]
