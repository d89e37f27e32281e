"""Interventions on faces: some parameters set, all others held exactly."""

import itertools
from collections.abc import Mapping

import torch
from torch import Tensor

from helpers.faces.parameters import INDEX

Doses = Mapping[str, tuple[float, float]]


def do(parameters: Tensor, **values: float | Tensor) -> Tensor:
    """Intervene: a copy of the faces with some parameters set, all others untouched.

    Args:
        parameters: (n, P), columns as in `helpers.faces.parameters.NAMES`.
        values: one number for all faces, or (n,) numbers, per parameter.

    Raises:
        ValueError: a name that is no parameter of the renderer.
    """
    unknown = sorted(set(values) - set(INDEX))
    if unknown:
        raise ValueError(f"no such face parameters: {unknown}")
    changed = parameters.clone()
    for name, value in values.items():
        changed[:, INDEX[name]] = torch.as_tensor(value, dtype=parameters.dtype)
    return changed


def counterfactuals(base: Tensor, doses: Doses) -> Tensor:
    """Every base face at every combination of low (0) and high (1) doses.

    Returns:
        (n, 2, …, 2, P): one axis of two levels per attribute, in the order of `doses`.
    """
    combinations = itertools.product(*doses.values())
    cells = [do(base, **dict(zip(doses, values, strict=True))) for values in combinations]
    return torch.stack(cells, 1).reshape(len(base), *[2] * len(doses), base.shape[1])
