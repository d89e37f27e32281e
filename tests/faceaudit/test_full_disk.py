"""A disk that is full in the middle of an audit: one sentence, and the next run goes on."""

import errno
import os
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from face_endpoint import FaceEndpoint
from PIL import Image

from faceaudit.models import answers
from faceaudit.models.answers import AnswerCache
from faceaudit.report.gate import BROKEN, PASSED
from faceaudit.report.schema import read_report
from faceaudit.run import explain_full_disk
from faceworld.audit import main

FILE = """\
name: full
question: Does darker skin make the model err more often?
axes: {skin_colour: [light, dark]}
attribute: gender
classes: [female, male]
design: {tolerance: 0.05}
generator: {kind: images, table: index.csv}
people: {kind: table}
"""
ROOM = sqlite3.connect


@pytest.fixture
def audit(home, monkeypatch):
    """Write an audit of a folder of small pictures by the model at an address."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    draw = np.random.default_rng(1)
    rows = []
    for unit in range(40):
        red = int(draw.integers(30, 225))
        for darker, level in enumerate(("light", "dark")):
            file = f"{unit}-{level}.png"
            Image.new("RGB", (16, 16), (red - 20 * darker, 90, 90)).save(home / file)
            rows.append((file, unit, level, "male" if red > 127 else "female"))
    table = pd.DataFrame(rows, columns=["file", "unit", "skin_colour", "label"])
    table.to_csv(home / "index.csv", index=False)

    def written(url):
        model = f"kind: http, url: '{url}', read: faces.0.gender.p_male, version: '1', size: 16"
        path = home / "full.yml"
        path.write_text(f"{FILE}model: {{{model}, max_calls: 500, per_second: 1000}}\n", "utf-8")
        return str(path)

    return written


def stopped(capsys, folder):
    """The sentence of a run that had no room in a folder."""
    words = capsys.readouterr().err
    assert words.startswith(f"audit: {folder}: ") and words.count("\n") == 1, words
    assert "is kept: make room there and run the same command again" in words
    return words


def same_report(home, path, monkeypatch):
    """Whether the report is that of a run that was not disturbed, but for its dates."""
    place = home / "build" / "audits" / "full" / "report.json"
    reports = [read_report(place)]
    monkeypatch.setenv("HELPERS_ARTIFACTS", str(home / "undisturbed"))
    assert main(["run", path]) == PASSED
    reports.append(read_report(place))
    one, other = (report.model_dump(exclude={"made", "plan"}) for report in reports)
    plans = [report.plan.content for report in reports]
    for plan in plans:
        for dated in ("made", "sha256"):
            plan.pop(dated, None)
    return one == other and plans[0] == plans[1] and not reports[0].plan.departures


def test_no_room_for_answers(audit, home, monkeypatch, capsys):
    folder = home / "artifacts" / "audits" / "full" / "answers"

    def narrow(path, **options):
        base = ROOM(path, **options)
        base.execute("PRAGMA max_page_count = 6")  # what is more has SQLite's error of a full disk
        return base

    with FaceEndpoint() as endpoint:
        path = audit(endpoint.url)
        monkeypatch.setattr(answers.sqlite3, "connect", narrow)
        assert main(["run", path]) == BROKEN
        words = stopped(capsys, folder)
        assert "the answers of the model cannot be kept there (database or disk is full)" in words
        assert 5 < endpoint.calls < 75
        monkeypatch.setattr(answers.sqlite3, "connect", ROOM)
        assert main(["run", path]) == PASSED
        # All but the answer for which there was no room was kept.
        assert endpoint.calls == len(set(endpoint.answered)) + 1
        assert same_report(home, path, monkeypatch)


def test_no_room_at_any_time(audit, home, monkeypatch, capsys):
    left, fsync = 0, os.fsync

    def full(file):
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return fsync(file)

    places = []
    with FaceEndpoint() as endpoint:
        path = audit(endpoint.url)
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            for run in range(20):
                left = run // 2  # a file more in every second run: what is kept is not written anew
                if main(["run", path]) == PASSED:
                    break
                words = capsys.readouterr().err
                places.append(words.partition(" no room on the disk for ")[2].partition(" (")[0])
                assert "No space left" in words and words.count("\n") == 1
                assert str(home / "artifacts") in words or str(home / "build") in words
        assert [*dict.fromkeys(places)] == [
            "the plan",
            "images, tasks and answers",
            "the report",
        ]
        assert endpoint.calls == len(set(endpoint.answered)), "no image is asked about twice"
        assert same_report(home, path, monkeypatch)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the file that is always full")
def test_a_write_in_part_is_no_room_and_another_fault_is_left_as_it_is(tmp_path):
    said = f"{tmp_path}: no room on the disk for codes .*; what is finished is kept"
    full = open("/dev/full", "wb", 0)  # noqa: SIM115
    with full, pytest.raises(OSError, match=said), explain_full_disk("codes", tmp_path):
        np.save(full, np.zeros(10_000))
    with pytest.raises(OSError, match=said), explain_full_disk("codes", tmp_path):
        raise OSError(errno.EDQUOT, "Disk quota exceeded")
    with pytest.raises(OSError, match="^/other: no room"), explain_full_disk("codes", tmp_path):
        raise OSError(errno.ENOSPC, "No space left on device", "/other/file")
    with pytest.raises(FileNotFoundError), explain_full_disk("codes", tmp_path):
        (tmp_path / "none").read_text()


def test_answers_that_another_process_holds_are_told_apart(tmp_path):
    AnswerCache(tmp_path, "model").close()
    (tmp_path / "answers.sqlite").unlink()
    (tmp_path / "answers.sqlite").mkdir()
    with pytest.raises(OSError, match="unable to open .* see that this folder can be written to"):
        AnswerCache(tmp_path, "model")
