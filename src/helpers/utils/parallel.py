"""Work that is shared out among threads, or processes of one thread each, or done here alone."""

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

SIDE_BY_SIDE = "STEPS_SIDE_BY_SIDE"  # the variable by which the runner says how many steps run


def cpu_count() -> int:
    """Cores that this process may use."""
    from joblib import cpu_count as of_joblib  # with numpy, which a run with no step to run saves

    return of_joblib()


def share_of_cores() -> int:
    """Processes for a long task: as many as each step that runs side by side has cores.

    More would finish no sooner, and each imports the libraries anew. Where nobody says how many
    steps there are, it is half the cores, and at least two where there are two.
    """
    cores, steps = cpu_count(), os.environ.get(SIDE_BY_SIDE)
    return math.ceil(cores / int(steps)) if steps else min(cores, max(2, cores // 2))


def threads() -> int:
    """Threads for work in this process whose results do not depend on how many do it.

    The variable NUMBA_NUM_THREADS says how many, as joblib sets it to 1 in processes that share
    work; by default there is one per core.
    """
    return int(os.environ.get("NUMBA_NUM_THREADS") or cpu_count())


def processes(number: int, **options: Any) -> Any:
    """joblib's `Parallel` with so many processes of one thread; with 1 the work is done in this."""
    from joblib import Parallel, parallel_config  # as above

    if number == 1:
        return Parallel(1, **options)
    with parallel_config("loky", inner_max_num_threads=1):
        return Parallel(number, **options)


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


@contextmanager
def alone(path: Path, tell: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold the lock at `path`; who comes second waits, and `tell` takes a sentence that says so.

    In a chapter nothing should be told: it would be part of the page.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0).lock.release()
    except Timeout:
        if tell:
            tell(f"waiting: another process uses {path.parent}")
    with lock:
        yield
