"""Damaged files: refused in one sentence, or read without a wrong row. Never a traceback."""

import random
from collections import Counter

import malformed
import pytest

SEEDS = 10


@pytest.mark.parametrize("form", malformed.FORMATS, ids=lambda form: form.name)
def test_whole_files_are_read_whole(tmp_path, form):
    for name, content in form.make().items():
        file = tmp_path / "whole" / name if name else tmp_path / "whole"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    found = malformed.rows_of(form.read(tmp_path / "whole"))
    assert sorted(found) == sorted(malformed.true_rows(form))


@pytest.mark.parametrize("form", malformed.FORMATS, ids=lambda form: form.name)
def test_damaged_files_are_refused_or_read_without_a_wrong_row(tmp_path, form):
    found = {
        (kind, seed): malformed.outcome(form, kind, seed, tmp_path)
        for kind in form.damage
        for seed in range(SEEDS)
    }
    wrong = {of: what for of, what in found.items() if what not in ("refused", "in part", "whole")}
    assert not wrong
    assert Counter(found.values())["refused"] > 0


def test_there_are_hundreds_of_them_and_all_are_damaged():
    assert SEEDS * sum(len(form.damage) for form in malformed.FORMATS) >= 750
    for form in malformed.FORMATS:
        for kind, damage in form.damage.items():
            content = sorted(form.make().items())[0][1]
            changed = [damage(random.Random(seed), content) != content for seed in range(5)]
            assert any(changed), (form.name, kind)
