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


def set_at(row, column, value):
    """A change of one cell, of a table as text."""

    def change(table):
        table = table.astype(object)
        table.loc[row, column] = value
        return table

    return change


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda t: t.drop(columns="score"), r"no column 'score'; it has image_id, unit, skin"),
        (lambda t: t[:0], "the table has no rows"),
        (lambda t: pd.concat([t, t[:1]]), "column 'image_id', row 26 is '0-light-female', an im"),
        (lambda t: t[1:], r"'0' lacks the image at skin 'light', gender 'female' \(1 su"),
        (
            lambda t: pd.concat([t, t[:1].assign(image_id="x")]),
            "unit '0' has two images at skin 'light', gender 'female'; keep",
        ),
        (lambda t: t.assign(skin="dark"), r"unit '0' has two images|column 'skin' has one level"),
        (lambda t: t[t["unit"] == 0], "one unit only"),
        (lambda t: t.assign(unit=t["image_id"]), "every unit has one image only, .*columns.unit"),
        (lambda t: t.assign(score=0.5), "column 'score' is 0.5 for every image; a constant"),
        (lambda t: t.assign(score=None), r"column 'score' has no answer at all"),
        (set_at(3, "score", 4.2), r"row 5 is .*4.2'?, a score from 0 to 1 \(are these logits\?\)"),
        (set_at(3, "score", "nan"), r"row 5 is 'nan', a number \(an empty cell where"),
        (set_at(3, "score", "high"), r"column 'score', row 5 is 'high', a number"),
        (set_at(3, "label", "woman"), r"row 5 is 'woman', a label, 'female' \(0\) or 'male' \(1\)"),
        (set_at(3, "label", ""), r"column 'label', row 5 is empty, a label was expected"),
        (set_at(3, "skin", "medium"), r"row 5 is 'medium', 'light' \(0\) or 'dark' \(1\)"),
        (set_at(3, "unit", ""), r"column 'unit', row 5 is empty, the name of a matched face"),
    ],
)  # fmt: skip
def test_a_fault_names_file_row_column_and_remedy(tmp_path, table, change, told):
    path = tmp_path / "faces.csv"
    change(table).to_csv(path, index=False)
    with pytest.raises(ValueError, match=told) as raised:
        from_table(path, file())
    assert str(raised.value).startswith(str(path)) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("image_id,unit", "unit,unit"), "two columns are named 'unit'; rename or remove one"),
        (("1-dark-male,1,", "1-dark-male,"), r"row 9 has 5 cells, 6 were expected"),
        (("1-dark-male,1,", "1-dark-male,1,1,"), "row 9 has 7 cells, 6 were expected"),
        (("5-dark-male,5,dark,male,", "5-dark-male,5,da\n"), "row 25 has 3 cells, 6 were expected"),
        (("\n1-dark-male,1,", "\n\n \n1-dark-male,"), "row 11 has 5 cells, 6 were expected"),
        (
            ("1-dark-male,", '"1-dark-male,'),
            "no table of comma-separated values in UTF-8 .unexpected end",
        ),
        ((",", ";"), "columns are separated by ';', commas were expected"),
        ((",", "\t"), r"columns are separated by '\\t', commas were expected"),
    ],
)
def test_a_file_that_was_cut_or_is_no_such_table(tmp_path, table, change, told):
    path, text = tmp_path / "faces.csv", table.to_csv(index=False)
    path.write_text(text.replace(*change, -1 if change[0] == "," else 1), encoding="utf-8")
    with pytest.raises(ValueError, match=told) as raised:
        from_table(path, file())
    assert str(raised.value).startswith(f"{path}: ") and "\n" not in str(raised.value)


def test_a_file_of_a_spreadsheet_is_read_as_it_is_meant(tmp_path):
    path = tmp_path / "faces.csv"
    path.write_bytes('\ufeff,unit,"a ""b"", c",\r\n\r\n0, x ,nan,\r\n1,,"2\n3",\r\n'.encode())
    frame = Rows.read(path).frame
    assert [*frame] == ["unit", 'a "b", c'] and frame.index.tolist() == [3, 4]
    assert frame["unit"].isna().tolist() == [False, True] and frame["unit"].iloc[0] == "x"
    assert frame['a "b", c'].tolist() == ["nan", "2\n3"]


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


def test_raters_tie_or_skip(table):
    table["a"], table["b"] = table["label"], table["label"]
    table = table.astype({"b": object})
    table.loc[0, "b"], table.loc[1, "b"] = 1 - table.loc[0, "a"], None
    frame = from_table(table, file(columns={"answers": ["a", "b"]})).frame
    assert np.isnan(frame["label"].iloc[0]) and np.isnan(frame["error"].iloc[0])
    assert frame["label"].iloc[1] == table.loc[1, "a"]


def test_decisions_in_words_and_other_thresholds(table):
    table["said"] = np.where(table["score"] > 0.5, "male", "female")
    by_score = from_table(table, file()).frame["error"]
    data = from_table(table, file(columns={"decision": "said"}))
    pd.testing.assert_series_equal(data.frame["error"], by_score)
    assert not data.scored
    model = {"kind": "table", "threshold": 0.8}
    higher = from_table(table, file(model=model)).frame
    assert (higher["error"] == ((table["score"] > 0.8) != (table["label"] == 1)).to_numpy()).all()


def test_pairs_of_incomplete_units_count_if_wanted(table):
    frame = from_table(table[1:], file(design={"tolerance": 0.05, "incomplete": "pairs"})).frame
    assert len(frame) == 23
