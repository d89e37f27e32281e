"""What a stage is made from: its source, modules of ours that it needs, stages, and a profile.

A stage is a notebook, or a study: a module of the package that is run as a command. Two readers
share this: the runner (`tools/run.py`) and `helpers.artifacts`, which refuses a stage made by other
code.

A profile says how large a run is: a file `profiles/<name>.yml` of papermill parameters, with the
names that laptop.yml has. A notebook's parameters cell declares those that it uses, with the laptop
values; the executor passes it those of the chosen profile. Nothing else in the code depends on a
profile's name.

Modules are found by names. A package's `__init__.py` imports none of its modules: it exports names
lazily, and the stub `__init__.pyi` beside it says which module defines each. So
`effects.power` needs the module that defines `power`, and no other module of that package. Modules
that are imported by a text (`importlib`) are not seen.
"""

import ast
import os
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import yaml

from faceaudit.utils.errors import InputError
from faceaudit.utils.files import State, file_hash, hash_of_hashes, state

ROOT = Path(__file__).resolve().parents[3]
NOTEBOOKS = ROOT / "notebooks"
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "helpers"
PROFILES = ROOT / "profiles"

# Stage → the module of this package that makes it, `python -m helpers.<module> --profile …`.
STUDIES = {"audit_plan": "audit_plan"}

_PARSING = threading.Lock()
_NOTEBOOK = re.compile(r"^n?\d\d_\w+$")  # of a chapter or a note
# Ends of files that are made from the source beside them, and of stubs, which count by their names.
_NOT_CONTENT = (".ipynb", ".pyc", "~", ".pyi")
# The `__init__.py` of a package that only exports names consists of a docstring and of this.
_LAZY_EXPORTS = """
import lazy_loader
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
"""


def stages() -> list[str]:
    """Names of all stages: chapters `NN_slug`, notes `nNN_slug`, then studies."""
    return [*(page for page in notebooks() if _NOTEBOOK.match(page)), *STUDIES]


def notebooks() -> dict[str, Path]:
    """Page → its source, of chapters, notes and pages without a number."""
    sources = [*NOTEBOOKS.glob("[!.]*.py"), *NOTEBOOKS.glob("notes/[!.]*.py")]
    return {path.stem: path for path in sorted(sources, key=lambda path: path.stem)}


def source_of(stage: str) -> Path:
    """The notebook or the module that makes a stage; pages without a number have one too."""
    module = STUDIES.get(stage, "").replace(".", "/")
    path = PACKAGE / f"{module}.py" if module else notebooks().get(stage)
    if path is None:
        known = ", ".join(stages())
        raise InputError(
            f"no stage {stage} in {NOTEBOOKS}; there are {known}",
            field="stage",
            found=stage,
            expected=known,
        )
    return path


def inputs(source: Path) -> list[str]:
    """Stages a source reads: named by literals in calls of `….load(…)` and `….load_all(…)`."""
    loaded = _read_source(source, state(source)).loaded
    return sorted(name for name in loaded if _NOTEBOOK.match(name) or name in STUDIES)


def parse(code: str, name: str) -> ast.Module:
    """Parse Python, one thread at a time: in two at once, Python 3.11 may raise a SystemError."""
    with _PARSING:
        return ast.parse(code, filename=name)


@dataclass(frozen=True)
class Dependencies:
    """What a source needs of our packages.

    Attributes:
        modules: files that run, in the order of their paths, without the `__init__.py` of packages
            that only export names.
        exports: stub of a package → name that is taken from the package → full name of its
            definition.
    """

    modules: list[Path]
    exports: dict[Path, dict[str, str]]


def dependencies(source: Path) -> Dependencies:
    """Find what a source file needs of our packages, directly or through other modules.

    A module that is needed counts whole, with all that it imports, also inside of functions. A
    package that is used other than by `package.name` may give any of its exports, so all count.

    Args:
        source: a notebook or a module.
    """
    return _Reader().read(source)


def exports_of(package: Path) -> dict[str, str]:
    """Name that a package exports → full name of its definition, as the stub says.

    Args:
        package: its `__init__.py`. Without a stub beside it there are no names.
    """
    stub = package.with_suffix(".pyi")
    if not stub.is_file():
        return {}
    bound = _read_source(stub, state(stub)).bound
    return {name: full for name, targets in sorted(bound.items()) for full in targets}


def sources(stage: str, drawing: bool = True) -> dict[str, str]:
    """SHA-256 of every file of code (and of data beside it) that a stage is made from.

    A stub counts by the names that the stage takes through it, and by what these stand for.

    Args:
        stage: or a page without a number.
        drawing: with the modules that only draw (`figure…`), which no stage's files depend on.

    Returns:
        Path relative to the repository → hash.
    """
    source = source_of(stage)
    needed = dependencies(source)
    code = hashes_of_files([source, *needed.modules], drawing)
    return code | hashes_of_names(needed.exports, drawing)


