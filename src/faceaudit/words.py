"""Numbers and names in words, and the templates that make sentences of them."""

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from faceaudit.annotations.schema import heading
from faceaudit.outcomes import is_of_number
from faceaudit.utils.formatting import (
    capital,
    hundredths,
    listed,
    number,
    p_value,
    percent,
    points,
    signed,
    spaced,
    tolerated,
    with_minus,
)


def whole_percent(share: float) -> str:
    """A share in percent without decimals and without the sign, with a true minus.

    Example:
        >>> whole_percent(-0.126)
        '−13'
    """
    return with_minus(str(round(100 * share)))


def chance_in_percent(chance: float) -> str:
    """A chance in whole percent without the sign; one near 0 or 1 is not rounded to either.

    Example:
        >>> chance_in_percent(0.126), chance_in_percent(0.001)
        ('13', 'under 1')
    """
    if chance < 0.005:
        return "under 1"
    if chance >= 0.995:
        return "over 99"
    return whole_percent(chance)


def in_unit(value: float | None, row: Any) -> str:
    """A difference of a row with its sign: in points, or in the unit of the row's number."""
    return signed(value) if is_of_number(row) else points(value)


def amount(value: float | None, row: Any) -> str:
    """A rate as so many of a hundred, or a row's number as it is; "–" where there is none."""
    if is_of_number(row):
        return number(value)
    return "–" if value is None else hundredths(value)


def with_unit(value: float | None, row: Any) -> str:
    """A difference of a row with its sign and the word for its unit; a number's has none."""
    text = in_unit(value, row)
    return text if is_of_number(row) else f"{text} points"


_FILTERS = (
    amount,
    capital,
    chance_in_percent,
    heading,
    hundredths,
    in_unit,
    listed,
    number,
    p_value,
    percent,
    points,
    spaced,
    tolerated,
    whole_percent,
    with_minus,
    with_unit,
)
"""Functions from a value to its text, which templates know by their names."""


def render_template(name: str, **values: Any) -> str:
    """Fill in a template of the folder `templates`.

    Args:
        name: of its file; a template of HTML escapes what it is given.
        values: by the names that the template has for them.

    Returns:
        The text.
    """
    return _environment(".html." in name).get_template(name).render(values)


def render_sentences(macro: str, *values: Any, of: str = "sentences.j2", **named: Any) -> list[str]:
    """The sentences of a macro.

    Args:
        macro: its name.
        values: its arguments by their order.
        of: file of the template that has the macro.
        named: its arguments by name.

    Returns:
        An item for each paragraph of the macro, on one line.
    """
    module = _environment(False).get_template(of).module
    text = getattr(module, macro)(*values, **named)
    paragraphs = [paragraph.strip() for paragraph in re.split(r"\n\s*\n", text)]
    return [re.sub(r"\s*\n\s*", " ", paragraph) for paragraph in paragraphs if paragraph]


@cache
def _environment(autoescape: bool) -> Environment:
    environment = Environment(
        loader=PackageLoader("faceaudit", "templates"),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_with_true_minus,
    )
    for function in _FILTERS:
        environment.filters[function.__name__] = function
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    return environment


def _with_true_minus(value: Any) -> Any:
    """A float as text with a minus sign; other values as they are."""
    return with_minus(str(value)) if isinstance(value, float) else value
