"""Tables of images: every line of bad input is one sentence with a remedy."""

import numpy as np
import pandas as pd
import pytest
from pretended_audits import pretended_table

from faceaudit.specification import Specification
from faceaudit.tables import Rows, from_table

BASE = {
    "name": "small",
    "question": "?",
    "axes": {"skin": ("light", "dark"), "gender": ("female", "male")},
    "classes": ("female", "male"),
    "images": "faces.csv",
    "design": {"tolerance": 0.05},
}


def file(**changes) -> Specification:
    return Specification(**(BASE | changes))


@pytest.fixture
def table():
    return pretended_table(units=6, effect=0.3, seed=1)


@pytest.mark.parametrize(
    ("names", "cells", "expected"),
    [
        (("1", "0"), [1.0, 0.0], [0, 1]),
        (("1", "0"), ["1.0", "0.0"], [0, 1]),
        (("1", "0"), [1, 0], [0, 1]),
        (("0", "1"), ["0", 1.0], [0, 1]),
        (("1", "2"), [1.0, 2.0], [0, 1]),
        (("1.0", "0.0"), ["1", "0.0"], [0, 1]),
        (("light", "dark"), ["0", "1.0"], [0, 1]),
        (("none", "1"), ["none", "1.0"], [0, 1]),
        (("1", "none"), ["1", "0"], "row 1 is '0', '1' or 'none' was expected"),
        (("1", "2"), [0, 2], "row 0 is 0, '1' or '2' was expected"),
        (("light", "dark"), [0, "grey"], r"row 1 is 'grey', 'light' \(0\) or 'dark' \(1\) was"),
    ],
)
def test_names_of_levels_come_before_codes(names, cells, expected):
    values = pd.Series(cells, name="skin", dtype=object if len({*map(type, cells)}) > 1 else None)
    rows = Rows(values.to_frame(), "faces.csv")
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=f"column 'skin', {expected}"):
            rows.levels({"skin": names})
    else:
        assert rows.levels({"skin": names})["skin_level"].tolist() == expected
        assert rows.labels(["skin"], names).tolist() == expected


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
def test_all_forms_of_a_table_read_alike(tmp_path, table, form):
    table.loc[5, "score"] = np.nan
    given = tmp_path / f"faces.{form}"
    if form == "csv":
        table.to_csv(given, index=False)
    elif form == "parquet":
        table.to_parquet(given)
    else:
        given = table
    frame = from_table(given, file()).frame
    assert frame["no_answer"].tolist() == [float(row == 5) for row in range(24)]
    wrong = (table["score"] > 0.5) != (table["label"] == 1)
    pd.testing.assert_series_equal(
        frame["error"].reset_index(drop=True),
        wrong.astype(float).where(table["score"].notna()),
        check_names=False,
    )


def test_decisions_in_words_and_other_thresholds(table):
    table["said"] = np.where(table["score"] > 0.5, "male", "female")
    by_score = from_table(table, file()).frame["error"]
    data = from_table(table, file(columns={"decision": "said"}))
    pd.testing.assert_series_equal(data.frame["error"], by_score)
    assert not data.scored
    model = {"kind": "table", "threshold": 0.8}
    higher = from_table(table, file(model=model)).frame
    assert (higher["error"] == ((table["score"] > 0.8) != (table["label"] == 1)).to_numpy()).all()
