"""What make would redo: nothing after a run, and after an edit only what depends on it."""

import os
import re
import subprocess

import pytest


@pytest.fixture
def dry_run(repository):
    """Steps that `make book PROFILE=smoke` would run if some files had just been edited."""
    if not (repository / "build" / "smoke" / "html" / "index.html").is_file():
        pytest.skip("the smoke book is not built; make smoke")

    def steps(*edited: str) -> list[str]:
        # The variables of an outer make would change what this one does.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
        what_if = [argument for path in edited for argument in ("-W", path)]
        output = subprocess.run(
            ["make", "--dry-run", *what_if, "book", "PROFILE=smoke"],
            cwd=repository,
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        ).stdout
        return re.findall(r"notebooks/(\w+)\.py|tools/(book)\.py|-m helpers\.(\w+)", output)

    return lambda *edited: ["".join(step) for step in steps(*edited)]


def test_second_run_does_nothing(dry_run):
    assert dry_run() == []


def test_editing_a_helper_reruns_only_what_depends_on_it(dry_run):
    after = {"11_truth_scorecard", "12_planning", "14_hidden_attributes"}
    steps = dry_run("src/helpers/scorecard/error_sources.py")
    assert set(steps) == {"10_effects_and_truth", *after, "index", "book"}
    assert steps[0] == "10_effects_and_truth" and steps[-1] == "book"


def test_editing_a_page_rebuilds_the_book_alone(dry_run):
    assert dry_run("book/glossary.md") == ["book"]


def test_a_study_is_run_as_a_command(repository):
    output = subprocess.run(
        ["make", "--dry-run", "PROFILE=smoke", "artifacts/smoke/coverage_study/manifest.json"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    done = "is up to date" in output
    assert done or "-m helpers.scorecard.coverage_study --profile smoke" in output


def test_train_trains_the_learned_generator_instead_of_taking_its_weights(repository):
    target = "artifacts/smoke/learned_generator/manifest.json"
    command = ["make", "--dry-run", "PROFILE=smoke", "TRAIN=1", "DEVICE=cuda", target]
    output = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True)
    asked = "-m helpers.generators.train_wgan --profile smoke --train --device cuda"
    assert asked in output.stdout


def test_unknown_profile_is_refused(repository):
    result = subprocess.run(
        ["make", "book", "PROFILE=lapdog"], cwd=repository, capture_output=True, text=True
    )
    assert result.returncode != 0
    assert "unknown PROFILE=lapdog" in result.stderr and "laptop" in result.stderr


def test_help_lists_the_targets(repository):
    text = subprocess.run(["make"], cwd=repository, capture_output=True, text=True).stdout
    for target in (
        "env",
        "notebooks",
        "check",
        "test",
        "smoke",
        "reproduce",
        "book",
        "serve",
        "clean",
    ):
        assert re.search(rf"^  {target}\s", text, re.MULTILINE), target
