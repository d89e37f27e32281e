"""The audit league over twenty keys: does the score put the reference entries in the right order?

Run `python benchmarks/league.py`, which takes three minutes. Every key has six sealed models of its
own. The scripted teams of `course.sealed` hand in, and are scored against the exact truth. Besides,
the intervals of the team with most transects are made narrower and wider: an honest score is best
at their own width. Further teams spend the whole budget, on few raters and many transects or the
reverse; one of them corrects the label of its one rater by the gender that was set. A team that has
read `course.sealed` fits the six forms to its free pilot instead of ordering. At last a league of
eight teams is played from its key to its standings.
"""

import hashlib
import tempfile
from itertools import pairwise, product
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
import statsmodels.api as sm
from record import write_rows
from scipy.special import expit, ndtr

from course import league, scoring
from course.sealed import DOSES, MATCHED, Seal, matched
from faceaudit.effects.verdicts import Z

KEYS, ENOUGH = 20, 18
"""Keys, and in how many of them two entries have to stand in their order."""
LADDER = [f"matched {n}" for n in MATCHED] + ["counting portraits"]
BELOW = ["main effects", "zero", "[−1, 1]"]
WIDTHS = (0.25, 0.5, 1, 2, 3)
ADDED = (0.0, 0.02, 0.03, 0.04, 0.06)
"""Standard deviations, added to a fitted form's: the team knows that no model follows its form."""
DRAWS = 400
ORDERS = {"1 rater": (781, 1), "3 raters": (260, 3), "5 raters": (156, 5)}
FORMS = "published forms and pairs, pilot alone"
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
            verdicts[f"matched {transects}, {name}, label corrected"] = matched(corrected(table))
    return verdicts


def corrected(table: pd.DataFrame) -> pd.DataFrame:
    """Transects whose errors are counted against the gender that was set."""
    wrong = table["label"] != table["gender_level"]
    return table.assign(**{f"error_{m}": table[f"error_{m}"] ^ wrong for m in scoring.MODELS})


def forms(faces: pd.DataFrame) -> list[np.ndarray]:
    """The published forms as columns of a regression, without and with what is in one of them."""
    skin = faces["skin_colour"] - np.mean(DOSES["skin_colour"])
    woman, short = (faces[name] < np.mean(DOSES[name]) for name in ("gender", "hair_length"))
    cells = [(woman == w) & (short == s) for w, s in product((True, False), repeat=2)]
    signed, hair = skin * np.where(woman, 1, -1), faces["hair_length"] * woman
    each = [skin, signed, hair, faces["makeup"], *(skin * cell for cell in cells)]
    always = [np.ones(len(faces)), faces["age"], faces["smiling"]]
    return [np.column_stack(always), *(np.column_stack([*always, one]) for one in each)]


def fitted(table: pd.DataFrame, model: str) -> tuple[np.ndarray, np.ndarray]:
    """Effects of a model by the form that fits it best (BIC), and their standard errors."""
    error, which = table[f"error_{model}"], {"groups": table["transect"]}
    fits = [
        sm.GLM(error, one, family=sm.families.Binomial()).fit(cov_type="cluster", cov_kwds=which)
        for one in forms(table)
    ]
    best = int(np.argmin([one.bic_llf for one in fits]))
    rng = np.random.default_rng(0)
    draws = rng.multivariate_normal(fits[best].params, fits[best].cov_params(), DRAWS)
    faces, risks = table.drop_duplicates("transect"), {}
    for levels in product((0, 1), repeat=3):
        doses = zip(scoring.AXES, levels, strict=True)
        done = faces.assign(**{axis: DOSES[axis][level] for axis, level in doses})
        risks[levels] = expit(forms(done)[best] @ draws.T).mean(axis=0)
    found = []
    for row in scoring.rows().query("model == @model")[[*scoring.AXES]].to_numpy():
        low, high = (tuple(level if pd.isna(v) else v for v in row) for level in (0, 1))
        found.append(risks[high] - risks[low])
    return np.mean(found, axis=1), np.std(found, axis=1)


def by_forms(pilot: pd.DataFrame) -> dict[float, pd.DataFrame]:
    """Verdicts by fitted forms: each added standard deviation, and the pilot's pairs weighed in."""
    table = corrected(pilot)
    form, se = (
        np.concatenate(one) for one in zip(*(fitted(table, m) for m in scoring.MODELS), strict=True)
    )
    pairs = matched(table)
    pairs_se = ((pairs["high"] - pairs["low"]) / (2 * Z)).clip(lower=1e-3)
    verdicts = {}
    for added in ADDED:
        precisions = 1 / (se**2 + added**2).clip(1e-6), 1 / pairs_se**2
        estimate = (precisions[0] * form + precisions[1] * pairs["estimate"]) / sum(precisions)
        error = sum(precisions) ** -0.5
        beyond = sum(ndtr((k * estimate - scoring.TOLERANCE) / error) for k in (1, -1))
        ends = {"low": estimate - Z * error, "high": estimate + Z * error, "p_beyond": beyond}
        verdicts[added] = scoring.rows().assign(estimate=estimate, **ends)
    return verdicts


def scores_of(number: int) -> pd.DataFrame:
    """Scores of all entries, and of the leading one at other widths, for one key."""
    seal = Seal(hashlib.sha256(f"audit league {number}".encode()).digest(), "team")
    sizes = league.CONFIGURATION
    truth = seal.truth(sizes["faces of the truth"])
    entries = seal.references(seal.portraits(sizes["portraits"], sizes["raters"]), sizes["raters"])
    entries |= {f"width × {factor}": stretched(entries[LADDER[0]], factor) for factor in WIDTHS}
    entries |= by_orders(seal)
    scores = {name: scoring.score(one, truth) for name, one in entries.items()}
    guesses = by_forms(seal.transects("pilot", sizes["transects"], sizes["raters"]))
    by_guess = [scoring.score(one, truth) for one in guesses.values()]
    # The team cannot know which added error is best for its models. Even so it gets the best one.
    scores[FORMS] = min(by_guess, key=lambda one: one["S"])
    return pd.DataFrame(scores).T


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
    ordered = f"matched {ORDERS['5 raters'][0]}, 5 raters"
    beaten = int((by_key[ordered] < by_key[FORMS]).sum())
    made, graded = played()
    facts = {
        "keys": f"{KEYS}, six models each",
        "all entries in their order": f"with {in_order.sum()} of {KEYS} keys",
        **{
            f"{one} before {other}": f"with {n} of {KEYS} keys"
            for (one, other), n in before.items()
        },
        f"{ordered} before {FORMS}": f"with {beaten} of {KEYS} keys",
        f"{TEAMS} teams generated": f"{made:.0f} CPU seconds",
        f"{TEAMS} teams graded": f"{graded:.1f} CPU seconds",
    }
    write_rows("league", facts, rows, ["numpy", "scipy", "pandas", "statsmodels", "torch"])
    assert in_order.sum() >= ENOUGH, in_order
    assert beaten >= ENOUGH, beaten
    widths = by_key[[f"width × {factor}" for factor in WIDTHS]].mean()
    assert widths.idxmin() == "width × 1", widths
    assert made < MOST_MADE and graded < MOST_GRADED


if __name__ == "__main__":
    main()
