"""Contrasts and trends of an axis with several levels in repeated audits, and their truth.

A pool of faces, each asked at every level of the axis and at every level of the other axes, is the
population (`faceworld.scorecard.audits`). Effects are averages over the other axes. They are those
of a report of the library on the same images; true effects are counted in the whole pool, by code
that shares nothing with the library.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from faceaudit.comparisons import Contrast, contrasts_of
from faceaudit.effects import matched_effects, matched_trends
from faceaudit.effects.trend import largest_trend
from faceaudit.matched_comparisons import at_levels_of
from faceaudit.verdicts import with_family_intervals
from faceworld.scorecard.audits import draw_audits, image_places

_COLUMNS = ["audit", "cell", "estimate", "low", "high", "p", "low_family", "high_family"]


@dataclass(frozen=True)
class LevelAudits:
    """Audits of the first of several axes, by one kind of comparison.

    Attributes:
        axis: name of the axis.
        levels: names of its levels, the lowest first.
        others: names of the other axes, in the order of the arrays.
        kind: "reference", "adjacent" or "trend".
        level: of all comparisons of an audit together.
    """

    axis: str
    levels: tuple[str, ...]
    others: tuple[str, ...]
    kind: str
    level: float = 0.05

    def estimates_with_truth(
        self, errors: np.ndarray, n_transects: int, repetitions: int, seed: int
    ) -> pd.DataFrame:
        """Audits drawn from a pool of faces, as `draw_audits` draws them, beside the truth.

        Args:
            errors: the pool, (n, levels of the axis, levels of the others ...), 0 or 1.
            n_transects: faces per audit.
            repetitions: number of audits.
            seed: of the draws.

        Returns:
            The rows of `estimates`, with the column of `truth`.
        """
        audits = draw_audits(errors, n_transects, repetitions, seed)
        return self.estimates(audits).merge(self.truth(errors), on="cell", validate="m:1")

    def estimates(self, audits: np.ndarray) -> pd.DataFrame:
        """Average effect of every contrast, or the trend, in every audit.

        Args:
            audits: errors (audits, n, levels of the axis, levels of the others ...).

        Returns:
            A row for each audit and comparison: audit, cell (the comparison in words), estimate,
            low and high (95%), p, and low_family and high_family, which hold together.

        Example:
            >>> asked = LevelAudits("skin", ("light", "brown", "dark"), (), "reference")
            >>> asked.estimates(np.array([[[0, 1, 1], [0, 0, 1]]]))["estimate"].tolist()
            [0.5, 1.0]
        """
        images = image_places(audits, [self.axis, *self.others])
        images["error"] = audits.ravel()
        tables = [self._estimated(images, contrast) for contrast in self._contrasts()]
        table = pd.concat(tables).sort_values("audit", kind="stable", ignore_index=True)
        largest = table.groupby("audit")["largest"]
        together = [
            with_family_intervals(rows, self.level, largest.get_group(audit).to_numpy())
            for audit, rows in table.groupby("audit")
        ]
        return pd.concat(together, ignore_index=True)[_COLUMNS]

    def truth(self, errors: np.ndarray) -> pd.DataFrame:
        """The average effects in all faces of a pool, a row per comparison: cell and truth.

        Example:
            >>> asked = LevelAudits("skin", ("light", "brown", "dark"), (), "trend")
            >>> asked.truth(np.array([[0, 0, 1], [0, 1, 1]]))["truth"].round(9).tolist()
            [1.0]
        """
        rates = errors.mean(axis=(0, *range(2, errors.ndim)))
        numbers = np.arange(len(rates))
        rows = []
        for contrast in self._contrasts():
            if contrast.is_trend:
                effect = np.polyfit(numbers, rates, 1)[0] * numbers[-1]
            else:
                effect = rates[contrast.high] - rates[contrast.low]
            rows.append({"cell": contrast.name, "truth": effect})
        return pd.DataFrame(rows)

    def _contrasts(self) -> list[Contrast]:
        return contrasts_of({self.axis: self.levels}, self.axis, self.kind)

    def _estimated(self, images: pd.DataFrame, contrast: Contrast) -> pd.DataFrame:
        """One comparison in every audit."""
        column = f"{self.axis}_level"
        if contrast.is_trend:
            levels = len(self.levels)
            table = matched_trends(images, "error", column, levels, ["audit"], "transect")
            largest = largest_trend(levels)
        else:
            at_levels = at_levels_of(images, contrast)
            table = matched_effects(at_levels, "error", column, ["audit"], "transect")
            largest = 1.0
        # As in `faceaudit.matched_comparisons.matched_row`.
        exact = (table["n"] == table["transects"]) & (not contrast.is_trend)
        return table.reset_index().assign(cell=contrast.name, largest=largest, exact=exact)
