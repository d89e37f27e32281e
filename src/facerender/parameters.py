"""The renderer's parameters: one float32 column each, with range, unit and meaning.

`PARAMETERS` is the single source: column order, defaults, validation and the book's table all
come from it. A batch of faces is a tensor (n, P) of these columns. Chapter 2 shows them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

HAIR_STYLES: tuple[str, ...] = (
    "straight",
    "wavy",
    "curly",
    "fringe",
    "afro",
    "braids",
    "tied back",
    "covered",
)
"""By their index, the value of the parameter hair_style."""

IDENTITY_LIMIT = 2.2
"""Identity parameters are about standard normal and clipped here."""

IDENTITY_STRENGTH = 1.75
"""Identity parameters act this much more strongly than the sizes per SD in `anatomy`'s formulas."""
SATURATION = 3.5
"""SD at which an identity parameter acts by 0.7 of its size: rare draws make no caricatures."""
SHIFTED_LIMIT = 4.5
"""Identity parameters are clipped here after the ancestry shift."""

RANGE_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Parameter:
    """One column of the parameter tensor: its range, unit, default, group and meaning.

    Attributes:
        name: of the column.
        low, high: ends of its range.
        unit: of its values, for example "score" or "degree".
        default: its value in `defaults`.
        group: "attribute", "scene" or "identity".
        description: what it changes.

    Example:
        >>> import facerender
        >>> facerender.PARAMETERS[facerender.INDEX["yaw"]].unit
        'degree'
    """

    name: str
    low: float
    high: float
    unit: str
    default: float
    group: str
    description: str


def _attribute(
    name: str, default: float, description: str, high: float = 1.0, unit: str = "score"
) -> Parameter:
    return Parameter(name, 0.0, high, unit, default, "attribute", description)


def _scene(
    name: str, low: float, high: float, unit: str, default: float, description: str
) -> Parameter:
    return Parameter(name, low, high, unit, default, "scene", description)


def _identity(name: str, description: str) -> Parameter:
    return Parameter(name, -IDENTITY_LIMIT, IDENTITY_LIMIT, "SD", 0.0, "identity", description)


PARAMETERS: tuple[Parameter, ...] = (
    _attribute(
        "gender",
        0.5,
        "Perceived gender, 0 female to 1 male: jaw, chin, brow ridge, brows, nose, lips, neck.",
    ),
    _attribute("facial_hair", 0.0, "Beard and moustache, 0 none to 1 full."),
    _attribute(
        "skin_colour", 0.25, "Skin colour, 0 light to 1 dark, through six Fitzpatrick anchors."
    ),
    _attribute(
        "age",
        0.45,
        "Apparent age: 0 child, 0.2 teen, 0.4 young adult, 0.6 adult, 0.8 middle age, 1 senior.",
    ),
    _attribute("makeup", 0.0, "Lipstick, eye shadow, eyeliner and blusher, 0 none to 1 showy."),
    _attribute("smiling", 0.5, "Expression: 0 frown, 0.5 neutral, 1 broad smile with teeth."),
    _attribute(
        "hair_length",
        0.3,
        "Hair length, 0 shaved to 1 below the shoulders; radius of an afro, size of a bun.",
    ),
    _attribute(
        "artefacts", 0.0, "Generator artefacts (warp, ringing, blotches), 0 none to 1 strong."
    ),
    _attribute("earrings", 0.0, "Earrings, visible above 0.5.", unit="presence"),
    _attribute("glasses", 0.0, "Glasses, visible above 0.5.", unit="presence"),
    _attribute(
        "hair_colour", 0.3, "Hair colour before greying: black, brown, auburn, blond.", unit="ramp"
    ),
    _attribute("haemoglobin", 0.5, "Blood in the skin, 0 pale to 1 ruddy.", unit="fraction"),
    _attribute(
        "hair_style",
        0.0,
        "Index of the hair style: "
        + ", ".join(f"{i} {s}" for i, s in enumerate(HAIR_STYLES))
        + ".",
        high=len(HAIR_STYLES) - 1.0,
        unit="index",
    ),
    Parameter(
        "ancestry_x",
        -2.0,
        2.0,
        "axis",
        0.0,
        "attribute",
        "First ancestry axis: shifts identity parameters, never skin colour.",
    ),
    Parameter(
        "ancestry_y",
        -2.0,
        2.0,
        "axis",
        0.0,
        "attribute",
        "Second ancestry axis; the origin is the average of the three reference points.",
    ),
    _scene("yaw", -45.0, 45.0, "degree", 0.0, "Head turn; positive towards the image's right."),
    _scene("pitch", -30.0, 30.0, "degree", 0.0, "Head nod; positive looks up."),
    _scene(
        "light_azimuth", -90.0, 90.0, "degree", -30.0, "Key light; positive from the image's right."
    ),
    _scene("light_elevation", -60.0, 85.0, "degree", 30.0, "Key light; positive from above."),
    _scene("light_power", 0.0, 1.0, "fraction", 0.6, "Key light against ambient light."),
    _scene("background_hue", 0.0, 1.0, "turn", 0.55, "Hue of the background."),
    _scene("background_value", 0.0, 1.0, "fraction", 0.45, "Brightness of the background."),
    _scene("clothing", 0.0, 1.0, "turn", 0.6, "Hue of the clothing and of a head covering."),
    _scene("texture_seed", 0.0, 1.0, "phase", 0.0, "Chooses skin mottling, strands and cosmetics."),
    _identity("face_width", "Width of the whole face."),
    _identity("face_length", "Length of the lower face."),
    _identity("jaw_width", "Width of the jaw at its angle."),
    _identity("chin", "Width and projection of the chin."),
    _identity("cheekbones", "Prominence of the cheekbones."),
    _identity("eye_size", "Size and opening of the eyes."),
    _identity("eye_gap", "Distance between the eyes."),
    _identity("eye_tilt", "Outer corners of the eyes, positive is higher."),
    _identity("iris", "Iris colour, dark brown through hazel to blue."),
    _identity("brow_thickness", "Thickness of the eyebrows."),
    _identity("brow_height", "Height of the eyebrows above the eyes."),
    _identity("nose_length", "Length of the nose."),
    _identity("nose_width", "Width of the nose at its wings."),
    _identity("nose_bridge", "Projection of the nose and its bridge."),
    _identity("lip_fullness", "Height of the lips."),
    _identity("mouth_width", "Width of the mouth."),
    _identity("hair_curl", "Waviness of loose hair on top of the style's own."),
    _identity("hair_fringe", "How far loose hair falls over the forehead."),
    _identity("hair_parting", "Side of the parting; positive is the image's right."),
    _identity("hair_volume", "Thickness of the hair above the scalp."),
)
"""All columns, in their order."""

