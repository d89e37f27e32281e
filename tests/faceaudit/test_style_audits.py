"""An audit with a style-based network, from the official file of its weights to the report."""

import generator_files as files
import numpy as np
import pytest

from faceaudit.run import plan_audit, run_audit
from helpers.generators import stylegan2

FILE = """\
name: style
question: Does darker skin make the model err more often?
axes: [skin_colour]
classes: [female, male]
generator: {kind: stylegan2, weights: network.pkl, truncation: 0.7, samples: 200}
people:
  kind: reader
  models:
    gender: {kind: python, function: "halves:left", version: "1", input: {size: 16}}
    skin_colour: {kind: python, function: "halves:top", version: "1", input: {size: 16}}
    age: {kind: python, function: "halves:corner", version: "1", input: {size: 16}}
model: {kind: python, function: "halves:red", version: "1", input: {size: 16}}
design: {tolerance: 0.05, transects: 40}
"""
MODELS = """
def half(one, other): return (0.5 + one.mean((1, 2, 3)) - other.mean((1, 2, 3))).clip(0, 1)
def left(x): return half(x[:, :, :, :8], x[:, :, :, 8:])
def top(x): return half(x[:, :, :8], x[:, :, 8:])
def corner(x): return x[:, :, 8:, 8:].mean((1, 2, 3))
def red(x): return x[:, 0].mean((1, 2))
"""


@pytest.fixture
def style_file(home, module):
    """The file of an audit, beside the official file of a tiny StyleGAN2 and the models."""
    network = stylegan2.StyleGAN2(stylegan2.Config(**files.CONFIG))
    weights = stylegan2.draw_weights(network, seed=4).state_dict()
    content = files.dumps(files.with_others(files.ada(weights=weights)))
    (home / "network.pkl").write_bytes(content)
    module("halves", MODELS)
    path = home / "style.yml"
    path.write_text(FILE, encoding="utf-8")
    return path


def top(images):
    return (images[:, :, :8].mean((1, 2, 3)) - images[:, :, 8:].mean((1, 2, 3))) / 255


def test_from_the_weights_to_the_report(style_file, home):
    plan, _ = plan_audit(style_file)
    assert plan["generator"]["kind"] == "stylegan2" and plan["generator"]["truncation"] == 0.7
    report = run_audit(style_file)
    assert report.data["images"] == 80 and report.plan.kept
    assert report.provenance["generator"]["psi"] == 0.7
    assert len(report.provenance["generator"]["sha256"]) == 64
    assert any("a truncation of 0.7" in one for one in report.limits)
    assert any("Children are not left out" in one for one in report.limits)
    assert "truncation of 0.7" in (home / "build/audits/style/report.html").read_text()
    kept = home / "artifacts" / "audits" / "style"
    images = np.load(kept / "images.npy")
    # The network is no line: its direction moves nearly all faces the way that its samples said.
    assert np.mean(top(images[1::2]) > top(images[::2])) > 0.9
