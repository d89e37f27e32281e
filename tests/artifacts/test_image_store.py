"""Sets of images: no image is made twice, no half of a set is read, damage is mended."""

import errno
import os

import numpy as np
import pytest
import torch

from helpers.artifacts import image_store

SIZE = 4
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


def store(path, make=flat, rows=ROWS, chunk=3, size=SIZE, **settings):
    key = image_store.content_key(rows, size=size, **settings)
    shape = (3, size, size)
    return image_store.fill(path, rows, make, shape, key=key, chunk=chunk)


def expected():
    return flat(ROWS)


def interrupted(path, fail_on=3):
    with pytest.raises(KeyboardInterrupt):
        store(path, Recorder(fail_on))


def test_pixels_and_layout(path):
    made = store(path)
    np.testing.assert_array_equal(made, expected())
    assert made.dtype == np.uint8 and isinstance(made, np.memmap) and not made.flags.writeable
    np.testing.assert_array_equal(np.load(path), expected())


@pytest.mark.parametrize("chunk", [1, 4, 10, 64])
def test_chunk_size_does_not_matter(path, chunk):
    np.testing.assert_array_equal(store(path, chunk=chunk), expected())


def test_unchanged_set_is_reused(path):
    store(path)
    before = path.stat()
    again = Recorder()
    np.testing.assert_array_equal(store(path, again, chunk=5), expected())
    assert not again.batches and path.stat().st_ino == before.st_ino


def test_interrupted_run_makes_only_the_missing_images(path):
    interrupted(path, fail_on=3)
    again = Recorder()
    np.testing.assert_array_equal(store(path, again, chunk=2), expected())
    assert again.rows() == [6, 7, 8, 9]


def test_unfinished_set_cannot_be_loaded(path):
    interrupted(path)
    with pytest.raises(ValueError, match="faces.npy: only 6 of 10 images are finished"):
        image_store.load(path)


@pytest.mark.parametrize("change", [{"rows": ROWS[::-1].copy()}, {"rows": ROWS[:9]}, {"other": 2}])
def test_other_content_is_made_anew(path, change):
    store(path)
    again = Recorder()
    made = store(path, again, **change)
    assert sum(map(len, again.batches)) == len(made) == len(change.get("rows", ROWS))


def test_old_array_survives_for_who_still_reads_it(path):
    old = store(path)
    store(path, rows=ROWS[::-1].copy())
    np.testing.assert_array_equal(old, expected())


@pytest.mark.parametrize(
    "damage", ["{", "[]", '{"key": "x"}', "", '{"key": "x", "chunks": [[0, 3]]}', "\xff", "[" * 99]
)
def test_damaged_progress_makes_anew(path, damage):
    store(path)
    (path.parent / "faces.npy.progress.json").write_text(damage)
    again = Recorder()
    np.testing.assert_array_equal(store(path, again), expected())
    assert len(again.rows()) == 10


@pytest.mark.parametrize("size", [0, 200])
def test_truncated_array_makes_anew(path, size):
    store(path)
    os.truncate(path, size)
    np.testing.assert_array_equal(store(path), expected())


def flip_a_byte(path, image):
    with path.open("r+b") as stream:
        stream.seek(image * 3 * SIZE**2 - 10 * 3 * SIZE**2, os.SEEK_END)
        (byte,) = stream.read(1)
        stream.seek(-1, os.SEEK_CUR)
        stream.write(bytes([byte ^ 4]))


@pytest.mark.parametrize("fail_on", [None, 4])
def test_damaged_images_are_made_again_and_no_others(path, fail_on):
    store(path) if fail_on is None else interrupted(path, fail_on)
    flip_a_byte(path, 4)
    again = Recorder()
    made = store(path, again, chunk=2)
    np.testing.assert_array_equal(made, expected())
    assert again.rows() == [3, 4, 5] + ([9] if fail_on else [])
    third = Recorder()
    store(path, third)
    assert not third.batches


def test_full_disk_on_the_way_keeps_finished_chunks(path, monkeypatch):
    write, calls = image_store._write, []

    def until_full(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(image_store, "_write", until_full)
        with pytest.raises(OSError, match="No space left"):
            store(path)
    again = Recorder()
    np.testing.assert_array_equal(store(path, again), expected())
    assert again.rows() == [6, 7, 8, 9]


def test_bad_images_are_refused(path):
    def wrong_shape(rows):
        return flat(rows, SIZE + 1)

    with pytest.raises(ValueError, match=r"images \(3, 3, 4, 4\), got uint8 \(3, 3, 5, 5\)"):
        store(path, wrong_shape)
    with pytest.raises(ValueError, match=r"expected uint8 .*, got float32"):
        store(path, lambda rows: flat(rows).astype(np.float32))
    with pytest.raises(ValueError, match="faces.npy: no rows to make images from"):
        store(path, rows=ROWS[:0])


def test_load_refuses_other_arrays(path):
    np.save(path, np.zeros((2, 3)))
    with pytest.raises(ValueError, match="faces.npy: expected uint8 images"):
        image_store.load(path)


def test_content_key_covers_rows_and_settings():
    rows = np.arange(6, dtype=np.float32)
    keys = {
        image_store.content_key(rows, size=1),
        image_store.content_key(rows, size=2),
        image_store.content_key(rows[::-1], size=1),
        image_store.content_key(rows.reshape(2, 3), size=1),
        image_store.content_key(rows.astype(np.int32), size=1),
    }
    assert len(keys) == 5
    assert image_store.content_key(rows, a=1, b=2) == image_store.content_key(rows.copy(), b=2, a=1)
    with pytest.raises(TypeError):
        image_store.content_key(rows, size=torch.ones(3))
