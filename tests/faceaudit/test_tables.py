"""Tables of images, in all the forms in which auditors have them."""

import numpy as np
import pandas as pd
import pytest
from pretended_audits import OF_TABLE, pretended_table

from faceaudit.specification import Specification
from faceaudit.tables import Rows, from_table


def file(**changes) -> Specification:
    return Specification(**(OF_TABLE | changes))


@pytest.fixture
def table():
    return pretended_table(units=6, effect=0.3, seed=1)


@pytest.mark.parametrize(
    ("names", "cells"),
    [
        (("1", "0"), [1.0, 0.0]),
        (("0", "1"), ["0", 1.0]),
        (("1", "2"), [1.0, 2.0]),
        (("1.0", "0.0"), ["1", "0.0"]),
        (("light", "dark"), ["0", "1.0"]),
        (("none", "1"), ["none", "1.0"]),
    ],
)
def test_names_of_levels_come_before_codes(names, cells):
    rows = Rows(pd.DataFrame({"skin": pd.Series(cells, dtype=object)}), "faces.csv")
    assert rows.levels({"skin": names})["skin_level"].tolist() == [0, 1]
    assert rows.labels(["skin"], names).tolist() == [0, 1]


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
def test_all_forms_of_a_table_read_alike(tmp_path, table, form):
    table.loc[5, "score"] = np.nan
    given = tmp_path / f"faces.{form}" if form != "frame" else table
    if form != "frame":
        getattr(table, f"to_{form}")(given, index=False)
    frame = from_table(given, file()).frame.reset_index(drop=True)
    assert frame["no_answer"].tolist() == [float(row == 5) for row in range(24)]
    wrong = ((table["score"] > 0.5) != (table["label"] == 1)).astype(float)
    pd.testing.assert_series_equal(
        frame["error"], wrong.where(table["score"].notna()), check_names=False
    )


def test_decisions_in_words_raters_who_tie_and_other_thresholds(table):
    table["said"] = np.where(table["score"] > 0.5, "male", "female")
    by_score = from_table(table, file()).frame["error"]
    data = from_table(table, file(columns={"decision": "said"}))
    pd.testing.assert_series_equal(data.frame["error"], by_score)
    assert not data.scored
    higher = from_table(table, file(model={"kind": "table", "threshold": 0.8})).frame
    assert (higher["error"] == ((table["score"] > 0.8) != (table["label"] == 1)).to_numpy()).all()
    table["other"] = table["label"].where(table.index > 0, 1 - table["label"])
    tied = from_table(table, file(columns={"answers": ["label", "other"]})).frame["label"]
    assert np.isnan(tied.iloc[0]) and tied.iloc[1:].tolist() == table["label"].tolist()[1:]
