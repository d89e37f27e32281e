"""The command `tools/run.py`: what is first, and what it says. Kills are in tests/faults."""

import json
import os
import re
from argparse import Namespace
from dataclasses import asdict

import plan
import pytest
import run

from helpers.claims import Margin, claim
from helpers.parallel import SIDE_BY_SIDE


@pytest.fixture
def steps(monkeypatch, artifacts_folder):
    """A diamond of steps in place of the book; `made` lists which were performed."""
    waits = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}
    made, stale, broken = {}, set(waits), set()
    monkeypatch.setattr(plan, "why", lambda name, *_: "edited" if name in stale else None)
    monkeypatch.setattr(plan, "known_seconds", lambda profile: {"a": 1, "b": 5, "c": 9, "d": 1})
    monkeypatch.setenv(SIDE_BY_SIDE, "0")  # what the runner sets is gone after the test

    def perform(name, asked):
        made[name] = os.environ[SIDE_BY_SIDE]
        if name in broken:
            raise RuntimeError("a cell failed")

    monkeypatch.setattr(run, "perform", perform)
    asked = Namespace(profile="smoke", device="cpu", jobs=1, train=None, study=None)
    return Namespace(asked=asked, made=made, stale=stale, waits=waits, broken=broken)


def test_steps_run_after_what_they_wait_for_and_long_ones_first(steps):
    assert run.run_steps(steps.asked, steps.waits) == 0
    assert [*steps.made] == ["a", "c", "b", "d"]
    steps.asked.jobs = 2  # then each is told how many share the cores
    run.run_steps(steps.asked, steps.waits)
    assert steps.made["a"] == steps.made["d"] == "1" and steps.made["c"] == "2"
    steps.made.clear()
    steps.stale -= {"a", "b"}
    run.run_steps(steps.asked, steps.waits)
    assert [*steps.made] == ["c", "d"]


def test_after_a_failure_no_step_begins(steps, capsys):
    steps.broken.add("c")
    assert run.run_steps(steps.asked, steps.waits) == 1
    assert [*steps.made] == ["a", "c"]
    words = capsys.readouterr().out
    assert re.search(r"c FAILED after \d+ s: a cell failed", words) and "c.log" in words


# --- the command


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--stage", "99_none", "no step 99_none; there are .*09_logistic_ate"),
        ("--why", "99_none", "no step 99_none; there are .*09_logistic_ate"),
        ("--device", "cuda", "DEVICE=cuda asked for, but torch sees no GPU"),
        ("--jobs", "0", "argument --jobs: invalid"),
        ("--jobs", "1.5", "argument --jobs: invalid"),
    ],
)
def test_what_cannot_be_run_is_said_first(
    artifacts_folder, monkeypatch, capsys, option, value, words
):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises((ValueError, SystemExit)) as refused:
        run.main(["smoke", option, value])
    assert re.search(words, str(refused.value) + capsys.readouterr().err)


def test_claims_of_a_run_are_those_of_its_pages(artifacts_folder, capsys):
    page = artifacts_folder / "smoke" / "index" / "index.ipynb"
    page.parent.mkdir(parents=True)

    def leave(*found):
        shown = [{"metadata": {"claim": asdict(claim)}} for claim in found]
        page.write_text(json.dumps({"cells": [{"outputs": shown}]}), encoding="utf-8")

    small = claim("Age matters.", margins=[Margin(0.1, 0.2)])
    leave(claim("Hair matters.", holds=True), small)
    assert run.main(["smoke", "--claims"]) == 0  # to be undecided is no fault
    leave(claim("Hair matters.", holds=True), small, claim("Skin does not.", holds=False))
    assert run.main(["smoke", "--claims"]) == 1
    told = capsys.readouterr().out
    assert "holds      index: Hair matters." in told and "FALSE      index: Skin does not." in told
    assert "undecided  index: Age matters. [+0.5 standard errors]" in told
    last = "smoke: 3 claims, 1 hold, 1 undecided at this size, 1 contradicted by this run"
    assert told.endswith(f"{last}\n")
    assert run.claims("smoke", ["01_observational_audit"]) == 0  # a run that left it alone
    page.write_text("half a note")
    with pytest.raises(ValueError, match=r"index\.ipynb is damaged; run `make reproduce"):
        run.main(["smoke", "--claims"])
