"""A gate that is asked again: do its intervals hold at every look, and what do they cost?

Run `python benchmarks/confidence_sequences.py`, which takes ten minutes of one core. Everything is
drawn 2,000 times a line, and for a price 500 times.

- *Looks.* One comparison is looked at up to 50 times while its faces come. A run counts as right
  where the interval holds the truth at every look until then. Beside it stands the interval of one
  look (Tango's), looked at as often.
- *Releases.* Ten releases of a model, or five looks at each of ten, are gated on the same faces.
  Each has an effect as large as the tolerance, so that no verdict but "undecided" is right, whether
  their errors hang together or not. Counted is how often any of the ten passes as "within", and how
  often any is stopped as "beyond". Beside it stands the gate of one look.
- *Price.* Faces after which four of five gates have their verdict, over those that a gate of one
  look needs for it, by `faceaudit.effects.chances_of_verdicts`; and the mean number over it, since
  a gate that is monitored may stop as soon as it knows.

Two audits of a line of looks, and all looks of one row of releases, go through `faceaudit.table` as
well, which must find the same. The records are `results/confidence_sequences_*.csv`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from record import RESULTS, seconds, write_rows
from scipy.stats import norm
from threadpoolctl import threadpool_limits

import faceaudit
from faceaudit import effects
from faceaudit.effects.paired_proportions import score_p
from faceaudit.effects.verdicts import Z
from faceaudit.plans import LEVEL
from faceaudit.utils import seeding
from faceaudit.verdicts import Games

SEED, REPETITIONS, MARK = 64, 2_000, 0.95
"""No line's 95% Monte Carlo interval may lie wholly below the mark."""
TOLERANCE, POWER = 0.05, 0.8
LOOKS = (1, 5, 10, 50)
"""How often a comparison was looked at."""
FACES = (50, 200, 1_000)
"""Of which a fiftieth comes before every look."""
RATES = ((0.0, 0.0), (0.01, 0.01), (0.05, 0.0), (0.1, 0.05), (0.4, 0.2))
"""Chances that a pair errs at the high level only, and at the low one only."""
RELEASES = 10
COMMON = (0.0, 0.9)
"""Correlation of what decides about a pair's errors, between releases."""
BASES = (0.05, 0.1, 0.2)
"""Error rates at the low level, of the price; errors of a pair are nearly independent."""
EFFECTS = {"within": (0.0,), "beyond": (0.1, 0.15)}
WITHIN = 0.05
"""Correlation of the two errors of a pair."""
PRICED, MOST = 500, 12
"""Gates of a price, and faces of each, as a multiple of those of one look."""
PRICED_RELEASES = (1, 2, 10)


def differences(random: np.random.Generator, shape: tuple, worse: float, better: float):
    """Differences (shape) of the two errors of a pair."""
    draw = random.random(shape)
    return (draw < worse).astype(float) - (draw > 1 - better)


def monte_carlo(share: float) -> tuple[float, float]:
    """The 95% Monte Carlo interval of a share."""
    low, high = effects.score_interval(share, REPETITIONS, Z)
    return max(float(low), 0.0), min(float(high), 1.0)


# --- looks


