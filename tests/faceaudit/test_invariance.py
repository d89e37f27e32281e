"""What must change nothing in an audit: the order of rows, names, copies of units, a constant."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pretended_audits import pretended_table

import faceaudit

NUMBERS = ["estimate", "low", "high", "low90", "high90", "low_family", "high_family", "p", "p_holm"]
NUMBERS += ["p_beyond_holm", "mde", "n"]
SETTINGS = {"label": "label", "score": "score", "tolerance": 0.05}
AXES = {"skin": ["light", "dark"], "gender": ["female", "male"]}
NAMES = st.text("abcdefgh0123456789éß-_", min_size=1, max_size=8).map(str.strip)
# To shrink a failing example takes minutes, and its seed says all.
audits = settings(max_examples=3, deadline=None, phases=[Phase.explicit, Phase.generate])
seeds = st.integers(0, 1000)


def numbers(frame, axes=AXES, unit="unit", **more):
    """Numbers and verdicts of all comparisons: averages first, then cells."""
    audit = faceaudit.table(frame, unit=unit, axes=axes, **SETTINGS, **more)
    table = pd.concat([audit.averages, audit.effects, audit.missing], ignore_index=True)
    return table[[*NUMBERS, "verdict"]]


def with_gaps(seed):
    """A small table with images that the model did not answer about."""
    frame = pretended_table(30, 0.2, seed)
    return frame.assign(score=frame["score"].where(np.arange(len(frame)) % 17 != seed % 17))


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
def test_copied_units_change_no_estimate_and_narrow_no_single_face(seed):
    frame = with_gaps(seed)
    copied = frame.assign(unit=frame["unit"] + 1000, image_id="copy of " + frame["image_id"])
    once = numbers(frame)
    twice = numbers(pd.concat([frame, copied]))
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
