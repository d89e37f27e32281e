"""Sharing work out among processes, and doing it here where none can be had."""

import multiprocessing
import os

import numpy as np
import pytest
from joblib import delayed
from threadpoolctl import threadpool_info

from helpers.utils import parallel
from helpers.utils.parallel import SIDE_BY_SIDE


@pytest.fixture
def no_semaphores(monkeypatch):
    def refuse():
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(multiprocessing, "Lock", refuse)
    parallel._can_coordinate.cache_clear()
    yield
    parallel._can_coordinate.cache_clear()


def where(_):
    return os.getpid(), os.environ.get("OMP_NUM_THREADS")


def test_processes_have_one_thread_each():
    found = parallel.processes(2)(delayed(where)(k) for k in range(4))
    assert os.getpid() not in {pid for pid, _ in found}
    assert {threads for _, threads in found} == {"1"}


def test_one_process_is_this_one():
    assert parallel.processes(1)([delayed(os.getpid)()]) == [os.getpid()]


def test_without_semaphores_the_work_is_done_here_and_that_is_said_once(no_semaphores):
    with pytest.warns(UserWarning, match=r"No semaphores .*Permission denied.*/dev/shm") as told:
        for _ in range(2):
            assert {pid for pid, _ in parallel.processes(2)([delayed(where)(0)])} == {os.getpid()}
    assert len(told) == 1


def test_results_come_as_they_get_ready_without_semaphores_too(no_semaphores):
    with pytest.warns(UserWarning, match="No semaphores"):
        work = parallel.processes(2, return_as="generator_unordered")
    assert sorted(work(delayed(abs)(-k) for k in range(3))) == [0, 1, 2]


@pytest.mark.parametrize(("cores", "expected"), [(1, 1), (2, 2), (5, 2), (16, 8)])
def test_a_long_task_alone_takes_half_the_cores(monkeypatch, cores, expected):
    monkeypatch.setattr(parallel, "cpu_count", lambda: cores)
    monkeypatch.delenv(SIDE_BY_SIDE, raising=False)
    assert parallel.share_of_cores() == expected


@pytest.mark.parametrize(
    ("cores", "steps", "expected"), [(1, 2, 1), (2, 1, 2), (2, 2, 1), (8, 3, 3), (16, 4, 4)]
)
def test_steps_side_by_side_share_the_cores(monkeypatch, cores, steps, expected):
    monkeypatch.setattr(parallel, "cpu_count", lambda: cores)
    monkeypatch.setenv(SIDE_BY_SIDE, str(steps))
    assert parallel.share_of_cores() == expected


def test_on_one_thread_every_library_has_one_and_gets_its_own_back():
    def threads():
        np.ones((2, 2)) @ np.ones((2, 2))
        return [pool["num_threads"] for pool in threadpool_info()]

    before = threads()
    assert before and {*parallel.on_one_thread(threads)()} == {1}
    assert threads() == before
