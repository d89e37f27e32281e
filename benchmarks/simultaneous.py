"""Axes of several levels: do the simultaneous intervals hold all true contrasts at once?

Run `python benchmarks/simultaneous.py`, which takes ten minutes of one core. Audits of axes with 2
to 10 levels are drawn again and again, 2,000 a line. Levels are compared with the first one, with
their neighbours, or by their trend. The error rate is half as large again at every other level, so
that contrasts with the first level are zero or not, and no contrast of neighbours is zero. Where a
trend is asked for, the error rate grows with the root of the level's number, so that no straight
line fits; it ends half as large again. Three kinds of audits are drawn: matched images with one
pair a face and contrast; matched images with a second axis, whose averages have two pairs a face
and contrast; and found portraits, whose levels are the rarer the higher they are. Errors of a face
or a person are independent, or hang together by a share of a latent normal value.

An audit counts as right where every simultaneous interval (`low_family` to `high_family`) holds the
truth. Portraits of a level may be too few for an interval: such audits are counted, and the
intervals that they have must hold.

The cost is that of a trend of 500 faces or portraits at six levels, against the five contrasts with
the first level.

All audits of a line are judged at once. Two of them go through `faceaudit.table` as well, which
must find the same intervals. The record `results/simultaneous.csv` has a row per line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from acceptance import latent
from record import RESULTS, seconds, write_rows
from scipy.special import stdtrit
from scipy.stats import norm
from threadpoolctl import threadpool_limits

import faceaudit
from faceaudit import plans
from faceaudit.comparisons import ADJACENT, REFERENCE, TREND, Contrast, all_contrasts
from faceaudit.effects import (
    matched_effects,
    matched_trends,
    paired_interval,
    portrait_trends,
    risk_differences,
    score_interval,
)
from faceaudit.effects.trend import largest_trend
from faceaudit.effects.verdicts import Z
from faceaudit.utils import seeding

SEED, REPETITIONS, MARK = 66, 2_000, 0.94
"""No line's 95% Monte Carlo interval may lie wholly below the mark."""
THROUGH_THE_DOOR = 2
"""Audits of a line whose intervals the library must find alike."""
RATES = (0.02, 0.1, 0.3)
"""Error rates of the first level."""
HIGHER = 1.5
"""The error rate at every other level, or where trends are asked for at the last one, as a multiple
of that of the first one."""
COMMON = 0.5
"""Share of a face or a person in what decides about the errors, where they hang together."""
MOST = 3
"""Portraits of a person, where there are several: one to so many."""
TOLERANCE = 0.05
"""Of the audits; intervals do not depend on it."""
LEVELS, FACES = (2, 3, 5, 10), (10, 30, 60, 200)
"""Of matched images with one axis."""
LEVELS_OF_TWO, FACES_OF_TWO = (2, 5, 10), (10, 30, 60)
"""Of the first of two axes."""
LEVELS_OF_PORTRAITS, PEOPLE = (2, 5, 10), (10, 30, 100)
"""Of portraits, and people a level on average."""

interval_of_counts = cache(paired_interval)


