"""What a stage is made from: its notebook, the helpers it imports, the stages it reads.

One source of truth for two readers: `make` (through `python src/helpers/lineage.py`, which prints
the rules) and `helpers.artifacts` (which refuses a stage made by other code). Only the standard
library is used, because `make` runs this before anything is installed.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
PACKAGE = ROOT / "src" / "helpers"

_STAGE = re.compile(r"^\d\d_\w+$")


def stages() -> list[str]:
    """Names of all stages, in the order of the book; a stage is a notebook `NN_slug.py`."""
    return sorted(p.stem for p in NOTEBOOKS.glob("*.py") if _STAGE.match(p.stem))


def notebook(stage: str) -> Path:
    """Source of a stage's notebook.

    Raises:
        ValueError: no such notebook, with the names that exist.
    """
    path = NOTEBOOKS / f"{stage}.py"
    if not path.is_file():
        raise ValueError(f"no notebook {path.name} in {NOTEBOOKS}; there are {', '.join(stages())}")
    return path


def inputs(source: Path) -> list[str]:
    """Stages a notebook reads: the literal first arguments of its `….load("NN_slug", …)` calls."""
    found = {
        node.args[0].value
        for node in ast.walk(_tree(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "load"
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
        and _STAGE.match(node.args[0].value)
    }
    return sorted(found)


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
    """SHA-256 over a stage's notebook and every helper it depends on."""
    return files_hash([notebook(stage), *helper_modules(notebook(stage))])


def files_hash(paths: list[Path]) -> str:
    """SHA-256 over the names (relative to the repository) and contents of source files."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(str(path.relative_to(ROOT)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def make_rules() -> str:
    """Prerequisites of every executed notebook, as a fragment for `make`."""
    sources = sorted(NOTEBOOKS.glob("*.py"))
    lines = [f"PAGES := {' '.join(source.stem for source in sources)}"]
    for source in sources:
        code = [p.relative_to(ROOT) for p in (source, *helper_modules(source))]
        earlier = [f"$(ARTIFACTS)/{stage}/{stage}.ipynb" for stage in inputs(source)]
        target = f"$(ARTIFACTS)/{source.stem}/{source.stem}.ipynb"
        lines.append(f"{target}: {' '.join(map(str, code))} {' '.join(earlier)}".rstrip())
    return "\n".join(lines) + "\n"


@cache
def _tree_of(text: str, name: str) -> ast.Module:
    return ast.parse(text, filename=name)


def _tree(source: Path) -> ast.Module:
    # The cache is keyed by the text, so a file edited in a live session is read anew.
    return _tree_of(source.read_text(encoding="utf-8"), str(source))


def _imports(source: Path) -> set[Path]:
    """Files of the package named by the import statements of one file, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(_tree(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, source)
            names.add(base)
            names.update(f"{base}.{alias.name}" for alias in node.names)
    return {path for name in names for path in _files_of(name)}


def _absolute(node: ast.ImportFrom, source: Path) -> str:
    if not node.level:
        return node.module or ""
    package = source.parent
    for _ in range(node.level - 1):
        package = package.parent
    base = ".".join(package.relative_to(PACKAGE.parent).parts)
    return f"{base}.{node.module}" if node.module else base


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
