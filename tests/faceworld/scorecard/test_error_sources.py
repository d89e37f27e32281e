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
