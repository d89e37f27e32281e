"""Audits of models with a planted effect: does the gate say what the report says?

Run `python benchmarks/gate.py`, which takes a minute. A model errs more often on one level of one
of three axes, alike in all cells of the others. Its audit, from the table to the gate, is repeated
with new faces. Counted are the audits whose report calls a comparison of any judged family beyond
the tolerance though the gate passes. Beside it stands what the gate did before, which looked at the
cells alone, each family adjusted for itself.
"""

from itertools import product

import numpy as np
import pandas as pd
from record import write_rows

import faceaudit
from faceaudit.matched_comparisons import average_effects, effects_by_cell
from faceaudit.utils import seeding

PLANTED = {60: 0.15, 120: 0.12, 300: 0.09, 1000: 0.07}
"""Faces of an audit, and the effect of the first axis."""
REPETITIONS, SEED, BASE, TOLERANCE = 20, 34, 0.1, 0.05
AXES = ["skin", "hair", "gender"]


def table_of(faces: int, effect: float, repetition: int) -> pd.DataFrame:
    """Eight images of each face, with labels and decisions."""
    levels = np.tile([*product((0, 1), repeat=len(AXES))], (faces, 1))
    table = pd.DataFrame(levels, columns=AXES).assign(unit=np.repeat(np.arange(faces), 8))
    random = seeding.rng(SEED, f"planted/{faces}", repetition).random(len(table))
    wrong = random < BASE + effect * table["skin"]
    table["label"] = table["gender"]
    return table.assign(decision=(table["label"] + wrong) % 2, image_id=table.index)


def audited(faces: int, effect: float, repetition: int) -> dict[str, bool]:
    """One audit: what its report and its gate say, and what the gate once said."""
    own = faceaudit.Specification(
        name="planted",
        question="Does the model err more often at one level of an axis?",
        axes={axis: (f"low {axis}", f"high {axis}") for axis in AXES},
        images="planted.csv",
        columns={"decision": "decision"},
        design={"tolerance": TOLERANCE},
    )
    data = faceaudit.MatchedImages.from_table(table_of(faces, effect, repetition), own)
    plan = faceaudit.make_plan(own, faces)
    report = faceaudit.build_report(data, data.analyse(plan), plan, plan)
    passes = faceaudit.gate(report)[0] == 0
    cells = effects_by_cell(data.frame, plan)["verdict"].eq("exceeds").any()
    averages = average_effects(data.frame, plan, "error")["verdict"].eq("exceeds").any()
    families = report.effects, report.averages, report.missing
    exceeds = any(row.verdict == "exceeds" for rows in families for row in rows)
    return {"exceeds": exceeds, "missed": exceeds and passes, "before": averages and not cells}


def main() -> None:
    rows = []
    for faces, effect in PLANTED.items():
        found = pd.DataFrame([audited(faces, effect, k) for k in range(REPETITIONS)]).sum()
        rows.append(
            {
                "what": f"{faces:,} faces, +{100 * effect:g} points",
                "audits": REPETITIONS,
                "a comparison exceeds": int(found["exceeds"]),
                "and the gate passes": int(found["missed"]),
                "before: an average exceeded, and the gate passed": int(found["before"]),
            }
        )
    facts = {
        "tolerance": f"{100 * TOLERANCE:g} points",
        "errors without the effect": f"{100 * BASE:g}% of the images",
        "called right": "the gate passes no report that calls a comparison beyond the tolerance",
    }
    write_rows("gate", facts, rows, ["numpy", "scipy", "pandas"])
    assert not any(row["and the gate passes"] for row in rows)


if __name__ == "__main__":
    main()
