"""Parameters to anatomy: sizes and places of the head's parts, in head units, per image.

One head unit is about 11 cm: the eyes lie near y = 0, the crown near 1.2, the chin near -1.
Gender, age, ancestry and expression act here, on geometry; colour is `shading`'s concern.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from helpers.faces.maths import bump, smoothstep
from helpers.faces.parameters import INDEX, ancestry_shift

IDENTITY_STRENGTH = 1.75
"""Identity parameters act this much more strongly than the nominal per-SD sizes below."""
SHIFTED_LIMIT = 4.5
"""Identity parameters are clipped here after the ancestry shift."""


class Columns:
    """Named access to the columns of a parameter tensor, each (n, 1)."""

    def __init__(self, parameters: Tensor) -> None:
        self.parameters = parameters

    def __call__(self, name: str) -> Tensor:
        return self.parameters[:, INDEX[name] : INDEX[name] + 1]

    def identity(self, name: str) -> Tensor:
        """An identity parameter after the ancestry shift, scaled to its visible strength."""
        shift = ancestry_shift(self("ancestry_x"), self("ancestry_y"), name)
        return IDENTITY_STRENGTH * (self(name) + shift).clamp(-SHIFTED_LIMIT, SHIFTED_LIMIT)


@dataclass(frozen=True)
class Traits:
    """What acts on several parts: gender as a sign, age as weights, expression."""

    male: Tensor
    """-1 female .. 1 male."""
    child: Tensor
    """1 at age 0, fading to 0 at young adult."""
    old: Tensor
    """0 up to adult, 1 at senior."""
    smile: Tensor
    """0 neutral .. 1 broad smile."""
    frown: Tensor
    """0 neutral .. 1 frown."""


@dataclass(frozen=True)
class Skull:
    """Ellipsoids of the head without features."""

    width: Tensor
    """Overall width factor."""
    cranium: tuple[float | Tensor, float | Tensor, float | Tensor]
    jaw: tuple[Tensor, Tensor, float | Tensor]
    angle_x: Tensor
    angle_y: Tensor
    angle_size: Tensor
    chin_y: Tensor
    chin: tuple[Tensor, Tensor, Tensor]
    cheek_x: Tensor
    cheek_y: Tensor
    cheek_size: Tensor
    ear_x: Tensor
    neck_radius: Tensor
    shoulder_width: Tensor


@dataclass(frozen=True)
class Eyes:
    """Eye centre on the image's right, half width, opening, and the brow above it."""

    x: Tensor
    y: Tensor
    size: Tensor
    tilt: Tensor
    opening: Tensor
    brow_y: Tensor
    brow_thickness: Tensor
    brow_arch: Tensor


@dataclass(frozen=True)
class Nose:
    """Base height, half width at the wings, projection, height of the root."""

    base_y: Tensor
    width: Tensor
    projection: Tensor
    root_y: Tensor


@dataclass(frozen=True)
class Mouth:
    """Centre height, half width, lip heights, opening, curvature of the lip line."""

    y: Tensor
    width: Tensor
    upper: Tensor
    lower: Tensor
    opening: Tensor
    curve: Tensor

    def line(self, across: Tensor) -> Tensor:
        """Height of the line between the lips at `across` = |x| / width: a soft cupid's bow
        that bends up at the corners with a smile and down with a frown."""
        bow = 0.010 * bump((across - 0.42) / 0.28) - 0.012 * bump(across / 0.26)
        return self.y + bow + self.curve * ((across * across).clamp_max(1.5) - 0.30)


@dataclass(frozen=True)
class Anatomy:
    """Everything the geometry and the paint need to know about the heads of a batch."""

    traits: Traits
    skull: Skull
    eyes: Eyes
    nose: Nose
    mouth: Mouth


def anatomy(columns: Columns) -> Anatomy:
    """Anatomy of every row."""
    traits = _traits(columns)
    skull, lower_face = _skull(columns, traits)
    return Anatomy(
        traits,
        skull,
        _eyes(columns, traits),
        _nose(columns, traits),
        _mouth(columns, traits, lower_face),
    )


def _traits(columns: Columns) -> Traits:
    age, expression = columns("age"), 2 * columns("smiling") - 1
    return Traits(
        male=2 * columns("gender") - 1,
        child=smoothstep(0.42, -0.06, age),
        old=smoothstep(0.5, 1.0, age),
        smile=expression.clamp_min(0),
        frown=(-expression).clamp_min(0),
    )


