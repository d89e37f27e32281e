"""Small audits with rare errors: do intervals hold the known truth, or say that they cannot?

Run `python benchmarks/rare_errors.py`, about ten minutes of one core. Two kinds of interval are
drawn again and again, 2,000 times a line.

The first is that of a log odds ratio of two levels. The level differs between images of a face, or
between faces. Errors of one face hang together. Held against the truth are `firth_log_odds_ratios`
and the bootstrap of the paper's logit; the latter takes longer, so that fewer audits and resamples
have to do.

The second is that of `pruning_bounds`, which allows for dropped images. It must hold the interval
of all images, which one would have got without dropping any.
"""

from itertools import product

import numpy as np
import pandas as pd
from numpy.polynomial.hermite_e import hermegauss
from record import write_rows
from scipy.optimize import brentq
from scipy.special import expit, logit
from threadpoolctl import threadpool_limits

from faceaudit.effects import (
    bootstrap_paper_logit,
    firth_log_odds_ratios,
    pruning_bounds,
    score_interval,
)
from faceaudit.effects.clustered_logit import clustered_contrasts
from faceaudit.effects.risks import pattern_counts
from faceaudit.utils import seeding

SEED, REPETITIONS, MARK = 60, 2_000, 0.93
"""No line's 95% Monte Carlo interval may lie wholly below the mark."""
Z = 1.96

FACES = (20, 40, 100, 200)
RATES = ((0.02, 0.02), (0.02, 0.06), (0.05, 0.10))
SPREAD = 1.0
"""Standard deviation of the faces' log odds of an error."""
CELLS = np.array([*product((0, 1), repeat=3)])
"""Levels of the eight images of a face."""
BOOTSTRAPPED, RESAMPLES = 200, 200
"""Audits of a line that the paper's logit is bootstrapped in, and their resamples."""

PAIRS = ((100, 1), (100, 2))
"""Faces, and pairs of each."""
PAIRED_RATES = ((0.0, 0.0), (0.02, 0.02), (0.02, 0.06), (0.10, 0.15))
DROPPED = (0.01, 0.10)
"""Share of the images that pruning drops; of those with an error three times as many."""


def log_odds(rate: float) -> float:
    """Mean log odds of faces that spread by `SPREAD` and err at this rate on average."""
    nodes, weights = hermegauss(60)
    weights = weights / weights.sum()
    return brentq(lambda mean: weights @ expit(mean + SPREAD * nodes) - rate, -20, 10)


def levels_of(faces: int, of_face: bool) -> np.ndarray:
    """Levels (n, 3) of all images; the first is compared, and differs between faces or images."""
    levels = np.tile(CELLS, (faces, 1))
    if of_face:
        levels[:, 0] = np.repeat(np.arange(faces) % 2, len(CELLS))
    return levels


def both_levels(levels: np.ndarray) -> pd.DataFrame:
    """A column a level, as in the paper's regression."""
    names = ("compared", "second", "third")
    blocks = {
        (name, level): (levels[:, axis] == code).astype(float)
        for axis, name in enumerate(names)
        for code, level in enumerate(("low", "high"))
    }
    return pd.DataFrame(blocks)


def rare_errors(faces: int, rates: tuple[float, float], of_face: bool) -> dict[str, float]:
    """Coverage of both intervals in the audits of a line."""
    levels = levels_of(faces, of_face)
    X = both_levels(levels)
    face = np.repeat(np.arange(faces), len(CELLS))
    mean = np.array([log_odds(rate) for rate in rates])[levels[:, 0]]
    truth = logit(rates[1]) - logit(rates[0])
    patterns, pattern = np.unique(X.to_numpy(), axis=0, return_inverse=True)
    contrast = np.array([[-1.0, 1.0, 0.0, 0.0, 0.0, 0.0]])
    found, bootstrapped = [], []
    for repetition in range(REPETITIONS):
        key = f"rare errors/{faces}/{rates}/{of_face}"
        random = seeding.rng(SEED, key, repetition)
        chance = expit(mean + SPREAD * random.standard_normal(faces)[face])
        error = (random.random(len(face)) < chance).astype(float)
        counts = pattern_counts(pattern, error, face, len(patterns))
        row = clustered_contrasts(patterns, counts, contrast)[0]
        found.append({"low": np.nan, "high": np.nan} | row)
        if repetition == 0:
            table = firth_log_odds_ratios(X, error, "compared", "low", "high", face)
            same = table[["low", "high"]].to_numpy()[0] == [found[0]["low"], found[0]["high"]]
            assert same.all() or row["reason"]
        if repetition < BOOTSTRAPPED:
            draws = bootstrap_paper_logit(X, error, RESAMPLES, SEED + repetition, face)
            ratios = draws.coefficients[:, 2] - draws.coefficients[:, 1]
            low, high = np.nan, np.nan
            if not draws.reason:
                low, high = np.nanquantile(ratios, [0.025, 0.975])
            lost = draws.lost / RESAMPLES
            bootstrapped.append({"low": low, "high": high, "lost": lost})
    ours, papers = pd.DataFrame(found), pd.DataFrame(bootstrapped)
    none, papers_none = ours["low"].isna(), papers["low"].isna()
    holds = ours["low"].le(truth) & ours["high"].ge(truth)
    papers_holds = papers["low"].le(truth) & papers["high"].ge(truth)
    return {
        "coverage (%)": 100 * float(holds[~none].mean()),
        "not estimable (%)": 100 * float(none.mean()),
        "width, median": float((ours["high"] - ours["low"]).median()),
        "the paper's: coverage (%)": 100 * float(papers_holds[~papers_none].mean()),
        "the paper's: not estimable (%)": 100 * float(papers_none.mean()),
        "the paper's: resamples lost (%)": 100 * float(papers["lost"].mean()),
    }


