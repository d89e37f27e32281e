"""What must not pass: whole audits, from their files to the exit code of the gate."""

import json

import pandas as pd
import pytest
from pretended_audits import OF_TABLE, pretended_table

from faceaudit.__main__ import main
from faceaudit.report.gate import gate
from faceaudit.report.schema import read_report
from faceaudit.utils import seeding


@pytest.fixture
def audit(tmp_path, capsys):
    """Write an audit file with its table, run it and ask the gate: exit codes and lines."""

    def run(table, *options, **changes):
        table.to_csv(tmp_path / "faces.csv", index=False)
        text = json.dumps(OF_TABLE | changes)  # which is YAML
        (tmp_path / "small.yml").write_text(text, encoding="utf-8")
        return run_again(*options)

    def run_again(*options):
        ran = main(["run", str(tmp_path / "small.yml")])
        capsys.readouterr()
        passed = main(["gate", str(tmp_path / "small" / "report.json"), *options])
        return ran, passed, capsys.readouterr().out.splitlines()

    run.again = run_again
    run.report = lambda: read_report(tmp_path / "small" / "report.json")
    run.folder = tmp_path
    return run


def portraits(light, middle, dark, seed=1):
    """Found portraits: a model that errs on 5% of all, and on 30% of those of middle skin."""
    random = seeding.rng(seed, "found portraits")
    counts = {"light": light, "middle": middle, "dark": dark}
    skin = [level for level, count in counts.items() for _ in range(count)]
    risk = [0.3 if level == "middle" else 0.05 for level in skin]
    wrong = (random.random(len(skin)) < risk).astype(int)
    names = [f"{number}.png" for number in range(len(skin))]
    return pd.DataFrame({"image_id": names, "skin": skin, "wrong": wrong})


PORTRAITS = {
    "kind": "portraits",
    "axes": {"skin": ["light", "dark"]},
    "columns": {"error": "wrong"},
    "classes": ["0", "1"],
    "design": {"tolerance": 0.05},
}


@pytest.mark.parametrize("broken", ["table", "no table", "audit file", "no column"])
def test_a_failed_run_leaves_no_report_of_an_earlier_one(audit, broken):
    """G1: a good run, then a broken or deleted table: run 3, gate 0."""
    assert audit(pretended_table(1200, 0.0, seed=1, base=0.02))[:2] == (0, 0)
    folder = audit.folder
    if broken == "table":
        (folder / "faces.csv").write_text("image_id,unit\n1\n2,3,4\n", encoding="utf-8")
    elif broken == "no table":
        (folder / "faces.csv").unlink()
    elif broken == "no column":
        (folder / "faces.csv").write_text("image_id,unit\n1,2\n", encoding="utf-8")
    else:
        text = (folder / "small.yml").read_text(encoding="utf-8")
        (folder / "small.yml").write_text(text.replace("axes", "axis"), encoding="utf-8")
    ran, passed, lines = audit.again()
    assert (ran, passed) == (3, 3) and lines[0].endswith("no such report")


def test_the_report_never_takes_the_place_of_a_table(audit, capsys):
    audit(pretended_table(40, 0.0, seed=1), images="images.csv")
    table = audit.folder / "images.csv"
    pretended_table(40, 0.0, seed=1).to_csv(table, index=False)
    before = table.read_bytes()
    file = str(audit.folder / "small.yml")
    assert main(["run", file, "--out", str(audit.folder)]) == 3
    assert "give another folder to --out" in capsys.readouterr().err
    assert table.read_bytes() == before


