"""The pretended GPU is as strict as a GPU, and lets pass what a GPU lets pass."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pretended_gpu
import pytest
import torch
from torch.nn import functional

from helpers.utils.checks import resolve_device


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
    "move",
    [
        lambda x: x.to("cuda", torch.float64),
        lambda x: torch.tensor(x.tolist(), device="cuda"),
        lambda x: torch.zeros_like(x, device="cuda").copy_(x),
    ],
)
def test_moving_there_and_back(here, move):
    there = move(here)
    assert there.device == torch.device("cuda", 0) and there.is_cuda and not there.is_cpu
    assert here.device == torch.device("cpu") and not here.is_cuda
    assert there.cpu().device.type == there.to("cpu").device.type == "cpu"
    assert there.cpu().numpy().tolist() == here.tolist()
    there += 1
    assert here.tolist() == [0, 1, 2] and there[1].item() == float(there.sum()) - 4 == 2
    here[1:] = there[:2]  # copies go anywhere
    there[here > 1] = 5
    assert here.tolist() == [0, 1, 2] and there.tolist() == [1, 2, 5] and there.is_cuda


@pytest.mark.parametrize(
    "made",
    [
        lambda x: x + torch.tensor(2.0),
        lambda x: torch.stack([x, x]),
        lambda x: x.new_tensor([1]),
        lambda x: torch.empty(2, device=x.device).normal_(),
        lambda x: x.where(x > 1, torch.tensor(0.0)),
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
        lambda here, there: there.mul_(here),
        lambda here, there: torch.nn.Linear(3, 2).to("cuda")(here),
        lambda here, there: functional.mse_loss(there, here),
        lambda here, there: here[there.long()],
        lambda here, there: set_by(here, here > 1, there[2:]),
        lambda here, there: set_by(there, there > 0, here[1:]),
    ],
)
def test_two_devices_do_not_mix(here, there, mix):
    with pytest.raises(RuntimeError, match="same device"):
        mix(here, there)


@pytest.mark.parametrize(
    "read", [torch.Tensor.numpy, np.asarray, lambda x: np.add(x, 1), lambda x: np.array([x[0]])]
)
def test_numpy_cannot_read_it(there, read):
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        read(there)


def test_threads_see_it(here):
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: torch.ones(2, device="cuda").is_cuda).result()
