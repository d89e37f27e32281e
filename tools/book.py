"""Build the static book of one profile from its executed notebooks.

    python tools/book.py --profile laptop

Reads book/ and artifacts/<profile>/<stage>/<stage>.ipynb for the chapters that book/_toc.yml
names, and leaves build/<profile>/html. A warning is an error; then the pages of the last good
build stay as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import api_reference
import plan
import yaml
from check import pages

from helpers import artifacts
from helpers.artifacts.lineage import ROOT

BOOK = ROOT / "book"
BENCHMARKS = ROOT / "benchmarks" / "results"
HEADS = {"seconds": "CPU seconds, least of three", "ratio": "times the first row"}
"""Heads of a benchmark's columns, where they are not what the record calls them."""

MOVED = {
    "10_sensitivity_flips": "15_sensitivity_flips",
    "11_verification_curves": "16_verification_measures",
    "12_truth_scorecard": "11_truth_scorecard",
    "14_planning_and_transport": "12_planning",
    "15_hidden_confounders": "14_hidden_attributes",
}
"""Former names of pages, under which readers may have kept them, and where they are now."""

# The part after # comes along where scripts run. Nothing is loaded.
LEADS_ON = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>This page has moved</title>
<script>location.replace("{page}" + location.hash)</script>
<noscript><meta http-equiv="refresh" content="0; url={page}"></noscript>
</head>
<body><p>This page has moved to <a href="{page}">{page}</a>.</p></body>
</html>
"""


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
    for page in pages(yaml.safe_load((book / "_toc.yml").read_text(encoding="utf-8"))):
        if any((source / f"{page}{suffix}").is_file() for suffix in (".md", ".rst")):
            continue
        notebook = executed / page / f"{page}.ipynb"
        if not notebook.is_file():
            raise FileNotFoundError(f"{notebook} is missing: the chapter {page} was not run")
        shutil.copy2(notebook, source)


def benchmark_text(record: dict) -> str:
    """A benchmark's table, what was measured and on what, for book/benchmarks.md to include."""
    facts, machine = (
        "; ".join(f"{name} {value}" for name, value in record[part].items())
        for part in ("facts", "machine")
    )
    columns = [name for name in record["rows"][0] if name != "what"]
    rows = [
        " | ".join([f"| {row['what']}", *(_number(row[name]) for name in columns), ""]).rstrip()
        for row in record["rows"]
    ]
    heads = " | ".join(HEADS.get(name, name) for name in columns)
    head = [f"| | {heads} |", "|---|" + "---:|" * len(columns)]
    return "\n".join([*head, *rows, "", f"Measured: {facts}.", "", f"Machine: {machine}.", ""])


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def build(executed: Path, out: Path, book: Path = BOOK) -> Path:
    """Build `out`/html from the pages in `book` and the notebooks in `executed`; returns it.

    Raises:
        FileNotFoundError: a chapter was not run.
        subprocess.CalledProcessError: jupyter-book failed or warned; its words are on stderr.
    """
    source, work, html = out / "source", out / "work", out / "html"
    assemble(executed, source, book)
    shutil.rmtree(work, ignore_errors=True)
    program = Path(sys.executable).with_name("jupyter-book")
    options = ["--path-output", work, "-W", "-n", "--keep-going", "-q"]
    # Sphinx finds its extension api_reference here.
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    subprocess.run([program, "build", source, *options], check=True, env=environment)
    shutil.rmtree(html, ignore_errors=True)
    lead_on(work / "_build" / "html")
    # Nothing leads to the list of all source pages, which is no list that one could listen to.
    (work / "_build" / "html" / "_modules" / "index.html").unlink(missing_ok=True)
    (work / "_build" / "html").rename(html)
    return html


def lead_on(html: Path) -> None:
    """At the former address of every page that is in the book, leave a page that leads to it."""
    for old, new in MOVED.items():
        if (html / f"{new}.html").is_file():
            (html / f"{old}.html").write_text(LEADS_ON.format(page=f"{new}.html"), "utf-8")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", required=True)
    profile = parser.parse_args(arguments).profile
    started = time.monotonic()
    try:
        build(artifacts.root() / profile, ROOT / "build" / profile)
    except FileNotFoundError as error:
        raise SystemExit(f"{error}; run `make reproduce PROFILE={profile}`") from None
    except subprocess.CalledProcessError:
        raise SystemExit("the book was not built; the warnings above say why") from None
    plan.record(profile, "book", time.monotonic() - started)


if __name__ == "__main__":
    main(sys.argv[1:])
