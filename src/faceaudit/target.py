"""What an audit's error rates mean for a population that is named: direct standardisation.

The rates of the combinations of levels are weighted as the population has them (chapter 13). It
holds if those combinations take in all that differs between the images and the population and
matters for errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from faceaudit.reading import as_levels, read_table, require_named
from faceaudit.specification import Specification
from helpers import effects


def target_population(specification: Specification) -> pd.DataFrame:
    """The people of the target, with the levels of the axes in words.

    Args:
        specification: whose `target.table` has a row per person and a column per axis.

    Returns:
        A column per axis, with the names of its levels.

    Raises:
        ValueError: no such table, a column that is missing, or a level that is none.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = Path(folder, "users.csv")
        ...     _ = table.write_text("gender\\nmale\\n0\\n")
        ...     one = Specification(
        ...         name="mine", question="?", axes=["gender"], design={"tolerance": 0.1},
        ...         target={"name": "users", "table": table},
        ...     )
        ...     target_population(one)["gender"].tolist()
        ['male', 'female']
    """
    path = specification.beside(specification.target.table)
    raw = read_table(path, str(path))
    require_named(raw, [*specification.axes], str(path))
    return pd.DataFrame(
        {
            axis: np.take(names, as_levels(raw[axis], names, str(path)))
            for axis, names in specification.axes.items()
        }
    )


def transported(
    frame: pd.DataFrame, plan: Mapping[str, Any], people: pd.DataFrame, by: list[str]
) -> pd.DataFrame:
    """Error rates that the audit predicts for the target, and gaps between its groups.

    Args:
        frame: of `Audited`.
        plan: of the audit.
        people: of `target_population`.
        by: axes whose levels are the groups.

    Returns:
        As `helpers.effects.transport`: a row per rate and per difference of two groups.

    Example:
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> people = pd.DataFrame({"skin": ["dark", "light"], "gender": "female"})
        >>> transported(data.frame, plan, people, ["skin"])["group"].tolist()
        ['all', 'dark', 'light', 'dark']
    """
    known = frame[frame["error"].notna()]
    named = {axis: np.take(names, known[f"{axis}_level"]) for axis, names in plan["axes"].items()}
    images = known[["unit", "error"]].assign(**named)
    return effects.transport(images, "error", [*plan["axes"]], people, "unit", by)
