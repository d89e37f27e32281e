"""The runner: what is first, and what it says. Kills are in tests/faults."""

import gc
import os
import re
import sys
import threading
import time
from argparse import Namespace

import kernels
import plan
import pytest
import runner

from helpers.utils.processes import SIDE_BY_SIDE


@pytest.fixture
def steps(monkeypatch, artifacts_folder):
    """A diamond of steps in place of the book; `made` lists which were performed."""
    waits = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}
    made, stale = [], set(waits)
    monkeypatch.setattr(plan, "why", lambda name, *_: "edited" if name in stale else None)
    monkeypatch.setattr(plan, "known_seconds", lambda profile: {"a": 1, "b": 5, "c": 9, "d": 1})

    monkeypatch.setenv(SIDE_BY_SIDE, "0")  # what the runner sets is gone after the test

    def perform(self, step):
        made.append(step.name)
        if step.name in self.broken:
            raise RuntimeError("a cell failed")
        return step.name

    monkeypatch.setattr(runner.Runner, "perform", perform)
    monkeypatch.setattr(kernels, "_ENDING", threading.Event())
    monkeypatch.setattr(runner.Runner, "broken", (), raising=False)
    (artifacts_folder / "smoke").mkdir()
    asked = Namespace(profile="smoke", device="cpu", jobs=1, train=None, study=None)
    return Namespace(runner=runner.Runner(asked, waits), made=made, stale=stale, waits=waits)


def test_steps_run_after_what_they_wait_for_and_long_ones_first(steps):
    steps.runner.run()
    assert steps.made == ["a", "c", "b", "d"]
    assert (steps.runner.done, steps.runner.failed) == (4, 0)


def test_steps_are_told_how_many_share_the_cores(steps, monkeypatch):
    told, begin = {}, runner.Runner.begin

    def begin_and_tell(self, name, could_run):
        step = begin(self, name, could_run)
        told[name] = os.environ[SIDE_BY_SIDE]
        return step

    monkeypatch.setattr(runner.Runner, "begin", begin_and_tell)
    steps.runner.jobs = 2
    steps.runner.run()
    assert told == {"a": "1", "b": "2", "c": "2", "d": "1"}


def test_only_what_is_stale_runs(steps):
    steps.stale -= {"a", "b"}
    steps.runner.run()
    assert steps.made == ["c", "d"]


def test_after_a_failure_nothing_new_begins(steps, capsys):
    steps.runner.broken = ("c",)
    steps.runner.run()
    assert steps.made == ["a", "c"] and steps.runner.failed == 1
    words = capsys.readouterr().out
    assert re.search(r"c FAILED after \d+ s: a cell failed", words) and "c.log" in words


def test_the_plan_counts_steps_and_time(steps):
    steps.stale -= {"a", "b"}  # what reads a stale step may become stale
    assert plan.stale(steps.waits, "smoke", None) == ["c", "d"]
    assert "2 steps may run (c, d), at most about 10 s" in plan.sentence(["c", "d"], "smoke")
    steps.stale.clear()
    assert plan.stale(steps.waits, "smoke", None) == []
    assert "nothing to do" in plan.sentence([], "smoke")


def test_the_plan_says_what_was_never_timed(steps, monkeypatch):
    monkeypatch.setattr(plan, "known_seconds", lambda profile: {"a": 1})
    assert "time unknown: b, c, d not run before" in plan.sentence(["a", "b", "c", "d"], "smoke")


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        ("one\nValueError: two\n", 1, "ValueError: two"),
        ("", 3, "ended with 3"),
        ("x", -9, "memory"),
    ],
)
def test_last_words_of_a_process(tmp_path, content, code, words):
    log = tmp_path / "a.log"
    log.write_text(content)
    assert words in runner.last_words(log, code)


def say(words: str) -> None:
    ours = [name for name in sys.modules if name.startswith("helpers")]
    warm = sys.platform != "linux" or "torch" in sys.modules
    print(words, os.getpgrp() == os.getpid(), warm, ours, flush=True)
    time.sleep(60)


def test_processes_start_with_the_libraries_and_end_when_asked(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "_ENDING", threading.Event())
    process = kernels.start(tmp_path / "a.log", say, "hello")
    until = time.monotonic() + 60
    while not (tmp_path / "a.log").exists() or "hello" not in (tmp_path / "a.log").read_text():
        assert time.monotonic() < until
        time.sleep(0.1)
    # The package is not among them: it may be edited while others run.
    assert (
        "hello True True ['helpers.utils', 'helpers.utils.pins', 'helpers', "
        in (tmp_path / "a.log").read_text()
    )
    kernels.end_all()
    assert process.exitcode == 130
    with pytest.raises(RuntimeError, match="interrupted"):
        kernels.start(tmp_path / "b.log", say, "too late")


def test_a_process_that_leads_no_group_yet_is_ended(monkeypatch):
    monkeypatch.setattr(kernels, "_ENDING", threading.Event())
    process = kernels.CONTEXT.Process(target=time.sleep, args=(60,))
    process.start()
    monkeypatch.setattr(kernels, "RUNNING", {process})
    kernels.end_all(patience=0.1)
    assert process.exitcode


def what_is_not_looked_through():
    print(gc.get_freeze_count())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere kernels are not forked")
def test_no_look_for_garbage_goes_through_the_libraries(steps, tmp_path):
    log = tmp_path / "log"
    kernels.start(log, what_is_not_looked_through).join(60)
    assert int(log.read_text()) > 100_000
