"""The API reference: pages for the packages, and links to them from code cells.

The pages only name modules and what packages export; autodoc fills them from the docstrings when
the book is built. They are made from the files that are there, so a new module appears by itself,
and by reading rather than importing them, which takes seconds.

This module is also the Sphinx extension (`setup`) that reads docstrings as plain text, says which
chapters use a name, and links names in the chapters' code to these pages.
"""

import ast
import gc
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from helpers.artifacts.lineage import SOURCE, exports_of, notebooks, stages

TAG = re.compile(r"<[^>]+>")
DOT = '<span class="o">.</span>'
# Of a docstring's line: code, the sign of a list, the name of a field, *emphasis*.
KEPT = re.compile(r"(`+[^`]+`+|^ *\* |^ *:[^:]+:|(?<![\w*])\*(?=[^\s*])[^*]*(?<=[^\s*])\*(?!\w))")
CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
MARKUP = re.compile(r"(?<!\\)([|*]|_(?!\w))")


def write(source: Path) -> None:
    """Write `api/<package>.rst` for every package."""
    (source / "api").mkdir()
    for package in packages():
        name = dotted(package)
        (source / "api" / f"{name}.rst").write_text(package_page(package), encoding="utf-8")


def packages() -> list[Path]:
    """The folders of the packages and of those in them."""
    return [init.parent for init in sorted(SOURCE.rglob("__init__.py"))]


def dotted(path: Path) -> str:
    """The full name of a package or a module: "faceworld.networks.training"."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


def package_page(package: Path) -> str:
    """A package: what its `__init__` says, what it exports, then module after module."""
    module = dotted(package)
    lines = section(module, "=", module)
    if names := [full for _, full in exports(package)]:
        # Names are full ones, so no module may be the current one.
        lines += ["Exports:", "", ".. currentmodule:: None", ""]
        lines += [".. autosummary::", "   :nosignatures:", "", *(f"   ~{n}" for n in names), ""]
    for path in sorted(package.glob("[!_]*.py")):
        lines += section(path.stem, "-", dotted(path))
    return "\n".join(lines)


def exports(package: Path) -> Iterator[tuple[str, str]]:
    """What a package exports: the name there, and the name where it is defined."""
    module, init = dotted(package), package / "__init__.py"
    for name, full in exports_of(init).items():
        yield f"{module}.{name}", full
    for statement in ast.parse(init.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield (f"{module}.{statement.name}",) * 2


def section(title: str, line: str, module: str) -> list[str]:
    heading = [title, line * len(title), ""]
    # What a package exports, its `__all__`, is described where it is defined and not once more.
    return [*heading, f".. automodule:: {module}", "   :members:", "   :ignore-module-all:", ""]


def setup(app: object) -> dict:
    """Connect what this module does to the build."""
    import numpy.typing  # the runner, which imports this module, does without numpy

    # Signatures would spell out the union that it is.
    numpy.typing.ArrayLike = type("ArrayLike", (), {"__module__": "numpy.typing"})
    app.connect("autodoc-process-docstring", constant_docstring, priority=400)
    app.connect("autodoc-process-docstring", plain_docstring, priority=900)
    app.connect("autodoc-process-docstring", name_chapters, priority=950)
    app.connect("autodoc-skip-member", skip_field)
    app.connect("build-finished", link_code)
    # One page of the whole book (`make pdf`) takes what all HTML takes.
    app.registry.translation_handlers["singlehtml"] = app.registry.translation_handlers["html"]
    gc.set_threshold(100_000, 50, 100)  # Python's own way takes a fifth of the time to build
    for extension in app.extensions.values():  # two do not say so, and are
        extension.parallel_read_safe = True
    return {"parallel_read_safe": True}


def name_chapters(_: object, _what: str, name: str, _obj: object, _o: object, lines: list):
    """Say below a docstring which chapters use the name."""
    if used := [chapter for chapter, names in names_of_chapters().items() if name in names]:
        lines += ["", f"*Used in chapters* {', '.join(used)}."]


@cache
def names_of_chapters() -> dict[str, set[str]]:
    """Number of a chapter → full names, where they are defined, of what it takes from us."""
    chapters = {page: path for page, path in notebooks().items() if page in stages()}
    read = {page.partition("_")[0]: path.read_text("utf-8") for page, path in chapters.items()}
    return {number: set(taken(text).values()) for number, text in read.items()}


def taken(code: str) -> dict[str, str]:
    """What a chapter's code takes from modules, as it is written there → full name."""
    defined = {full: there for package in packages() for full, there in exports(package)}
    tree, known, found = ast.parse(code), {}, {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            known |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
        elif isinstance(node, ast.Import):
            known |= {one.name: one.name for one in node.names if "." not in one.name}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in known:
            found[node.id] = known[node.id]
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", None) in known:
            found[f"{node.value.id}.{node.attr}"] = f"{known[node.value.id]}.{node.attr}"
    return {written: defined.get(full, full) for written, full in found.items()}


def link_code(app: object, error: Exception | None) -> None:
    """Link the names in the chapters' code that these pages describe."""
    described = {} if error else app.env.get_domain("py").objects
    for notebook in Path(app.srcdir).glob("*.ipynb"):
        page = Path(app.outdir, f"{notebook.stem}.html")
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(one["source"]) for one in cells if one["cell_type"] == "code")
        found = ((name, described[full]) for name, full in taken(code).items() if full in described)
        goals = {name: f"{one.docname}.html#{one.node_id}" for name, one in found}
        if goals and page.is_file():
            page.write_text(linked(page.read_text(encoding="utf-8"), goals), encoding="utf-8")


def linked(page: str, goals: dict[str, str]) -> str:
    """A page's HTML with links on names in highlighted code; longer names go first."""
    longest = "|".join(map(re.escape, sorted(goals, key=len, reverse=True)))
    words = re.sub(r"\w+", r'<span class="n[a-z]?">\g<0></span>', longest).replace(r"\.", DOT)
    any_name = re.compile(rf"(?<!{DOT})(?:{words})")

    def link(found: re.Match) -> str:
        name = TAG.sub("", found[0])
        return f'<a class="api" href="{goals[name]}" title="{name}">{found[0]}</a>'

    return any_name.sub(link, page)


def constant_docstring(_: object, what: str, _name: str, obj: object, _o: object, lines: list):
    """Below a constant stands a sentence about it, or nothing."""
    if what in ("data", "attribute") and lines:
        if lines[0] in (type(obj).__doc__ or ""):
            lines.clear()  # Sphinx takes the docstring of its type
        else:
            lines.insert(0, "\\ ")  # napoleon would take what stands before a colon for a type


def plain_docstring(_: object, _what: str, _name: str, _obj: object, _o: object, lines: list):
    """Our docstrings are plain text with `code`: bars and stars of formulas are no markup."""
    example = False
    for k, line in enumerate(lines):
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if not example and not line.lstrip().startswith(".. "):
            pieces = KEPT.split(line)
            pieces[::2] = [MARKUP.sub(r"\\\1", piece) for piece in pieces[::2]]
            # Code may stand beside any character, as in ±`tolerance`.
            lines[k] = CODE.sub(r"\\ ``\1``\\ ", "".join(pieces))


def skip_field(_app: object, _what: str, _name: str, obj: object, skip: bool, _o: object) -> bool:
    """Fields of a named tuple are described in its own docstring."""
    return skip or (getattr(obj, "__doc__", None) or "").startswith("Alias for field number")
