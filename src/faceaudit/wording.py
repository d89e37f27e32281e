"""Numbers and names in words, and the templates that make sentences of them."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from faceaudit.annotations.schema import heading
from faceaudit.effects.verdicts import EXCEEDS, INCONCLUSIVE, NOT_ESTIMABLE, WITHIN
from faceaudit.utils.formatting import in_points, with_minus

ORDER = (EXCEEDS, INCONCLUSIVE, NOT_ESTIMABLE, WITHIN)
"""Verdicts from what asks for action to what does not."""


def spaced(name: str) -> str:
    """A name of an axis or group as a page writes it: spaces for underscores.

    A face does not show anybody's gender, so that axis is called "perceived gender".
    """
    return "perceived gender" if name == "gender" else name.replace("_", " ")


def listed(names: Iterable[str]) -> str:
    """Names of axes in a sentence: "skin colour, hair length and perceived gender"."""
    *most, last = (spaced(name) for name in names)
    return f"{', '.join(most)} and {last}" if most else last


def capital(text: str) -> str:
    """A text with a capital letter, as sentences begin."""
    return text[:1].upper() + text[1:]


def percent(rate: float | None) -> str:
    """A rate in percent, "–" where there is none."""
    return "–" if rate is None else f"{hundredths(rate)} %"


def hundredths(rate: float) -> str:
    """A rate as so many of a hundred; 0.1875 and a hair less are told alike."""
    return f"{round(100 * rate, 9):z.1f}"


def points(difference: float | None) -> str:
    """A difference of rates in points with its sign, a true minus; "–" where there is none."""
    return "–" if difference is None else with_minus(in_points(difference))


def tolerated(tolerance: float) -> str:
    """A tolerance in points, of which one is a point."""
    told = f"{100 * tolerance:g}"
    return f"{told} point{'s' * (told != '1')}"


def number(value: float | None) -> str:
    """Two decimals; "–" where there is none."""
    return "–" if value is None else with_minus(f"{value:.2f}")


def p_value(value: float | None) -> str:
    """Three decimals; "–" where there is none."""
    return "–" if value is None else "<\u00a00.001" if value < 0.001 else f"{value:.3f}"


def rendered(name: str, **values: Any) -> str:
    """A template of the folder `templates`, filled in; one of HTML escapes what it is given."""
    return _environment(".html." in name).get_template(name).render(values)


def told(macro: str, *values: Any, of: str = "sentences.j2") -> list[str]:
    """What a macro of a template says: an item for each of its paragraphs, on one line."""
    text = getattr(_environment(False).get_template(of).module, macro)(*values)
    items = [re.sub(r"\s*\n\s*", " ", item.strip()) for item in re.split(r"\n\s*\n", text)]
    return [item for item in items if item]


def fault(macro: str, *values: Any) -> ValueError:
    """What is refused, in the words of a macro of `faults.j2`."""
    return ValueError("\n".join(told(macro, *values, of="faults.j2")))


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
    environment.globals |= {"ORDER": ORDER, "told": told}
    return environment
