"""A gate that is asked again: looks and releases are counted, and all of them hold at once."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from pretended_audits import OF_TABLE, pretended_table

import faceaudit
from faceaudit import effects
from faceaudit.__main__ import main
from faceaudit.file.specification import Specification
from faceaudit.looks import looks_of_faces
from faceaudit.plans import make_plan
from faceaudit.report.page import card, page
from faceaudit.run import run_audit
from faceaudit.utils.errors import InputError

SETTINGS = {
    "unit": "unit",
    "axes": OF_TABLE["axes"],
    "classes": OF_TABLE["classes"],
    "label": "label",
    "score": "score",
    "tolerance": 0.05,
    "name": "small",
    "question": OF_TABLE["question"],
}
MONITORED = SETTINGS | {"policy": {"monitor": True}}
FEW, MORE = 60, 120
"""Faces of the first look, and with the further ones."""
TABLE = pretended_table(MORE, 0.3, seed=1)
FIRST = TABLE[TABLE["unit"] < FEW]
OTHER_MODEL = TABLE.assign(score=pretended_table(MORE, 0.0, seed=2)["score"])
NOT_COMPARED = {"made", "plan", "provenance", "monitored"}
"""Parts of a report with dates, hashes and names of files; looks are compared apart."""


@pytest.fixture(scope="module")
def first():
    return faceaudit.table(FIRST, **MONITORED)


@pytest.fixture(scope="module")
def second(first):
    return faceaudit.table(TABLE, **MONITORED, previous=first)


@pytest.fixture(scope="module")
def audits(first, second):
    return {
        "first": first,
        "second": second,
        "plain": faceaudit.table(TABLE, **SETTINGS),
        "release": faceaudit.table(OTHER_MODEL, **MONITORED, previous=second),
        "all at once": faceaudit.table(TABLE, **MONITORED),
    }


def looks(audit):
    part = audit.report.monitored
    return part.look, part.release, part.earlier_faces


def said(report):
    """What a report says, without dates, hashes and the name of the table."""
    content = report.model_dump(mode="json", exclude=NOT_COMPARED)
    del content["data"]["source"]
    return json.dumps(content).replace("the table", "faces.csv")


def test_looks_and_releases_are_counted_by_what_changed(first, second, audits):
    assert looks(first) == (1, 1, 0)
    assert looks(second) == (2, 1, FEW)
    assert looks(faceaudit.table(TABLE, **MONITORED, previous=second)) == (2, 1, FEW)
    release = audits["release"]
    assert looks(release) == (3, 2, MORE)
    assert looks(faceaudit.table(TABLE, **MONITORED, previous=release)) == (4, 3, MORE)
    assert release.report.plan.kept
    assert looks_of_faces(TABLE, release).tolist() == [1] * 4 * FEW + [2] * 4 * (MORE - FEW)


def test_intervals_are_those_of_the_sequence_over_faces(second):
    """Of each face the mean of its pairs, those of the first look first."""
    row = second.averages.set_index("axis").loc["skin"]
    frame = second.frame
    error = frame.pivot_table(index="unit", columns="skin_level", values="error", aggfunc="mean")
    difference = (error[1] - error[0]).to_numpy()
    level = 0.05 * effects.share_of_release(1)
    # The order within a look is drawn; over all orders the first look stays in front.
    games = [
        effects.betting_sequence(
            np.concatenate([order.permutation(difference[:FEW]), difference[FEW:]]), level, 0.05
        )
        for order in map(np.random.default_rng, range(20))
    ]
    ends = np.array([game.interval(level) for game in games])[..., 0]
    low, high = ends.min(axis=0), ends.max(axis=0)
    assert row["estimate"] == pytest.approx(difference.mean())
    assert low[0] - 0.05 < row["low"] < high[0] + 0.05
    assert low[1] - 0.05 < row["high"] < high[1] + 0.05
    assert row["low_family"] < row["low"] < row["low90"] < row["high90"] < row["high"]


def test_a_later_look_of_one_model_never_widens(first, second):
    for part in ("effects", "averages", "missing"):
        columns = ["low", "high", "low90", "high90", "low_family", "high_family"]
        early, late = (getattr(audit, part)[columns].fillna(0) for audit in (first, second))
        for low, high in zip(columns[::2], columns[1::2], strict=True):
            assert (late[low] >= early[low]).all(), (part, low)
            assert (late[high] <= early[high]).all(), (part, high)


def test_names_of_faces_and_not_rows_order_them(first):
    shuffled = FIRST.sample(frac=1, random_state=1)
    assert said(faceaudit.table(shuffled, **MONITORED).report) == said(first.report)


def test_the_audit_file_gives_what_the_call_gives(tmp_path, first, second):
    content = OF_TABLE | {"policy": {"monitor": True}}
    path = tmp_path / "small.yml"
    named = {"image": "image_id"}
    for table, by_call, more in (
        (FIRST, faceaudit.table(FIRST, **MONITORED, **named), {}),
        (TABLE, faceaudit.table(TABLE, **MONITORED, **named, previous=first), {"previous": "last"}),
    ):
        table.to_csv(tmp_path / "faces.csv", index=False)
        path.write_text(json.dumps(content | more), encoding="utf-8")
        by_file = run_audit(path, list)
        assert said(by_file) == said(by_call.report)
        assert by_file.plan.kept, by_file.plan.departures
        part = by_file.monitored.model_dump(exclude={"previous"})
        assert part == by_call.report.monitored.model_dump(exclude={"previous"})
        report = tmp_path / "small" / "report.json"
        assert main(["gate", str(report)]) == by_call.gate()
        assert main(["verify", str(report)]) == 0
        shutil.copytree(tmp_path / "small", tmp_path / "last", dirs_exist_ok=True)
    path.write_text(json.dumps(content | {"previous": "small"}), encoding="utf-8")
    with pytest.raises(InputError, match="the look before lies in the folder of the report"):
        run_audit(path, list)


def test_report_and_card_say_it_in_one_sentence(second, audits):
    sentence = second.report.monitored.sentence
    assert sentence.startswith("The gate is monitored: this is look 2, at release 1 of the model")
    assert "hold at all looks at once" in sentence
    assert sentence in page(second.report)
    assert sentence in card(second.report)
    assert "The gate is monitored" not in page(audits["plain"].report)


def test_a_changed_number_of_looks_is_noticed(tmp_path, second):
    second.save(tmp_path)
    path = tmp_path / "report.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["monitored"] = None
    path.write_text(json.dumps(content), encoding="utf-8")
    code, lines = faceaudit.gate(path)
    assert code == 3
    assert lines == ["small: whether the gate is monitored is not as planned, and no departure "
                     "says so"]  # fmt: skip


def test_plans_without_monitoring_keep_their_hash():
    plain = Specification(**OF_TABLE)
    assert "monitor" not in make_plan(plain, FEW)["policy"]
    monitored = make_plan(Specification(**OF_TABLE, policy={"monitor": True}), FEW)
    assert monitored["policy"]["monitor"] is True


def test_a_plan_holds_for_all_looks_and_binds_the_first_faces(first, second):
    plan = faceaudit.AuditPlan(first.report.plan.content)
    kept = faceaudit.table(TABLE, **MONITORED, previous=first, plan=plan)
    assert kept.report.plan.departures == []
    relabelled = TABLE.assign(label=TABLE["label"].where(TABLE["unit"] != 3, 0))
    changed = faceaudit.table(relabelled, **MONITORED, previous=first, plan=plan)
    assert changed.report.plan.departures == [
        "the table: not every image has the label that it had when the plan was made"
    ]


def test_faces_of_two_populations_have_no_interval():
    rows = [(face, skin, int((skin == "dark") == (face < 300)))
            for face in range(1300) for skin in ("light", "dark")]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["unit", "skin", "error"])
    settings = {"unit": "unit", "axes": {"skin": ["light", "dark"]}, "error": "error"}
    how = settings | {"tolerance": 0.05, "policy": {"monitor": True}, "accept": ["errors"]}
    early = faceaudit.table(frame[frame["unit"] < 300], **how)
    late = faceaudit.table(frame, **how, previous=early)
    assert early.effects["verdict"].item() == "exceeds"
    assert late.effects["reason"].item() == "no mean fits all looks"
    assert late.effects["verdict"].item() == "not estimable"
    assert late.gate() == 2


def asked(faces, model, **settings):
    """A classifier's audit about pictures of the first faces, of which some are darker."""
    rows, pictures = [], {}
    for face in range(faces):
        for skin, loss in (("light", 0), ("dark", 60)):
            name = f"{face}-{skin}"
            rows.append((name, face, skin, int(face % 2)))
            grey = 100 + 60 * (face % 2) - loss * (face % 3 == 0)
            pictures[name] = np.full((8, 8, 3), grey, np.uint8)
    table = pd.DataFrame(rows, columns=["file", "face", "skin", "smiling"])
    return faceaudit.classifier(
        model,
        pictures,
        table,
        unit="face",
        axes={"skin": ["light", "dark"]},
        label="smiling",
        tolerance=0.05,
        input={"size": 8, "range": [0, 255]},
        policy={"monitor": True},
        say=list,
        **settings,
    )


