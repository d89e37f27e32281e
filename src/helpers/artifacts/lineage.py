"""What a stage is made from: its source, the helpers it imports, the stages it reads.

A stage is a notebook, or a study: a module of the package that is run as a command.

One source of truth for two readers: `make` (through `python src/helpers/artifacts/lineage.py`,
which prints the rules) and `helpers.artifacts` (which refuses a stage made by other code). Only
the standard library is used, because `make` runs this before anything is installed.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
NOTEBOOKS = ROOT / "notebooks"
PACKAGE = ROOT / "src" / "helpers"

STUDIES = {
    "coverage_study": "scorecard.coverage_study",
    "learned_generator": "generators.train_wgan",
}
"""Stage → the module of this package that makes it, `python -m helpers.<module> --profile …`."""

_NOTEBOOK = re.compile(r"^\d\d_\w+$")


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
    found = {
        argument.value
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"), filename=str(source)))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("load", "load_all")
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }
    return sorted(name for name in found if _NOTEBOOK.match(name) or name in STUDIES)


def helper_modules(source: Path) -> list[Path]:
    """Files of this package that a source file imports, directly or through other helpers."""
    found: set[Path] = set()
    waiting = [source]
    while waiting:
        for module in _imports(waiting.pop()):
            if module not in found:
                found.add(module)
                waiting.append(module)
    return sorted(found)


def source_hash(stage: str) -> str:
    """SHA-256 over a stage's source and every helper it depends on."""
    return files_hash([source_of(stage), *helper_modules(source_of(stage))])


def files_hash(paths: list[Path]) -> str:
    """SHA-256 over the names (relative to the repository) and contents of source files."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(str(path.relative_to(ROOT)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def make_rules() -> str:
    """Prerequisites of every executed notebook and study, as a fragment for `make`."""
    pages = sorted(path.stem for path in NOTEBOOKS.glob("*.py"))
    lines = [f"PAGES := {' '.join(pages)}", f"STUDIES := {' '.join(STUDIES)}"]
    lines += [f"MODULE_{stage} := helpers.{module}" for stage, module in STUDIES.items()]
    for stage in (*pages, *STUDIES):
        made_by = source_of(stage)
        code = [path.relative_to(ROOT) for path in (made_by, *helper_modules(made_by))]
        earlier = map(_target, inputs(made_by))
        lines.append(f"{_target(stage)}: {' '.join(map(str, code))} {' '.join(earlier)}".rstrip())
    return "\n".join(lines) + "\n"


def _target(stage: str) -> str:
    """The file that says to `make` that a stage is finished."""
    name = "manifest.json" if stage in STUDIES else f"{stage}.ipynb"
    return f"$(ARTIFACTS)/{stage}/{name}"


def _imports(source: Path) -> frozenset[Path]:
    """Files of the package named by the import statements of one file, anywhere in it."""
    # The cache is keyed by the text, so a file edited in a live session is read anew.
    return _imports_of(source.read_text(encoding="utf-8"), source)


@cache
def _imports_of(text: str, source: Path) -> frozenset[Path]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(text, filename=str(source))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = source.parent.relative_to(PACKAGE.parent).parts
                base = resolve_name("." * node.level + base, ".".join(package))
            names.add(base)
            names.update(f"{base}.{alias.name}" for alias in node.names)
    return frozenset(path for name in names for path in _files_of(name))


def _files_of(name: str) -> list[Path]:
    """Files that importing `helpers.a.b` executes: the packages on the way and the module."""
    parts = name.split(".")
    if parts[0] != PACKAGE.name:
        return []
    files = []
    folder = PACKAGE.parent
    for part in parts:
        package, module = folder / part / "__init__.py", folder / f"{part}.py"
        if package.is_file():
            files.append(package)
        elif module.is_file():
            files.append(module)
        folder = folder / part
    return files


if __name__ == "__main__":
    sys.stdout.write(make_rules())