def pruned(faces: int, pairs: int, rates: tuple[float, float], dropped: float) -> dict[str, float]:
    """Coverage of the intervals that allow for dropped images, and how they compare."""
    key = f"pruned/{faces}/{pairs}/{rates}/{dropped}"
    random = seeding.rng(SEED, key)
    shape = REPETITIONS, faces, pairs, 2
    audit, face, place, level = np.indices(shape).reshape(4, -1)
    # A third of the faces err four times as often as the others.
    hard = np.where(random.random(shape[:2]) < 1 / 3, 2.0, 0.5)[audit, face]
    error = random.random(len(audit)) < np.array(rates)[level] * hard
    chance = dropped * np.where(error, 3.0, 1.0)
    frame = pd.DataFrame({"audit": audit, "transect": audit * faces + face, "place_level": place})
    frame = frame.assign(skin_level=level, error=error.astype(int))
    frame["kept"] = random.random(len(audit)) >= chance
    arguments = "kept", "error", "skin_level", ["audit"], "transect"
    table = pruning_bounds(frame, *arguments)
    worst, everything = table.loc["worst case"], table.loc["all"]
    truth = rates[1] - rates[0]
    none = worst["low"].isna()
    holds = worst["low"].le(truth) & worst["high"].ge(truth)
    width, usual = (part["high"] - part["low"] for part in (worst, everything))
    inside = worst["low"].le(everything["low"] + 1e-9)
    inside &= worst["high"].ge(everything["high"] - 1e-9)
    return {
        "coverage (%)": 100 * float(holds[~none].mean()),
        "not estimable (%)": 100 * float(none.mean()),
        "narrower than without dropping (%)": 100 * float((width < usual - 1e-9).mean()),
        "does not hold the interval of all images (%)": 100 * float((~inside).mean()),
        "width, median (points)": 100 * float(width.median()),
        "without dropping (points)": 100 * float(usual.median()),
    }


def reaches_mark(row: dict[str, float | str]) -> bool:
    """Whether the Monte Carlo interval of a line's coverage reaches the mark."""
    audits = REPETITIONS * (1 - row["not estimable (%)"] / 100)
    _, upper = score_interval(np.array(row["coverage (%)"] / 100), np.array(audits), Z)
    return bool(upper >= MARK)


def main() -> None:
    ratios, bounds = [], []
    with threadpool_limits(1):
        for of_face, rates, faces in product((False, True), RATES, FACES):
            differs = "between faces" if of_face else "between images of a face"
            what = f"{differs}, {100 * rates[0]:g}% and {100 * rates[1]:g}%: {faces} faces"
            ratios.append({"what": what} | rare_errors(faces, rates, of_face))
            print(ratios[-1], flush=True)
        for (faces, pairs), rates, dropped in product(PAIRS, PAIRED_RATES, DROPPED):
            errors = f"{100 * rates[0]:g}% and {100 * rates[1]:g}%"
            of_each = "one pair" if pairs == 1 else f"{pairs} pairs"
            what = f"{faces} faces with {of_each}, {errors}, {100 * dropped:g}% dropped"
            bounds.append({"what": what} | pruned(faces, pairs, rates, dropped))
            print(bounds[-1], flush=True)
    packages = ["numpy", "scipy", "pandas"]
    marked = f"no line's 95% Monte Carlo interval lies wholly below {100 * MARK:g}%"
    facts = {
        "images": "eight of each face, whose log odds of an error spread with standard deviation "
        f"{SPREAD:g}",
        "audits": f"{REPETITIONS:,} a line",
        "the paper's logit": f"{RESAMPLES} resamples of faces in {BOOTSTRAPPED} of the audits; not "
        "estimable where more than 5% of them are lost",
        "called right": marked,
    }
    write_rows("rare_errors", facts, ratios, packages)
    facts = {
        "pairs": "images of a face that differ in one level; those with an error are dropped three "
        "times as often",
        "audits": f"{REPETITIONS:,} a line",
        "called right": f"{marked}, and no interval is narrower than without dropping",
    }
    write_rows("rare_errors_pruned", facts, bounds, packages)
    for row in ratios + bounds:
        assert reaches_mark(row), row
    for row in bounds:
        assert row["narrower than without dropping (%)"] == 0, row
        assert row["does not hold the interval of all images (%)"] == 0, row


if __name__ == "__main__":
    main()
