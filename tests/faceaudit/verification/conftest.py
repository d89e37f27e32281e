"""Fixtures of the prototypes that several tests share."""

from walked_prototypes import codes, generator, planes, prototypes  # noqa: F401
