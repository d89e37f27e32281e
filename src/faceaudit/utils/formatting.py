"""Numbers as text: points, a true minus."""

import re
from collections.abc import Iterable

_HYPHEN = re.compile(r"(?<![\w.)\]-])-(?=\.?\d|inf\b)")


def with_minus(text: str) -> str:
    """A text whose negative numbers have a minus sign (U+2212) where programs print a hyphen.

    Results keep the hyphen, which programs read. A hyphen before a figure is taken for a minus,
    unless it stands behind a letter, a figure or a closing bracket: those of words, ranges and
    dates stay.

    Args:
        text: of a page.

    Returns:
        The text with minus signs.
    """
    return _HYPHEN.sub("−", text)


def in_points(rate: float) -> str:
    """A difference of rates (a fraction) in percentage points, with its sign.

    It has one decimal; what that would round to zero has two, or the end of an interval that
    excludes zero would seem to reach it. The number 18.75 may come as 0.1875 or, after rounding
    errors, as a little less; both give the same text.

    Args:
        rate: a fraction.

    Returns:
        Points, as "+5.3".

    Example:
        >>> in_points(0.0532), in_points(-0.0002), in_points(-1e-9)
        ('+5.3', '-0.02', '+0.00')
        >>> in_points(0.1875), in_points(0.18749999999999997)
        ('+18.8', '+18.8')
    """
    points = round(100 * rate, 9)
    text = f"{points:+z.1f}"
    return f"{points:+z.2f}" if points and float(text) == 0 else text


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
    return "–" if rate is None else f"{hundredths(rate)}%"


def hundredths(rate: float) -> str:
    """A rate as so many of a hundred; 0.1875 and, by rounding errors, a little less are alike."""
    return f"{round(100 * rate, 9):z.1f}"


def points(difference: float | None) -> str:
    """A difference of rates in points with its sign, a true minus; "–" where there is none."""
    return "–" if difference is None else with_minus(in_points(difference))


def tolerated(tolerance: float, is_number: bool = False) -> str:
    """A tolerance in points, of which one is a point; that of a number in the number's unit."""
    if is_number:
        return f"{tolerance:g}"
    count = f"{100 * tolerance:g}"
    return "1 point" if count == "1" else f"{count} points"


def number(value: float | None) -> str:
    """Two decimals; "–" where there is none."""
    return "–" if value is None else with_minus(f"{value:.2f}")


def signed(value: float | None) -> str:
    """A difference of numbers with its sign, three figures, a true minus; "–" where there is none.

    Example:
        >>> signed(-1.2345), signed(2.0), signed(1234.5)
        ('−1.23', '+2.00', '+1234')
    """
    if value is None:
        return "–"
    digits = ".0f" if abs(value) >= 100 else "#.3g"
    return with_minus(f"{value:+{digits}}")


def p_value(value: float | None) -> str:
    """Three decimals; "–" where there is none."""
    if value is None:
        return "–"
    return "<\u00a00.001" if value < 0.001 else f"{value:.3f}"
