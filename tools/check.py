"""Check the book's conventions in seconds, without running anything: `python tools/check.py`.

Each rule is one function that yields problems; a notebook is read from its py:percent source.
What the rules mean by a word:

- *Prose* of a markdown cell is its text without headings, directive fences and options, labels,
  comments, tables, code, equations and link addresses.
- *Lines of code* are those that are neither blank nor a comment. Cells tagged `hide-cell` or
  `hide-input` are folded, those tagged `remove-cell` or `remove-input` are not on the page.
"""

import ast
import re
import statistics
import sys
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from pathlib import Path

import jupytext
from nbformat import NotebookNode

from helpers.artifacts import lineage

MEDIAN_LINES, MOST_LINES, MAX_LINES = 5, 15, 30
CELL_WORDS, MIN_ALT = (25, 120), 20
SECTIONS = ["question", "design contract", "what would change our mind", "exercises", "takeaways"]
MOST = {"words of prose": 2200, "figures": 5}  # of a chapter
FOLDED = {"hide-cell", "hide-input", "remove-cell", "remove-input"}
REMOVED = {"remove-cell", "remove-input"}
STORIES = {"index", "tour"}
"""Pages that show what others computed."""
MOST_REMOVED = 0.15
"""Share of a page's lines of code that are not on the page; set-up, checks and what is kept."""
MOST_REMOVED_OF_STORIES = 0.6

MAY_IMPORT = {
    "facerender": (),
    "faceaudit": (),
    "helpers": ("faceaudit",),
    "published": ("faceaudit",),
    "faceworld": ("faceaudit", "helpers", "facerender"),
    "course": ("faceaudit", "helpers", "faceworld", "facerender"),
}
"""Package of ours → the others that it may import."""

FLOORS = (
    ("utils", "comparisons", "outcomes"),
    ("families",),
    ("annotations", "generators"),
    ("effects", "latents", "datasets", "file"),
    ("verification", "sensitivity", "models", "plans", "words"),
    ("frames", "checks", "verdicts"),
    ("matched_comparisons",),
    ("report", "people"),
    ("images",),
    ("designs",),
    ("results", "example_files"),
    ("kept_images",),
    ("shared_images",),
    ("looks",),
    ("run", "api"),
    ("model_versions",),
    ("models_side_by_side",),
    ("recomputation", "planned_audits"),
    ("model_audits",),
    ("__main__",),
)
"""Subpackages and modules of faceaudit, from the ground up: each imports from lower floors only."""

CORE = (
    "utils",
    "annotations/schema.py",
    "effects",
    "verification",
    "comparisons.py",
    "outcomes.py",
    "families.py",
    "matched_comparisons.py",
    "frames.py",
    "plans.py",
    "verdicts.py",
    "checks.py",
    "designs",
    "report",
    "results.py",
    "api.py",
    "kept_images.py",
    "looks.py",
    "planned_audits.py",
    "shared_images.py",
    "model_versions.py",
    "models_side_by_side.py",
)
"""What stands behind tables, pairs, portraits and reports, below faceaudit."""

NOT_IN_CORE = {"torch", "onnxruntime", "IPython", "pyarrow", "requests", "sklearn"}
"""Libraries that an audit of a table does not install: no core module imports them at its top."""

UNITS = (
    r"%|per\s?cent|percent|(?:percentage )?points?\b|pp\b|px\b|pixels?|images?\b|faces?\b|"
    r"transects?\b|raters?\b|annotators?\b|annotations?\b|samples?\b|epochs?\b|"
    r"ms\b|s\b|seconds?\b|min\b|minutes?\b|hours?\b|h\b|[kMG]B\b|°|degrees?\b|cores?\b|"
    r"[×x](?!\w|\s*\d)|times\b|-fold"
)
MEASURED = re.compile(rf"(?<![\w.×])[−-]?\d[\d,.]*(?:\s|-|–)*(?:{UNITS})", re.IGNORECASE)
# The level of every interval in the book is a definition, not a measurement.
NOMINAL = re.compile(r"95\s?%(?=\s(?:[\w-]+\s){0,3}intervals?)")
SPACED_PERCENT = re.compile(r"\d\s%(?!})")
FROM_PAPER = "<!-- paper -->"

ORDINARY = {"attribute", "cell", "error", "look", "normal", "overlap", "panel", "plan", "power"}
"""Headwords of the glossary that chapters also use in their ordinary sense."""

SOLUTION = re.compile(r"^(`{3,})\{solution\}.*?^\1$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(<?([^)\s>]*)>?(?:\s+\"[^\"]*\")?\)")
FIGURE = re.compile(r"^(`{3,}|:{3,})\{(?:glue:)?figure\}.*?^\1$", re.MULTILINE | re.DOTALL)
TERM = re.compile(r"\{term\}`(?:[^`<]*<)?([^`<>]+)>?`")
ROLE = re.compile(r"\{(ref|numref|eq|doc|term|cite(?::\w+)?)\}`([^`]+)`")