@dataclass(frozen=True)
class Looked:
    """One comparison whose faces come over time.

    Attributes:
        faces: in all; a fiftieth before every look.
        worse, better: chances of a pair.
        pairs: of a face, whose mean counts.
    """

    faces: int
    worse: float
    better: float
    pairs: int

    @property
    def numbers(self) -> list[int]:
        """Faces at each look."""
        return [self.faces * look // LOOKS[-1] for look in range(1, LOOKS[-1] + 1)]

    def draw(self) -> np.ndarray:
        """Differences (audits, faces)."""
        random = seeding.rng(SEED, f"looks/{self}")
        shape = (REPETITIONS, self.faces, self.pairs)
        return differences(random, shape, self.worse, self.better).mean(axis=-1)


def looked() -> Iterator[Looked]:
    """All lines."""
    for faces, (worse, better) in product(FACES, RATES):
        yield Looked(faces, worse, better, pairs=1)
    for faces in FACES:
        yield Looked(faces, 0.1, 0.05, pairs=4)


def rejected_by_games(drawn: np.ndarray, line: Looked, sought: float | None) -> np.ndarray:
    """Whether the truth is given up at each look: (audits, looks)."""
    games = effects.betting_sequence(drawn, LEVEL, sought)
    truth = line.worse - line.better
    p = [
        np.minimum(part.p_of_at_most(truth), part.p_of_at_least(truth))
        for number in line.numbers
        for part in [
            effects.BettingSequence(games.differences[:, :number], games.stakes[:, :number])
        ]
    ]
    return 2 * np.stack(p, axis=-1) <= LEVEL


def rejected_by_score(drawn: np.ndarray, line: Looked) -> np.ndarray:
    """The same of Tango's test, made anew at each look."""
    truth = line.worse - line.better
    rejected = []
    for number in line.numbers:
        worse = (drawn[:, :number] > 0).sum(axis=1)
        better = (drawn[:, :number] < 0).sum(axis=1)
        p = score_p(worse, better, np.full(len(drawn), number), np.full(len(drawn), truth))
        rejected.append(p < LEVEL)
    return np.stack(rejected, axis=-1)


def rows_of_looks(line: Looked) -> Iterator[dict[str, Any]]:
    """A row for each kind of interval."""
    drawn = line.draw()
    kinds = {
        "sequence": rejected_by_games(drawn, line, TOLERANCE),
        "sequence, bets of the paper": rejected_by_games(drawn, line, None),
    }
    if line.pairs == 1:
        kinds["interval of one look"] = rejected_by_score(drawn, line)
    some = drawn[:100]
    for kind, rejected in kinds.items():
        row: dict[str, Any] = {"interval": kind, **vars(line)}
        for looks in LOOKS:
            every = LOOKS[-1] // looks
            row[f"coverage, {looks} looks"] = 1 - rejected[:, every - 1 :: every].any(axis=1).mean()
        _, row["coverage, high"] = monte_carlo(row[f"coverage, {LOOKS[-1]} looks"])
        if kind.startswith("sequence"):
            sought = TOLERANCE if kind == "sequence" else None
            low, high = effects.betting_sequence(some, LEVEL, sought).interval(LEVEL)
            row["width, median"] = float(np.median(high - low))
        yield row
    if line.pairs == 1 and line.worse > 0:
        require_same_intervals(line, drawn)


def table_of(difference: np.ndarray) -> pd.DataFrame:
    """Images whose errors have these differences (faces,), for `faceaudit.table`."""
    face = np.repeat(np.arange(len(difference)), 2)
    errors = np.stack([difference < 0, difference > 0], axis=1).ravel().astype(int)
    skin = np.tile(["light", "dark"], len(difference))
    return pd.DataFrame({"face": face, "skin": skin, "error": errors})


SETTINGS = {
    "unit": "face",
    "axes": {"skin": ["light", "dark"]},
    "error": "error",
    "tolerance": TOLERANCE,
    "policy": {"monitor": True},
}
"""Keywords of `faceaudit.table`."""


def in_order(audit: faceaudit.AuditResult, difference: np.ndarray) -> np.ndarray:
    """Differences in the order in which an audit takes its faces."""
    from faceaudit.matched_comparisons import with_numbered_units

    plan = audit.report.plan.content
    numbered = with_numbered_units(audit.frame, plan)
    place = numbered.groupby(audit.frame["unit"])["unit"].first()
    ordered = np.empty(len(difference))
    ordered[place.to_numpy()] = difference[place.index.astype(int)]
    return ordered


def require_same_intervals(line: Looked, drawn: np.ndarray) -> None:
    """Assert that the library finds the interval of these games in the first two audits."""
    for difference in drawn[:2]:
        audit = faceaudit.table(table_of(difference), **SETTINGS)
        games = Games.of(in_order(audit, difference), LEVEL, 1, TOLERANCE)
        found = audit.effects[["low", "high"]].to_numpy()[0]
        np.testing.assert_allclose(found, games.interval(LEVEL), atol=1e-9)


# --- releases


def releases(
    random: np.random.Generator, faces: int, common: float, worse: float, better: float
) -> np.ndarray:
    """Differences (repetitions, releases, faces) whose means are as large as the tolerance."""
    shared = random.standard_normal((REPETITIONS, 1, faces))
    own = random.standard_normal((REPETITIONS, RELEASES, faces))
    value = norm.cdf(np.sqrt(common) * shared + np.sqrt(1 - common) * own)
    return (value < worse).astype(float) - (value > 1 - better)


def verdicts_of_games(drawn: np.ndarray, release: int) -> tuple[np.ndarray, np.ndarray]:
    """Whether each of some gates (n,) has ever said "within", and "beyond"."""
    share = effects.share_of_release(release)
    games = effects.betting_sequence(drawn, LEVEL * share, TOLERANCE)
    at_most = games.p_of_at_most(-TOLERANCE), games.p_of_at_most(TOLERANCE)
    at_least = games.p_of_at_least(TOLERANCE), games.p_of_at_least(-TOLERANCE)
    within = np.maximum(at_most[0], at_least[0]) <= LEVEL * share
    beyond = np.minimum(at_most[1], at_least[1]) <= LEVEL * share / 2
    return within, beyond


def verdicts_of_one_look(drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same of the tests of one look."""
    count = np.full(len(drawn), drawn.shape[-1])
    worse, better = (drawn > 0).sum(axis=1), (drawn < 0).sum(axis=1)
    edge = np.full(len(drawn), TOLERANCE)
    p_high, p_low = (score_p(worse, better, count, sign * edge) for sign in (1, -1))
    mean = drawn.mean(axis=1)
    # One-sided tests at the level are two-sided ones at twice of it.
    within = (np.abs(mean) < TOLERANCE) & (np.maximum(p_high, p_low) < 2 * LEVEL)
    beyond = (np.abs(mean) > TOLERANCE) & (np.where(mean > 0, p_high, p_low) < LEVEL)
    return within, beyond


def rows_of_releases() -> Iterator[dict[str, Any]]:
    """A row for each kind of gate, correlation, and number of looks at a release."""
    faces = 1_000
    for common, looks, (worse, better) in product(COMMON, (1, 5), ((0.055, 0.005), (0.1, 0.05))):
        random = seeding.rng(SEED, f"releases/{common}/{looks}/{worse}")
        drawn = releases(random, faces, common, worse, better)
        wrong = {
            gate: np.zeros((REPETITIONS, 2), bool) for gate in ("monitored", "asked as if once")
        }
        for release, look in product(range(1, RELEASES + 1), range(1, looks + 1)):
            until = drawn[:, release - 1, : faces * look // looks]
            wrong["monitored"] |= np.stack(verdicts_of_games(until, release), axis=1)
            wrong["asked as if once"] |= np.stack(verdicts_of_one_look(until), axis=1)
        for gate, said in wrong.items():
            within, beyond = said.mean(axis=0)
            yield {
                "gate": gate,
                "releases": RELEASES,
                "looks at each": looks,
                "faces": faces,
                "correlation": common,
                "worse": worse,
                "better": better,
                "any passes wrongly": within,
                "any is stopped wrongly": beyond,
                "any passes wrongly, low": monte_carlo(within)[0],
                "any is stopped wrongly, low": monte_carlo(beyond)[0],
            }
    require_same_verdicts(drawn[0])


def require_same_verdicts(drawn: np.ndarray) -> None:
    """Assert that the library counts ten releases, one after the other, and says the same."""
    previous = None
    with tempfile.TemporaryDirectory() as folder:
        for release, difference in enumerate(drawn, start=1):
            audit = faceaudit.table(table_of(difference), **SETTINGS, previous=previous)
            assert audit.report.monitored.release == release
            games = Games.of(in_order(audit, difference), LEVEL, release, TOLERANCE)
            row = audit.effects.iloc[0]
            np.testing.assert_allclose(row[["low", "high"]].tolist(), games.interval(LEVEL))
            audit.save(folder)
            previous = folder


# --- price


def needed_once(design: effects.Design, verdict: str) -> int:
    """Faces with which a gate of one look has its verdict with the power."""
    low, high = 2, 2
    while getattr(effects.chances_of_verdicts(high, design, TOLERANCE, [LEVEL]), verdict) < POWER:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        chances = effects.chances_of_verdicts(middle, design, TOLERANCE, [LEVEL])
        low, high = (low, middle) if getattr(chances, verdict) >= POWER else (middle, high)
    return high


def first_decided(drawn: np.ndarray, release: int, sought: float | None) -> dict[str, np.ndarray]:
    """Verdict → faces (repetitions,) at which it is first said; one more than all if never."""
    share = effects.share_of_release(release)
    games = effects.betting_sequence(drawn, LEVEL * share, sought)
    each = {
        (side, mean): games.coins(mean, side)
        for side, mean in product((1, -1), (TOLERANCE, -TOLERANCE))
    }
    one_sided, two_sided = 1 / (LEVEL * share), 2 / (LEVEL * share)
    said = {
        "within": (each[1, -TOLERANCE] >= one_sided) & (each[-1, TOLERANCE] >= one_sided),
        "beyond": (each[1, TOLERANCE] >= two_sided) | (each[-1, -TOLERANCE] >= two_sided),
    }
    return {
        verdict: np.where(is_said.any(axis=1), is_said.argmax(axis=1) + 1, drawn.shape[1] + 1)
        for verdict, is_said in said.items()
    }


def rows_of_price() -> Iterator[dict[str, Any]]:
    """A row for each design, release and kind of bets."""
    for base, (verdict, sizes) in product(BASES, EFFECTS.items()):
        for effect in sizes:
            # A design with no effect at all is refused, since there is no power to plan.
            design = effects.Design(max(effect, 1e-9), base, WITHIN, pairs=1)
            once = needed_once(design, verdict)
            rate = base + effect
            both = base * rate + WITHIN * np.sqrt(base * (1 - base) * rate * (1 - rate))
            random = seeding.rng(SEED, f"price/{base}/{effect}")
            drawn = differences(random, (PRICED, MOST * once), rate - both, base - both)
            kinds = [(release, TOLERANCE) for release in PRICED_RELEASES] + [(1, None)]
            for release, sought in kinds:
                faces = first_decided(drawn, release, sought)[verdict]
                yield {
                    "base": base,
                    "effect": effect,
                    "verdict": verdict,
                    "release": release,
                    "bets": "paper" if sought is None else "seeking the tolerance",
                    "faces, one look": once,
                    "price": np.quantile(faces, POWER, method="higher") / once,
                    "mean price": faces.mean() / once,
                }


# --- the record


def cost() -> dict[str, float]:
    """CPU seconds of an audit of 2,000 faces, monitored and not."""
    random = seeding.rng(SEED, "cost")
    table = table_of(differences(random, (2_000,), 0.1, 0.05))
    once = {name: value for name, value in SETTINGS.items() if name != "policy"}
    return {
        "monitored": seconds(lambda: faceaudit.table(table, **SETTINGS)),
        "not monitored": seconds(lambda: faceaudit.table(table, **once)),
    }


def shown_looks(table: pd.DataFrame) -> Iterator[dict[str, str | float]]:
    """A row for each kind of interval and number of faces."""
    for (interval, faces), part in table.groupby(["interval", "faces"], sort=False):
        row: dict[str, str | float] = {"what": f"{interval}: {faces:,} faces", "lines": len(part)}
        for looks in LOOKS:
            least = 100 * float(part[f"coverage, {looks} looks"].min())
            row[f"{looks} look{'s' * (looks > 1)}, least (%)"] = least
        yield row


def shown_releases(table: pd.DataFrame) -> Iterator[dict[str, str | float]]:
    """A row for each kind of gate and number of looks at a release."""
    for (gate, looks), part in table.groupby(["gate", "looks at each"], sort=False):
        yield {
            "what": f"gate {gate}: {RELEASES} releases, {looks} looks at each",
            "any passes wrongly, most (%)": 100 * part["any passes wrongly"].max(),
            "any is stopped wrongly, most (%)": 100 * part["any is stopped wrongly"].max(),
        }


def shown_prices(table: pd.DataFrame) -> Iterator[dict[str, str | float]]:
    """A row for each release and kind of bets."""
    for (bets, release), part in table.groupby(["bets", "release"], sort=False):
        yield {
            "what": f"release {release}, bets {bets}",
            "times the faces, least": part["price"].min(),
            "most": part["price"].max(),
            "mean number, least": part["mean price"].min(),
            "mean number, most": part["mean price"].max(),
        }


def conclude(tables: dict[str, pd.DataFrame]) -> None:
    """Leave `results/confidence_sequences_*.json`, and hold them against the mark and the level."""
    packages = ["numpy", "scipy", "pandas"]
    facts = {
        "comparisons": f"{REPETITIONS:,} a line, looked at up to {LOOKS[-1]} times",
        "coverage": "share of them whose intervals hold the truth at every look",
        "called right": f"no line's 95% Monte Carlo interval lies wholly below {100 * MARK:g}%",
    }
    rows = list(shown_looks(tables["looks"]))
    write_rows("confidence_sequences_looks", facts, rows, packages)
    facts = {
        "gates": f"{REPETITIONS:,} a line, of {RELEASES} releases whose effects are all as large "
        f"as the tolerance of {100 * TOLERANCE:g} points",
        "wrong": "any of the releases is called within the tolerance, or beyond it",
        "called right": f"no line's 95% Monte Carlo interval lies wholly above {100 * LEVEL:g}%",
    }
    rows = list(shown_releases(tables["releases"]))
    write_rows("confidence_sequences_releases", facts, rows, packages)
    times = cost()
    facts = {
        "gates": f"{PRICED} a line",
        "base error rates": ", ".join(f"{100 * base:g}%" for base in BASES),
        "price": f"faces by which {100 * POWER:g}% of them have their verdict, over those that a "
        "gate of one look needs",
        "cost": "an audit of 2,000 faces takes "
        f"{times['monitored'] / times['not monitored']:.2f} times the CPU seconds if monitored",
    }
    rows = list(shown_prices(tables["price"]))
    write_rows("confidence_sequences_price", facts, rows, packages)
    is_sequence = tables["looks"]["interval"].str.startswith("sequence")
    below = tables["looks"][is_sequence & (tables["looks"]["coverage, high"] < MARK)]
    assert below.empty, below
    monitored = tables["releases"].query("gate == 'monitored'")
    lower = monitored[["any passes wrongly, low", "any is stopped wrongly, low"]]
    assert (lower <= LEVEL).all(axis=None), monitored


def main() -> None:
    parts = {
        "looks": (row for line in looked() for row in rows_of_looks(line)),
        "releases": rows_of_releases(),
        "price": rows_of_price(),
    }
    tables = {}
    with threadpool_limits(1):
        for name, rows in parts.items():
            tables[name] = pd.DataFrame(rows).round(4)
            print(tables[name].to_string(), flush=True)
            path = RESULTS / f"confidence_sequences_{name}.csv"
            tables[name].to_csv(path, index=False, lineterminator="\n")
        conclude(tables)


if __name__ == "__main__":
    main()
