"""The audit league over twenty keys: does the score put the reference entries in the right order?

Run `python benchmarks/league.py`, which takes two minutes. Every key has six sealed models of its
own. The scripted teams of `course.sealed` hand in, and are scored against the exact truth. Besides,
the intervals of the team with most transects are made narrower and wider: an honest score is best
at their own width. Further teams spend the whole budget, on few raters and many transects or the
reverse; one of them corrects the label of its one rater by the gender that was set. At last a
league of eight teams is played from its key to its standings.
"""

import hashlib
import tempfile
from itertools import pairwise
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from record import write_rows

from course import league, scoring
from course.sealed import MATCHED, Seal, matched

KEYS, ENOUGH = 20, 18
"""Keys, and in how many of them two entries have to stand in their order."""
LADDER = [f"matched {n}" for n in MATCHED] + ["counting portraits"]
BELOW = ["main effects", "zero", "[−1, 1]"]
WIDTHS = (0.25, 0.5, 1, 2, 3)
ORDERS = {"1 rater": (781, 1), "3 raters": (260, 3), "5 raters": (156, 5)}
TEAMS = 8
MOST_MADE, MOST_GRADED = 300, 10  # seconds


def stretched(verdict: pd.DataFrame, factor: float) -> pd.DataFrame:
    """The same verdict with intervals of another width."""
    ends = {
        end: verdict["estimate"] + factor * (verdict[end] - verdict["estimate"])
        for end in ("low", "high")
    }
    return verdict.assign(**ends)


def by_orders(seal: Seal) -> dict[str, pd.DataFrame]:
    """Verdicts of teams that spend the whole budget."""
    verdicts = {}
    for name, (transects, raters) in ORDERS.items():
        table = seal.transects("delivery", transects, raters)
        verdicts[f"matched {transects}, {name}"] = matched(table)
        if raters == 1:
            mislabelled = table["label"] != table["gender_level"]
            errors = {
                f"error_{model}": table[f"error_{model}"] ^ mislabelled for model in seal.models
            }
            right = table.assign(**errors)
            verdicts[f"matched {transects}, {name}, label corrected"] = matched(right)
    return verdicts


def scores_of(number: int) -> pd.DataFrame:
    """Scores of all entries, and of the leading one at other widths, for one key."""
    seal = Seal(hashlib.sha256(f"audit league {number}".encode()).digest(), "team")
    sizes = league.CONFIGURATION
    truth = seal.truth(sizes["faces of the truth"])
    entries = seal.references(seal.portraits(sizes["portraits"], sizes["raters"]), sizes["raters"])
    entries |= {f"width × {factor}": stretched(entries[LADDER[0]], factor) for factor in WIDTHS}
    entries |= by_orders(seal)
    return pd.DataFrame({name: scoring.score(one, truth) for name, one in entries.items()}).T


def played() -> tuple[float, float]:
    """CPU seconds in which a league of eight teams is generated, and in which it is graded."""
    with tempfile.TemporaryDirectory() as folder:
        home, hand_in = Path(folder) / "league", Path(folder) / "hand in"
        start = process_time()
        league.new(home, [f"team{k}" for k in range(TEAMS)])
        league.rehearse(home, hand_in, [ORDERS["5 raters"]] * TEAMS)
        made = process_time() - start
        start = process_time()
        standings = league.grade(home, hand_in)
        graded = process_time() - start
    assert standings["S"].notna().all()
    return made, graded


def main() -> None:
    found = pd.concat({number: scores_of(number) for number in range(KEYS)}, names=["key", "entry"])
    by_key = found.reset_index().pivot_table("S", "key", "entry")
    pairs = [*pairwise(LADDER), *((LADDER[-1], name) for name in BELOW)]
    before = {(one, other): int((by_key[one] < by_key[other]).sum()) for one, other in pairs}
    in_order = np.logical_and.reduce([by_key[one] < by_key[other] for one, other in pairs])
    rows = [
        {
            "what": entry,
            "S (points)": part["S"].mean(),
            "its standard error": part["S"].sem(),
            "L": part["L"].mean(),
            "coverage (%)": 100 * part["coverage"].mean(),
            "Brier score": part["brier"].mean(),
        }
        for entry, part in found.groupby("entry", sort=False)
    ]
    made, graded = played()
    facts = {
        "keys": f"{KEYS}, six models each",
        "all entries in their order": f"with {in_order.sum()} of {KEYS} keys",
        **{
            f"{one} before {other}": f"with {n} of {KEYS} keys"
            for (one, other), n in before.items()
        },
        f"{TEAMS} teams generated": f"{made:.0f} CPU seconds",
        f"{TEAMS} teams graded": f"{graded:.1f} CPU seconds",
    }
    write_rows("league", facts, rows, ["numpy", "scipy", "pandas", "statsmodels", "torch"])
    assert in_order.sum() >= ENOUGH, in_order
    widths = by_key[[f"width × {factor}" for factor in WIDTHS]].mean()
    assert widths.idxmin() == "width × 1", widths
    assert made < MOST_MADE and graded < MOST_GRADED


if __name__ == "__main__":
    main()
