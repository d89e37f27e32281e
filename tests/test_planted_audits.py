"""Audits of models with an effect of twice the tolerance: none passes the gate.

`benchmarks/acceptance.py` judges many audits at once, and counts how many pass with smaller
differences.
"""

import sys
from pathlib import Path

import pytest

from faceaudit.report.gate import FAILED, PASSED

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
import acceptance

AUDITS = 80
THROUGH_THE_DOOR = range(0, AUDITS, 10)
"""Numbers of the audits that `faceaudit.table` or `faceaudit.pairs` must judge alike."""
DESIGNS = (
    acceptance.Matched(1, 200, tolerance=0.1),
    acceptance.Flips(1, 200, tolerance=0.1),
    acceptance.Portraits(1, 400, tolerance=0.1),
    acceptance.Pairs((acceptance.FNMR, acceptance.FMR), 60, tolerance=0.1),
)


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: type(design).__name__)
def test_no_model_passes_whose_effect_is_twice_the_tolerance(design, monkeypatch):
    monkeypatch.setattr(acceptance, "BATCH", AUDITS)
    _, codes = acceptance.judged_at_once(design, 2, 0, THROUGH_THE_DOOR)
    for of_gate in codes.values():
        assert len(of_gate) == AUDITS and PASSED not in of_gate
        assert (of_gate == FAILED).mean() > 0.5
    _, codes = acceptance.judged_at_once(design, 0, 0, [0])
    assert all((of_gate == PASSED).mean() > 0.5 for of_gate in codes.values())
