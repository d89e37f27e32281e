"""The pretended GPU is as strict as a GPU, and lets pass what a GPU lets pass."""

import numpy as np
import pretended_gpu
import pytest
import torch

from faceaudit.utils.arguments import resolve_device


@pytest.fixture
def here():
    """Three numbers on the CPU, where there is a GPU as well."""
    with pretended_gpu.present():
        assert resolve_device("cuda") == torch.device("cuda")
        yield torch.arange(3.0)
    with pytest.raises(ValueError, match="torch sees no GPU"):
        resolve_device("cuda")


@pytest.fixture
def there(here):
    """The same on the GPU."""
    return here.to("cuda")


@pytest.mark.parametrize(
    "made",
    [
        lambda x: x + torch.tensor(2.0),
        lambda x: torch.stack([x, x]),
        lambda x: x.new_tensor([1]),
        lambda x: x[np.array([True, False, True])],
    ],
)
def test_what_is_made_there_is_there(there, made):
    assert made(there).device == there.device
    with pytest.raises(RuntimeError, match="same device"):
        made(there) + torch.ones(2)


def set_by(x, index, value):
    x[index] = value


@pytest.mark.parametrize(
    "mix",
    [
        lambda here, there: here + there,
        lambda here, there: torch.nn.Linear(3, 2).to("cuda")(here),
        lambda here, there: here[there.long()],
        lambda here, there: set_by(there, there > 0, here[1:]),
    ],
)
def test_two_devices_do_not_mix(here, there, mix):
    with pytest.raises(RuntimeError, match="same device"):
        mix(here, there)


@pytest.mark.parametrize("read", [torch.Tensor.numpy, np.asarray])
def test_numpy_cannot_read_it(there, read):
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        read(there)
