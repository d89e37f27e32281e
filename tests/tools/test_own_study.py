"""The command with a generator of one's own: where it stops, goes on, and what chapter 18 gets."""

import json

import execute
import generator_files as files
import jupytext
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import plan
import pytest
import run
import yaml
from onnx import save
from onnx.parser import parse_model

from faceaudit import annotations
from faceaudit.generators import stylegan2
from faceworld import crowd
from faceworld.audit import run_audit
from helpers import study as own_generator
from helpers.artifacts import lineage, pages


def brightness(path, scale=1.0):
    """An ONNX file that gives an image's mean, many times over."""
    graph = (
        "m (float[n,3,16,16] images) => (float[n] answer) {{ scale = Constant<value_float={}>() "
    )
    graph += "mean = ReduceMean<axes=[1,2,3], keepdims=0>(images) answer = Mul(mean, scale) }}"
    head = '<ir_version: 8, opset_import: ["" : 17]> '
    save(parse_model(head + graph.format(float(scale))), path)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A repository's folders with a generator and a model; what chapter 18 is run with."""
    monkeypatch.setenv("HELPERS_ARTIFACTS", str(tmp_path / "artifacts"))
    monkeypatch.setattr("faceworld.audit.ROOT", tmp_path)
    monkeypatch.setattr(lineage, "ROOT", tmp_path)
    monkeypatch.setattr(own_generator, "AUDITS", tmp_path / "audits")
    monkeypatch.chdir(tmp_path)
    wide = {"w_dim": 16}  # the papers' study has more attributes than the tiny network's six
    network = stylegan2.StyleGAN2(stylegan2.StyleGAN2Config(**files.CONFIG | wide))
    weights = stylegan2.draw_network_weights(network, seed=4).state_dict()
    content = files.with_others(files.ada(weights=weights, **wide))
    (tmp_path / "Tiny.pkl").write_bytes(files.dumps(content))
    brightness(tmp_path / "mean.onnx")
    (tmp_path / "audits").mkdir()
    return tmp_path


@pytest.fixture
def shown(monkeypatch):
    """The pages of a book of two that are run, each with its study."""
    found = []
    waits = {plan.OWN_STUDY: [], "other": [], plan.BOOK: [plan.OWN_STUDY, "other"]}
    monkeypatch.setattr(plan, "graph", lambda: waits)
    monkeypatch.setattr(lineage, "stages", lambda: [])
    monkeypatch.setattr(pages, "why_page_is_stale", lambda *_: "new")
    monkeypatch.setattr(
        execute, "run", lambda page, profile, device, log, study: found.append((page, study))
    )
    return found


def command(*more, stage=plan.OWN_STUDY):
    own = ["--generator", "Tiny.pkl", "--model", "mean.onnx"]
    return run.main(["smoke", *own, "--stage", stage, *more])


def make_smaller(path, calibrates=False):
    """What somebody may change who reads the file."""
    content = yaml.safe_load(path.read_text())
    content["axes"] = ["skin_colour"]
    content["accept"] = ["direction", "gate"]  # so few random images tell no direction
    _ = content["calibration"].update(rounds=1) if calibrates else content.pop("calibration")
    content["model"]["threshold"] = 0.45  # amid the scores
    content["generator"] |= {"samples": 60, "quantiles": [0.1, 0.9], "truncation": 0.7}
    content["design"]["transects"] = 12
    path.write_text(yaml.safe_dump(content))


def answer(tasks, place, **levels):
    """People's export for tasks that were written; `levels` are those that all images show."""
    names = [task["data"]["image_id"] for task in json.loads((tasks / "tasks.json").read_text())]
    scores = np.linspace(0.05, 0.95, len(names))
    truth = {name: np.roll(scores, 7 * k) for k, name in enumerate(annotations.ATTRIBUTES)}
    truth = pd.DataFrame(truth, index=names).assign(**levels)
    place.mkdir(parents=True, exist_ok=True)
    said = crowd.annotate(truth, 5, seed=1, stage="own study test")
    annotations.write_label_studio(said, place / "export.json")


