"""Categories that occur: as pandas finds them, whatever the pieces."""

import numpy as np
import pandas as pd
import pytest

from helpers.annotations import categories


@pytest.mark.parametrize("together", [1, 3, 2**20])
def test_categories_are_those_that_pandas_finds(monkeypatch, together):
    monkeypatch.setattr(categories, "_TOGETHER", together)
    codes = np.random.default_rng(1).integers(-1, 5, 40)
    values = pd.Categorical.from_codes(codes, ["Z", "b", "ä", "a", "10", "never", "9"])
    expected = values.remove_unused_categories()
    expected = expected.reorder_categories(sorted(expected.categories))
    pd.testing.assert_extension_array_equal(categories.occurring(values), expected)


def test_nothing_and_only_missing_values():
    for values in ([], [None, None]):
        found = categories.occurring(pd.Categorical(values, ["a"]))
        assert len(found) == len(values) and not len(found.categories)