def test_a_classifier_that_is_asked_counts_its_looks():
    early = asked(40, lambda batch: batch.mean((1, 2, 3)) / 255)
    plan = faceaudit.AuditPlan(early.report.plan.content)
    more = asked(60, lambda batch: batch.mean((1, 2, 3)) / 255, previous=early, plan=plan)
    assert (looks(early), looks(more)) == ((1, 1, 0), (2, 1, 40))
    assert more.report.plan.departures == []
    release = asked(60, lambda batch: 1 - batch.mean((1, 2, 3)) / 255, previous=more, plan=plan)
    assert looks(release) == (3, 2, 60)


# --- two models


def test_comparisons_of_monitored_audits_hold_at_every_look(audits):
    changed = faceaudit.compare(audits["second"], audits["release"])
    once = faceaudit.compare(audits["plain"], faceaudit.table(OTHER_MODEL, **SETTINGS))
    assert changed.monitored.release == 1
    assert changed.monitored.sentence.startswith("The comparison is monitored: it is the first")
    assert once.monitored is None
    assert changed.changes["estimate"].tolist() == pytest.approx(once.changes["estimate"].tolist())
    width, width_once = (table["high"] - table["low"] for table in (changed.changes, once.changes))
    assert (width > width_once).all()
    assert changed.gate() in (0, 2)
    assert changed.gate() >= once.gate()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("second", "plain", "old is monitored, and new is not"),
        ("plain", "second", "new is monitored, and old is not"),
        ("second", "all at once", "new is release 1 of its looks, and old is release 1"),
        ("first", "release", "240 images are in one of both audits alone"),
        ("all at once", "release", "the faces of old came at other looks"),
    ],
)
def test_comparisons_that_are_refused(audits, old, new, message):
    with pytest.raises(InputError, match=message):
        faceaudit.compare(audits[old], audits[new])


