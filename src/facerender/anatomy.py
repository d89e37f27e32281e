"""Parameters to anatomy: sizes and places of the head's parts, in head units.

One head unit is about 11 cm: the eyes lie near y = 0, the crown near 1.2, the chin near -1.
Gender, age, ancestry and expression act here, on geometry; colour is `shading`'s concern. A `face`
is a record of `parameters.records`: identity parameters have the strength that is seen.
"""

from __future__ import annotations

from collections import namedtuple

from facerender.compiled import formula
from facerender.maths import Vector, bump, clamp, smoothstep

Traits = namedtuple("Traits", "male child old smile frown knit beard")
"""What acts on several parts: gender as a sign, age as weights, expression.

*male*: -1 female .. 1 male; *child*: 1 at age 0, fading to 0 at young adult; *old*: 0 up to
adult, 1 at senior; *smile*: 0 neutral .. 1 broad smile; *frown*: 0 neutral .. 1 frown, as the
mouth shows it; *knit*: the same for the brows, which move late, and up in the middle: displeased,
not angry; *beard*: 0 none .. 1 full.
"""


Skull = namedtuple(
    "Skull",
    "width lower cranium jaw angle_x angle_y angle_size chin_y chin cheek_x cheek_y "
    "cheek_size ear_x neck_radius shoulder_width",
)
"""Ellipsoids of the head without features; vectors are their radii.

*width*: overall width factor; *lower*: length factor of the lower face.
"""


Eyes = namedtuple("Eyes", "x y size tilt opening brow_y brow_thickness brow_arch")
"""Eye centre on the image's right, half width, opening, and the brow above it."""


Nose = namedtuple("Nose", "base_y width projection root_y")
"""Base height, half width at the wings, projection, height of the root."""


Mouth = namedtuple("Mouth", "y width upper lower opening curve")
"""Centre height, half width, lip heights, opening, curvature of the lip line."""


Anatomy = namedtuple("Anatomy", "traits skull eyes nose mouth")
"""Everything the geometry and the paint need to know about a head."""


@formula
def anatomy(face):
    """The anatomy of a face."""
    traits = _traits(face)
    skull = _skull(face, traits)
    return Anatomy(
        traits, skull, _eyes(face, traits), _nose(face, traits), _mouth(face, traits, skull)
    )


@formula
def _traits(face):
    expression = 2.0 * face.smiling - 1.0
    frown = max(-expression, 0.0)
    return Traits(
        male=2.0 * face.gender - 1.0,
        child=smoothstep(0.42, -0.06, face.age),
        old=smoothstep(0.5, 1.0, face.age),
        smile=max(expression, 0.0),
        frown=frown,
        knit=frown * frown,
        beard=smoothstep(0.05, 0.9, face.facial_hair),
    )


@formula
def _skull(face, traits):
    male, child, old = traits.male, traits.child, traits.old
    width = 1.0 + 0.040 * face.face_width + 0.05 * child
    lower = 1.0 + 0.045 * face.face_length + 0.040 * male - 0.15 * child
    wide_jaw = 1.0 + 0.045 * face.jaw_width + 0.120 * male + 0.04 * old
    angle_size = 0.185 + 0.070 * male + 0.018 * face.jaw_width - 0.03 * child + 0.02 * old
    chin_width = 0.225 + 0.070 * male + 0.036 * face.chin - 0.01 * child
    cheek_size = 0.225 + 0.022 * face.cheekbones - 0.020 * male
    return Skull(
        width=width,
        lower=lower,
        cranium=Vector(0.765 * width, 0.92 + 0.05 * child, 0.93),
        jaw=Vector(0.565 * width * wide_jaw * (1.0 - 0.05 * child), 0.73 * lower, 0.70),
        angle_x=0.345 * width * (1.0 + 0.045 * face.jaw_width + 0.080 * male),
        angle_y=-0.36 - 0.20 * lower,
        angle_size=clamp(angle_size, 0.08, 0.33),
        chin_y=-0.37 - 0.56 * lower,
        chin=Vector(
            clamp(chin_width, 0.10, 0.38),
            0.175 + 0.03 * male,
            0.20 + 0.02 * face.chin + 0.02 * male,
        ),
        cheek_x=0.41 * width,
        cheek_y=-0.17 - 0.06 * child,
        cheek_size=clamp(cheek_size, 0.12, 0.31) + 0.03 * child,
        ear_x=0.765 * width,
        neck_radius=0.40 + 0.085 * male - 0.08 * child,
        shoulder_width=1.62 + 0.24 * male - 0.36 * child,
    )


@formula
def _eyes(face, traits):
    male, child, old = traits.male, traits.child, traits.old
    y = 0.03 - 0.07 * child
    opening = 0.44 + 0.028 * face.eye_size - 0.035 * male + 0.07 * child - 0.07 * old
    brow = 0.280 + 0.018 * face.brow_height - 0.040 * male + 0.01 * child
    thickness = 0.036 + 0.008 * face.brow_thickness + 0.018 * male - 0.008 * child
    return Eyes(
        x=0.318 + 0.018 * face.eye_gap + 0.012 * child,
        y=y,
        size=0.168 * (1.0 + 0.055 * face.eye_size - 0.075 * male + 0.20 * child - 0.04 * old),
        tilt=0.034 * face.eye_tilt + 0.05 - 0.02 * male - 0.06 * old,
        # Beyond these, eyes stare or squint, and a brow that hangs over an eye scowls.
        opening=clamp(opening - 0.08 * traits.smile - 0.03 * traits.knit, 0.24, 0.50),
        brow_y=y + max(brow, 0.21),
        brow_thickness=clamp(thickness, 0.014, 0.072),
        brow_arch=0.040 + 0.008 * face.brow_height - 0.018 * male,
    )


@formula
def _nose(face, traits):
    male, child, old = traits.male, traits.child, traits.old
    length = 1.0 + 0.05 * face.nose_length + 0.035 * male - 0.16 * child
    width = 1.0 + 0.13 * face.nose_width + 0.100 * male - 0.10 * child + 0.06 * old
    return Nose(
        base_y=-0.345 * length,
        width=0.155 * width,
        projection=0.215 * (1.0 + 0.13 * face.nose_bridge + 0.080 * male - 0.32 * child),
        root_y=0.17 - 0.10 * child,
    )


@formula
def _mouth(face, traits, skull):
    male, child, smile = traits.male, traits.child, traits.smile
    fullness = 1.0 + 0.19 * face.lip_fullness - 0.26 * male - 0.24 * traits.old
    width = 0.235 * (1.0 + 0.065 * face.mouth_width + 0.035 * male - 0.12 * child)
    return Mouth(
        y=-0.345 - 0.262 * skull.lower,
        width=width * (1.0 + 0.21 * smile - 0.09 * traits.frown),
        upper=0.072 * max(fullness, 0.45) * (1.0 - 0.25 * smile),
        lower=0.098 * max(fullness, 0.50) * (1.0 - 0.15 * smile),
        opening=0.085 * smoothstep(0.35, 1.0, smile),
        curve=0.014 + 0.072 * smile - 0.098 * traits.frown,
    )


@formula
def lip_line(mouth, across):
    """Height of the line between the lips at `across` = |x| / width: a soft cupid's bow
    that bends up at the corners with a smile and down with a frown."""
    bow = 0.010 * bump(across - 0.42, 0.28) - 0.012 * bump(across, 0.26)
    return mouth.y + bow + mouth.curve * (min(across * across, 1.5) - 0.30)