def test_a_third_level_is_not_passed_over(audit, capsys):
    """G2: skin light, middle and dark with axes [light, dark], middle errs on 30%."""
    table = portraits(660, 676, 664)
    ran, passed, lines = audit(table, **PORTRAITS)
    assert (ran, passed) == (0, 2)
    assert lines == [
        "coverage: Rows left out for a level of skin that was not expected: 676. Against the 660 "
        "rows of “light”, its smallest level, that is 102.4%; 5.0% are allowed. The largest part "
        "of them: skin is “middle” (676)."
    ]
    main(["run", str(audit.folder / "small.yml")])
    assert lines[0] in capsys.readouterr().out.splitlines()
    assert audit.again("--fail-on", "inconclusive")[1] == 2
    card = (audit.folder / "small" / "model_card.md").read_text(encoding="utf-8")
    page = (audit.folder / "small" / "report.html").read_text(encoding="utf-8")
    assert "102.4%" in card and "102.4%" in page.partition("<nav")[0]
    ignored = {"ignore": {"skin": ["middle"]}, "name": "another"}
    audit(table, **PORTRAITS, **ignored)
    report = read_report(audit.folder / "another" / "report.json")
    assert report.coverage[2].found == 0 and report.left_out[0].on_purpose
    assert any("(676, on purpose)" in limit for limit in report.limits)


def test_misspelt_rows_do_not_let_a_model_pass(audit):
    """G2: all but three of the dark rows are misspelt."""
    table = portraits(600, 0, 600)
    dark = table.index[table["skin"] == "dark"][3:]
    table.loc[dark, "skin"] = "drak"
    _, passed, lines = audit(table, **PORTRAITS)
    assert passed == 2 and sum(line.startswith("coverage: ") for line in lines) == 2


def test_a_code_is_ignored_by_its_number_also_beside_an_empty_cell(audit):
    table = portraits(60, 20, 60)
    table["skin"] = table["skin"].map({"light": 1, "middle": 2, "dark": 3}).astype(float)
    table.loc[0, "skin"] = None
    settings = PORTRAITS | {"axes": {"skin": ["1", "3"]}, "ignore": {"skin": ["2"]}}
    audit(table, **settings)
    left_out = {row.value: row.on_purpose for row in audit.report().left_out}
    assert left_out == {"2.0": True, "": False}


@pytest.mark.parametrize("ignore", [{"hair": ["long"]}, {"skin": ["dark"]}])
def test_what_is_ignored_is_a_value_of_a_column_of_the_audit(audit, ignore, capsys):
    table = portraits(20, 5, 20)
    table.to_csv(audit.folder / "faces.csv", index=False)
    text = json.dumps(OF_TABLE | PORTRAITS | {"ignore": ignore})
    (audit.folder / "small.yml").write_text(text, encoding="utf-8")
    assert main(["run", str(audit.folder / "small.yml")]) == 3
    (name,) = ignore
    told = "ignore is 'hair'" if name == "hair" else "ignore.skin has 'dark', which is a level"
    assert told in capsys.readouterr().err


def test_few_faces_and_few_answers_do_not_pass(audit):
    """G4: two faces, twelve portraits, a model that answers 8 of 320 images."""
    assert audit(pretended_table(2, 0.0, seed=1), policy={"faces": 2})[1] == 2, "none is decided"
    table = pretended_table(80, 0.0, seed=1)
    table.loc[8:, "score"] = None
    audit(table, name="silent")
    path = str(audit.folder / "silent" / "report.json")
    assert main(["gate", path]) == 2
    sentences = [row.sentence for row in read_report(path).coverage if not row.met]
    assert len(sentences) == 2 and "The smallest cell has 2 faces that count" in sentences[0]
    audit(portraits(6, 0, 6), **PORTRAITS, name="twelve")
    path = str(audit.folder / "twelve" / "report.json")
    assert main(["gate", path]) == 2


