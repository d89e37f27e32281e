"""What a stage is made from: its source, the modules of ours that it imports, the stages it reads.

A stage is a notebook, or a study: a module of the package that is run as a command. Two readers
share this: the runner (`tools/run.py`) and `helpers.artifacts`, which refuses a stage made by other
code.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import threading
from collections.abc import Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
NOTEBOOKS = ROOT / "notebooks"
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "helpers"

STUDIES = {
    "audit_plan": "effects.audit_plan",
    "coverage_study": "scorecard.coverage_study",
}
"""Stage → the module of this package that makes it, `python -m helpers.<module> --profile …`."""

State = tuple[int, ...]

_PARSING = threading.Lock()
_CLOSURES: dict[tuple[Path, bool], tuple[list[Path], dict[Path, State]]] = {}
_NOTEBOOK = re.compile(r"^\d\d_\w+$")
_DERIVED = (".ipynb", ".pyc", "~")
"""Endings of files that are made from the source beside them, by editors too."""


def stages() -> list[str]:
    """Names of all stages: notebooks `NN_slug.py` in the order of the book, then studies."""
    return [*sorted(p.stem for p in NOTEBOOKS.glob("*.py") if _NOTEBOOK.match(p.stem)), *STUDIES]


def source_of(stage: str) -> Path:
    """The notebook or the module that makes a stage; pages without a number have one too.

    Raises:
        ValueError: no such stage, with the names that exist.
    """
    module = STUDIES.get(stage, "").replace(".", "/")
    path = PACKAGE / f"{module}.py" if module else NOTEBOOKS / f"{stage}.py"
    if not path.is_file():
        raise ValueError(f"no stage {stage}: no file {path}; there are {', '.join(stages())}")
    return path


def inputs(source: Path) -> list[str]:
    """Stages a source reads: named by literals in calls of `….load(…)` and `….load_all(…)`."""
    found = _loaded(source, state(source))
    return sorted(name for name in found if _NOTEBOOK.match(name) or name in STUDIES)


@cache
def _loaded(source: Path, _: State) -> frozenset[str]:
    return frozenset(
        argument.value
        for node in ast.walk(parse(source.read_text(encoding="utf-8"), str(source)))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("load", "load_all")
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    )


def parse(code: str, name: str) -> ast.Module:
    """Parse Python, one thread at a time: in two at once, Python 3.11 may raise a SystemError."""
    with _PARSING:
        return ast.parse(code, filename=name)


def helper_modules(source: Path, executed: bool = True) -> list[Path]:
    """Files of our packages that a source file imports, directly or through other modules.

    They are looked for again only when one of them is edited, or a file comes or goes beside them.

    Args:
        source: a notebook or a module.
        executed: all that runs on importing, which is the faces of rooms on the way and what they
            import, too; False: only files that a name is taken from.
    """
    found, states = _CLOSURES.get((source, executed), ([], {}))
    if not states or any(state(path) != then for path, then in states.items()):
        found, states = _CLOSURES[source, executed] = _closure(source, executed)
    return list(found)


def _closure(source: Path, executed: bool) -> tuple[list[Path], dict[Path, State]]:
    """The modules, and the states before they were read of them, the source and all folders."""
    folders = [path for path in SOURCE.rglob("[!_]*") if path.is_dir()]
    states = {folder: state(folder) for folder in folders}
    tree = tuple(states.values())
    found: set[Path] = set()
    waiting = [source]
    while waiting:
        module = waiting.pop()
        states[module] = state(module)
        new = _imports(module, states[module], executed, tree) - found
        found |= new
        waiting += new
    return sorted(found), states


def sources(stage: str, drawing: bool = True) -> dict[str, str]:
    """SHA-256 of every file of code (and of data beside it) that a stage is made from.

    Args:
        stage: or a page without a number.
        drawing: with the modules that only draw (`figure…`), which no stage's files depend on.

    Returns:
        Path relative to the repository → hash, in the order of the paths.
    """
    source = source_of(stage)
    return hashes([source, *helper_modules(source)], drawing)


def hashes(modules: list[Path], drawing: bool = True) -> dict[str, str]:
    """As `sources`, of the given modules and of the data files that share a module's name.

    Modules need not be this repository's: somebody may render with their own.
    """
    kept = (path for path in modules if drawing or not _only_draws(path))
    stems: dict[Path, set[str]] = {}
    for path in kept:
        stems.setdefault(path.parent, set()).add(path.stem)
    files = [
        folder / name
        for folder, named in stems.items()
        for name in os.listdir(folder)
        if name.partition(".")[0] in named and "." in name and not name.endswith(_DERIVED)
    ]
    return {os.path.relpath(path, ROOT): file_hash(path) for path in sorted(files)}


def digest(hashed: dict[str, str]) -> str:
    """One SHA-256 over names and hashes."""
    return hashlib.sha256("".join(f"{k} {v}\n" for k, v in hashed.items()).encode()).hexdigest()


def file_hash(path: Path) -> str:
    """SHA-256 of a file; a file that was not touched since is read once in a process."""
    return _file_hash(path, state(path))


def state(path: Path) -> State:
    """What changes with every edit; the time of change, unlike that of the content, is not set.

    Of a folder, what changes with every file that comes or goes; empty where there is nothing.
    """
    try:
        now = path.stat()
    except FileNotFoundError:
        return ()
    return now.st_ino, now.st_mtime_ns, now.st_ctime_ns, now.st_size


@cache
def _file_hash(path: Path, _: State) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _only_draws(path: Path) -> bool:
    """Whether a module of ours is one whose results are figures alone."""
    inside = path.relative_to(SOURCE).parts if path.is_relative_to(SOURCE) else ()
    return any(part.startswith("figure") for part in inside)


@cache
def _imports(source: Path, now: State, executed: bool, tree: tuple[State, ...]) -> frozenset[Path]:
    """Files of our packages named by the import statements of one file, anywhere in it."""
    first, names = None if executed else -1, _imported_names(source, now)
    return frozenset(path for name in names for path in _files_of(name, tree)[first:])


@cache
def _imported_names(source: Path, _: State) -> frozenset[str]:
    names: set[str] = set()
    for node in _statements(parse(source.read_text(encoding="utf-8"), str(source))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level and source.is_relative_to(SOURCE):
                package = source.parent.relative_to(SOURCE).parts
                base = resolve_name("." * node.level + base, ".".join(package))
            names.update(f"{base}.{alias.name}" for alias in node.names)
    return frozenset(names)


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements of a file at any depth, without looking into expressions, most of a tree."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for part in ("body", "orelse", "handlers", "finalbody", "cases"):
            waiting += getattr(node, part, [])


@cache
def _files_of(name: str, _: tuple[State, ...]) -> list[Path]:
    """Files that importing `helpers.a.b` executes: the packages on the way and the module."""
    parts = name.split(".")
    files = []
    folder = SOURCE
    for part in parts:
        package, module = folder / part / "__init__.py", folder / f"{part}.py"
        if package.is_file():
            files.append(package)
        elif module.is_file():
            files.append(module)
        folder = folder / part
    return files
