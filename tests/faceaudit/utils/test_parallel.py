"""Sharing work out among threads and processes."""

import numpy as np
from threadpoolctl import threadpool_info

from faceaudit.utils import parallel


def test_on_one_thread_every_library_has_one_and_gets_its_own_back():
    def threads():
        np.ones((2, 2)) @ np.ones((2, 2))
        return [pool["num_threads"] for pool in threadpool_info()]

    before = threads()
    assert before and {*parallel.on_one_thread(threads)()} == {1}
    assert threads() == before
