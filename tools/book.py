"""Build the static book of one profile from its executed notebooks; `run.py` calls it.

Reads book/ and artifacts/<profile>/<stage>/<stage>.ipynb for the chapters that book/_toc.yml
names, and leaves build/<profile>/html. A warning is an error; then the pages of the last good
build stay as they are.
"""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import api_reference
import vendor

from faceaudit.utils.files import alone, file_hash, write_json
from faceaudit.utils.formatting import with_minus
from helpers.artifacts import lineage, manifests, pages
from helpers.claims import Claim, claims_of_page

BOOK = lineage.ROOT / "book"
BENCHMARKS = lineage.ROOT / "benchmarks" / "results"
TOOLS = lineage.ROOT / "tools"
RECORD = "made_from.json"
SOURCES = "sources"
"""Folder of the pages that holds the sources of notebooks, which pages offer for download."""
IN_CELL = re.compile(r"(?<=>)[^<>]+(?=</t[dh]>)")  # of a table
MINUTES = re.compile(r"\{\{minutes (\w+)\}\}")  # of the page that is named
# Heads of a benchmark's columns, where they are not what the record calls them.
HEADS = {"seconds": "CPU seconds, least of three", "ratio": "times the first of its size"}


def assemble(executed: Path, source: Path, book: Path = BOOK) -> None:
    """Put the text pages and the executed notebooks together in the fresh folder `source`.

    Raises:
        FileNotFoundError: a page of the table of contents exists neither as text nor executed.
    """
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(book, source, ignore=shutil.ignore_patterns("complete"))
    for record in BENCHMARKS.glob("*.json"):
        text = benchmark_text(json.loads(record.read_text(encoding="utf-8")))
        (source / f"_{record.stem}.txt").write_text(text, encoding="utf-8")
    for drawing in BENCHMARKS.glob("*.svg"):
        shutil.copy2(drawing, source / f"_{drawing.name}")
    api_reference.write(source)
    for page in contents(book):
        if any((source / f"{page}{suffix}").is_file() for suffix in (".md", ".rst")):
            continue
        notebook = executed / page / f"{page}.ipynb"
        text = told(notebook.read_text(encoding="utf-8"))
        text = with_minutes(text, page, executed)
        (source / notebook.name).write_text(with_source(text, page, source), encoding="utf-8")
        keep_picture(text, source / f"_{page}")


def with_source(executed: str, page: str, source: Path) -> str:
    """An executed notebook whose end leads to its source, and to how it is opened in JupyterLab.

    Args:
        executed: the notebook.
        page: its name.
        source: folder of the pages, to which the source is copied.
    """
    origin = lineage.notebooks().get(page)
    if origin is None:  # the small book of the tests
        return executed
    (source / SOURCES).mkdir(exist_ok=True)
    shutil.copy2(origin, source / SOURCES / origin.name)
    notebook = json.loads(executed)
    link = f"{{download}}`{origin.name} <{SOURCES}/{origin.name}>`"
    last = f"*Source of this page: {link}. [Open it in JupyterLab](open-a-chapter).*"
    cell = {"cell_type": "markdown", "id": "source-of-page", "metadata": {}, "source": last}
    notebook["cells"].append(cell)
    return json.dumps(notebook)


def keep_picture(executed: str, path: Path) -> None:
    """Keep the first picture of an executed notebook, for the tile of its page.

    Raises:
        ValueError: a picture without an alt text or a caption, which the one for phones needs not.
    """
    pictures = []
    for cell in json.loads(executed)["cells"]:
        shown = {k: v for one in cell.get("outputs", []) for k, v in one.get("data", {}).items()}
        # The kind of a figure that is glued elsewhere begins with other words.
        drawn = [(k[-3:], v) for k, v in shown.items() if k.endswith(("jpeg", "svg+xml"))]
        about, tags = (cell["metadata"].get(name, {}) for name in ("mystnb", "tags"))
        caption = about.get("figure", {}).get("caption") or "narrow" in tags
        if drawn and not (len(about.get("image", {}).get("alt", "")) >= 20 and caption):
            raise ValueError(f"{path.stem}: a picture needs mystnb.image.alt and figure.caption")
        pictures += drawn
    for kind, drawn in pictures[:1]:
        content = "".join(drawn).encode() if kind == "xml" else base64.b64decode(drawn)
        path.with_suffix(".svg" if kind == "xml" else ".jpg").write_bytes(content)


