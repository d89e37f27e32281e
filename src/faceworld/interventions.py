"""Set some attributes of faces, and leave all others as they are."""

import itertools
from collections.abc import Mapping

import torch
from torch import Tensor

from facerender.parameters import INDEX

Doses = Mapping[str, tuple[float, ...]]
"""Parameter → its values, from the low one (level 0) on: two, where a function asks for no more."""


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
    """Set every base face to every combination of doses.

    Args:
        base: (n, P), columns as in `facerender.parameters.NAMES`.
        doses: parameter → its values, two or more.

    Returns:
        (n, levels of the first parameter, …, of the last, P), in the order of `doses`.

    Example:
        >>> import facerender
        >>> import faceworld
        >>> doses = {"skin_colour": (0.2, 0.8), "hair_length": (0.1, 0.7)}
        >>> tuple(faceworld.counterfactuals(facerender.defaults(5), doses).shape[:3])
        (5, 2, 2)
    """
    combinations = itertools.product(*doses.values())
    cells = [do(base, **dict(zip(doses, values, strict=True))) for values in combinations]
    levels = [len(values) for values in doses.values()]
    return torch.stack(cells, 1).reshape(len(base), *levels, base.shape[1])
