"""Chunks shared out: the same bytes whoever makes them, and nothing is lost with a worker."""

import os
import signal
import sys
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from distributed import Client, LocalCluster

from helpers import generators
from helpers.artifacts import image_store, sharing
from helpers.generators.batches import synthesize_to_store
from helpers.models.answers import answers_about

COUNT = 12
HERE = Path(sharing.__file__)


def squared(number):
    """Work that takes a while, and says in which process and with how many threads it was done."""
    time.sleep(0.02)
    return number**2, os.getpid(), torch.get_num_threads()


def brightness(images):
    """A model that is asked: brightness of red and blue, and NaN for what it does not find."""
    means = images.mean((2, 3)) / 255
    means[means[:, 0] < 0.4] = np.nan
    return pd.DataFrame({"red": means[:, 0], "blue": means[:, 2]})


def refuses(number):
    raise ValueError(f"chunk {number} is refused")


def slow_images(rows, started):
    """Images of their rows' colours; leaves a file named after the process that makes them."""
    Path(started, str(os.getpid())).touch()
    time.sleep(0.1)
    colours = np.round(rows * 255).astype(np.uint8)
    return np.broadcast_to(colours[:, :, None, None], (len(rows), 3, 4, 4))


@pytest.fixture(scope="module")
def cluster():
    # Workers that are killed are replaced by their nannies, which takes seconds.
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", processes=True
    ) as running:
        yield running


@pytest.fixture
def scheduler(cluster, monkeypatch):
    monkeypatch.setenv(sharing.SCHEDULER, cluster.scheduler_address)
    with Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
    return cluster.scheduler_address


def results(work, count=COUNT, threads=2):
    share = sharing.shared_out([HERE], threads)
    return dict(share(work, lambda number: number, count))


def test_threads_have_one_thread_each_and_give_it_back(monkeypatch):
    monkeypatch.delenv(sharing.SCHEDULER, raising=False)
    before = torch.get_num_threads()
    found = results(squared)
    assert sorted(found) == list(range(COUNT))
    assert all(found[number][0] == number**2 for number in found)
    assert {threads for _, _, threads in found.values()} == {1}
    assert torch.get_num_threads() == before
    assert results(squared, 0) == {}


def test_an_error_in_a_thread_is_raised_and_ends_the_rest(monkeypatch):
    monkeypatch.delenv(sharing.SCHEDULER, raising=False)
    with pytest.raises(ValueError, match="is refused"):
        results(refuses)


def test_workers_share_and_an_error_there_is_raised_here(scheduler):
    found = results(squared)
    assert {number: value for number, (value, _, _) in found.items()} == {
        number: number**2 for number in range(COUNT)
    }
    makers = {pid for _, pid, _ in found.values()}
    assert len(makers) == 2
    assert os.getpid() not in makers
    assert {threads for _, _, threads in found.values()} == {1}
    with pytest.raises(ValueError, match="chunk . is refused"):
        results(refuses)
    assert results(squared, 0) == {}


def test_images_and_answers_are_the_same_bytes_as_of_one_process(scheduler, tmp_path, monkeypatch):
    learned = generators.load_generator("wgan", size=32)
    codes = learned.sample(10, seed=1)
    there = synthesize_to_store(learned, codes, tmp_path / "there.npy", chunk=3)
    said = answers_about(there, brightness, tmp_path / "a", version="1", chunk=4)
    monkeypatch.delenv(sharing.SCHEDULER)
    here = synthesize_to_store(learned, codes, tmp_path / "here.npy", chunk=3)
    again = answers_about(here, brightness, tmp_path / "b", version="1", chunk=4)
    assert (tmp_path / "there.npy").read_bytes() == (tmp_path / "here.npy").read_bytes()
    assert here.std() > 0
    pd.testing.assert_frame_equal(said, again)
    files = [sorted(path.name for path in (tmp_path / name).iterdir()) for name in "ab"]
    assert files[0] == files[1]
    kept = [[(tmp_path / name / one).read_bytes() for one in files[0]] for name in "ab"]
    assert kept[0] == kept[1]


def test_a_killed_worker_loses_nothing(scheduler, tmp_path):
    rows = np.linspace(0, 1, 60, dtype=np.float32).reshape(20, 3)
    started = tmp_path / "started"
    started.mkdir()
    killed = []

    def kill():
        """Kill a worker in the midst of its first chunk."""
        while not (makers := list(started.iterdir())):
            time.sleep(0.01)
        killed.append(int(makers[0].name))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    images = image_store.fill(
        tmp_path / "images.npy",
        rows,
        partial(slow_images, started=str(started)),
        (3, 4, 4),
        key="k",
        chunk=1,
        share=sharing.shared_out([HERE], 1),
    )
    killer.join()
    makers = {int(path.name) for path in started.iterdir()}
    assert makers - set(killed)
    assert os.getpid() not in makers
    np.testing.assert_array_equal(images, slow_images(rows, str(started)))


def test_a_worker_with_other_code_refuses(scheduler, monkeypatch):
    monkeypatch.setattr(sharing.kept, "made_by", lambda source: "other code")
    with pytest.raises(ValueError, match=r"another version of helpers/artifacts/sharing\.py"):
        results(squared)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere", "ftp://127.0.0.1:80"])
def test_a_scheduler_that_does_not_answer_is_named(monkeypatch, address):
    monkeypatch.setenv(sharing.SCHEDULER, address)
    monkeypatch.setattr(sharing, "PATIENCE", 0.5)
    with pytest.raises(ValueError, match=f"SCHEDULER={address}: no Dask scheduler answers"):
        results(squared)


def test_a_scheduler_without_workers_is_named(monkeypatch):
    monkeypatch.setattr(sharing, "PATIENCE", 0.5)
    with LocalCluster(n_workers=0, dashboard_address=":0") as empty:
        monkeypatch.setenv(sharing.SCHEDULER, empty.scheduler_address)
        with pytest.raises(ValueError, match="the scheduler has no worker"):
            results(squared)


def test_dask_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setenv(sharing.SCHEDULER, "tcp://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match=r"pip install '\.\[cluster\]'"):
        results(squared)
