"""Audits of frames from Python: equal to the audit file, plain errors, plans and versions."""

import json
import pickle

import numpy as np
import pandas as pd
import pyarrow
import pytest
from pretended_audits import OF_TABLE, pretended_table
from scipy import stats

import faceaudit
from faceaudit import InputError
from faceaudit.effects.survey_weights import WEIGHT
from faceaudit.file.specification import IMAGE_COLUMNS
from faceaudit.run import run_audit
from faceaudit.utils.files import hash_of_content

AXES = {"skin": ["light", "dark"], "gender": ["female", "male"]}
SETTINGS = {"unit": "unit", "axes": AXES, "tolerance": 0.05}
ANSWERED = {"label": "label", "score": "score"}
COMPARED_WITHOUT_SIMILARITIES = ["compared: missing pairs by group", "compared: worst cases"]
NOT_COMPARED = {"made", "plan", "provenance"}
"""Parts of a report with dates, hashes and names of files."""


@pytest.fixture(scope="module")
def frame():
    return pretended_table(120, 0.3, seed=1)


def said(report):
    """What a report says, without dates, hashes and the name of the table."""
    content = report.model_dump(mode="json", exclude=NOT_COMPARED)
    del content["data"]["source"]
    return json.dumps(content).replace("the table", "faces.csv")


def from_file(folder, frame, **content):
    """The report of an audit file with this table."""
    frame.to_csv(folder / "faces.csv", index=False)
    (folder / "audit.yml").write_text(json.dumps(content), encoding="utf-8")
    return run_audit(folder / "audit.yml", lambda line: None)


def test_a_frame_gives_what_the_audit_file_gives(frame, tmp_path):
    by_file = from_file(tmp_path, frame, **OF_TABLE)
    by_call = faceaudit.table(
        frame,
        **SETTINGS,
        **ANSWERED,
        image="image_id",
        classes=["female", "male"],
        name="small",
        question=OF_TABLE["question"],
    )
    assert said(by_call.report) == said(by_file)
    assert by_call.gate() == faceaudit.gate(by_file)[0] == 1


def test_portraits_and_errors_give_what_the_audit_file_gives(frame, tmp_path):
    portraits = frame.assign(wrong=(frame["score"] > 0.5).astype(int) != frame["label"])
    by_file = from_file(
        tmp_path,
        portraits,
        name="audit",
        kind="portraits",
        question="?",
        images="faces.csv",
        axes=AXES,
        columns={"error": "wrong"},
        design={"tolerance": 0.05},
    )
    settings = SETTINGS | {"unit": None, "question": "?"}
    by_call = faceaudit.table(portraits, error="wrong", **settings)
    assert said(by_call.report) == said(by_file)
    assert by_call.averages["axis"].tolist() == ["skin", "gender"]
    assert len(by_call.effects) == 4 and by_call.effects["cell"].nunique() == 4


@pytest.mark.parametrize("unit", ["unit", None])
def test_columns_of_raters_give_what_the_audit_file_gives(frame, tmp_path, unit):
    """Their majority is right; where two of them differ and a third is silent, nothing is."""
    random = np.random.default_rng(3)
    rated = frame.copy()
    for name in ("anna", "ben", "chidi"):
        differs = random.random(len(frame)) < 0.2
        said_by = np.where(differs, 1 - frame["label"], frame["label"])
        rated[name] = np.where(random.random(len(frame)) < 0.1, None, said_by)
    raters = ["anna", "ben", "chidi"]
    content = {
        "name": "audit",
        "question": "?",
        "images": "faces.csv",
        "axes": AXES,
        "columns": {"answers": raters, "score": "score"},
        "design": {"tolerance": 0.05},
    }
    if unit is None:
        content["kind"] = "portraits"
    by_file = from_file(tmp_path, rated, **content)
    settings = SETTINGS | {"unit": unit, "question": "?"}
    by_call = faceaudit.table(rated, label=raters, score="score", **settings)
    assert by_call.report.data["no_label"] > 0
    assert said(by_call.report) == said(by_file)


