"""Work that is shared out among threads, processes or a cluster, or done here alone.

Floating-point sums depend on how many threads of a library share them. So each of several workers
has one, and their results are the same byte for byte. Results are handed over, never written: a
worker needs no folder in common with this process, and one that is killed leaves no half of a file.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

SCHEDULER = "SCHEDULER"  # the variable that names a Dask scheduler, as in tcp://10.0.0.5:8786
PATIENCE = 20  # seconds in which a scheduler must answer, and one of its workers be there


def cpu_count() -> int:
    """Cores that this process may use."""
    from joblib import cpu_count as of_joblib  # with numpy, which a run with no step to run saves

    return of_joblib()


def threads() -> int:
    """Threads for work in this process whose results do not depend on how many do it.

    The variable NUMBA_NUM_THREADS says how many, as joblib sets it to 1 in processes that share
    work; by default there is one per core.
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
    import torch  # as above
    from joblib import Parallel, delayed, parallel_config

    before = torch.get_num_threads()  # for the whole process: what workers here set is taken back
    with ExitStack() as stack:
        stack.callback(torch.set_num_threads, before)
        if address := os.environ.get(SCHEDULER):
            client = stack.enter_context(_connected(address))
            check(client)
            stack.enter_context(parallel_config("dask", client=client))
            pool = Parallel(return_as="generator_unordered")
        else:
            pool = Parallel(threads, "threading", return_as="generator_unordered")
        yield from pool(delayed(_chunk)(work, number, chunk(number)) for number in range(count))


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    try:
        from distributed import Client

        client = Client(address, timeout=PATIENCE, set_as_default=False)
        client.wait_for_workers(1, timeout=PATIENCE)
    except (ImportError, OSError, TimeoutError, ValueError) as error:
        words = "no Dask scheduler with a worker there; Dask comes with pip install '.[cluster]'"
        raise ValueError(f"{SCHEDULER}={address}: {words}") from error
    with client:
        yield client


def _chunk(work: Callable, number: int, chunk: Any) -> tuple[int, Any]:
    """One chunk, with one thread."""
    import torch  # as above

    torch.set_num_threads(1)
    return number, work(chunk)
