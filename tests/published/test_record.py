"""The record, and how a run is held against it."""

import json

import numpy as np
import pandas as pd
import pytest

from faceaudit.utils.errors import InputError
from faceaudit.utils.files import file_hash, hash_of_content
from published import __main__ as command_line
from published import plan, record
from published.products import NETWORKS
from published.study import COLUMNS


def rows(values, outcome="P(male)", states=None):
    table = pd.DataFrame(
        {"image": [f"measured-{i:05d}-low" for i in range(len(values))], "value": values}
    )
    table["state"] = states or ["answered"] * len(values)
    table = table.assign(study="measured", transect=range(len(values)), skin="low", hair="")
    table = table.assign(gender="", exposure="", lightness=77.9, ita=60.0, model="one")
    return table.assign(outcome=outcome)[COLUMNS]


def test_other_decisions_differ_but_for_those_near_the_threshold():
    recorded = rows([0.2, 0.495, 0.505, 0.8, 0.6])
    compared = record.compare(rows([0.25, 0.51, 0.49, 0.3, 0.9]), recorded)
    assert compared.differing["image"].tolist() == ["measured-00003-low"]
    assert compared.largest == {"P(male)": pytest.approx(0.5)}
    assert "5 answers compared with the record, 0 are not in it" in str(compared)
    assert "1 decisions or ages differ" in str(compared)


def test_ages_have_no_decision_and_states_do():
    recorded = rows([30.0, 40.0, 50.0], "age")
    run = rows([31.0, np.nan, 51.5], "age", ["answered", "abstained", "answered"])
    compared = record.compare(run, recorded)
    assert compared.differing["value"].tolist()[1:] == [51.5]
    assert compared.differing["state"].tolist() == ["abstained", "answered"]


def test_rows_that_the_record_lacks_are_counted():
    compared = record.compare(rows([0.2, 0.3]), rows([0.2]))
    assert (compared.compared, compared.unknown) == (1, 1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "ANSWERS", tmp_path / "answers.csv")
    monkeypatch.setattr(record, "MANIFEST", tmp_path / "manifest.json")
    monkeypatch.setattr(record, "STEPS", tmp_path / "steps.csv")
    monkeypatch.setattr(record, "PLAN", tmp_path / "plan.json")
    monkeypatch.setattr(record, "FITTED_PLANES", tmp_path / "measures.npz")
    (tmp_path / "measures.npz").write_bytes(b"planes")
    (tmp_path / "plan.json").write_text(json.dumps({"sha256": "planned"}))
    return tmp_path


@pytest.mark.parametrize("name", ["answers.csv", "steps.csv", "measures.npz", "manifest.json"])
def test_a_damaged_record_is_named_before_anything_is_compared(folder, name):
    record.write(rows([0.2]), {"measured": steps_of(3)}, MADE_WITH | {"parts": {"measured": {}}})
    record.require_whole()
    (folder / name).write_text("{")
    with pytest.raises(
        InputError, match=r"answers.csv is not the file|steps.csv is|measures.npz is"
    ):
        record.require_whole()
    (folder / name).unlink()
    with pytest.raises(InputError, match=f"{name} is missing"):
        record.require_whole()


@pytest.mark.parametrize("options", [["--live", "0"], ["--live", "2", "--write"]])
def test_live_takes_a_number_of_faces_alone(options, capsys):
    with pytest.raises(SystemExit) as stop:
        command_line.main(options)
    assert stop.value.code == 2 and "--live takes a number of faces" in capsys.readouterr().err


def test_an_interrupted_run_says_so(monkeypatch, capsys):
    def interrupt(given):
        raise KeyboardInterrupt

    statuses = []
    monkeypatch.setattr(command_line, "_run", interrupt)
    monkeypatch.setattr(command_line.os, "_exit", statuses.append)
    command_line.main(["--live", "2"])
    assert statuses == [130] and "what is finished is kept" in capsys.readouterr().err


