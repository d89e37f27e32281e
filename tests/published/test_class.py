"""A class labels the study's faces: pages, the files that come back, labels, and the report."""

import json
from collections import Counter

import browser
import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from class_files import FACES, made_pictures, made_record, pictures_on, write_answers
from playwright.sync_api import expect

from course import lab
from faceaudit.utils import seeding
from published import class_labels, class_page, record
from published.class_labels import picture_id, recorded_images
from published.class_page import name_of
from published.faces import LEVELS

STUDENTS = 9


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for the class; the record is made up."""
    monkeypatch.setattr(record, "ANSWERS", tmp_path / "answers.csv")
    monkeypatch.setattr(record, "MANIFEST", tmp_path / "manifest.json")
    made_record().to_csv(record.ANSWERS, index=False)
    part = {"faces": FACES, "made": "2026-11-30T13:06:29+00:00"}
    record.MANIFEST.write_text(json.dumps({"parts": {"measured": part}}))
    pictures = made_pictures(FACES)
    monkeypatch.setattr(
        class_page,
        "pictures_of",
        lambda numbers: {key: made for key, made in pictures.items() if key[0] in numbers},
    )
    return tmp_path


def make_pages(folder, *options):
    arguments = ["--folder", str(folder / "class"), "--students", str(STUDENTS), *options]
    assert class_page.main(arguments) == 0
    return sorted((folder / "class").glob("page-*.html"))


def answer(folder, pages, question="gender", people=3):
    """A file for each person: each page is answered by some, who differ a little."""
    sex = {
        picture_id(name_of(face, level)): i % 2 for i, face in enumerate(FACES) for level in LEVELS
    }
    files = []
    for page in pages:
        for person in range(people):
            name = f"{page.stem} {person}"
            draws = seeding.rng(0, name)
            levels = {}
            for picture in pictures_on(page):
                level = 4 * sex[picture] + (1 - 2 * sex[picture]) * draws.choice(
                    3, p=[0.7, 0.2, 0.1]
                )
                levels[picture] = {question: int(level)}
            files.append(write_answers(folder / f"answers-{name}.json", f"otter {name}", levels))
    return files


def report(folder, files):
    arguments = [*map(str, files), "--folder", str(folder / "report")]
    return class_labels.main(arguments)


# --- pages


def test_no_page_shows_a_face_twice_and_each_shows_all_levels_alike():
    pages = class_page.shared_out(range(134), 18)
    assert [page.number for page in pages] == [1, 2, 3, 4, 5, 6]
    assert [page.set_of_faces for page in pages] == [1, 1, 1, 2, 2, 2]
    for page in pages:
        assert len({face for face, _ in page.images}) == len(page.images) == 67
        levels = Counter(level for _, level in page.images)
        assert max(levels.values()) - min(levels.values()) <= 1
    images = [image for page in pages for image in page.images]
    assert sorted(images) == sorted((face, level) for face in range(134) for level in LEVELS)
    first, second = ({face for face, _ in pages[n].images} for n in (0, 3))
    assert not first & second


@pytest.mark.parametrize(("students", "pages"), [(6, 3), (17, 3), (18, 6), (30, 9), (90, 18)])
def test_a_larger_class_has_more_and_shorter_pages(students, pages):
    made = class_page.shared_out(FACES, students)
    assert len(made) == pages
    assert sum(len(page.images) for page in made) == 3 * len(FACES)
    assert students // len(made) >= 2


def test_the_folder_says_who_gets_which_page_and_what_must_be_said(folder, capsys):
    pages = make_pages(folder)
    assert "54 pictures on 3 pages" in capsys.readouterr().out
    about = (folder / "class" / "about.txt").read_text()
    assert "page-2.html  set 1, 18 pictures: students 2, 5, 8" in about
    assert "No such person exists" in about and "non-commercial" in about
    assert (folder / "class" / "look-first.jpg").is_file()
    text = pages[0].read_text()
    assert "Cannot tell" in text and "measured-" not in text, "ids do not tell the level"


def test_faces_that_are_left_out_are_on_no_page(folder):
    without = make_pages(folder, "--leave-out", "8", "57")
    shown = {picture for page in without for picture in pictures_on(page)}
    assert len(shown) == 3 * (len(FACES) - 2)
    assert picture_id(name_of(8, "low")) not in shown


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--leave-out", "5"], "--leave-out: 5 is no face of these pages"),
        (["--leave-out", *map(str, FACES)], "--leave-out: all faces are left out"),
    ],
)
def test_what_cannot_be_left_out_is_said_in_a_sentence(folder, capsys, options, says):
    assert class_page.main(["--folder", str(folder / "class"), *options]) == 1
    said = capsys.readouterr().err
    assert said.startswith(says) and said.count("\n") == 1


@pytest.mark.parametrize("options", [["--students", "5"], ["--faces", "0"], ["--ask", "skin"]])
def test_wrong_options_are_refused(folder, options):
    with pytest.raises(SystemExit):
        class_page.main(options)


# --- from files to a report


def test_a_class_gets_its_error_rates(folder, capsys):
    (folder / "handed-in").mkdir()
    answer(folder / "handed-in", make_pages(folder))
    capsys.readouterr()
    assert report(folder, [folder / "handed-in"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("gender: 9 people, ")
    made = folder / "report"
    for name in ("class.html", "gender/report.html", "gender/also-made-up/report.json"):
        assert (made / name).is_file(), name
    assert len(pd.read_csv(made / "raters.csv")) == 9
    assert pd.read_csv(made / "agreement.csv")["alpha"].item() > 0.5
    labels = pd.read_csv(made / "labels.csv")
    rates = pd.read_csv(made / "error_rates.csv")
    assert set(rates["network"]) == {"made-up", "also-made-up"}, "the silent one has no rate"
    # The rate of one network among dark faces, computed anew from the files' labels.
    said = made_record().query("model == 'made-up' and outcome == 'P(male)' and skin == 'high'")
    both = labels.dropna(subset="label").merge(said[["image", "value"]], on="image").dropna()
    wrong = (both["value"] > 0.5) != both["label"]
    row = rates.query("network == 'made-up' and change == 'dark skin' and perceived == 'all'").iloc[
        0
    ]
    assert (row["answered"], row["errors"]) == (len(both), wrong.sum())
    assert row["rate"] == pytest.approx(wrong.mean())
    assert row["low"] < row["rate"] < row["high"]
    by_label = rates.query("network == 'made-up' and change == 'dark skin' and perceived != 'all'")
    assert by_label["errors"].sum() == wrong.sum()


def test_the_report_says_whose_labels_they_are(folder):
    assert report(folder, answer(folder, make_pages(folder))) == 0
    page = (folder / "report" / "class.html").read_text()
    for said in ("perceived</em> by this class", "exist nowhere", "no rates for people"):
        assert said in page
    assert "otter" not in page, "pseudonyms are hashed"
    assert "without a rate: silent." in page


def test_what_is_left_out_is_counted(folder):
    files = answer(folder, make_pages(folder))
    tasks = json.loads(files[0].read_text())
    for task in tasks[:3]:
        task["annotations"][0] |= {"was_cancelled": True, "result": []}
    files[0].write_text(json.dumps(tasks))
    assert report(folder, files) == 0
    assert "Left out: 3 × cancelled assignment." in (folder / "report" / "class.html").read_text()


def test_the_variant_without_a_gender_axis(folder):
    files = answer(folder, make_pages(folder, "--ask", "age"), "age")
    assert report(folder, files) == 0
    rates = pd.read_csv(folder / "report" / "error_rates.csv")
    assert set(rates["question"]) == {"age"}
    assert not (folder / "report" / "gender").exists()


def test_tables_for_the_lab_have_its_columns(folder):
    assert report(folder, answer(folder, make_pages(folder))) == 0
    answers = pd.read_csv(folder / "report" / "lab" / "answers.csv")
    images = pd.read_csv(folder / "report" / "lab" / "images.csv")
    assert set(images["network"]) == {"also-made-up", "made-up"}
    for name, table in (("class_answers", answers), ("class_images", images)):
        assert list(table) == list(lab.load(name)), "as in the lab's example"


def test_labels_need_more_than_half_of_the_people():
    counts = np.array([[2, 1, 0, 0, 0], [0, 0, 2, 0, 1], [1, 0, 0, 1, 0], [0, 1, 0, 2, 0]])
    np.testing.assert_array_equal(class_labels.labels_of_gender(counts), [0, np.nan, np.nan, 1])


def test_a_picture_that_one_person_saw_has_no_label(folder):
    images = recorded_images(made_record())
    rows = {"image_id": ["measured-00003-low"] * 2 + ["measured-00008-low"], "level": [4, 4, 4]}
    answers = pd.DataFrame(rows).assign(attribute="gender", annotator_id=["a", "b", "a"])
    labels = class_labels.labels_of_class(answers, images).set_index("image")["label"]
    np.testing.assert_array_equal(labels, [1, np.nan])


def test_controls_have_the_label_of_the_light_picture():
    rows = {"image": ["measured-00003-low", "measured-00003-high"], "face": 3, "label": [0.0, 1.0]}
    labels = pd.DataFrame(rows).assign(question="gender", skin=["light", "dark"])
    found = class_labels.errors_of_networks(made_record(), labels, "gender")
    of_one = found[found["network"] == "made-up"].set_index("change")["label"]
    assert of_one["dark skin"] == 1
    assert (of_one[["light", "dimmed light", "a step at random"]] == 0).all()
    assert "medium skin" not in of_one, "it has no label of its own"


def test_an_age_outside_of_the_group_is_an_error():
    labels = pd.DataFrame(
        {
            "question": "age",
            "image": ["a", "b", "c"],
            "face": [1, 2, 3],
            "skin": "light",
            "label": 1.0,
        }
    )
    said = {"image": ["a", "b", "c"], "transect": [1, 2, 3], "value": [20.0, 29.9, 30.0]}
    recorded = pd.DataFrame(said).assign(outcome="age", state="answered", study="measured")
    recorded = recorded.assign(model="one", skin="low")
    assert class_labels.errors_of_networks(recorded, labels, "age")["error"].tolist() == [0, 0, 1]


# --- files that cannot be used


def refused(folder, files, capsys) -> str:
    capsys.readouterr()
    assert report(folder, files) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1, said
    assert not (folder / "report").exists()
    return said


def test_a_file_of_another_page(folder, capsys):
    path = write_answers(folder / "answers-heron.json", "heron", {"00001": {"gender": 4}})
    said = refused(folder, [path], capsys)
    assert "answers-heron.json: 1 of 1 pictures are not in the record, such as 00001" in said


def test_a_picture_that_the_record_lacks(folder, capsys):
    files = answer(folder, make_pages(folder))
    made_record().query("transect != 57").to_csv(record.ANSWERS, index=False)
    said = refused(folder, files, capsys)
    assert "1 of 18 pictures are not in the record, such as picture-" in said


def test_a_file_of_another_question(folder, capsys):
    made = {picture_id(name_of(3, "low")): {"gender": 1}}
    path = write_answers(folder / "answers-heron.json", "heron", made)
    path.write_text(path.read_text().replace('"gender"', '"makeup"'))
    assert "nothing usable" in refused(folder, [path], capsys)


def test_a_pseudonym_twice(folder, capsys):
    pages = make_pages(folder)
    files = answer(folder, pages)
    twice = folder / "answers-again.json"
    twice.write_text(files[0].read_text())
    said = refused(folder, [*files, twice], capsys)
    assert "answers-page-1 0.json and answers-again.json have answers of one pseudonym" in said


def test_one_person_may_answer_pages_of_two_sets(folder):
    pages = make_pages(folder, "--students", "18")
    files = answer(folder, pages)
    for first, second in (("page-1 0", "page-4 0"), ("page-2 0", "page-5 0")):
        path = folder / f"answers-{second}.json"
        path.write_text(path.read_text().replace(f"otter {second}", f"otter {first}"))
    assert report(folder, files) == 0


def test_people_who_saw_other_pictures(folder, capsys):
    files = answer(folder, make_pages(folder), people=1)
    assert "no picture has answers of 2 people" in refused(folder, files, capsys)


def test_one_page_alone(folder, capsys):
    files = answer(folder, make_pages(folder)[:1])
    said = refused(folder, files, capsys)
    assert "gender: no face has a label at light skin and at another level" in said


def test_a_file_that_is_no_answer(folder, capsys):
    path = folder / "answers-heron.json"
    assert "there is no such file" in refused(folder, [path], capsys)
    (folder / "empty").mkdir()
    assert "the folder has no .json file" in refused(folder, [folder / "empty"], capsys)
    path.write_text("image,level\n")
    assert "answers-heron.json" in refused(folder, [path], capsys)


# --- in Chromium


@pytest.mark.browser
@pytest.mark.skipif(browser.PROGRAM is None, reason="there is no chromium")
class TestInChromium:
    def test_what_students_save_becomes_the_report(self, folder, chromium):
        pages = make_pages(folder, "--faces", "3")
        files = []
        for number, path in enumerate([page for page in pages for _ in range(2)]):
            with browser.visit(chromium, path.as_uri(), browser.PHONE) as visit:
                page = visit.page
                page.keyboard.type(f"otter {'abcdef'[number]}")
                page.keyboard.press("Enter")
                for _ in range(3):
                    page.keyboard.press("5" if number % 3 else "1")
                    page.keyboard.press("Enter")
                expect(page.locator("#overview-title")).to_have_text("All done. Thank you!")
                with page.expect_download() as download:
                    page.keyboard.press("Enter")
                files.append(folder / download.value.suggested_filename)
                download.value.save_as(files[-1])
                assert visit.errors == [] and visit.requests[0] == path.as_uri()
        images = recorded_images(record.read())
        answers = class_labels.read_answers(files, images).frame
        assert len(answers) == 6 * 3
        assert set(answers["level"]) == {0, 4}

    def test_the_report_is_accessible(self, folder, chromium):
        assert report(folder, answer(folder, make_pages(folder))) == 0
        address = (folder / "report" / "class.html").as_uri()
        for viewport in (browser.PHONE, browser.DESKTOP):
            for scheme in ("light", "dark"):
                with browser.visit(chromium, address, viewport) as visit:
                    visit.page.emulate_media(color_scheme=scheme)
                    visit.page.locator("summary").click()
                    assert Axe().run(visit.page).response["violations"] == []
                    assert visit.requests == [address] and not visit.errors
                    fits = "document.documentElement.scrollWidth <= window.innerWidth"
                    assert visit.page.evaluate(fits), (viewport, scheme)
