"""The labelling screen: everything on it, and what is clicked there is what is read."""

from pathlib import Path

import numpy as np
import pytest
from browser import FLAGS, PROGRAM
from PIL import Image

from helpers.annotations import ATTRIBUTES, labelling_config, read_label_studio

LAPTOP = {"width": 1366, "height": 768}
SHOWN = Path(__file__).parents[2] / "build" / "label_studio_screen.png"

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium")


@pytest.fixture
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


def test_all_questions_stand_beside_the_image_and_are_answered_by_clicks(server, project, tmp_path):
    person = server.sign_up("dora")
    browser = server.playwright.chromium.launch(executable_path=PROGRAM, args=FLAGS)
    page = browser.new_context(viewport=LAPTOP, storage_state=person.cookies).new_page()
    page.goto(f"{server.address}/projects/{project}/data?labeling=1")
    page.get_by_text("Fake for sure").wait_for(timeout=120_000)
    page.wait_for_timeout(3000)
    SHOWN.parent.mkdir(exist_ok=True)
    page.screenshot(path=SHOWN)
    print(page.content()[:0])
    print([(i.bounding_box(), i.get_attribute("src")) for i in page.locator("img").all()])
    print(page.get_by_text("Fake for sure").bounding_box(), page.locator("input[type=radio]").count())
    browser.close()
    assert 0
