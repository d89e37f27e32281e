"""Pickles of others: values and arrays as they were, and nothing that a pickle asks for is done."""

import os
import pickle
from contextlib import suppress

import numpy as np
import pytest

from helpers.utils.pickle_reading import Inert, array, read_pickle

VALUE = {"a": [1, 2.5, None, True, "text", b"bytes", 2**80], 3: ("x", {"deep": [()]}), "s": {1}}
ARRAYS = {
    "whole": np.array([[0, 4, 2], [1, 1, 9]]),
    "by column": np.asfortranarray([[1, 2, 3], [4, 5, 6]]),
    "big end first": np.eye(2, dtype=">f4"),
    "bytes": np.arange(3, dtype="u1"),
    "truths": np.array([True, False]),
    "one number": np.float64(2.5),
}


@pytest.mark.parametrize("protocol", range(6))
def test_values_are_those_of_the_ordinary_unpickler(protocol):
    expected = VALUE if protocol > 3 else {**VALUE, "s": None}  # before, a set is a call of set
    assert read_pickle(pickle.dumps(expected, protocol)) == expected


@pytest.mark.parametrize("protocol", range(2, 6))
def test_arrays_are_what_numpy_wrote(protocol):
    found = read_pickle(pickle.dumps(ARRAYS, protocol))
    assert found.keys() == ARRAYS.keys()
    for name, expected in ARRAYS.items():
        np.testing.assert_array_equal(array(found[name]), expected)


@pytest.mark.parametrize("values", [np.array(["a"]), np.array([None]), np.zeros(2, "i4,f4"), [1]])
def test_other_arrays_are_refused_when_they_are_asked_for(values):
    found = read_pickle(pickle.dumps(values))
    with pytest.raises((ValueError, TypeError)):
        array(found)


def test_numbers_are_no_addresses():
    """numpy takes a type on trust: as objects, these bytes would be addresses in memory."""
    content = pickle.dumps(np.array([7], "i8"), 2).replace(
        b"X\x02\x00\x00\x00i8", b"X\x02\x00\x00\x00O8"
    )
    with pytest.raises(ValueError, match="something else than numbers"):
        array(read_pickle(content))


class Call:
    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", range(6))
def test_nothing_is_called(tmp_path, protocol):
    ran = tmp_path / "ran"
    for call in (Call(os.mkdir, str(ran)), Call(eval, f"__import__('os').mkdir({str(ran)!r})")):
        content = pickle.dumps({"x": [call]}, protocol)
        (found,) = read_pickle(content)["x"]
        assert isinstance(found, Inert) and not ran.exists()
        pickle.loads(content)  # it would have worked
        ran.rmdir()


def test_what_a_pickle_sets_is_gone_with_it():
    sets = b"\x80\x02cnumpy\ndtype\nN}X\x04\x00\x00\x00codeX\x01\x00\x00\x00Os\x86b."
    for content in (sets, sets.replace(b"numpy\ndtype", b"_codecs\nencode")):
        with suppress(ValueError):
            read_pickle(content)
        assert array(read_pickle(pickle.dumps(np.eye(2)))).tolist() == np.eye(2).tolist()
