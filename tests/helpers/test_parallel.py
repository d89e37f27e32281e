"""Processes that share long work."""

import os
import subprocess
import sys

import pytest
from joblib import delayed

from helpers import parallel
from helpers.parallel import SIDE_BY_SIDE, processes, share_of_cores


def where(_):
    return os.getpid(), os.environ.get("OMP_NUM_THREADS")


def test_processes_have_one_thread_each_and_one_process_is_this_one():
    found = processes(2)(delayed(where)(k) for k in range(4))
    assert os.getpid() not in {pid for pid, _ in found}
    assert {threads for _, threads in found} == {"1"}
    assert processes(1)([delayed(os.getpid)()]) == [os.getpid()]


def test_without_semaphores_the_work_is_done_here():
    code = """
import os
from joblib import delayed
from helpers import parallel
assert parallel.processes(2)(delayed(os.getpid)() for _ in range(2)) == [os.getpid()] * 2
"""
    # joblib then takes the way that it takes where it can make no semaphore.
    environment = os.environ | {"JOBLIB_MULTIPROCESSING": "0"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


@pytest.mark.parametrize(
    ("cores", "steps", "expected"),
    [(1, "", 1), (2, "", 2), (5, "", 2), (16, "", 8), (1, 2, 1), (2, 1, 2), (8, 3, 3), (16, 4, 4)],
)
def test_steps_side_by_side_share_the_cores_and_one_alone_takes_half(
    monkeypatch, cores, steps, expected
):
    monkeypatch.setattr(parallel, "cpu_count", lambda: cores)
    monkeypatch.setenv(SIDE_BY_SIDE, str(steps))
    assert share_of_cores() == expected
