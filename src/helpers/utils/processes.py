"""Processes: one that ends with its parent, what several hold in memory, and a lock among them."""

import ctypes
import fcntl
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

SIDE_BY_SIDE = "STEPS_SIDE_BY_SIDE"
"""The variable by which the runner says how many steps of the book share the cores."""
_PR_SET_PDEATHSIG = 1  # from Linux's <sys/prctl.h>


def die_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Have Linux end this process as soon as the one that started it is dead, however it died.

    On other systems nothing happens, and a process may outlive its parent. Linux takes the thread
    that started the process for its parent, so that one must live as long as its process.

    Args:
        parent: its process number; if it is dead already, this process ends at once.
        number: the signal that ends this process.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def memory(pid: int) -> int:
    """Bytes that a process and its children hold; shared ones count once where that is known.

    Example:
        >>> import os
        >>> from helpers.utils.processes import memory
        >>> memory(os.getpid()) > 2**20
        True
    """
    import psutil  # of the kernels; nothing else in the package needs it

    total = 0
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            with suppress(psutil.Error):
                full = one.memory_full_info()
                total += getattr(full, "pss", full.uss)
    return total


@contextmanager
def alone(path: Path, tell: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold the lock at `path`; who comes second waits.

    Args:
        path: of the lock; its folder is made.
        tell: takes a sentence on who holds it, if one must wait. By default nobody is told: in a
            chapter the sentence would be part of the page.

    Example:
        >>> import pathlib, tempfile
        >>> from helpers.utils.processes import alone
        >>> with tempfile.TemporaryDirectory() as folder, alone(pathlib.Path(folder, "lock")):
        ...     pass
    """
    with _locked(path, tell) as stream:
        stream.truncate(0)
        stream.write(f"process {os.getpid()} on {platform.node()} since {time.strftime('%H:%M')}")
        stream.flush()
        yield


def _locked(path: Path, tell: Callable[[str], None] | None) -> TextIO:
    """Open a file, locked; the lock is gone when it is closed."""
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("a+")
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if tell:
                stream.seek(0)
                tell(f"waiting: {path.parent} is in use by {stream.read()}")
            fcntl.flock(stream, fcntl.LOCK_EX)
        # Who held it may have removed it, and then this lock keeps nobody out.
        if path.is_file() and os.path.samestat(path.stat(), os.fstat(stream.fileno())):
            return stream
        stream.close()
