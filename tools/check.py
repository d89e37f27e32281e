"""Check the book's conventions in seconds, without running anything: `python tools/check.py`.

Each rule is one function that yields problems; a notebook is read from its py:percent source.
What the rules mean by a word:

- *Prose* of a markdown cell is its text without headings, directive fences and options, labels,
  comments, tables, code, equations and link addresses.
- *Lines of code* are those that are neither blank nor a comment; the balance of prose and code
  leaves the cell of imports out. Cells tagged `hide-cell`, `hide-input`, `remove-cell` or
  `remove-input` are folded or gone; they do not count for the balance of prose and code. Of those
  tagged `remove-input`, which a reader knows by their output, only the largest size is limited.
- A *figure cell* calls `plt`, `sns`, `helpers.figures` (except `style`), what it imports from a
  room's `figures`, or a `.plot` method.
"""

from __future__ import annotations

import ast
import re
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import jupytext

from helpers.artifacts.lineage import ROOT

MOST_CODE = {"src/facerender": 3000, "src/helpers": 12_200, "src/faceaudit": 4500, "tools": 1100}
"""Folder → lines of its code at most, without docstrings, comments and blanks. They only fall: what
would grow past its limit throws something out first."""
MEDIAN_LINES, MOST_LINES, MAX_LINES = 5, 15, 30
WORDS_PER_LINE = (10, 20)
CELL_WORDS = (25, 120)
MIN_ALT = 20
SECTIONS = (
    "question",
    "design contract",
    "prerequisites",
    "what would change our mind",
    "exercises",
    "takeaways",
)
HIDDEN = {"hide-cell", "hide-input", "remove-cell", "remove-input"}
NOT_DRAWING = {"style", "look", "as_pixels"}

UNITS = (
    r"%|per\s?cent|percent|(?:percentage )?points?\b|pp\b|px\b|pixels?|images?\b|faces?\b|"
    r"transects?\b|raters?\b|annotators?\b|annotations?\b|samples?\b|epochs?\b|"
    r"ms\b|s\b|seconds?\b|min\b|minutes?\b|hours?\b|h\b|[kMG]B\b|°|degrees?\b|cores?\b|"
    r"[×x](?!\w|\s*\d)|times\b|-fold"
)
MEASURED = re.compile(rf"(?<![\w.×])[−-]?\d[\d,.]*(?:\s|-|–)*(?:{UNITS})", re.IGNORECASE)
# The level of every interval in the book is a definition, not a measurement.
NOMINAL = re.compile(r"95\s?%(?=\s(?:[\w-]+\s){0,3}intervals?)")
FROM_PAPER = "<!-- paper -->"

LINK = re.compile(r"(!?)\[([^\]]*)\]\(<?([^)\s>]*)>?(?:\s+\"[^\"]*\")?\)")
ROLE = re.compile(r"\{(ref|numref|eq|doc|term|cite(?::\w+)?)\}`([^`]+)`")


@dataclass(frozen=True)
class Cell:
    """One cell of a notebook and where it stands in it."""

    place: str
    kind: str
    source: str
    metadata: dict

    @property
    def tags(self) -> set[str]:
        return set(self.metadata.get("tags", []))

    @cached_property
    def code_lines(self) -> int:
        lines = (line.strip() for line in self.source.splitlines())
        return sum(bool(line) and not line.startswith("#") for line in lines)

    @cached_property
    def words(self) -> int:
        return len(re.findall(r"\w[\w'’\-–]*", prose(self.source)))


