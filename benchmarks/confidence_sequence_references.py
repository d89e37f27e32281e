"""Confidence sequences by the package of the paper's authors: the record that tests compare with.

Run it in an environment of its own, with `confseq` 0.0.11. The package builds extensions that need
Boost; what is asked here is in its Python files alone, so that its sources do as well:

    pip install "numpy<2" pandas scipy matplotlib multiprocess
    pip download --no-deps confseq && tar xzf confseq-*.tar.gz
    PYTHONPATH=confseq-0.0.11/src python benchmarks/confidence_sequence_references.py

It draws differences of faces (`results/confidence_sequence_differences.csv`) and asks the package
about them, as numbers in [0, 1] (`results/confidence_sequence_references.csv`): the most that each
gambler ever had, for some means, and the intervals after some numbers of faces, which it looks for
on a grid of 20,000 values. `confseq` is no dependency of the library or of its tests.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from confseq.betting import betting_cs, betting_mart
from confseq.betting_strategies import lambda_predmix_eb

RESULTS = Path(__file__).parent / "results"
SEED, ALPHA, SOUGHT, BREAKS = 20200715, 0.05, 0.05, 20_000
"""Of the draws; level; the difference that the second kind of bets seeks; values of the grid."""
LOOKS = (10, 40, 120, 240)
"""Numbers of faces."""
MEANS = (-0.3, -0.05, 0.0, 0.05, 0.3)
"""Values of the mean of differences whose games are recorded."""
Bets = Callable[[np.ndarray, float], np.ndarray]


def drawn() -> pd.DataFrame:
    """Differences (faces, cases): rare errors, averages of four pairs, and no difference at all."""
    random = np.random.default_rng(SEED)
    faces = max(LOOKS)
    errors = random.choice([-1, 0, 1], faces, p=[0.03, 0.87, 0.1])
    averages = random.choice([-1, 0, 1], (faces, 4), p=[0.1, 0.6, 0.3]).mean(axis=1)
    none = np.zeros(faces)
    return pd.DataFrame({"errors": errors, "averages": averages, "none": none})


def bets_of_paper(x: np.ndarray, m: float) -> np.ndarray:
    """The predictable plug-in, each side at half of the level."""
    return lambda_predmix_eb(x, alpha=ALPHA / 2)


def bets_that_seek(x: np.ndarray, m: float) -> np.ndarray:
    """Those of `faceaudit.effects.betting_sequence` with `sought`, on the scale of [0, 1]."""
    t = np.arange(1, len(x) + 1)
    plug_in = lambda_predmix_eb(x, alpha=ALPHA / 2)
    coins = 2 * np.log(2 / ALPHA)
    variance = coins / (plug_in**2 * t * np.log(1 + t))
    return np.minimum(SOUGHT / 2 / variance, np.sqrt(coins / (variance * t)))


KINDS: dict[str, Bets] = {"paper": bets_of_paper, "seeking": bets_that_seek}


def main() -> None:
    """Leave the draws and the record."""
    differences = drawn()
    differences.to_csv(RESULTS / "confidence_sequence_differences.csv", index=False)
    rows = []
    for case in differences:
        x = (1 + differences[case].to_numpy()) / 2
        for kind, bets in KINDS.items():
            how = {"lambdas_fns_positive": bets, "lambdas_fns_negative": bets, "alpha": ALPHA}
            low, high = betting_cs(x, **how, breaks=BREAKS, running_intersection=True)
            for look in LOOKS:
                ends = {"low": 2 * low[look - 1] - 1, "high": 2 * high[look - 1] - 1}
                rows += [(case, kind, name, look, value) for name, value in ends.items()]
            for mean in MEANS:
                for name, theta in (("above", 1), ("below", 0)):
                    coins = betting_mart(x, (1 + mean) / 2, ALPHA, bets, bets, theta=theta)
                    rows.append((case, kind, name, mean, coins.max()))
    columns = ["case", "bets", "quantity", "at", "value"]
    table = pd.DataFrame(rows, columns=columns)
    table.to_csv(RESULTS / "confidence_sequence_references.csv", index=False)


if __name__ == "__main__":
    main()
