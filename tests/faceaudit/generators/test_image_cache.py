"""Finished work that is kept: no image is made twice, and none that is half there is read."""

import os
import signal
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from distributed import Client, LocalCluster
from small_generators import style_network

from faceaudit.generators import StyleGenerator, image_cache
from faceaudit.generators.image_cache import synthesize_to_store
from faceaudit.utils import parallel

SIZE = 4
COUNT = 12
HERE = image_cache.__name__
ROWS = np.linspace(0, 1, 30, dtype=np.float32).reshape(10, 3)


def flat(rows, size=SIZE):
    """Every image has the colour of its row."""
    colours = np.round(rows * 255).astype(np.uint8)
    return np.broadcast_to(colours[:, :, None, None], (len(rows), 3, size, size))


class Recorder:
    """Makes images like `flat`, remembers what was asked for and fails on the k-th call."""

    def __init__(self, fail_on=None):
        self.batches, self.fail_on = [], fail_on

    def __call__(self, rows):
        if len(self.batches) + 1 == self.fail_on:
            raise KeyboardInterrupt
        self.batches.append(rows)
        return flat(rows)

    def rows(self):
        """Numbers of the rows that images were made of."""
        return [int(row) for batch in self.batches for row in np.round(batch[:, 0] * 29 / 3)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "faces.npy"


def store(path, make=flat, rows=ROWS, chunk=3, **settings):
    key = image_cache.content_key(rows, **settings)
    return image_cache.fill_image_store(path, rows, make, (3, SIZE, SIZE), key=key, chunk=chunk)


def interrupted(path, fail_on=3):
    with pytest.raises(KeyboardInterrupt):
        store(path, Recorder(fail_on))


@pytest.mark.parametrize("chunk", [1, 4, 64])
def test_images_do_not_depend_on_chunks_and_are_reused(path, chunk):
    if chunk == 1:
        interrupted(path)
    first = Recorder()
    again = Recorder()
    made = store(path, first, chunk=chunk)
    np.testing.assert_array_equal(made, flat(ROWS))
    assert first.rows() == [*range(6 if chunk == 1 else 0, 10)]
    assert isinstance(made, np.memmap) and not made.flags.writeable
    np.testing.assert_array_equal(store(path, again, chunk=5), flat(ROWS))
    assert not again.batches


@pytest.mark.parametrize("change", [{"rows": ROWS[::-1].copy()}, {"rows": ROWS[:9]}, {"other": 2}])
def test_other_content_is_made_anew_and_who_reads_the_old_keeps_it(path, change):
    old = store(path)
    again = Recorder()
    made = store(path, again, **change)
    assert sum(map(len, again.batches)) == len(made) == len(change.get("rows", ROWS))
    np.testing.assert_array_equal(old, flat(ROWS))


@pytest.mark.parametrize("damage", ['{"key": "x"}', "cut"])
def test_damaged_progress_or_a_truncated_array_makes_anew(path, damage):
    store(path)
    if damage == "cut":
        os.truncate(path, 200)
    else:
        path.with_name("faces.npy.progress.json").write_text(damage)
    again = Recorder()
    np.testing.assert_array_equal(store(path, again), flat(ROWS))
    assert len(again.rows()) == 10


@pytest.mark.parametrize("fail_on", [None, 4])
def test_damaged_images_are_made_again_and_no_others(path, fail_on):
    store(path) if fail_on is None else interrupted(path, fail_on)
    content = bytearray(path.read_bytes())
    content[(4 - 10) * 3 * SIZE**2] ^= 4
    path.write_bytes(content)
    again = Recorder()
    np.testing.assert_array_equal(store(path, again, chunk=2), flat(ROWS))
    assert again.rows() == [3, 4, 5] + ([9] if fail_on else [])


def test_images_of_another_shape_or_type_are_refused(path):
    with pytest.raises(ValueError, match=r"images \(3, 3, 4, 4\), got uint8 \(3, 3, 5, 5\)"):
        store(path, partial(flat, size=SIZE + 1))
    with pytest.raises(ValueError, match=r"expected uint8 .*, got float32"):
        store(path, lambda rows: flat(rows).astype(np.float32))


# --- chunks that are shared out


def squared(number):
    """Work that takes a while, and says in which process and with how many threads it was done."""
    time.sleep(0.02)
    return number**2, os.getpid(), torch.get_num_threads()


def refuses(number):
    raise ValueError(f"chunk {number} is refused")


def slow_images(rows, started):
    """Images of their rows' colours; leaves a file named after the process that makes them."""
    Path(started, str(os.getpid())).touch()
    time.sleep(0.1)
    return flat(rows)


@pytest.fixture(scope="module")
def cluster():
    # Workers that are killed are replaced by their nannies, which takes seconds.
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as running:
        yield running


@pytest.fixture
def scheduler(cluster, monkeypatch):
    monkeypatch.setenv(parallel.SCHEDULER, cluster.scheduler_address)
    with Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
    return cluster.scheduler_address


def shared_out(threads):
    return partial(parallel.shared_out, threads, partial(image_cache.require_same_code, [HERE]))


def results(work, count=COUNT):
    return dict(shared_out(2)(work, lambda number: number, count))


def test_threads_have_one_thread_each_and_give_it_back(monkeypatch):
    monkeypatch.delenv(parallel.SCHEDULER, raising=False)
    before = torch.get_num_threads()
    found = results(squared)
    assert all(found[number][0] == number**2 for number in range(COUNT))
    assert {threads for _, _, threads in found.values()} == {1}
    with pytest.raises(ValueError, match="is refused"):
        results(refuses)
    assert torch.get_num_threads() == before and results(squared, 0) == {}


def test_workers_share_and_an_error_there_is_raised_here(scheduler):
    found = results(squared)
    assert all(found[number][0] == number**2 for number in range(COUNT))
    makers = {pid for _, pid, _ in found.values()}
    assert len(makers) == 2 and os.getpid() not in makers
    assert {threads for _, _, threads in found.values()} == {1}
    with pytest.raises(ValueError, match="chunk . is refused"):
        results(refuses)


def test_images_are_the_same_bytes_as_of_one_process(scheduler, tmp_path, monkeypatch):
    generator = StyleGenerator(style_network())
    codes = generator.sample(10, seed=1)
    synthesize_to_store(generator, codes, tmp_path / "there.npy", chunk=3)
    monkeypatch.delenv(parallel.SCHEDULER)
    here = synthesize_to_store(generator, codes, tmp_path / "here.npy", chunk=3)
    assert (tmp_path / "there.npy").read_bytes() == (tmp_path / "here.npy").read_bytes()
    assert here.std() > 0


def test_a_killed_worker_loses_nothing(scheduler, tmp_path):
    rows = np.linspace(0, 1, 60, dtype=np.float32).reshape(20, 3)
    started = tmp_path / "started"
    killed = []
    started.mkdir()

    def kill():
        """Kill a worker in the midst of its first chunk."""
        while not (makers := list(started.iterdir())):
            time.sleep(0.01)
        killed.append(int(makers[0].name))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    make = partial(slow_images, started=str(started))
    share = shared_out(1)
    images = image_cache.fill_image_store(
        tmp_path / "i.npy", rows, make, (3, 4, 4), key="k", chunk=1, share=share
    )
    killer.join()
    makers = {int(path.name) for path in started.iterdir()}
    assert makers - {*killed} and os.getpid() not in makers
    np.testing.assert_array_equal(images, flat(rows))


def test_a_worker_with_other_code_and_a_scheduler_that_is_none_are_named(scheduler, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(image_cache, "code_of", lambda modules: f"other {os.getpid()}")
        with pytest.raises(
            ValueError, match=r"another version of faceaudit\.generators\.image_cache"
        ):
            results(squared)
    monkeypatch.setattr(parallel, "PATIENCE", 0.5)
    for address in ("tcp://127.0.0.1:9", "nowhere"):
        monkeypatch.setenv(parallel.SCHEDULER, address)
        with pytest.raises(ValueError, match=f"SCHEDULER={address}: no Dask scheduler"):
            results(squared)
