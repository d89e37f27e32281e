"""Kinds of generators that an audit file may name."""

from faceaudit.file.parts import KINDS_WITH_DIRECTIONS
from faceaudit.images.generator_kinds import OPENERS


def test_every_kind_with_directions_can_be_opened():
    assert tuple(OPENERS) == KINDS_WITH_DIRECTIONS