def test_from_the_generators_file_to_the_chapter(home, shown, capsys):
    more, exports = ["--crowd", "said"], home / "said"
    exports.mkdir()
    assert command(*more) == 0
    (told,) = capsys.readouterr().out.splitlines()
    assert told.startswith("audits/tiny.yml is written: read it")
    assert not (home / "artifacts" / "audits").exists()
    make_smaller(home / "audits" / "tiny.yml", calibrates=True)
    parts = {"samples": 60, "neutral-1": 15, "neutral-2": 12, "round-1": 24, "transects": 24}
    for part, images in parts.items():
        assert command(*more) == 0
        waits = capsys.readouterr().out.splitlines()[-2:]
        # Along one axis, skin colour, gender is asked on crops, and on neutral faces not at all.
        stages = [part] if "neutral" in part else [part, f"{part}-crops"]
        for stage, told in zip(stages, waits[-len(stages) :], strict=True):
            assert f"people: {images} of {images} images have no answer" in told
            assert told.endswith("then run the same command again")
            assert f"put what you get into said/{stage}, then" in told
            answer(home / f"artifacts/audits/tiny/people/{stage}/tasks", exports / stage)
    assert not shown and not (home / "build").exists()
    assert command(*more) == 0
    told = capsys.readouterr().out
    assert (home / "build/audits/tiny/report.html").is_file() and "report.html" in told
    assert "whatever MODEL, CROWD and PROFILE are" in told
    assert shown == [(plan.OWN_STUDY, "audits/tiny.yml")]
    assert "18_audit_your_model: done" in told
    run_audit("audits/tiny.yml", print)  # the other command goes on from there, and asks nobody
    assert "tasks" not in capsys.readouterr().out


def test_what_belongs_to_no_study_is_refused(home, shown):
    with pytest.raises(ValueError, match="GENERATOR is missing"):
        run.main(["smoke", "--crowd", "mean.onnx"])
    with pytest.raises(ValueError, match="other does not show GENERATOR, 18_audit_your_model does"):
        command(stage="other")
    (home / "Tiny.pkl").write_text("no weights")
    with pytest.raises(ValueError, match=r"Tiny\.pkl: .*expected a trained generator"):
        command()
    assert not any((home / "audits").iterdir()) and not shown


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("axes", [["skin_colour"], ["age", "smiling"]])
@pytest.mark.parametrize("levels", [{}, {"fakeness": 1.0}], ids=["kept", "nothing kept"])
def test_the_chapter_goes_through_studies_of_other_shapes(
    home, shown, repository, capsys, axes, levels
):
    """Axes without the paper's cuts, a single one, and a study of which pruning leaves nothing."""
    command()
    path = home / "audits" / "tiny.yml"
    make_smaller(path)
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | {"axes": axes}))
    people = home / "artifacts/audits/tiny/people"
    for stage, all_show in {"samples": {}, "transects": levels}.items():
        assert command() == 0
        answer(people / stage / "tasks", people / stage / "answers", **all_show)
    assert command() == 0 and shown
    names = {}
    with plt.rc_context(), pd.option_context("display.float_format", None):
        for cell in jupytext.read(repository / "notebooks" / "18_audit_your_model.py").cells:
            if "study" in cell.metadata.get("tags", []):  # not the other examples'
                exec(compile(cell.source, "18_audit_your_model", "exec"), names)
            if "parameters" in cell.metadata.get("tags", []):
                names |= {"profile": "smoke", "n_boot": 20, "study": "audits/tiny.yml"}
    plt.close("all")
    assert [*names["everything"].index.unique("attribute")] == axes
    assert len(names["rows"]) == 0 if levels else len(names["rows"]) > 0
    assert ("no image was kept" in capsys.readouterr().out) == bool(levels)
    results = json.loads((home / "artifacts/smoke/18_audit_your_model/results.json").read_text())
    assert results["images"]["kept"] == len(names["rows"]) and results["truth"] == []