@dataclass(frozen=True)
class Line:
    """Audits of one kind and size.

    Attributes:
        levels: of the axis.
        size: matched faces, or people a level on average.
        rate: of errors at the first level.
        contrasts: "reference", "adjacent" or "trend".
        common: share of a face or a person in what decides about the errors.
    """

    levels: int
    size: int
    rate: float
    contrasts: str
    common: float
    what: ClassVar[str]
    sized: ClassVar[str]

    @property
    def axes(self) -> dict[str, list[str]]:
        """Axis → levels."""
        return {"first": [f"level {place}" for place in range(self.levels)]}

    @cached_property
    def rates(self) -> np.ndarray:
        """Error rates by level."""
        level = np.arange(self.levels)
        if self.contrasts == TREND:
            return self.rate * (1 + (HIGHER - 1) * np.sqrt(level / (self.levels - 1)))
        return self.rate * np.where(level % 2, HIGHER, 1)

    @property
    def compared(self) -> list[Contrast]:
        """All contrasts of an audit, which share the level."""
        return all_contrasts(self.axes, self.contrasts)

    def true_effect(self, contrast: Contrast) -> float:
        """The difference of the error rates, or their trend; only the first axis has any."""
        if contrast.axis != "first":
            return 0.0
        if contrast.is_trend:
            numbers = np.arange(self.levels)
            return float(np.polyfit(numbers, self.rates, 1)[0] * numbers[-1])
        return self.rates[contrast.high] - self.rates[contrast.low]

    @property
    def settings(self) -> dict[str, Any]:
        """Keywords of `faceaudit.table`."""
        return {
            "axes": self.axes,
            "error": "error",
            "contrasts": self.contrasts,
            "tolerance": TOLERANCE,
        }


class OnePair(Line):
    """Matched images with one axis."""

    what = "one axis"
    sized = "faces"

    def draw(self, random: np.random.Generator) -> np.ndarray:
        """Errors (audits, faces, levels)."""
        shape = (REPETITIONS, self.size, self.levels)
        face = np.repeat(np.arange(REPETITIONS * self.size), self.levels)
        value = latent(random, face, self.common).reshape(shape)
        return value < norm.ppf(self.rates)

    def intervals(self, error: np.ndarray) -> pd.DataFrame:
        """Simultaneous intervals: a row per audit and contrast, as `faceaudit.verdicts.judge`."""
        contrasts = self.compared
        if self.contrasts == TREND:
            return self._trends(error, contrasts[0])
        quantile = norm.ppf(1 - plans.LEVEL / (2 * len(contrasts)))
        tables = []
        for contrast in contrasts:
            low, high = error[..., contrast.low], error[..., contrast.high]
            worse = (high & ~low).sum(axis=1).tolist()
            better = (low & ~high).sum(axis=1).tolist()
            ends = [
                interval_of_counts(*counts, self.size, quantile)
                for counts in zip(worse, better, strict=True)
            ]
            table = pd.DataFrame(ends, columns=["low_family", "high_family"])
            tables.append(table.assign(audit=table.index, truth=self.true_effect(contrast)))
        return pd.concat(tables).sort_values("audit", kind="stable")

    def _trends(self, error: np.ndarray, contrast: Contrast) -> pd.DataFrame:
        """The interval of the only comparison, a row per audit."""
        audit, face, level = np.indices(error.shape).reshape(3, -1)
        unit = audit * self.size + face
        images = pd.DataFrame({"audit": audit, "unit": unit, "first_level": level})
        images["error"] = error.ravel().astype(int)
        table = matched_trends(
            images, "error", "first_level", self.levels, ["audit"], "unit", TOLERANCE
        )
        table = table.reset_index().assign(truth=self.true_effect(contrast))
        return with_family(
            table.rename(columns={"transects": "units"}).assign(largest=largest_trend(self.levels))
        )

    def audit(self, error: np.ndarray, number: int) -> pd.DataFrame:
        """The family of the audit of this number, by `faceaudit.table`."""
        face, level = np.indices(error[number].shape).reshape(2, -1)
        table = pd.DataFrame({"face": face, "first": np.array(self.axes["first"])[level]})
        table["error"] = error[number].ravel().astype(int)
        return faceaudit.table(table, unit="face", **self.settings).effects