class Notebook:
    """A notebook's source and the cells in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        read = jupytext.read(path).cells
        self.cells = [
            Cell(f"{path.name} cell {number}", cell.cell_type, cell.source, dict(cell.metadata))
            for number, cell in enumerate(read, 1)
        ]
        self.code = [cell for cell in self.cells if cell.kind == "code"]
        self.markdown = [cell for cell in self.cells if cell.kind == "markdown"]

    @cached_property
    def drawing(self) -> set[str]:
        """Names imported from a room's `figures`, and the notebook's own functions that draw."""
        imported = {
            name.asname or name.name
            for cell in self.code
            for statement in statements(cell)
            if isinstance(statement, ast.ImportFrom)
            and re.fullmatch(r"helpers\.(\w+\.)?figures", statement.module or "")
            for name in statement.names
            if name.name not in NOT_DRAWING
        }
        defined = {
            statement.name
            for cell in self.code
            for statement in statements(cell)
            if isinstance(statement, ast.FunctionDef) and calls_drawing([statement], imported)
        }
        return imported | defined

    @property
    def is_chapter(self) -> bool:
        return self.path.name[:2].isdigit()

    @cached_property
    def ratio(self) -> float:
        """Words of prose per line of code that a reader sees."""
        # The first cell holds the imports, which need no explaining.
        lines = sum(cell.code_lines for cell in self.code[1:] if not cell.tags & HIDDEN)
        return sum(cell.words for cell in self.markdown) / max(lines, 1)


def prose(markdown: str) -> str:
    """What a reader reads of a piece of MyST markdown (see the top of this file)."""
    text = re.sub(r"<!--.*?-->", "", without_code(markdown), flags=re.DOTALL)
    text = re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$", "", text, flags=re.DOTALL)
    text = re.sub(r"^\s*(#|:::|`{3}|:\w+:|\||\(\S+\)=).*$", "", text, flags=re.MULTILINE)
    text = ROLE.sub(lambda role: "" if role[1].startswith("cite") else role[2], text)
    text = LINK.sub(lambda link: link[2], text)
    return re.sub(r"`[^`]*`", "", text)


def without_code(markdown: str) -> str:
    """The text without fenced code; other directives stay, because their bodies are prose."""
    kept, open_fences = [], []
    for line in markdown.splitlines():
        fence = re.match(r"\s*(`{3,}|~{3,})(.*)$", line)
        if fence and open_fences and not fence[2].strip():
            code = open_fences.pop()
        elif fence:
            code = not re.match(r"\{(?!math|code)", fence[2])
            open_fences.append(code)
        else:
            code = any(open_fences)
        kept.append("" if code else line)
    return "\n".join(kept)


def pairing(notebook: Notebook) -> Iterator[str]:
    """The .ipynb holds the cells of the .py source and no outputs."""
    pair = notebook.path.with_suffix(".ipynb")
    if not pair.is_file():
        yield f"{pair.name}: is missing; run `make notebooks`"
        return
    paired = jupytext.read(pair).cells
    for number, cell in enumerate(paired, 1):
        if cell.get("outputs") or cell.get("execution_count") is not None:
            yield f"{pair.name} cell {number}: holds outputs; run `make notebooks`"
    here = [(cell.kind, cell.source.strip(), cell.metadata) for cell in notebook.cells]
    there = [(cell.cell_type, cell.source.strip(), dict(cell.metadata)) for cell in paired]
    if here != there:
        same = (a == b for a, b in zip(here, there, strict=False))
        number = next((k for k, equal in enumerate(same, 1) if not equal), 1 + len(paired))
        yield f"{pair.name} cell {number}: differs from its .py; run `make notebooks`"


def opening(notebook: Notebook) -> Iterator[str]:
    """Imports first, then one `parameters` cell of plain scalars."""
    tagged = [cell for cell in notebook.code if "parameters" in cell.tags]
    if len(tagged) != 1:
        yield f"{notebook.path.name}: {len(tagged)} cells tagged parameters, expected one"
        return
    if notebook.code[1:2] != tagged:
        yield f"{tagged[0].place}: parameters must follow the one cell of imports"
    if not all(isinstance(s, ast.Import | ast.ImportFrom) for s in statements(notebook.code[0])):
        yield f"{notebook.code[0].place}: the first code cell holds imports only"
    for statement in statements(tagged[0]):
        if not (isinstance(statement, ast.Assign) and is_scalar(statement.value)):
            text = ast.unparse(statement)
            yield f"{tagged[0].place}: `{text}` is no `name = plain scalar`"


def cell_sizes(notebook: Notebook) -> Iterator[str]:
    """Median cell, nine cells in ten, and every cell stay small."""
    sizes = sorted(cell.code_lines for cell in notebook.code if "remove-input" not in cell.tags)
    if not sizes:
        return
    if (median := statistics.median(sizes)) > MEDIAN_LINES:
        yield f"{notebook.path.name}: median cell has {median:g} lines, over {MEDIAN_LINES}"
    if sum(size <= MOST_LINES for size in sizes) < 0.9 * len(sizes):
        yield f"{notebook.path.name}: over a tenth of cells exceed {MOST_LINES} lines"
    for cell in notebook.code:
        if cell.code_lines > MAX_LINES:
            yield f"{cell.place}: {cell.code_lines} lines of code, over {MAX_LINES}"


def balance(notebook: Notebook) -> Iterator[str]:
    """Prose explains the code, at a length that is read."""
    low, high = WORDS_PER_LINE
    if notebook.is_chapter and not low <= notebook.ratio <= high:
        what = f"{notebook.ratio:.1f} words of prose per line of code, expected {low} to {high}"
        yield f"{notebook.path.name}: {what}"
    low, high = CELL_WORDS
    for cell in notebook.markdown:
        # Headings alone are fine, and an exercise may be one short sentence.
        short = 0 < cell.words < low and not re.search(r"\{(exercise|solution)", cell.source)
        if short or cell.words > high:
            yield f"{cell.place}: {cell.words} words of prose, expected {low} to {high}"


def alt_text(notebook: Notebook) -> Iterator[str]:
    """Every figure cell carries an alt text and a caption in its metadata."""
    for cell in notebook.code:
        mystnb = cell.metadata.get("mystnb", {})
        if not (mystnb or draws(cell, notebook.drawing)):
            continue
        alt = mystnb.get("image", {}).get("alt", "")
        if len(alt) < MIN_ALT:
            yield f"{cell.place}: a figure needs mystnb.image.alt of {MIN_ALT} characters"
        if not mystnb.get("figure", {}).get("caption"):
            yield f"{cell.place}: a figure needs mystnb.figure.caption"


def sections(notebook: Notebook) -> Iterator[str]:
    """A chapter has the sections of every chapter, in order, and solutions to its exercises."""
    if not notebook.is_chapter:
        return
    text = "\n".join(cell.source for cell in notebook.markdown)
    headings = [h.lower() for h in re.findall(r"^#+ +(.+)$", text, flags=re.MULTILINE)]
    places = []
    for name in SECTIONS:
        found = [place for place, heading in enumerate(headings) if name in heading]
        if not found:
            yield f"{notebook.path.name}: has no section {name!r}"
        places += found[:1]
    if places != sorted(places):
        yield f"{notebook.path.name}: sections are not in the order {', '.join(SECTIONS)}"
    exercises = re.findall(r"^`{3,}\{exercise(?:-start)?\}.*?^:label:\s*(\S+)", text, re.M | re.S)
    solved = set(re.findall(r"^`{3,}\{solution(?:-start)?\}\s+(\S+)", text, re.M))
    if not exercises:
        yield f"{notebook.path.name}: has no exercise with a label"
    for label in exercises:
        if label not in solved:
            yield f"{notebook.path.name}: exercise {label} has no solution"


def typed_numbers(place: str, markdown: str) -> Iterator[str]:
    """No measured number in prose; a line that quotes a paper says so with FROM_PAPER."""
    kept = "\n".join(line for line in markdown.splitlines() if FROM_PAPER not in line)
    # Table cells and headings are prose here too.
    text = NOMINAL.sub("", prose(re.sub(r"^\s*(#+|\|)", "", kept, flags=re.MULTILINE)))
    for found in MEASURED.finditer(text):
        number = " ".join(found[0].split())
        yield f"{place}: {number!r} is typed into prose; print it from code"


def captions(cell: Cell) -> str:
    """The prose in a figure cell's metadata."""
    mystnb = cell.metadata.get("mystnb", {})
    return "\n\n".join(
        [mystnb.get("figure", {}).get("caption", ""), mystnb.get("image", {}).get("alt", "")]
    )


