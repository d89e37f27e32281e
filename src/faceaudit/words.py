"""Numbers and names in words, and the templates that make sentences of them."""

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from faceaudit.annotations.schema import heading
from faceaudit.effects.verdicts import EXCEEDS, INCONCLUSIVE, NOT_ESTIMABLE, WITHIN
from faceaudit.utils.formatting import (
    capital,
    hundredths,
    listed,
    number,
    p_value,
    percent,
    points,
    spaced,
    tolerated,
    with_minus,
)

ORDER = (EXCEEDS, INCONCLUSIVE, NOT_ESTIMABLE, WITHIN)
"""Verdicts from what asks for action to what does not."""


def render_template(name: str, **values: Any) -> str:
    """A template of the folder `templates`, filled in; one of HTML escapes what it is given."""
    return _environment(".html." in name).get_template(name).render(values)


def render_sentences(macro: str, *values: Any, of: str = "sentences.j2") -> list[str]:
    """What a macro of a template says: an item for each of its paragraphs, on one line."""
    text = getattr(_environment(False).get_template(of).module, macro)(*values)
    items = [re.sub(r"\s*\n\s*", " ", item.strip()) for item in re.split(r"\n\s*\n", text)]
    return [item for item in items if item]


_NUMBERS = (hundredths, number, p_value, percent, points, tolerated)


@cache
def _environment(autoescape: bool) -> Environment:
    environment = Environment(
        loader=PackageLoader("faceaudit", "templates"),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: with_minus(str(value)) if isinstance(value, float) else value,
    )
    for function in (capital, heading, listed, spaced, *_NUMBERS, with_minus):
        environment.filters[function.__name__] = function
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    environment.globals |= {"ORDER": ORDER, "render_sentences": render_sentences}
    return environment