class TwoPairs(Line):
    """Matched images with a second axis of two levels, which has no effect."""

    what = "average over a second axis"
    sized = "faces"

    @property
    def axes(self) -> dict[str, list[str]]:
        """Axis → levels."""
        return super().axes | {"second": ["low", "high"]}

    def draw(self, random: np.random.Generator) -> pd.DataFrame:
        """Images: audit, unit, a level of each axis, and error."""
        shape = (REPETITIONS, self.size, self.levels, 2)
        audit, face, first, second = np.indices(shape).reshape(4, -1)
        unit = audit * self.size + face
        images = pd.DataFrame(
            {"audit": audit, "unit": unit, "first_level": first, "second_level": second}
        )
        value = latent(random, unit, self.common)
        return images.assign(error=(value < norm.ppf(self.rates[first])).astype(int))

    def intervals(self, images: pd.DataFrame) -> pd.DataFrame:
        """Simultaneous intervals: a row per audit and contrast."""
        tables = []
        for contrast in self.compared:
            column = f"{contrast.axis}_level"
            asked = (["audit"], "unit", TOLERANCE)
            if contrast.is_trend:
                table = matched_trends(images, "error", column, self.levels, *asked)
                table["largest"] = largest_trend(self.levels)
            else:
                pair = images[images[column].isin([contrast.low, contrast.high])]
                table = matched_effects(pair, "error", column, *asked).assign(largest=1.0)
            tables.append(table.reset_index().assign(truth=self.true_effect(contrast)))
        table = pd.concat(tables, ignore_index=True).sort_values("audit", kind="stable")
        return with_family(table.rename(columns={"transects": "units"}))

    def audit(self, images: pd.DataFrame, number: int) -> pd.DataFrame:
        """The family of the audit of this number, by `faceaudit.table`."""
        table = images[images["audit"] == number]
        for axis, names in self.axes.items():
            table = table.assign(**{axis: np.array(names)[table[f"{axis}_level"]]})
        return faceaudit.table(table, unit="unit", **self.settings).averages


