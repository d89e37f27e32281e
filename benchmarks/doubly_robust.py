"""Found portraits adjusted by AIPW: do the intervals hold the true effect, and what do they cost?

Run `python benchmarks/doubly_robust.py`, which takes eighteen minutes of one core. People are drawn
again and again, each with one to three portraits, 2,000 audits a line. Hair, age and a beard go
with the level of the axis and with the errors. Their share in both is known, and so is the average
effect over all portraits. Both models of the estimator have main effects alone, so that one of them
is wrong where the world has an interaction of hair and beard: in the errors, in the level, or in
both. Boosted trees find it. Errors of a person hang together by a share of a latent normal value.

An audit that is not estimable is counted, and the other intervals must hold. No line's 95% Monte
Carlo interval may lie wholly below the mark, but for the lines in which both models are wrong. The
cost is that of an audit of 2,500 portraits, against `faceaudit.effects.risk_differences` with the
same covariates.
"""

import sys
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from acceptance import latent
from record import seconds, write_rows
from scipy.special import expit, logit, ndtri
from statsmodels.stats.proportion import proportion_confint
from threadpoolctl import threadpool_limits

from faceaudit import effects
from faceaudit.utils import seeding

SEED, REPETITIONS, MARK = 64, 2_000, 0.94
"""No line's 95% Monte Carlo interval may lie wholly below the mark."""
PEOPLE = (30, 60, 200, 600)
"""Of an audit."""
RATES = (0.02, 0.1, 0.3)
"""Error rate at the low level of people without hair, age and beard in the way."""
COMMON = 0.5
"""Share of a person in what decides about the errors."""
MOST = 3
"""Portraits of a person: one to so many."""
EFFECT = 0.7
"""Of the level on the log odds of an error; of a number, in its standard deviations."""
CONFOUNDING = {"hair": (1.0, 0.8), "beard": (-0.6, 0.6), "age": (0.4, 0.3)}
"""Covariate → log odds of the high level, and of an error, for each step of it."""
LEVELS = {"hair": 2, "beard": 2, "age": 3}
INTERACTION = 2.0
"""Log odds of the level, or of an error, where one of hair and beard is there and not both."""
WORLDS = {
    "both models right": (False, False),
    "wrong model of the errors": (False, True),
    "wrong model of the level": (True, False),
    "both models wrong": (True, True),
}
"""Name → whether the interaction is in the level, and whether it is in the errors."""
COVARIATES = list(LEVELS)
SCORES = ("coverage (%)", "from (%)", "to (%)", "bias", "±", "RMSE", "half-width, median")
"""Columns of the record, of the audits that are estimable."""


@dataclass(frozen=True)
class World:
    """Where people are drawn from, and how their audits are adjusted.

    Attributes:
        rate: of errors at the low level of people with the first level of each covariate.
        odd_levels: whether the level of the axis depends on the interaction.
        odd_errors: whether the errors do.
        is_number: whether the outcome is a number.
        strength: by how much the log odds of the level are those of `CONFOUNDING`.
        intercept: log odds of the high level of people with the first level of each covariate.
        learner: of both models of the estimator.
    """

    rate: float
    odd_levels: bool = False
    odd_errors: bool = False
    is_number: bool = False
    strength: float = 1.0
    intercept: float = -0.8
    learner: effects.Learner = "logistic"

    def chance(self, people: pd.DataFrame) -> np.ndarray:
        """Of the high level, (n,)."""
        log_odds = sum(level * people[name] for name, (level, _) in CONFOUNDING.items())
        log_odds = self.intercept + self.strength * log_odds
        odd = people["hair"] != people["beard"]
        return expit(log_odds + (INTERACTION * (odd - 0.5) if self.odd_levels else 0)).to_numpy()

    def predictor(self, people: pd.DataFrame, dark: np.ndarray | int) -> np.ndarray:
        """Log odds of an error, or the mean of a number, at a level: (n,)."""
        log_odds = sum(error * people[name] for name, (_, error) in CONFOUNDING.items())
        log_odds = log_odds + logit(self.rate) + EFFECT * dark
        odd = people["hair"] != people["beard"]
        return (log_odds + (INTERACTION * odd if self.odd_errors else 0)).to_numpy()

    def mean(self, people: pd.DataFrame, dark: int) -> np.ndarray:
        """Of the outcome at a level, (n,)."""
        predictor = self.predictor(people, dark)
        return predictor if self.is_number else expit(predictor)

    @property
    def truth(self) -> float:
        """Average effect over all people, whose covariates are independent."""
        kinds = pd.DataFrame(product(*map(range, LEVELS.values())), columns=COVARIATES)
        return float((self.mean(kinds, 1) - self.mean(kinds, 0)).mean())

    def audit(self, people: int, random: np.random.Generator) -> pd.DataFrame:
        """Portraits of so many people: person, covariates, skin and outcome."""
        frame = pd.DataFrame({name: random.integers(n, size=people) for name, n in LEVELS.items()})
        frame["dark"] = (random.random(people) < self.chance(frame)).astype(int)
        frame["person"] = np.arange(people)
        portraits = random.integers(1, MOST + 1, people)
        frame = frame.loc[frame.index.repeat(portraits)].reset_index(drop=True)
        noise = latent(random, frame["person"].to_numpy(), COMMON)
        predictor = self.predictor(frame, frame["dark"].to_numpy())
        if self.is_number:
            return frame.assign(outcome=predictor + noise)
        return frame.assign(outcome=(noise < ndtri(expit(predictor))).astype(int))


