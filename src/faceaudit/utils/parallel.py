"""Work that is shared out among threads, processes or a cluster, or done in this process alone.

Floating-point sums depend on how many threads of a library share them. So each of several workers
has one thread, and their results are the same byte for byte. Workers return their results and write
no files: a worker needs no folder in common with this process, and a worker that is killed leaves
no half of a file.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

from faceaudit.utils.errors import InputError

SCHEDULER = "SCHEDULER"
"""The environment variable with the address of a Dask scheduler, such as tcp://10.0.0.5:8786."""
PATIENCE = 20
"""Seconds within which a scheduler must answer, and have a worker."""


def cpu_count() -> int:
    """Cores that this process may use."""
    from joblib import cpu_count as of_joblib  # with numpy, which a run with no step to run saves

    return of_joblib()


def threads() -> int:
    """Number of threads for work in this process whose results do not depend on that number.

    It is that of the environment variable NUMBA_NUM_THREADS, which joblib sets to 1 in processes
    that share work; by default one per core.
    """
    return int(os.environ.get("NUMBA_NUM_THREADS") or cpu_count())


def on_one_thread(function: Callable) -> Callable:
    """A function whose products of matrices give the same last bits on any number of cores.

    A library shares a sum out among its threads, and rounds it otherwise for each number of them.
    """
    from threadpoolctl import threadpool_limits

    @wraps(function)
    def alone(*args: Any, **kwargs: Any) -> Any:
        with threadpool_limits(1):
            return function(*args, **kwargs)

    return alone


def shared_out(
    threads: int, check: Callable[[Any], None], work: Callable, chunk: Callable, count: int
) -> Iterator[tuple[int, Any]]:
    """Share chunks among the workers of the scheduler that `SCHEDULER` names, or among threads.

    With the first two arguments bound it is what
    `faceaudit.generators.image_cache.fill_image_store` asks for.

    Args:
        threads: how many chunks are made at a time where there is no scheduler.
        check: takes the cluster's client before it gets work, and refuses one that must not.
        work: what is done with a chunk.
        chunk: number → what the work is called with.
        count: of the chunks.

    Yields:
        Numbers and results as they come.
    """
    from joblib import Parallel, delayed, parallel_config  # as above

    torch = _torch_if_installed()
    with ExitStack() as stack:
        if torch is not None:
            # Workers in this process set the number of threads for the whole process.
            stack.callback(torch.set_num_threads, torch.get_num_threads())
        address = os.environ.get(SCHEDULER)
        if address:
            client = stack.enter_context(_connected(address))
            check(client)
            stack.enter_context(parallel_config("dask", client=client))
            pool = Parallel(return_as="generator_unordered")
        else:
            pool = Parallel(threads, "threading", return_as="generator_unordered")
        yield from pool(delayed(_chunk)(work, number, chunk(number)) for number in range(count))


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """A client of the Dask scheduler at an address; InputError where none with a worker answers."""
    try:
        from distributed import Client

        client = Client(address, timeout=PATIENCE, set_as_default=False)
        client.wait_for_workers(1, timeout=PATIENCE)
    except (ImportError, OSError, TimeoutError, ValueError) as error:
        raise InputError(
            f"{SCHEDULER}={address}: no Dask scheduler with a worker there; Dask comes with pip "
            "install '.[cluster]'",
            field=SCHEDULER,
            found=address,
            expected="the address of a Dask scheduler with a worker",
        ) from error
    with client:
        yield client


def _chunk(work: Callable, number: int, chunk: Any) -> tuple[int, Any]:
    """The number of a chunk, and what the work gives for it on one thread."""
    torch = _torch_if_installed()
    if torch is not None:
        torch.set_num_threads(1)
    return number, work(chunk)


def _torch_if_installed() -> Any:
    """The module torch, whose threads the work may use; None where it is not installed."""
    try:
        import torch
    except ModuleNotFoundError:
        return None
    return torch
