"""The command `tools/run.py`: what it is asked, and what it refuses."""

import json

import pytest
import run

from helpers.claims import claim


@pytest.mark.parametrize("option", ["--stage", "--why"])
def test_an_unknown_stage_names_those_there_are(option, artifacts_folder):
    with pytest.raises(ValueError, match="no step 99_none; there are .*09_logistic_ate"):
        run.main(["smoke", option, "99_none"])


@pytest.mark.parametrize("jobs", ["0", "-1", "two", "1.5"])
def test_jobs_are_a_whole_number_above_0(jobs, capsys):
    with pytest.raises(SystemExit):
        run.main(["smoke", f"--jobs={jobs}"])
    assert "argument --jobs: invalid" in capsys.readouterr().err


def test_claims_of_a_run_are_those_of_its_pages(artifacts_folder, capsys):
    assert run.main(["smoke", "--claims"]) == 0
    assert "smoke: 0 claims" in capsys.readouterr().out
    page = artifacts_folder / "smoke" / "index" / "index.ipynb"
    page.parent.mkdir(parents=True)
    shown = {"metadata": {"claim": {"sentence": "Skin matters.", "holds": False, "title": ""}}}
    page.write_text(json.dumps({"cells": [{"outputs": [shown]}]}), encoding="utf-8")
    assert run.claims("smoke", ["01_observational_audit"]) == 0  # a run that left it alone
    assert "0 claims" in capsys.readouterr().out
    assert run.claims("smoke", ["01_observational_audit", "index"]) == 1
    assert "FALSE  index: Skin matters." in capsys.readouterr().out
    page.write_text("half a note")
    with pytest.raises(ValueError, match=r"index\.ipynb is damaged; run `make reproduce"):
        run.main(["smoke", "--claims"])


def test_a_missing_gpu_is_said_before_any_work(artifacts_folder, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ValueError, match="DEVICE=cuda asked for, but torch sees no GPU"):
        run.main(["smoke", "--device", "cuda"])


def test_claims_that_a_run_contradicts_are_listed_and_fail(artifacts_folder, capsys):
    page = artifacts_folder / "smoke" / "index" / "index.ipynb"
    page.parent.mkdir(parents=True)

    def leave(*found):
        shown = [{"metadata": {"claim": vars(claim)}} for claim in found]
        page.write_text(json.dumps({"cells": [{"outputs": shown}]}), encoding="utf-8")

    leave(claim("Hair matters.", holds=True))
    assert run.main(["smoke", "--claims"]) == 0
    leave(claim("Hair matters.", holds=True), claim("Skin does not.", holds=False))
    assert run.main(["smoke", "--claims"]) == 1
    told = capsys.readouterr().out
    assert "holds  index: Hair matters." in told and "FALSE  index: Skin does not." in told
    assert "smoke: 2 claims, 1 contradicted by this run" in told
