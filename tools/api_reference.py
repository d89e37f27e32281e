"""The API reference: pages for the rooms of the package, and links to them from code cells.

The pages only name modules and what rooms hand on; autodoc fills them from the docstrings when the
book is built. They are made from the files that are there, so a new module appears by itself, and
by reading rather than importing them, which takes seconds.

This module is also the Sphinx extension (`setup`) that helps sphinx-codeautolink find the pages.
"""

from __future__ import annotations

import ast
import gc
import html
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from helpers.artifacts.lineage import NOTEBOOKS, PACKAGE, SOURCE

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DRAWERS = "single-modules"
PAGES_OF_GARBAGE = 70
"""Pages that are read or written before their garbage is looked for."""
SHORT = 60
"""Characters of a constant's value that are still shown."""
BLOCK = re.compile(r'(?<=<div class="highlight"><pre>)(.*?)(?=</pre>)', re.DOTALL)
TAG = re.compile(r"<[^>]+>")
# Of a docstring's line: code, the sign of a list, the name of a field, *emphasis*.
KEPT = re.compile(r"(`+[^`]+`+|^ *\* |^ *:[^:]+:|(?<![\w*])\*(?=[^\s*])[^*]*(?<=[^\s*])\*(?!\w))")
CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
MARKUP = re.compile(r"(?<!\\)([|*]|_(?!\w))")


def write(source: Path) -> None:
    """Write `api/<room>.rst` for every room and the table of rooms, `_rooms.txt`."""
    folder = source / "api"
    folder.mkdir()
    rows = []
    for room in rooms():
        name = dotted(room).removeprefix("helpers.")
        (folder / f"{name}.rst").write_text(room_page(room), encoding="utf-8")
        rows.append(f"| [{name}](api/{name}) | {summary(room / '__init__.py')} |")
    (folder / f"{DRAWERS}.rst").write_text(drawers_page(), encoding="utf-8")
    rows += [f"| [{path.stem}](api/{DRAWERS}) | {summary(path)} |" for path in modules(PACKAGE)]
    text = "\n".join(["| | What it is for |", "|---|---|", *rows, ""])
    (source / "_rooms.txt").write_text(text, encoding="utf-8")


def rooms() -> list[Path]:
    """The folders of the rooms of `helpers`, and of the other packages."""
    return [init.parent for init in sorted(SOURCE.rglob("__init__.py")) if init.parent != PACKAGE]


