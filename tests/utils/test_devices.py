"""One clear message for a device that is not there."""

import pytest
import torch

from helpers.utils.checks import resolve_device


def test_cpu():
    assert resolve_device("cpu") == torch.device("cpu")


def test_cuda_without_a_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="^DEVICE=cuda asked for, but torch sees no GPU; run with"):
        resolve_device("cuda")


def test_cuda_with_a_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device("cuda:1").index == 1


def test_unknown():
    with pytest.raises(ValueError, match="unknown DEVICE=gpu"):
        resolve_device("gpu")
