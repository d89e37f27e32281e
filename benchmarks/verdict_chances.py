"""Audits of models with a known effect: are their verdicts as frequent as the plan says?

Run `python benchmarks/verdict_chances.py`, which takes ten minutes of two cores. A model
errs more often on one level of the first axis, alike in all cells of the other axes, which have no
effect. From its errors on, an audit is judged as `faceaudit.designs.matched.MatchedImages.analyse`
judges it: effects in every cell and on average, each family for itself, then both together. What is
counted are the verdicts on the first axis's cells. Beside them stand the chances that
`faceaudit.effects.chances_of_verdicts` gives before, with the levels of `levels_of_cells`, and the
lower bound of "beyond" from Holm's first step.

The record `results/verdict_chances.csv` has a row per design and effect.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from record import RESULTS, write_rows

from faceaudit import families, plans
from faceaudit.effects import (
    Design,
    chances_of_verdicts,
    levels_of_cells,
    matched_effects,
    transects_to_decide,
)
from faceaudit.utils import seeding
from faceaudit.verdicts import judge, settle_together

MULTIPLES = (0, 1, 1.5, 2)
"""Effects, as multiples of the tolerance."""
VERDICTS = ("beyond", "within", "undecided")
AUDITS = {1: 2000, 2: 2000, 3: 1000}
"""Number of axes → audits of each design and effect; every cell of the first axis counts."""
BATCH = 100
"""Audits whose images are together in one table."""
SETTLED = ["p_beyond", "verdict"]
"""Columns from which `settle_together` derives the verdicts."""
SEED = 44
AGREEMENT = 0.03


@dataclass(frozen=True)
class Setting:
    """The design of an audit.

    Attributes:
        axes: their number.
        faces: each at all combinations of levels.
        tolerance: largest effect that does not matter.
        base_rate: errors at the low level of the first axis.
    """

    axes: int
    faces: int
    tolerance: float
    base_rate: float

    def __str__(self) -> str:
        axes = f"{self.axes} axes" if self.axes > 1 else "1 axis"
        tolerance = f"tolerance {100 * self.tolerance:g}"
        return f"{axes}, {self.faces:,} faces, {tolerance}, {100 * self.base_rate:g}% errors"


SETTINGS = (
    Setting(1, 400, 0.05, 0.1),
    Setting(1, 800, 0.05, 0.1),
    Setting(1, 600, 0.03, 0.02),
    Setting(2, 600, 0.05, 0.1),
    Setting(2, 1250, 0.05, 0.1),
    Setting(2, 350, 0.1, 0.3),
    Setting(3, 600, 0.05, 0.1),
    Setting(3, 1500, 0.05, 0.1),
    Setting(3, 350, 0.1, 0.1),
)


def images_of(setting: Setting, effect: float, batch: int) -> pd.DataFrame:
    """Images of a batch of audits: audit, unit, a level per axis, and error."""
    levels_of_face = np.array([*product((0, 1), repeat=setting.axes)])
    faces = BATCH * setting.faces
    levels = np.tile(levels_of_face, (faces, 1))
    images = pd.DataFrame(levels, columns=[f"axis{k}_level" for k in range(setting.axes)])
    images["unit"] = np.repeat(np.arange(faces), len(levels_of_face))
    images["audit"] = images["unit"] // setting.faces
    stage = f"verdict chances/{setting}/{effect:g}"
    uniform = seeding.rng(SEED, stage, batch).random(len(images))
    rate = setting.base_rate + effect * images["axis0_level"]
    return images.assign(error=(uniform < rate).astype(int))


def judged(images: pd.DataFrame, setting: Setting) -> pd.Series:
    """Verdicts on the first axis's cells, of all audits of a batch."""
    axes = [f"axis{k}_level" for k in range(setting.axes)]
    # Of all audits of the batch.
    cells = []
    averages = []
    for axis in axes:
        others = [name for name in axes if name != axis]
        for by, tables in ((["audit", *others], cells), (["audit"], averages)):
            table = matched_effects(images, "error", axis, by, "unit", setting.tolerance)
            # Of one pair a face, the test against the tolerance is exact.
            exact = table["n"] == table["transects"]
            tables.append(table.reset_index().assign(axis=axis, exact=exact))
    # What `judge` adjusts within a family is not used: it is adjusted anew below, audit by audit.
    of_cells = judge(pd.concat(cells, ignore_index=True), setting.tolerance)
    of_averages = judge(pd.concat(averages, ignore_index=True), setting.tolerance)
    averages_of_audit = dict(list(of_averages[SETTLED].groupby(of_averages["audit"])))
    verdicts = []
    for audit, table in of_cells[[*SETTLED, "axis"]].groupby(of_cells["audit"]):
        tables = {families.CELLS: table}
        if setting.axes > 1:
            tables[families.AVERAGES] = averages_of_audit[audit]
        settled = settle_together(tables, plans.LEVEL)[families.CELLS]
        verdicts.append(settled.loc[settled["axis"] == axes[0], "verdict"])
    return pd.concat(verdicts)


