"""Axes of more than two levels: contrasts, one family, and the same through all doors."""

import json

import numpy as np
import pandas as pd
import pytest

import faceaudit
from faceaudit.file.specification import Specification
from faceaudit.run import run_audit
from faceaudit.utils.errors import InputError

SKIN = ["I", "III", "V"]
AXES = {"skin": SKIN, "hair": ["short", "long"]}
NUMBERS = ["estimate", "low", "high", "low90", "high90", "p", "n"]
"""Columns of a comparison that do not depend on the others of its family."""


def table_of_faces(faces, rates, seed=1):
    """Matched images with errors: faces at three tones of skin and two lengths of hair.

    Args:
        faces: how many.
        rates: error rate of each tone.
    """
    rng = np.random.default_rng(seed)
    rows = [
        (face, skin, hair, face % 2, (face % 2) ^ int(rng.random() < rate))
        for face in range(faces)
        for skin, rate in zip(SKIN, rates, strict=True)
        for hair in AXES["hair"]
    ]
    return pd.DataFrame(rows, columns=["face", "skin", "hair", "truth", "says"])


@pytest.fixture(scope="module")
def frame():
    return table_of_faces(120, [0.05, 0.08, 0.35])


def audit_of(frame, unit="face", axes=AXES, **settings):
    return faceaudit.table(
        frame, unit=unit, axes=axes, label="truth", pred="says", tolerance=0.05, **settings
    )


@pytest.mark.parametrize("unit", ["face", None])
@pytest.mark.parametrize(
    ("kind", "pairs"),
    [
        ("reference", [("I", "III"), ("I", "V")]),
        ("adjacent", [("I", "III"), ("III", "V"), ("I", "V")]),
    ],
)
def test_each_contrast_is_the_audit_of_its_two_levels(frame, unit, kind, pairs):
    audit = audit_of(frame, unit, contrasts=kind)
    for low, high in pairs:
        alone = audit_of(frame[frame["skin"].isin([low, high])], unit, AXES | {"skin": [low, high]})
        for name in ("effects", "averages"):
            of_all = getattr(audit, name)
            rows = of_all[of_all["axis"] == "skin"]
            level = rows["contrast"] == f"{high} instead of {low}"
            expected = getattr(alone, name)
            expected = expected[expected["axis"] == "skin"]
            found = rows[level]
            assert len(found) == len(expected) == (2 if name == "effects" else 1)
            np.testing.assert_array_equal(
                found[NUMBERS].astype(float), expected[NUMBERS].astype(float)
            )


def test_all_contrasts_are_judged_together(frame):
    audit = audit_of(frame)
    assert len(audit.averages) == 3 and len(audit.effects) == 2 * 2 + 3
    assert len(audit.report.interactions) == 2
    assert "points on average with V instead of I" in audit.report.answer
    both = audit.effects.query("axis == 'skin'")
    # Each side is longer by the quantile of a family of seven.
    assert (both["low_family"] < both["low"]).all() and (both["high_family"] > both["high"]).all()
    assert audit.verdict == "exceeds" and audit.gate() == 1


@pytest.mark.parametrize("unit", ["face", None])
def test_a_third_level_that_errs_more_fails_through_the_file(tmp_path, frame, unit):
    frame.assign(image_id=range(len(frame))).to_csv(tmp_path / "faces.csv", index=False)
    content = {
        "name": "audit",
        "question": "?",
        "axes": AXES,
        "images": "faces.csv",
        "columns": {"label": "truth", "decision": "says"},
        "design": {"tolerance": 0.05, "contrasts": "adjacent"},
    }
    if unit:
        content["columns"]["unit"] = unit
    else:
        content["kind"] = "portraits"
    (tmp_path / "audit.yml").write_text(json.dumps(content), encoding="utf-8")
    report = run_audit(tmp_path / "audit.yml", lambda line: None)
    assert faceaudit.gate(report)[0] == 1
    by_call = audit_of(frame, unit, contrasts="adjacent", question="?")
    of_file, of_call = (
        json.loads(one.model_dump_json(exclude={"made", "plan", "provenance"}))
        for one in (report, by_call.report)
    )
    of_call["data"]["source"] = of_file["data"]["source"] = ""
    assert of_file == of_call
    by_call.save(tmp_path / "saved")
    page = (tmp_path / "saved" / "report.html").read_text(encoding="utf-8")
    assert "V, against III" in page or "V instead of III" in page
    if unit:
        assert faceaudit.verify(tmp_path / "saved" / "report.json")[0] == 0