def test_half_of_the_dark_images_cannot_be_deleted(audit):
    """G5: refused rows are taken out, and only complete pairs count."""
    table = pretended_table(1200, 0.0, seed=1, base=0.02)
    dark = table.index[(table["skin"] == "dark") & (table["unit"] % 2 == 0)]
    design = {"tolerance": 0.05, "incomplete": "pairs"}
    _, passed, lines = audit(table.drop(dark), design=design)
    assert passed == 1 and lines == [
        "exceeds: Skin (all faces): 0.0 of 100 images listed as “light” and 50.0 of 100 of the "
        "same faces listed as “dark” are missing, or have no label or answer (+50.0 points; 95% "
        "interval +47.2 to +52.8). This is beyond the tolerance of 5 points.",
        "coverage: Images without an answer or a label: at most 50.0% (dark, female); 20.0% are "
        "allowed.",
    ]


def test_few_deleted_images_are_compared_by_axis(audit):
    """G5: one dark image in eight is deleted, which is coverage enough."""
    table = pretended_table(1200, 0.0, seed=1, base=0.02)
    dark = table["skin"] == "dark"
    design = {"tolerance": 0.05, "incomplete": "pairs"}
    _, passed, lines = audit(table[~(dark & (table["unit"] % 8 == 0))], design=design)
    assert passed == 1 and len(lines) == 1
    rows = {row.axis: row for row in audit.report().missing}
    assert rows["skin"].estimate == 0.125 and rows["gender"].estimate == 0
    assert all(row.met for row in audit.report().coverage)
    # Alike at both levels, the same number is no effect.
    alike = table[table["unit"] % 8 != table["skin"].map({"light": 0, "dark": 1})]
    assert audit(alike, design=design, name="alike")[0] == 0
    path = str(audit.folder / "alike" / "report.json")
    assert main(["gate", path]) == 0
    page = (audit.folder / "alike" / "report.html").read_text(encoding="utf-8")
    assert "600 images are absent" in page and ">missing</th>" in page


def test_raters_who_tie_where_the_model_errs_hide_nothing(audit):
    """G5: the label is missing on the dark faces that the model gets wrong; +12 becomes -2."""
    table = pretended_table(1200, 0.0, seed=1, base=0.02)
    names = {0: "female", 1: "male"}
    right = table["label"].map(names)
    random = seeding.rng(1, "raters who tie")
    wrong = (table["skin"] == "dark") & (random.random(len(table)) < 0.12)
    table["says"] = right.where(~wrong, table["label"].rsub(1).map(names))
    # Where they tie, one says what the model says.
    table = table.assign(anna=right, ben=table["says"])
    columns = {"answers": ["anna", "ben"], "decision": "says"}
    _, passed, lines = audit(table, columns=columns)
    (row,) = [row for row in audit.report().averages if row.axis == "skin"]
    assert row.verdict == "within" and passed == 1
    assert len(lines) == 1 and lines[0].startswith(
        "exceeds: Skin (all faces): 0.0 of 100 images listed"
    )
    (missing,) = [row for row in audit.report().missing if row.axis == "skin"]
    assert missing.estimate == wrong.sum() / 2400 and audit.report().data["no_answer"] == 0


def test_portraits_without_a_label_or_a_covariate_are_compared_by_axis(audit):
    """G5, of found portraits: a tenth of the dark ones is left out, which is 5% of all."""
    table = portraits(1000, 0, 1000).assign(age="20-29")
    settings = PORTRAITS | {"covariates": ["age"]}
    assert audit(table, **settings, name="all")[0] == 0
    assert main(["gate", str(audit.folder / "all" / "report.json")]) == 0
    hard = table.index[table["skin"] == "dark"][::10]
    table.loc[hard, "age"] = None
    _, passed, lines = audit(table, **settings)
    assert passed == 1 and len(lines) == 1 and "10.0 of 100 listed as “dark” are left" in lines[0]
    row = audit.report().gaps[-1]
    assert (row.family, row.estimate, row.n) == ("differences in being missing", 0.1, 2000)
    # What is left out on purpose is not missing.
    ages = table.fillna({"age": "child"})
    audit(ages, **settings, ignore={"age": ["child"]}, name="adults")
    gaps = read_report(audit.folder / "adults" / "report.json").gaps
    assert [row.family for row in gaps] == ["differences between levels"]


