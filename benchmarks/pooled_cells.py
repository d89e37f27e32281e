"""Partial pooling: how often do its intervals hold the truth of each cell, not of all on average?

Run `python benchmarks/pooled_cells.py`, which takes a minute of one core. Audits of matched faces
are drawn again and again, 2,000 a line: one effect in four cells, each with one pair a face, as an
attribute has in the book. Errors of a face hang together. Either the effects of the cells are all
alike, or they are spread evenly, or one differs from the three others. By how much is counted in
standard errors of a cell: a difference of none is pooled well, and a large one is seen to be one.

The pooled interval is the posterior mean and 1.96 standard deviations on either side, as the
scorecard of note N1 has it. Beside it stands the cell's own score interval. The mark is 93%: where
the 95% Monte Carlo interval of a cell's coverage lies wholly below it, there is no interval of
that cell. The record `results/pooled_cells.csv` has a row per line and cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from acceptance import latent
from record import RESULTS, write_rows
from scipy.stats import norm

from faceaudit.effects import paired_interval, score_interval
from faceaudit.effects.verdicts import Z, cell_covariance, partial_pooling
from faceaudit.utils import seeding

SEED, REPETITIONS, MARK = 64, 2_000, 0.93
FACES, RATES = (25, 100, 400), (0.05, 0.2)
"""Matched faces, and error rates at the low level."""
COMMON = 0.5
"""Share of a face in what decides about its errors."""
EFFECT = 0.1
"""Of a cell that is not apart."""
PATTERNS = {
    "all alike": (0, 0, 0, 0),
    "spread evenly": (-1.5, -0.5, 0.5, 1.5),
    "one apart by 1 SE": (0, 0, 0, 1),
    "one apart by 2 SE": (0, 0, 0, 2),
    "one apart by 4 SE": (0, 0, 0, 4),
}
"""How far the effects of the cells are from `EFFECT`, in standard errors."""


@dataclass(frozen=True)
class Line:
    """Audits of one size.

    Attributes:
        faces: of an audit.
        rate: of errors at the low level, in every cell.
        pattern: of the cells, a key of `PATTERNS`.
    """

    faces: int
    rate: float
    pattern: str

    @property
    def effects(self) -> np.ndarray:
        """True effects of the cells (4,)."""
        of_high = self.rate + EFFECT
        variance = self.rate * (1 - self.rate) + of_high * (1 - of_high)
        standard_error = np.sqrt(variance / self.faces)  # of pairs whose errors are independent
        return EFFECT + np.array(PATTERNS[self.pattern]) * standard_error

    def draw(self) -> np.ndarray:
        """Differences of the errors of pairs: (audits, faces, cells)."""
        rates = np.stack([np.full(4, self.rate), self.rate + self.effects])
        shape = (REPETITIONS, self.faces, 2, 4)
        face = np.repeat(np.arange(REPETITIONS * self.faces), 8)
        random = seeding.rng(SEED, f"pooled cells/{self}")
        error = latent(random, face, COMMON).reshape(shape) < norm.ppf(rates)
        return error[:, :, 1].astype(float) - error[:, :, 0]


def lines() -> Iterator[Line]:
    for faces, rate, pattern in product(FACES, RATES, PATTERNS):
        yield Line(faces, rate, pattern)


def alone(differences: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Estimates and score intervals of every audit and cell, (audits, cells) each."""
    worse = (differences > 0).sum(axis=1)
    better = (differences < 0).sum(axis=1)
    n = differences.shape[1]
    counts, place = np.unique(
        np.stack([worse, better], -1).reshape(-1, 2), axis=0, return_inverse=True
    )
    ends = np.array([paired_interval(*pair, n, Z) for pair in counts.tolist()])
    low, high = ends[place].T.reshape(2, *worse.shape)
    return (worse - better) / n, low, high


def rows_of(line: Line) -> list[dict[str, Any]]:
    """What the audits of a line say, a row per cell."""
    differences = line.draw()
    estimate, low, high = alone(differences)
    covariance = cell_covariance(differences, (high - low) / (2 * Z))
    centre, spread, _ = partial_pooling(estimate, covariance)
    truth = line.effects
    ends = {"pooled": (centre - Z * spread, centre + Z * spread), "alone": (low, high)}
    found = {"pooled": centre, "alone": estimate}
    rows = []
    for cell, distance in enumerate(PATTERNS[line.pattern]):
        row: dict[str, Any] = {
            "faces": line.faces,
            "rate": line.rate,
            "pattern": line.pattern,
            "cell": cell,
            "apart": distance,
        }
        for name, (lower, upper) in ends.items():
            holds = (lower[:, cell] <= truth[cell]) & (upper[:, cell] >= truth[cell])
            coverage = float(holds.mean())
            _, most = score_interval(np.array(coverage), np.array(REPETITIONS), Z)
            error = found[name][:, cell] - truth[cell]
            row |= {
                f"coverage, {name}": coverage,
                f"at most, {name}": min(float(most), 1.0),
                f"RMSE, {name}": float(np.sqrt((error**2).mean())),
                f"width, {name}": float((upper - lower)[:, cell].mean()),
            }
        rows.append(row)
    return rows


def shown_rows(table: pd.DataFrame) -> list[dict[str, str | float]]:
    """A row per pattern and number of faces."""
    shown = []
    for (pattern, faces), part in table.groupby(["pattern", "faces"], sort=False):
        of_lines = part.groupby("rate")
        row: dict[str, str | float] = {"what": f"{pattern}, {faces} faces"}
        row["pooled, all cells (%)"] = 100 * float(of_lines["coverage, pooled"].mean().min())
        row["pooled, worst cell (%)"] = 100 * float(part["coverage, pooled"].min())
        row["alone, worst cell (%)"] = 100 * float(part["coverage, alone"].min())
        row["RMSE, pooled / alone"] = float(
            part["RMSE, pooled"].mean() / part["RMSE, alone"].mean()
        )
        below = (part["at most, pooled"] < MARK).any()
        row["an interval of each cell"] = "no" if below else "yes"
        shown.append(row)
    return shown


def conclude(table: pd.DataFrame) -> None:
    """Leave `results/pooled_cells.json`, and hold the cells' own intervals against the mark."""
    ordered = table.sort_values(["pattern", "faces"], kind="stable", key=_order)
    rates = " and ".join(f"{100 * rate:g}" for rate in RATES)
    facts = {
        "audits": f"{REPETITIONS:,} a line, of four cells with one pair a face",
        "error rates": f"{rates}% at the low level; an effect of {100 * EFFECT:g} points, and of "
        "cells that differ so many standard errors more",
        "all cells": "coverage averaged over the four cells, which is what partial pooling "
        "promises of cells like these",
        "an interval of each cell": f"no cell's 95% Monte Carlo interval lies wholly below "
        f"{100 * MARK:g}%",
    }
    write_rows("pooled_cells", facts, shown_rows(ordered), ["numpy", "scipy", "pandas"])
    own = table[table["at most, alone"] < MARK]
    assert own.empty, own


def _order(column: pd.Series) -> pd.Series:
    """Patterns in the order of `PATTERNS`, numbers as they are."""
    return column.map([*PATTERNS].index) if column.name == "pattern" else column


def main() -> None:
    rows = []
    for line in lines():
        rows += rows_of(line)
        print(pd.DataFrame(rows[-4:]).to_string(), flush=True)
    table = pd.DataFrame(rows).round(4)
    table.to_csv(RESULTS / "pooled_cells.csv", index=False)
    conclude(table)


if __name__ == "__main__":
    main()