def _skull(columns: Columns, traits: Traits) -> tuple[Skull, Tensor]:
    """The skull and the length factor of the lower face."""
    male, child, old = traits.male, traits.child, traits.old
    jaw_width, chin = columns.identity("jaw_width"), columns.identity("chin")
    width = 1 + 0.040 * columns.identity("face_width") + 0.05 * child
    lower = 1 + 0.045 * columns.identity("face_length") + 0.025 * male - 0.15 * child
    narrow = 1 - 0.05 * child
    jaw = 0.565 * width * (1 + 0.045 * jaw_width + 0.085 * male + 0.04 * old) * narrow
    angle_size = 0.185 + 0.055 * male + 0.018 * jaw_width - 0.03 * child + 0.02 * old
    chin_width = 0.225 + 0.055 * male + 0.036 * chin - 0.01 * child
    skull = Skull(
        width=width,
        cranium=(0.765 * width, 0.92 + 0.05 * child, 0.93),
        jaw=(jaw, 0.73 * lower, 0.70),
        angle_x=0.345 * width * (1 + 0.045 * jaw_width + 0.06 * male),
        angle_y=-0.36 - 0.20 * lower,
        angle_size=angle_size.clamp(0.08, 0.33),
        chin_y=-0.37 - 0.56 * lower,
        chin=(
            chin_width.clamp(0.10, 0.38),
            0.175 + 0.02 * male,
            0.20 + 0.02 * chin + 0.02 * male,
        ),
        cheek_x=0.41 * width,
        cheek_y=-0.17 - 0.06 * child,
        cheek_size=(0.225 + 0.022 * columns.identity("cheekbones") - 0.012 * male).clamp(0.12, 0.31)
        + 0.03 * child,
        ear_x=0.765 * width,
        neck_radius=0.44 + 0.075 * male - 0.09 * child,
        shoulder_width=1.50 + 0.16 * male - 0.32 * child,
    )
    return skull, lower


def _eyes(columns: Columns, traits: Traits) -> Eyes:
    male, child, old = traits.male, traits.child, traits.old
    size, brow_height = columns.identity("eye_size"), columns.identity("brow_height")
    y = 0.03 - 0.07 * child
    thickness = 0.036 + 0.008 * columns.identity("brow_thickness") + 0.016 * male - 0.008 * child
    return Eyes(
        x=0.318 + 0.018 * columns.identity("eye_gap") + 0.012 * child,
        y=y,
        size=0.170 * (1 + 0.060 * size - 0.07 * male + 0.20 * child - 0.04 * old),
        tilt=0.065 * columns.identity("eye_tilt") + 0.05 - 0.02 * male - 0.06 * old,
        opening=0.55
        + 0.035 * size
        - 0.04 * male
        + 0.06 * child
        - 0.10 * old
        - 0.10 * traits.smile
        - 0.04 * traits.frown,
        brow_y=y + 0.275 + 0.020 * brow_height - 0.032 * male + 0.01 * child - 0.025 * traits.frown,
        brow_thickness=thickness.clamp(0.014, 0.072),
        brow_arch=0.040 + 0.009 * brow_height - 0.014 * male,
    )


def _nose(columns: Columns, traits: Traits) -> Nose:
    male, child, old = traits.male, traits.child, traits.old
    return Nose(
        base_y=-0.345 * (1 + 0.05 * columns.identity("nose_length") + 0.02 * male - 0.16 * child),
        width=0.155
        * (1 + 0.13 * columns.identity("nose_width") + 0.085 * male - 0.10 * child + 0.06 * old),
        projection=0.215
        * (1 + 0.13 * columns.identity("nose_bridge") + 0.05 * male - 0.32 * child),
        root_y=0.17 - 0.10 * child,
    )


def _mouth(columns: Columns, traits: Traits, lower_face: Tensor) -> Mouth:
    male, child, old = traits.male, traits.child, traits.old
    fullness = 1 + 0.20 * columns.identity("lip_fullness") - 0.22 * male - 0.24 * old
    stretch = 1 + 0.24 * traits.smile - 0.06 * traits.frown
    width = 0.235 * (1 + 0.065 * columns.identity("mouth_width") + 0.02 * male - 0.12 * child)
    return Mouth(
        y=-0.345 - 0.262 * lower_face,
        width=width * stretch,
        upper=0.068 * fullness.clamp_min(0.35) * (1 - 0.25 * traits.smile),
        lower=0.092 * fullness.clamp_min(0.40) * (1 - 0.15 * traits.smile),
        opening=0.085 * smoothstep(0.25, 1.0, traits.smile),
        curve=0.014 + 0.072 * traits.smile - 0.075 * traits.frown,
    )
