"""How narrow intervals of disparities can be, and what they find: the dyadic-robust score.

Run `python benchmarks/verification_disparities.py`. Two groups of identities with random effects
are compared as in chapter 14: each identity with 16 pictures of itself, and with 17 of each of the
next three in a ring. A pair errs where a normal variable falls beyond a threshold, so the rates are
known. Five settings: effects of identities are weak or strong; identities are matched (half of the
effects' variance is common to both groups), closely matched (nine tenths are) or other people; and
40 identities with weak effects are held against a group with strong ones. In each the groups do not
differ, one errs three times as often, or five points more often.

Every interval is computed in closed form for all audits at once: that of
`faceaudit.verification.disparities` at one threshold; the one that it had before, Newcombe's of two
Wilson intervals, whose sizes the vertex bootstrap told (here from the sums that it estimates); and
the plain interval of the dyadic-robust variance. Widths are held against those of an audit that
knows the standard deviation of its estimate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from record import write_rows
from scipy.special import stdtrit
from scipy.stats import norm
from threadpoolctl import threadpool_limits

from faceaudit.effects import score_interval
from faceaudit.effects.risks import hybrid_score_interval
from faceaudit.utils import seeding
from faceaudit.verification.differences import PairDesign, difference_score

IDENTITIES = (10, 20, 40)
RATES = {"FMR": (0.005, 0.01, 0.02, 0.05), "FNMR": (0.01, 0.02, 0.05, 0.1)}
OWN_PICTURES, OTHERS, PICTURES_EACH = 16, 3, 17
"""Pictures of oneself, others that one is compared with, and pictures of each of them."""
REPETITIONS = 2000
LEAST = 0.93
"""Coverage that no line may be shown to lie below."""
SEED = 20260311
STEPS = 8
"""Of the former method, to its settled sizes."""
NORMAL = norm.ppf(0.975)


@dataclass(frozen=True)
class Effects:
    """Shares of a variance of 1: what is common to pairs that share an identity, or both."""

    identity: float  # of either identity, among negatives
    dyad: float  # of the two identities together, among negatives
    ease: float  # of an identity among its own pictures


WEAK = Effects(identity=0.05, dyad=0.1, ease=0.2)
STRONG = Effects(identity=0.15, dyad=0.2, ease=0.5)


@dataclass(frozen=True)
class Setting:
    """What two groups are like; the second one's number of identities varies."""

    effects: tuple[Effects, Effects]
    common: float  # share of the effects' variance that the groups have in common; 0: other people
    reference_identities: int | None = None  # None: as many as the second group has


SETTINGS = {
    "weak effects, matched": Setting((WEAK, WEAK), common=0.5),
    "strong effects, matched": Setting((STRONG, STRONG), common=0.5),
    "strong effects, closely matched": Setting((STRONG, STRONG), common=0.9),
    "strong effects, other people": Setting((STRONG, STRONG), common=0),
    "strong effects against 40 weak": Setting((WEAK, STRONG), common=0, reference_identities=40),
}


@dataclass(frozen=True)
class SimulatedPairs:
    """Error curves of one group in R audits, see `verification.differences.ErrorCurve`."""

    design: PairDesign
    scores: np.ndarray  # (R, d, pictures): pairs above 0 err

    @cached_property
    def descending(self) -> np.ndarray:
        """Scores of every audit, the highest first, (R, m)."""
        flat = self.scores.reshape(len(self.scores), -1)
        return -np.sort(-flat, axis=1)

    @property
    def errors(self) -> np.ndarray:
        """How many pairs err, (R,)."""
        return (self.scores >= 0).sum(axis=(1, 2))

    def nearest(self, rate: np.ndarray) -> np.ndarray:
        """Number of errors at the threshold whose rate is nearest, (R,)."""
        return np.rint(rate * self.design.total).astype(int)

    def residuals(self, errors: np.ndarray) -> np.ndarray:
        """Sums by dyad of errors minus their mean, (R, d), where so many pairs err."""
        last = self.descending[np.arange(len(errors)), np.maximum(errors - 1, 0)]
        last = np.where(errors > 0, last, np.inf)
        counts = (self.scores >= last[:, None, None]).sum(axis=2)
        return counts - errors[:, None] / self.design.total * self.design.pairs


