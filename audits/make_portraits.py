"""The tables of the example `portraits.yml`: numbers of the face world, without its pictures.

    python audits/make_portraits.py

makes them again from a laptop run: `invented-portraits.csv`, what people see on the PPB-like test
set of chapter 1 and what the celeba-like model answers, as if somebody had found these portraits;
and `invented-portraits-matched.csv`, the errors of this model on the matched faces of chapter 8.
"""

import numpy as np
import pandas as pd

from faceaudit.annotations.schema import LEVEL_NAMES
from faceaudit.effects.error_rates import STRATA, age_group
from faceaudit.example_files import EXAMPLES
from helpers.artifacts import root

MODEL, PORTRAITS = "celeba-like", 3000


def make_tables() -> None:
    """Write both tables into the package."""
    run = root() / "laptop"
    seen = pd.read_parquet(run / "01_observational_audit" / "ppb.parquet").iloc[:PORTRAITS]
    found = pd.DataFrame({"image_id": seen.index})
    for axis, names in LEVEL_NAMES.items():
        found[axis] = np.take(names, (seen[axis] >= STRATA[axis][0][0]).to_numpy(int))
    found["age_group"] = age_group(seen["age"]).to_numpy()
    found["smiling"] = seen["smiling"].round(2).to_numpy()
    found["says"] = np.take(LEVEL_NAMES["gender"], seen["label"])
    found["p_male"] = seen[f"score_{MODEL}"].round(4).to_numpy()
    found.to_csv(EXAMPLES / "invented-portraits.csv", index=False)

    made = pd.read_parquet(run / "08_stratified_errors" / "audit.parquet")
    matched = pd.DataFrame({"unit": made["transect"], "error": made[f"error_{MODEL}"]})
    for axis, names in LEVEL_NAMES.items():
        matched[axis] = np.take(names, made[f"{axis}_level"])
    matched.to_csv(EXAMPLES / "invented-portraits-matched.csv", index=False)


if __name__ == "__main__":
    make_tables()