def test_a_doubt_that_is_accepted_after_the_result_is_a_departure(audit):
    """G10: accept, added after the result, counted."""
    table = pretended_table(1200, 0.0, seed=1, base=0.5)
    assert audit(table)[1] == 1
    _, passed, lines = audit(table, accept=["errors"])
    departure = "departure: accept: the doubt 'errors' was accepted after the plan was made"
    assert passed == 1 and lines[-1] == departure
    assert audit.again("--allow-departures", "--fail-on", "exceeds")[1] == 0


def test_the_card_has_doubts_and_departures(audit):
    """G8: a moved tolerance and an accepted doubt were not in the card."""
    table = pretended_table(300, 0.0, seed=1, base=0.8)
    audit(table, accept=["reversed"])
    audit(table, accept=["reversed"], design={"tolerance": 0.2})
    card = (audit.folder / "small" / "model_card.md").read_text(encoding="utf-8")
    assert "**Before you believe this:**" in card and "authors of the audit accept this" in card
    assert "**The analysis departed from the plan:** tolerance: 0.05 was planned" in card


def test_an_edited_report_is_refused(audit):
    """G9: rows within and the top verdict exceeds, and the other way round."""
    assert audit(pretended_table(300, 0.4, seed=1))[1] == 1
    path = audit.folder / "small" / "report.json"
    text = path.read_text(encoding="utf-8")
    edited = text.replace('"verdict": "exceeds"', '"verdict": "within"')
    path.write_text(edited, encoding="utf-8")
    assert main(["gate", str(path)]) == 3
    path.write_text(text.replace('"verdict": "exceeds"', '"verdict": "within"', 1), "utf-8")
    assert main(["gate", str(path)]) == 3


@pytest.mark.parametrize(
    ("low", "high", "answer", "hint"),
    [
        (0.51, 0.99, "male", "Is the score the probability of the class that the model chose"),
        (0.01, 0.49, "female", "Check the threshold"),
        (0.2, 0.9, "male", "Check the threshold"),
    ],
)
def test_a_constant_decider_is_reported_as_one(audit, low, high, answer, hint):
    """A published option says “male” of every face."""
    table = pretended_table(60, 0.0, seed=1)
    table["score"] = seeding.rng(1, "constant").uniform(low, high, len(table)).round(4)
    threshold = {"model": {"kind": "table", "threshold": 0.1 if high == 0.9 else 0.5}}
    ran, passed, lines = audit(table, **threshold)
    assert (ran, passed) == (0, 1)
    (doubt,) = audit.report().doubts
    assert doubt.name == "constant"
    assert doubt.sentence.startswith(f"The model says “{answer}” of all 240 images, though their ")
    assert hint in doubt.sentence and any(doubt.sentence in line for line in lines)
    page = (audit.folder / "small" / "report.html").read_text(encoding="utf-8")
    card = (audit.folder / "small" / "model_card.md").read_text(encoding="utf-8")
    assert doubt.sentence in card and f"The model says “{answer}” of all" in page
    _, _, lines = audit(table, **threshold, accept=["constant"], name="accepted")
    accepted = read_report(audit.folder / "accepted" / "report.json")
    assert [(doubt.name, doubt.accepted) for doubt in accepted.doubts] == [("constant", True)]


def test_a_constant_decider_is_told_of_decisions_and_of_portraits(audit):
    table = portraits(60, 0, 60)
    table["label"] = [number % 2 for number in range(len(table))]
    table["says"] = 1
    settings = PORTRAITS | {"columns": {"decision": "says"}, "classes": ["female", "male"]}
    assert audit(table, **settings)[:2] == (0, 1)
    (doubt,) = audit.report().doubts
    assert doubt.sentence.endswith(
        "Check the threshold, the output that is read, and the preparation of images."
    )
    # Where all labels are of one class, this cannot be told from a model that is right.
    table["label"] = 1
    audit(table, **settings, name="one-class")
    assert not read_report(audit.folder / "one-class" / "report.json").doubts


