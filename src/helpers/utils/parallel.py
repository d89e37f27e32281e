"""Work that is shared out among threads, or processes of one thread each, or done here alone."""

from __future__ import annotations

import math
import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from filelock import FileLock, Timeout

if TYPE_CHECKING:
    from joblib import Parallel

SIDE_BY_SIDE = "STEPS_SIDE_BY_SIDE"
"""The environment variable in which the runner says how many steps share the cores."""
P, T = ParamSpec("P"), TypeVar("T")


def cpu_count() -> int:
    """Cores that this process may use."""
    from joblib import cpu_count as of_joblib  # with numpy, which a run with no step to run saves

    return of_joblib()


def share_of_cores() -> int:
    """Processes for a long task: as many as each step that runs side by side has cores.

    More would finish no sooner, and each imports the libraries anew. Where nobody says how many
    steps there are, it is half the cores, and at least two where there are two.
    """
    cores = cpu_count()
    if steps := os.environ.get(SIDE_BY_SIDE):
        return math.ceil(cores / int(steps))
    return min(cores, max(2, cores // 2))


def threads() -> int:
    """Threads for work in this process whose results do not depend on how many do it.

    The variable NUMBA_NUM_THREADS says how many, as joblib sets it to 1 in processes that share
    work; by default there is one per core.
    """
    return int(os.environ.get("NUMBA_NUM_THREADS") or cpu_count())


def processes(number: int, **options: Any) -> Parallel:
    """joblib's `Parallel` with so many processes of one thread.

    Args:
        number: of processes; with 1 the work is done in this one, with the threads that it has.
        options: more arguments of `Parallel`.
    """
    from joblib import Parallel, parallel_config  # as above

    if number == 1 or not _can_coordinate():
        return Parallel(1, **options)
    with parallel_config("loky", inner_max_num_threads=1):
        return Parallel(number, **options)


def on_one_thread(function: Callable[P, T]) -> Callable[P, T]:
    """A function whose products of matrices give the same last bits on any number of cores.

    A library shares a sum out among its threads, and rounds it otherwise for each number of them.
    """

    from threadpoolctl import threadpool_limits

    @wraps(function)
    def alone(*args: P.args, **kwargs: P.kwargs) -> T:
        with threadpool_limits(1):
            return function(*args, **kwargs)

    return alone


@contextmanager
def alone(path: Path, tell: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold the lock at `path`; who comes second waits.

    Args:
        path: of the lock; its folder is made.
        tell: takes a sentence if one must wait. By default no sentence is told: in a chapter it
            would be part of the page.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        if tell:
            tell(f"waiting: another process uses {path.parent}")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@cache
def _can_coordinate() -> bool:
    """Whether there are the semaphores that processes take turns by; warns once if not."""
    try:
        multiprocessing.Lock()
    except (ImportError, OSError) as error:
        warnings.warn(
            f"No semaphores can be had here ({error}), as where /dev/shm cannot be written to: "
            "what several processes would share is done in one, with the same results but slower.",
            stacklevel=3,
        )
        return False
    return True