NAMES: tuple[str, ...] = tuple(parameter.name for parameter in PARAMETERS)
"""Names of the columns, in their order."""
INDEX: dict[str, int] = {name: column for column, name in enumerate(NAMES)}
"""Name → column of the tensor."""

ANCESTRY_REFERENCES: dict[str, tuple[float, float]] = {
    "african": (-0.866, -0.5),
    "east asian": (0.866, -0.5),
    "european": (0.0, 1.0),
}
"""Three reference points at the corners of an equilateral triangle, one unit from the origin."""

ANCESTRY_SHIFTS: dict[str, tuple[float, float, float]] = {
    "face_width": (-0.2, 0.9, -0.7),
    "face_length": (0.1, -0.4, 0.3),
    "cheekbones": (0.0, 0.8, -0.8),
    "eye_size": (0.3, -0.9, 0.6),
    "eye_tilt": (0.0, 1.0, -1.0),
    "nose_length": (-0.4, -0.3, 0.7),
    "nose_width": (1.5, 0.0, -1.5),
    "nose_bridge": (-0.5, -0.8, 1.3),
    "lip_fullness": (1.5, -0.5, -1.0),
    "brow_height": (0.3, 0.5, -0.8),
    "hair_curl": (1.6, -1.0, -0.6),
}
"""Shift of identity parameters, in SD, at each reference point; rows sum to zero, so the shifts
are linear in (ancestry_x, ancestry_y) and vanish at the origin. Stylised, not anthropometric."""


def defaults(n: int = 1, device: torch.device | str = "cpu") -> Tensor:
    """Make `n` rows of default parameters.

    Args:
        n: number of faces.
        device: of the tensor.

    Returns:
        float32 (n, P).

    Example:
        >>> import facerender
        >>> facerender.defaults(2).shape[0]
        2
    """
    row = torch.tensor([p.default for p in PARAMETERS], dtype=torch.float32, device=device)
    return row.repeat(n, 1)


def to_frame(parameters: Tensor) -> pd.DataFrame:
    """Turn parameters into a data frame with one column per name.

    Args:
        parameters: (n, P).

    Returns:
        float32 (n, P).

    Example:
        >>> import facerender
        >>> facerender.to_frame(facerender.defaults()).loc[0, "smiling"].item()
        0.5
    """
    return pd.DataFrame(parameters.detach().cpu().numpy(), columns=list(NAMES))


