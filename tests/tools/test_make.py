"""The page of targets: what each needs, and that old versions of make can read it."""

import re
import subprocess

import pytest


def make(repository, *arguments):
    return subprocess.run(
        ["make", *arguments], cwd=repository, capture_output=True, text=True, check=False
    )


def test_help_lists_the_targets(repository):
    text = make(repository).stdout
    for target in re.findall(r"^([a-z-]+):.*##", (repository / "Makefile").read_text(), re.M):
        assert re.search(rf"^  {target}\s", text, re.MULTILINE), target
    assert "reproduce" in text and "claims" in text


def test_options_reach_the_runner(repository):
    words = make(repository, "-n", "reproduce", "PROFILE=smoke", "TRAIN=1", "JOBS=3").stdout
    assert "tools/run.py smoke --device cpu --jobs 3 --train 1" in words
    words = make(repository, "-n", "chapter", "STAGE=09_logistic_ate").stdout
    assert "--stage 09_logistic_ate" in words
    assert not any(own in words for own in ("--generator", "--model", "--crowd"))


@pytest.mark.parametrize("target", ["reproduce", "chapter"])
def test_a_generator_of_ones_own_reaches_the_runner(repository, target):
    own = ["GENERATOR=my faces.pkl", "MODEL=gender.onnx", "CROWD=said", "STAGE=21_own_study"]
    words = make(repository, "-n", target, *own).stdout
    assert '--generator "my faces.pkl" --model "gender.onnx" --crowd "said"' in " ".join(
        words.split()
    )


def test_a_model_in_the_environment_is_somebody_elses(repository, monkeypatch):
    monkeypatch.setenv("MODEL", "llama")
    assert "llama" not in make(repository, "-n", "reproduce").stdout
    assert '"llama"' in make(repository, "-n", "reproduce", "GENERATOR=faces.pkl").stdout


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
