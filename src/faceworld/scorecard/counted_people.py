"""Portraits of counted people, edited: what another skin colour would have changed about each.

An encoder reads a code off each portrait. The code is moved along the experiment's direction of an
attribute, until the attribute's decision value is that of a donor, and is drawn again. What the
move changes in the drawn picture is added to the portrait, which keeps what the encoder could not
read.

Each portrait that is redrawn from its code is a twin of the portrait, whose code is known. Reading
a twin and moving it shows what the encoder's errors do, since the twin can be moved exactly too
(`faceaudit.effects.twins`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from faceaudit.latents.directions import Hyperplanes
from faceaudit.utils.arguments import check_images

LEVELS = ("light", "dark")
"""Groups that give their skin colour: a change is from the first to the second."""

Read = Callable[[np.ndarray], np.ndarray]
"""Portraits, uint8 (n, 3, h, w) → their codes, float64 (n, D)."""
Draw = Callable[[np.ndarray], np.ndarray]
"""Codes, float64 (n, D) → pictures, uint8 (n, 3, h, w)."""


@dataclass(frozen=True)
class Axis:
    """An attribute's hyperplane, and a direction that moves codes along the attribute.

    Attributes:
        plane: the hyperplane of one attribute.
        direction: (D,), along which the decision value grows by one.
    """

    plane: Hyperplanes
    direction: np.ndarray

    @classmethod
    def of_step(cls, plane: Hyperplanes, step: np.ndarray) -> "Axis":
        """The axis along a step (D,) of the experiment, of any length.

        A step that was calibrated on made faces moves other attributes less than the row of the
        dual basis that it began with.
        """
        return cls(plane, step / (plane.normals[0] @ step))

    def values(self, codes: np.ndarray) -> np.ndarray:
        """Decision values (n,) of codes (n, D)."""
        return self.plane.decision_values(codes)[:, 0]

    def move(self, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Codes (n, D) after a move to these decision values (n,)."""
        return codes + (values - self.values(codes))[:, None] * self.direction


@dataclass(frozen=True)
class Edits:
    """Portraits that were read, moved and drawn again.

    Attributes:
        codes: (n, D), as read.
        redrawn: (n, 3, h, w) uint8, drawn from the codes: the portraits' twins.
        pairs: (n, 2, 3, h, w) uint8, drawn from the codes after the move to each of `LEVELS`.
    """

    codes: np.ndarray
    redrawn: np.ndarray
    pairs: np.ndarray

    def on(self, portraits: np.ndarray) -> np.ndarray:
        """The portraits themselves, with what each move changes in the redrawn picture.

        Args:
            portraits: (n, 3, h, w) uint8, those that were read.

        Returns:
            (n, 2, 3, h, w) uint8, for each of `LEVELS`.
        """
        changed = self.pairs.astype(np.int16) - self.redrawn[:, None]
        return (portraits[:, None] + changed).clip(0, 255).astype(np.uint8)


def edit_portraits(
    portraits: np.ndarray, donors: np.ndarray, axis: Axis, read: Read, draw: Draw
) -> Edits:
    """Read portraits, and move each to the decision values of a donor from each of `LEVELS`.

    Args:
        portraits: uint8 (n, 3, h, w).
        donors: (n, 2), of `counted_gap.draw_donors`; their decision values are read off their
            portraits.
        axis: to move along.
        read: portraits → codes, such as an encoder's.
        draw: codes → pictures, such as a generator's.

    Returns:
        The codes, and the pictures that are drawn from them.

    Raises:
        InputError: portraits that are no uint8 (n, 3, h, w).
    """
    check_images(portraits)
    codes = read(portraits)
    goals = axis.values(codes)[donors]
    pairs = [draw(axis.move(codes, goal)) for goal in goals.T]
    return Edits(codes, draw(codes), np.stack(pairs, axis=1))
