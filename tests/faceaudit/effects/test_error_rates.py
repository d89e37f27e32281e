"""Stratified errors against SciPy's intervals; empty cells and bad values."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from faceaudit.effects.error_rates import (
    AGE_GROUPS,
    age_group,
    majority,
    matched_groups,
    stratified_errors,
)


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 600
    frame = pd.DataFrame(
        {
            "gender": rng.choice(["female", "male"], n),
            "skin": rng.choice(["light", "dark"], n),
            "hair": rng.choice(["short", "long"], n),
        },
        index=[f"image_{i}" for i in range(n)],
    )
    # Nobody has light skin and long hair as a male: an empty intersectional cell.
    empty = (frame["gender"] == "male") & (frame["skin"] == "light") & (frame["hair"] == "long")
    frame.loc[empty, "hair"] = "short"
    return frame.assign(error=(rng.random(n) < 0.2).astype(int))


def test_rates_and_intervals_are_those_of_every_stratum(frame):
    table = stratified_errors(frame, ["gender", "skin"])
    assert list(table.columns) == ["n", "errors", "rate", "low", "high"]
    for (gender, skin), row in table.iterrows():
        cell = frame[(frame["gender"] == gender) & (frame["skin"] == skin)]["error"]
        interval = binomtest(int(cell.sum()), len(cell)).proportion_ci(method="wilson")
        assert (row["n"], row["errors"]) == (len(cell), cell.sum())
        np.testing.assert_allclose(row[["rate", "low", "high"]], [cell.mean(), *interval])


def test_an_empty_cell_has_no_rate(frame):
    row = stratified_errors(frame, ["gender", "skin", "hair"]).loc[("male", "light", "long")]
    assert row["n"] == 0
    assert row[["rate", "low", "high"]].isna().all()


def test_matched_groups_differ_in_one_attribute(frame):
    table = stratified_errors(frame, ["gender", "skin", "hair"])
    pairs = matched_groups(frame, "skin", ["gender", "hair"])
    assert list(pairs.index.names) == ["gender", "hair"]
    assert set(pairs["first"]) == {"dark"} and set(pairs["second"]) == {"light"}
    for (gender, hair), row in pairs.iterrows():
        for side in ("first", "second"):
            expected = table.loc[(gender, row[side], hair)]
            np.testing.assert_array_equal(
                row[[f"{column}_{side}" for column in table.columns]].astype(float), expected
            )
    assert np.isnan(pairs.loc[("male", "long"), "rate_second"])


def test_age_groups_are_the_nearest_levels_despite_rounding():
    score = pd.Series([0.0, 0.1, 0.3 - 1e-12, 0.5, 0.55, 0.9, 1.0], name="age")
    assert list(age_group(score)) == [
        *("Child", "Teen", "Young adult", "Adult", "Adult", "Senior", "Senior")
    ]
    assert list(age_group(score).cat.categories) == list(AGE_GROUPS)


def test_majority_of_float_scores():
    # Five raters of five levels: 10 / 20 in any order of the arithmetic.
    assert list(majority(pd.Series([0.45, sum([0.1] * 5), 0.55]))) == [0, 1, 1]
