"""What must change nothing in an audit: the order of rows, names, copies of units, a constant."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pretended_audits import pretended_table

import faceaudit

NUMBERS = ["estimate", "low", "high", "low90", "high90", "low_family", "high_family", "p", "p_holm"]
NUMBERS += ["p_beyond_holm", "mde", "n"]
# Decisions, since scores would be compared at other thresholds as well, which takes twice as long.
SETTINGS = {"label": "label", "pred": "decision", "tolerance": 0.05}
AXES = {"skin": ["light", "dark"], "gender": ["female", "male"]}
NAMES = st.text("abcdefgh0123456789éß-_", min_size=1, max_size=8).map(str.strip)
# To shrink a failing example takes minutes, and its seed says all.
audits = settings(max_examples=2, deadline=None, phases=[Phase.explicit, Phase.generate])
seeds = st.integers(0, 1000)


def numbers(frame, axes=AXES, unit="unit", **more):
    """Numbers and verdicts of all comparisons: averages first, then cells."""
    audit = faceaudit.table(frame, unit=unit, axes=axes, **SETTINGS, **more)
    table = pd.concat([audit.averages, audit.effects, audit.missing], ignore_index=True)
    return table[[*NUMBERS, "verdict"]]


def with_gaps(seed):
    """A small table with images that the model did not answer about."""
    frame = pretended_table(30, 0.2, seed)
    decision = (frame["score"] > 0.5).astype(float)
    answered = np.arange(len(frame)) % 17 != seed % 17
    return frame.assign(decision=decision.where(answered))


@audits
@given(seed=seeds)
@pytest.mark.parametrize("unit", ["unit", None])
def test_the_order_of_rows_and_columns_changes_nothing(unit, seed):
    frame = with_gaps(seed)
    mixed = frame.sample(frac=1, random_state=seed)[frame.columns[::-1]]
    pd.testing.assert_frame_equal(numbers(mixed, unit=unit), numbers(frame, unit=unit), rtol=1e-9)


@audits
@given(seed=seeds, names=st.lists(NAMES, min_size=4, max_size=4, unique_by=str.casefold))
@pytest.mark.parametrize("unit", ["unit", None])
def test_the_names_of_levels_change_nothing(unit, seed, names):
    frame = with_gaps(seed)
    names = [f"level {name}" for name in names]
    axes = {"tone": names[:2], "kind": names[2:]}
    old = [*AXES["skin"], *AXES["gender"]]
    renamed = frame.rename(columns={"skin": "tone", "gender": "kind"})
    renamed["tone"] = renamed["tone"].map(dict(zip(old, names, strict=True)))
    renamed["kind"] = renamed["kind"].map(dict(zip(old, names, strict=True)))
    pd.testing.assert_frame_equal(numbers(renamed, axes, unit), numbers(frame, unit=unit))


@audits
@given(seed=seeds)
@pytest.mark.parametrize("unit", ["unit", None])
def test_a_constant_column_changes_nothing(unit, seed):
    frame = with_gaps(seed)
    same = frame.assign(camera="one", light=1.5)
    covariates = {} if unit else {"covariates": ["camera", "light"]}
    pd.testing.assert_frame_equal(numbers(same, unit=unit, **covariates), numbers(frame, unit=unit))


@audits
@given(seed=seeds)
@pytest.mark.parametrize("unit", ["unit", None])
def test_copied_units_change_no_estimate_and_narrow_no_single_face(unit, seed):
    frame = with_gaps(seed)
    copied = frame.assign(unit=frame["unit"] + 1000, image_id="copy of " + frame["image_id"])
    identity = {} if unit else {"identity": "unit"}
    once = numbers(frame, unit=unit, **identity)
    twice = numbers(pd.concat([frame, copied]), unit=unit, **identity)
    np.testing.assert_allclose(twice["estimate"], once["estimate"], atol=1e-12)
    assert (twice["n"] == 2 * once["n"]).all()
    assert (twice["high"] - twice["low"] < once["high"] - once["low"]).all()


@audits
@given(seed=seeds)
def test_exchanged_levels_mirror_the_effect(seed):
    frame = with_gaps(seed)
    other_way = AXES | {"skin": AXES["skin"][::-1]}
    effects = faceaudit.table(frame, unit="unit", axes=AXES, **SETTINGS).averages
    mirrored = faceaudit.table(frame, unit="unit", axes=other_way, **SETTINGS).averages
    skin, back = (table.set_index("axis").loc["skin"] for table in (effects, mirrored))
    assert back["estimate"] == pytest.approx(-skin["estimate"])
    assert (back["low"], back["high"]) == pytest.approx((-skin["high"], -skin["low"]))
    assert back["verdict"] == skin["verdict"]


# --- pairs of a recogniser


def table_of_pairs(seed):
    """Pairs of twelve people in each of two groups: of each three alone, and three with others."""
    random = np.random.default_rng(seed)
    rows = []
    for group, person, picture in product("ab", range(12), range(3)):
        for step in (0, 1 + picture):
            second = (person + step) % 12
            similarity = random.normal(2.0 if step == 0 else 0.0)
            pair = (f"{group}{person:02d}", f"{group}{second:02d}")
            rows.append((group, *pair, int(step == 0), similarity))
    return pd.DataFrame(rows, columns=["group", "first", "second", "same", "similarity"])


def differences(frame, reference="a"):
    """Numbers and verdicts of all differences between groups, by measure."""
    audit = faceaudit.pairs(
        frame,
        group="group",
        first="first",
        second="second",
        same="same",
        similarity="similarity",
        reference=reference,
        threshold=1.0,
        tolerance=0.05,
    )
    columns = ["rate", "reference_rate", "estimate", "low", "high", "low90", "high90", "verdict"]
    columns += ["low_family", "high_family", "p_holm", "p_beyond_holm", "mde", "n", "identities"]
    return audit.effects.set_index("measure")[columns]


@audits
@given(seed=seeds)
def test_the_order_of_pairs_and_of_their_pictures_changes_nothing(seed):
    frame = table_of_pairs(seed)
    mixed = frame.rename(columns={"first": "second", "second": "first"})
    mixed = mixed.sample(frac=1, random_state=seed)
    pd.testing.assert_frame_equal(differences(mixed), differences(frame), rtol=1e-9)


@audits
@given(seed=seeds, names=st.lists(NAMES, min_size=2, max_size=2, unique_by=str.casefold))
def test_the_names_of_groups_and_people_change_nothing(seed, names):
    frame = table_of_pairs(seed)
    names = [f"group {name}" for name in names]
    people = frame["first"].unique()
    others = np.random.default_rng(seed).permutation(len(people)).astype(str)
    renamed = frame.replace({"group": dict(zip("ab", names, strict=True))})
    for column in ("first", "second"):
        renamed[column] = renamed[column].map(dict(zip(people, others, strict=True)))
    found = differences(renamed, reference=names[0])
    pd.testing.assert_frame_equal(found, differences(frame), rtol=1e-9)


@audits
@given(seed=seeds)
def test_a_constant_column_of_pairs_changes_nothing(seed):
    frame = table_of_pairs(seed)
    same = frame.assign(camera="one", light=1.5)
    pd.testing.assert_frame_equal(differences(same), differences(frame))


@audits
@given(seed=seeds)
def test_copied_people_change_no_difference_of_pairs_and_narrow_it(seed):
    frame = table_of_pairs(seed)
    copied = frame.assign(first="copy of " + frame["first"], second="copy of " + frame["second"])
    once = differences(frame)
    twice = differences(pd.concat([frame, copied]))
    np.testing.assert_allclose(twice["estimate"], once["estimate"], atol=1e-12)
    assert (twice["n"] == 2 * once["n"]).all()
    assert (twice["high"] - twice["low"] < once["high"] - once["low"]).all()