def count(what: str, world: World, people: int, repetitions: int) -> dict[str, str | float]:
    """How often the intervals of so many audits hold the truth, and how wide they are."""
    truth = world.truth
    rows = []
    refused = 0
    for audit in range(repetitions):
        frame = world.audit(people, seeding.rng(SEED, f"doubly robust/{what}", audit))
        found = effects.doubly_robust_difference(
            frame,
            "outcome",
            "dark",
            COVARIATES,
            "person",
            learner=world.learner,
            is_number=world.is_number,
            seed=audit,
        )
        if found.reason:
            refused += 1
            continue
        rows.append(found.effects.loc["adjusted", ["estimate", "low", "high"]].to_numpy(float))
    share_refused = {"what": what, "not estimable (%)": 100 * refused / repetitions}
    if not rows:
        return share_refused | dict.fromkeys(SCORES, "–")
    estimate, low, high = np.array(rows).T
    held = int(((low <= truth) & (truth <= high)).sum())
    ends = proportion_confint(held, len(rows), method="wilson")
    points = 1 if world.is_number else 100
    scores = (
        100 * held / len(rows),
        100 * ends[0] if held else 0.0,  # Wilson's has a rounding error here
        100 * ends[1],
        points * float(estimate.mean() - truth),
        points * 1.96 * float(estimate.std() / np.sqrt(len(rows))),
        points * float(np.sqrt(((estimate - truth) ** 2).mean())),
        points * float(np.median(high - low) / 2),
    )
    return share_refused | dict(zip(SCORES, scores, strict=True))


def lines() -> list[tuple[str, World, int]]:
    """What is counted: its name, world and number of people."""
    found = [
        (f"{people} people, errors {rate:.0%}", World(rate), people)
        for people, rate in product(PEOPLE, RATES)
    ]
    for name, (odd_levels, odd_errors) in WORLDS.items():
        world = World(0.1, odd_levels, odd_errors)
        found.append((f"1000 people, {name}", world, 1000))
    found += [
        ("600 people, weak overlap", World(0.1, strength=3, intercept=-2), 600),
        ("600 people, a rare level", World(0.1, intercept=-3.2), 600),
        ("2000 people, weak overlap", World(0.1, strength=3, intercept=-2), 2000),
        ("2000 people, a rare level", World(0.1, intercept=-3.2), 2000),
    ]
    numbers = [
        (f"{people} people, a number", World(0.1, is_number=True), people) for people in (60, 600)
    ]
    trees = World(0.1, odd_levels=True, odd_errors=True, learner="boosted")
    return [*found, *numbers, ("600 people, both by boosted trees", trees, 600)]


def cost() -> dict[str, float]:
    """CPU seconds of an audit of 2,500 portraits, by estimator."""
    frame = World(0.1).audit(1250, seeding.rng(SEED, "doubly robust: cost")).head(2500)
    calls = {
        "g-computation": lambda: effects.risk_differences(
            frame, "outcome", "dark", None, "person", COVARIATES
        ),
        "AIPW": lambda: effects.doubly_robust_difference(
            frame, "outcome", "dark", COVARIATES, "person"
        ),
        "AIPW, boosted": lambda: effects.doubly_robust_difference(
            frame, "outcome", "dark", COVARIATES, "person", learner="boosted"
        ),
    }
    return {name: seconds(call) for name, call in calls.items()}


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS
    with threadpool_limits(1):
        times = cost()
        rows = [count(what, world, people, repetitions) for what, world, people in lines()]
    wrong = [
        row["what"]
        for row in rows
        if row["to (%)"] != "–"
        and row["to (%)"] < 100 * MARK
        and "both models wrong" not in row["what"]
    ]
    costs = ", ".join(f"{name} {1000 * time:.1f} ms" for name, time in times.items())
    facts = {
        "audits": f"{repetitions:,} of each line; people have one to {MOST} portraits",
        "bias, RMSE and half-width": "in points; those of a number in its own unit",
        "mark": f"{MARK:.0%}; lines whose interval lies below it: {', '.join(wrong) or 'none'}; "
        "exempt: the line in which both models are wrong",
        "an audit of 2,500 portraits": costs,
        "AIPW against g-computation": f"{times['AIPW'] / times['g-computation']:.2f} times",
    }
    write_rows("doubly_robust", facts, rows, ["numpy", "scipy", "scikit-learn"])


if __name__ == "__main__":
    main()