@pytest.mark.parametrize("unit", ["face", None])
def test_small_steps_add_up_to_an_effect_between_the_ends(unit):
    """Each step is three points, within a tolerance of five; the ends are nine points apart."""
    levels = ["I", "II", "III", "IV"]
    face = np.repeat(np.arange(5000), len(levels))
    place = np.tile(np.arange(len(levels)), 5000)
    is_error = face % 100 < 2 + 3 * place
    table = pd.DataFrame({"face": face, "skin": np.take(levels, place), "error": is_error})
    audit = faceaudit.table(
        table,
        unit=unit,
        axes={"skin": levels},
        error="error",
        tolerance=0.05,
        contrasts="adjacent",
    )
    effects = audit.averages.set_index("contrast")
    assert (effects["verdict"] == "within").sum() == 3
    assert effects.loc["IV instead of I", "verdict"] == "exceeds"
    assert audit.gate() == 1


@pytest.mark.parametrize("unit", ["face", None])
@pytest.mark.parametrize(
    ("kind", "rates", "apart"),
    [
        ("adjacent", [2, 5, 8, 11, 14, 11, 8, 5, 2], "e instead of a"),
        ("trend", [2, 20, 2], "b instead of a"),
        ("reference", [10, 13, 7], "c instead of b"),
    ],
)
def test_levels_that_no_verdict_compares_are_doubted(unit, kind, rates, apart):
    levels = [*"abcdefghi"[: len(rates)]]
    face = np.repeat(np.arange(10000), len(levels))
    place = np.tile(np.arange(len(levels)), 10000)
    table = pd.DataFrame({"face": face, "skin": np.take(levels, place)})
    table["error"] = face % 100 < np.take(rates, place)
    settings = {
        "unit": unit,
        "axes": {"skin": levels},
        "error": "error",
        "tolerance": 0.05,
        "contrasts": kind,
    }
    audit = faceaudit.table(table, **settings)
    assert audit.verdict == "within"
    (doubt,) = audit.report.doubts
    assert doubt.name == "levels" and apart in doubt.sentence
    assert audit.gate() == 1
    accepted = faceaudit.table(table, **settings, accept=["levels"])
    assert accepted.gate() == 0


def test_levels_that_differ_in_what_is_missing_are_doubted(frame):
    rng = np.random.default_rng(2)
    lost = (frame["skin"] == "III") & (rng.random(len(frame)) < 0.5)
    audit = audit_of(frame[~lost], incomplete="pairs", contrasts="trend")
    assert any("share of missing" in doubt.sentence for doubt in audit.report.doubts)


def test_a_level_whose_images_are_deleted_is_missing(frame):
    rng = np.random.default_rng(2)
    lost = (frame["skin"] == "V") & (rng.random(len(frame)) < 0.5)
    audit = audit_of(frame[~lost], incomplete="pairs")
    missing = audit.missing.set_index("contrast")
    assert missing.loc["V instead of I", "verdict"] == "exceeds"
    assert missing.loc["III instead of I", "estimate"] == 0


def test_the_contrasts_are_part_of_the_plan(frame):
    settings = {"unit": "face", "label": "truth", "pred": "says", "tolerance": 0.05}
    plan = faceaudit.plan(120, axes=AXES, **settings)
    sizes = plan.content["sizes"]
    assert sizes["images"] == 120 * 6 and sizes["comparisons"] == 7
    kept = audit_of(frame, plan=plan).report.plan
    assert not [line for line in kept.departures if "contrast" in line]
    of_steps = faceaudit.plan(120, axes=AXES, contrasts="adjacent", **settings)
    assert of_steps.content["sizes"]["comparisons"] == 9
    moved = audit_of(frame, plan=of_steps).report.plan.departures
    assert any(line.startswith("contrasts: ") for line in moved)
    assert any("left out skin, V instead of III, all faces" in line for line in moved)


def test_versions_are_compared_along_every_contrast(frame):
    mended = frame.assign(says=frame["truth"])
    changed = faceaudit.compare(audit_of(frame), audit_of(mended))
    by_contrast = changed.effects.set_index("contrast")["estimate"]
    assert by_contrast["V instead of I"] < by_contrast["III instead of I"] + 0.1
    assert changed.gate() == 0