MADE_WITH = {"generator": {"psi": 0.7}, "models": [{"name": "one"}], "fitted": {"codes": 1500}}


def test_what_is_written_is_read_again(folder):
    written = rows([0.2, np.nan], states=["answered", "no face"])
    record.write(written, {}, {**MADE_WITH, "parts": {"measured": {"faces": [3, 8, 9]}}})
    pd.testing.assert_frame_equal(record.read(), written, check_dtype=False)
    manifest = record.manifest()
    assert manifest["plan"] == "planned"
    assert manifest["answers"] == file_hash(folder / "answers.csv")
    assert record.recorded_faces("measured", 2) == [3, 8]


def steps_of(*faces):
    return pd.DataFrame({"transect": faces, "skin": "low", "L": 0.5, "hair": -0.1})


def test_steps_are_recorded_by_part(folder):
    with pytest.raises(InputError, match=r"steps.csv is missing; python -m published --write"):
        record.steps_of("measured", [3])
    first = {**MADE_WITH, "parts": {"measured": {"faces": [3, 8]}}}
    record.write(rows([0.2]), {"measured": steps_of(3, 8)}, first)
    second = {**MADE_WITH, "parts": {"repeated": {"faces": [3]}}}
    record.write(rows([0.4]).assign(study="repeated"), {"repeated": steps_of(3)}, second)
    assert record.manifest()["steps"] == file_hash(folder / "steps.csv")
    pd.testing.assert_frame_equal(record.steps_of("measured", [8, 9]), steps_of(8))
    pd.testing.assert_frame_equal(record.steps_of("repeated", [3]), steps_of(3))
    record.write(rows([0.3]), {"measured": steps_of(5)}, first)
    assert record.steps_of("measured", [3, 5])["transect"].tolist() == [5]
    assert record.steps_of("repeated", [3])["transect"].tolist() == [3]


def test_other_parts_stay_in_the_record(folder):
    first = rows([0.2, 0.3])
    record.write(first, {}, {**MADE_WITH, "parts": {"measured": {"faces": [3, 8]}}})
    of_planes = rows([0.4]).assign(study="planes", image="planes-00001-low")
    record.write(of_planes, {}, {**MADE_WITH, "parts": {"planes": {"faces": [1]}}})
    again = rows([0.5, 0.6])
    record.write(again, {}, {**MADE_WITH, "parts": {"measured": {"faces": [4, 5]}}})
    assert record.read()["value"].tolist() == [0.4, 0.5, 0.6]
    assert record.recorded_faces("measured", 2) == [4, 5]
    assert record.recorded_faces("planes", 1) == [1]


def test_parts_that_other_models_made_are_not_mixed(folder):
    record.write(rows([0.2]), {}, {**MADE_WITH, "parts": {"measured": {"faces": [3]}}})
    others = {**MADE_WITH, "models": [{"name": "two"}], "parts": {"planes": {"faces": [1]}}}
    with pytest.raises(InputError, match="models differs from what the parts measured were made"):
        record.write(rows([0.4]).assign(study="planes"), {}, others)
    assert record.read()["value"].tolist() == [0.2]


def test_without_a_record_one_sentence_says_so(folder):
    with pytest.raises(InputError, match="answers.csv is missing"):
        record.read()


def test_the_plan_names_every_outcome_of_every_model():
    content = plan.plan()
    told = {(one["model"], one["outcome"]) for one in content["outcomes"]}
    assert told == {(model, name) for network in NETWORKS for name, model in network.told.items()}
    assert content["primary"]["outcome"] == "P(male)"


def test_the_kept_plan_is_what_the_code_says():
    kept = json.loads(plan.PLAN.read_text(encoding="utf-8"))
    sha256 = kept.pop("sha256")
    assert sha256 == hash_of_content(kept)
    del kept["made"]
    now = plan.plan()
    del now["made"]
    assert kept == json.loads(json.dumps(now))
