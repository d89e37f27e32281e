"""Build the static book of one profile from its executed notebooks; `run.py` calls it.

Reads book/ and artifacts/<profile>/<stage>/<stage>.ipynb for the chapters that book/_toc.yml
names, and leaves build/<profile>/html. A warning is an error; then the pages of the last good
build stay as they are.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import api_reference
import vendor
import yaml

from helpers import artifacts
from helpers.artifacts import lineage, manifests
from helpers.artifacts.lineage import ROOT
from helpers.claims import Claim, of_page, with_minus
from helpers.utils.parallel import alone

BOOK = ROOT / "book"
BENCHMARKS = ROOT / "benchmarks" / "results"
TOOLS = ROOT / "tools"
RECORD = "made_from.json"
BETWEEN_TAGS = re.compile(r"(?<=>)[^<>]+(?=</t[dh]>)")
"""What stands in a cell of a table."""

HEADS = {"seconds": "CPU seconds, least of three", "ratio": "times the first of its size"}
"""Heads of a benchmark's columns, where they are not what the record calls them."""


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
        if not notebook.is_file():
            raise FileNotFoundError(f"{notebook} is missing: the chapter {page} was not run")
        text = told(notebook.read_text(encoding="utf-8"))
        (source / notebook.name).write_text(text, encoding="utf-8")


def told(executed: str) -> str:
    """An executed notebook, whose tables and sentences have minus signs as those of claims do.

    What cells print as text stays, because that is what somebody who runs the code sees.
    """
    notebook = json.loads(executed)
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text/markdown" in data:
                data["text/markdown"] = with_minus("".join(data["text/markdown"]))
            if "text/html" in data:
                html = "".join(data["text/html"])
                data["text/html"] = BETWEEN_TAGS.sub(lambda part: with_minus(part[0]), html)
    return json.dumps(notebook)


def contents(book: Path = BOOK) -> list[str]:
    """The pages of the table of contents."""
    return list(_files(yaml.safe_load((book / "_toc.yml").read_text(encoding="utf-8"))))


def _files(toc: dict | list) -> Iterator[str]:
    """Names of all files in a table of contents, in reading order."""
    for entry in toc if isinstance(toc, list) else [toc]:
        yield from (entry[key] for key in ("root", "file") if key in entry)
        for key in ("parts", "chapters", "sections"):
            yield from _files(entry.get(key, []))


def claims(profile: str, among: Iterable[str] | None = None) -> Iterator[tuple[str, Claim]]:
    """What the book says was found, page by page, as far as a profile's pages were executed.

    Raises:
        ValueError: an executed page is damaged.
    """
    for page in contents() if among is None else among:
        notebook = manifests.executed(page, profile)
        try:
            found = list(of_page(notebook)) if notebook.is_file() else []
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(f"{notebook} is damaged; {manifests.rerun(profile)}") from None
        yield from ((page, claim) for claim in found)


def benchmark_text(record: dict) -> str:
    """A benchmark's table, what was measured and on what, for book/benchmarks.md to include."""
    columns = [name for name in record["rows"][0] if name != "what"]
    rows = [[row["what"], *(_shown(row[name]) for name in columns)] for row in record["rows"]]
    machine = ", ".join(f"{name} {value}" for name, value in record["machine"].items())
    facts = [*record["facts"].items(), ("machine", machine)]
    head = ["", *(HEADS.get(name, name) for name in columns)]
    return f"{_table(head, rows)}\n{_table(['what was measured', ''], facts, '---')}"


def _table(head: list[str], rows: list, numbers: str = "---:") -> str:
    lines = [head, ["---", *[numbers] * (len(head) - 1)], *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def _shown(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value >= 1000 else with_minus(f"{value:.3g}")


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def pages_of(profile: str) -> Path:
    """The folder of a profile's pages."""
    return ROOT / "build" / profile / "html"


def basis(profile: str) -> dict[str, str]:
    """SHA-256 of everything that the pages are made from."""
    tools = [TOOLS / f"{name}.py" for name in ("book", "api_reference", "vendor")]
    texts = [path for path in BOOK.rglob("*") if vendor.VENDOR not in path.parents]
    executed = (artifacts.root() / profile).glob("*/*.ipynb")
    notebooks = [path for path in executed if path.stem == path.parent.name]
    package = lineage.SOURCE.rglob("*.py")
    files = [*tools, *texts, *package, *BENCHMARKS.glob("*.*")]
    names = {os.path.relpath(path, ROOT): path for path in files if path.is_file()}
    # They are called the same wherever `HELPERS_ARTIFACTS` is.
    names |= {f"artifacts/{path.relative_to(artifacts.root())}": path for path in notebooks}
    return {name: lineage.file_hash(path) for name, path in sorted(names.items())}


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
    with alone(html.parents[1] / ".lock", partial(print, flush=True)):
        html.with_name(RECORD).unlink(missing_ok=True)
        artifacts.sweep(html.parent)
        vendor.vendor()
        build(artifacts.root() / profile, html.parent)
        with artifacts.atomic(html.with_name(RECORD)) as temporary:
            temporary.write_text(json.dumps(made_from, indent=1) + "\n", encoding="utf-8")


def build(executed: Path, out: Path, book: Path = BOOK) -> None:
    """Build `out`/html from the pages in `book` and the notebooks in `executed`.

    Raises:
        FileNotFoundError: a chapter was not run.
        RuntimeError: jupyter-book failed or warned; its words are on stderr.
    """
    source, work, html = out / "source", out / "work", out / "html"
    assemble(executed, source, book)
    shutil.rmtree(work, ignore_errors=True)
    program = Path(sys.executable).with_name("jupyter-book")
    options = ["--path-output", work, "-W", "-n", "--keep-going", "-q"]
    # Sphinx finds its extension api_reference here.
    environment = {**os.environ, "PYTHONPATH": str(TOOLS)}
    command = [program, "build", source, *options]
    if subprocess.run(command, env=environment).returncode:
        raise RuntimeError("the book was not built; the warnings in its log say why")
    shutil.rmtree(html, ignore_errors=True)
    # No page leads to the list of all source pages, which no screen reader can read out.
    (work / "_build" / "html" / "_modules" / "index.html").unlink(missing_ok=True)
    (work / "_build" / "html").rename(html)
