"""Every name that a room hands on, and all of the drawers, is documented for the API reference."""

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pkgutil import resolve_name

import api_reference
import pytest

from helpers.artifacts.lineage import NOTEBOOKS

SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises|Examples?):$", re.MULTILINE)
# What no chapter calls itself says which ones it serves.
CHAPTER = re.compile(r"\b(Introduced\s+in|Serves)\s[^.]*?\b\d\d\b")


def names() -> Iterator[str]:
    """Full names of the functions and classes that have to be documented."""
    for room in api_reference.rooms():
        yield from (name for _, name in api_reference.exports(room))
    for path in api_reference.modules(api_reference.PACKAGE):
        module = f"helpers.{path.stem}"
        here = vars(import_module(module)).items()
        yield from (
            f"{module}.{name}"
            for name, value in here
            if not name.startswith("_") and getattr(value, "__module__", None) == module
        )


def is_code(name: str) -> bool:
    value = resolve_name(name)
    return inspect.isclass(value) or inspect.isfunction(value)


def sections(docstring: str) -> dict[str, str]:
    """A docstring's sections by their headings; what stands before them is under ''."""
    head, *rest = SECTION.split(docstring)
    return {"": head, **dict(zip(rest[::2], rest[1::2], strict=True))}


def parameters(value: object) -> list[str]:
    """Names that a caller passes."""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return []
    found = inspect.signature(value).parameters.values()
    return [one.name for one in found if one.name not in ("self", "cls", "args", "kwargs", "_")]


def documented(section: str) -> set[str]:
    """Names before the colons of a section, several in a line if they share a description."""
    lines = re.findall(r"^    (\*{0,2}\w[^:\n]*):", section, re.MULTILINE)
    return {name.strip(" *`") for line in lines for name in re.sub(r"\(.*?\)", "", line).split(",")}


def gives(value: object) -> bool:
    """Whether a function returns or yields something."""
    if inspect.isclass(value):
        return False
    annotation = inspect.signature(value).return_annotation
    return annotation not in (None, "None", inspect.Signature.empty)


def missing(value: object) -> list[str]:
    """What the docstring of a function or class lacks."""
    docstring = inspect.cleandoc(value.__doc__ or "")
    # dataclass and NamedTuple write a signature where there is no docstring.
    if not docstring or docstring.startswith(f"{value.__name__}("):
        return ["a docstring"]
    parts = sections(docstring)
    told = documented(parts.get("Args", "") + parts.get("Attributes", ""))
    lacks = [f"Args: {one}" for one in parameters(value) if one not in told]
    if gives(value) and not {"Returns", "Yields"} & parts.keys():
        lacks.append("Returns:")
    if not CHAPTER.search(docstring):
        lacks.append("Introduced in chapter NN.")
    if ">>> " not in parts.get("Example", "") + parts.get("Examples", ""):
        lacks.append("Example: with >>>")
    return lacks


@pytest.mark.parametrize("name", [name for name in names() if is_code(name)])
def test_docstring_says_what_a_reader_needs(name):
    assert missing(resolve_name(name)) == [], name


def uses(source: str) -> Iterator[str]:
    """Full names of what a chapter takes from the package."""
    tree, known = ast.parse(source), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("helpers"):
            known |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in known:
            yield known[node.id]
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", None) in known:
            yield f"{known[node.value.id]}.{node.attr}"


def first_uses() -> dict[object, str]:
    """Function or class → the first chapter that uses it."""
    found = {}
    for path in sorted(NOTEBOOKS.glob("[0-9]*.py")):
        for name in uses(path.read_text(encoding="utf-8")):
            try:
                value = resolve_name(name)
            except (AttributeError, ImportError):
                continue  # a local variable of a module's name
            if inspect.isfunction(value) or inspect.isclass(value):
                found.setdefault(value, path.name[:2])
    return found


def test_names_are_introduced_where_they_are_first_used():
    first, wrong = first_uses(), {}
    assert len(first) > 100
    for name in names():
        value = resolve_name(name)
        told = re.search(r"Introduced\s+in\s+chapter\s+(\d\d)", value.__doc__ or "")
        if is_code(name) and told and first.get(value) != told[1]:
            wrong[name] = f"says {told[1]}, first used in {first.get(value)}"
    assert wrong == {}


def good(first: int, *, second: float = 1) -> int:
    """A sum.

    Args:
        first: one number.
        second: the other.

    Returns:
        Both together.

    Introduced in chapter 01.

    Example:
        >>> 1 + 1
        2
    """
    return first


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("        first: one number.\n", ["Args: first"]),
        (
            "        first: one number.\n        second: the other.\n",
            ["Args: first", "Args: second"],
        ),
        ("    Returns:\n", ["Returns:"]),
        ("    Introduced in chapter 01.\n", ["Introduced in chapter NN."]),
        ("        >>> 1 + 1\n        2\n", ["Example: with >>>"]),
        (None, ["a docstring"]),
    ],
)
def test_what_lacks_is_named(monkeypatch, text, lacks):
    assert missing(good) == []
    monkeypatch.setattr(good, "__doc__", text and good.__doc__.replace(text, ""))
    assert missing(good) == lacks
