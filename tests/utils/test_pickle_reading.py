"""The machine without calls says what the ordinary unpickler would make, and makes nothing."""

import io
import os
import pickle
from collections import OrderedDict

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from helpers.utils.pickle_reading import Name, Note, PickleError, read_pickle

SIMPLE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=8),
    st.binary(max_size=8),
)
VALUES = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.text(max_size=4) | st.integers(), inner, max_size=4),
    ),
    max_leaves=8,
)


def read(content: bytes) -> object:
    return read_pickle(io.BytesIO(content))


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(VALUES, st.integers(3, 5))
def test_plain_values_are_those_of_the_ordinary_unpickler(value, protocol):
    assert read(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", [0, 1, 2])
def test_old_protocols(protocol):
    value = {"a": [1, 2.5, None, True, "text", (1, 2), (), 2**70, -3]}
    assert read(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", [4, 5])
def test_sets_are_lists_in_the_end(protocol):
    assert read(pickle.dumps([{1}, frozenset({"a"})], protocol)) == [[1], ["a"]]


class Attributes:
    def __init__(self) -> None:
        self.size = 4


class Keywords:
    def __getnewargs_ex__(self) -> tuple:
        return (1,), {"size": 4}


def test_objects_become_notes():
    found = read(pickle.dumps(Attributes(), 4))
    assert isinstance(found, Note) and found.called == Name(__name__, "Attributes")
    assert (found.arguments, found.state) == ((), {"size": 4})
    ordered = read(pickle.dumps(OrderedDict(a=1), 4))
    assert (str(ordered.called), ordered.items) == ("collections.OrderedDict", {"a": 1})
    assert isinstance(read(pickle.dumps(Keywords(), 4)), Note)


def test_what_refers_to_itself():
    value: list = []
    value.append((value,))
    found = read(pickle.dumps(value, 4))
    assert found[0][0] is found


def test_pickles_one_after_the_other():
    stream = io.BytesIO(pickle.dumps(1) + pickle.dumps("two") + b"rest")
    assert (read_pickle(stream), read_pickle(stream), stream.read()) == (1, "two", b"rest")


def test_pointers_outside_only_where_they_are_wanted():
    content = b"\x80\x02X\x01\x00\x00\x00aQ."
    keys: list = []
    assert read_pickle(io.BytesIO(content), keys).key == "a" and keys == ["a"]
    with pytest.raises(PickleError, match="BINPERSID"):
        read(content)


def test_a_call_of_a_call_is_a_note():
    """As attacks do that get at a function by getattr."""
    content = b"cbuiltins\ngetattr\n(cos\npath\nVjoin\ntR(Va\ntR."
    found = read(content)
    assert isinstance(found.called, Note) and found.called.called == Name("builtins", "getattr")
    assert pickle.loads(content) == os.path.join("a")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b".",
        b"N",
        b"N0.",
        b"(.",
        b"N\x86.",
        b"(N1.",
        b"]Na",
        b"NNs.",
        b"}NNNu.",
        b"\xff.",
        b"Rb.",
    ],
)
def test_damage_has_a_place(content):
    with pytest.raises(PickleError) as caught:
        read(content)
    assert caught.value.place >= 0