def with_minutes(text: str, page: str, executed: Path) -> str:
    """A page's text, which says how long it takes: itself, also with its code, or other pages."""
    own = f"{minutes(page, executed)} minutes, with the code {minutes(page, executed, True)}"
    text = text.replace("{{minutes}} minutes", own)
    return MINUTES.sub(lambda found: str(minutes(found[1], executed)), text)


def minutes(page: str, executed: Path, with_code: bool = False) -> int:
    """How long a page takes to read slowly: its words, figures and tables, and its visible code."""
    from check import FOLDED, Notebook, words  # with jupytext, which the runner does without

    path = executed / page / f"{page}.ipynb"
    notebook, cells = Notebook(path), json.loads(path.read_text(encoding="utf-8"))["cells"]
    shown = [one.get("data", {}) for cell in cells for one in cell.get("outputs", [])]
    told = sum(len("".join(data.get("text/markdown", "")).split()) for data in shown)
    seen = sum(bool(cell.caption) for cell in notebook.code) + str(shown).count("<table")
    lines = sum(cell.lines for cell in notebook.code if not cell.tags & {*FOLDED, "solution"})
    of_code = lines / 20 if with_code else 0
    return round((words(notebook) + told) / 150 + seen / 2 + of_code)


def told(executed: str) -> str:
    """An executed notebook, whose tables and sentences have minus signs as those of claims do.

    What cells print as text stays, because that is what somebody who runs the code sees.
    """
    cells = (notebook := json.loads(executed))["cells"]
    for data in (one.get("data", {}) for cell in cells for one in cell.get("outputs", [])):
        if text := "".join(data.get("text/markdown", "")):
            data["text/markdown"] = with_minus(text)
        if html := "".join(data.get("text/html", "")):
            data["text/html"] = IN_CELL.sub(lambda part: with_minus(part[0]), html)
    return json.dumps(notebook)


def contents(book: Path = BOOK) -> list[str]:
    """The pages of the table of contents, in reading order."""
    toc = (book / "_toc.yml").read_text(encoding="utf-8")
    return re.findall(r"^[\s-]*(?:root|file): *(\S+)", toc, re.MULTILINE)


def claims(profile: str, among: Iterable[str] | None = None) -> Iterator[tuple[str, Claim]]:
    """What the book says was found, page by page, as far as a profile's pages were executed.

    Raises:
        ValueError: an executed page is damaged.
    """
    for page in contents() if among is None else among:
        notebook = pages.executed_notebook(page, profile)
        try:
            found = list(claims_of_page(notebook)) if notebook.is_file() else []
        except ValueError:
            raise ValueError(f"{notebook} is damaged; {manifests.rerun(profile)}") from None
        yield from ((page, claim) for claim in found)


def benchmark_text(record: dict) -> str:
    """A benchmark's table, what was measured and on what, for book/benchmarks.md to include."""
    columns = [name for name in record["rows"][0] if name != "what"]
    if any([*row] != ["what", *columns] for row in record["rows"]):
        raise ValueError(f"rows of a benchmark differ in their columns: {columns} were expected")
    head = ["", *(HEADS.get(name, name) for name in columns)], ["---", *["---:"] * len(columns)]
    rows = [[row["what"], *(_shown(row[name]) for name in columns)] for row in record["rows"]]
    machine = ", ".join(f"{name} {value}" for name, value in record["machine"].items())
    facts = [*record["facts"].items(), ("machine", machine)]
    tables = [*head, *rows], [("what was measured", ""), ("---", "---"), *facts]
    return "\n".join("".join(f"| {' | '.join(map(str, r))} |\n" for r in rows) for rows in tables)