def pair_design(kind: str, identities: int, start: int, codes: int) -> PairDesign:
    """Pairs within the identities, or of each with the next three, from code `start` on."""
    members = np.arange(identities)
    if kind == "FNMR":
        pairs = np.full(identities, OWN_PICTURES)
        return PairDesign(start + members, start + members, pairs, codes)
    first = np.repeat(members, OTHERS)
    second = (first + np.tile(np.arange(1, OTHERS + 1), identities)) % identities
    pairs = np.full(len(first), PICTURES_EACH)
    return PairDesign(start + first, start + second, pairs, codes)


def simulated(
    kind: str, identities: int, setting: Setting, rates: tuple[float, float], rng
) -> tuple[SimulatedPairs, SimulatedPairs]:
    """The reference and another group in all repetitions."""
    sizes = (setting.reference_identities or identities, identities)
    codes = max(sizes) if setting.common else sum(sizes)
    starts = (0, 0 if setting.common else sizes[0])
    shared = {}
    groups = []
    for effects, size, start, rate in zip(setting.effects, sizes, starts, rates, strict=True):
        design = pair_design(kind, size, start, codes)

        def drawn(name: str, count: int, variance: float) -> np.ndarray:
            """Random effects (R, count), of which matched groups have a part in common."""
            own = np.sqrt(1 - setting.common) * rng.standard_normal((REPETITIONS, count))
            if not setting.common:
                return np.sqrt(variance) * own
            if name not in shared:
                shared[name] = rng.standard_normal((REPETITIONS, count))
            return np.sqrt(variance) * (own + np.sqrt(setting.common) * shared[name])

        if kind == "FNMR":
            common = drawn("ease", size, effects.ease)
            rest = 1 - effects.ease
        else:
            of_identity = drawn("identity", size, effects.identity)
            common = of_identity[:, design.first - start] + of_identity[:, design.second - start]
            common = common + drawn("dyad", len(design.first), effects.dyad)
            rest = 1 - 2 * effects.identity - effects.dyad
        scores = rng.standard_normal((*common.shape, int(design.pairs[0])))
        scores *= np.sqrt(rest)
        scores += common[..., None] - norm.isf(rate)
        groups.append(SimulatedPairs(design, scores))
    return groups[0], groups[1]


# --- the interval that disparities had before


def observed_size(curve: SimulatedPairs, errors: np.ndarray) -> np.ndarray:
    """As how many independent pairs those of one group count by their own variance, (R,)."""
    rate = errors / curve.design.total
    binomial = rate * (1 - rate)
    variance = curve.design.variance(curve.residuals(errors))
    known = (variance > 1e-9 * binomial) & (binomial > 0)
    size = np.full(len(rate), float(curve.design.identities))
    return np.divide(binomial, variance, out=size, where=known)


def former_size(curve: SimulatedPairs) -> np.ndarray:
    """The smaller of the sizes at the observed rate and at the middle of its interval, (R,)."""
    quantile = stdtrit(curve.design.identities - 1, 0.975)
    rate = curve.errors / curve.design.total
    settled = np.full(len(rate), float(curve.design.identities))
    for _ in range(STEPS):
        low, high = score_interval(rate, settled, quantile)
        settled = np.sqrt(settled * observed_size(curve, curve.nearest((low + high) / 2)))
    return np.minimum(settled, observed_size(curve, curve.errors))


def former_interval(groups: tuple[SimulatedPairs, SimulatedPairs]) -> tuple:
    """Newcombe's interval of two Wilson intervals, (R,) each end."""
    rate = np.stack([group.errors / group.design.total for group in groups], axis=1)
    size = np.stack([former_size(group) for group in groups], axis=1)
    designs = [group.design for group in groups]
    residuals = [group.residuals(group.errors) for group in groups]
    spread = np.sqrt(np.prod([a.variance(b) for a, b in zip(designs, residuals, strict=True)], 0))
    covariance = designs[0].covariance(residuals[0], designs[1], residuals[1])
    correlation = np.divide(covariance, spread, out=np.zeros(len(spread)), where=spread > 0)
    scale = np.sqrt((rate * (1 - rate) / size).prod(axis=1))
    common = correlation.clip(-1, 1) * scale
    common = common - np.clip(common, 0, 0.5 / size.prod(axis=1))
    correlation = np.divide(common, scale, out=np.zeros(len(scale)), where=scale > 0)
    df = min(design.identities for design in designs) - 1
    quantile = np.full(len(rate), stdtrit(df, 0.975))
    return hybrid_score_interval(rate, size, correlation, quantile)


# --- the study


