"""Files are read through a window; where its edge falls must not matter."""

import json
from pathlib import Path
from time import process_time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.annotations import text

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=3), inside),
    max_leaves=6,
)
records = st.lists(st.dictionaries(st.text(max_size=3), anything, max_size=3), max_size=4)
quick = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(path: Path) -> list:
    with text.opened(path, "a list") as stream:
        return list(text.json_records(path, stream, "a list"))


def outcome(path: Path) -> list | str:
    try:
        return read(path)
    except ValueError as error:
        return str(error)


@quick
@given(records, st.sampled_from([None, 1]), st.integers(1, 40), st.booleans())
def test_records_do_not_depend_on_the_window(tmp_path, monkeypatch, records, indent, block, mark):
    monkeypatch.setattr(text, "_BLOCK", block)
    parts = [json.dumps(record, indent=indent, ensure_ascii=False) for record in records]
    whole = "[\n" + "\n,".join(parts) + " ]\n"
    path = tmp_path / "list.json"
    path.write_bytes(whole.encode("utf-8-sig" if mark else "utf-8"))
    assert read(path) == list(enumerate(records, start=1))


@quick
@given(
    records.filter(bool),
    st.integers(1, 40),
    st.floats(0, 1, exclude_max=True),
    st.sampled_from(["", "\n", "}", "]", ",", '"', "\\", "{", "1", "tru", "-", "\\u12"]),
    st.integers(0, 3),
)
def test_errors_do_not_depend_on_the_window(
    tmp_path, monkeypatch, records, block, place, put, lost
):
    whole = "[" + ",\n".join(map(json.dumps, records)) + "]"
    at = int(place * len(whole))
    path = tmp_path / "list.json"
    path.write_text(whole[:at] + put + whole[at + lost :] or "[", encoding="utf-8")
    at_once = outcome(path)
    monkeypatch.setattr(text, "_BLOCK", block)
    assert outcome(path) == at_once


@pytest.mark.parametrize("behind", ["x", "]"])
def test_what_follows_the_list_is_not_lost_in_silence(tmp_path, behind):
    path = tmp_path / "list.json"
    path.write_text('[{"id": 1}]\n' + behind)
    with pytest.raises(ValueError, match="line 2: .*text after the end of the list"):
        read(path)


def test_a_long_record_is_not_decoded_once_for_every_block(tmp_path, monkeypatch):
    path = tmp_path / "list.json"
    path.write_text(json.dumps([{"text": ["x" * 10] * 5000}]))
    monkeypatch.setattr(text, "_BLOCK", 16)
    tried = []
    decode = json.JSONDecoder.raw_decode

    def counted(self, *arguments):
        tried.append(1)
        return decode(self, *arguments)

    monkeypatch.setattr(json.JSONDecoder, "raw_decode", counted)
    assert len(read(path)) == 1
    assert len(tried) < 20


def test_bytes_that_are_not_text_are_an_error_wherever_they_stand(tmp_path):
    path = tmp_path / "list.json"
    path.write_bytes(b"[" + b'{"id": 1},\n' * 100_000 + b'{"id": "\xff"}]')
    with pytest.raises(ValueError, match="line 100001: .*not UTF-8"):
        read(path)


@pytest.mark.parametrize("twice", [False, True])
def test_a_header_of_very_many_columns_takes_no_longer_for_each(tmp_path, twice):
    names = [f"column {number}" for number in range(50_000)]
    path = tmp_path / "table.csv"
    path.write_text(",".join([*names, names[7]] if twice else names) + "\n")
    start = process_time()
    with text.opened(path, "a table") as stream:
        if twice:
            with pytest.raises(ValueError, match="row 1: .*'column 7' more than once"):
                text.csv_rows(path, stream, "a table")
        else:
            assert text.csv_rows(path, stream, "a table")[0] == names
    assert process_time() - start < 5  # a minute where each is looked for among all
