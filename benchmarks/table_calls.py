"""One call about one table, in a process of its own: the part of `tables.py` that is timed.

`python benchmarks/table_calls.py NAME ROWS DRAWS` makes a table of so many rows and has the
function of that name answer about it. It prints the CPU seconds of the answer.
"""

import sys
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

FIRST_ROWS = 200
"""Of a first answer."""
FIRST_DRAWS = 100
"""Of a first answer, where the others draw."""


def faces(rows: int) -> pd.DataFrame:
    """Faces with light and with dark skin, on which a model errs at about 10 and 15%.

    The right answer is always 0, so that an answer of 1 is an error, and a false positive.
    """
    dark = np.arange(rows) % 2
    says = np.random.default_rng(1).random(rows) < 0.10 + 0.05 * dark
    return pd.DataFrame(
        {
            "face": np.arange(rows) // 2,
            "skin": np.where(dark, "dark", "light"),
            "truth": 0,
            "says": says.astype(int),
        }
    )


def faceaudit(frame: pd.DataFrame, draws: int) -> tuple[Any, ...]:
    """An audit as a script reads it, its averages and its text; there are no draws."""
    import faceaudit

    audit = faceaudit.table(
        frame,
        unit="face",
        axes={"skin": ["light", "dark"]},
        label="truth",
        pred="says",
        tolerance=0.05,
    )
    return audit.averages, repr(audit)


def fairlearn(frame: pd.DataFrame, draws: int) -> tuple[Any, ...]:
    """Error rates of both groups, and their intervals if there are draws."""
    from fairlearn.metrics import MetricFrame
    from sklearn.metrics import zero_one_loss

    bootstrap = {"n_boot": draws, "ci_quantiles": [0.025, 0.975], "random_state": 1}
    rates = MetricFrame(
        metrics=zero_one_loss,
        y_true=frame["truth"],
        y_pred=frame["says"],
        sensitive_features=frame["skin"],
        **(bootstrap if draws else {}),
    )
    return rates.by_group, rates.by_group_ci if draws else None


def vfairness(frame: pd.DataFrame, draws: int) -> tuple[Any, ...]:
    """The difference of the two error rates, which is that of the false positive rates here."""
    from vfairness import fpr_parity_difference_with_ci

    difference = fpr_parity_difference_with_ci(
        frame["truth"],
        frame["says"],
        frame["skin"],
        n_bootstrap=draws,
        method="bootstrap",
        random_state=1,
    )
    return difference.lower_bound, difference.upper_bound


def main() -> None:
    name, rows, draws = sys.argv[1:]
    frame = faces(int(rows))
    answer = globals()[name]
    if int(rows) > FIRST_ROWS:  # the imports and what is made once are not timed
        answer(faces(FIRST_ROWS), FIRST_DRAWS)
    start = process_time()
    answer(frame, int(draws))
    print(process_time() - start)


if __name__ == "__main__":
    main()
