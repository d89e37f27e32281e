"""The plan: its hash follows its content alone, it fits the study, and departures are named."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest

from faceaudit import effects
from faceaudit.annotations import schema
from faceaudit.utils.files import hash_of_content
from faceworld.people import BALANCED, COMPOSITIONS, GROUPS, RECOGNISERS
from faceworld.scorecard import truth
from helpers import artifacts, audit_plan
from helpers.artifacts import lineage, manifests
from helpers.audit_plan import Family, make_plan, read_plan

FAMILY = Family("skin", [["a", "b"], ["control"]], (("women", "short"), ("men", "short")))
MADE = [(model, who, "short") for model in ("a", "b", "control") for who in ("women", "men")]


@pytest.fixture
def content():
    """What the file holds."""
    return json.loads(json.dumps(make_plan(lineage.load_profile("smoke"))))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("tolerance",), 0.04),
        (("design", "transects"), 41),
        (("families", "effects by cell", "comparisons", 0, 0), "age"),
        (("families", "effects by cell", "together", 0), ["celeba-like"]),
    ],
)
def test_every_change_changes_the_hash_and_is_refused(content, path, value):
    assert read_plan(dict(reversed(content.items()))).sha256 == content["sha256"]
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert hash_of_content(content) != content["sha256"]
    with pytest.raises(ValueError, match="changed after it was made"):
        read_plan(content)


@pytest.mark.parametrize("name", ["laptop", "paper", "smoke"])
def test_the_plan_follows_from_the_profile_alone(name, artifacts_folder):
    """In an empty folder there is no result that it could depend on."""
    audit_plan.main(["--profile", name])
    assert manifests.read_manifest("audit_plan", name)["inputs"] == {}
    plan = read_plan(artifacts.load("audit_plan", "plan.json", name))
    assert plan.design["transects"] == lineage.load_profile(name).n_transects
    assert plan.sha256 == artifacts.load("audit_plan", "results.json", name)["sha256"]


def test_families_are_those_of_the_study(content):
    axes = [*schema.LEVEL_NAMES]
    places = [f"{axis}_level" for axis in axes]
    frame = pd.DataFrame([*product(range(30), *[(0, 1)] * 3)], columns=["transect", *places])
    frame["error"] = np.random.default_rng(0).integers(0, 2, len(frame))
    table = effects.all_matched_effects(frame, "error", axes, "transect")
    cells = truth.name_cells(table).query("scope == 'cell'")[["attribute", "cell"]].to_numpy()
    families = read_plan(content).families
    by_cell, by_group = families["effects by cell"], families["error rates by group"]
    assert by_cell.departures((m, *row) for m in by_cell.group_of for row in cells) == []
    assert [*by_group.group_of] == [*RECOGNISERS] and by_group.together[1] == [BALANCED]
    assert {group for _, group in by_group.comparisons} == {*GROUPS} - {"european male"}
    assert {*families["training sets"].group_of} == {*COMPOSITIONS} - {BALANCED}
    sizes = [family.size for family in families.values()]
    assert sizes == [24, 4, 6, 144, 9, 45, 6]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (MADE[1:], "skin: left out a, women, short"),
        ([*MADE, ("c", "men", "short")], "skin: not planned or made twice c, men, short"),
        ([*MADE, MADE[0]], "skin: not planned or made twice a, women, short"),
    ],
)
def test_departures_are_named(made, said):
    FAMILY.check(reversed(MADE))
    with pytest.raises(ValueError, match=f"not as planned: {said}"):
        FAMILY.check(made)
