"""The labelling screen: everything on it, and what is clicked there is what is read."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser import FLAGS, PROGRAM
from PIL import Image
from playwright.sync_api import Page, expect

from faceaudit.annotations import ATTRIBUTES, labelling_config, read_label_studio

LAPTOP = {"width": 1366, "height": 768}
SHOWN = Path(__file__).parents[2] / "build" / "label-studio" / "screen.png"
"""What an annotator sees, for people who look at it."""

IMAGE = "img[src^=blob]"

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium")


@pytest.fixture(scope="module")
def project(server) -> int:
    """A project with one image of a transect's size."""
    (server.files / "screen").mkdir()
    row = np.linspace(60, 220, 256, dtype=np.uint8)
    Image.fromarray(np.add.outer(row // 2, row // 2)).save(server.files / "screen" / "00300.png")
    about = {"title": "The screen", "label_config": labelling_config(), "maximum_annotations": 30}
    number = server.owner.post("/api/projects", about)["id"]
    storage = {"project": number, "path": str(server.files / "screen"), "use_blob_urls": True}
    server.owner.post("/api/storages/localfiles", storage)
    task = {"image": "/data/local-files/?d=screen/00300.png", "image_id": "00300"}
    server.owner.post(f"/api/projects/{number}/import", [{"data": task}])
    return number


@pytest.fixture
def page(request, server, project) -> Iterator[Page]:
    """The screen as somebody sees it who has just signed up, and comes back with cookies."""
    person = server.sign_up(request.node.name.replace("_", "-"))
    browser = server.playwright.chromium.launch(executable_path=PROGRAM, args=FLAGS)
    page = browser.new_context(viewport=LAPTOP, storage_state=person.cookies).new_page()
    page.goto(f"{server.address}/projects/{project}/data?labeling=1", timeout=120_000)
    expect(page.locator("input[type=radio]")).to_have_count(
        sum(map(len, ATTRIBUTES.values())), timeout=120_000
    )
    expect(page.locator(IMAGE)).to_be_visible(timeout=120_000)
    yield page
    browser.close()


def edges(page: Page, selector: str, number: int = 0) -> dict[str, float]:
    return page.locator(selector).nth(number).bounding_box()


def test_all_questions_stand_beside_an_image_of_its_own_size(page):
    page.screenshot(path=SHOWN)
    image = edges(page, IMAGE)
    assert (image["width"], image["height"]) == (256, 256)
    below = edges(page, "button:has-text('Submit')")["y"]
    assert image["y"] + image["height"] < below < LAPTOP["height"]
    for number in range(sum(map(len, ATTRIBUTES.values()))):
        radio = edges(page, "input[type=radio]", number)
        assert radio["x"] > image["x"] + image["width"]
        assert image["y"] <= radio["y"] < below - radio["height"]


def test_what_is_clicked_is_what_is_read(page, server, project, tmp_path):
    submit = page.locator("button:has-text('Submit')")
    submit.click()
    asked = page.get_by_text("is required")
    expect(asked).to_be_visible()
    page.get_by_role("button", name="OK").click()
    expect(asked).to_be_hidden()
    levels = {name: (3 * place) % len(ATTRIBUTES[name]) for place, name in enumerate(ATTRIBUTES)}
    first = 0
    for name, level in levels.items():
        page.locator("input[type=radio]").nth(first + level).check()
        first += len(ATTRIBUTES[name])
    submit.click()
    expect(page.get_by_text("No more").first).to_be_visible(timeout=60_000)
    path = tmp_path / "export.json"
    path.write_bytes(server.owner.ask("GET", f"/api/projects/{project}/export").body())
    frame, _ = read_label_studio(path, known_images=["00300"])
    assert dict(zip(frame["attribute"], frame["level"], strict=True)) == levels
    assert set(frame["image_id"]) == {"00300"}
