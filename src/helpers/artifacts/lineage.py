"""What a stage is made from: its source, modules of ours that it imports, stages, and a profile.

A stage is a notebook, or a study: a module of the package that is run as a command. Two readers
share this: the runner (`tools/run.py`) and `helpers.artifacts`, which refuses a stage made by other
code.

A profile says how large a run is: a file `profiles/<name>.yml` of papermill parameters, with the
names that laptop.yml has. A notebook's parameters cell declares those that it uses, with the laptop
values; the executor passes it those of the chosen profile. Nothing else in the code depends on a
profile's name.
"""

import ast
import hashlib
import os
import re
import threading
from functools import cache
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace

import yaml

ROOT = Path(__file__).resolve().parents[3]
NOTEBOOKS = ROOT / "notebooks"
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "helpers"
PROFILES = ROOT / "profiles"

# Stage → the module of this package that makes it, `python -m helpers.<module> --profile …`.
STUDIES = {"audit_plan": "effects.audit_plan"}

State = tuple[int, ...]

_PARSING = threading.Lock()
_NOTEBOOK = re.compile(r"^n?\d\d_\w+$")  # of a chapter or a note
_DERIVED = (".ipynb", ".pyc", "~")  # ends of files made from the source beside them


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
        raise ValueError(f"no stage {stage} in {NOTEBOOKS}; there are {', '.join(stages())}")
    return path


def inputs(source: Path) -> list[str]:
    """Stages a source reads: named by literals in calls of `….load(…)` and `….load_all(…)`."""
    _, loaded = _parts(source, state(source))
    return sorted(name for name in loaded if _NOTEBOOK.match(name) or name in STUDIES)


def parse(code: str, name: str) -> ast.Module:
    """Parse Python, one thread at a time: in two at once, Python 3.11 may raise a SystemError."""
    with _PARSING:
        return ast.parse(code, filename=name)


def helper_modules(source: Path, executed: bool = True) -> list[Path]:
    """Files of our packages that a source file imports, directly or through other modules.

    Args:
        source: a notebook or a module.
        executed: all that runs on importing, which is the faces of rooms on the way and what they
            import, too; False: only files that a name is taken from.
    """
    files, found, waiting = _files(), set(), [source]
    while waiting:
        module = waiting.pop()
        names, _ = _parts(module, state(module))
        prefixes = (accumulate(name.split("."), "{}.{}".format) for name in names)
        ways = ([files[one] for one in way if one in files] for way in prefixes)
        new = {path for way in ways for path in way[None if executed else -1 :]} - found
        found |= new
        waiting += new
    return sorted(found)


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
    stems: dict[Path, set[str]] = {}
    for path in modules:
        inside = path.relative_to(SOURCE).parts if path.is_relative_to(SOURCE) else ()
        if drawing or not any(part.startswith("figure") for part in inside):
            stems.setdefault(path.parent, set()).add(path.stem)
    files = (
        folder / name
        for folder, named in stems.items()
        for name in os.listdir(folder)
        if name.partition(".")[0] in named and "." in name and not name.endswith(_DERIVED)
    )
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


@cache
def _parts(source: Path, _: State) -> tuple[frozenset[str], frozenset[str]]:
    """Names that a file imports, anywhere in it, and texts passed to `load` and `load_all`."""
    names: set[str] = set()
    loaded: set[str] = set()
    for node in ast.walk(parse(source.read_text(encoding="utf-8"), str(source))):
        match node:
            case ast.Import(names=some):
                names.update(one.name for one in some)
            case ast.ImportFrom(module=base, names=some):
                names.update(f"{base}.{one.name}" for one in some)
            case ast.Call(func=ast.Attribute(attr="load" | "load_all"), args=passed):
                values = (one.value for one in passed if isinstance(one, ast.Constant))
                loaded.update(value for value in values if isinstance(value, str))
    return frozenset(names), frozenset(loaded)


def _files() -> dict[str, Path]:
    """Dotted name → the file of a package or module of ours."""
    paths = (
        (path, path.relative_to(SOURCE).with_suffix("").parts) for path in SOURCE.rglob("*.py")
    )
    return {".".join(parts).removesuffix(".__init__"): path for path, parts in paths}


def load_profile(name: str, folder: Path = PROFILES) -> SimpleNamespace:
    """Sizes of a run by their names; a ValueError says what is wrong with the file."""
    path = folder / f"{name}.yml"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in folder.glob("*.yml")))
        raise ValueError(f"unknown profile {name!r}: no file {path}; there are: {known}")
    values, model = _yaml(path, state(path)), _yaml(PROFILES / "laptop.yml", ())
    for field in {**model, **values}:
        found, kind = values.get(field), type(model.get(field))
        if type(found) is not kind or (kind is int and found < 1):
            wanted = {int: "a whole number of at least 1", str: "text"}.get(kind, "no such name")
            raise ValueError(f"{path}: {field} is {found!r}, {wanted} was expected")
    return SimpleNamespace(**values)


@cache
def _yaml(path: Path, _: State) -> dict:
    try:
        return dict(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (yaml.YAMLError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is no YAML of names: {' '.join(str(error).split())}") from None
