"""Labs, quizzes, handouts and plans of the course: what students and instructors get."""

import json
import os
import re
import subprocess
import sys
import zipfile
import zlib
from collections import Counter
from pathlib import Path

import browser
import jupytext
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe

import book
from course import editions, lab, quiz, slide_faces, teacher_pages
from helpers import pdf
from helpers.artifacts import lineage, pages

LABS = editions.labs()
BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "fcntl", "msgspec"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """The built course."""
    folder = tmp_path_factory.mktemp("course") / "built"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pdf, "CHROMIUM", browser.PROGRAM or "")
        editions.build(folder)
    return folder


@pytest.mark.slow  # it builds the course
@pytest.mark.parametrize("session", LABS)
def test_a_check_tells_right_answers_from_mistakes_and_from_stubs(
    session, course, monkeypatch, capsys
):
    monkeypatch.setattr(lab, "HERE", course / "student" / "course")
    notebook, names, asked = jupytext.read(LABS[session]), {}, ""
    quizzed = re.findall(r"\d+\.\d+", " ".join(one["ask"] for one in quiz.questions()[session]))
    printed = {one for one in quizzed if len(one.replace(".", "").lstrip("0")) > 1}  # digits
    student = (course / "student" / f"{LABS[session].stem}.ipynb").read_text(encoding="utf-8")
    for cell in notebook.cells:
        tags, code = editions.tags(cell), cell.source
        if "check" in tags:
            asked, name = code, re.fullmatch(r'check\("[\w-]+", (\w+)\)', code)[1]
            exec(asked, names)
            assert capsys.readouterr().out.endswith(": right.\n")
            if (values := np.ravel(names[name])).dtype.kind in "fi":  # which the quiz gives away
                assert printed.isdisjoint(f"{abs(v):.{d}f}" for v in values for d in (1, 2, 3))
            assert f"{name} = ..." in student or f"def {name}(" in student
            exec(asked, names | {name: ...})
            assert "no answer yet" in capsys.readouterr().out
        elif "mistake" in tags:
            says, _, code = code.partition("\n")
            exec(f"{code}\n{asked}", dict(names))
            assert capsys.readouterr().out.strip().endswith(says.lstrip("# "))
        elif cell.cell_type == "code":
            exec(code, names)
        plt.close("all")


@pytest.mark.parametrize("session", LABS)
def test_students_do_not_get_the_solution(session, course):
    path = course / "student" / f"{LABS[session].stem}.ipynb"
    given = "\n".join(cell.source for cell in nbformat.read(path, 4).cells)
    solved = [c for c in jupytext.read(LABS[session]).cells if "solution" in editions.tags(c)]
    lines = [line.strip() for cell in solved for line in cell.source.splitlines()]
    secret = [one for one in lines if len(one) >= 20 and not one.startswith(("#", "def ", '"""'))]
    assert len(solved) >= 3
    assert [line for line in secret if line in given] == []


