"""Who is who: people whom their files call by one name, but who have accounts of their own.

Chapter 6 reads files with it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd


def told_apart(visits: pd.DataFrame) -> tuple[pd.Series, np.ndarray]:
    """Names of the annotators, each of one account, and which assignments had a name of several.

    Person 3 of one server is not person 3 of another, as their addresses show. A name that stands
    with one account, or with none, stays as it is: so people are followed from file to file.

    Args:
        visits: columns as `raw.Visit`; annotator and account are used.

    Returns:
        The names, and the numbers of the assignments whose name two accounts or more have.

    Example:
        >>> import pandas as pd
        >>> from helpers.annotations.people import told_apart
        >>> table = pd.DataFrame({"annotator": ["3", "3", "4"], "account": ["a@x", "b@x", "a@x"]})
        >>> told_apart(table)[0].tolist()
        ['3 a@x', '3 b@x', '4']
    """
    known = visits["account"].notna()
    pairs = visits.loc[known, ["annotator", "account"]].dropna().drop_duplicates()
    several = pairs.loc[pairs["annotator"].duplicated(), "annotator"]
    shared = visits["annotator"].isin(several.astype("str"))
    if several.empty:
        return visits["annotator"], np.flatnonzero(shared)
    name, account = (visits[column].astype("str") for column in ("annotator", "account"))
    apart = name.mask(shared & known, name + " " + account)
    return apart.astype("category"), np.flatnonzero(shared)
