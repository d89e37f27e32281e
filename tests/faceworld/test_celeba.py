"""Rules on the renderer's parameters against faces made for them."""

import numpy as np
import pytest

from facerender import HAIR_STYLES
from facerender.parameters import defaults
from faceworld import do, populations
from faceworld.celeba import RULES, celeba_attributes


def attributes(**columns):
    """Attributes of faces with the given parameters, the others at their default."""
    n = max(np.size(values) for values in columns.values())
    return celeba_attributes(do(defaults(n), **columns))


@pytest.mark.parametrize(
    ("attribute", "parameter", "values", "expected"),
    [
        ("Young", "age", [0.2, 0.49, 0.5, 0.9], [1, 1, 0, 0]),
        ("5_o_Clock_Shadow", "facial_hair", [0.29, 0.31, 0.54, 0.56], [0, 1, 1, 0]),
        ("Wearing_Lipstick", "makeup", [0.29, 0.31, 1], [0, 1, 1]),
        ("Black_Hair", "hair_colour", [0.09, 0.11], [1, 0]),
        ("Smiling", "smiling", [0.5, 0.62, 0.63, 1], [0, 0, 1, 1]),
        ("Male", "gender", [0.49, 0.51], [0, 1]),
    ],
)
def test_every_attribute_follows_its_parameter(attribute, parameter, values, expected):
    found = attributes(**{parameter: values})
    assert found[attribute].tolist() == [bool(value) for value in expected]
    assert found.drop(columns=attribute).columns.tolist() == [n for n in RULES if n != attribute]


def test_a_covering_hides_hair_and_earrings():
    covered = HAIR_STYLES.index("covered")
    styles = {"hair_style": [0, covered], "earrings": [1, 1], "hair_length": [0.9, 0.9]}
    blond = attributes(**styles, hair_colour=[0.9, 0.9])
    for name in ("Blond_Hair", "Long_Hair", "Wearing_Earrings"):
        assert blond[name].tolist() == [True, False]
    assert attributes(**styles, age=[0.9, 0.9])["Gray_Hair"].tolist() == [True, False]


def test_ancestry_is_part_of_the_cheekbones():
    east_asian = attributes(cheekbones=[0, 0], ancestry_x=[0, 0.866], ancestry_y=[0, -0.5])
    assert east_asian["High_Cheekbones"].tolist() == [False, True]


def test_counts_in_a_population():
    found = celeba_attributes(populations.sample("celeba-like", 1500, 20200715).parameters)
    assert set(found.dtypes) == {np.dtype(bool)} and list(found) == list(RULES)
    assert found.mean().between(0.02, 0.98).all()
    # Stubble is seen, lips are part of heavy makeup, and hair has one colour.
    assert not (found["No_Beard"] & found["5_o_Clock_Shadow"]).any()
    assert found.loc[found["Heavy_Makeup"], "Wearing_Lipstick"].all()
    hair = found[["Blond_Hair", "Black_Hair", "Gray_Hair"]]
    assert hair.sum(axis=1).max() == 1
    assert 0.5 < found["Smiling"].mean() < 0.7
