"""Pruning rules at their endpoints, sequential counts, and what is left of the match."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from faceaudit.effects.pruning import (
    ADULT_RULE,
    PAPER_RULES,
    complete_pairs,
    complete_transects,
    prune,
)

AXES = ["skin_level", "hair_level", "gender_level"]


@pytest.fixture
def transects():
    rows = [(t, *cell) for t in range(5) for cell in product((0, 1), repeat=3)]
    return pd.DataFrame(rows, columns=["transect", *AXES])


def test_endpoints_are_met_whatever_the_arithmetic():
    # Five raters of five levels: the mean of levels / 4 is k / 20 up to rounding.
    exact = np.arange(21)
    scores = {
        "divided": exact / 20,
        "multiplied": exact * 0.05,
        "added": np.cumsum(np.append(0.0, np.full(20, 0.05))),
        "single": (exact / 20).astype(np.float32),
    }
    for score in scores.values():
        for attribute, low, high in [("gender", 8, 12), ("hair_length", 6, 10)]:
            frame = pd.DataFrame({attribute: score})
            kept, _ = prune(frame, {attribute: PAPER_RULES[attribute]})
            assert list(kept.index) == [k for k in exact if not low <= k <= high]
        kept, _ = prune(pd.DataFrame({"fakeness": score}), {"fakeness": PAPER_RULES["fakeness"]})
        assert list(kept.index) == list(range(15))
        kept, _ = prune(pd.DataFrame({"age": score}), ADULT_RULE)
        assert list(kept.index) == list(range(8, 21))


def test_report_counts_in_the_order_of_the_rules():
    frame = pd.DataFrame({"fakeness": [0.8, 0.8, 0.1, 0.1, 0.1], "gender": [0.5, 0, 0.5, 0, 1]})
    rules = {name: PAPER_RULES[name] for name in ("fakeness", "gender")}
    kept, report = prune(frame, rules)
    assert list(kept.index) == [3, 4]
    assert list(report["attribute"]) == ["fakeness", "gender"]
    assert list(report["interval"]) == ["[0.75, 1.0]", "[0.4, 0.6]"]
    assert report[["dropped", "dropped_here", "remaining"]].to_numpy().tolist() == [
        [2, 2, 3],
        [2, 1, 2],
    ]


def test_missing_scores_are_dropped_and_counted_apart():
    frame = pd.DataFrame({"fakeness": [0.1, np.nan, 0.9]})
    kept, report = prune(frame, {"fakeness": PAPER_RULES["fakeness"]})
    assert list(kept.index) == [0]
    assert list(report["reason"]) == ["in interval", "missing"]
    assert list(report["dropped_here"]) == [1, 1]


def test_complete_transects_and_pairs(transects):
    kept = transects.drop(index=0)  # transect 0, cell (0, 0, 0)
    assert set(complete_transects(kept, 8)["transect"]) == {1, 2, 3, 4}
    pairs = complete_pairs(transects, kept, "skin_level", ["hair_level", "gender_level"])
    partner = (0, 1, 0, 0)
    assert len(pairs) == len(transects) - 2
    assert partner not in set(pairs.itertuples(index=False, name=None))


def test_a_level_that_is_pruned_away_everywhere_leaves_no_pair_complete():
    """Two levels of three are no complete pair, though no third one is left to be missed."""
    rows = [(transect, skin, 0) for transect in range(2) for skin in range(3)]
    full = pd.DataFrame(rows, columns=["transect", "skin_level", "hair_level"])
    pruned = full[full["skin_level"] < 2]
    assert len(complete_pairs(full, full, "skin_level", ["hair_level"])) == len(full)
    assert complete_pairs(full, pruned, "skin_level", ["hair_level"]).empty