class Cell:
    """One cell of a notebook and where it stands in it."""

    def __init__(self, place: str, cell: NotebookNode) -> None:
        self.place, self.kind, self.source = place, cell.cell_type, cell.source
        self.metadata = dict(cell.metadata)
        outputs = bool(cell.get("outputs") or cell.get("execution_count"))
        self.content = self.kind, self.source.strip(), self.metadata, outputs
        self.tags = {*self.metadata.get("tags", [])}
        lines = [line.strip() for line in self.source.splitlines()]
        self.lines = sum(bool(line) and not line.startswith("#") for line in lines)
        self.words = len(re.findall(r"\w[\w'’\-–]*", prose(SOLUTION.sub("", self.source))))
        told = self.metadata.get("mystnb", {})
        self.caption = told.get("figure", {}).get("caption", "")
        self.alt = told.get("image", {}).get("alt", "")

    @cached_property
    def statements(self) -> list[ast.stmt]:
        """Its statements; IPython's own lines are dropped."""
        return ast.parse(re.sub(r"^\s*[%!].*", "", self.source, flags=re.MULTILINE)).body


class Notebook:
    """A notebook's source and the cells in it."""

    def __init__(self, path: Path) -> None:
        self.path, self.is_chapter = path, path.name[:2].isdigit()
        read = enumerate(jupytext.read(path).cells, 1)
        self.cells = [Cell(f"{path.name} cell {number}", cell) for number, cell in read]
        inside = accumulate(cell.source.count("{solution-") for cell in self.cells)
        for cell, marks in zip(self.cells, inside, strict=True):
            if marks % 2:  # between the start and the end of a solution
                cell.tags.add("solution")
        self.code = [cell for cell in self.cells if cell.kind == "code"]
        self.markdown = [cell for cell in self.cells if cell.kind == "markdown"]


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
    here, there = ([cell.content for cell in one.cells] for one in (notebook, Notebook(pair)))
    if here != there:
        number = [*(a == b for a, b in zip(here, there, strict=False)), False].index(False) + 1
        yield f"{pair.name} cell {number}: differs from its .py or has outputs; `make notebooks`"


def opening(notebook: Notebook) -> Iterator[str]:
    """Imports first, then one `parameters` cell of plain scalars."""
    tagged = [cell for cell in notebook.code if "parameters" in cell.tags]
    if notebook.code[1:2] != tagged:
        yield f"{notebook.path.name}: one cell tagged parameters must follow the one of imports"
        return
    if not all(isinstance(s, ast.Import | ast.ImportFrom) for s in notebook.code[0].statements):
        yield f"{notebook.code[0].place}: the first code cell holds imports only"
    for statement in tagged[0].statements:
        value = statement.value if isinstance(statement, ast.Assign) else None
        if not isinstance(getattr(value, "operand", value), ast.Constant):  # maybe a negative one
            yield f"{tagged[0].place}: `{ast.unparse(statement)}` is no `name = plain scalar`"


def cell_sizes(notebook: Notebook) -> Iterator[str]:
    """Cells whose code is read stay small, and every cell has an end, but for that of the imports.

    A folded cell draws a figure, words a sentence or checks; a reader opens few of them.
    """
    cells = notebook.code[1:]
    sizes = [cell.lines for cell in cells if not cell.tags & FOLDED]
    if sizes and (median := statistics.median(sizes)) > MEDIAN_LINES:
        yield f"{notebook.path.name}: median cell has {median:g} lines, over {MEDIAN_LINES}"
    if sum(size <= MOST_LINES for size in sizes) < 0.9 * len(sizes):
        yield f"{notebook.path.name}: over a tenth of cells exceed {MOST_LINES} lines"
    for cell in cells:
        if cell.lines > MAX_LINES:
            yield f"{cell.place}: {cell.lines} lines of code, over {MAX_LINES}"


def code_on_the_page(notebook: Notebook) -> Iterator[str]:
    """A reader can see how numbers and figures come about: only set-up and what is kept is removed.

    Pages that tell a story (the landing page, the tour) are no lessons: more of theirs is removed.
    """
    is_story = notebook.path.stem in STORIES
    most = MOST_REMOVED_OF_STORIES if is_story else MOST_REMOVED
    lines = sum(cell.lines for cell in notebook.code)
    removed = sum(cell.lines for cell in notebook.code if cell.tags & REMOVED)
    if removed > most * lines:
        yield f"{notebook.path.name}: {removed / lines:.0%} of the code is removed, over {most:.0%}"
    if is_story:
        return
    for cell in notebook.code:
        if cell.caption and cell.tags & REMOVED:
            yield f"{cell.place}: the code of a figure is removed, fold it (hide-input)"


