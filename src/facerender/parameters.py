"""The renderer's parameters: one float32 column each, with range, unit and meaning.

`parameters.csv` is the single source: column order, defaults, validation and the book's table all
come from it. A batch of faces is a tensor (n, P) of these columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

HAIR_STYLES = tuple(pd.read_csv(Path(__file__).with_name("hair.csv"))["style"])
"""By their index, the value of the parameter hair_style."""

IDENTITY_LIMIT = 2.2
"""Identity parameters are about standard normal and clipped here, as `parameters.csv` says."""

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


def _read() -> tuple[Parameter, ...]:
    rows = pd.read_csv(Path(__file__).with_suffix(".csv"))
    numbers = rows.select_dtypes("number").columns
    rows = rows.astype(dict.fromkeys(numbers, float))
    return tuple(Parameter(**row) for row in rows.to_dict("records"))


PARAMETERS = _read()
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

ANCESTRY_SHIFTS: dict[str, tuple[float, ...]] = {
    row.Index: tuple(row)[1:]
    for row in pd.read_csv(Path(__file__).with_suffix(".ancestry.csv"), index_col=0).itertuples()
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
