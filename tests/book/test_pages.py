"""The book's tooling on a small book, and every page of the built book in Chromium.

The small book has one chapter, executed and built here. The smoke book is the real one, as
`make smoke` leaves it; its pages are looked at when it is there.
"""

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import browser
import execute
import kernels
import nbformat
import pydata_sphinx_theme
import pytest
import vendor
import yaml
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

import book
from course import quiz
from helpers.artifacts import pages
from helpers.claims import BOX_TITLES, CONTRADICTED, UNDECIDED

ROOT = Path(__file__).parents[2]
SMOKE = ROOT / "build" / "smoke" / "html"
AXE = Axe().axe_script
RUN_AXE = """async (plain) => {
    // axe looks for an attribute at once, and takes long to compare a selector with all elements.
    if (plain)
        document.querySelectorAll(plain).forEach(one => one.setAttribute("data-plain", ""));
    axe.configure({rules: [{id: "color-contrast", selector: "*:not([data-plain])"}]});
    // Style sheets need not be fetched a second time.
    const options = {preload: false, resultTypes: ["violations"]};
    const {violations} = await axe.run(document, options);
    return violations.map(({id, nodes}) => [id, nodes.map(node => node.html.slice(0, 150))]);
}"""
PLAIN_CELL = "tbody tr:nth-child(n + 5) > td:not([id], [style], :has(:not(p)))"
PLAIN = [
    ".highlight pre",
    ".highlight pre a",
    "dl.py",
    "dl.py *",
    ".bd-sidebar-primary li:not(.current) > a",
    PLAIN_CELL,
    f"{PLAIN_CELL} > p",
]
"""What has the same few colours everywhere: code, signatures, links to other pages, and words in
tables, whose rows have the colours of the four before."""
UNMARK_CODE = """document.querySelectorAll(".highlight pre").forEach(pre => {
    pre.querySelectorAll("span").forEach(word => word.replaceWith(...word.childNodes));
    pre.normalize();
})"""
"""Takes the words of code out of the elements that colour them, thousands a page; links stay."""
NEXT_FRAMES = """() => new Promise(done =>
    requestAnimationFrame(() => requestAnimationFrame(done))
)"""
"""Boxes that scroll in a narrower window get their stop for the keyboard in its first frame."""
SHARES = 6
"""Parts of the real book that are looked at in processes of their own (`conftest.FilesAndShares`);
the small book is built in one process alone."""
BOOKS = [
    pytest.param("small", slice(None), id="small"),
    *(
        pytest.param("smoke", slice(share, None, SHARES), id=f"smoke-share-{share}")
        for share in range(SHARES)
    ),
]
CHAPTER = """# %% [markdown]
# # A chapter
#
# Does {term}`hair length` matter? See {cite:t}`transects`, {numref}`fig-noise` and $a^2$.

# %%
import numpy as np
import pandas as pd

from helpers import figures
from helpers.figures import widgets

# %% tags=["parameters"]
profile = "laptop"
device = "cpu"
n_transects = 999  # transects, «deliberately» wrong
untouched = 3

# %% mystnb={"image": {"alt": "Four squares of random noise"}, "figure": {"caption": "Noise.", "name": "fig-noise"}}
figures.style()
noise = np.random.default_rng(0).random((4, 3, 24, 24))
figures.gallery(noise, 4, titles=list("abcd"));

# %%
pd.DataFrame({"n": [1, 2]}, index=pd.Index(["light", "dark"], name="skin"))

# %%
labels = ["shortest", "short", "long", "longest"]
widgets.side_by_side({"raw normal": noise, "dual basis": noise}, labels, "hair length", "Noise")

# %%
ends = {"skin": ("light", "dark"), "hair": ("short", "long")}
shown = {"sheet": widgets.sheet(noise.reshape(2, 2, 3, 24, 24)), "sliders": ends, "alt": "Noise"}
widgets.explorable("face", "Noise", heads=["model", "score"], answers={"a": [[1, 0], [0, 1]]}, **shown)
"""  # noqa: E501


@pytest.fixture(scope="session")
def small(tmp_path_factory) -> Path:
    """The folder of a small book: its chapter executed, its pages built."""
    folder = tmp_path_factory.mktemp("small")
    source = folder / "01_chapter.py"
    source.write_text(CHAPTER)
    out = folder / "01_chapter" / "01_chapter.ipynb"
    execute.execute(source, out, "smoke", "cpu", folder / "chapter.log")
    vendor.vendor()
    build(folder, folder, small_pages(folder / "book"))
    return folder


