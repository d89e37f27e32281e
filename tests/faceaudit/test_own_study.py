"""The audit file of somebody's own generator: what is filled in, and what is refused."""

import generator_files as files
import pytest
import yaml
from onnx_made import means

from faceaudit import read_specification
from faceaudit.generators.convert import write_converted
from helpers.artifacts import lineage
from helpers.study import require_study, write_study


@pytest.fixture
def given(tmp_path):
    """A generator's file and a model, beside the folder of audits."""
    (tmp_path / "audits").mkdir()
    (tmp_path / "Faces_v1.pkl").write_bytes(files.dumps(files.with_others(files.ada())))
    means(tmp_path / "red.onnx", [[1.0], [0.0], [0.0]])
    return tmp_path


def written(given, generator="Faces_v1.pkl", profile="paper"):
    return write_study(given / generator, given / "red.onnx", None, profile, given / "audits")


@pytest.mark.parametrize("profile", ["smoke", "paper"])
def test_the_file_has_the_profiles_sizes_and_reads_back(given, profile):
    path = written(given, profile=profile)
    audit, sizes = read_specification(path), lineage.load_profile(profile)
    assert path == given / "audits" / "faces-v1.yml" and audit.name == "faces-v1"
    assert audit.generator.samples == sizes.n_directions
    assert audit.design.transects == sizes.n_transects
    assert audit.people.kind == "label-studio" and audit.people.raters == sizes.n_raters
    assert audit.generator.kind == "stylegan2" and audit.generator.truncation == 1
    assert audit.people.export is None and audit.model.output.activation == "none"
    said = yaml.safe_load(path.read_text())
    assert said["generator"]["weights"] == "../Faces_v1.pkl"
    assert said["model"]["path"] == "../red.onnx"
    assert f"profile {profile}" in path.read_text().partition("\nname:")[0]


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (("n", 3, 112, 96), {"size": [112, 96], "layout": "nchw", "range": [0, 1]}),
        (("n", 112, 96, 3), {"size": [112, 96], "layout": "nhwc", "range": [0, 1]}),
        (("n", 3, 64, 64), {"size": 64, "layout": "nchw", "range": [0, 1]}),
        (("n", 3, "h", "w"), {"size": 16, "layout": "nchw", "range": [0, 1]}),
    ],
)
def test_the_file_says_what_the_model_takes(given, shape, said):
    means(given / "red.onnx", [[1.0], [0.0], [0.0]], shape=shape)
    content = yaml.safe_load(written(given).read_text())
    assert content["model"]["input"] == said


@pytest.mark.parametrize("psi", [1.0, 0.5])
def test_a_truncation_that_was_chosen_at_the_conversion_counts(given, psi):
    write_converted(given / "Faces_v1.pkl", given / "own.safetensors", "mine", psi)
    audit = read_specification(written(given, "own.safetensors"))
    assert audit.generator.truncation == psi


def test_a_file_of_another_generator_is_no_study_of_this_one(given):
    path = written(given)
    (given / "other").mkdir()
    with pytest.raises(ValueError, match=r"its generator is \.\./Faces_v1\.pkl; rename") as raised:
        require_study(path, given / "other" / "Faces_v1.pkl")
    assert "\n" not in str(raised.value)
