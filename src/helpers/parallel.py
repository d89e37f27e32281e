"""Processes that share long work of the book.

The runner says how many steps run side by side; each of them has its share of the cores.
"""

import math
import os
from typing import Any

from faceaudit.utils.parallel import cpu_count

SIDE_BY_SIDE = "STEPS_SIDE_BY_SIDE"  # the variable by which the runner says how many steps run


def share_of_cores() -> int:
    """Processes for a long task: as many as each step that runs side by side has cores.

    More would finish no sooner, and each imports the libraries anew. Where the variable is not set,
    it is half the cores, and at least two where there are two.
    """
    cores = cpu_count()
    steps = os.environ.get(SIDE_BY_SIDE)
    return math.ceil(cores / int(steps)) if steps else min(cores, max(2, cores // 2))


def processes(number: int, **options: Any) -> Any:
    """joblib's `Parallel` with as many processes of one thread each.

    With 1 the work is done in this process. So it is where the system has no semaphores, as in a
    container whose /dev/shm cannot be written: joblib then has no other processes, and says so when
    it is imported.
    """
    from joblib import Parallel, parallel_config
    from joblib.parallel import BACKENDS

    if number == 1 or "loky" not in BACKENDS:
        return Parallel(1, **options)
    with parallel_config("loky", inner_max_num_threads=1):
        return Parallel(number, **options)
