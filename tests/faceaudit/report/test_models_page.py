"""The page of several models: it fits desk and phone, is accessible, and needs no other file."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from pretended_audits import pretended_table

import faceaudit

SETTINGS = {
    "unit": "unit",
    "axes": {"skin": ["light", "dark"], "gender": ["female", "male"]},
    "image": "image_id",
}


@pytest.fixture
def path(tmp_path):
    """The page of two gender models, one of them in doubt, and of one that gives numbers."""
    table = pretended_table(60, 0.5, seed=1)
    answered = {"label": "gender", "score": "score", "classes": ["female", "male"]}
    audits = {
        "a model with a long name and a version, 2026-03": faceaudit.table(
            table, tolerance=0.05, **answered, **SETTINGS
        ),
        "reversed": faceaudit.table(
            table.assign(score=1 - table["score"]), tolerance=0.05, **answered, **SETTINGS
        ),
        "scores as numbers": faceaudit.table(table, outcome="score", tolerance=0.1, **SETTINGS),
    }
    return faceaudit.side_by_side(audits).save(tmp_path / "models")


@pytest.mark.browser
def test_the_page_of_models_fits_desk_and_phone_and_is_accessible(path, tmp_path, chromium):
    with chromium.new_page() as tab:
        requests = []
        tab.on("request", lambda request: requests.append(request.url))
        for width in (1280, 390):
            tab.set_viewport_size({"width": width, "height": 900})
            for address in (path.as_uri(), f"{path.as_uri()}#cells"):
                tab.goto(address)
                assert tab.evaluate("document.documentElement.scrollWidth") == width
            assert tab.locator("#cells").is_visible(), "an address opens the details"
            assert tab.locator("figure svg:visible").count() == 2
            for scheme in ("light", "dark"):
                tab.emulate_media(color_scheme=scheme)
                found = Axe().run(tab)
                assert found.violations_count == 0, found.generate_report()
            tab.goto("about:blank")
        assert {request.partition("#")[0] for request in requests} <= {path.as_uri(), "about:blank"}
        tab.goto(path.as_uri())
        assert tab.pdf(path=tmp_path / "report.pdf")[:4] == b"%PDF"
