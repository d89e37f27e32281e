"""The plan: it is checked, its hash follows its content alone, and departures are named."""

import json
from dataclasses import asdict
from itertools import product

import numpy as np
import pandas as pd
import pytest

from helpers import artifacts, effects
from helpers.artifacts import lineage, profiles
from helpers.effects import audit_plan, labels
from helpers.effects.audit_plan import Family, planned, read
from helpers.verification import COMPOSITIONS, CONTROL, GROUPS, RECOGNISERS


@pytest.fixture
def content():
    """What the file holds."""
    return json.loads(json.dumps(planned(profiles.load("smoke"))))


def signed(content):
    return content | {"sha256": audit_plan.digest(content)}


def backwards(value):
    """The same, with the keys of all dictionaries in the opposite order."""
    if isinstance(value, dict):
        return {key: backwards(value[key]) for key in reversed(value)}
    return value


def test_the_hash_is_that_of_the_content_in_any_order_of_keys(content):
    other = backwards(content)
    assert [*other] != [*content]
    assert audit_plan.digest(other) == content["sha256"] == read(other).sha256


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
    place = content
    for key in path[:-1]:
        place = place[key]
    assert place[path[-1]] != value
    place[path[-1]] = value
    assert audit_plan.digest(content) != content["sha256"]
    with pytest.raises(ValueError, match="changed after it was made"):
        read(content)
    assert read(signed(content)).sha256 == audit_plan.digest(content)  # as a plan of its own


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("tolerance", 0, "tolerance is 0"),
        ("level", 1.0, "level is 1.0"),
        ("power", "high", "power is 'high'"),
        ("little", 0.8, "little is 0.8"),
        ("most", 0.1, "little is 0.2"),
        ("design", {"transects": 0}, "transects is 0"),
        ("design", {"transects": 1.5}, "transects is 1.5"),
        ("families", {"a": {"together": [["m"]], "comparisons": []}}, "'a' has no comparison"),
        ("families", {"a": {"together": [["m"]], "comparisons": [["x"], ["x"]]}}, "twice"),
        ("families", {"a": {"together": [["m"], ["m"]], "comparisons": [["x"]]}}, "model"),
    ],
)
def test_impossible_plans_are_refused(content, name, value, words):
    with pytest.raises(ValueError, match=words):
        read(signed(content | {name: value}))


def test_entries_too_many_or_too_few_are_named(content):
    with pytest.raises(ValueError, match="'budget'"):
        read(signed(content | {"budget": 1}))
    del content["level"]
    with pytest.raises(ValueError, match="'level'"):
        read(signed(content))


@pytest.mark.parametrize("name", profiles.names())
def test_the_plan_follows_from_the_profile_alone(name, artifacts_folder):
    """In an empty folder there is no result that it could depend on."""
    audit_plan.main(["--profile", name])
    manifest = artifacts.manifests.read("audit_plan", name)
    assert manifest["inputs"] == {}
    plan = read(artifacts.load("audit_plan", "plan.json", name))
    profile = asdict(profiles.load(name))
    assert plan.design["transects"] == profile["n_transects"]
    assert plan.sha256 == artifacts.load("audit_plan", "results.json", name)["sha256"]


def test_the_hash_differs_between_profiles_only_by_the_design():
    smoke, laptop = (planned(profiles.load(name)) for name in ("smoke", "laptop"))
    assert smoke["sha256"] != laptop["sha256"]
    assert signed(smoke | {"design": laptop["design"]}) == laptop


def test_nothing_reads_a_model_that_did_not_read_the_plan():
    """The plan reads nothing; chapter 02, where all audited models are trained, reads the plan."""
    assert lineage.inputs(lineage.source_of("audit_plan")) == []
    assert "audit_plan" in lineage.inputs(lineage.source_of("02_face_world"))


@pytest.mark.parametrize(
    "stage",
    [
        "08_stratified_errors",
        "10_effects_and_truth",
        "11_truth_scorecard",
        "12_planning",
        "14_hidden_attributes",
        "15_sensitivity_flips",
        "17_verification_audit",
    ],
)
def test_chapters_with_verdicts_read_the_plan(stage):
    assert "audit_plan" in lineage.inputs(lineage.source_of(stage))


def frame_of_errors(seed=0):
    axes = [f"{axis}_level" for axis in labels.LEVEL_NAMES]
    rows = pd.DataFrame([*product(range(30), *[(0, 1)] * 3)], columns=["transect", *axes])
    return rows.assign(error=np.random.default_rng(seed).integers(0, 2, len(rows)))


def test_cells_are_those_that_the_analysis_makes(content):
    axes = [*labels.LEVEL_NAMES]
    table = effects.all_matched_effects(frame_of_errors(), "error", axes, "transect")
    cells = labels.name_cells(table).query("scope == 'cell'")
    family = read(content).families["effects by cell"]
    made = [(m, *row) for m in family.group_of for row in cells[["attribute", "cell"]].to_numpy()]
    assert len(made) == 48 and family.size == 24
    assert family.departures(made) == []


def test_recognisers_and_groups_are_those_of_the_study(content):
    family = read(content).families["error rates by group"]
    assert [*family.group_of] == [*RECOGNISERS] and family.together[1] == (CONTROL,)
    assert {group for _, group in family.comparisons} == {*GROUPS} - {"european male"}
    assert family.size == 3 * 3 * 5
    sets = read(content).families["training sets"]
    assert {*sets.group_of} == {*COMPOSITIONS} - {CONTROL} and sets.size == 3 * 2


FAMILY = Family("skin", (("a", "b"), ("control",)), (("women", "short"), ("men", "short")))
MADE = [(model, who, "short") for model in ("a", "b", "control") for who in ("women", "men")]


def test_the_planned_comparisons_in_any_order_are_no_departure():
    assert FAMILY.departures(reversed(MADE)) == []
    FAMILY.check(MADE)
    assert FAMILY.size == 4


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (MADE[1:], "skin: left out a, women, short"),
        ([*MADE, ("c", "men", "short")], "skin: not planned c, men, short"),
        ([*MADE, MADE[0]], "skin: made twice a, women, short"),
    ],
)
def test_departures_are_named(made, said):
    assert FAMILY.departures(made) == [said]
    with pytest.raises(ValueError, match=f"not as planned: {said}"):
        FAMILY.check(made)


def test_models_of_a_group_are_adjusted_together_and_controls_alone():
    p = pd.Series(np.random.default_rng(1).random(6) / 10, pd.MultiIndex.from_tuples(MADE))
    groups = p.index.get_level_values(0).map(FAMILY.group_of)
    adjusted = p.groupby(groups).transform(effects.holm)
    np.testing.assert_allclose(adjusted[:4], effects.holm(p[:4]))
    np.testing.assert_allclose(adjusted[4:], effects.holm(p[4:]))
    assert (adjusted[:4] >= p[:4].groupby(level=0).transform(effects.holm)).all()