class Portraits(Line):
    """Found portraits: one of each person, or several where errors hang together."""

    what = "portraits"
    sized = "people a level"

    def draw(self, random: np.random.Generator) -> pd.DataFrame:
        """Portraits: audit, identity, level and error."""
        people_of_audit = self.size * self.levels
        people = REPETITIONS * people_of_audit
        share = 1 / np.arange(1, self.levels + 1)
        level_of_person = random.choice(self.levels, people, p=share / share.sum())
        each = random.integers(1, MOST + 1, people) if self.common else np.ones(people, int)
        identity = np.repeat(np.arange(people), each)
        level = level_of_person[identity]
        value = latent(random, identity, self.common)
        error = (value < norm.ppf(self.rates[level])).astype(int)
        table = {"audit": identity // people_of_audit, "identity": identity, "level": level}
        return pd.DataFrame(table | {"error": error})

    def intervals(self, portraits: pd.DataFrame) -> pd.DataFrame:
        """Simultaneous intervals: a row per audit and contrast, but for levels without people."""
        tables = []
        for contrast in self.compared:
            if contrast.is_trend:
                level = pd.Categorical(portraits["level"], range(self.levels), ordered=True)
                of_levels = portraits.assign(level=level)
                table = portrait_trends(of_levels, "error", "level", ["audit"], "identity")
                table["largest"] = largest_trend(self.levels)
            else:
                pair = portraits[portraits["level"].isin([contrast.low, contrast.high])]
                table = risk_differences(pair, "error", "level", ["audit"], "identity")
                table["largest"] = 1.0
            tables.append(table.reset_index().assign(truth=self.true_effect(contrast)))
        table = pd.concat(tables, ignore_index=True).sort_values("audit", kind="stable")
        return with_family(table.rename(columns={"clusters": "units"}))

    def audit(self, portraits: pd.DataFrame, number: int) -> pd.DataFrame:
        """The family of the audit of this number, by `faceaudit.table`."""
        table = portraits[portraits["audit"] == number]
        table = table.assign(first=np.array(self.axes["first"])[table["level"]])
        return faceaudit.table(table, unit=None, identity="identity", **self.settings).averages


def with_family(table: pd.DataFrame) -> pd.DataFrame:
    """Intervals of many audits, made simultaneous as `faceaudit.verdicts` does it for one.

    Args:
        table: columns audit, estimate, low, high, units, and largest: the difference that there can
            be at most.

    Returns:
        The table with low_family and high_family.
    """
    comparisons = table.groupby("audit")["low"].transform("count").clip(lower=1)
    degrees_of_freedom = (table["units"] - 1).clip(lower=1)
    single = stdtrit(degrees_of_freedom, 1 - plans.LEVEL / 2)
    longer = stdtrit(degrees_of_freedom, 1 - plans.LEVEL / (2 * comparisons)) / single
    estimate = table["estimate"]
    low = estimate - (estimate - table["low"]) * longer
    high = estimate + (table["high"] - estimate) * longer
    largest = table["largest"]
    return table.assign(low_family=low.clip(-largest), high_family=high.clip(upper=largest))


AnyLine = OnePair | TwoPairs | Portraits


def lines() -> Iterator[AnyLine]:
    """All lines, of which those with two levels have one kind of contrasts."""
    kinds = {levels: (REFERENCE, ADJACENT)[: levels - 1] for levels in LEVELS}
    trends = [levels for levels in LEVELS if levels > 2]
    for levels, faces, rate, common in product(LEVELS, FACES, RATES, (0.0, COMMON)):
        for kind in kinds[levels]:
            yield OnePair(levels, faces, rate, kind, common)
    for levels, faces, rate in product(LEVELS_OF_TWO, FACES_OF_TWO, RATES):
        yield TwoPairs(levels, faces, rate, kinds[levels][-1], COMMON)
    for levels, people, rate in product(LEVELS_OF_PORTRAITS, PEOPLE, RATES):
        yield Portraits(levels, people, rate, kinds[levels][0], 0.0)
        yield Portraits(levels, people, rate, kinds[levels][-1], COMMON)
    for levels, faces, rate, common in product(trends, FACES, RATES, (0.0, COMMON)):
        yield OnePair(levels, faces, rate, TREND, common)
    for levels, faces, rate in product(LEVELS_OF_TWO[1:], FACES_OF_TWO, RATES):
        yield TwoPairs(levels, faces, rate, TREND, COMMON)
    for levels, people, rate, common in product(
        LEVELS_OF_PORTRAITS[1:], PEOPLE, RATES, (0.0, COMMON)
    ):
        yield Portraits(levels, people, rate, TREND, common)


def require_same(line: AnyLine, drawn: Any, table: pd.DataFrame) -> None:
    """Assert that the library finds the same intervals in the first audits that have them all."""
    intervals = table.groupby("audit")["low_family"].count()
    complete = intervals.index[intervals == len(line.compared)]
    for number in complete[:THROUGH_THE_DOOR]:
        ends = ["low_family", "high_family"]
        ours = table.loc[table["audit"] == number, ends]
        np.testing.assert_allclose(line.audit(drawn, number)[ends], ours, atol=1e-9)


def row_of(line: AnyLine) -> dict[str, Any]:
    """What the audits of a line say."""
    drawn = line.draw(seeding.rng(SEED, f"simultaneous/{line}"))
    table = line.intervals(drawn)
    require_same(line, drawn, table)
    known = table[table["low_family"].notna()]
    holds = known["low_family"].le(known["truth"]) & known["high_family"].ge(known["truth"])
    all_hold = holds.groupby(known["audit"]).all()
    intervals = holds.groupby(known["audit"]).size()
    coverage = float(all_hold.mean())
    low, high = score_interval(coverage, len(all_hold), Z)
    return {
        "what": line.what,
        "sized": line.sized,
        "levels": line.levels,
        "size": line.size,
        "rate": line.rate,
        "contrasts": line.contrasts,
        "common": line.common,
        "coverage": coverage,
        "coverage, low": float(low),
        "coverage, high": min(float(high), 1.0),
        "of one interval": float(holds.mean()),
        "width, median": float((known["high_family"] - known["low_family"]).median()),
        "without an interval": 1 - len(all_hold) / REPETITIONS,
        "in part not estimable": float((intervals < len(line.compared)).sum() / REPETITIONS),
    }


def shown_rows(table: pd.DataFrame) -> list[dict[str, str | float]]:
    """A row per kind of audits, number of levels and size; trends apart from contrasts."""
    shown = []
    by_trend = np.where(table["contrasts"] == TREND, ", by the trend", "")
    keys = ["what", "compared", "levels", "size", "sized"]
    groups = table.assign(compared=by_trend).groupby(keys, sort=False)
    for (what, compared, levels, size, sized), part in groups:
        row: dict[str, str | float] = {"what": f"{what}: {levels} levels, {size} {sized}{compared}"}
        row["lines"] = len(part)
        row["coverage, least (%)"] = 100 * float(part["coverage"].min())
        row["mean (%)"] = 100 * float(part["coverage"].mean())
        row["width, median (points)"] = 100 * float(part["width, median"].median())
        row["in part not estimable (%)"] = 100 * float(part["in part not estimable"].mean())
        row["not estimable (%)"] = 100 * float(part["without an interval"].mean())
        shown.append(row)
    return shown


def cost() -> dict[str, float]:
    """CPU seconds of a trend at six levels, as a multiple of those of five contrasts, by design."""
    random = seeding.rng(SEED, "simultaneous: cost")
    face, level = np.indices((500, 6)).reshape(2, -1)
    images = pd.DataFrame({"unit": face, "first_level": level})
    images["error"] = (random.random(len(images)) < RATES[1]).astype(int)
    found = images.assign(
        level=pd.Categorical(level, range(6), ordered=True), person=face * 6 + level
    )
    pairs = [[0, other] for other in range(1, 6)]

    def matched_contrasts() -> None:
        for pair in pairs:
            at_levels = images[images["first_level"].isin(pair)]
            matched_effects(at_levels, "error", "first_level", [], "unit", TOLERANCE)

    def found_contrasts() -> None:
        for pair in pairs:
            at_levels = found[found["level"].isin(pair)]
            risk_differences(at_levels, "error", "level", [], "person")

    calls = {
        "matched faces": (
            lambda: matched_trends(images, "error", "first_level", 6, [], "unit", TOLERANCE),
            matched_contrasts,
        ),
        "portraits": (
            lambda: portrait_trends(found, "error", "level", [], "person"),
            found_contrasts,
        ),
    }
    return {what: seconds(trend) / seconds(contrasts) for what, (trend, contrasts) in calls.items()}


def conclude(table: pd.DataFrame) -> None:
    """Leave `results/simultaneous.json`, and hold the coverage against the mark."""
    rates = ", ".join(f"{100 * rate:g}" for rate in RATES)
    facts = {
        "audits": f"{REPETITIONS:,} a line",
        "error rates": f"{rates}% at the first level, {HIGHER:g} times as many errors at every "
        "other one, or for trends at the last one",
        "portraits": f"1 of each person, or 1 to {MOST} whose errors hang together; a level is "
        "the rarer the higher it is",
        "coverage": "share of audits in which all simultaneous intervals hold their truth",
        "a trend over six levels against five contrasts": ", ".join(
            f"{ratio:.2f} times the CPU time ({what})" for what, ratio in cost().items()
        ),
        "called right": f"no line's 95% Monte Carlo interval lies wholly below {100 * MARK:g}%",
    }
    write_rows("simultaneous", facts, shown_rows(table), ["numpy", "scipy", "pandas"])
    below = table[table["coverage, high"] < MARK]
    assert below.empty, below


def main() -> None:
    rows = []
    with threadpool_limits(1):
        for line in lines():
            rows.append(row_of(line))
            print(rows[-1], flush=True)
    table = pd.DataFrame(rows).round(4)
    table.to_csv(RESULTS / "simultaneous.csv", index=False)
    conclude(table)


if __name__ == "__main__":
    main()
