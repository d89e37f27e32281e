"""What a process owes to the one that started it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1  # from Linux's <sys/prctl.h>


def die_with_parent(parent: int) -> None:
    """Have Linux kill this process as soon as the one that started it is dead, however it died.

    On other systems nothing happens, and a process may outlive its parent. Linux takes the thread
    that started the process for its parent, so that one must live as long as its process.

    Args:
        parent: its process number; if it is dead already, this process ends at once.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
