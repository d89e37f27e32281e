"""The answer of a report with many averages, with names of any writing, and with undecided ones."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from pretended_audits import pretended_table

import faceaudit
from faceaudit.report.answer import MOST_SENTENCES, answer_of
from faceaudit.report.gate import gate
from faceaudit.report.page import answer_html, card, page
from faceaudit.run import run_audit
from faceaudit.utils import seeding

SIX = ["error", "fpr", "fnr", "selection", "score", "flip"]
FIVE = ["I", "II", "III", "IV", "iPhone"]
MOST_WORDS = 1500
"""Before the part "Details"."""


def audit_of(levels, outcomes, faces=60):
    """An audit in which the last level of skin makes the model err, with long hair alone."""
    random = seeding.rng(1, "answer with many averages")
    rows = []
    for face in range(faces):
        label = face % 2
        for place, skin in enumerate(levels):
            for hair in ("short", "long"):
                risk = 0.05 + 0.5 * (hair == "long" and place == len(levels) - 1)
                wrong = random.random() < risk
                score = 0.5 + (0.1 + 0.35 * random.random()) * (1 if label != wrong else -1)
                rows.append((face, skin, hair, label, score))
    frame = pd.DataFrame(rows, columns=["face", "skin", "hair", "label", "score"])
    return faceaudit.table(
        frame,
        unit="face",
        axes={"skin": levels, "hair": ["short", "long"]},
        label="label",
        score="score",
        outcomes=outcomes,
        tolerance=0.05,
    )


def answer(audit):
    return answer_of(dict(audit.report), audit.report.tolerance)


def words_before_details(text):
    _, _, body = text.partition("<body>")
    before, _, _ = body.partition('<details id="details">')
    before = re.sub(r"<svg.*?</svg>", " ", before, flags=re.DOTALL)
    return re.sub(r"<[^>]+>", " ", before).split()


@pytest.fixture(scope="module")
def of_six_outcomes():
    return audit_of(FIVE, SIX)


def test_few_averages_are_sentences_behind_their_axis():
    audit = audit_of(["light", "dark"], SIX[:MOST_SENTENCES])
    assert [part.is_list for part in answer(audit).subjects] == [False, False]
    assert "<ul><li>" not in page(audit.report)


def test_many_averages_are_a_list_with_one_line_of_undecided_ones(of_six_outcomes):
    report = of_six_outcomes.report
    skin, hair = answer(of_six_outcomes).subjects
    assert skin.is_list and hair.is_list
    for part in (skin, hair):
        rows = [row for row in report.averages if row.axis == part.name]
        rows += [row for row in report.outcomes if row.axis == part.name]
        undecided = [row for row in rows if row.verdict == "inconclusive"]
        assert undecided
        expected = f"{len(undecided)} of {len(rows)} averages undecided ("
        assert [line.startswith(expected) for line in part.sentences].count(True) == 1
        # A line for an outcome, one for undecided averages, and one for comparisons in cells.
        assert len(part.sentences) <= len(SIX) + 2
    assert "the flip rate on average: " in " ".join(skin.sentences).lower()
    assert hair.sentences[0].startswith("the error rate changes by +")
    lines = [sentence[0].upper() + sentence[1:] for sentence in skin.sentences]
    listed = "".join(f"<li>{line}</li>" for line in lines)
    assert f"<strong>Skin</strong>: <ul>{listed}</ul>" in page(report)
    assert f"<strong>Skin</strong>: <ul>{listed}</ul>" in answer_html(report)
    assert "- **Skin**:\n" + "".join(f"  - {line}\n" for line in lines) in card(report)
    # In a console, each axis has a line.
    assert [line.partition(":")[0] for line in report.answer.splitlines()[1:3]] == ["Skin", "Hair"]


def test_many_averages_leave_the_page_short(of_six_outcomes):
    assert len(words_before_details(page(of_six_outcomes.report))) <= MOST_WORDS


def test_many_levels_have_a_line_each_and_the_largest_undecided_one():
    skin, hair = answer(audit_of(FIVE, ["error"])).subjects
    assert skin.is_list and not hair.is_list
    assert any("with iPhone instead of I" in line for line in skin.sentences)
    (undecided,) = [line for line in skin.sentences if "undecided (largest: " in line]
    assert re.match(r"\d of 4 averages undecided \(largest: I+V? instead of I, ", undecided)


def test_names_of_levels_stay_as_they_are_written(of_six_outcomes):
    report = of_six_outcomes.report
    assert "iPhone instead of I, " in report.answer
    shown = " ".join([report.answer, page(report), card(report), answer_html(report)])
    assert "IPhone" not in shown
    two = audit_of(["light", "iPhone"], SIX[:2]).report
    assert "with iPhone instead of light" in two.answer and "IPhone" not in two.answer + page(two)


def with_refusals(outcomes):
    """An audit whose model finds fewer faces with dark skin, and errs on some of them with it."""
    table = pretended_table(120, 0.3, seed=1)
    random = seeding.rng(1, "faces that are not found")
    gone = random.random(len(table)) < 0.02 + 0.5 * (table["skin"] == "dark")
    table = table.assign(score=table["score"].mask(gone), reason=gone.map({True: "no face"}))
    return faceaudit.table(
        table,
        unit="unit",
        image="image_id",
        axes={"skin": ["light", "dark"], "gender": ["female", "male"]},
        label="gender",
        classes=["female", "male"],
        score="score",
        outcomes=outcomes,
        reason="reason",
        tolerance=0.05,
    )


def test_the_headline_is_about_the_outcome_that_the_audit_asks_about_first():
    """The largest change of any outcome stood there, such as that of a rate of selections."""
    audit = with_refusals(["error", "selection", "no_face"])
    skin = [row for row in audit.report.judged if row.axis == "skin" and row.verdict == "exceeds"]
    errors = [row for row in skin if row.outcome == "error"]
    assert max(row.estimate for row in skin) > max(row.estimate for row in errors)
    headline = answer(audit).headline
    largest = max(row.estimate for row in errors)
    assert f": skin, {100 * largest:+.1f} points for dark (female); perceived gender, +" in headline
    assert headline.endswith(" points for male (selection rate; error rate undecided).")
    assert "Ask them first about images listed as female, dark:" in page(audit.report)


def test_the_largest_reason_for_leaving_out_rows_is_named():
    """The first box said how many rows are left out, and not which."""
    random = seeding.rng(1, "portraits that are left out")
    skin = ["light"] * 300 + ["dark"] * 300 + ["unclear"] * 90 + [""] * 20 + ["painted"] * 150
    frame = pd.DataFrame({"skin": skin, "hair": random.choice(["short", "long"], len(skin))})
    frame["wrong"] = random.integers(0, 2, len(skin))
    settings = {"unit": None, "axes": {"skin": ["light", "dark"], "hair": ["short", "long"]}}
    settings |= {"error": "wrong", "tolerance": 0.1, "ignore": {"skin": ["painted"]}}
    audit = faceaudit.table(frame, **settings)
    said = "5.0% are allowed. The largest part of them: skin is “unclear” (90)."
    report = audit.report
    first_box = page(report).partition("<nav")[0]
    for shown in (first_box, card(report), answer_html(report), "\n".join(gate(report)[1])):
        assert said in shown
    against = (
        "not expected: 110. Against the 300 rows of “light”, its smallest level, that is 36.7%; "
    )
    assert f"{against}{said}" in first_box
    enough = faceaudit.table(frame, policy={"left_out": 0.5}, **settings).report
    assert "skin is “unclear” (90)." in page(enough).partition("<nav")[0]


@pytest.mark.parametrize("others", [140, 160, 600])
@pytest.mark.parametrize("ignore", [None, {"skin": ["VI"]}])
def test_rows_of_another_level_count_against_the_smallest_one(tmp_path, others, ignore):
    """A third level of 4.8% of all rows disappeared, and the model passed (A3)."""
    counts = {"I": 6000, "V": 3000, "VI": others}
    skin = np.repeat(list(counts), list(counts.values()))
    frame = pd.DataFrame({"skin": skin, "wrong": np.arange(len(skin)) % 20 == 0})
    frame["image_id"] = frame.index
    axes = {"skin": ["I", "V"]}
    settings = {"unit": None, "axes": axes, "error": "wrong", "tolerance": 0.05}
    audit = faceaudit.table(frame, **settings, ignore=ignore)
    is_too_much = ignore is None and others > 150
    assert audit.verdict == "within" and audit.gate() == (2 if is_too_much else 0)
    row = audit.report.coverage[-1]
    assert row.found == pytest.approx(0 if ignore else others / 3000)
    told = f"expected: {others}. Against the 3,000 rows of “V”, its smallest level, that is "
    assert (told in row.sentence) == (ignore is None)
    if is_too_much:
        assert told in repr(audit) and told in page(audit.report).partition("<nav")[0]
    # An empty cell is another level, too; a label that is none counts against all rows.
    frame["skin"] = frame["skin"].replace("VI", None)
    audit = faceaudit.table(frame, **settings, ignore=ignore)
    assert audit.report.coverage[-1].found == pytest.approx(others / 3000)
    frame = frame.assign(skin=skin, label=0, says=frame["wrong"] * 1)
    frame.loc[:99, "label"] = 7
    content = {"name": "audit", "kind": "portraits", "question": "?", "axes": axes}
    content |= {"columns": {"decision": "says"}, "images": "faces.csv"}
    content |= {"design": {"tolerance": 0.05}, "ignore": {"skin": ["VI"]}}
    (tmp_path / "audit.yml").write_text(json.dumps(content), encoding="utf-8")
    frame.to_csv(tmp_path / "faces.csv", index=False)
    row = run_audit(tmp_path / "audit.yml", lambda line: None).coverage[-1]
    assert row.found == pytest.approx(100 / 9000) and "1.1% of all rows;" in row.sentence


def undecided_by(report, low, high):
    """The report whose first average is undecided with such an interval."""
    changes = {"verdict": "inconclusive", "estimate": (low + high) / 2, "low": low, "high": high}
    first, *others = report.averages
    averages = [first.model_copy(update=changes), *others]
    return report.model_copy(update={"averages": averages})


def test_an_undecided_comparison_says_whether_it_is_for_want_of_data(report):
    """“Too few data” stood beside an interval beyond the tolerance as well."""
    undecided = [row for row in report.judged if row.verdict == "inconclusive"]
    assert undecided and not any(row.low > report.tolerance for row in undecided)
    (notes,) = answer_of(dict(report), report.tolerance).notes
    assert notes.endswith("Undecided: too few data to rule out a change beyond the tolerance.")

    changed = undecided_by(report, 0.06, 0.09)
    told = answer_of(dict(changed), changed.tolerance)
    n = len(changed.judged)
    assert f"1 would lie beyond the tolerance alone, but not adjusted for all {n};" in told.notes[0]
    assert f"for the other {len(undecided)}, there are too few data" in told.notes[0]
    assert "undecided (alone it would lie beyond)" in told.subjects[0].sentences[0]
    assert page(changed).count("undecided</span> (alone beyond)") == 1

    alone = undecided_by(report, 0.06, 0.09)
    kept = [row for row in alone.effects if row.verdict != "inconclusive"]
    averages = [row for row in alone.averages if row.low == 0.06]
    alone = alone.model_copy(update={"effects": kept, "averages": averages})
    (notes,) = answer_of(dict(alone), alone.tolerance).notes
    assert "Undecided: alone they would lie beyond the tolerance, but not adjusted" in notes
    assert "too few data" not in notes


def test_the_headline_says_how_many_comparisons_of_an_axis_are_undecided(report):
    """“Undecided: skin.” stood above an average of skin that is within the tolerance."""
    axis = report.judged[0].axis
    rows = [row for row in report.judged if row.axis == axis]
    within = {"verdict": "within", "estimate": 0.0, "low": -0.01, "high": 0.01}
    averages = [row.model_copy(update=within) for row in report.averages if row.axis == axis]
    undecided = {"verdict": "inconclusive", "estimate": 0.0, "low": -0.09, "high": 0.09}
    cells = [row.model_copy(update=undecided) for row in rows if row.cell]
    partly = {"averages": averages, "effects": cells}
    told = answer_of(dict(report.model_copy(update=partly)), report.tolerance)
    n = len(averages) + len(cells)
    assert cells and told.headline == f"Undecided: {axis} ({len(cells)} of {n} comparisons)."
    wholly = {"averages": [], "effects": cells}
    told = answer_of(dict(report.model_copy(update=wholly)), report.tolerance)
    assert told.headline == f"Undecided: {axis}."