class Book:
    """All texts of the book. Whether links in them lead somewhere, Sphinx says when it is built."""

    def __init__(self, root: Path) -> None:
        self.notebooks = [Notebook(path) for path in sorted(root.glob("notebooks/*.py"))]
        pages = sorted(root.glob("book/*.md"))
        self.texts = [(path.name, path.read_text(encoding="utf-8")) for path in pages]
        for notebook in self.notebooks:
            self.texts += [(cell.place, cell.source) for cell in notebook.markdown]
            self.texts += [(cell.place, captions(cell)) for cell in notebook.code]


def images(place: str, markdown: str) -> Iterator[str]:
    """Images in the text have alt texts."""
    for image, words, target in LINK.findall(without_code(markdown)):
        if image and len(words) < MIN_ALT:
            yield f"{place}: the image {target} needs an alt text"


def check(book: Book) -> list[str]:
    """All problems in the notebooks and pages of a book."""
    rules = (pairing, opening, cell_sizes, balance, alt_text, sections)
    found = [problem for n in book.notebooks for rule in rules for problem in rule(n)]
    for place, text in book.texts:
        found += [*typed_numbers(place, text), *images(place, text)]
    return found


def code_lines(source: str) -> int:
    """Lines of Python that are neither blank nor comment nor docstring."""
    strings = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )
    said = {line for node in strings for line in range(node.lineno, node.end_lineno + 1)}
    written = enumerate(source.splitlines(), 1)
    kept = (text.strip() for number, text in written if number not in said)
    return sum(bool(text) and not text.startswith("#") for text in kept)


