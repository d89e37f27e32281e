"""A plan binds decisions: what a new version of a model may change, and what leaves a trace."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from face_endpoint import FaceEndpoint, send
from pretended_audits import OF_TABLE, pretended_table

import faceaudit
from faceaudit.__main__ import main
from faceaudit.file.parts import Http
from faceaudit.models.answers import Reading, ask_and_keep
from faceaudit.models.http import RemoteModel
from faceaudit.report.page import card, page
from faceaudit.report.schema import read_report
from faceaudit.results import IMAGES_FILE, REPORT_FILES
from faceaudit.utils.errors import InputError


@pytest.fixture
def audit(tmp_path, capsys):
    """Write an audit file with its table, and run commands: exit code and lines."""

    def write(table, **changes):
        table.to_csv(tmp_path / "faces.csv", index=False)
        (tmp_path / "small.yml").write_text(json.dumps(OF_TABLE | changes), encoding="utf-8")

    def command(name, *options):
        place = "small.yml" if name in ("plan", "run") else "small/report.json"
        code = main([name, str(tmp_path / place), *options])
        return code, capsys.readouterr().out.splitlines()

    write.command = command
    write.folder = tmp_path
    write.report = lambda: read_report(tmp_path / "small" / "report.json")
    return write


OLD = pretended_table(60, 0.0, seed=1)
OLD.loc[3, "score"] = None
NEW = pretended_table(60, 0.0, seed=2)


def test_a_new_version_keeps_the_plan(audit):
    """G7: a new model version was a departure."""
    audit(OLD, model={"kind": "table", "version": "v1"})
    assert audit.command("run")[0] == 0
    first = audit.report()
    assert first.provenance["model"]["version"] == "v1"
    audit(NEW.rename(columns={"score": "p"}).iloc[::-1], columns={"score": "p"})
    assert audit.command("run", "--model-version", "v2")[0] == 0
    second = audit.report()
    assert second.plan.kept and second.plan.sha256 == first.plan.sha256
    model = second.provenance["model"]
    assert model["version"] == "v2" and model["sha256"] != first.provenance["model"]["sha256"]
    assert second.data["error_rate"] != first.data["error_rate"]
    assert "version: v2" in card(second) and "v2" in page(second)


@pytest.mark.parametrize(
    ("changed", "settings", "departure"),
    [
        (NEW, {"design": {"tolerance": 0.2}}, "tolerance: 0.05 was planned, 0.2 was used"),
        (
            NEW.assign(label=NEW["label"].where(NEW.index > 0, 1)),
            {},
            "faces.csv: not every image has the label that it had when the plan was made",
        ),
        (
            NEW.assign(unit=NEW["unit"].map(lambda unit: {0: 1, 1: 0}.get(unit, unit))),
            {},
            "faces.csv: not every image has the unit that it had when the plan was made",
        ),
        (
            NEW.assign(image_id="new-" + NEW["image_id"]),
            {},
            "faces.csv: the images are not those of the plan",
        ),
    ],
    ids=["tolerance", "label", "unit", "images"],
)
def test_other_decisions_images_and_labels_are_departures(audit, changed, settings, departure):
    audit(OLD)
    assert audit.command("plan")[0] == 0
    audit(changed, **settings)
    audit.command("run", "--model-version", "v2")
    assert audit.report().plan.departures == [departure]
    assert audit.command("gate")[0] == 1


def test_a_plan_that_replaces_another_says_so(audit):
    """G7: the way out was to delete the plan, which left no trace."""
    audit(OLD)
    audit.command("run")
    former = audit.report().plan
    audit(OLD, design={"tolerance": 0.2})
    code, lines = audit.command("plan", "--replace")
    said = (
        f"The plan replaced one of {former.made[:10]} ({former.sha256[:12]}), which a report had "
        "been made by: tolerance: 0.05 before, 0.2 now."
    )
    assert code == 0 and lines[0].startswith("plan: replaced in") and said in lines
    code, lines = audit.command("run")
    report = audit.report()
    assert report.plan.kept and said in lines and said in card(report)
    assert said in page(report).partition("<nav")[0]
    code, lines = audit.command("gate", "--fail-on", "exceeds")
    assert (code, lines[0], lines[-1][:6]) == (0, said, "passed"), "a line, and no failure"
    (entry,) = report.plan.replaced
    assert (entry["sha256"], entry["made"]) == (former.sha256, former.made)
    audit.command("plan", "--replace")
    audit.command("run")
    assert len(audit.report().plan.replaced) == 2


def test_a_plan_that_was_deleted_after_a_report_leaves_a_trace(audit):
    audit(OLD)
    audit.command("run")
    former = audit.report().plan
    (audit.folder / "small" / "kept" / "plan.json").unlink()
    audit(OLD, design={"tolerance": 0.2})
    audit.command("run")
    (entry,) = audit.report().plan.replaced
    assert entry["sha256"] == former.sha256 and entry["after_report"]
    assert entry["changes"] == ["tolerance: 0.05 before, 0.2 now"]


def test_of_an_earlier_version_it_is_said_that_changes_are_not_known(audit):
    audit(OLD)
    audit.command("run")
    kept = audit.folder / "small" / "kept"
    (kept / "plan.json").unlink()
    former = audit.report().plan
    (kept / "reported").write_text(json.dumps({"sha256": former.sha256, "made": former.made}))
    _, lines = audit.command("run")
    assert any(line.endswith("made by: what changed is not known.") for line in lines)


def test_deleting_a_plan_that_replaced_another_hides_no_change(audit):
    audit(OLD)
    audit.command("run")
    audit(OLD, design={"tolerance": 0.2})
    audit.command("plan", "--replace")
    (audit.folder / "small" / "kept" / "plan.json").unlink()
    _, lines = audit.command("run")
    assert any(line.endswith("tolerance: 0.05 before, 0.2 now.") for line in lines)


def test_portraits_and_pairs_bind_their_rows_without_the_answers(tmp_path):
    portraits = OLD.drop(columns="unit").rename(columns={"score": "p"})
    text = OF_TABLE | {
        "kind": "portraits",
        "columns": {"score": "p"},
        "axes": {"skin": ["light", "dark"]},
    }
    path = tmp_path / "small.yml"
    path.write_text(json.dumps(text), encoding="utf-8")
    portraits.to_csv(tmp_path / "faces.csv", index=False)
    faceaudit.run.run_audit(path, list)
    portraits.assign(p=NEW["score"]).to_csv(tmp_path / "faces.csv", index=False)
    assert faceaudit.run.run_audit(path, list).plan.kept
    portraits.assign(skin=OLD["skin"].iloc[::-1].to_numpy()).to_csv(
        tmp_path / "faces.csv", index=False
    )
    assert faceaudit.run.run_audit(path, list).plan.departures == [
        "faces.csv: not every image has the skin that it had when the plan was made"
    ]


def test_a_plan_of_another_kind_is_refused(audit):
    audit(OLD)
    audit.command("plan")
    audit(OLD.drop(columns="unit"), kind="portraits")
    assert audit.command("run")[0] == 3
    assert audit.command("plan", "--replace")[0] == 0
    assert audit.command("run")[0] == 0


# --- an endpoint that says its version


def versioned(versions, in_json=False):
    """An endpoint's `say`: each reply has the next version, the last one for ever."""
    left = list(versions)

    def say(handler, image):
        version = left.pop(0) if len(left) > 1 else left[0]
        answer = {"p": float(image.mean() / 255)}
        if in_json:
            answer["about"] = {"version": version}
        headers = {} if in_json else {"X-Model": version}
        send(handler, json.dumps(answer).encode(), 200, headers)

    return say