def test_intervals_of_a_family_are_bonferronis(frame):
    """Of one comparison it is its own interval; of several, each side grows with the quantile."""
    for unit in ("unit", None):
        settings = SETTINGS | {"unit": unit}
        several = faceaudit.table(frame, **settings, **ANSWERED).averages
        n = several.get("identities", several.get("units"))
        grown = stats.t.isf(0.05 / 4, n - 1) / stats.t.isf(0.05 / 2, n - 1)
        above = (several["high_family"] - several["estimate"]).to_numpy()
        np.testing.assert_allclose(above, (several["high"] - several["estimate"]) * grown)
    one = frame[frame["gender"] == "female"]
    settings |= {"axes": {"skin": AXES["skin"]}, "label": "label"}
    gaps = faceaudit.table(one, score="score", **settings).averages
    assert gaps["low_family"].tolist() == gaps["low"].tolist()


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_pairs_give_what_the_audit_file_gives(tmp_path, missing):
    random = np.random.default_rng(1)
    rows = []
    for group in ("a", "b"):
        for first in range(12):
            for second in range(first, 12):
                same = int(first == second)
                similarity = random.normal(0.3 + 0.4 * same, 0.1)
                rows.append((group, f"{group}{first}", f"{group}{second}", same, similarity))
    columns = ["group", "first", "second", "same", "similarity"]
    pairs = pd.DataFrame(rows, columns=columns)
    not_enrolled = (pairs["group"] == "b") & (random.random(len(pairs)) < missing)
    pairs["similarity"] = pairs["similarity"].mask(not_enrolled)
    by_file = from_file(
        tmp_path,
        pairs,
        name="audit",
        kind="verification",
        question="?",
        pairs="faces.csv",
        reference="a",
        model={"kind": "table", "threshold": 0.5},
        design={"tolerance": 0.05},
    )
    names = {column: column for column in columns}
    settings = {"reference": "a", "threshold": 0.5, "tolerance": 0.05, "question": "?"}
    told = []
    by_call = faceaudit.pairs(pairs, say=told.append, **names, **settings)
    assert told[:2] == [f"table: {len(pairs):,} rows", "compared: error rates by group"]
    assert told[2:] == (COMPARED_WITHOUT_SIMILARITIES if missing else [])
    assert said(by_call.report) == said(by_file)
    assert set(by_call.effects["group"]) == {"b"} and by_call.averages.empty
    assert ("exceeds" in set(by_call.missing["verdict"])) == bool(missing)
    assert by_call.gate() == faceaudit.gate(by_file)[0] == (1 if missing else 2)
    # The same as distances.
    names["distance"] = names.pop("similarity")
    apart = faceaudit.pairs(pairs.assign(similarity=1 - pairs["similarity"]), **names, **settings)
    pd.testing.assert_frame_equal(apart.effects[["estimate"]], by_call.effects[["estimate"]])
    with pytest.raises(InputError, match="similarity or distance: both are given"):
        faceaudit.pairs(pairs, **names, similarity="similarity", **settings)


def test_stages_of_a_long_call_are_told_on_request(frame, capsys):
    told = []
    settings = {"axes": AXES, "label": "label", "score": "score", "tolerance": 0.05}
    faceaudit.table(frame, unit="unit", say=told.append, **settings)
    assert told[0] == f"table: {len(frame):,} rows"
    assert told[1:] == [
        "compared: effects by cell",
        "compared: effects on average",
        "compared: effects on being missing",
        "compared: interactions",
        "compared: other thresholds and scores",
    ]
    portraits = []
    faceaudit.table(frame, unit=None, say=portraits.append, **settings)
    assert portraits[1] == "compared: differences between levels" and len(portraits) > 4
    assert capsys.readouterr().out == ""


def test_questions_by_default_ask_for_effects_or_for_differences(frame):
    settings = {"axes": AXES, "label": "label", "score": "score", "tolerance": 0.05}
    matched = faceaudit.table(frame, unit="unit", **settings).report.question
    portraits = faceaudit.table(frame, unit=None, **settings).report.question
    assert matched == "Do skin and perceived gender change how often the model errs?"
    asked = "Does the error rate differ between portraits by skin and perceived gender?"
    assert portraits == asked


