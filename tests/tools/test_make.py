"""The page of targets: what each needs, and that old versions of make can read it."""

import os
import re
import shlex
import subprocess

import pytest


def make(repository, *arguments):
    """What make says; `make test` leaves variables by which it would also name its folders."""
    environment = {name: value for name, value in os.environ.items() if name[:4] != "MAKE"}
    options = {"cwd": repository, "capture_output": True, "text": True, "check": False}
    return subprocess.run(["make", *arguments], env=environment, **options)


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
            "chapter STAGE=18_audit_your_model GENERATOR=f.pkl",
            '--generator "f.pkl" --model "llama"',
            "--crowd",
        ),
        (
            "train SET=celeba DATA=c",
            '-m faceworld.networks.photographs celeba "c" --profile paper',
            "laptop",
        ),
        ("train SET=celeba DATA=c PROFILE=laptop DEVICE=cuda", "laptop --device cuda", "paper"),
        ("reproduce", "tools/run.py laptop", "llama"),  # a MODEL of the environment is somebody's
    ],
)
def test_options_reach_the_runner(repository, monkeypatch, arguments, asked, not_asked):
    monkeypatch.setenv("MODEL", "llama")
    monkeypatch.delenv("CROWD", raising=False)  # CI sets it, and with GENERATOR it is meant
    words = " ".join(make(repository, "-n", *arguments.split()).stdout.split())
    assert asked in words and not_asked not in words


@pytest.mark.parametrize("target", ["audit", "audit-plan"])
def test_an_audit_runs_its_file(repository, target):
    said = make(repository, "-n", target, "AUDIT=audits/my study.yml", "DEVICE=cuda").stdout
    words = shlex.split(said.splitlines()[-1])
    command = target.removeprefix("audit-").replace("audit", "run")
    at = words.index("faceworld.audit")
    assert words[at : at + 3] == ["faceworld.audit", command, "audits/my study.yml"]
    assert words[at + 3 :] == (["--device", "cuda"] if target == "audit" else [])


def test_a_browser_in_a_folder_with_a_space_is_one_word(repository):
    browser = "/Applications/Google Chrome.app/chrome"
    for target in ("course", "pdf"):
        said = make(repository, "-n", target, f"CHROMIUM={browser}").stdout.replace("\\\n", " ")
        words = [
            word for line in said.splitlines() if browser in line for word in shlex.split(line)
        ]
        assert browser in words or f"CHROMIUM={browser}" in words


@pytest.mark.parametrize("home", ["/home/somebody", None])
def test_pip_keeps_no_cache_where_there_is_no_home(repository, monkeypatch, home):
    if home:
        monkeypatch.setenv("HOME", home)
    else:
        monkeypatch.delenv("HOME", raising=False)
    words = make(repository, "-n", "-B", ".venv/installed").stdout
    assert ("--no-cache-dir" in words) == (home is None)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("audit", "AUDIT=audits/example.yml"),
        ("why", "for example `make why STAGE=09_logistic_ate`"),
        ("chapter", "for example `make chapter STAGE=09_logistic_ate`"),
        ("reproduce PROFILE=lapdog", "unknown profile 'lapdog'"),
    ],
)
def test_what_lacks_something_asks_for_it(repository, arguments, words):
    result = make(repository, *arguments.split())
    assert result.returncode and words in result.stderr and "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "newer", [r"!=", r"^\.ONESHELL", r"\$\(file ", r"\bprivate\b", r"&:", r"\.SHELLFLAGS"]
)
def test_nothing_is_newer_than_make_3_81(repository, newer):
    text = (repository / "Makefile").read_text()
    assert not re.search(newer, text.replace("sys.exit(sys.version_info", ""), re.MULTILINE)