def build(executed: Path, out: Path, pages: Path) -> None:
    """As the runner does it, for Sphinx changes the process that it is in."""
    kernels.be(out / "book.log", book.build, executed, out, pages)


def small_pages(folder: Path) -> Path:
    """The book's own text pages with a table of contents of one chapter."""
    shutil.copytree(book.BOOK, folder)
    texts = ("glossary", "data-and-ethics", "references", "api/helpers.figures")
    chapters = [{"file": page} for page in texts]
    contents = {"format": "jb-book", "root": "01_chapter", "chapters": chapters}
    (folder / "_toc.yml").write_text(yaml.safe_dump(contents, sort_keys=False))
    without_links_to_chapters(folder / "data-and-ethics.md")
    return folder


def without_links_to_chapters(page: Path) -> None:
    """A link to a chapter leads nowhere in the small book, and Sphinx warns of it."""
    page.write_text(re.sub(r"\[\]\((\d\d_\w+)\)", "another chapter", page.read_text()))


@pytest.fixture(scope="session")
def executed(small) -> nbformat.NotebookNode:
    return nbformat.read(small / "01_chapter" / "01_chapter.ipynb", as_version=4)


def test_parameters_are_those_of_the_profile_and_shown_once(executed):
    cells = [cell for cell in executed.cells if cell.cell_type == "code"]
    wanted = yaml.safe_load((ROOT / "profiles" / "smoke.yml").read_text())["n_transects"]
    assert cells[1].source == (
        "profile = 'smoke'\n"
        "device = 'cpu'\n"
        f"n_transects = {wanted}  # transects, «deliberately» wrong\n"
        "untouched = 3"
    )
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert "papermill" not in json.dumps([executed.metadata, *(c.metadata for c in executed.cells)])
    (state,) = executed.metadata.widgets.values()
    assert any(one["model_name"] == "StackModel" for one in state["state"].values())


def test_names_in_code_lead_to_the_reference(small):
    chapter = (small / "html" / "01_chapter.html").read_text()
    assert links_to_api(chapter) >= {
        "api/helpers.figures.html#module-helpers.figures.widgets",
        "api/helpers.figures.html#helpers.figures.charts.style",
        "api/helpers.figures.html#helpers.figures.charts.gallery",
        "api/helpers.figures.html#helpers.figures.widgets.side_by_side",
    }
    assert lost_links(small / "html") == []


def links_to_api(page: str) -> set[str]:
    """Where the links in a page's code cells lead."""
    return set(re.findall(r'<a class="api" href="([^"]+)"', page))


def lost_links(html: Path) -> list[str]:
    """Links in code cells to what is not there."""
    found = []
    for path in html.glob("*.html"):
        for link in links_to_api(path.read_text()):
            page, _, label = link.partition("#")
            if not (html / page).is_file() or f'id="{label}"' not in (html / page).read_text():
                found.append(f"{path.name}: {link}")
    return found


def test_old_addresses_lead_to_pages():
    old = [path.read_text() for path in (book.BOOK / "_extra").glob("*.html")]
    goals = re.findall(r"\b(?:url=|href=\")([\w-]+)\.html", "".join(old))
    assert len(old) == 14 and {*goals} <= {*book.contents()}


def test_a_picture_without_words_is_not_built(small, tmp_path):
    executed = (small / "01_chapter" / "01_chapter.ipynb").read_text()
    for words in ("Four squares of random noise", "Noise."):
        with pytest.raises(ValueError, match="a picture needs"):
            book.keep_picture(executed.replace(f'"{words}"', '""'), tmp_path / "chapter")


UNBUILT = "the smoke book is not built: run `make smoke`"
SMOKE_ONLY = pytest.mark.skipif(not SMOKE.is_dir(), reason=UNBUILT)


@SMOKE_ONLY
def test_every_chapter_leads_to_the_reference():
    chapters = [SMOKE / f"{page}.html" for page in book.contents() if page[:2].isdigit()]
    assert len(chapters) == 19
    counts = {path.stem: len(links_to_api(path.read_text())) for path in chapters}
    assert [name for name, count in counts.items() if count < 5] == []
    assert [page.name for page in SMOKE.glob("*.html") if "Warning: " in page.read_text()] == []
    assert lost_links(SMOKE) == []