IMAGES = np.random.default_rng(1).integers(0, 256, (4, 3, 8, 8), np.uint8)


def ask(endpoint, folder, **named):
    part = Http(
        kind="http", url=endpoint.url, read="p", version="1", size=8, max_calls=99,
        per_second=1000, **named,
    )  # fmt: skip
    model = RemoteModel(part, Reading())
    ask_and_keep(model, IMAGES, folder)
    return model


@pytest.mark.parametrize("in_json", [False, True])
def test_answers_of_another_version_of_an_endpoint_are_not_used_again(tmp_path, in_json):
    """A swapped model reused the old answers."""
    named = {"version_read": "about.version"} if in_json else {"version_header": "X-Model"}
    with FaceEndpoint(say=versioned(["a"], in_json)) as endpoint:
        assert ask(endpoint, tmp_path, **named).card()["version_of_endpoint"] == "a"
        assert endpoint.calls == 5
        ask(endpoint, tmp_path, **named)
        assert endpoint.calls == 6, "one call for the version"
        endpoint.say = versioned(["b"], in_json)
        assert ask(endpoint, tmp_path, **named).card()["version_of_endpoint"] == "b"
        assert endpoint.calls == 11


def test_an_endpoint_that_changes_during_a_run_ends_it(tmp_path):
    with FaceEndpoint(say=versioned(["a", "a", "b"])) as endpoint:
        with pytest.raises(InputError, match="the version was 'a' when the run began, and is 'b'"):
            ask(endpoint, tmp_path, version_header="X-Model")
        with pytest.raises(InputError, match="no version at the header X-Other"):
            ask(endpoint, tmp_path, version_header="X-Other")


