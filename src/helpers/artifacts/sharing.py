"""Chunks of work that are shared out: done here, by threads here, or by the workers of a cluster.

Results are handed over, never written: one process keeps them (`helpers.artifacts.image_store`), so
that a worker needs no folder in common with it, and one that is killed leaves no half of a file.

Floating-point sums depend on how many threads of a library share them. So threads and workers do a
chunk with one thread each, and their results are the same byte for byte.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from joblib import Parallel, delayed, parallel_config

from helpers.artifacts import kept, lineage

Work = Callable[[Any], Any]
Share = Callable[[Work, Callable[[int], Any], int], Iterator[tuple[int, Any]]]
"""(work, what a chunk is called with by its number, how many chunks) → (number, result) …"""

SCHEDULER = "SCHEDULER"
"""The environment variable that names a Dask scheduler, as in `tcp://10.0.0.5:8786`."""
PATIENCE = 20
"""Seconds in which a scheduler must answer, and one of its workers be there."""


def in_turn(work: Work, chunk: Callable[[int], Any], count: int) -> Iterator[tuple[int, Any]]:
    """One chunk after the other, in this thread."""
    return ((number, work(chunk(number))) for number in range(count))


def shared_out(sources: Sequence[Path], threads: int) -> Share:
    """Share among the workers of the scheduler that `SCHEDULER` names; without one, among threads.

    Args:
        sources: the modules that compute. A worker on which those of this repository, or the
            versions of torch and numpy, are others is refused, because its results could differ.
        threads: how many chunks are made at a time where there is no scheduler.
    """
    return partial(_shared_out, sources, threads)


def _shared_out(
    sources: Sequence[Path], threads: int, work: Work, chunk: Callable[[int], Any], count: int
) -> Iterator[tuple[int, Any]]:
    with ExitStack() as stack:
        stack.enter_context(_restored_threads())
        if address := os.environ.get(SCHEDULER):
            client = stack.enter_context(_connected(address))
            _require_same_code(client, sources)
            stack.enter_context(parallel_config("dask", client=client))
            pool = Parallel(return_as="generator_unordered")
        else:
            pool = Parallel(threads, "threading", return_as="generator_unordered")
        yield from pool(delayed(_alone)(work, number, chunk(number)) for number in range(count))


@contextmanager
def _restored_threads() -> Iterator[None]:
    """Torch counts threads for the whole process, so what workers here set is taken back."""
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError:
        raise ValueError(f"{SCHEDULER}={address} needs Dask: pip install '.[cluster]'") from None
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ValueError(f"{SCHEDULER}={address}: no Dask scheduler answers there") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise ValueError(f"{SCHEDULER}={address}: the scheduler has no worker") from None
        yield client


def _require_same_code(client: Any, sources: Sequence[Path]) -> None:
    ours = [path for path in map(Path.resolve, sources) if path.is_relative_to(lineage.SOURCE)]
    names = [path.relative_to(lineage.SOURCE).as_posix() for path in ours]
    here = _code(names)
    for worker, there in client.run(_code, names).items():
        if other := [name for name in names if there[name] != here[name]]:
            raise ValueError(
                f"the worker {worker} has another version of {', '.join(other)}, of what that "
                "imports, of torch or of numpy: install the same on all"
            )


def _code(names: Sequence[str]) -> dict[str, str]:
    return {name: kept.made_by(lineage.SOURCE / name) for name in names}


def _alone(work: Work, number: int, chunk: Any) -> tuple[int, Any]:
    """One chunk, with one thread."""
    torch.set_num_threads(1)
    return number, work(chunk)
