"""Networks of repeated trainings: which pairs each of them accepts (chapter 17).

A network is one draw of what its training set can lead to: another training of the same composition
sees other people, in another order, from other weights. `training_runs.parquet` beside this module
records what ArcFace networks of repeated trainings accept (see `benchmarks/training_runs.py`).
"""

from pathlib import Path

import pandas as pd

RECORD = Path(__file__).with_suffix(".parquet")
JUDGED = ["kind", "group", "seed_first", "seed_second", "match"]
"""Columns of the record that say what was judged; the others are networks."""
BETWEEN = ", "


def network(composition: str, training: int) -> str:
    """What the record calls a network; `recorded` takes it apart again."""
    return f"{composition}{BETWEEN}{training}"


def recorded() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The recorded trainings: pairs, and which of them each network accepts.

    The pairs are those of chapter 16 in the laptop profile.

    Returns:
        A row per pair with kind, group, seed_first, seed_second and match (whether people hold both
        for one person); and booleans, rows as there, whose columns have the levels composition (of
        `helpers.identities.COMPOSITIONS`) and training.

    Example:
        >>> from helpers.verification import training_runs
        >>> pairs, accepted = training_runs.recorded()
        >>> len(pairs) == len(accepted), list(accepted.columns.names)
        (True, ['composition', 'training'])
    """
    table = pd.read_parquet(RECORD)
    accepted = table.drop(columns=JUDGED)
    names = [name.split(BETWEEN) for name in accepted]
    accepted.columns = pd.MultiIndex.from_tuples(names, names=["composition", "training"])
    return table[JUDGED], accepted