def test_levels_in_a_set_have_no_order(frame):
    axes = {**AXES, "skin": set(AXES["skin"])}
    with pytest.raises(InputError, match="axes.skin is of type set, a list of names in"):
        faceaudit.table(frame, **ANSWERED, **SETTINGS | {"axes": axes})


def test_errors_alone_give_the_effects_of_labels_and_answers(frame):
    wrong = (frame["score"] > 0.5).astype(int) != frame["label"]
    says = (frame["score"] > 0.5).map({False: "female", True: "male"})
    truth = frame["label"].map({0: "female", 1: "male"})
    by_error = faceaudit.table(frame.assign(wrong=wrong), error="wrong", **SETTINGS)
    by_words = faceaudit.table(
        frame.assign(truth=truth, says=says),
        label="truth",
        pred="says",
        classes=["female", "male"],
        **SETTINGS,
    )
    pd.testing.assert_frame_equal(by_error.effects, by_words.effects)
    assert by_error.report.data["no_label"] == 0


@pytest.mark.parametrize("dtype", ["boolean", "Int8", "bool", "float", "str"])
def test_labels_of_any_dtype_are_the_same(frame, dtype):
    usual = faceaudit.table(frame, **SETTINGS, **ANSWERED)
    label = frame["label"].astype(dtype)
    changed = frame.assign(label=label, unit=frame["unit"].astype("UInt16"))
    changed.index = [0] * len(frame)
    other = faceaudit.table(changed, **SETTINGS, **ANSWERED)
    pd.testing.assert_frame_equal(other.effects, usual.effects)


def test_levels_come_from_ordered_categories_and_from_numbers(frame):
    usual = faceaudit.table(frame, **SETTINGS, **ANSWERED).effects
    skin = pd.Categorical(frame["skin"], ["light", "middle", "dark"], ordered=True)
    gender = pd.Categorical(frame["gender"], ["female", "male"], ordered=True)
    ordered = frame.assign(skin=skin, gender=gender)
    settings = SETTINGS | {"axes": ["skin", "gender"]}
    pd.testing.assert_frame_equal(faceaudit.table(ordered, **settings, **ANSWERED).effects, usual)
    numbers = frame.assign(skin=(frame["skin"] == "dark").astype(int))
    settings = SETTINGS | {"axes": AXES | {"skin": [0, 1]}}
    effects = faceaudit.table(numbers, **settings, **ANSWERED).effects
    assert effects["estimate"].tolist() == usual["estimate"].tolist()


def test_a_table_of_another_library_gives_the_same(frame):
    usual = faceaudit.table(frame, **SETTINGS, **ANSWERED)
    other = faceaudit.table(pyarrow.Table.from_pandas(frame), **SETTINGS, **ANSWERED)
    assert said(other.report) == said(usual.report)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"axes": "skin"}, "axes is 'skin', a mapping of each axis to its levels"),
        ({"axes": ["skin"]}, "axes: 'skin' is given without levels, and is no column with ordered"),
        ({"axes": {"skin": "light"}}, "axes.skin is 'light', a list of names was expected"),
        ({"classes": "fm"}, "classes is 'fm', a list of names was expected"),
        ({"pred": "says"}, "pred, score, error or outcome: pred and score are given"),
        ({"score": None}, "pred, score, error or outcome: none of them is given"),
        ({"label": None}, "label is missing; with score, the column of the right answers"),
        ({"unit": "face"}, "the table: no column 'face'; it has image_id"),
        ({"tolerance": 5}, "tolerance is 5, a number below 1 was expected"),
        ({"axes": {"skin": ["light"]}}, "axes.skin is"),
        ({"name": "My audit"}, "name is 'My audit'"),
        ({"policy": {"face": 3}}, "face is no key here (did you mean faces?)"),
        (
            {"label": 5},
            "label is of type int, the name of a column, or a list of names, was expected",
        ),
        (
            {"reason": "gender"},
            "column 'gender', row 0 is 'female', one of abstention, no face, fai",
        ),
        ({"label": "skin"}, "column 'skin', row 0 is 'light', a label, '0' or '1', was expected"),
    ],
)
def test_an_argument_that_cannot_be_used_is_one_sentence(frame, changes, message):
    with pytest.raises(InputError) as raised:
        faceaudit.table(frame, **(SETTINGS | ANSWERED | changes))
    assert message in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("unit", None, "column 'unit', row 3 is empty, the name of a matched face"),
        ("label", 3, "column 'label', row 3 is 3, a label, '0' or '1'"),
        ("score", "high", "column 'score', row 3 is 'high', a number"),
        ("score", 1.5, "column 'score', row 3 is 1.5, a score from 0 to 1"),
        ("skin", "middle", "column 'skin', row 3 is 'middle', 'light' or 'dark' was expected"),
        (
            "image_id",
            "0-light-female",
            "row 3 is '0-light-female', as row 0 is; name an image",
        ),
    ],
)
def test_a_bad_cell_is_named_by_its_row(frame, column, cell, message):
    frame = frame.astype({column: object})
    frame.iloc[3, frame.columns.get_loc(column)] = cell
    with pytest.raises(InputError, match=message):
        faceaudit.table(frame, **SETTINGS, **ANSWERED)