@pytest.mark.parametrize("session", LABS)
def test_a_lab_without_answers_runs_and_says_so_at_each_check(session, course, monkeypatch, capsys):
    monkeypatch.setattr(lab, "HERE", course / "student" / "course")
    path, names = course / "student" / f"{LABS[session].stem}.ipynb", {}
    cells = [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    for code in cells:
        exec(code, names)
        said = capsys.readouterr().out
        assert "no answer yet" in said or not code.startswith("check("), code


@pytest.mark.parametrize("session", LABS)
def test_a_lab_runs_with_what_students_get_and_without_torch(session, course, tmp_path):
    path = course / "solution" / f"{LABS[session].stem}.ipynb"
    kept = [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    script = tmp_path / "lab.py"
    script.write_text("\n".join([BLOCKED, *kept, "assert 'torch' not in sys.modules"]), "utf-8")
    alone = {"PYTHONPATH": str(course / "student"), "MPLBACKEND": "Agg", "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, script], env=alone, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(": right.") == sum(code.startswith("check(") for code in kept)


@pytest.mark.parametrize("session", LABS)
def test_graders_give_points_for_right_answers_alone(session, course, monkeypatch):
    monkeypatch.setattr(lab, "HERE", course / "student" / "course")
    stem, names = LABS[session].stem, {}
    cells = nbformat.read(course / "nbgrader" / "source" / stem / f"{stem}.ipynb", 4).cells
    told = [cell.metadata["nbgrader"] for cell in cells if "nbgrader" in cell.metadata]
    assert len({one["grade_id"] for one in told}) == len(told)
    assert sum(one["points"] for one in told) == pytest.approx(18)
    for cell in (cell for cell in cells if cell.cell_type == "code"):
        exec(cell.source, names)
        if asked := re.search(r"^grade\(.+, (\w+)\)$", cell.source, re.MULTILINE):
            with pytest.raises(AssertionError, match="no answer yet"):
                exec(cell.source, names | {asked[1]: ...})
        plt.close("all")
    asked = [cell.source for cell in nbformat.read(course / "otter" / f"{stem}.ipynb", 4).cells]
    graded = [one["grade_id"] for one in told if one["grade"]]
    begun = [yaml.safe_load(one) for one in asked if one.startswith("# BEGIN QUESTION")]
    assert [one["name"] for one in begun] == graded
    assert asked.count("# END QUESTION") == len(graded)


def test_hints_and_mistakes_are_foreseen_for_every_check(course):
    packed = (course / "student" / "course" / "checks.bin").read_bytes()
    checks = json.loads(zlib.decompress(packed))
    asked = [cell.source for path in LABS.values() for cell in jupytext.read(path).cells]
    names = re.findall(r'^check\("([\w-]+)"', "\n".join(asked), re.MULTILINE)
    assert sorted(names) == sorted(checks)
    for name, known in checks.items():
        assert 1 <= len(known["hints"]) <= 3, name
        assert known["mistakes"], name
        assert known["right"] not in known["mistakes"], name
        every = {*range(1, len(known["parts"]) + 1)}
        assert every == {n for _, about in known["hints"] for n in about or every}, name


def known_is(answer, monkeypatch, tmp_path):
    known = lab.recorded("sum", answer) | {"mistakes": {}, "hints": [("One.", [1]), ("Two.", [])]}
    (tmp_path / "checks.bin").write_bytes(zlib.compress(json.dumps({"sum": known}).encode()))
    monkeypatch.setattr(lab, "HERE", tmp_path)
    monkeypatch.setattr(lab, "_tried", Counter())


@pytest.mark.parametrize(
    ("right", "answer", "says"),
    [
        (0.125, 12.5, "Leave this step out"),
        ([12.5, 3.0], [12.5, 0.03], "these are right: [1]. Change the others. You gave a share"),
        (12.5, 87.5, "lacks to 100%"),
        (12.5, -12.5, "the sign is not"),
        ([12.5432, 0.0312], [13, 0.03], "Right, but rounded."),
        ([12.5432, 0.0312], [12.52, 0.03], "these are right: [2]. Change the others. Hint: One."),
        ([[1, 2], [3, 4]], [[1, 3], [2, 4]], "have changed places"),
        ([1, 2, 3], [3, 1, 2], "their order is not"),
        ([True, False, False], [False, True, False], "sum: not yet. Hint: One."),
        ([1, 2, 3], [1, 5, 3], "these are right: [1, 3]. Change the others. Hint: Two."),
    ],
)
def test_a_check_knows_common_slips(right, answer, says, monkeypatch, tmp_path, capsys):
    known_is(right, monkeypatch, tmp_path)
    lab.check("sum", answer)
    assert says in capsys.readouterr().out


def test_a_hint_follows_another_and_the_last_one_stays(monkeypatch, tmp_path, capsys):
    known_is(1.5, monkeypatch, tmp_path)
    for answer in (1.5000000001, 1, 2, 3, [1.5], None, [..., 1], [[1], 2]):
        lab.check("sum", answer)
    lab.check("some", 1)
    right, *hints, form, nothing, dots, ragged, other = capsys.readouterr().out.splitlines()
    assert right == "sum: right."
    assert [hint.rpartition(": ")[2] for hint in hints] == ["One.", "Two.", "Two."]
    assert "The answer is a list of 1, one value was expected." in form
    assert "NaN or None" in nothing
    assert "no check 'some'; the labs have sum" in other
    assert "no answer yet" in dots
    assert "differ in length" in ragged


def test_every_session_has_its_parts():
    for folder in ("handouts", "instructor"):
        assert {path.stem for path in (editions.COURSE / folder).glob("*.md")} == {*LABS}
    assert {*quiz.questions()} == {"primer", *LABS}
    assert len(LABS) == 11


@pytest.mark.parametrize("session", LABS)
def test_minutes_of_a_lab_and_of_its_plan_add_up(session):
    text = LABS[session].read_text(encoding="utf-8")
    *parts, last = re.findall(r"^# ## (?:Exercise|What would).*\((\d+) minutes\)$", text, re.M)
    takes = sum(map(int, [*parts, last]))
    assert takes <= 35 and f"\n# *{takes} minutes. " in text
    text = (editions.COURSE / "instructor" / f"{session}.md").read_text(encoding="utf-8")
    plan = re.findall(r"^\| (\d+) \| (.+?) \| (.+) \|$", text, re.MULTILINE)
    minutes = {what: int(number) for number, what, _ in plan}
    how = {what: says for _, what, says in plan}
    assert sum(minutes.values()) <= 90 and 3 <= minutes["Start"] <= 5
    assert minutes["Lab"] == takes
    told = f"with {', '.join(parts[:-1])} and {parts[-1]} minutes"
    assert f"{told}, and the last question with {last}." in how["Lab"]
    assert minutes["Lecture"] == sum(map(int, re.findall(r"\((\d+)\)", how["Lecture"])))


def test_teachers_get_the_scores_of_the_league_in_their_pages():
    rows = {row["what"]: row for row in teacher_pages.record()["rows"]}
    for name in ("league.md", "instructor/09.md"):
        text = (editions.COURSE / name).read_text(encoding="utf-8")
        filled = teacher_pages.filled(text)
        assert "{league-scores}" in text and "{league-scores}" not in filled
        for entry in re.search(r"\{league-scores\}\n(.*?)```", text, re.S)[1].splitlines() or rows:
            assert f"| {entry} | {rows[entry]['S (points)']:.1f} | " in filled
    with pytest.raises(ValueError, match="no entry 'matched 7'; it has matched 400, "):
        teacher_pages.filled("```{league-scores}\nmatched 7\n```")


def test_the_record_has_what_the_debate_of_session_9_says_of_it():
    rows = {row["what"]: row for row in teacher_pages.record()["rows"]}
    one = rows["matched 781, 1 rater"]
    corrected = rows["matched 781, 1 rater, label corrected"]
    three = rows["matched 260, 3 raters"]
    five = rows["matched 156, 5 raters"]
    paid = [row["S (points)"] for row in (corrected, three, five, one)]
    assert paid == sorted(paid)
    assert one["S (points)"] > 2 * five["S (points)"]
    assert corrected["coverage (%)"] == pytest.approx(95, abs=1) and one["coverage (%)"] < 75


@pytest.mark.parametrize("session", LABS)
def test_a_quiz_comes_after_the_predictions_of_its_session(session):
    slides = [one for one in jupytext.read(LABS[session]).cells if "slide" in editions.tags(one)]
    assert sum("*Predict" in one.source for one in slides) >= 1
    text = (editions.COURSE / "instructor" / f"{session}.md").read_text(encoding="utf-8")
    parts = re.findall(r"^\| \d+ \| (\w+)", text, re.MULTILINE)
    if "Quiz" in parts:
        assert parts.index("Predict") < parts.index("Lecture") < parts.index("Quiz")
    else:
        assert "The quiz is homework." in text


def test_what_a_session_reads_is_there_and_short(tmp_path):
    assert len(quiz.reading()) == len(LABS)
    for session, read in quiz.reading().items():
        for page, titles in read.items():
            text = lineage.ROOT / "book" / f"{page}.md"
            source = text if text.is_file() else pages.executed_notebook(page, "smoke")
            source = source if source.is_file() else lineage.source_of(page)
            notebook, title, found = jupytext.read(source), "", {}
            for cell in notebook.cells:
                head = re.match(r"(?:\(\S+\)=\s+)*#+ (.+)", cell.source)
                title = head[1] if head and cell.cell_type == "markdown" else title
                found.setdefault(title, []).append(cell)
            notebook.cells = [cell for one in titles or found for cell in found[one]]
            (tmp_path / session / page).mkdir(parents=True)
            nbformat.write(notebook, tmp_path / session / page / f"{page}.ipynb")
        assert sum(book.minutes(page, tmp_path / session) for page in read) <= 30, session


def test_a_question_has_one_right_answer_and_says_why_others_are_wrong():
    for session, asked in quiz.questions().items():
        assert 8 <= len(asked) <= 10, session
        for question in asked:
            right = [one for one in question["options"] if one.get("right")]
            wrong = [one for one in question["options"] if not one.get("right")]
            assert len(right) == 1, question["ask"]
            assert len(wrong) >= 2, question["ask"]
            assert all(one["says"] for one in wrong), question["ask"]


@pytest.mark.browser
@pytest.mark.skipif(browser.PROGRAM is None, reason="there is no chromium")
def test_a_quiz_is_accessible_and_answers_without_a_network(chromium, tmp_path):
    quiz.write(tmp_path / "quizzes")
    for path in sorted((tmp_path / "quizzes").glob("*.html")):
        with browser.visit(chromium, path.as_uri(), browser.PHONE) as visit:
            visit.page.locator("input").first.press("Space")
            assert visit.page.locator(".says").first.inner_text()
            assert Axe().run(visit.page).response["violations"] == []
            assert visit.requests == [path.as_uri()] and not visit.errors


@pytest.mark.skipif(browser.PROGRAM is None, reason="there is no chromium")
@pytest.mark.slow
@pytest.mark.parametrize("session", LABS)
def test_slides_show_faces_and_describe_their_figures(session, course):
    assert {*LABS} == {*slide_faces.ROWS, "11"}
    page = (course / "slides" / "html" / f"{LABS[session].stem}.html").read_text(encoding="utf-8")
    images = re.findall(r"<img[^>]*>", page)
    words = [re.search(r'alt="([^"]*)"', image)[1] for image in images]
    assert all(len(one) > 20 and "/" not in one for one in words), words
    picture = course / "slides" / "faces" / f"{session}.jpg"
    assert sum(f"{session}.jpg" in image for image in images) == 1 and picture.is_file()


def test_handouts_are_one_page(course):
    for page in (course / "student" / "handouts").glob("*.pdf"):
        assert len(re.findall(rb"/Type\s*/Page\b", page.read_bytes())) == 1, page.name
    assert len([*(course / "student" / "handouts").glob("*.pdf")]) == len(LABS)


def test_downloads_are_small_and_only_instructors_get_solutions(course):
    names, downloads = {}, course / "downloads"
    for archive, most in {"course": 2.5e6, "course-students": 1e6}.items():
        assert (downloads / f"{archive}.zip").stat().st_size < most
        packed = zipfile.ZipFile(downloads / f"{archive}.zip").namelist()
        names[archive] = {name.split(f"{archive}/", 1)[1] for name in packed}  # all in one folder
    given = names["course-students"]
    assert {"README.md", "01_trap.ipynb", "course/checks.bin", "quizzes/01.html"} <= given
    assert {"handouts/01.html", "teams.md", "course/tables/portraits.parquet"} <= given
    alone = {name for name in names["course"] if not name.startswith("student/")}
    assert names["course"] - alone == {f"student/{name}" for name in given}
    assert {"slides/html/01_trap.html", "solution/01_trap.ipynb", "instructor/01.md"} <= alone
    assert {"nbgrader/source/01_trap/01_trap.ipynb", "otter/01_trap.ipynb"} <= alone
    assert {"README.md", "try_labs.py", "rubric.md", "league.md"} <= alone
    for page in (course / "league.md", *(course / "instructor").glob("*.md")):
        assert "{league-scores}" not in page.read_text(encoding="utf-8"), page.name
