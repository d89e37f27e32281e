"""Names and cells as macOS, spreadsheets and programs write them."""

import unicodedata

import numpy as np
import pandas as pd
import pytest

from faceaudit.utils.names import comparable, composed, paths_on_disk, tidy_cells

COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "Zoë") for form in ("NFC", "NFD"))


@pytest.mark.parametrize("text", ["", "nan", "NaN", "NA", "N/A", "#N/A", "null", "NULL", "<NA>"])
def test_a_missing_value_is_missing_however_a_program_wrote_it(text):
    for cells in ([f" {text} ", "x"], pd.Categorical([text, "x"])):
        assert tidy_cells(pd.Series(cells)).tolist() == [None, "x"]


def test_words_that_people_write_are_no_missing_values():
    cells = ["None", "none", "Nana", "Na", "0", "False"]
    assert tidy_cells(pd.Series(cells)).tolist() == cells


def test_numbers_truth_values_and_dates_stay_as_they_are():
    for values in ([1.5, np.nan], [True, False], pd.to_datetime(["2026-01-01", None])):
        column = pd.Series(values)
        pd.testing.assert_series_equal(tidy_cells(column), column)


def test_a_whole_number_is_the_same_as_a_float_and_as_text():
    for cells in (["2", "10"], [2, 10], [2.0, 10.0], ["2.0", "10.00"]):
        assert comparable(pd.Series(cells)).tolist() == ["2", "10"]
    assert comparable(pd.Series(["2.5", "02", "v2.0"])).tolist() == ["2.5", "02", "v2.0"]
    assert comparable(pd.Series([2.0, None])).isna().tolist() == [False, True]


def test_accents_are_composed():
    assert composed(DECOMPOSED) == COMPOSED != DECOMPOSED
    assert tidy_cells(pd.Series([DECOMPOSED])).tolist() == [COMPOSED]


def test_a_path_is_found_however_the_disk_spells_its_accents(tmp_path):
    for on_disk, in_table in ((DECOMPOSED, COMPOSED), (COMPOSED, DECOMPOSED)):
        folder = tmp_path / ascii(on_disk)[1:-1].replace("\\", "") / on_disk
        folder.mkdir(parents=True)
        (folder / f"{on_disk}.png").touch()
        name = f"{in_table}/{in_table}.png"
        paths = paths_on_disk(folder.parent, [name, "none.png", f"{in_table}/other{in_table}.png"])
        assert paths[name] == folder / f"{on_disk}.png" and paths[name].is_file()
        assert paths["none.png"] == folder.parent / "none.png"
        assert not paths[f"{in_table}/other{in_table}.png"].exists()
