"""Functions of Python, named in words."""

import numpy as np
import pytest

from faceaudit.black_box import python_model


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
