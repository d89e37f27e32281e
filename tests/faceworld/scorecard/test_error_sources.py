"""The ladder of arms: names of cells, coverage of the truth, and what each step adds."""

import numpy as np
import pandas as pd
import pytest

from faceaudit.effects import verdicts
from faceworld.scorecard import error_sources


def test_coverage_expects_less_when_the_truth_is_uncertain():
    draws = np.random.default_rng(0)
    n, se, truth_se = 4000, 0.03, 0.03
    estimate, truth = draws.normal(0, se, n), draws.normal(0, truth_se, n)
    half = verdicts.Z * se
    rows = pd.DataFrame({"estimate": estimate, "low": estimate - half, "high": estimate + half})
    rows = rows.assign(truth=truth, truth_se=truth_se)
    rows["contained"] = (rows["low"] <= truth) & (truth <= rows["high"])
    found = error_sources.interval_coverage(rows)
    assert found["cells"] == n and found["median_se"] == pytest.approx(se)
    assert (
        found["contained"]
        == pytest.approx(found["expected"], abs=0.02)
        == pytest.approx(0.83, abs=0.02)
    )
    assert found["allowing"] == pytest.approx(0.95, abs=0.015)


def rungs() -> pd.DataFrame:
    """Two effects in two arms; the second arm lacks one of them, and misses the other."""
    rows = [("A", "short hair", 0.3, True), ("A", "long hair", 0.1, True)]
    rows.append(("B", "short hair", 0.7, False))
    table = pd.DataFrame(rows, columns=["arm", "cell", "estimate", "contained"])
    return table.assign(model="m", attribute="gender", scope="cell", truth=0.25)


def test_steps_add_up_to_the_error():
    steps = {"A": "sampling", "B": "pruning"}
    split = error_sources.contributions(rungs(), steps)
    assert split.index.get_level_values("cell").tolist() == ["short hair", "long hair"]
    assert split["missed"].tolist() == [True, False]
    assert split["sampling"].tolist() == pytest.approx([0.05, -0.15])
    assert split["pruning"].tolist() == pytest.approx([0.4, np.nan], nan_ok=True)
    total = split["truth"] + split["sampling"] + split["pruning"]
    assert total.tolist() == pytest.approx(split["estimate"].tolist(), nan_ok=True)


def test_an_effect_stands_once_in_an_arm():
    twice = pd.concat([rungs(), rungs()[:1]])
    with pytest.raises(ValueError, match="duplicate"):
        error_sources.contributions(twice, {"A": "sampling", "B": "pruning"})