@pytest.mark.parametrize("unit", ["unit", None])
@pytest.mark.parametrize("name", ["label", "score", "error", "no_answer", "image_id"])
def test_an_axis_with_a_name_that_the_audit_uses_is_refused(frame, tmp_path, unit, name):
    """pandas said "columns overlap but no suffix specified" (B7), or a column was overwritten."""
    frame = frame.rename(columns={"label": "truth", "score": "says", "image_id": "file"})
    frame = frame.rename(columns={"skin": name})
    settings = {"axes": {name: ["light", "dark"]}, "tolerance": 0.05}
    message = f"axes: the column '{name}' has a name that the audit uses itself; rename the column"
    with pytest.raises(InputError, match=message):
        faceaudit.table(frame, unit=unit, label="truth", score="says", image="file", **settings)
    content = {"name": "audit", "question": "?", "images": "faces.csv", "axes": settings["axes"]}
    content |= {"columns": {"label": "truth", "score": "says", "image": "file"}}
    content |= {"design": {"tolerance": 0.05}}
    with pytest.raises(InputError, match=message):
        from_file(tmp_path, frame, **content | ({} if unit else {"kind": "portraits"}))


def test_columns_of_the_table_beside_a_report_are_no_names_of_axes(frame):
    frame = frame.assign(why=None, weight=frame["unit"] + 1)
    settings = SETTINGS | {"reason": "why", "outcomes": ["error", "no_face"], "weights": "weight"}
    columns = set(faceaudit.table(frame, **settings, **ANSWERED).images) - set(AXES)
    assert columns <= set(IMAGE_COLUMNS) and WEIGHT in columns
    numbers = faceaudit.table(frame, **SETTINGS, outcome="score").images
    assert set(numbers) - set(AXES) <= set(IMAGE_COLUMNS)


@pytest.mark.parametrize("unit", ["unit", None])
def test_a_column_of_reasons_is_checked_also_where_no_outcome_names_one(frame, tmp_path, unit):
    """It was ignored in silence (B8)."""
    frame = frame.assign(why=None)
    frame.loc[3, ["score", "why"]] = [np.nan, "No face"]
    settings = SETTINGS | {"unit": unit}
    by_call = faceaudit.table(frame, **settings, **ANSWERED, reason="why")
    assert said(by_call.report) == said(faceaudit.table(frame, **settings, **ANSWERED).report)
    content = {"name": "audit", "question": "?", "images": "faces.csv", "axes": AXES}
    content |= {"columns": {"reason": "why"}, "design": {"tolerance": 0.05}}
    content |= {} if unit else {"kind": "portraits"}
    for row, word, expected in (
        (3, "timeout", "is 'timeout', one of abstention, no face, failed call was expected"),
        (5, "no face", "is 'no face', an empty cell beside an answer was expected"),
    ):
        changed = frame.copy()
        changed.loc[row, "why"] = word
        with pytest.raises(InputError, match=f"column 'why', row {row} {expected}"):
            faceaudit.table(changed, **settings, **ANSWERED, reason="why")
        with pytest.raises(InputError, match=f"column 'why', row {row + 2} {expected}"):
            from_file(tmp_path, changed, **content)


