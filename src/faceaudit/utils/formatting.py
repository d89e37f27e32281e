"""Numbers as text: points, a true minus."""

import re

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
    excludes zero would seem to reach it. The one number 18.75 may come as 0.1875 or as a hair less;
    it is told the same way.

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
    told = f"{points:+z.1f}"
    return f"{points:+z.2f}" if points and float(told) == 0 else told