def lines() -> Iterator[dict[str, object]]:
    """What every interval did in every line: coverage, width, and how often zero lies outside."""
    for kind, rates in RATES.items():
        for identities in IDENTITIES:
            for name, setting in SETTINGS.items():
                for rate in rates:
                    for gap in (0.0, 2 * rate, 0.05):
                        yield from line(kind, identities, name, setting, rate, gap)


def line(
    kind: str, identities: int, name: str, setting: Setting, rate: float, gap: float
) -> Iterator[dict[str, object]]:
    """One line, a row for each interval."""
    key = f"{kind}, {identities}, {name}, {rate}, {gap}"
    rng = seeding.rng(SEED, f"verification disparities: {key}")
    groups = simulated(kind, identities, setting, (rate, rate + gap), rng)
    errors = np.stack([group.errors for group in groups], axis=1)
    score = difference_score(*groups, errors)
    spread = score.estimate.std()
    quantile = stdtrit(score.df, 0.975) * np.sqrt(score.robust)
    intervals = {
        "now": score.interval(),
        "before": former_interval(groups),
        "plain": (score.estimate - quantile, score.estimate + quantile),
    }
    for method, (low, high) in intervals.items():
        estimable = np.isfinite(low) & np.isfinite(high)
        yield {
            "kind": kind,
            "identities": identities,
            "setting": name,
            "rate": rate,
            "gap": gap,
            "method": method,
            "coverage": np.mean(((low <= gap) & (gap <= high))[estimable]),
            "width": np.mean((high - low)[estimable]),
            "ideal": 2 * NORMAL * spread,
            "found": np.mean(((low > 0) | (high < 0))[estimable]),
            "not estimable": REPETITIONS - estimable.sum(),
        }


def shown_rows(table: pd.DataFrame) -> list[dict[str, object]]:
    """A row per kind, number of identities and rate, over settings and gaps."""
    shown = []
    for (kind, identities, rate), part in table.groupby(["kind", "identities", "rate"], sort=False):
        row = {"what": f"{identities} identities: {kind} {rate:.1%}"}
        by_method = dict(iter(part.groupby("method")))
        for method in ("now", "before", "plain"):
            row[f"least coverage, {method} (%)"] = 100 * by_method[method]["coverage"].min()
        for method in ("now", "before"):
            ratio = by_method[method]["width"] / by_method[method]["ideal"]
            row[f"width by ideal, {method}"] = np.exp(np.log(ratio).mean())
        planted = {method: rows[rows["gap"] > 0] for method, rows in by_method.items()}
        for method in ("now", "before"):
            row[f"found, {method} (%)"] = 100 * planted[method]["found"].mean()
        shown.append(row)
    return shown


def facts(table: pd.DataFrame) -> dict[str, object]:
    """What holds over all lines."""
    error = np.sqrt(LEAST * (1 - LEAST) / REPETITIONS)
    found: dict[str, object] = {
        "audits of every line": REPETITIONS,
        "lines": len(table) // table["method"].nunique(),
        "intervals that are not estimable": int(table["not estimable"].sum()),
    }
    for method, rows in table.groupby("method", sort=False):
        coverage = rows["coverage"]
        below = int((coverage + NORMAL * error < LEAST).sum())
        ends = f"{100 * coverage.min():.1f} to {100 * coverage.max():.1f}"
        found[f"coverage, {method} (%)"] = ends
        found[f"lines shown to lie below {LEAST:.0%}, {method}"] = below
    index = ["kind", "identities", "setting", "rate", "gap"]
    wide = table.pivot_table(["width", "found"], index, "method", sort=False)
    ratio = wide["width", "now"] / wide["width", "before"]
    for kind, of_kind in ratio.groupby("kind", sort=False):
        mean = np.exp(np.log(of_kind).mean())
        ends = f"{of_kind.min():.2f} to {of_kind.max():.2f}"
        found[f"width of {kind}, now by before"] = f"{mean:.2f} ({ends})"
    planted = wide[wide.index.get_level_values("gap") > 0]
    for (kind, name), part in planted["found"].groupby(["kind", "setting"], sort=False):
        now, before = 100 * part["now"].mean(), 100 * part["before"].mean()
        found[f"planted differences of {kind} found, {name} (%)"] = (
            f"{before:.0f} before, {now:.0f} now"
        )
    return found


def main() -> None:
    with threadpool_limits(1):
        table = pd.DataFrame(lines())
    packages = ["numpy", "scipy", "pandas"]
    write_rows("verification_disparities", facts(table), shown_rows(table), packages)


if __name__ == "__main__":
    main()