SHIFTED = {"light": 0.45, "dark": 0.05}
"""How far scores lie from the threshold: those of dark faces are moved towards it by .40."""


def with_shifted_scores(table):
    """The table with scores that make no error at .5, and lie nearer to it for dark faces."""
    return table.assign(score=0.5 + table["skin"].map(SHIFTED) * (2 * table["label"] - 1))


def test_a_shift_of_scores_is_doubted_unless_it_was_accepted_beforehand(audit):
    """G6: no error at .5, and half of the dark faces are wrong at .4 and at .6."""
    table = with_shifted_scores(pretended_table(300, 0.0, seed=1))
    _, passed, lines = audit(table)
    report = audit.report()
    assert report.verdict == "within" and passed == 1
    assert lines == [
        "doubt, thresholds: At the threshold 0.30, the error rate differs along skin by +50.0 "
        "points between images of one label, beyond the tolerance. At the audit's own threshold, "
        "0.50, no such difference is shown, so that the verdicts hold for this threshold alone."
    ]
    first_box = (audit.folder / "small" / "report.html").read_text(encoding="utf-8")
    assert "In doubt:" in first_box.partition("<nav")[0]
    assert "differs along skin by +50.0 points" in first_box.partition("<nav")[0]
    _, passed, lines = audit(table, accept=["thresholds"])
    assert passed == 1 and "accepted after the plan was made" in lines[-1]
    audit(table, accept=["thresholds"], name="known")
    path = audit.folder / "known" / "report.json"
    assert main(["gate", str(path)]) == 0
    # A doubt that is taken out of the report is missed.
    edited = read_report(path).model_copy(update={"doubts": []})
    code, lines = gate(edited)
    assert code == 3 and "doubts about other thresholds do not follow" in lines[0]


def test_another_threshold_is_no_doubt_where_the_label_moves_along(audit):
    """At .3 the model errs on women, at .7 on men, as every model does that tells gender."""
    table = pretended_table(1200, 0.0, seed=1, base=0.02)
    assert audit(table)[1] == 0
    rows = {(row.threshold, row.axis): row for row in audit.report().thresholds}
    assert rows[0.3, "gender"].estimate < -0.2 < 0.2 < rows[0.7, "gender"].estimate
    assert rows[0.3, "gender"].same_label == 0 and abs(rows[0.3, "skin"].same_label) < 0.02


def test_a_shift_of_scores_of_portraits_is_doubted(audit):
    """The same of found portraits, of which more light ones are of women."""
    random = seeding.rng(3, "shifted portraits")
    table = portraits(1000, 0, 1000)
    share_of_men = table["skin"].map({"light": 0.3, "dark": 0.6})
    table["label"] = (random.random(len(table)) < share_of_men).astype(int)
    settings = PORTRAITS | {"columns": {"label": "label", "score": "score"}}
    _, passed, lines = audit(with_shifted_scores(table), **settings)
    assert passed == 1 and len(lines) == 1 and lines[0].startswith("doubt, thresholds: At the")
    page = (audit.folder / "small" / "report.html").read_text(encoding="utf-8")
    assert "Differences where the score is cut elsewhere" in page
    # Alike for both, scores near the threshold make a difference at .6, and it is that of the mix.
    alike = table.assign(score=0.5 + 0.05 * (2 * table["label"] - 1))
    audit(alike, **settings, name="alike")
    report = read_report(audit.folder / "alike" / "report.json")
    rows = {row.threshold: row for row in report.thresholds}
    assert rows[0.6].estimate > 0.2 and rows[0.6].same_label == 0 and not report.doubts
    assert gate(report)[0] == 0