@pytest.mark.parametrize(
    ("n", "message"),
    [
        ("frame", "n is of type DataFrame, a number of matched faces was expected"),
        ("200", "n is '200', a whole number of at least 2 was expected"),
        (10**9, "n is 1000000000, a whole number of at most 10,000,000 was expected"),
        (2.5, "n is 2.5, a whole number of at least 2 was expected"),
    ],
)
def test_a_plan_for_no_number_of_faces_is_one_sentence(frame, n, message):
    """A frame was printed in the message (B3), and a billion faces had no end."""
    with pytest.raises(InputError) as raised:
        faceaudit.plan(frame if n == "frame" else n, **SETTINGS, **ANSWERED)
    assert str(raised.value) == message


def test_one_comparison_has_a_sentence_of_its_own(frame):
    of_women = frame[frame["gender"] == "female"]
    audit = faceaudit.table(
        of_women.assign(wrong=0),
        unit="unit",
        axes={"skin": AXES["skin"]},
        error="wrong",
        tolerance=0.1,
    )
    assert "\nThe one comparison that is judged: 1 within the tolerance." in audit.report.answer


@pytest.mark.parametrize("data", [[1], "faces.csv", None])
def test_only_frames_are_taken(data):
    with pytest.raises(InputError, match="a data frame was expected"):
        faceaudit.table(data, **SETTINGS, **ANSWERED)


def test_a_frame_without_rows_is_refused(frame):
    with pytest.raises(InputError, match="the table has no rows"):
        faceaudit.table(frame.iloc[:0], **SETTINGS, **ANSWERED)


def test_a_plan_is_kept_and_a_moved_tolerance_is_a_departure(frame, tmp_path):
    plan = faceaudit.plan(120, **SETTINGS, **ANSWERED)
    path = plan.save(tmp_path / "plan.json")
    kept = faceaudit.table(frame, plan=path, **SETTINGS, **ANSWERED)
    assert kept.report.plan.kept and kept.report.plan.sha256 == plan.content["sha256"]
    moved = faceaudit.table(frame, plan=plan, **(SETTINGS | {"tolerance": 0.5}), **ANSWERED)
    assert moved.report.plan.departures == ["tolerance: 0.05 was planned, 0.5 was used"]
    assert moved.gate() == 1
    path.write_text(path.read_text(encoding="utf-8").replace("0.05", "0.5"), encoding="utf-8")
    with pytest.raises(InputError, match="was changed after it was made"):
        faceaudit.table(frame, plan=path, **SETTINGS, **ANSWERED)


def test_the_plan_of_a_frame_has_its_chances():
    plan = faceaudit.plan(400, **SETTINGS, **ANSWERED)
    assert plan.units == 400
    assert plan.power["times the tolerance"].tolist() == [0, 1, 1.5, 2] * 2
    of_cell, on_average = (part for _, part in plan.power.groupby("comparison", sort=False))
    assert on_average["undecided"].iloc[0] < of_cell["undecided"].iloc[0]
    assert np.allclose(plan.power[["beyond", "within", "undecided"]].sum(axis=1), 1)
    assert "chances that the verdict on one cell is" in repr(plan)


