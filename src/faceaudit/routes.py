"""Which keys of an audit file each route reads: any other one would be left out in silence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

CLASSIFICATION = "classification"
IMAGES, PAIRS = "verification of images", "verification of pairs"
EVERY = ("name", "kind", "question", "columns", "model", "design", "accept")
ROUTES: dict[str, dict[str, tuple[str, ...]]] = {
    CLASSIFICATION: {
        "": (
            *EVERY,
            *("axes", "attribute", "classes", "placebos", "annotated"),
            *("images", "target", "generator", "people"),
        ),
        "columns": ("image", "unit", "label", "answers", "score", "decision"),
        "design": ("tolerance", "transects", "power", "seed", "expected_error", "incomplete"),
    },
    IMAGES: {
        "": (*EVERY, "images", "reference"),
        "columns": ("image", "identity", "group", "unit", "points"),
        "design": ("tolerance", "seed", "impostors"),
    },
    PAIRS: {
        "": (*EVERY, "pairs", "reference"),
        "columns": ("group", "first", "second", "same", "similarity"),
        "design": ("tolerance", "seed"),
    },
}
"""Route → part of the file ("" for its top) → keys that are read."""


def require_own_keys(route: str, given: Mapping[str, Iterable[str]]) -> None:
    """Raise ValueError at the first key that a route does not read.

    Args:
        route: of `ROUTES`.
        given: part of the file → keys that it has.

    Example:
        >>> require_own_keys(PAIRS, {"": ["pairs"], "columns": [], "design": ["tolerance"]})
    """
    for part, allowed in ROUTES[route].items():
        if other := sorted(set(given[part]) - set(allowed)):
            field = f"{part}.{other[0]}" if part else other[0]
            raise ValueError(
                f"{field} is given, which a {route} does not take; it takes {', '.join(allowed)}"
            )
