"""Modules and files of torch, and functions named in words."""

import numpy as np
import pytest
import torch
from torch import nn

from helpers.models.black_box import Preparation, python_model, torch_model
from helpers.models.networks import SmallNet


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(3)
    return SmallNet().eval()


def test_a_module_and_its_exported_program_answer_alike(network, tmp_path, images):
    module = torch_model(network, Preparation(), activation="sigmoid")
    batch = torch.export.Dim("n", min=1, max=512)
    program = torch.export.export(
        network, (torch.zeros(2, 3, 16, 16),), dynamic_shapes=({0: batch},)
    )
    torch.export.save(program, tmp_path / "net.pt2")
    loaded = torch_model(tmp_path / "net.pt2", Preparation(16), activation="sigmoid")
    with torch.no_grad():
        expected = network(torch.from_numpy(images) / 255)[:, 0].sigmoid()
    np.testing.assert_allclose(module(images), expected, atol=1e-6)
    np.testing.assert_allclose(loaded(images), expected, atol=1e-5)
    assert loaded.card()["file"] == "net.pt2" and len(loaded.card()["sha256"]) == 64
    with pytest.raises(ValueError, match="net.pt2: failed on images of the shape"):
        torch_model(tmp_path / "net.pt2", Preparation(32), activation="sigmoid")(images)


def test_a_module_is_put_into_evaluation_and_known_by_its_numbers(images):
    torch.manual_seed(1)
    network = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(768, 1)).train()
    model = torch_model(network, Preparation(16), activation="sigmoid")
    np.testing.assert_array_equal(model(images), model(images))
    before = model.hash
    with torch.no_grad():
        network[2].bias += 1
    assert torch_model(network, Preparation(16), activation="sigmoid").hash != before


def test_torchscript_runs_only_if_it_is_trusted(network, tmp_path, images):
    path = tmp_path / "net.pt"
    with pytest.warns(DeprecationWarning):
        torch.jit.save(torch.jit.trace(network, torch.zeros(1, 3, 16, 16)), path)
    with pytest.raises(ValueError, match="net.pt: a TorchScript file is a program .*trusted"):
        torch_model(path, Preparation())
    trusted = torch_model(path, Preparation(), activation="sigmoid", trusted=True)
    module = torch_model(network, Preparation(), activation="sigmoid")
    np.testing.assert_allclose(trusted(images), module(images), atol=1e-6)


@pytest.mark.parametrize("name", ["broken.pt2", "broken.pt"])
def test_what_is_no_file_of_torch_is_named(tmp_path, name):
    with pytest.raises(ValueError, match=f"{name}: no such file"):
        torch_model(tmp_path / name, Preparation())
    (tmp_path / name).write_bytes(b"nothing")
    with pytest.raises(ValueError, match=f"{name}: no (program|TorchScript file)"):
        torch_model(tmp_path / name, Preparation(), trusted=True)


def test_a_function_is_found_by_its_name(tmp_path, monkeypatch, images):
    module = tmp_path / "my_model_under_audit.py"
    module.write_text("def score(images):\n    return images[:, 1].mean((1, 2)) / 255\n")
    monkeypatch.syspath_prepend(tmp_path)
    model = python_model("my_model_under_audit:score", version="1")
    np.testing.assert_allclose(model(images), images[:, 1].mean((1, 2)) / 255)
    assert len(model.card()["sha256"]) == 64 and model.card()["version"] == "1"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("my_model", "module:function was expected"),
        ("no_such_module:score", "no_such_module cannot be imported .* PYTHONPATH"),
        ("math:score", "math has no score"),
        ("math:pi", "is a float, no function"),
    ],
)
def test_a_function_that_is_not_there_is_named(name, message):
    with pytest.raises(ValueError, match=message):
        python_model(name, version="1")
