"""Set some attributes of faces, and leave all others as they are."""

import itertools
from collections.abc import Mapping

import torch
from torch import Tensor

from facerender.parameters import INDEX

Doses = Mapping[str, tuple[float, float]]
"""Parameter → its low (0) and its high (1) value."""


def do(parameters: Tensor, **values: float | Tensor) -> Tensor:
    """Intervene: copy the faces with some parameters set, all others untouched.

    Args:
        parameters: (n, P), columns as in `facerender.parameters.NAMES`.
        values: one number for all faces, or (n,) numbers, per parameter.

    Returns:
        (n, P).

    Example:
        >>> import facerender
        >>> import faceworld
        >>> longer = faceworld.do(facerender.defaults(), hair_length=0.8)
        >>> round(longer[0, facerender.INDEX["hair_length"]].item(), 3)
        0.8
    """
    changed = parameters.clone()
    for name, value in values.items():
        changed[:, INDEX[name]] = torch.as_tensor(value, dtype=parameters.dtype)
    return changed


def counterfactuals(base: Tensor, doses: Doses) -> Tensor:
    """Set every base face to every combination of low (0) and high (1) doses.

    Args:
        base: (n, P), columns as in `facerender.parameters.NAMES`.
        doses: parameter → its low and its high value.

    Returns:
        (n, 2, …, 2, P): one axis of two levels per parameter, in the order of `doses`.

    Example:
        >>> import facerender
        >>> import faceworld
        >>> doses = {"skin_colour": (0.2, 0.8), "hair_length": (0.1, 0.7)}
        >>> tuple(faceworld.counterfactuals(facerender.defaults(5), doses).shape[:3])
        (5, 2, 2)
    """
    combinations = itertools.product(*doses.values())
    cells = [do(base, **dict(zip(doses, values, strict=True))) for values in combinations]
    return torch.stack(cells, 1).reshape(len(base), *[2] * len(doses), base.shape[1])
