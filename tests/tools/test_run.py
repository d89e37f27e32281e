"""The runner: what waits for what, what is first, and what it says. Kills are in tests/faults."""

import os
import sys
import tempfile
import threading
import time
from argparse import Namespace

import kernels
import pytest
import run

import book
from helpers.artifacts import lineage


@pytest.fixture
def steps(monkeypatch, artifacts_folder):
    """A diamond of steps in place of the book; `made` lists which were performed."""
    waits = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}
    made, stale = [], set(waits)
    monkeypatch.setattr(run, "why", lambda name, *_: "edited" if name in stale else None)
    monkeypatch.setattr(run, "known_seconds", lambda profile: {"a": 1, "b": 5, "c": 9, "d": 1})

    def perform(self, step):
        made.append(step.name)
        if step.name in self.broken:
            raise RuntimeError("a cell failed")
        return step.name

    monkeypatch.setattr(run.Runner, "perform", perform)
    monkeypatch.setattr(kernels, "_ENDING", threading.Event())
    monkeypatch.setattr(run.Runner, "broken", (), raising=False)
    (artifacts_folder / "smoke").mkdir()
    asked = Namespace(profile="smoke", device="cpu", jobs=1, train=None)
    runner = run.Runner(asked, waits)
    return Namespace(runner=runner, made=made, stale=stale, waits=waits)


def test_steps_run_after_what_they_wait_for_and_long_ones_first(steps):
    steps.runner.run()
    assert steps.made == ["a", "c", "b", "d"]
    assert (steps.runner.done, steps.runner.failed) == (4, 0)


def test_only_what_is_stale_runs(steps):
    steps.stale -= {"a", "b"}
    steps.runner.run()
    assert steps.made == ["c", "d"]


def test_after_a_failure_nothing_new_begins(steps, capsys):
    steps.runner.broken = ("c",)
    steps.runner.run()
    assert steps.made == ["a", "c"] and steps.runner.failed == 1
    words = capsys.readouterr().out
    assert "c FAILED after 0 s: a cell failed" in words and "c.log" in words


def test_the_plan_counts_steps_and_time(steps):
    steps.stale -= {"a", "b"}  # what reads a stale step may become stale
    assert run.stale(steps.waits, "smoke", None) == ["c", "d"]
    assert "2 steps may run (c, d), at most about 10 s" in run.plan(["c", "d"], "smoke")
    steps.stale.clear()
    assert run.stale(steps.waits, "smoke", None) == []
    assert "nothing to do" in run.plan([], "smoke")


def test_the_plan_says_what_was_never_timed(steps, monkeypatch):
    monkeypatch.setattr(run, "known_seconds", lambda profile: {"a": 1})
    assert "time unknown: b, c, d not run before" in run.plan(["a", "b", "c", "d"], "smoke")


def test_the_graph_has_every_page_and_study_and_ends_in_the_book():
    waits = run.graph()
    assert set(waits["book"]) == {p.stem for p in lineage.NOTEBOOKS.glob("*.py")}
    assert "09_logistic_ate" in waits["10_effects_and_truth"]
    assert "coverage_study" in run.needed(waits, "11_truth_scorecard")
    assert "15_sensitivity_flips" not in run.needed(waits, "11_truth_scorecard")


def test_other_weights_than_those_in_use_are_asked_for(monkeypatch):
    monkeypatch.setattr(run.artifacts, "why_stale", lambda *_: None)
    monkeypatch.setattr(run.artifacts, "load", lambda *_: {"trained": False})
    assert run.why("learned_generator", "smoke", None) is None
    assert run.why("learned_generator", "smoke", 0) is None
    assert "TRAIN=1 asks for other weights" in run.why("learned_generator", "smoke", 1)
    monkeypatch.setattr(run.artifacts, "load", lambda *_: {"trained": True})
    assert run.why("learned_generator", "smoke", None) is None
    assert "TRAIN=0 asks for other weights" in run.why("learned_generator", "smoke", 0)


@pytest.mark.parametrize("option", ["--stage", "--why"])
def test_an_unknown_stage_names_those_there_are(option, artifacts_folder):
    with pytest.raises(ValueError, match="no step 99_none; there are .*09_logistic_ate"):
        run.main(["smoke", option, "99_none"])


def test_temporary_files_have_one_place_during_a_run(tmp_path):
    before = tempfile.gettempdir()
    with run.scratch(tmp_path / ".scratch"):
        assert tempfile.gettempdir() == os.environ["TMPDIR"] == str(tmp_path / ".scratch")
    assert tempfile.gettempdir() == before and not (tmp_path / ".scratch").exists()


@pytest.mark.parametrize("jobs", ["0", "-1", "two", "1.5"])
def test_jobs_are_a_whole_number_above_0(jobs, capsys):
    with pytest.raises(SystemExit):
        run.main(["smoke", f"--jobs={jobs}"])
    assert f"expected a whole number above 0, got '{jobs}'" in capsys.readouterr().err


def test_the_pages_are_stale_when_one_is_gone(monkeypatch, tmp_path):
    monkeypatch.setattr(book, "pages_of", lambda profile: tmp_path / "html")
    monkeypatch.setattr(book, "contents", lambda: ["index", "a"])
    monkeypatch.setattr(book, "basis", lambda profile: {"x": "1"})
    (tmp_path / "html").mkdir()
    (tmp_path / "html/index.html").touch()
    (tmp_path / book.RECORD).write_text('{"x": "1"}')
    assert book.why_stale("smoke") == "gone: a"
    (tmp_path / "html/a.html").touch()
    assert book.why_stale("smoke") is None


def test_the_graph_is_printed_for_graphviz(artifacts_folder, capsys):
    assert run.main(["smoke", "--graph"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("digraph {") and '"03_direction_fitting" -> "04' in text


def test_a_missing_gpu_is_said_before_any_work(artifacts_folder, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ValueError, match="DEVICE=cuda asked for, but torch sees no GPU"):
        run.main(["smoke", "--device", "cuda"])


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
    assert words in run.last_words(log, code)


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
    assert "hello True True ['helpers', 'helpers.utils', " in (tmp_path / "a.log").read_text()
    kernels.end_all()
    assert process.exitcode == 130
    with pytest.raises(RuntimeError, match="interrupted"):
        kernels.start(tmp_path / "b.log", say, "too late")


def test_stages_that_read_each_other_or_what_is_not_there_are_named(monkeypatch):
    reads = {"01_observational_audit": ["99_gone"]}
    monkeypatch.setattr(lineage, "inputs", lambda source: reads.get(source.stem, []))
    with pytest.raises(ValueError, match="01_observational_audit reads 99_gone, which no"):
        run.graph()
    reads["01_observational_audit"] = ["01_observational_audit"]
    with pytest.raises(ValueError, match="cycle"):
        run.graph()