def cell_words(notebook: Notebook) -> Iterator[str]:
    """Cells of prose have a length that is read."""
    low, high = CELL_WORDS
    for cell in notebook.markdown:
        # Headings alone are fine, and an exercise may be one short sentence.
        short = 0 < cell.words < low and not re.search(r"\{(exercise|\{minutes)", cell.source)
        short &= "solution" not in cell.tags
        if short or cell.words > high:
            yield f"{cell.place}: {cell.words} words of prose, expected {low} to {high}"


def words(notebook: Notebook) -> int:
    """Words of prose that everybody reads: those of solutions are folded."""
    return sum(cell.words for cell in notebook.markdown if "solution" not in cell.tags)


def lengths(notebook: Notebook) -> Iterator[str]:
    """A chapter is read in one sitting."""
    found = words(notebook), sum(bool(cell.caption) for cell in notebook.code)
    for count, (what, most) in zip(found, MOST.items(), strict=True):
        if notebook.is_chapter and count > most:
            yield f"{notebook.path.name}: {count:,} {what}, over {most:,}"


def sections(notebook: Notebook) -> Iterator[str]:
    """A chapter has the sections of every chapter, in order, and solutions to its exercises."""
    if not notebook.is_chapter:
        return
    text = "\n".join(cell.source for cell in notebook.markdown)
    heading = re.compile(r"^(?:#+|:{3,}\{admonition\}) +(.+)$", re.MULTILINE)
    headings = [h.lower() for h in heading.findall(text)]
    places = {n: k for k, h in reversed([*enumerate(headings)]) for n in SECTIONS if n in h}
    for name in SECTIONS:
        if name not in places:
            yield f"{notebook.path.name}: has no section {name!r}"
    if [name for name in SECTIONS if name in places] != sorted(places, key=places.get):
        yield f"{notebook.path.name}: sections are not in the order {', '.join(SECTIONS)}"
    exercises = re.findall(r"^`{3,}\{exercise(?:-start)?\}.*?^:label:\s*(\S+)", text, re.M | re.S)
    solved = set(re.findall(r"^`{3,}\{solution(?:-start)?\}\s+(\S+)", text, re.M))
    if not exercises:
        yield f"{notebook.path.name}: has no exercise with a label"
    if unsolved := {*exercises} - solved:
        yield f"{notebook.path.name}: exercise {', '.join(sorted(unsolved))} has no solution"


def typed_numbers(place: str, markdown: str) -> Iterator[str]:
    """No measured number in prose; a line that quotes a paper says so with FROM_PAPER."""
    kept = "\n".join(line for line in markdown.splitlines() if FROM_PAPER not in line)
    # Table cells and headings are prose here too.
    text = NOMINAL.sub("", prose(re.sub(r"^\s*(#+|\|)", "", kept, flags=re.MULTILINE)))
    for found in MEASURED.finditer(text):
        number = " ".join(found[0].split())
        yield f"{place}: {number!r} is typed into prose; print it from code"


def percents(place: str, markdown: str) -> Iterator[str]:
    """Percents are written as Python prints them, so that typed and computed ones look alike."""
    for found in SPACED_PERCENT.finditer(without_code(markdown)):
        yield f"{place}: {found[0]!r} has a space before the sign"


def images(place: str, markdown: str) -> Iterator[str]:
    """Images in the text have alt texts."""
    for image, words, target in LINK.findall(without_code(markdown)):
        if image and len(words) < MIN_ALT:
            yield f"{place}: the image {target} needs an alt text"


def headwords(glossary: str) -> list[str]:
    """The terms that the glossary explains."""
    return re.findall(r"^(\w.*)\n {2}\S", glossary, re.MULTILINE)


def linked_terms(markdown: str) -> set[str]:
    """Headwords that a text links to the glossary, in small letters."""
    return {" ".join(term.lower().split()) for term in TERM.findall(markdown)}


def unlinked_terms(glossary: str, pages: list[str]) -> Iterator[str]:
    """Some page links each headword of the glossary."""
    linked = set().union(*map(linked_terms, pages))
    for term in headwords(glossary):
        if term.lower() not in linked:
            yield f"glossary.md: no page links {term!r}"


def first_uses(glossary: str, chapters: list[Notebook]) -> Iterator[str]:
    """The cell of prose in which chapters first use a headword links it; captions are left out."""
    cells = [cell for chapter in chapters for cell in chapter.markdown]
    texts = [prose(FIGURE.sub("", cell.source)) for cell in cells]
    for term in headwords(glossary):
        words = r"\s+".join(map(re.escape, term.split()))
        use = re.compile(rf"(?<![\w-]){words}(?:e?s)?(?![\w-])", re.IGNORECASE)
        using = [cell for cell, text in zip(cells, texts, strict=True) if use.search(text)]
        if term not in ORDINARY and using and term.lower() not in linked_terms(using[0].source):
            yield f"{using[0].place}: the first use of {term!r} does not link the glossary"


