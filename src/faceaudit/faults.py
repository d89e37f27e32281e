"""What is wrong with an audit file: the field, what stood there, and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from faceaudit import parts


def in_words(error: ValidationError, content: dict[str, Any], top: Sequence[str]) -> str:
    """The first error of a file in one sentence: the field, what stood there, what is allowed.

    Args:
        error: of pydantic.
        content: of the file.
        top: keys that the file may have.

    Returns:
        The sentence.

    Example:
        >>> try:
        ...     parts.Design.model_validate({"tolerance": 5})
        ... except ValidationError as error:
        ...     in_words(error, {}, [])
        'tolerance is 5, less than 1 was expected'
    """
    # A misspelt key is unknown, and the right one missing: the first says what to do.
    errors = sorted(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    first = errors[0]
    place = [str(part) for part in first["loc"]]
    # Of a union, pydantic names the member that was tried between the field and the key.
    shown = ".".join(part for k, part in enumerate(place) if not _is_tag(content, place, k))
    kind, context = first["type"], first.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind == "extra_forbidden":
        known = _keys(place[:-1], content, top)
        close = difflib.get_close_matches(place[-1], known, 1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        return f"{shown} is no key here{hint}; allowed are {', '.join(known)}"
    if kind == "missing":
        return f"{shown} is missing"
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        tag = context.get("tag", "missing")
        kinds = _tags("reader" if place[:3] == _OF_READER else place[0])
        return f"{shown}.kind is {tag}, one of {kinds} was expected"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return f"{shown} is {first['input']!r}, keys with values were expected"
    found = f"{shown} is {first['input']!r}"
    if kind == "too_long" and place[0] in ("axes", "placebos"):
        return (
            f"{found}, which has {context['actual_length']} levels; an axis compares two, so name "
            "two of them and leave the rows of the others out, or write one audit for each pair"
        )
    message = first["msg"].removeprefix("Input should be ")
    if kind in _EXPECTED:
        message = _EXPECTED[kind].format(of_field=_PATTERNS.get(place[-1]), **context)
    return f"{found}, {message} was expected"


_EXPECTED = {
    "string_type": "a text (put quotes around it: YAML takes no, off or 0 for something else)",
    "string_too_short": "a text that is not empty",
    "string_pattern_mismatch": "{of_field}",
    "too_long": "a list of at most {max_length}",
    "too_short": "a list of at least {min_length}",
}
"""Kind of error → what was expected, where pydantic's own words are a programmer's."""
_PATTERNS = {
    "name": "small letters, digits and hyphens",
    "object": "module:name",
    "function": "module:name",
    "url": "an address that starts with http:// or https://",
}
"""Field → what its pattern asks for."""
_OF_READER = ["people", "reader", "models"]
"""Where the models of a reader stand, each with a tag of its own."""


def _is_tag(content: dict[str, Any], place: list[str], k: int) -> bool:
    if k == 4 and place[:3] == _OF_READER:
        return True
    return (
        k == 1
        and place[0] in ("generator", "people", "model")
        and place[1] != "kind"
        and (content[place[0]].get("kind") == place[1])
    )


def _members(field: str) -> list[type[parts.Strict]]:
    """The classes that a part of the file can be, by their kinds."""
    return {
        "generator": [parts.KnownTruth, parts.Style, parts.Images, parts.PythonGenerator],
        "people": [parts.Simulated, parts.Export, parts.Reader, parts.InTable],
        "model": [parts.Onnx, parts.PythonModel, parts.Http, parts.Table],
        "reader": [parts.Onnx, parts.PythonModel, parts.Http],
    }[field]


def _is_of(member: type[parts.Strict], kind: str) -> bool:
    return kind in member.model_fields["kind"].annotation.__args__


def _tags(field: str) -> str:
    kinds = [member.model_fields["kind"].annotation.__args__ for member in _members(field)]
    return ", ".join(kind for some in kinds for kind in some)


def _keys(place: list[str], content: dict[str, Any], top: Sequence[str]) -> list[str]:
    """Keys that are allowed at a place."""
    if not place:
        return list(top)
    if place[0] in ("generator", "people", "model"):
        kind = content[place[0]]["kind"]
        members = _members(place[0])
        own = next(m for m in members if _is_of(m, kind))
        if place[:3] == _OF_READER:
            own = next(m for m in _members("model") if _is_of(m, place[4]))
            place = place[3:]
        for part in place[2:]:
            own = {"input": parts.Preparation, "output": parts.Output}[part]
        return list(own.model_fields)
    return list(
        {"columns": parts.Columns, "design": parts.Design, "target": parts.Target}[
            place[0]
        ].model_fields
    )
