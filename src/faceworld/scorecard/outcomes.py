"""Effects on outcomes besides errors in repeated audits, and the truth that they are held against.

An audit is an array of scores (n, 2, …, 2): a model's answers to faces that have every combination
of doses. Its effects are those of `faceaudit.designs.matched`, as a report of the same images has
them. True effects are counted in the scores of the whole pool, by code that shares nothing with the
library.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from faceaudit.designs.matched import effects_on_further_outcomes
from faceaudit.outcomes import (
    ERROR,
    FALSE_NEGATIVE,
    FALSE_POSITIVE,
    FLIP,
    REASONS,
    SCORE,
    SELECTION,
    WITHOUT_REASON,
    with_outcomes,
)
from faceaudit.plans import Plan
from faceworld.scorecard.audits import draw_audits, image_places

THRESHOLD = 0.5
"""Scores above it say the second class, as in `faceworld.scorecard.truth.errors_under_do`."""
ABSTENTION = "abstention"
ANSWERED = (FALSE_POSITIVE, FALSE_NEGATIVE, SELECTION, SCORE, FLIP)
"""Outcomes of answers, besides errors."""
_COLUMNS = ["outcome", "attribute", "estimate", "low", "high", "p", "verdict"]
_RATIO = {"ratio": "estimate", "ratio_low": "low", "ratio_high": "high"}


@dataclass(frozen=True)
class OutcomeAudits:
    """Audits of outcomes besides errors, of faces at every combination of two doses an axis.

    Attributes:
        attributes: names of the axes, in the order of the arrays.
        label: the axis whose level is the right answer.
        outcomes: of `ANSWERED`, or "abstention".
        tolerance: largest effect that does not matter.
        level: of the family of all effects of an audit.
        band: the model abstains where its score is closer to the threshold.
    """

    attributes: tuple[str, ...]
    label: str
    outcomes: tuple[str, ...]
    tolerance: float
    level: float
    band: float = 0.0

    def estimates_with_truth(
        self, scores: np.ndarray, n_transects: int, repetitions: int, seed: int
    ) -> pd.DataFrame:
        """Audits drawn from a pool of faces, as `draw_audits` draws them, beside the truth.

        Args:
            scores: the pool, (n, 2, …, 2).
            n_transects: faces per audit.
            repetitions: number of audits.
            seed: of the draws.

        Returns:
            The rows of `estimates`, with the columns of `truth`.
        """
        audits = draw_audits(scores, n_transects, repetitions, seed)
        keys = ["outcome", "attribute"]
        return self.estimates(audits).merge(self.truth(scores), on=keys, validate="m:1")

    def estimates(self, audits: Iterable[np.ndarray]) -> pd.DataFrame:
        """Average effect of every attribute on every outcome, in every audit.

        Args:
            audits: scores (n, 2, …, 2) of each.

        Returns:
            A row for each audit, outcome and attribute, with estimate, low, high, p and verdict of
            the library; NaN where no pair has the outcome at both levels.

        Example:
            >>> audits = OutcomeAudits(("gender",), "gender", ("score",), 0.05, 0.05)
            >>> audits.estimates([np.array([[0.25, 0.75], [0.5, 1]])])["estimate"].tolist()
            [0.5]
        """
        tables = [
            effects_on_further_outcomes(self.images(scores), self._plan()).assign(audit=number)
            for number, scores in enumerate(audits)
        ]
        table = pd.concat(tables, ignore_index=True).rename(columns={"axis": "attribute"})
        return table[["audit", *_COLUMNS, *(name for name in _RATIO if name in table)]]

    def truth(self, scores: np.ndarray) -> pd.DataFrame:
        """Average effect of every attribute on every outcome in all faces of a pool.

        Every pair of images that differ in the attribute alone counts once, if the outcome is
        defined for both. A flip counts pairs with two decisions.

        Args:
            scores: (n, 2, …, 2) of the pool.

        Returns:
            A row for each outcome and attribute: truth, NaN where no pair has the outcome, and
            true_ratio, that of the rates at both levels, of selection alone.

        Example:
            >>> audits = OutcomeAudits(("skin", "gender"), "gender", ("fpr",), 0.05, 0.05)
            >>> audits.truth(np.array([[[0.2, 0.9], [0.6, 0.9]]]))["truth"].tolist()
            [1.0, nan]
        """
        rows = []
        for outcome in self.outcomes:
            values = self._values(scores, outcome)
            for axis, attribute in enumerate(self.attributes):
                low = values.take(0, axis + 1)
                high = values.take(1, axis + 1)
                change = (high - low)[np.isfinite(high - low)]
                if outcome == FLIP:
                    change = np.abs(change)
                effect = change.mean() if change.size else np.nan
                row = {"outcome": outcome, "attribute": attribute, "truth": effect}
                if outcome == SELECTION and low.any():
                    row["true_ratio"] = high.mean() / low.mean()
                rows.append(row)
        return pd.DataFrame(rows)

    def images(self, scores: np.ndarray) -> pd.DataFrame:
        """The images of an audit with their outcomes, as `faceaudit.MatchedImages` has them."""
        places = image_places(scores[None], self.attributes).drop(columns="audit")
        images = places.rename(columns={"transect": "unit"})
        images["label"] = images[f"{self.label}_level"]
        abstains = self._abstains(scores).ravel()
        images["score"] = np.where(abstains, np.nan, scores.ravel())
        images["reason"] = np.where(abstains, REASONS[ABSTENTION], WITHOUT_REASON)
        return with_outcomes(images, [ERROR, *self.outcomes], THRESHOLD)

    def _plan(self) -> Plan:
        """What the library asks of a plan."""
        return {
            "axes": dict.fromkeys(self.attributes, ("low", "high")),
            "outcomes": [ERROR, *self.outcomes],
            "tolerance": self.tolerance,
            "level": self.level,
        }

    def _abstains(self, scores: np.ndarray) -> np.ndarray:
        return np.abs(scores - THRESHOLD) < self.band

    def _values(self, scores: np.ndarray, outcome: str) -> np.ndarray:
        """An outcome of every image, NaN where it is not defined; of a flip the decision."""
        abstains = self._abstains(scores)
        if outcome == ABSTENTION:
            return abstains.astype(float)
        right = np.indices(scores.shape)[1 + self.attributes.index(self.label)]
        decision = (scores > THRESHOLD).astype(float)
        values = {
            FALSE_POSITIVE: np.where(right == 0, decision, np.nan),
            FALSE_NEGATIVE: np.where(right == 1, 1 - decision, np.nan),
            SELECTION: decision,
            SCORE: scores,
            FLIP: decision,
        }
        return np.where(abstains, np.nan, values[outcome])


def impact_ratios(table: pd.DataFrame) -> pd.DataFrame:
    """The ratios of selection rates of a table with its truth, as estimates of their own.

    Args:
        table: rows of `OutcomeAudits.estimates_with_truth`.

    Returns:
        The rows of selection, whose estimate, low, high and truth are those of the ratio.
    """
    selection = table[table["outcome"] == SELECTION]
    ratios = selection.drop(columns=["estimate", "low", "high", "truth"])
    return ratios.rename(columns={**_RATIO, "true_ratio": "truth"})
