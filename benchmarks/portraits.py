"""Found portraits whose true rates are known: how often do the intervals of an audit hold them?

Run `python benchmarks/portraits.py`, which takes three minutes of one core. People are drawn from
the PPB-like population of the face world again and again, each with one to five portraits. Labels
and covariates follow from their parameters, and errors from a known probability of every person, so
that no face is drawn. Errors of one person hang together. The truth of every rate and difference is
that of the population which the portraits were drawn from. Wilson's intervals, which take portraits
for independent, stand beside those by people. Each audit has matched images of other people as
well, and their effects are known too.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
from record import write_rows
from scipy.special import expit

import faceaudit
from faceaudit import effects
from faceaudit.effects.error_rates import STRATA
from faceaudit.families import GAPS, GAPS_BY_CELL
from faceaudit.utils import seeding
from faceworld import populations

PEOPLE, AUDITS, SEED, PORTRAITS, MATCHED = 20_000, 160, 38, 5, 400
"""Of the population; of each size; the most portraits of one person; people in matched images."""
SIZES, LEAST, GOOD = (600, 2000), 15, (92, 97)
"""People of an audit, people of a cell below which it is not counted, and coverage (%)."""
AXES = {"skin_colour": ("light", "dark"), "hair_length": ("short", "long")}
AXES |= {"gender": ("female", "male")}


def population() -> pd.DataFrame:
    """A row per person: levels, covariates, number of portraits, and probability of an error."""
    frame = populations.sample("ppb-like", PEOPLE, SEED).frame
    for axis in ("skin_colour", "hair_length"):
        cut = frame[axis] >= STRATA[axis][0][0]
        frame[axis] = pd.Categorical.from_codes(cut.astype(int), AXES[axis], ordered=True)
    frame["gender"] = pd.Categorical.from_codes(frame["gender"], AXES["gender"], ordered=True)
    own = seeding.normals(SEED, "portraits: people", frame["item"], 1)[:, 0]
    frame["own"] = 1.5 * (frame["age"] - 0.5) + own
    frame["age"] = pd.qcut(frame["age"], 5, labels=False).astype(str)
    each = seeding.uniforms(SEED, "portraits: each", frame["item"], 1)[:, 0]
    return frame.assign(error=probability(frame), each=(1 + PORTRAITS * each).astype(int))


def probability(frame: pd.DataFrame) -> pd.Series:
    """Of an error, by levels and by the person's age and own part."""
    # Short hair of women and long hair of men mislead, and so does age; skin colour does little.
    odd = (frame["hair_length"] == "short") == (frame["gender"] == "female")
    return expit(-2.8 + 1.4 * odd + 0.2 * (frame["skin_colour"] == "dark") + frame["own"])


def truths(everybody: pd.DataFrame) -> dict[tuple[str, ...], float]:
    """Every rate and difference in the population, by what it is called in a report."""
    portraits = everybody.loc[everybody.index.repeat(everybody["each"])]
    rates = portraits.groupby([*AXES], observed=False)["error"].mean()
    found = {("rates", ", ".join(key)): rate for key, rate in rates.items()}
    for axis, (low, high) in AXES.items():
        others = [one for one in AXES if one != axis]
        by_axis = portraits.groupby(axis, observed=False)["error"].mean()
        found[GAPS, axis, "all faces"] = by_axis[high] - by_axis[low]
        cells = rates.xs(high, level=axis) - rates.xs(low, level=axis)
        for key, gap in cells.items():
            found[GAPS_BY_CELL, axis, ", ".join(key)] = gap
        adjust = [*others, "age"]
        logit = effects.risk_differences(portraits, "error", axis, adjust=adjust)
        found["logistic", axis] = logit.loc["all", "estimate"]
        there = [probability(portraits.assign(**{axis: one})).mean() for one in (high, low)]
        found["carried", axis] = there[0] - there[1]
        found["share", axis] = found["carried", axis] / found[GAPS, axis, "all faces"]
    linear = effects.linear_effects(portraits, "error", [*AXES], ["age"])["estimate"]
    return found | {("linear", axis): slope for axis, slope in linear.items()}


def specification() -> faceaudit.Specification:
    """The audit file, the same for all audits."""
    return faceaudit.Specification(
        name="portraits",
        kind="portraits",
        question="Does the model err more often on portraits of one level?",
        images="portraits.csv",
        columns={"identity": "item", "error": "wrong"},
        axes=AXES,
        covariates=["age"],
        design={"tolerance": 0.05, "seed": SEED},
    )