def hashes_of_files(paths: Sequence[Path], drawing: bool = True) -> dict[str, str]:
    """SHA-256 of files, and of those beside them with the same stem, such as a module's data.

    The files need not be this repository's: a user may render with modules of their own.

    Args:
        paths: of the files. Beside them, stubs and what is made from a source do not count.
        drawing: with the files that only draw (`figure…`), and those beside them.

    Returns:
        Path relative to the repository → hash, in the order of the paths.
    """
    stems: dict[Path, set[str]] = {}
    for path in paths:
        if drawing or not _only_draws(path):
            stems.setdefault(path.parent, set()).add(path.stem)
    files = (
        folder / name
        for folder, stems_here in stems.items()
        for name in os.listdir(folder)
        if _is_content_of(name, stems_here)
    )
    return {os.path.relpath(path, ROOT): file_hash(path) for path in sorted(files)}


def _is_content_of(name: str, stems: set[str]) -> bool:
    """Whether a file has one of the stems and an ending, and is no copy or stub of another.

    The stem ends at the first dot: `known_truth.links.csv` belongs to `known_truth.py`.
    """
    stem, dot, _ = name.partition(".")
    return stem in stems and dot == "." and not name.endswith(_NOT_CONTENT)


def hashes_of_names(exports: Mapping[Path, dict[str, str]], drawing: bool = True) -> dict[str, str]:
    """One SHA-256 for every stub, of the names taken through it and of where they lead."""
    return {
        os.path.relpath(stub, ROOT): hash_of_hashes(names)
        for stub, names in sorted(exports.items())
        if drawing or not _only_draws(stub)
    }


def _only_draws(path: Path) -> bool:
    inside = path.relative_to(SOURCE).parts if path.is_relative_to(SOURCE) else ()
    return any(part.startswith("figure") for part in inside)


@dataclass(frozen=True)
class _Source:
    """What a file of Python imports, uses and loads.

    Attributes:
        imported: full names that its import statements name.
        bound: name in this file → full names that import statements give to it.
        used: bound names as they are used, with all attributes: ("effects", "power").
        loaded: texts passed to `load` and `load_all`.
        only_exports: whether it is the `__init__.py` of a package and has no code of its own.
    """

    imported: frozenset[str]
    bound: Mapping[str, frozenset[str]]
    used: frozenset[tuple[str, ...]]
    loaded: frozenset[str]
    only_exports: bool