@SMOKE_ONLY
def test_what_a_session_reads_is_marked():
    for session, read in quiz.reading().items():
        for page, titles in read.items():
            mark = f'<p class="session"><a href="{session}.html">'
            assert (SMOKE / f"{page}.html").read_text().count(mark) == max(len(titles), 1), page


@SMOKE_ONLY
def test_chapters_show_few_tables():
    for page in filter(re.compile(r"\d\d_").match, book.contents()):
        cells = json.loads(pages.executed_notebook(page, "smoke").read_text())["cells"]
        shown = [c for c in cells if not {"remove-cell", "solution"} & {*c["metadata"]["tags"]}]
        found = json.dumps([c.get("outputs") for c in shown]).count("<table")
        assert found <= 15, f"{page} shows {found} tables"


@SMOKE_ONLY
@pytest.mark.parametrize("state", [UNDECIDED, CONTRADICTED])
def test_pages_show_a_box_for_every_claim_that_the_run_does_not_bear_out(state):
    found = Counter(page for page, claim in book.claims("smoke") if claim.state == state)
    title = BOX_TITLES[state]
    boxes = {page: (SMOKE / f"{page}.html").read_text().count(title) for page in book.contents()}
    assert {page: count for page, count in boxes.items() if count} == found


@SMOKE_ONLY
def test_a_run_this_small_leaves_claims_undecided_and_contradicts_none():
    states = Counter(claim.state for _, claim in book.claims("smoke"))
    assert states[UNDECIDED] > 0
    assert states[CONTRADICTED] == 0


def test_failing_notebook_leaves_what_ran_and_no_result(tmp_path):
    source, out = tmp_path / "bad.py", tmp_path / "out" / "bad.ipynb"
    cells = ["n = 1", "print('before')", "raise RuntimeError('planted')"]
    source.write_text('# %% tags=["parameters"]\n' + "\n\n# %%\n".join(cells))
    with pytest.raises(RuntimeError) as failure:
        execute.execute(source, out, "smoke", "cpu", tmp_path / "bad.log")
    message = str(failure.value)
    assert "cell [3]\nraise Run" in message and message.count("RuntimeError: planted") == 1
    assert "bad.failed.ipynb" in message
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["bad.failed.ipynb"]
    assert "before" in (tmp_path / "out" / "bad.failed.ipynb").read_text()


BROKEN = {
    "{numref}`fig-nowhere`": "undefined label: 'fig-nowhere'",
    "{doc}`nothing`": "unknown document: 'nothing'",
    "{term}`baldness`": "term not in glossary: 'baldness'",
    "{cite:t}`transects,nobody`": 'could not find bibtex key "nobody"',
    "[a label](#b-label)": "target not found: 'b-label'",
    "[a file](nothing.md)": "target not found: 'nothing.md'",
    "[a place](data-and-ethics.md#nowhere)": "local id not found in doc 'data-and-ethics'",
    "![An image of which there is no file](x.png)": "image file not readable: x.png",
    "\n\n(a)=\n## A\n\n(a)=\n## B\n": 'Duplicate explicit target name: "a"',
}


def test_book_that_warns_is_not_built_and_the_last_one_stays(small, tmp_path):
    pages = small_pages(tmp_path / "book")
    (pages / "glossary.md").write_text("# Glossary\n\n" + "\n".join(BROKEN))
    (tmp_path / "html").mkdir()
    (tmp_path / "html" / "index.html").write_text("the last good one")
    with pytest.raises(RuntimeError, match="the warnings in its log say why"):
        build(small, tmp_path, pages)
    told = (tmp_path / "book.log").read_text()
    assert [words for words in BROKEN.values() if words not in told] == []
    assert (tmp_path / "html" / "index.html").read_text() == "the last good one"


pages_in_chromium = [
    pytest.mark.browser,
    pytest.mark.skipif(browser.PROGRAM is None, reason="there is no chromium"),
]


@pytest.fixture(scope="session", params=["small", "smoke"])
def site(request):
    """Address and folder of the small book and of the real one."""
    if request.param == "smoke" and not SMOKE.is_dir():
        pytest.skip(UNBUILT)
    html = SMOKE if request.param == "smoke" else request.getfixturevalue("small") / "html"
    with browser.serve(html) as address:
        yield address, html


def leads_on(page: Path) -> bool:
    """Whether a page only leads on to another one."""
    return 'http-equiv="refresh"' in page.read_text(encoding="utf-8").lower()


