"""A GPU that is pretended: torch computes on the CPU, and is as strict as if "cuda" were elsewhere.

    with pretended_gpu.present():
        torch.ones(2, device="cuda") + torch.ones(2)  # RuntimeError, as with a GPU

Where a tensor lies is a matter of its storage, so a storage "on the GPU" bears a mark. Two modes of
torch act on it. One sees every call from Python: it takes "cuda" as an argument, answers what
`tensor.device` is, and refuses numpy. The other sees every operation, also those of the backward
pass: it refuses tensors of two devices, and marks what comes out. As on a GPU, a CPU tensor without
dimensions may go with GPU tensors where the operation is elementwise, GPU tensors may be indexed
from the CPU, and `copy_` goes anywhere.

More lenient than a GPU: what is pickled and read again is on the CPU; gradients may flow back over
a move between devices without moving themselves; other processes see no GPU; operations that CUDA
lacks, or does in no fixed order, work; memory is never short. Stricter: no generator can be on the
GPU, and of `torch.cuda` only `is_available` and `mem_get_info` speak of it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

GPU, CPU = torch.device("cuda", 0), torch.device("cpu")
# How torch names what is asked of a tensor when it asks a mode.
ANSWERS = {
    Tensor.device.__get__: GPU,
    Tensor.is_cuda.__get__: True,
    Tensor.is_cpu.__get__: False,
    Tensor.get_device: GPU.index,
}
TO_NUMPY = (Tensor.numpy, Tensor.__array__)
# What makes a storage without any operation, for a tensor like the first argument.
ALIKE = (Tensor.__deepcopy__, Tensor.new_tensor)
ANYWHERE = ("copy_", "_to_copy")
BY_INDEX = ("index", "index_put", "index_put_", "_index_put_impl_")
# How their names begin, beside those that torch itself calls elementwise.
TAKES_NUMBERS = ("_foreach", "fill_", "masked_fill", "where", "index_put", "_index_put")


@contextmanager
def present() -> Iterator[None]:
    """Let there be a GPU, in this thread and in those that start now."""
    seen = {"is_available": lambda: True, "mem_get_info": lambda _: (2**30, 2**30)}
    run = Thread.run

    def seeing(thread: Thread) -> None:
        with _in_this_thread():
            run(thread)

    threads = mock.patch.object(Thread, "run", seeing)
    with mock.patch.multiple(torch.cuda, **seen), threads, _in_this_thread():
        yield


@contextmanager
def _in_this_thread() -> Iterator[None]:
    with _Operations() as operations, _Calls(operations):
        yield


def is_on_gpu(tensor: Tensor) -> bool:
    return getattr(tensor.untyped_storage(), "on_gpu", False)


def _put(tensor: Tensor, on_gpu: bool, made: bool) -> Tensor:
    """The tensor, or a copy of it on the other device; what was just made starts a graph."""
    if is_on_gpu(tensor) == on_gpu:
        return tensor
    copy = tensor.detach().clone().requires_grad_(tensor.requires_grad) if made else tensor.clone()
    copy.untyped_storage().on_gpu = on_gpu
    return copy


class _Calls(TorchFunctionMode):
    """What Python asks of torch."""

    def __init__(self, operations: "_Operations") -> None:
        super().__init__()
        self.operations = operations

    def __torch_function__(self, call, types, args=(), kwargs=None) -> Any:
        given = _tensors((args, kwargs))
        gpu = any(is_on_gpu(x) for x in given)
        if gpu and call in ANSWERS:
            return ANSWERS[call]
        if gpu and call in TO_NUMPY:
            raise TypeError(
                "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the "
                "tensor to host memory first."
            )
        call, device, args, kwargs = _on_cpu(call, args, kwargs or {})
        if device is None and call in ALIKE and gpu:
            device = GPU
        on_gpu = gpu if device is None else device.type == "cuda"
        if on_gpu and kwargs.get("generator") is not None:
            raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
        self.operations.makes_on_gpu = on_gpu
        try:
            result = call(*args, **kwargs)
        finally:
            self.operations.makes_on_gpu = False
        if device is None:
            return result
        return tree_map_only(Tensor, lambda x: _put(x, on_gpu, made=not given), result)


def _on_cpu(call, args: tuple, kwargs: dict) -> tuple:
    """The call as the CPU can do it, and the device that it asked for, if any."""
    if call is Tensor.cuda:
        return Tensor.cpu, GPU, args[:1], {}
    if call is Tensor.pin_memory:  # what lies in memory of its own for the way there
        return Tensor.detach, None, args, {}
    if call is Tensor.cpu:
        return call, CPU, args, kwargs
    device = kwargs.get("device")
    to = args[1] if call is Tensor.to and len(args) > 1 else None
    if device is not None:
        kwargs = kwargs | {"device": CPU}
    elif isinstance(to, str | torch.device):
        device, args = to, (args[0], CPU, *args[2:])
    elif isinstance(to, Tensor):
        device = GPU if is_on_gpu(to) else CPU
    return call, None if device is None else torch.device(device), args, kwargs


class _Operations(TorchDispatchMode):
    """What torch computes, after all calls have come down to its own operations."""

    # Where tensors are that a call makes on its way, out of nothing.
    makes_on_gpu = False

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None) -> Any:
        kwargs = kwargs or {}
        given = _tensors((args, kwargs))
        on_gpu = any(is_on_gpu(x) for x in given) if given else self.makes_on_gpu
        if on_gpu:
            _check_one_device(operation, args, given)
        result = operation(*args, **kwargs)
        if on_gpu:
            own = {x.untyped_storage()._cdata for x in given}
            for made in _tensors(result):
                if made.untyped_storage()._cdata not in own:
                    made.untyped_storage().on_gpu = True
        return result


def _check_one_device(operation, args: tuple, given: list[Tensor]) -> None:
    """Raise RuntimeError if a GPU would; at least one of the tensors given is on it."""
    name = operation.overloadpacket.__name__
    if name in ANYWHERE:
        return
    if name in BY_INDEX and is_on_gpu(args[0]):
        given = [x for x in given if not any(x is index for index in args[1])]
    if torch.Tag.pointwise in operation.tags or name.startswith(TAKES_NUMBERS):
        written = args[0] if name.endswith("_") else None
        given = [x for x in given if x.dim() or x is written]
    if not all(map(is_on_gpu, given)):
        raise RuntimeError(
            f"{name}: Expected all tensors to be on the same device, but found at least two "
            "devices, cuda:0 and cpu!"
        )


def _tensors(tree: Any) -> list[Tensor]:
    """All tensors in lists, tuples and dicts, however deep."""
    if isinstance(tree, Tensor):
        return [tree]
    if not isinstance(tree, list | tuple | dict):
        return []
    branches = tree.values() if isinstance(tree, dict) else tree
    return [tensor for branch in branches for tensor in _tensors(branch)]