def test_a_version_has_one_place():
    with pytest.raises(ValueError, match="version_header is given besides version_read"):
        Http(
            kind="http", url="https://a.example", read="p", version="1", size=8, max_calls=9,
            version_header="X", version_read="y",
        )  # fmt: skip


def test_a_function_of_an_installed_package_has_its_version():
    from faceaudit.models.local import installed_packages

    assert installed_packages("numpy.linalg:norm") == f"numpy {np.__version__}"
    assert installed_packages("face_endpoint:p_male") == ""


def test_a_package_that_is_installed_later_is_found(tmp_path, monkeypatch):
    from faceaudit.models.local import installed_packages

    monkeypatch.syspath_prepend(tmp_path)
    assert installed_packages("later:model") == ""
    described = tmp_path / "later-1.2.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: later\nVersion: 1.2\n")
    (described / "top_level.txt").write_text("later\n")
    assert installed_packages("later:model") == "later 1.2"


# --- where files go


def test_files_go_where_the_command_says_and_nowhere_else(tmp_path):
    """A report went below sys.prefix, and two audits of one name shared their plan."""
    code = """
import os, sys
from pathlib import Path
import faceaudit.report.figure  # matplotlib keeps a list of this machine's fonts
from faceaudit.__main__ import main
written = set()
def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
        path, mode, flags = arguments
        if set(mode or "") & set("wax+") or flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            written.add(os.path.abspath(os.fsdecode(path)))
    elif event in ("os.mkdir", "os.rename"):
        written.add(os.path.abspath(os.fsdecode(arguments[-3 if event == "os.mkdir" else 1])))
sys.addaudithook(watch)
home = os.path.abspath(sys.argv[1])
for folder, *arguments in (("one",), ("two", "--out", "elsewhere", "--plan", "plans/mine.json")):
    os.chdir(os.path.join(home, folder))
    assert main(["run", "small.yml", *arguments]) == 0
print("outside:", [path for path in written if not path.startswith(home) and path != os.devnull])
"""
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        pretended_table(40, 0.0, seed=len(name)).to_csv(folder / "faces.csv", index=False)
        (folder / "small.yml").write_text(json.dumps(OF_TABLE), encoding="utf-8")
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "outside: []"
    files = {
        path.relative_to(tmp_path).as_posix()
        for path in tmp_path.glob("one/**/*")
        if path.is_file()
    }
    kept = {f"one/small/kept/{name}" for name in (".lock", "plan.json", "reported")}
    report = {f"one/small/{name}" for name in (*REPORT_FILES, IMAGES_FILE)}
    assert files == {"one/faces.csv", "one/small.yml", *kept, *report}
    assert (tmp_path / "two" / "plans" / "mine.json").is_file()
    assert (tmp_path / "two" / "elsewhere" / "report.json").is_file()
    assert not (tmp_path / "two" / "small").exists()
    assert not (tmp_path / "two" / "elsewhere" / "kept" / "plan.json").exists()


def test_a_plan_in_a_file_of_its_own_is_kept_when_a_run_fails(audit):
    audit(OLD)
    place = str(audit.folder / "mine.json")
    assert audit.command("plan", "--plan", place)[0] == 0
    before = Path(place).read_bytes()
    audit(OLD.assign(score="high"))
    assert audit.command("run", "--plan", place)[0] == 3
    assert Path(place).read_bytes() == before