def dotted(path: Path) -> str:
    """The full name of a package, a room or a module: "helpers.models.training"."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


def modules(folder: Path) -> list[Path]:
    """The modules in a folder itself."""
    return [path for path in sorted(folder.glob("*.py")) if path.stem != "__init__"]


def room_page(room: Path) -> str:
    """A room: what its `__init__` says and hands on, then module after module."""
    module = dotted(room)
    lines = [*heading(module.removeprefix("helpers."), "="), *automodule(module)]
    if names := [full for _, full in exports(room)]:
        outside, _, last = module.rpartition(".")
        taken_by = f"from {outside} import {last}" if outside else f"import {last}"
        words = f"What ``{taken_by}`` hands on:"
        lines += [words, "", *table(names)]
    for path in modules(room):
        lines += [*heading(path.stem, "-"), *automodule(dotted(path))]
    return "\n".join(lines)


def drawers_page() -> str:
    """The modules that are in no room, one section each."""
    lines = [*heading("single modules", "="), "Modules that are in no room.", ""]
    for path in modules(PACKAGE):
        lines += [*heading(path.stem, "-"), *automodule(dotted(path))]
    return "\n".join(lines)


def exports(room: Path) -> Iterator[tuple[str, str]]:
    """What a room's `__init__` hands on: the name there, and the name where it is defined."""
    module = dotted(room)
    for statement in ast.parse((room / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ImportFrom) and f"{statement.module}.".startswith(
            f"{module}."
        ):
            for name in statement.names:
                yield f"{module}.{name.name}", f"{statement.module}.{name.name}"
        elif isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield (f"{module}.{statement.name}",) * 2


def summary(path: Path) -> str:
    """The first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())


def heading(text: str, line: str) -> list[str]:
    return [text, line * len(text), ""]


def automodule(name: str) -> list[str]:
    return [f".. automodule:: {name}", "   :members:", ""]


def table(names: list[str]) -> list[str]:
    # Names are full ones, so no module may be the current one.
    head = [".. currentmodule:: None", "", ".. autosummary::", "   :nosignatures:", ""]
    return [*head, *(f"   ~{name}" for name in names), ""]


def setup(app: Sphinx) -> dict:
    """Prepare docstrings for Sphinx, and set up sphinx-codeautolink for this book."""
    app.connect("autodoc-process-docstring", constant_docstring, priority=400)
    app.connect("autodoc-process-docstring", name_chapters, priority=950)
    app.connect("autodoc-process-docstring", plain_docstring, priority=900)
    app.connect("autodoc-process-signature", name_array_like, priority=900)
    app.connect("autodoc-skip-member", skip_field)
    hide_long_values()
    app.setup_extension("sphinx_codeautolink")
    mend_codeautolink()
    # A constant is documented where it is defined; codeautolink finds this for functions and
    # classes only, so it is told for all names that rooms hand on.
    for room in rooms():
        app.config.codeautolink_inventory_map.update(exports(room))
    look_for_garbage_now_and_then(app)
    return {"parallel_read_safe": True}


def name_chapters(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list):
    """Say below a docstring which chapters use the name."""
    if used := chapters_of(name):
        chapters = "chapter" if len(used) == 1 else "chapters"
        lines += ["", f"*Used in {chapters}* {', '.join(used)}."]


def chapters_of(name: str) -> list[str]:
    """Numbers of the chapters that use what is defined under this full name."""
    return sorted(chapter for chapter, names in names_of_chapters().items() if name in names)


@cache
def names_of_chapters() -> dict[str, set[str]]:
    """Number of a chapter → full names, where they are defined, of what it takes from helpers."""
    defined = {}
    for room in rooms():
        defined |= dict(exports(room))
    return {
        path.name[:2]: {defined.get(name, name) for name in taken(path.read_text("utf-8"))}
        for path in sorted(NOTEBOOKS.glob("[0-9]*.py"))
    }


def taken(source: str) -> Iterator[str]:
    """Full names of what a chapter takes from the package."""
    tree, known = ast.parse(source), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            known |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
        elif isinstance(node, ast.Import):
            known |= {one.name: one.name for one in node.names if "." not in one.name}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in known:
            yield known[node.id]
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", None) in known:
            yield f"{known[node.value.id]}.{node.attr}"


def look_for_garbage_now_and_then(app: Sphinx) -> None:
    """Python's own way takes a fifth of the time to build; never doing it leaves a gigabyte."""
    gc.disable()
    gc.freeze()
    pages = count(1)

    def look(*_: object) -> None:
        if next(pages) % PAGES_OF_GARBAGE == 0:
            gc.collect()

    app.connect("doctree-read", look)
    app.connect("html-page-context", look)


def hide_long_values() -> None:
    """Show the values of constants that are a number or a few words, not paths and tables."""
    from sphinx.ext.autodoc import AttributeDocumenter, DataDocumenter

    for documenter in (AttributeDocumenter, DataDocumenter):
        usual = documenter.should_suppress_value_header

        def hidden(self: DataDocumenter, usual: Callable = usual) -> bool:
            short = isinstance(self.object, int | float | str | tuple)
            return not short or len(repr(self.object)) > SHORT or usual(self)

        documenter.should_suppress_value_header = hidden


def constant_docstring(
    _app: object, what: str, _name: str, obj: object, _o: object, lines: list[str]
) -> None:
    """Below a constant stands a sentence about it, or nothing."""
    if what in ("data", "attribute") and lines:
        if lines[0] in (type(obj).__doc__ or ""):
            lines.clear()  # Sphinx takes the docstring of its type
        else:
            lines.insert(0, "\\ ")  # napoleon would take what stands before a colon for a type


def plain_docstring(
    _app: object, _what: str, _name: str, _obj: object, _o: object, lines: list[str]
) -> None:
    """Our docstrings are plain text with `code`: bars and stars of formulas are no markup."""
    example = False
    for k, line in enumerate(lines):
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if not example and not line.lstrip().startswith(".. "):
            pieces = KEPT.split(line)
            pieces[::2] = [MARKUP.sub(r"\\\1", piece) for piece in pieces[::2]]
            # Code may stand beside any character, as in ±`tolerance`.
            lines[k] = CODE.sub(r"\\ ``\1``\\ ", "".join(pieces))


def name_array_like(app: Sphinx, _what: str, name: str, *_more: object) -> None:
    """NumPy's ArrayLike is called so, and not by the dozen types that it stands for."""
    from numpy.typing import ArrayLike
    from sphinx.util.typing import stringify_annotation

    types = app.env.temp_data.get("annotations", {}).get(name, {})
    for argument, text in types.items():
        types[argument] = text.replace(stringify_annotation(ArrayLike, "smart"), "ArrayLike")


def skip_field(_app: object, _what: str, _name: str, obj: object, skip: bool, _o: object) -> bool:
    """Fields of a named tuple are described in its own docstring."""
    return skip or (getattr(obj, "__doc__", None) or "").startswith("Alias for field number")


def mend_codeautolink() -> None:
    """Let it pass sections without a title, and leave out what takes it long."""
    import sphinx_codeautolink.extension as autolink
    from sphinx_codeautolink.extension import resolve
    from sphinx_codeautolink.extension.block import CodeBlockAnalyser
    from sphinx_codeautolink.extension.cache import DataCache

    depart = CodeBlockAnalyser.depart_section

    def depart_section(self: CodeBlockAnalyser, node: object) -> None:
        # sphinx-exercise makes sections without a title; the extension pops one for each.
        if self.title_stack:
            depart(self, node)

    CodeBlockAnalyser.depart_section = depart_section
    # It parses every page with BeautifulSoup, parses the source of all libraries for imports that
    # only type checkers see, and keeps a record for the next build, which is as fresh as this one.
    # Together that takes longer than the book without it.
    autolink.link_html = link_html
    resolve.populate_type_checking = lambda module: None
    DataCache.write = lambda self: None


def link_html(
    document: str, out: str, transforms: list, inventory: dict[str, str], *_: object, **__: object
) -> None:
    """Put links into the code blocks of a built page, as codeautolink's function of that name."""
    page = Path(out, f"{document}.html")
    parts = BLOCK.split(page.read_text(encoding="utf-8"))
    texts = [plain(part) for part in parts]
    up = "../" * document.count("/")
    start = 1
    for transform in transforms:
        # Blocks are at odd places, in the order of the transforms; those of removed cells lack.
        wanted = transform.source.rstrip()
        places = (k for k in range(start, len(parts), 2) if texts[k].rstrip() == wanted)
        place = next(places, None)
        if place is not None:
            parts[place] = linked(parts[place], transform.names, inventory, up)
            start = place + 2
    page.write_text("".join(parts), encoding="utf-8")


def plain(block: str) -> str:
    """The text of a piece of HTML."""
    return html.unescape(TAG.sub("", block))


def linked(block: str, names: list, inventory: dict[str, str], up: str) -> str:
    """A highlighted block with links on its names."""
    from sphinx_codeautolink.extension.block import construct_name_pattern

    lines = block.split("\n")
    for name in names:
        chosen = slice(name.lineno - 1, name.end_lineno)
        text = "\n".join(lines[chosen])
        # From the right, because a.b = a.b is read from there.
        found = list(re.finditer(construct_name_pattern(name), text))[-1:]
        for match in found:
            start, end = match.start() + len(match[1]), match.end()
            words, goal = text[start:end], up + inventory[name.resolved_location]
            link = f'<a class="api" href="{goal}" title="{name.resolved_location}">{words}</a>'
            lines[chosen] = (text[:start] + link + text[end:]).split("\n")
    return "\n".join(lines)
