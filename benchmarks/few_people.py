"""Portraits with few people at a level: how often do the intervals of a linear regression hold?

Run `python benchmarks/few_people.py`, which takes six minutes of one core. An audit has portraits
of 300 people, of whom so many have dark skin. Long hair goes with dark skin, and with errors.
Portraits of one person hang together by a share of a latent normal value. The regression of errors
on skin and hair (`faceaudit.effects.linear_effects`, with the sandwich of whole people) gives the
interval that robustness to omitted attributes starts from. The adjusted difference of the audits
(`faceaudit.effects.risk_differences`), which has fewer degrees of freedom and score intervals, is
asked about the same portraits.
"""

import sys
from itertools import product

import numpy as np
import pandas as pd
from acceptance import latent
from record import write_rows
from scipy.special import ndtri
from statsmodels.stats.proportion import proportion_confint
from threadpoolctl import threadpool_limits

from faceaudit import effects
from faceaudit.utils import seeding

SEED = 65
REPETITIONS = 2_000
PEOPLE = 300
FEW = (10, 20, 50, 100)
"""People with dark skin."""
PORTRAITS = (1, 3)
"""Of each person."""
RATES = ((0.05, 0.05), (0.05, 0.15), (0.3, 0.3))
"""Error rates of people with light and with dark skin, both with short hair."""
OF_HAIR = 0.1
"""Added to the error rate by long hair."""
COMMON = 0.5
"""Share of a person in what decides about the errors."""
LINEAR = "linear regression"
ADJUSTED = "adjusted difference"


def audit(
    few: int, portraits: int, rates: tuple[float, float], random: np.random.Generator
) -> pd.DataFrame:
    """Portraits of `PEOPLE` people: person, dark, hair and error."""
    person = np.repeat(np.arange(PEOPLE), portraits)
    dark = (person < few).astype(int)
    hair = (random.random(PEOPLE)[person] < 0.4 + 0.2 * dark).astype(int)
    rate = np.array(rates)[dark] + OF_HAIR * hair
    error = (latent(random, person, COMMON) < ndtri(rate)).astype(int)
    return pd.DataFrame({"person": person, "dark": dark, "hair": hair, "error": error})


def intervals(portraits: pd.DataFrame) -> dict[str, pd.Series]:
    """Of the two estimators, their row: low, high and reason."""
    linear = effects.linear_effects(portraits, "error", ["dark"], ["hair"], "person")
    adjusted = effects.risk_differences(portraits, "error", "dark", None, "person", ["hair"])
    return {LINEAR: linear.iloc[0], ADJUSTED: adjusted.iloc[0]}


def count(few: int, portraits: int, rates: tuple[float, float], repetitions: int) -> dict:
    """A line: how often the intervals of so many audits hold the true difference."""
    each = "a portrait" if portraits == 1 else f"{portraits} portraits"
    what = f"{few} people with {each} each, errors {rates[0]:.0%} and {rates[1]:.0%}"
    truth = rates[1] - rates[0]
    held: dict[str, list[bool]] = {LINEAR: [], ADJUSTED: []}
    for number in range(repetitions):
        random = seeding.rng(SEED, f"few people/{what}", number)
        for name, row in intervals(audit(few, portraits, rates, random)).items():
            if not row["reason"]:
                held[name].append(row["low"] <= truth <= row["high"])
    line: dict[str, str | float] = {"what": what}
    for name, of_audits in held.items():
        low, high = proportion_confint(sum(of_audits), len(of_audits), method="wilson")
        line |= {
            f"{name}: not estimable (%)": 100 * (1 - len(of_audits) / repetitions),
            f"{name}: coverage (%)": 100 * float(np.mean(of_audits)),
            f"{name}: from (%)": 100 * low,
            f"{name}: to (%)": 100 * high,
        }
    return line


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS
    with threadpool_limits(1):
        lines = [count(*line, repetitions) for line in product(FEW, PORTRAITS, RATES)]
    least = {
        f"least coverage, {name}": f"{min(line[f'{name}: coverage (%)'] for line in lines):.1f}%"
        for name in (LINEAR, ADJUSTED)
    }
    facts = {
        "audits": f"{repetitions:,} of each line, of {PEOPLE} people",
        **least,
    }
    write_rows("few_people", facts, lines, ["numpy", "scipy"])


if __name__ == "__main__":
    main()
