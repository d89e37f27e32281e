"""A machine that reads pickles of arrays, and runs nothing that they ask for."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from helpers.annotations.pickled_arrays import read_arrays

ARRAYS = {"gender": np.array([[0, 4, 2], [1, 1, 9]]), "of floats": np.eye(2, dtype=">f4")}


def write(tmp_path, content: object, protocol: int = 4) -> Path:
    path = tmp_path / "annotations.pkl"
    path.write_bytes(pickle.dumps(content, protocol))
    return path


@pytest.mark.parametrize("protocol", range(2, 6))
def test_arrays_are_what_numpy_wrote(tmp_path, protocol):
    found = read_arrays(write(tmp_path, ARRAYS, protocol))
    assert found.keys() == ARRAYS.keys()
    for name, expected in ARRAYS.items():
        np.testing.assert_array_equal(found[name], expected)
    by_column = {"gender": np.asfortranarray([[1, 2, 3], [4, 5, 6]])}
    found = read_arrays(write(tmp_path, by_column, protocol))
    assert found["gender"].tolist() == [[1, 2, 3], [4, 5, 6]]


class Attack:
    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", range(2, 6))
@pytest.mark.parametrize("within", [lambda bad: bad, lambda bad: {"gender": bad}])
def test_nothing_in_a_pickle_is_run(tmp_path, protocol, within):
    ran = tmp_path / "ran"
    for bad in (Attack(os.mkdir, str(ran)), Attack(eval, f"__import__('os').mkdir({str(ran)!r})")):
        path = write(tmp_path, within(bad), protocol)
        with pytest.raises(
            ValueError, match=r"annotations.pkl: byte \d+: expected .*which is not run"
        ):
            read_arrays(path)
    assert not ran.exists()
    pickle.loads(path.read_bytes())  # the attack would have worked
    assert ran.exists()


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_damage_is_one_sentence(tmp_path, protocol):
    whole = pickle.dumps(ARRAYS, protocol)
    rng = np.random.default_rng(protocol)
    path = tmp_path / "annotations.pkl"
    for _ in range(150):
        damaged = bytearray(whole[: rng.integers(1, len(whole))])
        damaged[rng.integers(len(damaged))] = rng.integers(256)
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="annotations.pkl: "):
            read_arrays(path)