def simulated(setting: Setting, effect: float) -> dict[str, float]:
    """Shares of the verdicts."""
    batches = range(AUDITS[setting.axes] // BATCH)
    verdicts = pd.concat([judged(images_of(setting, effect, k), setting) for k in batches])
    shares = verdicts.value_counts(normalize=True)
    return {
        "beyond": shares.get("exceeds", 0.0),
        "within": shares.get("within", 0.0),
        "undecided": shares.get("inconclusive", 0.0),
        "comparisons": len(verdicts),
    }


def row_of(case: tuple[Setting, float]) -> dict[str, float]:
    """Planned and simulated chances of a design and an effect, as a multiple of the tolerance."""
    setting, multiple = case
    effect = multiple * setting.tolerance
    design = Design(effect, setting.base_rate, within=0, pairs=1)
    levels = levels_of_cells([2] * setting.axes, plans.LEVEL)
    planned = chances_of_verdicts(setting.faces, design, setting.tolerance, levels)
    families = 1 if setting.axes == 1 else 2
    cells = setting.axes * 2 ** (setting.axes - 1)
    first_step = plans.LEVEL / (families * cells)
    bound = chances_of_verdicts(setting.faces, design, setting.tolerance, [first_step]).beyond
    shares = simulated(setting, effect)
    row = {**vars(setting), "multiple": multiple}
    for verdict in VERDICTS:
        row[f"{verdict}_planned"] = round(getattr(planned, verdict), 4)
        row[f"{verdict}_simulated"] = round(shares[verdict], 4)
    row["beyond_at_first_step"] = round(bound, 4)
    row["comparisons"] = shares["comparisons"]
    return row


def main() -> None:
    cases = [*product(SETTINGS, MULTIPLES)]
    with ProcessPoolExecutor(2) as pool:
        table = pd.DataFrame(pool.map(row_of, cases))
    differences = [table[f"{name}_planned"] - table[f"{name}_simulated"] for name in VERDICTS]
    table["largest_difference"] = pd.concat(differences, axis=1).abs().max(axis=1).round(4)
    table.to_csv(RESULTS / "verdict_chances.csv", index=False)

    rows = []
    for setting in SETTINGS:
        of_setting = table[np.all([table[key] == value for key, value in vars(setting).items()], 0)]
        at = of_setting.set_index("multiple")
        design = Design(2 * setting.tolerance, setting.base_rate, within=0, pairs=1)
        levels = levels_of_cells([2] * setting.axes, plans.LEVEL)
        rows.append(
            {
                "what": str(setting),
                "within at no effect: planned": at.loc[0, "within_planned"],
                "simulated": at.loc[0, "within_simulated"],
                "beyond at 2 × the tolerance: planned": at.loc[2, "beyond_planned"],
                "simulated ": at.loc[2, "beyond_simulated"],
                "largest difference": of_setting["largest_difference"].max(),
                "faces that decide": transects_to_decide(design, setting.tolerance, levels),
            }
        )
    facts = {
        "effects": "0, 1, 1.5 and 2 × the tolerance, of the first axis alone",
        "audits": ", ".join(f"{n:,} with {axes}" for axes, n in AUDITS.items()) + " axes",
        "called right": f"no chance differs by more than {AGREEMENT:g}",
    }
    write_rows("verdict_chances", facts, rows, ["numpy", "scipy", "pandas"])
    assert table["largest_difference"].max() <= AGREEMENT


if __name__ == "__main__":
    main()
