"""Chromium for tests: a server for a built book, and pages that record what they ask for."""

import functools
import http
import http.server
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
PROGRAM = next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        # A page that only leads on to the book's root names no icon, and browsers ask for this one.
        if self.path == "/favicon.ico":
            self.send_response(http.HTTPStatus.NO_CONTENT)
            self.end_headers()
        else:
            super().do_GET()


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine only; gives its address."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium with a fresh profile."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=FLAGS)
        yield browser
        browser.close()


@dataclass
class Visit:
    """An open page and what happened while it loaded."""

    page: Page
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


# Fonts are asked for when text in them is laid out, so that is done before they are waited for.
WHOLE = """async () => {
    await window.MathJax?.startup?.promise;
    document.documentElement.getBoundingClientRect();
    await document.fonts.ready;
}"""


@contextmanager
def visit(
    opener: Browser | BrowserContext, address: str, viewport: dict[str, int]
) -> Iterator[Visit]:
    """Open a page and wait until its widgets, equations and fonts are there.

    A browser opens it as somebody does who has never been there. Pages that a context opens share
    what was fetched before, as those of one reader do.
    """
    with opener.new_page() as page, go_to(page, address, viewport) as one:
        yield one


@contextmanager
def go_to(page: Page, address: str, viewport: dict[str, int]) -> Iterator[Visit]:
    """Lead an open page to an address and wait, as `visit` does.

    A reader goes from page to page in this way. A new page starts a process of its own, which takes
    three quarters of the time of a visit.
    """
    page.emulate_media(media="screen")
    page.set_viewport_size(viewport)
    one = Visit(page)
    listeners = {
        "request": lambda request: one.requests.append(request.url),
        "pageerror": lambda error: one.errors.append(str(error)),
        "console": lambda line: (
            one.errors.append(f"{line.text} ({line.location['url']})")
            if line.type == "error"
            else None
        ),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    page.goto(address)
    page.evaluate(WHOLE)
    if page.locator(".widget-subarea").count():
        page.locator(".widget-subarea .jupyter-widgets").first.wait_for()
    yield one
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
