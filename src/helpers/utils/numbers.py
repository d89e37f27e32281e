"""Numbers as the pages tell them."""


def in_points(rate: float) -> str:
    """A difference of rates (a fraction) in percentage points, with its sign.

    Serves every chapter, from 01 on. It has one decimal; what that would round to zero has two, or
    the end of an interval that excludes zero would seem to reach it.

    Example:
        >>> in_points(0.0532), in_points(-0.0002), in_points(-1e-9)
        ('+5.3', '-0.02', '+0.00')
    """
    points = 100 * rate
    told = f"{points:+z.1f}"
    return f"{points:+z.2f}" if points and float(told) == 0 else told