def validate(parameters: Tensor) -> None:
    """Check shape, type, finiteness and ranges of a parameter tensor.

    Args:
        parameters: float (n, P).

    Raises:
        ValueError: naming the parameter, the row, its value and what was expected.

    Example:
        >>> import facerender
        >>> facerender.validate(facerender.defaults() - 1)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ValueError: face parameter 'gender', row 0: -0.5 is not in [0, 1] (score)
    """
    if not isinstance(parameters, Tensor) or not parameters.is_floating_point():
        kind = getattr(parameters, "dtype", type(parameters).__name__)
        raise ValueError(f"face parameters: expected a floating-point tensor, got {kind}")
    if parameters.ndim != 2 or parameters.shape[1] != len(NAMES):
        shape = tuple(parameters.shape)
        raise ValueError(f"face parameters: expected shape (n, {len(NAMES)}), got {shape}")
    low = parameters.new_tensor([p.low for p in PARAMETERS]) - RANGE_TOLERANCE
    high = parameters.new_tensor([p.high for p in PARAMETERS]) + RANGE_TOLERANCE
    inside = (parameters >= low) & (parameters <= high)  # false for NaN too
    if bool(inside.all()):
        return
    row, column = (~inside).nonzero()[0].tolist()
    wrong = PARAMETERS[column]
    raise ValueError(
        f"face parameter {wrong.name!r}, row {row}: {parameters[row, column].item():g} is not in "
        f"[{wrong.low:g}, {wrong.high:g}] ({wrong.unit})"
    )


def ancestry_shift(ancestry_x: Tensor, ancestry_y: Tensor, name: str) -> Tensor:
    """Shift (SD) that a position on the ancestry axes gives to identity parameter `name`.

    The linear function that takes the values of `ANCESTRY_SHIFTS` at the three references.
    """
    if name not in ANCESTRY_SHIFTS:
        return torch.zeros_like(ancestry_x)
    # For unit vectors r_k at 120 degrees and values f_k that sum to zero, the gradient
    # (2/3) sum f_k r_k reproduces every f_k.
    gradient = [
        2 / 3 * sum(f * r[axis] for f, r in zip(ANCESTRY_SHIFTS[name], references, strict=True))
        for axis in range(2)
        for references in [ANCESTRY_REFERENCES.values()]
    ]
    return gradient[0] * ancestry_x + gradient[1] * ancestry_y


def shifted_identity(parameters: Tensor, name: str) -> Tensor:
    """Identity parameter `name` after the ancestry shift, in SD, (n,)."""
    x, y = (parameters[:, INDEX[axis]] for axis in ("ancestry_x", "ancestry_y"))
    shifted = parameters[:, INDEX[name]] + ancestry_shift(x, y, name)
    return shifted.clamp(-SHIFTED_LIMIT, SHIFTED_LIMIT)


def records(parameters: Tensor) -> np.recarray:
    """Faces as records (n,) with a float32 field per parameter, for the renderer's formulas.

    Identity parameters are shifted by ancestry and have the strength that is seen; the hair style
    is a whole number.
    """
    columns = parameters.detach().float().clone()
    for parameter in PARAMETERS:
        if parameter.group == "identity":
            shifted = shifted_identity(parameters, parameter.name)
            # torch's own roots in single precision are not rounded alike on all processors.
            root = (1 + (shifted / SATURATION) ** 2).double().sqrt().float()
            seen = shifted / root
            columns[:, INDEX[parameter.name]] = IDENTITY_STRENGTH * seen
    columns[:, INDEX["hair_style"]] = hair_styles(parameters).float()
    fields = np.dtype([(name, np.float32) for name in NAMES])
    return np.ascontiguousarray(columns.cpu().numpy()).view(fields)[:, 0].view(np.recarray)


def hair_styles(parameters: Tensor) -> Tensor:
    """Hair style index of every row, int64 (n,): the column rounded to the nearest style."""
    return parameters[:, INDEX["hair_style"]].round().long().clamp(0, len(HAIR_STYLES) - 1)


def visible_scores(parameters: Tensor) -> pd.DataFrame:
    """Say what a perfect rater would answer about faces, gender from the shape of the face alone.

    Most scores are the parameters themselves. Fakeness rises with the artefacts; hair under a
    covering has no visible length, and tied hair looks shorter than it is.

    Args:
        parameters: the renderer's, (n, P).

    Returns:
        Scores in [0, 1] of the eight crowd attributes, float64 (n, 8).

    Example:
        >>> import facerender
        >>> facerender.visible_scores(facerender.defaults())["fakeness"].tolist()
        [0.15]
    """
    frame = to_frame(parameters).astype(np.float64)
    style = hair_styles(parameters).cpu().numpy()
    seen = np.ones(len(HAIR_STYLES))
    seen[HAIR_STYLES.index("covered")] = 0.0
    seen[HAIR_STYLES.index("tied back")] = 0.6
    names = ["gender", "facial_hair", "skin_colour", "age", "makeup", "smiling"]
    scores = frame[names].copy()
    scores["hair_length"] = frame["hair_length"] * seen[style]
    scores["fakeness"] = (0.15 + 0.95 * frame["artefacts"]).clip(0.0, 1.0)
    return scores
