"""The page that says of every row of the papers where it is here."""

import csv
import importlib.util
import re

import pytest

import book
from helpers.artifacts.lineage import ROOT, notebooks

STATES = ["right", "differs", "part", "refused"]
TABLE = book.BOOK / "papers.csv"
ROWS = list(csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines()))
LABEL = re.compile(r'^(?:# )?\(([\w-]+)\)=$|(?:"name": "|^# :name: )(fig-[\w-]+)', re.MULTILINE)
LINK, SPAN = re.compile(r"\]\(#?([^)]+)\)"), re.compile(r"(?:\{([\w:]+)\})?`([^`]+)`")


@pytest.fixture(scope="module")
def goals() -> set[str]:
    """Pages of the book, and labels in them."""
    sources = [*notebooks().values(), *book.BOOK.glob("*.md")]
    found = (LABEL.findall(path.read_text(encoding="utf-8")) for path in sources)
    labels = {name for some in found for pair in some for name in pair if name}
    return {*book.contents(), *labels}


def test_every_row_is_told_once_and_whole():
    assert len({row["id"] for row in ROWS}) == len(ROWS) == 175
    for row in ROWS:
        assert row["state"] in STATES and row["what"].endswith((".", "?")), row["id"]
        assert bool(row["reason"]) == (row["state"] != "right"), row["id"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_its_places_exist(goals, row):
    spans = [*((None, name) for name in LINK.findall(row["where"])), *SPAN.findall(row["where"])]
    assert spans
    for role, name in spans:
        if role == "py:mod":
            assert importlib.util.find_spec(name)
        elif role == "":
            assert (ROOT / name).is_file()
        else:
            assert name in goals


def test_counts_add_up_and_every_row_is_on_the_page():
    html = (ROOT / "build" / "smoke" / "html" / "what-of-the-papers.html").read_text("utf-8")
    cells = re.findall(r"<td[^>]*><p>(.*?)</p></td>", html)
    assert [cell for cell in cells if re.fullmatch(r"[A-Z]\d+", cell)] == [r["id"] for r in ROWS]
    counts = cells[cells.index("all") + 1 :][: len(STATES) + 1]
    assert [*map(int, counts)] == [*(sum(r["state"] == s for r in ROWS) for s in STATES), 175]