def _shown(value: float | str | None) -> str:
    if value is None:  # what a row does not have
        return ""
    number = "" if isinstance(value, str) else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    return with_minus(number) or value


def pages_of(profile: str) -> Path:
    """The folder of a profile's pages."""
    return lineage.ROOT / "build" / profile / "html"


def basis(profile: str) -> dict[str, str]:
    """SHA-256 of everything that the pages are made from."""
    artifacts = manifests.root()
    texts = [path for path in BOOK.rglob("*") if vendor.VENDOR not in path.parents]
    texts += (lineage.ROOT / "course").rglob("*")
    files = [*TOOLS.glob("*.py"), *texts, *BENCHMARKS.glob("*.*")]
    files += [*lineage.SOURCE.rglob("*.py"), *lineage.SOURCE.rglob("*.pyi")]
    names = {os.path.relpath(path, lineage.ROOT): path for path in files if path.is_file()}
    # They are called the same wherever `HELPERS_ARTIFACTS` is.
    executed = (p for p in artifacts.glob(f"{profile}/*/*.ipynb") if p.stem == p.parent.name)
    names |= {f"artifacts/{path.relative_to(artifacts)}": path for path in executed}
    return {name: file_hash(path) for name, path in sorted(names.items())}


def why_stale(profile: str) -> str | None:
    """Say why the pages must be built again; None if they need not be."""
    html = pages_of(profile)
    try:
        then = json.loads(html.with_name(RECORD).read_text(encoding="utf-8"))
        if gone := [page for page in contents() if not (html / f"{page}.html").is_file()]:
            return f"gone: {', '.join(gone)}"
        now = basis(profile)
        changed = [name for name in {**then, **now} if then.get(name) != now.get(name)]
    except (OSError, ValueError, AttributeError):
        return "the pages were not built, or not finished"
    more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
    return f"changed: {', '.join(changed[:3])}{more}" if changed else None


def run(profile: str) -> None:
    """Build a profile's pages, and record what they were made from; raises as `build`."""
    html, made_from = pages_of(profile), basis(profile)
    # Runs of two profiles fetch to one place, and those with other artifacts build in one.
    with alone(html.parents[1] / ".lock", print):
        html.with_name(RECORD).unlink(missing_ok=True)
        manifests.sweep(html.parent)
        vendor.vendor()
        build(manifests.root() / profile, html.parent)
        shutil.copytree(html.with_name("course") / "downloads", html, dirs_exist_ok=True)
        write_json(html.with_name(RECORD), made_from)


def build(executed: Path, out: Path, book: Path = BOOK) -> None:
    """Build `out`/html from the pages in `book` and the notebooks in `executed`.

    Raises:
        FileNotFoundError: a chapter was not run.
        RuntimeError: Sphinx failed or warned; its words are on stderr.
    """
    from sphinx.cmd.build import main as sphinx  # a third of a second that the runner saves

    source, work, html = out / "source", out / "work", out / "html"
    assemble(executed, source, book)
    shutil.rmtree(work, ignore_errors=True)
    # `jupyter-book build` has no option for several processes.
    # No console script: its first line names Python, and not every path may stand there.
    program = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()"]
    words = ["config", "sphinx", str(source)]
    subprocess.run([*program, *words], check=True, stdout=subprocess.DEVNULL)
    # In this process: the runner's has what the API reference imports, and Sphinx's forks share it.
    words = ["-jauto", "-bhtml", "-W", "-n", "--keep-going", "-q", f"-d{work / 'doctrees'}"]
    if sphinx([*words, str(source), str(work / "html")]):
        raise RuntimeError("the book was not built; the warnings in its log say why")
    shutil.rmtree(html, ignore_errors=True)
    # No page leads to the list of all source pages, which no screen reader can read out, nor to
    # other languages' words (.mo, .po), and maps of scripts (.map) are for those who write them.
    for extra in [*work.glob("html/_modules/index.html"), *work.glob("html/**/*.[mp]*[op]")]:
        extra.unlink()
    (work / "html").rename(html)
