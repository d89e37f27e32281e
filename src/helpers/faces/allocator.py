"""glibc keeps large temporaries instead of returning them to the system each time.

Megabyte-sized tensors are born and die with every batch of faces or of a training. By default glibc
maps and unmaps each of them, and its page faults take long. Raising both thresholds
(`mallopt(3)`) makes `free` keep the pages. Other C libraries lack the call and lose only speed.
"""

from __future__ import annotations

import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
THRESHOLD_BYTES = 1 << 30


def keep_freed_pages() -> bool:
    """Raise glibc's thresholds for this process, which importing `helpers.faces` does.

    Returns:
        Whether the C library accepted them.
    """
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return False
    return bool(
        mallopt(M_MMAP_THRESHOLD, THRESHOLD_BYTES) and mallopt(M_TRIM_THRESHOLD, THRESHOLD_BYTES)
    )
