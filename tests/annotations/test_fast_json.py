"""The fast reader gives what the strict one gives, or nothing."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.annotations import text
from helpers.annotations.fast_json import undoubted

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text('":, \\aä', max_size=5),
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.dictionaries(st.text('":, \\aä', max_size=3), inside, max_size=3)
    ),
    max_leaves=6,
)
records = st.lists(st.dictionaries(st.text(max_size=3), anything, max_size=3), max_size=4)
quick = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(path, records=text.json_records) -> list:
    with text.opened(path, "a list") as stream:
        return list(records(path, stream, "a list"))


@quick
@given(records, st.booleans(), st.sampled_from([None, 1]), st.sampled_from(["utf-8", "utf-8-sig"]))
def test_nothing_depends_on_the_reader(tmp_path, records, ascii, indent, encoding):
    path = tmp_path / "list.json"
    path.write_text(json.dumps(records, ensure_ascii=ascii, indent=indent), encoding=encoding)
    assert repr(read(path)) == repr(read(path, text.strict_records))


def test_what_is_not_doubtful_is_read_fast(tmp_path):
    path = tmp_path / "list.json"
    records = [{"a": {"b": [{"c": 1}]}}, {"a": ': "x": ä'}, {"a": "\\"}]
    for ascii in (False, True):
        path.write_text(json.dumps(records, ensure_ascii=ascii), encoding="utf-8")
        assert list(undoubted(path))[:1] == records[:1]
    path.write_text('[{"a" : 1, "b":": ,"}]')
    assert list(undoubted(path)) == [{"a": 1, "b": ": ,"}]


@pytest.mark.parametrize(
    "doubtful",
    [
        '{"a": 1, "a": 2}',
        '{"a": 1, "a"\t: "\\u0022: x"}',
        '{"a": {"b": 1, "b" : 1}}',
        '{"a": ":", "a":1}',
        "[1]",
        "NaN",
        '{"a": "\\ud800"}',
        '{"a": %s}' % ("9" * 5_000),
    ],
)
def test_what_is_doubtful_is_left_to_the_strict_reader(tmp_path, doubtful):
    path = tmp_path / "list.json"
    path.write_text(f'[{{"id": 1}}, {doubtful}]')
    assert list(undoubted(path))[-1] is None
    with pytest.raises(ValueError, match="list.json: line 1: "):
        read(path)


def test_reading_goes_on_behind_a_doubtful_record(tmp_path):
    path = tmp_path / "list.json"
    path.write_text('[{"id": 1}, {"id": NaN}, {"id": 3}]')
    assert [number for number, _ in read(path)] == [1, 2, 3]
    assert [record["id"] for _, record in read(path)][::2] == [1, 3]