def test_a_result_is_saved_shown_and_pickled(frame, tmp_path):
    audit = faceaudit.table(frame, **SETTINGS, **ANSWERED)
    audit.save(tmp_path / "mine")
    assert {path.name for path in (tmp_path / "mine").iterdir()} == {
        "report.html",
        "report.json",
        "model_card.md",
        "images.csv",
    }
    assert faceaudit.gate(tmp_path / "mine" / "report.json")[0] == audit.gate()
    again = pickle.loads(pickle.dumps(audit))
    assert again.report == audit.report
    pd.testing.assert_frame_equal(again.effects, audit.effects)
    assert 2 <= len(repr(audit).splitlines()) <= 10
    html = audit._repr_html_()
    assert "<svg" in html and audit.report.answer.splitlines()[0] in html
    assert "<strong>Skin</strong>: the error rate changes by" in html
    few = faceaudit.table(frame[frame["unit"] < 9], **SETTINGS, **ANSWERED)
    assert "Too little is there to let the model pass" in few._repr_html_()
    assert len(audit.plot().axes) == 1
    wanted = {"estimate", "low", "high", "verdict", "low_family", "high_family"}
    assert wanted <= set(audit.effects) and wanted <= set(audit.averages)
    assert audit.effects["low"].dtype == float and audit.missing.empty
    assert audit.rates["errors"].sum() == audit.frame["error"].sum()


@pytest.mark.parametrize("answers", [ANSWERED, {"error": "wrong"}])
def test_a_saved_result_is_verified_from_its_rows(frame, answers, tmp_path):
    frame = frame.assign(wrong=((frame["score"] > 0.5) != frame["label"]).astype(object))
    frame.loc[5, ["wrong", "score"]] = None
    faceaudit.table(frame, **SETTINGS, **answers).save(tmp_path)
    assert faceaudit.verify(tmp_path / "report.json")[0] == 0
    images = pd.read_csv(tmp_path / "images.csv", dtype=str).drop(index=[0, 1, 2, 3])
    images.to_csv(tmp_path / "images.csv", index=False)
    code, lines = faceaudit.verify(tmp_path / "report.json")
    assert code == 3 and any("the rows give" in line for line in lines)


def test_versions_are_compared_image_by_image(frame):
    """The change is the paired difference of error rates: a loop over the images says the same."""
    mended = frame.assign(score=np.where(frame["label"] == 1, 0.9, 0.1))
    old = faceaudit.table(frame, **SETTINGS, **ANSWERED)
    new = faceaudit.table(mended.sample(frac=1, random_state=1), **SETTINGS, **ANSWERED)
    changed = faceaudit.compare(old, new)
    differences = []
    for image in frame.itertuples():
        wrong_before = (image.score > 0.5) != image.label
        differences.append(0 - wrong_before)
    assert changed.changes["estimate"].iloc[0] == pytest.approx(np.mean(differences))
    dark_women = (frame["skin"] == "dark") & (frame["gender"] == "female")
    row = changed.changes.set_index("cell").loc["dark, female"]
    assert row["estimate"] == pytest.approx(np.mean(np.array(differences)[dark_women]))
    assert row["verdict"] == "exceeds" and changed.gate() == 0
    assert faceaudit.compare(new, old).gate() == 1
    skin = changed.effects.set_index("axis").loc["skin"]
    before, after = (a.averages.set_index("axis")["estimate"]["skin"] for a in (old, new))
    assert skin["estimate"] == pytest.approx(after - before)


def test_a_version_that_errs_less_passes_however_much_less():
    faces = pd.DataFrame({"face": np.repeat(range(400), 2), "skin": ["light", "dark"] * 400})
    settings = {"unit": "face", "axes": {"skin": ["light", "dark"]}, "tolerance": 0.05}
    new = faceaudit.table(faces.assign(wrong=0), error="wrong", **settings)
    codes = []
    for share in (0.0, 0.02, 0.045, 0.06, 0.2):
        wrong = (faces["face"] < 400 * share).astype(int)
        old = faceaudit.table(faces.assign(wrong=wrong), error="wrong", **settings)
        codes.append((faceaudit.compare(old, new).gate(), faceaudit.compare(new, old).gate()))
    assert [code for code, _ in codes] == [0, 0, 0, 0, 0]
    assert [code for _, code in codes] == [0, 0, 2, 2, 1]


