"""The page for a class: what is written, and what two people do with it in Chromium."""

import base64
import io
import json
import re
from pathlib import Path

import browser
import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Page, expect

from faceaudit.annotations import ATTRIBUTES, read_label_studio, write_page
from faceaudit.annotations.schema import hash_annotator

LAPTOP = {"width": 1280, "height": 720}


def faces(*ids: str) -> dict[str, np.ndarray]:
    """Small images that differ."""
    noise = np.random.default_rng(0).integers(0, 256, (len(ids), 12, 16, 3), np.uint8)
    return dict(zip(ids, noise, strict=True))


def study_of(path: Path) -> dict:
    """What the page's script reads."""
    page = path.read_text(encoding="utf-8")
    return json.loads(
        re.search(r'<script type="application/json" id="study">(.*)</script>', page)[1]
    )


@pytest.fixture
def page_of_four(tmp_path) -> Path:
    path = tmp_path / "page.html"
    write_page(faces("a", "b", "c", "d"), ATTRIBUTES, path)
    return path


# --- what is written


def test_images_are_kept_pixel_by_pixel_and_pages_byte_by_byte(tmp_path):
    given = faces("a", "b")
    for name in ("one", "two"):
        write_page(given, ATTRIBUTES, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    turned = {name: image[::-1] for name, image in given.items()}
    write_page(turned, ATTRIBUTES, tmp_path / "two")
    assert study_of(tmp_path / "two")["id"] != study_of(tmp_path / "one")["id"]
    shown = dict(study_of(tmp_path / "one")["images"])
    assert list(shown) == ["a", "b"]
    for image_id, address in shown.items():
        kind, content = address.split(",")
        assert kind == "data:image/webp;base64"
        read = np.asarray(Image.open(io.BytesIO(base64.b64decode(content))))
        np.testing.assert_array_equal(read, given[image_id])


# --- what people do with it

in_chromium = [
    pytest.mark.browser,
    pytest.mark.skipif(browser.PROGRAM is None, reason="there is no chromium"),
]


def begin(page: Page, name: str) -> None:
    page.keyboard.type(name)  # the field has the focus
    page.keyboard.press("Enter")
    expect(page.locator("#task")).to_be_visible()


def press(page: Page, keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def shown(page: Page, path: Path) -> str:
    """Id of the image on the screen."""
    address = page.locator("#image").get_attribute("src")
    return next(image_id for image_id, one in study_of(path)["images"] if one == address)


def saved(page: Page, folder: Path) -> Path:
    """The file that a click of the button with the focus downloads."""
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def levels(path: Path) -> dict[tuple[str, str], list[int]]:
    """Levels in the order of the questions for every annotator and image that the reader finds."""
    frame = read_label_studio(path).frame
    frame["attribute"] = pd.Categorical(frame["attribute"], list(ATTRIBUTES))
    by = frame.sort_values("attribute").groupby(["annotator_id", "image_id"], observed=True)
    return by["level"].agg(list).to_dict()


class TestPage:
    """The page in Chromium, opened from the disk as students open it."""

    pytestmark = in_chromium

    def test_two_people_answer_by_keyboard_and_both_files_are_read(
        self, chromium, page_of_four, tmp_path
    ):
        answers = {"heron-42": ["11111111", "22222222", "33333333"], "Otter 7": ["45664555"] * 3}
        expected = {}
        found = {}
        orders = {}
        for name, given in answers.items():
            with browser.visit(chromium, page_of_four.as_uri(), LAPTOP) as visit:
                page = visit.page
                begin(page, name)
                orders[name] = []
                for number, keys in enumerate(given):
                    orders[name].append(shown(page, page_of_four))
                    pseudonym = hash_annotator(name, "helpers")
                    expected[pseudonym, orders[name][-1]] = [int(key) - 1 for key in keys]
                    press(page, keys[:5])
                    if number == 1:
                        page.reload()
                        expect(page.locator("#place")).to_have_text("Picture 2 of 4")
                        assert shown(page, page_of_four) == orders[name][-1]
                    press(page, keys[5:])
                    expect(page.locator("#said")).to_have_text("All questions are answered.")
                    page.keyboard.press("Enter")
                orders[name].append(shown(page, page_of_four))
                page.keyboard.press("0")
                expect(page.locator("#overview-title")).to_have_text("All done. Thank you!")
                file = saved(page, tmp_path)
                expect(page.locator("#saved")).to_contain_text(file.name)
                assert visit.errors == []
                assert all(url.startswith(("file:", "data:", "blob:")) for url in visit.requests)
            found |= levels(file)
            report = read_label_studio(file).report.set_index("reason")["count"]
            assert report[report > 0].to_dict() == {"cancelled assignment": 1}
        # One reader, a file each: the tables need only be put together.
        assert found == expected and len(found) == 6
        assert sorted(orders["heron-42"]) == sorted(orders["Otter 7"]) == list("abcd")
        assert sorted(path.name for path in tmp_path.glob("*.json")) == [
            "answers-Otter-7.json",
            "answers-heron-42.json",
        ]

    @pytest.mark.parametrize("deleted", [False, True])
    def test_a_reload_that_finds_no_storage_goes_on_unless_answers_were_deleted(
        self, chromium, page_of_four, deleted
    ):
        with browser.visit(chromium, page_of_four.as_uri(), LAPTOP) as visit:
            page = visit.page
            begin(page, "heron")
            picture = shown(page, page_of_four)
            press(page, "111")
            if deleted:
                page.locator("#to-overview").click()
                page.locator("#delete").click()
                page.locator("#delete-now").click()
            page.add_init_script("localStorage.clear()")
            page.reload()
            if deleted:
                expect(page.locator("#start")).to_be_visible()
                expect(page.locator("#task")).to_be_hidden()
            else:
                expect(page.locator("#place")).to_have_text("Picture 1 of 4")
                assert shown(page, page_of_four) == picture
                assert page.locator("fieldset input:checked").count() == 3
            assert visit.errors == []

    def test_orders_are_shuffled_and_each_as_likely(self, chromium, page_of_four):
        with browser.visit(chromium, page_of_four.as_uri(), LAPTOP) as visit:
            orders = visit.page.evaluate(
                "Array.from({length: 2400}, (_, person) => orderOf(`person ${person}`))"
            )
            again = visit.page.evaluate("orderOf('person 7')")
        assert again == orders[7]
        counts = pd.Series(map(tuple, orders)).value_counts()
        assert len(counts) == 24  # all there are, 100 expected of each
        assert ((counts - 100) ** 2 / 100).sum() < 49.7  # chi-squared, 1 in 1,000

    def test_eight_questions_stand_on_one_screen_beside_the_image(self, chromium, page_of_four):
        with browser.visit(chromium, page_of_four.as_uri(), LAPTOP) as visit:
            begin(visit.page, "heron")
            image = visit.page.locator("#image").bounding_box()
            assert image["height"] == 256 and image["width"] == pytest.approx(256 * 4 / 3, abs=1)
            fields = [one.bounding_box() for one in visit.page.locator("fieldset").all()]
            assert len(fields) == 8
            assert all(image["x"] + image["width"] < field["x"] for field in fields)
            button = visit.page.locator("#next").bounding_box()
            assert image["y"] > 0 and button["y"] + button["height"] < LAPTOP["height"]

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    @pytest.mark.parametrize("viewport", [browser.DESKTOP, browser.PHONE], ids=["desktop", "phone"])
    def test_every_part_is_accessible_and_no_wider_than_the_screen(
        self, chromium, page_of_four, viewport, scheme
    ):
        with browser.visit(chromium, page_of_four.as_uri(), viewport) as visit:
            page = visit.page
            page.emulate_media(color_scheme=scheme)
            found = {"start": self.barriers(page)}
            begin(page, "heron")
            press(page, "123")
            page.keyboard.press("Enter")
            expect(page.locator("#said")).to_be_in_viewport(ratio=1)
            found["picture"] = self.barriers(page)
            page.keyboard.press("0")
            page.keyboard.press("Backspace")
            found["cannot say"] = self.barriers(page)
            page.click("#to-overview")
            found["overview"] = self.barriers(page)
            page.click("#save")
            found["missing"] = self.barriers(page)
            page.click("#save-anyway")
            found["saved"] = self.barriers(page)
            page.click("#delete")
            found["delete"] = self.barriers(page)
        assert {part: one for part, one in found.items() if one} == {}

    def barriers(self, page: Page) -> list[str]:
        """All that axe finds, and whether the page scrolls sideways."""
        response = Axe().run(page).response
        found = [
            f"{violation['id']}: {[node['html'][:150] for node in violation['nodes']]}"
            for violation in response["violations"]
        ]
        root = "document.documentElement"
        wider = page.evaluate(f"{root}.scrollWidth - {root}.clientWidth")
        return found + [f"{wider} px wider than the screen"] * (wider > 0)
