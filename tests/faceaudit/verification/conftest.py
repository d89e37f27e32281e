"""Fixtures of the prototypes that several tests share; the wheel alone has none."""

from importlib.util import find_spec

if find_spec("faceworld.prototypes"):
    from walked_prototypes import codes, generator, planes, prototypes  # noqa: F401