def test_versions_of_other_images_are_not_compared(frame):
    old = faceaudit.table(frame, **SETTINGS, **ANSWERED)
    fewer = faceaudit.table(frame[frame["unit"] > 2], **SETTINGS, **ANSWERED)
    with pytest.raises(InputError, match="12 images are in one of both audits alone"):
        faceaudit.compare(old, fewer)
    stricter = faceaudit.table(frame, **(SETTINGS | {"tolerance": 0.02}), **ANSWERED)
    with pytest.raises(InputError, match="tolerance of old is 0.05, that of new is 0.02"):
        faceaudit.compare(old, stricter)
    portraits = faceaudit.table(frame, **(SETTINGS | {"unit": None}), **ANSWERED)
    with pytest.raises(InputError, match="new is an audit of portraits, one of matched images"):
        faceaudit.compare(old, portraits)


def test_a_console_says_what_closes_the_gate(frame):
    reversed_scores = frame.assign(score=1 - frame["score"])
    told = repr(faceaudit.table(reversed_scores, **SETTINGS, **ANSWERED))
    assert "doubt, reversed: " in told and len(told.splitlines()) <= 10
    of_few = frame[frame["unit"].isin(frame["unit"].unique()[:4])]
    assert "coverage: The smallest cell has 4 faces" in repr(
        faceaudit.table(of_few, **SETTINGS, **ANSWERED)
    )


def test_one_person_in_a_cell_counts(frame):
    one = frame[(frame["skin"] == "light") | ~frame["skin"].duplicated()]
    settings = SETTINGS | {"unit": None, "axes": {"skin": SETTINGS["axes"]["skin"]}}
    told = repr(faceaudit.table(one, **settings, **ANSWERED))
    assert "coverage: The smallest cell has 1 person that counts" in told


def test_a_cell_of_one_face_has_a_reason_and_no_number(frame):
    """Nothing says how far one face is from others."""
    is_first = frame["unit"] == frame["unit"].iloc[0]
    in_cell = frame["gender"] == frame["gender"].iloc[0]
    some = frame[is_first | ~(in_cell & (frame["skin"] == "dark"))]
    audit = faceaudit.table(some, **SETTINGS, **ANSWERED, incomplete="pairs")
    alone = audit.effects[audit.effects["units"] == 1]
    assert len(alone) and set(alone["verdict"]) == {"not estimable"}
    assert alone["estimate"].isna().all()
    assert (alone["reason"] != "").all()


def test_a_page_says_whether_there_was_a_plan(frame, tmp_path):
    plan = faceaudit.plan(120, **SETTINGS, **ANSWERED)
    content = {**plan.content, "made": "2026-01-01T00:00:00+00:00"}
    earlier = faceaudit.AuditPlan({**content, "sha256": hash_of_content(content)})
    texts = []
    for one in (None, earlier):
        page = faceaudit.table(frame, plan=one, **SETTINGS, **ANSWERED).save(tmp_path)
        texts.append(page.read_text(encoding="utf-8"))
    assert "No plan was there before this run" in texts[0] and "fixed on" not in texts[0]
    assert "fixed on 2026-01-01" in texts[1] and "No plan was there" not in texts[1]


def test_versions_with_other_labels_are_not_compared(frame):
    old = faceaudit.table(frame, **SETTINGS, **ANSWERED)
    relabelled = frame.assign(label=(frame["score"] > 0.5).astype(int))
    new = faceaudit.table(relabelled, **SETTINGS, **ANSWERED)
    with pytest.raises(InputError, match="has another label in new"):
        faceaudit.compare(old, new)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"covariates": ["age"]}, "covariates is given, and matched images take none"),
        ({"adjustment": "aipw"}, "adjustment is given, and matched images take none"),
        ({"ignore": {"skin": ["mid"]}}, "ignore is given, and matched images take none"),
        ({"unit": None, "placebos": AXES}, "placebos is given, and portraits take none"),
        ({"unit": None, "covariates": "age"}, "covariates is 'age', a list of names"),
        ({"unit": None, "ignore": {"skin": "mid"}}, "ignore.skin is 'mid', a list of names"),
        ({"accept": "errors"}, "accept is 'errors', a list of names"),
        ({"plan": "nowhere.json"}, "nowhere.json: no such plan"),
    ],
)
def test_keywords_that_would_be_ignored_are_refused(frame, settings, words):
    with pytest.raises(InputError, match=words):
        faceaudit.table(frame, **{**SETTINGS, **ANSWERED, **settings})


