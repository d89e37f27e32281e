"""Chunks of work that are shared out: done here, by threads here, or by the workers of a cluster.

A chunk is a number. Whoever shares takes a function, what it is called with for each number, and
how many there are; it yields (number, result) as results come in, in any order. Results are only
handed over, never written: one process keeps them (`helpers.artifacts.image_store`), so that a
worker needs no folder in common with it, and one that is killed leaves nothing half-made.

Floating-point sums depend on how many threads of a library share them. So threads and workers do a
chunk with one thread each, and their results are the same byte for byte on processors of one kind.
Chapter 19 shares generation and labelling.
"""

from __future__ import annotations

import importlib.util
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from helpers.artifacts import kept, lineage

if TYPE_CHECKING:
    from distributed import Client, Future

Work = Callable[[Any], Any]
Share = Callable[[Work, Callable[[int], Any], int], Iterator[tuple[int, Any]]]
"""(work, what a chunk is called with by its number, how many chunks) → (number, result) …"""

SCHEDULER = "SCHEDULER"
"""The environment variable that names a Dask scheduler, as in `tcp://10.0.0.5:8786`."""
PATIENCE = 20
"""Seconds in which a scheduler must answer, and one of its workers be there."""
ATTEMPTS = 3
"""How often a chunk is tried again whose result was lost with the worker that held it."""


def in_turn(work: Work, chunk: Callable[[int], Any], count: int) -> Iterator[tuple[int, Any]]:
    """One chunk after the other, in this thread."""
    return ((number, work(chunk(number))) for number in range(count))


def shared_out(sources: Sequence[Path], threads: int) -> Share:
    """Share among the workers of the scheduler that `SCHEDULER` names; without one, among threads.

    Args:
        sources: the modules that compute. A worker on which those of this package, or the versions
            of torch and numpy, are others refuses, because its results could differ as well.
        threads: how many chunks are made at a time where there is no scheduler.
    """
    if address := os.environ.get(SCHEDULER):
        ours = [path for path in map(Path.resolve, sources) if path.is_relative_to(lineage.SOURCE)]
        return partial(_in_cluster, address, ours)
    return partial(_in_threads, threads)


def _in_threads(
    threads: int, work: Work, chunk: Callable[[int], Any], count: int
) -> Iterator[tuple[int, Any]]:
    with (
        _restored_threads(),
        ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool,
    ):
        running: dict[Any, int] = {}
        waiting = deque(range(count))
        try:
            while running or waiting:
                # No more than are needed to keep all busy: results take memory until they are kept.
                while waiting and len(running) < threads + 1:
                    number = waiting.popleft()
                    running[pool.submit(work, chunk(number))] = number
                done = wait(running, return_when=FIRST_COMPLETED).done
                # What is finished is handed out, to be kept, before a failure ends all.
                for future in sorted(done, key=lambda one: one.exception() is not None):
                    yield running.pop(future), future.result()
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _restored_threads() -> Iterator[None]:
    """Torch counts threads for the whole process, so what the pool sets is taken back."""
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _in_cluster(
    address: str,
    sources: list[Path],
    work: Work,
    chunk: Callable[[int], Any],
    count: int,
) -> Iterator[tuple[int, Any]]:
    if not count:
        return
    code = {path.relative_to(lineage.SOURCE).as_posix(): kept.made_by(path) for path in sources}
    with _connected(address) as client:
        import cloudpickle
        from distributed import as_completed

        # A step of the graph, not scattered data: the scheduler can have it made again if every
        # worker that held it is gone.
        ready = client.submit(_unpacked, cloudpickle.dumps(work), code, pure=False)
        waiting, tried = deque(range(count)), dict.fromkeys(range(count), 0)
        numbers: dict[str, int] = {}
        running = as_completed(loop=client.loop)
        while waiting or numbers:
            while waiting and len(numbers) < _window(client):
                number = waiting.popleft()
                future = client.submit(_alone, ready, chunk(number), pure=False)
                numbers[future.key] = number
                running.add(future)
            done = next(running)
            number = numbers.pop(done.key)
            if (result := _result(done, number, address)) is not _LOST:
                yield number, result
                continue
            tried[number] += 1
            if tried[number] > ATTEMPTS:
                raise RuntimeError(
                    f"{SCHEDULER}={address}: the result of chunk {number} was lost {ATTEMPTS + 1} "
                    "times with the worker that held it; finished chunks are kept"
                )
            waiting.append(number)


_LOST = object()


def _result(future: Future, number: int, address: str) -> Any:
    """What a worker made; `_LOST` if it went with the worker. Errors of the work are raised."""
    from distributed import KilledWorker

    if future.status in ("cancelled", "lost"):
        return _LOST
    try:
        return future.result()
    except KilledWorker as error:
        raise RuntimeError(
            f"{SCHEDULER}={address}: every worker that was given chunk {number} died of it, for "
            "want of memory perhaps; finished chunks are kept"
        ) from error


def _window(client: Client) -> int:
    """Chunks under way: each thread of a worker has one, and one is on its way."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return max(2, 2 * sum(worker["nthreads"] for worker in workers))


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    if importlib.util.find_spec("distributed") is None:
        raise ValueError(
            f"{SCHEDULER}={address} asked for, but Dask is not installed: pip install '.[cluster]'"
        )
    import dask
    from distributed import Client

    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ValueError(f"{SCHEDULER}={address}: no Dask scheduler answers there") from error
    # The work (a network, say) is sent once, in one piece; Dask would warn of its size.
    with client, dask.config.set({"distributed.admin.large-graph-warning-threshold": "100GB"}):
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise ValueError(f"{SCHEDULER}={address}: the scheduler has no worker") from None
        yield client


def _unpacked(work: bytes, code: dict[str, str]) -> Work:
    """On a worker: the work, if this worker would do it as the client would."""
    import cloudpickle

    for source, expected in code.items():
        if kept.made_by(lineage.SOURCE / source) != expected:
            raise ValueError(
                f"a worker has another version of {source}, of what that imports, of torch "
                "or of numpy: install the same on all"
            )
    return cloudpickle.loads(work)


def _alone(work: Work, chunk: Any) -> Any:
    """On a worker: one chunk with one thread."""
    torch.set_num_threads(1)
    return work(chunk)