def test_several_models_in_one_report_are_refused(second):
    with pytest.raises(InputError, match="a is monitored"):
        faceaudit.side_by_side({"a": second, "b": second})


def test_a_plan_says_that_its_chances_are_of_one_look():
    without_answers = {name: value for name, value in MONITORED.items() if name != "name"}
    assert "the gate is monitored: these chances" in repr(faceaudit.plan(400, **without_answers))


# --- bad input


def test_a_cell_without_answers_is_not_estimable():
    in_cell = (TABLE["skin"] == "dark") & (TABLE["gender"] == "male")
    audit = faceaudit.table(TABLE.assign(score=TABLE["score"].mask(in_cell)), **MONITORED)
    cells = audit.effects.set_index(["axis", "cell"])
    for place in (("skin", "male"), ("gender", "dark")):
        assert cells.loc[place, ["verdict", "reason"]].tolist() == ["not estimable", "no pair"]
        assert cells.loc[place, ["estimate", "low", "high", "low_family", "p_holm"]].isna().all()


def test_an_empty_level_is_refused():
    with pytest.raises(InputError, match="there is no image at skin 'dark', gender 'female'"):
        faceaudit.table(TABLE[TABLE["skin"] == "light"], **MONITORED)


def test_fewer_faces_than_before_are_refused(second):
    message = (
        "60 of the 120 faces of the look before are not among the 60 faces here, such as 100, "
        "101, 102; a look has all faces of the looks before it"
    )
    with pytest.raises(InputError, match=message):
        faceaudit.table(FIRST, **MONITORED, previous=second)


