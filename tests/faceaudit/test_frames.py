"""Tables of images, in all the forms in which auditors have them."""

import numpy as np
import pandas as pd
import pytest
from pretended_audits import OF_TABLE, pretended_table

from faceaudit.designs.matched import MatchedImages
from faceaudit.file.specification import Specification
from faceaudit.frames import Rows


def file(**changes) -> Specification:
    return Specification(**(OF_TABLE | changes))


@pytest.fixture
def table():
    return pretended_table(units=6, effect=0.3, seed=1)


def rows_of(*cells) -> Rows:
    skin = pd.Series(cells, dtype=object)
    return Rows.read(pd.DataFrame({"skin": skin, "image_id": skin.index}))


@pytest.mark.parametrize(
    ("names", "cells"),
    [
        (("1", "0"), [1.0, 0.0]),
        (("0", "1"), ["0", 1.0]),
        (("0", "1"), ["FALSE", True]),
        (("False", "True"), ["FALSE", "true"]),
        (("true", "false"), ["TRUE", False]),
        (("1", "2"), [1.0, 2.0]),
        (("1", "2"), ["1", 2]),
        (("1.0", "0.0"), ["1", "0.0"]),
        (("light", "dark"), [" light", "dark "]),
        (("none", "1"), ["none", "1.0"]),
        (("foncé", "clair"), ["fonce\u0301", "clair"]),
    ],
)
def test_a_level_is_matched_by_its_name_however_it_is_written(names, cells):
    assert rows_of(*cells).levels({"skin": names})["skin_level"].tolist() == [0, 1]
    assert rows_of(*cells).labels(["skin"], names).tolist() == [0, 1]


@pytest.mark.parametrize("names", [("2", "3"), ("light", "dark"), ("2", "1"), ("False", "True")])
def test_the_codes_0_and_1_are_no_levels_of_other_names(names):
    """Attributes of five categories are coded 0 to 4; two others are asked about."""
    rows = rows_of(names[0], names[1], "0", 0, 0.0)
    assert rows.level("skin", names).isna().tolist() == [False, False, True, True, True]
    with pytest.raises(ValueError, match=f"row 4 is '0', '{names[0]}' or '{names[1]}' was expec"):
        rows.levels({"skin": names})


def test_codes_stand_for_classes_where_no_cell_is_a_name_and_no_name_a_number():
    assert rows_of("0", 1, None).answer("skin", ("light", "dark"))[0].tolist()[:2] == [0, 1]
    for cells, names in (
        (["light", "dark", "1"], ("light", "dark")),
        (["2", "3", "1"], ("2", "3")),
    ):
        found, told = rows_of(*cells).answer("skin", names)
        assert found.tolist()[:2] == [0, 1] and np.isnan(found.iloc[2])
        assert told == f"{names[0]!r} or {names[1]!r}"


def test_a_missing_share_is_refused_in_every_kind_of_column(table):
    for dtype in ("Float64", object):
        values = pd.Series(np.full(len(table), 0.5), dtype=dtype)
        values[0] = pd.NA
        with pytest.raises(ValueError, match="column 'age', row 2 is empty, a mean answer from 0"):
            MatchedImages.from_table(table.assign(age=values), file(annotated=["age"]))


def test_what_reads_as_a_missing_value_cannot_be_a_level():
    with pytest.raises(ValueError, match="the table: column 'skin': 'NA' is given as a name, but"):
        rows_of("NA", "EU").levels({"skin": ("NA", "EU")})
    with pytest.raises(ValueError, match="row 3 is 'NA', 'light' or 'dark' was expected"):
        rows_of("light", "NA").levels({"skin": ("light", "dark")})


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
def test_all_forms_of_a_table_read_alike(tmp_path, table, form):
    table.loc[5, "score"] = np.nan
    given = tmp_path / f"faces.{form}" if form != "frame" else table
    if form != "frame":
        getattr(table, f"to_{form}")(given, index=False)
    frame = MatchedImages.from_table(given, file()).frame.reset_index(drop=True)
    assert frame["no_answer"].tolist() == [float(row == 5) for row in range(24)]
    wrong = ((table["score"] > 0.5) != (table["label"] == 1)).astype(float)
    pd.testing.assert_series_equal(
        frame["error"], wrong.where(table["score"].notna()), check_names=False
    )


@pytest.mark.parametrize("text", ["nan", "NA", "#N/A"])
def test_a_missing_value_is_missing_in_every_column(tmp_path, table, text):
    """A score that is missing says that the model gave no answer; other columns are refused."""
    for column in ("image_id", "unit", "skin", "label"):
        table.astype(object).replace({column: {table[column][7]: text}}).to_csv(
            tmp_path / "faces.csv", index=False
        )
        with pytest.raises(ValueError, match=f"column '{column}', row .* is '{text}', "):
            MatchedImages.from_table(tmp_path / "faces.csv", file())
    table["score"] = table["score"].astype(object)
    table.loc[5, "score"] = text
    table.to_csv(tmp_path / "faces.csv", index=False)
    assert MatchedImages.from_table(tmp_path / "faces.csv", file()).frame["no_answer"].sum() == 1


def test_decisions_in_words_raters_who_tie_and_other_thresholds(table):
    table["said"] = np.where(table["score"] > 0.5, "male", "female")
    by_score = MatchedImages.from_table(table, file()).frame["error"]
    data = MatchedImages.from_table(table, file(columns={"decision": "said"}))
    pd.testing.assert_series_equal(data.frame["error"], by_score)
    assert not data.scored
    higher = MatchedImages.from_table(table, file(model={"kind": "table", "threshold": 0.8})).frame
    assert (higher["error"] == ((table["score"] > 0.8) != (table["label"] == 1)).to_numpy()).all()
    table["other"] = table["label"].where(table.index > 0, 1 - table["label"])
    tied = MatchedImages.from_table(table, file(columns={"answers": ["label", "other"]})).frame[
        "label"
    ]
    assert np.isnan(tied.iloc[0]) and tied.iloc[1:].tolist() == table["label"].tolist()[1:]