def imported_modules(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every module that a file imports by its full name, anywhere, with the line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module, node.lineno
            if node.module == "faceaudit":  # its subpackages are imported as names
                for alias in node.names:
                    yield f"faceaudit.{alias.name}", node.lineno


def arrows(root: Path) -> Iterator[str]:
    """Packages import each other in one direction, anywhere in a file."""
    for path in sorted(root.glob("src/*/**/*.py")):
        package = path.relative_to(root / "src").parts[0]
        allowed = MAY_IMPORT[package]
        for name, line in imported_modules(ast.parse(path.read_text(encoding="utf-8"))):
            imported = name.partition(".")[0]
            if imported in MAY_IMPORT and imported not in (package, *allowed):
                others = ", ".join(allowed) or "no other package of ours"
                place = f"{path.relative_to(root)}, line {line}"
                yield f"{place}: imports {name}, and {package} may import {others}"


def floors(root: Path) -> Iterator[str]:
    """A subpackage of faceaudit imports from lower floors only, anywhere in a file."""
    floor_of = {name: floor for floor, names in enumerate(FLOORS) for name in names}
    folder = root / "src" / "faceaudit"
    for path in sorted(folder.glob("**/*.py")):
        part = path.relative_to(folder).with_suffix("").parts[0]
        if part == "__init__":
            continue
        if part not in floor_of:
            yield f"{path.relative_to(root)}: {part} has no floor in tools/check.py"
            continue
        for name, line in imported_modules(ast.parse(path.read_text(encoding="utf-8"))):
            _, _, below = name.partition("faceaudit.")
            imported = below.partition(".")[0]
            if imported in floor_of and imported != part and floor_of[imported] >= floor_of[part]:
                place = f"{path.relative_to(root)}, line {line}"
                yield f"{place}: {part} imports {imported}, which does not stand on a lower floor"


def core_imports(root: Path) -> Iterator[str]:
    """Core modules of faceaudit do without some libraries at their top."""
    folder = root / "src" / "faceaudit"
    for core in CORE:
        place = folder / core
        paths = [place] if place.is_file() else sorted(place.glob("**/*.py"))
        for path in paths:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            at_top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
            for name, line in imported_modules(ast.Module(at_top, [])):
                if name.partition(".")[0] in NOT_IN_CORE:
                    yield f"{path.relative_to(root)}, line {line}: imports {name} at its top"


def hidden_names(root: Path) -> Iterator[str]:
    """A package exports no name that one of its modules has, which would hide one of the two."""
    for stub in sorted(root.glob("src/**/__init__.pyi")):
        modules = {path.stem for path in stub.parent.glob("*.py")}
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in node.names:
                    if name.name in modules:
                        place = f"{stub.relative_to(root)}, line {node.lineno}"
                        yield f"{place}: {name.name} is the name of a module here as well"


def check(root: Path) -> list[str]:
    """All problems of a book: packages, notebooks, pages; where links lead, Sphinx says."""
    rules = (pairing, opening, cell_sizes, code_on_the_page, cell_words, lengths, sections)
    texts = [(path.name, path.read_text(encoding="utf-8")) for path in root.glob("book/*.md")]
    found = [*arrows(root), *floors(root), *core_imports(root), *hidden_names(root)]
    notebooks = [Notebook(path) for path in sorted(root.glob("notebooks/**/*.py"))]
    for notebook in notebooks:
        found += [problem for rule in rules for problem in rule(notebook)]
        texts += [(cell.place, cell.source) for cell in notebook.markdown]
        texts += [(cell.place, f"{cell.caption}\n\n{cell.alt}") for cell in notebook.code]
    glossary = (root / "book" / "glossary.md").read_text(encoding="utf-8")
    found += unlinked_terms(glossary, [text for place, text in texts if place != "glossary.md"])
    tour = [notebook for notebook in notebooks if notebook.path.stem == "tour"]
    chapters = [notebook for notebook in notebooks if notebook.is_chapter]
    found += [*first_uses(glossary, tour), *first_uses(glossary, chapters)]
    of_texts = (typed_numbers, percents, images)
    return found + [p for text in texts for rule in of_texts for p in rule(*text)]


def main() -> None:
    problems = check(lineage.ROOT)
    if problems:
        print(*problems, sep="\n", file=sys.stderr)
        raise SystemExit(f"problems with the book's conventions: {len(problems)}")


if __name__ == "__main__":
    main()