def test_other_faces_of_the_same_number_are_refused(first):
    others = TABLE[TABLE["unit"] >= FEW]
    with pytest.raises(InputError, match="60 of the 60 faces of the look before are not among"):
        faceaudit.table(others, **MONITORED, previous=first)


# --- an earlier look whose rows are not those of its report


@pytest.fixture(scope="module")
def rows_of_first(tmp_path_factory, first):
    """The folder of the first look, and its rows as texts."""
    folder = tmp_path_factory.mktemp("first")
    first.save(folder)
    return folder, pd.read_csv(folder / "images.csv", dtype=str, keep_default_na=False)


def with_rows(rows_of_first, folder, rows):
    """A copy of the folder of the first look, with other rows beside its report."""
    source, _ = rows_of_first
    shutil.copytree(source, folder)
    rows.to_csv(folder / "images.csv", index=False)
    return folder


def test_a_look_is_read_from_its_folder(rows_of_first, second):
    folder, _ = rows_of_first
    from_folder = faceaudit.table(TABLE, **MONITORED, previous=folder)
    assert looks(from_folder) == (2, 1, FEW)
    assert said(from_folder.report) == said(second.report)


def test_faces_that_are_gone_from_the_rows_of_a_look_are_noticed(rows_of_first, tmp_path):
    """They are left out of the new table as well, and could have spoken against the model."""
    _, rows = rows_of_first
    is_kept = rows["unit"].astype(int) >= 10
    folder = with_rows(rows_of_first, tmp_path / "look", rows[is_kept])
    message = (
        "report.json: the rows in images.csv beside this report do not give what it says: the "
        "report has 240 images, the rows have 200; the report and its rows as the audit wrote them"
    )
    with pytest.raises(InputError, match=message):
        faceaudit.table(TABLE[TABLE["unit"] >= 10], **MONITORED, previous=folder)


def test_answers_of_another_model_in_the_rows_of_a_look_are_noticed(rows_of_first, tmp_path):
    """Else another release would pass for the first one."""
    _, rows = rows_of_first
    other = OTHER_MODEL.iloc[: len(rows)]
    assert rows["image_id"].tolist() == other["image_id"].tolist()
    score = other["score"].to_numpy()
    error = ((score > 0.5) != (other["label"].to_numpy() == 1)).astype(float)
    folder = with_rows(rows_of_first, tmp_path / "look", rows.assign(score=score, error=error))
    with pytest.raises(InputError, match="do not give what it says: data.error_rate is "):
        faceaudit.table(OTHER_MODEL, **MONITORED, previous=folder)


def test_another_number_of_the_release_is_noticed(rows_of_first, tmp_path):
    _, rows = rows_of_first
    folder = with_rows(rows_of_first, tmp_path / "look", rows)
    path = folder / "report.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["monitored"]["release"] = 2
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match="do not give what it says: "):
        faceaudit.table(TABLE, **MONITORED, previous=folder)


def test_other_words_of_an_earlier_look_are_taken(rows_of_first, tmp_path):
    """Another version of faceaudit may word the same numbers otherwise."""
    _, rows = rows_of_first
    folder = with_rows(rows_of_first, tmp_path / "look", rows)
    path = folder / "report.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["monitored"]["sentence"] = "Other words."
    content["coverage"][0]["sentence"] = "Other words."
    path.write_text(json.dumps(content), encoding="utf-8")
    assert looks(faceaudit.table(TABLE, **MONITORED, previous=folder)) == (2, 1, FEW)


def one_cell(column, value):
    """A change of the first row of a table."""
    return lambda rows: rows.assign(**{column: rows[column].where(rows.index > 0, value)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.drop(columns="look"), "images.csv: no column 'look'"),
        (one_cell("look", "x"), "column 'look' has 'x', a whole number was expected"),
        (one_cell("score", "high"), "column 'score' has 'high', a number was expected"),
        (one_cell("image_id", "5-dark-male"), "image '5-dark-male' is there twice; each image"),
        (one_cell("unit", "1"), "unit '1' has two images at skin '.*', gender '.*', rows 2 and 6"),
    ],
)
def test_damaged_rows_of_a_look_are_refused(rows_of_first, tmp_path, change, message):
    _, rows = rows_of_first
    folder = with_rows(rows_of_first, tmp_path / "look", change(rows))
    with pytest.raises(InputError, match=message):
        faceaudit.table(TABLE, **MONITORED, previous=folder)