@pytest.fixture
def saved_pairs(tmp_path):
    """The folder of a saved audit of pairs that came as a frame; one has no similarity."""
    pairs = pd.DataFrame(
        [
            (group, f"{group}{k}", f"{group}{k if same else k + 1}", int(same), 0.9 * same + 0.05)
            for group in "ab"
            for k in range(40)
            for same in (True, False)
        ],
        columns=["group", "first", "second", "same", "similarity"],
    )
    pairs.loc[0, "similarity"] = np.nan
    names = {name: name for name in pairs}
    faceaudit.pairs(pairs, reference="a", threshold=0.5, tolerance=0.05, **names).save(tmp_path)
    return tmp_path


def saved_portraits(folder, **settings):
    """Save an audit of portraits that came as a frame, with a covariate and values left out."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "person": rng.integers(0, 150, 400),
            "skin": rng.choice(["light", "dark", "?"], 400, p=[0.49, 0.49, 0.02]),
            "hair": rng.integers(0, 2, 400),
            "age": rng.normal(40, 10, 400),
            "truth": rng.integers(0, 2, 400),
        }
    )
    frame["score"] = (0.6 * frame["truth"] + rng.normal(0.2, 0.25, 400)).clip(0, 1)
    frame.loc[:5, "score"] = np.nan
    faceaudit.table(
        frame,
        unit=None,
        identity="person",
        axes={"skin": ["light", "dark"], "hair": [0, 1]},
        covariates=["age"],
        label="truth",
        tolerance=0.1,
        **settings,
    ).save(folder)


@pytest.mark.parametrize("settings", [{"score": "score"}, {"score": "score", "adjustment": "aipw"}])
def test_a_saved_report_of_portraits_is_computed_from_its_rows(tmp_path, settings):
    saved_portraits(tmp_path, **settings)
    code, lines = faceaudit.verify(tmp_path / "report.json")
    assert (code, lines) == (0, [f"verified: {tmp_path / 'rows.csv'} gives what the report says"])
    rows = pd.read_csv(tmp_path / "rows.csv")
    wrong = rows["label"].eq(1) & rows["score"].gt(0.5)
    rows.loc[wrong & rows["skin"].eq("dark"), "error"] = 1.0
    rows.to_csv(tmp_path / "rows.csv", index=False)
    code, lines = faceaudit.verify(tmp_path / "report.json")
    assert code == 3 and any("the rows give" in line for line in lines)


def test_a_saved_report_of_pairs_is_computed_from_its_rows(saved_pairs):
    assert faceaudit.verify(saved_pairs / "report.json")[0] == 0
    rows = pd.read_csv(saved_pairs / "rows.csv")
    rows.loc[rows["group"].eq("b") & rows["same"].eq(1), "similarity"] = 0.1
    rows.to_csv(saved_pairs / "rows.csv", index=False)
    code, lines = faceaudit.verify(saved_pairs / "report.json")
    assert code == 3 and any("fnmr" in line for line in lines)


def test_rows_that_are_missing_or_damaged_are_named(saved_pairs):
    rows = pd.read_csv(saved_pairs / "rows.csv")
    rows.drop(columns="same").to_csv(saved_pairs / "rows.csv", index=False)
    code, lines = faceaudit.verify(saved_pairs / "report.json")
    assert code == 3 and "rows.csv: no column 'same'" in lines[0]
    (saved_pairs / "rows.csv").unlink()
    code, lines = faceaudit.verify(saved_pairs / "report.json")
    assert code == 3 and "rows.csv: the rows of the report are not there" in lines[0]


def test_a_level_that_is_none_in_the_rows_of_portraits_is_named(tmp_path):
    saved_portraits(tmp_path, score="score")
    rows = (tmp_path / "rows.csv").read_text(encoding="utf-8")
    (tmp_path / "rows.csv").write_text(rows.replace(",dark,", ",black,", 1), encoding="utf-8")
    code, lines = faceaudit.verify(tmp_path / "report.json")
    assert code == 3 and "column 'skin' has 'black', one of light, dark was expected" in lines[0]
