"""Whoever adds a kind of tool, or of people, is told where its entry is missing."""

import json
from types import SimpleNamespace
from typing import get_args

import jinja2
import numpy as np
import pytest

from faceaudit import annotations
from faceaudit.annotations.pair_ratings import ADD_EXPORT
from faceaudit.file.parts import ADDRESS_START, AnnotationTool, PeopleSettings, kinds_of
from faceaudit.file.specification import Specification
from faceaudit.people.labels import labels_by_people
from faceaudit.people.tools import TOOLS
from faceaudit.utils.errors import InputError
from faceaudit.words import render_sentences

KINDS_OF_TOOLS = kinds_of(AnnotationTool)
PEOPLE_WHO_LOOKED = "that of most of the people who looked"
LABELS = {
    "reader": "the answer that a classifier read off the image in place of people",
    "simulated": "that of most of the simulated people who looked",
    "table": "the label of the image",
    **dict.fromkeys(KINDS_OF_TOOLS, PEOPLE_WHO_LOOKED),
}
IMAGES = np.zeros((2, 3, 32, 32), np.uint8)


def kinds_of_people():
    """All kinds that an audit file may give under `people`."""
    union, _ = get_args(PeopleSettings)
    return kinds_of(*get_args(union))


def task(labelled_by):
    data = SimpleNamespace(tells=None, answers="0 or 1", labelled_by=labelled_by)
    report = SimpleNamespace(kind="classification", data=data)
    (sentences,) = render_sentences("task", report, "error", "error rate")
    return sentences


@pytest.mark.parametrize("table", [TOOLS, ADDRESS_START, ADD_EXPORT])
def test_every_table_has_an_entry_for_each_kind_of_tool(table):
    assert sorted(table) == sorted(KINDS_OF_TOOLS)


@pytest.mark.parametrize("kind", kinds_of_people())
def test_each_kind_of_people_has_words_for_what_an_error_is(kind):
    assert task(kind) == (
        f"The model answers 0 or 1; an error is an answer other than {LABELS[kind]}."
    )


def test_a_kind_without_words_is_an_error():
    with pytest.raises(jinja2.UndefinedError, match="a new tool"):
        task("a new tool")


def test_simulated_people_answer_in_no_tool(tmp_path):
    audit = Specification(
        name="mine", question="?", axes=["skin_colour"], design={"tolerance": 0.1}
    )
    with pytest.raises(InputError, match="people.kind is simulated, one of label-studio") as raised:
        labels_by_people(IMAGES, ["gender"], audit, tmp_path)
    assert raised.value.field == "people.kind"


class TestExports:
    """An export is read once a process, and again after it changed."""

    def write_export(self, path, choice):
        result = {"from_name": "gender", "value": {"choices": [choice]}}
        visit = {"id": 1, "completed_by": 7, "created_at": "2026-01-01", "result": [result]}
        path.write_text(json.dumps([{"id": 1, "data": {"image_id": "a"}, "annotations": [visit]}]))

    def test_an_export_is_parsed_once(self, tmp_path, monkeypatch):
        export = tmp_path / "export.json"
        self.write_export(export, "Male")
        parsed = []
        read = annotations.read_label_studio

        def counted(*arguments, **settings):
            parsed.append(arguments)
            return read(*arguments, **settings)

        monkeypatch.setattr(annotations, "read_label_studio", counted)
        levels = [
            TOOLS["label-studio"].read_export([export], ["a"]).frame["level"].tolist()
            for _ in range(3)
        ]
        assert levels == [[4]] * 3
        assert len(parsed) == 1

    def test_an_export_that_changed_is_read_again(self, tmp_path):
        export = tmp_path / "export.json"
        tool = TOOLS["label-studio"]
        found = []
        for choice in ("Male", "Female"):
            self.write_export(export, choice)
            assert tool.find_export(tmp_path, {"a"}) == [export]
            found += tool.read_export([export], ["a"]).frame["level"].tolist()
        assert found == [4, 0]
