"""Every name that a package exports, and all of some modules, is documented."""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pkgutil import resolve_name

import api_reference

MODULES = [
    "helpers.claims",
    "faceaudit.effects.error_rates",
    "faceaudit.effects.pruning",
    "faceaudit.effects.resampling",
    "faceaudit.latents.calibration",
    "faceaudit.latents.directions",
    "faceaudit.latents.orthogonalization",
    "faceaudit.latents.transects",
]
"""Modules whose names chapters take, and which no subpackage exports."""
SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises|Examples?):$", re.MULTILINE)


def names() -> Iterator[str]:
    """Full names of the functions and classes that have to be documented."""
    for package in api_reference.packages():
        yield from (name for _, name in api_reference.exports(package))
    for module in MODULES:
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
    return lacks


def test_docstrings_say_what_a_reader_needs():
    lacking = {name: missing(resolve_name(name)) for name in names() if is_code(name)}
    assert len(lacking) > 100 and {name: what for name, what in lacking.items() if what} == {}


def test_the_api_reference_says_which_chapters_use_a_name():
    lines = ["A sum."]
    api_reference.name_chapters(None, "function", "helpers.claims.claim", None, None, lines)
    assert lines[-1].startswith("*Used in chapters* 01, ")
