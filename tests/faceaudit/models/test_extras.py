"""What needs an extra of the package says which one, where it is not installed."""

import sys

import pytest

from faceaudit.file.parts import Onnx
from faceaudit.models.local import local_model
from faceaudit.utils.errors import InputError


@pytest.mark.parametrize("module", ["onnx", "onnxruntime"])
def test_a_file_needs_the_extra_onnx(tmp_path, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / "model.onnx"
    path.write_bytes(b"")
    with pytest.raises(InputError, match=rf"needs {module}, .* install faceaudit\[onnx\]"):
        local_model(Onnx(kind="onnx", path=path, input={"size": 8}))
