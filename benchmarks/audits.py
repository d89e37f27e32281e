"""Fifty sealed models with planted effects, audited by their tables: are the reports right?

Run `python benchmarks/audits.py`, which takes eight minutes. A model is sealed: its true error
rates at the eight combinations of three axes are drawn by its number and never shown to the audit,
which gets a table of images, labels and decisions (`simulated_audits`, a third of
the images pruned at random).
A third of the models has no effect at all; of the others each axis has one with a chance of one
half. Every model is audited over and over with new faces. Counted are: how often the report's
intervals hold the true effect; how often an audit raises any false alarm, which is a comparison
called "exceeds" whose true effect does not (the gate then fails), or one without an effect whose
p-value is below the level after Holm's adjustment over its family; and whether the plan was kept.
"""

import numpy as np
import pandas as pd
from record import write_rows
from scipy.special import logit
from simulated_audits import MANIPULATED, SEED_LEVEL, Population

import faceaudit
from faceaudit.families import AVERAGES, CELLS
from faceaudit.matched_comparisons import average_effects, effects_by_cell
from faceaudit.utils import seeding
from faceaudit.verdicts import settle_together

MODELS, REPETITIONS, TRANSECTS, SEED, TOLERANCE = 50, 100, 400, 18, 0.05
GOOD, MOST = (92, 97), 6
"""Coverage, and share of audits with a false alarm, that are called right (%)."""
ALARMS = ("false alarms (%)", "of no effect (%)", "of no effect, models without any (%)")
GATE = "the gate, on both"
AXES = ["skin", "hair", "gender"]
NULL_SHARE, LARGEST = 1 / 3, 1.2
"""Share of models without any effect; largest log odds ratio of an effect."""


def sealed_model(number: int) -> Population:
    """What one model does, by its number."""
    random = seeding.rng(SEED, "sealed models", number)
    sizes = random.uniform(-LARGEST, LARGEST, 3) * (random.random(3) < 0.5)
    if random.random() < NULL_SHARE:
        sizes[:] = 0
    log_odds = dict(zip(MANIPULATED, sizes, strict=True))
    log_odds |= dict(zip(SEED_LEVEL, random.uniform(-0.5, 0.8, 2), strict=True))
    return Population(logit(random.uniform(0.03, 0.25)), log_odds, random.uniform(0.05, 0.4))


def specification() -> faceaudit.Specification:
    """The audit file, the same for all models."""
    return faceaudit.Specification(
        name="sealed",
        question="Does the model err more often at one level of an axis?",
        axes={axis: (f"low {axis}", f"high {axis}") for axis in AXES},
        images="sealed.csv",
        columns={"decision": "decision"},
        design={"tolerance": TOLERANCE, "seed": SEED, "incomplete": "pairs"},
    )


def table_of(model: Population, number: int, repetition: int) -> pd.DataFrame:
    """What an auditor gets of a model: labels and decisions, no errors and no truth."""
    drawn = model.audit(TRANSECTS, SEED + number, repetition)
    table = pd.DataFrame({"image_id": np.arange(len(drawn)), "unit": drawn["transect"]})
    for axis, column in zip(AXES, MANIPULATED, strict=True):
        table[axis] = drawn[column]
    table["label"] = drawn["gender_level"]
    return table.assign(decision=(drawn["gender_level"] + drawn["error"]) % 2)


def true_effects(model: Population) -> dict[str, list[float]]:
    """The true effects of the cells and averages, in the order of the report's rows."""
    rates = model.rates()
    gaps = [np.take(rates, 1, axis) - np.take(rates, 0, axis) for axis in range(3)]
    cells, averages = np.concatenate([gap.ravel() for gap in gaps]), [*map(np.mean, gaps)]
    return {CELLS: cells, AVERAGES: averages, GATE: np.concatenate([cells, averages])}


def judged(found: pd.DataFrame, truth: np.ndarray) -> dict[str, float]:
    """How one family of one audit did."""
    truth = np.asarray(truth)
    known = found["low"].notna()
    holds = (found["low"] <= truth + 1e-12) & (truth - 1e-12 <= found["high"])
    beyond = found["verdict"] == "exceeds"
    small = np.abs(truth) <= TOLERANCE
    return {
        "covered": holds[known].sum(),
        "intervals": known.sum(),
        "together": bool(
            ((found["low_family"] <= truth + 1e-12) & (truth - 1e-12 <= found["high_family"]))[
                known
            ].all()
        ),
        "alarm": bool((beyond & small).any()),
        "alarm of no effect": bool(((found["p_holm"] < 0.05) & (truth == 0)).any()),
        "wrongly within": bool(((found["verdict"] == "within") & ~small).any()),
        "found": (beyond & ~small).sum(),
        "large": (~small).sum(),
    }


def main() -> None:
    own, rows, kept = specification(), [], 0
    for number in range(MODELS):
        model = sealed_model(number)
        truth = true_effects(model)
        for repetition in range(REPETITIONS):
            data = faceaudit.MatchedImages.from_table(table_of(model, number, repetition), own)
            plan = faceaudit.make_plan(own, TRANSECTS)
            families = {
                CELLS: effects_by_cell(data.frame, plan),
                AVERAGES: average_effects(data.frame, plan, "error"),
            }
            together = settle_together(families, plan["level"])
            together[GATE] = pd.concat([*together.values()], ignore_index=True)
            for family, found in together.items():
                row = judged(found, truth[family])
                rows.append({"family": family, "none": not any(truth[CELLS])} | row)
            if repetition == 0:
                report = faceaudit.build_report(data, data.analyse(plan), plan, plan)
                kept += report.plan.kept
                fails = (together[GATE]["verdict"] == "exceeds").any()
                assert faceaudit.gate(report, "exceeds")[0] == int(fails)
    frame = pd.DataFrame(rows)
    told = [_row(family, part) for family, part in frame.groupby("family", sort=False)]
    facts = {
        "models": f"{MODELS}, each audited {REPETITIONS} times; {TRANSECTS} faces, 2/3 of images",
        "tolerance": f"{100 * TOLERANCE:g} points",
        "reports whose plan was kept": f"{kept} of {MODELS}",
        "called right": f"coverage {GOOD[0]}–{GOOD[1]}%, false alarms at most {MOST}%",
    }
    write_rows("audits", facts, told, ["numpy", "scipy", "pandas"])
    assert kept == MODELS
    for row in told:
        assert GOOD[0] <= row["coverage (%)"] <= GOOD[1], row
        alarms = [value for name, value in row.items() if name in ALARMS and value != "–"]
        assert max(alarms) <= MOST, row


def _row(family: str, part: pd.DataFrame) -> dict[str, str | float]:
    def share(column: str, of: pd.DataFrame = part) -> float:
        return 100 * float(of[column].mean())

    null = part[part["none"]]
    of_no_effect = {
        "of no effect (%)": share("alarm of no effect"),
        "of no effect, models without any (%)": share("alarm of no effect", null),
    }
    return {
        "what": family,
        "coverage (%)": 100 * part["covered"].sum() / part["intervals"].sum(),
        "all hold together (%)": share("together"),
        "false alarms (%)": share("alarm"),
        "their standard error": 100 * float(part["alarm"].sem()),
        # The gate reads no p-value of an effect of zero.
        **(dict.fromkeys(of_no_effect, "–") if family == GATE else of_no_effect),
        "audits with a false “within” (%)": share("wrongly within"),
        "large effects found (%)": 100 * part["found"].sum() / part["large"].sum(),
    }


if __name__ == "__main__":
    main()
