"""The page of targets: what each needs, and that old versions of make can read it."""

import re
import subprocess

import pytest


def make(repository, *arguments):
    return subprocess.run(
        ["make", *arguments], cwd=repository, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("arguments", "asked", "not_asked"),
    [
        (
            "reproduce PROFILE=smoke TRAIN=1 JOBS=3",
            "smoke --device cpu --jobs 3 --train 1",
            "--model",
        ),
        ("chapter STAGE=09_logistic_ate", "--stage 09_logistic_ate", "--generator"),
        (
            "reproduce GENERATOR=f.pkl MODEL=g.onnx CROWD=said",
            '--model "g.onnx" --crowd "said"',
            "llama",
        ),
        (
            "chapter STAGE=21_own_study GENERATOR=f.pkl",
            '--generator "f.pkl" --model "llama"',
            "--crowd",
        ),
        ("reproduce", "tools/run.py laptop", "llama"),  # a MODEL of the environment is somebody's
    ],
)
def test_options_reach_the_runner(repository, monkeypatch, arguments, asked, not_asked):
    monkeypatch.setenv("MODEL", "llama")
    words = " ".join(make(repository, "-n", *arguments.split()).stdout.split())
    assert asked in words and not_asked not in words


@pytest.mark.parametrize("target", ["audit", "audit-plan"])
def test_a_profile_sizes_the_example_and_nobody_elses_audit(repository, target):
    words = make(repository, "-n", target, "AUDIT=audits/example.yml", "PROFILE=smoke").stdout
    assert f" {target.removeprefix('audit-').replace('audit', 'run')} " in words
    assert "audits/example.yml --profile smoke" in words
    words = make(repository, "-n", target, "AUDIT=audits/mine.yml", "PROFILE=smoke").stdout
    assert "audits/mine.yml" in words and "--profile" not in words
    words = make(repository, "-n", target, "AUDIT=audits/mine.yml", "DEVICE=cuda").stdout
    assert ("--device cuda" in words) == (target == "audit")
    result = make(repository, target)
    assert result.returncode and "AUDIT=audits/example.yml" in result.stderr


@pytest.mark.parametrize("target", ["why", "chapter"])
def test_a_target_for_one_chapter_asks_which(repository, target):
    result = make(repository, target)
    assert (
        result.returncode and f"for example `make {target} STAGE=09_logistic_ate`" in result.stderr
    )


@pytest.mark.parametrize(
    "newer", [r"!=", r"^\.ONESHELL", r"\$\(file ", r"\bprivate\b", r"&:", r"\.SHELLFLAGS"]
)
def test_nothing_is_newer_than_make_3_81(repository, newer):
    text = (repository / "Makefile").read_text()
    assert not re.search(newer, text.replace("sys.exit(sys.version_info", ""), re.MULTILINE)


def test_an_unknown_profile_is_refused(repository):
    result = make(repository, "reproduce", "PROFILE=lapdog")
    assert result.returncode != 0
    assert "unknown profile 'lapdog'" in result.stderr and "laptop" in result.stderr
    assert "Traceback" not in result.stderr