class _Names(ast.NodeVisitor):
    """Collects what `_Source` has, anywhere in a file."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.imported: set[str] = set()
        self.bound: dict[str, set[str]] = {}
        self.used: set[tuple[str, ...]] = set()
        self.loaded: set[str] = set()

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.imported.add(alias.name)
            first = alias.name.partition(".")[0]
            self.bound.setdefault(alias.asname or first, set()).add(
                alias.name if alias.asname else first
            )

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if node.level:
            module = resolve_name("." * node.level + module, self.package)
        for alias in node.names:
            full = f"{module}.{alias.name}"
            self.imported.add(full)
            self.bound.setdefault(alias.asname or alias.name, set()).add(full)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        attributes: list[str] = []
        value: ast.expr = node
        while isinstance(value, ast.Attribute):
            attributes.insert(0, value.attr)
            value = value.value
        if isinstance(value, ast.Name):
            self.used.add((value.id, *attributes))
        else:
            self.visit(value)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.used.add((node.id,))

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("load", "load_all"):
            texts = (value.value for value in node.args if isinstance(value, ast.Constant))
            self.loaded.update(text for text in texts if isinstance(text, str))
        self.generic_visit(node)


@cache
def _read_source(path: Path, _: State) -> _Source:
    tree = parse(path.read_text(encoding="utf-8"), str(path))
    names = _Names(_package_of(path))
    names.visit(tree)
    code = tree.body[1:] if ast.get_docstring(tree) else tree.body
    bare = {ast.dump(line) for line in parse(_LAZY_EXPORTS, "_LAZY_EXPORTS").body}
    return _Source(
        imported=frozenset(names.imported),
        bound={name: frozenset(targets) for name, targets in names.bound.items()},
        used=frozenset(use for use in names.used if use[0] in names.bound),
        loaded=frozenset(names.loaded),
        only_exports=path.name == "__init__.py" and {ast.dump(line) for line in code} <= bare,
    )


def _package_of(path: Path) -> str:
    """The full name of the package that a file lies in; empty outside of our packages."""
    return ".".join(path.parent.relative_to(SOURCE).parts) if path.is_relative_to(SOURCE) else ""


class _Reader:
    """Follows names from one source through the files that there are at this moment."""

    def __init__(self) -> None:
        self.files = _files()
        self.read_files: dict[Path, _Source] = {}
        self.names_of_packages: dict[str, dict[str, str]] = {}
        self.reached: set[Path] = set()
        self.waiting: list[Path] = []
        self.followed: set[tuple[str, bool]] = set()
        self.exports: dict[Path, dict[str, str]] = {}

    def read(self, source: Path) -> Dependencies:
        self.follow(_package_of(source), used=False)  # its packages run before it
        self.waiting.append(source)
        while self.waiting:
            file = self.source(self.waiting.pop())
            for name in file.imported:
                self.follow(name.removesuffix(".*"), used=name.endswith(".*"))
            for first, *attributes in file.used:
                for full in file.bound[first]:
                    self.follow(".".join([full, *attributes]), used=True)
        modules = [path for path in self.reached if not self.source(path).only_exports]
        exports = {stub: dict(sorted(names.items())) for stub, names in self.exports.items()}
        return Dependencies(sorted(modules), exports)

    def source(self, path: Path) -> _Source:
        if path not in self.read_files:
            self.read_files[path] = _read_source(path, state(path))
        return self.read_files[path]

    def reach(self, module: str) -> None:
        path = self.files[module]
        if path not in self.reached:
            self.reached.add(path)
            self.waiting.append(path)

    def names(self, module: str) -> dict[str, str]:
        if module not in self.names_of_packages:
            path = self.files[module]
            package = path.name == "__init__.py"
            self.names_of_packages[module] = exports_of(path) if package else {}
        return self.names_of_packages[module]

    def follow(self, name: str, used: bool) -> None:
        """Reach the module that defines a name, and the packages on the way to it.

        Args:
            name: a full name; what is not ours is passed over.
            used: a package at its end is used as a value, which may reach any name of it.
        """
        module, *attributes = name.split(".")
        if module not in self.files or (name, used) in self.followed:
            return
        self.followed.add((name, used))
        self.reach(module)
        for number, attribute in enumerate(attributes, 1):
            inside = f"{module}.{attribute}"
            full = self.names(module).get(attribute)
            if inside in self.files:
                self.reach(inside)
                if full in (None, inside):
                    module = inside
                    continue
            if full is not None:
                stub = self.files[module].with_suffix(".pyi")
                self.exports.setdefault(stub, {})[attribute] = full
                targets = {full}
            else:
                # Another module's import: what it names may be a package, and go on from there.
                targets = self.source(self.files[module]).bound.get(attribute, frozenset())
            for target in targets:
                self.follow(".".join([target, *attributes[number:]]), used)
            if attribute.startswith("__"):  # `__dict__` and the like may give any name
                self.reach_all(module)
            return
        if used:
            self.reach_all(module)

    def reach_all(self, module: str) -> None:
        """Reach all modules and names of a package; of a module, nothing more than itself."""
        if self.files[module].name == "__init__.py":
            inside = [name for name in self.files if name.startswith(f"{module}.")]
            for name in [*inside, *(f"{module}.{name}" for name in self.names(module))]:
                self.follow(name, used=False)


def _files() -> dict[str, Path]:
    """Full name → the file of a package or module of ours."""
    files = {}
    for path in SOURCE.rglob("*.py"):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        files[module.removesuffix(".__init__")] = path
    return files


def load_profile(name: str, folder: Path = PROFILES) -> SimpleNamespace:
    """Read a profile: the sizes of a run by their names.

    Args:
        name: of the profile.
        folder: of the profiles' files.

    Raises:
        InputError: no such profile, or names or kinds of values that are not those of laptop.yml.
    """
    path = folder / f"{name}.yml"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in folder.glob("*.yml")))
        raise InputError(
            f"unknown profile {name!r}: no file {path}; there are: {known}",
            field="profile",
            found=name,
            expected=known,
        )
    values = _yaml(path, state(path))
    laptop = _yaml(PROFILES / "laptop.yml", ())
    for field in {**laptop, **values}:
        value: Any = values.get(field)
        kind = type(laptop.get(field))
        if type(value) is not kind or (kind is int and value < 1):
            expected = {int: "a whole number of at least 1", str: "text"}.get(kind, "no such name")
            raise InputError(
                f"{path}: {field} is {value!r}, {expected} was expected",
                field=field,
                found=value,
                expected=expected,
            )
    return SimpleNamespace(**values)


@cache
def _yaml(path: Path, _: State) -> Mapping[str, Any]:
    """What a profile's file says: names and values, which all callers share and none can change.

    Args:
        path: of the file.
        _: its state, so that a file that has changed is read again. With `()` it is read once.

    Raises:
        InputError: the file is no YAML of names.
    """
    try:
        values = dict(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (yaml.YAMLError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"{path} is no YAML of names: {reason}",
            field=str(path),
            found=reason,
            expected="YAML of names",
        ) from None
    return MappingProxyType(values)
