"""Covariates of found portraits, as regressions and balance tables need them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from faceaudit.effects.resampling import as_codes
from faceaudit.effects.risks import (
    Cell,
    arms_of_levels,
    code_levels,
    complete_rows,
    name_of_unit,
    numbered,
)
from faceaudit.utils.arguments import as_finite, as_rates


@dataclass(frozen=True)
class Covariates:
    """Covariates of the images of a cell.

    Attributes:
        n: number of images.
        codes: of categorical covariates, name → codes (n,) of the levels that occur.
        levels: of categorical covariates, name → the levels that occur, in the order of the codes.
        numbers: of other covariates, name → numbers (n,).
    """

    n: int
    codes: Mapping[str, np.ndarray]
    levels: Mapping[str, Sequence[Any]]
    numbers: Mapping[str, np.ndarray]

    @cached_property
    def standardised(self) -> list[np.ndarray]:
        """Numbers with mean 0 and standard deviation 1, (n,) each; constant ones are left out."""
        varying = [numbers for numbers in self.numbers.values() if np.ptp(numbers) > 0]
        return [(numbers - numbers.mean()) / numbers.std() for numbers in varying]

    @cached_property
    def design(self) -> np.ndarray:
        """Indicators of every level but the first of each covariate, and numbers: (n, k)."""
        indicators = [
            code == level
            for code in self.codes.values()
            for level in range(1, code.max(initial=0) + 1)
        ]
        columns = [*indicators, *self.standardised]
        return np.column_stack([np.empty((self.n, 0)), *columns])

    @cached_property
    def pattern(self) -> np.ndarray:
        """Number of every image's combination of values (n,)."""
        values = [numbered(numbers) for numbers in self.numbers.values()]
        patterns = np.zeros(self.n, dtype=np.int64)
        for code in (*self.codes.values(), *values):
            patterns = numbered(patterns * (code.max(initial=0) + 1) + code)
        return patterns

    def among(self, names: Sequence[str]) -> Covariates:
        """Those of these names."""
        return Covariates(
            n=self.n,
            codes={name: code for name, code in self.codes.items() if name in names},
            levels={name: levels for name, levels in self.levels.items() if name in names},
            numbers={name: numbers for name, numbers in self.numbers.items() if name in names},
        )

    @cached_property
    def contrasts(self) -> list[tuple[str, str, np.ndarray]]:
        """What is balanced: covariate, level ("" of a number), and its indicator or numbers."""
        indicators = [
            (name, str(level), (code == number).astype(np.float64))
            for name, code in self.codes.items()
            for number, level in enumerate(self.levels[name])
        ]
        return indicators + [(name, "", numbers) for name, numbers in self.numbers.items()]


def read_levels(
    frame: pd.DataFrame,
    outcome: str,
    treatment: str,
    covariates: Sequence[str],
    cluster: str | None,
    is_number: bool,
) -> tuple[Cell, Covariates]:
    """The images with an outcome, a level and a cluster, as one cell, and their covariates.

    Args:
        frame: a row per image.
        outcome: column of numbers from 0 to 1, or of others (see `is_number`).
        treatment: column of the two levels that are compared.
        covariates: columns. Those of floating-point numbers are numbers, all others categories.
        cluster: column of the units of inference; None: rows are independent.
        is_number: whether the outcome has no bounds.

    Returns:
        The cell, without covariates of its own, and the covariates.

    Raises:
        InputError: an empty frame, a missing column, a missing or infinite value of a covariate, an
            outcome outside of [0, 1] that is no number, or more than two levels.
    """
    required = [outcome, treatment] if cluster is None else [outcome, treatment, cluster]
    numeric = [name for name in covariates if name in frame and frame[name].dtype.kind == "f"]
    categorical = [name for name in covariates if name not in numeric]
    complete = complete_rows(frame, required, categorical)
    numbers = {name: as_finite(frame[name], name)[complete] for name in numeric}
    known = frame[complete]
    arm, levels = arms_of_levels(frame, treatment)
    names = [f"{treatment} = {level}" for level in levels] + ["", ""]
    values = known[outcome]
    # Where all images lack something, there are no numbers to check.
    as_numbers = as_finite(values, outcome) if is_number and len(known) else as_rates(values)
    code_of_cluster = numbered(as_codes(None if cluster is None else known[cluster], len(known)))
    cell = Cell(
        error=as_numbers,
        arm=arm[complete],
        cluster=code_of_cluster,
        covariates=[],
        dropped=int((~complete).sum()),
        levels=(names[0], names[1]),
        unit=name_of_unit(cluster, code_of_cluster),
    )
    coded = {name: code_levels(known[name]) for name in categorical}
    return cell, Covariates(
        n=len(known),
        codes={name: code for name, (code, _) in coded.items()},
        levels={name: levels_of_code for name, (_, levels_of_code) in coded.items()},
        numbers=numbers,
    )
