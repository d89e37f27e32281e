"""A simulated crowd takes the place of people in an audit of the world's generator."""

import pytest

import faceaudit
from faceworld.audit import answer_tasks
from faceworld.known_truth import KnownTruthGenerator

CROP = (0.3, 0.36, 0.7, 0.84)
MODEL = {
    "kind": "python",
    "function": lambda batch: batch.mean((1, 2, 3)) / 255,
    "version": "1",
    "input": {"size": 16, "range": [0, 255]},
}


def test_an_audit_goes_on_from_stop_to_stop_until_its_tasks_are_answered(tmp_path):
    def audit():
        return faceaudit.generator(
            {
                "kind": "python",
                "object": KnownTruthGenerator(size=16),
                "version": "1",
                "samples": 120,
            },
            people={"kind": "label-studio", "raters": 3},
            model=MODEL,
            axes=["skin_colour"],
            calibration={"crop": CROP, "rounds": 1, "transects": 4},
            tolerance=0.1,
            transects=8,
            accept=["direction", "gate"],
            folder=tmp_path,
            say=list,
        )

    stops = []
    while len(stops) < 9:
        try:
            found = audit()
            break
        except faceaudit.PeopleNeeded:
            stops.append(sorted(path.parent.name for path in tmp_path.glob("people/*/tasks")))
            answer_tasks(tmp_path, CROP, seed=1)
    assert stops == [
        ["samples", "samples-crops"],
        ["neutral-1"],
        ["neutral-2"],
        ["round-1", "round-1-crops"],
        ["transects", "transects-crops"],
    ]
    assert not list(tmp_path.glob("people/*/tasks")), "tasks that are answered are still there"
    answers = {row.stage: row.answers / row.people for row in found.report.people}
    assert len(found.report.people) == 8 and min(answers.values()) > 0
    raters = {row.stage: row.agreement[0].raters for row in found.report.people if row.agreement}
    assert raters["sampled images"] == pytest.approx(3, abs=0.5)
    assert len(found.effects) == 1 and found.frame["skin_colour"].notna().all()