def intervals(everybody: pd.DataFrame, people: int, audit: int) -> dict[str, pd.DataFrame]:
    """The tables of one audit, of people who are drawn from the population."""
    random = seeding.rng(SEED, f"portraits/{people}", audit)
    chosen = random.integers(PEOPLE, size=people)
    drawn = everybody.iloc[chosen].reset_index(drop=True)
    drawn["item"] = drawn.index  # whoever is drawn twice counts as two people
    table = drawn.loc[drawn.index.repeat(drawn["each"])].reset_index(drop=True)
    table["wrong"] = (random.random(len(table)) < table["error"]).astype(int)
    table["image_id"] = table.index
    own = specification()
    data = faceaudit.Portraits.from_table(table.drop(columns="error"), own)
    data = replace(data, transects=matched(everybody.drop(chosen), random))
    return data.analyse(faceaudit.make_plan(own))


def matched(everybody: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame:
    """Images of people at all levels of all axes, which share all that is their own."""
    people = everybody.iloc[random.integers(len(everybody), size=MATCHED)].assign(
        unit=range(MATCHED)
    )
    cells = [dict(zip(AXES, levels, strict=True)) for levels in product(*AXES.values())]
    images = pd.concat([people.assign(**cell) for cell in cells], ignore_index=True)
    wrong = random.random(len(images)) < probability(images)
    return images[["unit", *AXES]].assign(error=wrong.astype(int))


def counted(tables: dict[str, pd.DataFrame], truth: dict[tuple[str, ...], float]) -> list[dict]:
    """Whether each interval holds its truth, by what it is an interval of."""
    rows = []
    for row in tables["rates"].itertuples():
        true, known = truth["rates", row.group], row.identities >= LEAST
        rows.append(("rates of strata", true, row.cluster_low, row.cluster_high, known))
        rows.append(("rates of strata, Wilson's", true, row.low, row.high, known))
    small = tables["rates"].set_index("group")["identities"] < LEAST
    for name in (GAPS, GAPS_BY_CELL):
        for row in tables[name].itertuples():
            held = [AXES[axis][level] for axis, level in row.held.items()]
            of = [group for group in small.index if {*held} <= {*group.split(", ")}]
            known = name == GAPS or not small[of].any()
            rows.append((name, truth[name, row.axis, row.cell], row.low, row.high, known))
    for row in tables["adjusted"].itertuples():
        name = f"differences, {row.model} adjustment"
        rows.append((name, truth[row.model, row.axis], row.low, row.high, True))
    for row in tables["carried"].itertuples():
        rows.append(
            ("effects that are carried over", truth["carried", row.axis], row.low, row.high, True)
        )
        share = truth["share", row.axis], row.share_low, row.share_high, True
        rows.append(("their shares of the differences", *share))
    return [
        {"what": what, "holds": low <= true <= high, "width": high - low}
        for what, true, low, high, known in rows
        if known and low == low
    ]


def main() -> None:
    everybody = population()
    truth, told = truths(everybody), []
    for people in SIZES:
        audits = (intervals(everybody, people, audit) for audit in range(AUDITS))
        found = pd.DataFrame([row for tables in audits for row in counted(tables, truth)])
        for what, part in found.groupby("what", sort=False):
            row = {"what": f"{people:,} people: {what}", "intervals": len(part)}
            row["coverage (%)"] = 100 * float(part["holds"].mean())
            told.append(
                row
                | {
                    "half-width (points; % of the difference), median": 50
                    * float(part["width"].median())
                }
            )
    facts = {
        "portraits": f"one to {PORTRAITS} of each person; errors of one person hang together",
        "audits": f"{AUDITS} of each size, drawn from {PEOPLE:,} people of the PPB-like population",
        "counted": f"strata with {LEAST} people or more",
        "called right": f"coverage {GOOD[0]}–{GOOD[1]}%, but for Wilson's intervals",
    }
    write_rows("portraits", facts, told, ["numpy", "scipy", "pandas", "statsmodels"])
    for row in told:
        assert "Wilson" in row["what"] or GOOD[0] <= row["coverage (%)"] <= GOOD[1], row


if __name__ == "__main__":
    main()
