"""Portraits with few people at a level: how often do the intervals of a linear regression hold?

Run `python benchmarks/few_people.py`, which takes six minutes of one core. An audit has portraits
of 300 people, of whom so many have dark skin. Long hair goes with dark skin, and with errors.
Portraits of one person hang together by a share of a latent normal value. statsmodels' regression
of errors on skin and hair, with the sandwich of whole people, is what
`faceaudit.effects.linear_effects` computes, and what robustness to omitted attributes starts from.
It refuses levels of fewer people than `faceaudit.effects.risks.FEWEST_CLUSTERS_OF_SLOPE`, because
of what is counted here without that rule. An audit counts where both outcomes occur at both levels.
The adjusted difference of the audits (`faceaudit.effects.risk_differences`), which has fewer
degrees of freedom and score intervals, is asked about the same portraits.
"""

import sys
from itertools import product

import numpy as np
import pandas as pd
import statsmodels.api as sm
from acceptance import latent
from record import write_rows
from scipy.special import ndtri
from statsmodels.stats.proportion import proportion_confint
from threadpoolctl import threadpool_limits

from faceaudit import effects
from faceaudit.effects.risks import FEWEST_CLUSTERS_OF_SLOPE
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


def intervals(portraits: pd.DataFrame) -> dict[str, tuple[float, float] | None]:
    """The intervals of the two estimators; None where one is not estimable."""
    adjusted = effects.risk_differences(portraits, "error", "dark", None, "person", ["hair"])
    row = adjusted.iloc[0]
    of_adjusted = None if row["reason"] else (row["low"], row["high"])
    outcomes = portraits.groupby("dark")["error"].nunique()
    if outcomes.min() < 2:
        return {LINEAR: None, ADJUSTED: of_adjusted}
    model = sm.OLS(portraits["error"], sm.add_constant(portraits[["dark", "hair"]]))
    groups = {"groups": portraits["person"]}
    fitted = model.fit(cov_type="cluster", cov_kwds=groups, use_t=True)
    low, high = fitted.conf_int().loc["dark"]
    return {LINEAR: (low, high), ADJUSTED: of_adjusted}


def count(few: int, portraits: int, rates: tuple[float, float], repetitions: int) -> dict:
    """A line: how often the intervals of so many audits hold the true difference."""
    each = "a portrait" if portraits == 1 else f"{portraits} portraits"
    what = f"{few} people with {each} each, errors {rates[0]:.0%} and {rates[1]:.0%}"
    truth = rates[1] - rates[0]
    held: dict[str, list[bool]] = {LINEAR: [], ADJUSTED: []}
    for number in range(repetitions):
        random = seeding.rng(SEED, f"few people/{what}", number)
        for name, ends in intervals(audit(few, portraits, rates, random)).items():
            if ends is not None:
                held[name].append(ends[0] <= truth <= ends[1])
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


def least(lines: list[dict], name: str) -> str:
    """The least coverage of an estimator over some lines."""
    return f"{min(line[f'{name}: coverage (%)'] for line in lines):.1f}%"


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS
    with threadpool_limits(1):
        settings = list(product(FEW, PORTRAITS, RATES))
        lines = [count(*one, repetitions) for one in settings]
    fewest = FEWEST_CLUSTERS_OF_SLOPE
    many = [line for line, (few, *_) in zip(lines, settings, strict=True) if few >= fewest]
    facts = {
        "audits": f"{repetitions:,} of each line, of {PEOPLE} people",
        "least coverage of the linear regression": f"{least(lines, LINEAR)}; "
        f"with {fewest} people or more at each level, as the library asks, {least(many, LINEAR)}",
        "least coverage of the adjusted difference": least(lines, ADJUSTED),
    }
    write_rows("few_people", facts, lines, ["numpy", "scipy", "statsmodels"])


if __name__ == "__main__":
    main()