def test_rows_of_a_look_that_are_no_table_are_refused(rows_of_first, tmp_path):
    _, rows = rows_of_first
    folder = with_rows(rows_of_first, tmp_path / "look", rows)
    (folder / "images.csv").write_text("a,b\n1,2\n1,2,3,4\n", encoding="utf-8")
    with pytest.raises(InputError, match="images.csv: this is no table: "):
        faceaudit.table(TABLE, **MONITORED, previous=folder)


# --- faces that are otherwise here


def moved(table):
    """One face whose levels of skin are exchanged."""
    skin = table["skin"].map({"light": "dark", "dark": "light"})
    return table.assign(skin=table["skin"].where(table["unit"] != 5, skin))


def renamed(table):
    """One image of an earlier face with another name."""
    return table.assign(image_id=table["image_id"].where(table.index != 7, "another"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (moved, "image '5-.*' has another unit or level than at the look before"),
        (renamed, "2 images of faces of the look before are in one of both looks alone"),
    ],
)
def test_earlier_faces_that_are_otherwise_here_are_refused(first, change, message):
    with pytest.raises(InputError, match=message):
        faceaudit.table(change(TABLE), **MONITORED, previous=first)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"policy": {}}, "previous is given without policy.monitor: true"),
        ({"tolerance": 0.1}, "tolerance of the look before is 0.05, that of this one is 0.1"),
        ({"seed": 2}, "seed of the look before is 1, that of this one is 2"),
        (
            {"axes": OF_TABLE["axes"] | {"skin": ["dark", "light"]}},
            "axes of the look before is {'skin': ",
        ),
        ({"previous": "nowhere"}, "nowhere: no such report"),
        ({"previous": 3}, "previous is of type int, the report.json of the look before"),
        ({"policy": {"monitor": "yes"}}, "policy.monitor is 'yes', true or false was expected"),
    ],
)
def test_calls_that_are_refused(first, settings, message):
    with pytest.raises(InputError, match=message):
        faceaudit.table(TABLE, **(MONITORED | {"previous": first} | settings))


def test_a_look_that_was_not_monitored_is_refused(audits):
    with pytest.raises(InputError, match="previous is an audit of small that is not monitored"):
        faceaudit.table(TABLE, **MONITORED, previous=audits["plain"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "portraits"}, "an audit of matched images was expected"),
        (
            {"outcomes": ["number"], "columns": {"number": "score"}, "classes": ("0", "1")},
            "an outcome between bounds, and no number, was expected",
        ),
        ({"columns": {"weight": "label"}}, "a table without weights of faces was expected"),
        (
            {"images": None, "model": {"kind": "python", "function": "a:b", "version": "1",
                                       "input": {"size": 8}}},
            "a table or a folder of images was expected",
        ),
    ],
)  # fmt: skip
def test_audits_that_cannot_be_monitored_are_refused(changes, message):
    content = {**OF_TABLE, "policy": {"monitor": True}, **changes}
    content = {key: value for key, value in content.items() if value is not None}
    with pytest.raises(InputError, match=f"policy.monitor is true, {message}"):
        Specification(**content)


def test_a_trend_has_no_sequence():
    levels = {"skin": ["light", "medium", "dark"]}
    settings = {"axes": levels, "contrasts": "trend", "policy": {"monitor": True}}
    rows = pd.DataFrame(
        [(face, skin, 1, 1) for face in range(40) for skin in levels["skin"]],
        columns=["face", "skin", "label", "pred"],
    )
    expected = "contrasts of two levels was expected"
    with pytest.raises(InputError, match=expected) as raised:
        faceaudit.table(rows, unit="face", label="label", pred="pred", tolerance=0.05, **settings)
    assert raised.value.field == "policy.monitor"