def sizes(root: Path) -> Iterator[str]:
    """No package grows past its limit."""
    for folder, most in MOST_CODE.items():
        texts = (path.read_text(encoding="utf-8") for path in (root / folder).rglob("*.py"))
        if (found := sum(map(code_lines, texts))) > most:
            yield f"{folder}: {found} lines of code, over {most}"


def statements(cell: Cell) -> list[ast.stmt]:
    """The cell's statements; IPython's own lines are dropped."""
    lines = cell.source.splitlines()
    return ast.parse("\n".join("" if re.match(r"\s*[%!]", line) else line for line in lines)).body


def is_scalar(value: ast.expr) -> bool:
    """Whether an expression is a literal number (maybe negative), text, True, False or None."""
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        value = value.operand
    return isinstance(value, ast.Constant)


def draws(cell: Cell, names: set[str]) -> bool:
    """Whether the cell calls something that makes a figure, or one of `names`."""
    run = [one for one in statements(cell) if not isinstance(one, ast.FunctionDef)]
    return calls_drawing(run, names)


def calls_drawing(code: list[ast.stmt], names: set[str]) -> bool:
    nodes = (node for statement in code for node in ast.walk(statement))
    return any(_draws(node.func, names) for node in nodes if isinstance(node, ast.Call))


def _draws(function: ast.expr, names: set[str]) -> bool:
    if isinstance(function, ast.Name):
        return function.id in names
    path = []
    while isinstance(function, ast.Attribute):
        path.append(function.attr)
        function = function.value
    module = isinstance(function, ast.Name) and function.id in {"plt", "sns", "figures", "panels"}
    return "plot" in path or (module and path[0] not in NOT_DRAWING)


def main() -> None:
    book = Book(ROOT)
    for notebook in book.notebooks:
        print(f"{notebook.path.stem}: {notebook.ratio:.1f} words of prose per line of code")
    if problems := [*check(book), *sizes(ROOT)]:
        print(*problems, sep="\n", file=sys.stderr)
        raise SystemExit(f"problems with the book's conventions: {len(problems)}")


if __name__ == "__main__":
    main()