def names(html: Path) -> list[str]:
    """Every page there is to read; of the pages of source, which are alike, the first and last."""
    every = [path for folder in (".", "api") for path in html.glob(f"{folder}/*.html")]
    own = [path for path in every if not leads_on(path)]
    source = sorted(html.glob("_modules/**/*.html"))
    some = [*own, *source[:1], *source[-1:]]
    return sorted(str(path.relative_to(html)) for path in some)


class TestPages:
    """Every page, at both widths and in both modes."""

    pytestmark = pages_in_chromium

    @pytest.mark.slow
    @pytest.mark.parametrize(("site", "share"), BOOKS, indirect=["site"])
    def test_pages_are_whole_offline_and_accessible(self, chromium, site, share):
        address, html = site
        # The small book has all that is plain, and axe sees its colours there: colours are most of
        # its work.
        plain = PLAIN if html == SMOKE else []
        problems = []
        with chromium.new_page() as tab:
            for name in names(html)[share]:
                with browser.go_to(tab, address + name, browser.DESKTOP) as visit:
                    tab.evaluate(AXE)
                    found = self.misfits(visit)
                    if html == SMOKE:
                        tab.evaluate(UNMARK_CODE)
                    found += self.barriers(visit, plain)
                    tab.set_viewport_size(browser.PHONE)
                    tab.evaluate(NEXT_FRAMES)
                    found += self.misfits(visit)
                    # Colours on their way to the dark are those of neither mode.
                    tab.add_style_tag(content="* { transition: none !important; }")
                    tab.evaluate("document.documentElement.dataset.theme = 'dark'")
                    found += self.barriers(visit, plain)
                    tab.emulate_media(media="print")
                    found += ["prints a solution"] * tab.locator(".solution:visible").count()
                    found += self.mishaps(visit, address)
                    problems += [f"{name}: {what}" for what in found]
        assert problems == []

    def test_links_to_pages_and_files_lead_somewhere(self, site):
        for name in names(site[1]):
            page = site[1] / name
            goals = re.findall(r'<a [^>]*href="([^"#:]+)["#]', page.read_text(encoding="utf-8"))
            lost = {goal for goal in goals if not (page.parent / unquote(goal)).exists()}
            assert lost == set(), name
        first = site[1] / "index.html"
        if leads_on(first):
            (goal,) = re.findall(r'\burl=([\w-]+\.html)"', first.read_text(encoding="utf-8"))
            assert (site[1] / goal).is_file()

    def mishaps(self, visit: browser.Visit, address: str) -> list[str]:
        """Errors and calls to other places since the page was opened."""
        found = [f"page error {error}" for error in visit.errors]
        local = (address, "data:", "blob:")
        return found + [f"asks for {url}" for url in visit.requests if not url.startswith(local)]

    def misfits(self, visit: browser.Visit) -> list[str]:
        """Pictures without words, and what does not fit the window."""
        # The theme's own images (the sign beside the title) are decoration: alt="".
        images = visit.page.evaluate(
            """[...document.images].filter(image => !image.hasAttribute("alt")
               || (image.closest("article") && !(image.alt && image.naturalWidth)))
               .map(image => image.src.slice(0, 100))"""
        )
        found = [f"image without alt text or content: {source}" for source in images]
        overflow = visit.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        if overflow > 0:
            found.append(f"{overflow} px wider than the window")
        cut = visit.page.evaluate(
            """[...document.querySelectorAll(".cell_output figure img:not(.tag_sheet a.scrolls *)")]
               .filter(image => image.getBoundingClientRect().width > innerWidth).length"""
        )
        found += [f"{cut} figures wider than the window"] if cut else []
        twins = visit.page.evaluate(
            """[...document.querySelectorAll(".cell.tag_narrow")].filter(cell =>
                 (cell.getBoundingClientRect().height > 0) !== (innerWidth < 600)).length"""
        )
        found += [f"{twins} figures for a phone on the desktop, or the reverse"] if twins else []
        lost = visit.page.evaluate(
            """[...document.querySelectorAll("table .stays")].filter(label => {
                 const box = label.closest(".text_html, .pst-scrollable-table-container");
                 box.scrollLeft = box.scrollWidth;
                 const edge = label.getBoundingClientRect().left - box.getBoundingClientRect().left;
                 return box.scrollLeft > 0 && edge < -1;
               }).length"""
        )
        return found + ([f"{lost} labels of rows scroll out of sight"] if lost else [])

    def barriers(self, visit: browser.Visit, plain: list[str]) -> list[str]:
        """What axe finds, by all its rules; colours not in what is plain.

        One run lays out its own map of the page once for the rules about colours and for others.
        """
        broken = visit.page.evaluate(RUN_AXE, ", ".join(plain))
        return [f"axe {rule}: {nodes}" for rule, nodes in broken]

    def test_sliders_move_their_frames_without_a_kernel(self, chromium, site):
        address, html = site
        chapters = [name for name in names(html) if "/" not in name]
        with_sliders = [n for n in chapters if "SelectionSlider" in (html / n).read_text()]
        assert with_sliders
        with chromium.new_page() as tab:
            for name in with_sliders:
                self.move_a_slider(tab, address + name)

    def move_a_slider(self, tab: Page, address: str) -> None:
        with browser.go_to(tab, address, browser.DESKTOP):
            widget = tab.locator(".widget-subarea").first
            handle = widget.get_by_role("slider").first
            # Each `expect` waits: a widget draws itself after its page has loaded.
            expect(handle).to_have_attribute("aria-label", re.compile("."))
            expect(handle).to_have_attribute("aria-valuetext", re.compile("."))
            first = handle.get_attribute("aria-valuetext")
            expect(self.frames(widget, first)).not_to_have_count(0)
            handle.press("ArrowRight")
            expect(handle).not_to_have_attribute("aria-valuetext", first)
            second = handle.get_attribute("aria-valuetext")
            expect(self.frames(widget, second)).not_to_have_count(0)
            expect(self.frames(widget, first)).to_have_count(0)

    def frames(self, widget: Locator, label: str) -> Locator:
        return widget.locator(f'img[alt$=": {label}"]:visible')

    def test_after_a_guess_every_control_changes_what_is_shown(self, chromium, site):
        address, html = site
        pages = [n for n in names(html) if 'class="explorable"' in (html / n).read_text()]
        assert pages
        with chromium.new_page() as tab:
            for name in pages:
                self.change_what_is_shown(tab, address + name)

    def change_what_is_shown(self, tab: Page, address: str) -> None:
        with browser.go_to(tab, address, browser.PHONE) as visit:
            for figure in tab.locator("figure.explorable").all():
                if figure.locator(".guess").count():
                    expect(figure.locator(".body")).to_be_hidden()
                    figure.locator(".guess button").first.click()
                view = figure.locator(".view")
                for control in figure.locator(".body :is(input, .choices button)").all():
                    before = view.inner_html()
                    kind = control.get_attribute("type")
                    control.press("ArrowRight" if kind == "range" else "Space")
                    if kind == "range" and view.inner_html() == before:
                        control.press("ArrowLeft")  # it stood at its end
                    expect(view).not_to_have_js_property("innerHTML", before)
            assert not visit.errors

    def test_dark_mode_leaves_pictures_alone(self, chromium):
        """The theme dims images and raises their contrast, which changes the colours of skin."""
        styles = "theme/pydata_sphinx_theme/static/styles/pydata-sphinx-theme.css"
        theme = (Path(pydata_sphinx_theme.__file__).parent / styles).read_text(encoding="utf-8")
        ours = (book.BOOK / "_static" / "book.css").read_text(encoding="utf-8")
        html = "<body class='bd-content'><div class='widget-html-content'><img></div></body>"
        with chromium.new_page() as page:
            for sheets, filtered in (
                ((theme,), True),
                ((theme, ours), False),
                ((ours, theme), False),
            ):
                page.set_content("".join(f"<style>{sheet}</style>" for sheet in sheets) + html)
                page.evaluate("document.documentElement.dataset.theme = 'dark'")
                filters = page.locator("img").evaluate("image => getComputedStyle(image).filter")
                assert (filters != "none") == filtered

    def test_widget_state_stays_small(self, site):
        _, html = site
        for name in names(html):
            state = (html / name).read_text().split("widget-state+json")
            assert sum(map(len, state[1:])) < 1.5e6, name

    @SMOKE_ONLY
    def test_a_search_shows_pages_that_explain_before_the_reference(self, chromium):
        links = "#search-results li a"
        with browser.serve(SMOKE) as address, chromium.new_page() as tab:
            tab.goto(f"{address}search.html?q=dual+basis")
            summary = tab.locator(".search-summary")
            expect(summary).to_contain_text("Search finished", timeout=60_000)
            found = tab.locator(links).evaluate_all(
                "links => links.map(link => link.getAttribute('href'))"
            )
        is_reference = ["api/" in address for address in found]
        assert any(is_reference) and is_reference == sorted(is_reference)