@pytest.mark.parametrize("unit", ["face", None])
def test_a_trend_is_judged_in_place_of_contrasts(tmp_path, frame, unit):
    audit = audit_of(frame, unit, contrasts="trend")
    of_skin = audit.averages.query("axis == 'skin'")
    assert of_skin["contrast"].tolist() == ["V instead of I, by the trend"]
    assert len(audit.averages) == 2 and len(audit.effects) == 2 + 3
    rates = frame.assign(error=frame["truth"] != frame["says"]).groupby("skin")["error"].mean()
    slope = np.polyfit([0, 1, 2], rates[SKIN], 1)[0]
    assert of_skin["estimate"].item() == pytest.approx(2 * slope)
    assert of_skin["verdict"].item() == "exceeds" and audit.gate() == 1
    assert "by the trend over all levels" in audit.report.answer
    audit.save(tmp_path / "saved")
    page = (tmp_path / "saved" / "report.html").read_text(encoding="utf-8")
    assert "A straight line is laid through the rates of all levels" in page
    if unit:
        assert faceaudit.verify(tmp_path / "saved" / "report.json")[0] == 0
        plan = faceaudit.plan(
            120, axes=AXES, unit=unit, label="truth", pred="says", tolerance=0.05, contrasts="trend"
        )
        assert audit_of(frame, plan=plan, contrasts="trend").report.plan.kept


def test_a_trend_through_the_file_is_that_of_the_call(tmp_path, frame):
    frame.assign(image_id=range(len(frame))).to_csv(tmp_path / "faces.csv", index=False)
    content = {
        "name": "audit",
        "question": "?",
        "axes": AXES,
        "images": "faces.csv",
        "columns": {"label": "truth", "decision": "says", "unit": "face"},
        "design": {"tolerance": 0.05, "contrasts": "trend"},
    }
    (tmp_path / "audit.yml").write_text(json.dumps(content), encoding="utf-8")
    report = run_audit(tmp_path / "audit.yml", lambda line: None)
    assert report.averages == audit_of(frame, contrasts="trend", question="?").report.averages


def test_a_trend_that_the_answers_do_not_tell_says_why(frame):
    at_third = frame["skin"] == "III"
    unanswered = frame.assign(says=frame["says"].mask(at_third))
    row = audit_of(unanswered, contrasts="trend").averages.iloc[0]
    assert row["reason"] == "no outcome at the level III" and row["verdict"] == "not estimable"
    one_face = frame.assign(says=frame["says"].mask(at_third & (frame["face"] != 7)))
    row = audit_of(one_face, contrasts="trend").averages.iloc[0]
    assert row["reason"] == "only one face has all levels" and row["verdict"] == "not estimable"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"axes": {"hair": ["short", "long"]}},
            "contrasts is trend, but no axis has more than two",
        ),
        ({"outcomes": ["error", "flip"]}, "has flip, which compares two images; a trend needs"),
    ],
)
def test_what_has_no_trend_is_named(frame, settings, words):
    with pytest.raises(InputError, match=words):
        audit_of(frame, contrasts="trend", **settings)


def test_a_trend_needs_levels_in_an_order(frame):
    unordered = frame.assign(skin=pd.Categorical(frame["skin"], SKIN))
    with pytest.raises(InputError, match="'skin' is a categorical without an order, and a trend"):
        audit_of(unordered, contrasts="trend")
    assert len(audit_of(unordered, contrasts="reference").averages) == 3


def test_ordered_categories_of_a_frame_are_its_levels(frame):
    categorical = frame.assign(skin=pd.Categorical(frame["skin"], SKIN, ordered=True))
    one_length = categorical[categorical["hair"] == "short"]
    audit = audit_of(one_length, axes=["skin"])
    assert audit.averages["contrast"].tolist() == ["III instead of I", "V instead of I"]


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ({"skin": list("ABCDEFGHIJK")}, "axes.skin .* at most 10 levels"),
        ({"skin": ["I"]}, "axes.skin .* a list of two names or more"),
        ({"skin": ["I", "I", "V"]}, "axes.skin .* different names"),
        ({name: list("ABCDE") for name in "abc"}, "axes has 125 combinations of levels"),
    ],
)
def test_too_many_levels_or_too_few_are_named(axes, words):
    with pytest.raises(InputError, match=words):
        Specification(
            name="mine", question="?", axes=axes, images="a.csv", design={"tolerance": 0.05}
        )


def test_generators_make_two_levels():
    with pytest.raises(
        InputError, match="axes.skin has 3 levels; a generator of kind known-truth has two"
    ):
        Specification(name="mine", question="?", axes={"skin": SKIN}, design={"tolerance": 0.05})
