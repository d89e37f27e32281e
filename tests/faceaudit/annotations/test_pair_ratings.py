import json

import numpy as np
import pandas as pd
import pytest
from simulated import counts

from faceaudit.annotations.pair_ratings import ADD_EXPORT, PAIR_SCALES, read_pair_export
from faceaudit.file.parts import AnnotationTool, kinds_of
from faceaudit.utils.errors import InputError
from faceworld.pair_crowd import pair_ids

LEVELS = PAIR_SCALES["identity"]
START = pd.Timestamp("2025-10-06T08:00:00Z")


def pairs_table(n: int = 4) -> pd.DataFrame:
    """Pairs of one image with the following ones, the even ones positive."""
    kind = np.where(np.arange(n) % 2 == 0, "positive", "negative")
    pairs = pd.DataFrame({"first": 0, "second": np.arange(1, n + 1), "kind": kind})
    return pairs.set_index(pair_ids(pairs))


def annotation(level, rater: int, **about) -> dict:
    choices = level if isinstance(level, list) else [level]
    value = {"rating": level} if isinstance(level, int) else {"choices": choices}
    result = [{"from_name": "identity", "to_name": "first", "type": "choices", "value": value}]
    # Later raters have the lower numbers, so that order in the file is not order of time.
    created = (START - pd.Timedelta(minutes=rater)).isoformat()
    about = {"completed_by": rater, "created_at": created, "lead_time": 3.0} | about
    return {"id": rater, "was_cancelled": False, "result": result} | about


def usual(kind: str, raters: int = 9) -> list[dict]:
    """Good answers of as many raters, "same" for positive pairs and "different" for negative."""
    level = LEVELS[0] if kind == "positive" else LEVELS[4]
    return [annotation(level, rater) for rater in range(1, raters + 1)]


def export(tmp_path, annotations: dict[str | None, list[dict]]):
    tasks = (
        {"id": 1, "data": {"first": "a", "second": "b", "pair_id": pair}, "annotations": records}
        for pair, records in annotations.items()
    )
    path = tmp_path / "pairs.json"
    path.write_text("[" + ",\n".join(map(json.dumps, tasks)) + "]", encoding="utf-8")
    return path


def full(pairs: pd.DataFrame) -> dict:
    return {pair: usual(kind) for pair, kind in pairs["kind"].items()}


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (annotation("Certainly same", 9), "unknown level"),
        (annotation(["Likely same", "Not sure"], 9), "several levels"),
        (annotation(LEVELS[0], 9, was_cancelled=True), "cancelled assignment"),
        (annotation(LEVELS[0], 8), "duplicate"),
        (annotation(LEVELS[0], 9, completed_by=None), "missing annotator"),
        (annotation(LEVELS[0], 9, result=[]), "no answer"),
    ],
)
def test_a_pair_that_loses_a_rating_is_dropped_and_both_are_counted(tmp_path, bad, reason):
    pairs = pairs_table()
    annotations = full(pairs)
    annotations[pairs.index[2]] = [*usual("positive", 8), bad]
    ratings, report, _ = read_pair_export(export(tmp_path, annotations), pairs)
    assert ratings.index.tolist() == pairs.index[[0, 1, 3]].tolist()
    assert counts(report) == {reason: 1, "missing raters": 1}
    where = report.set_index("reason")
    place = where.loc[reason, ["file", "place"]].tolist()
    assert place == ["pairs.json", f"task 1, annotation {8 if reason == 'duplicate' else 9}"]
    assert where.loc["missing raters", "field"] == f"pair_id {pairs.index[2]}"
    assert where.loc["missing raters", ["unit", "dropped"]].tolist() == ["pair", True]


def test_of_more_ratings_the_first_by_time_are_kept(tmp_path):
    pairs = pairs_table()
    annotations = full(pairs)
    # Rater 11 came first and rater 1 last.
    levels = [4, 4, *[0] * 8, 1]
    annotations[pairs.index[0]] = [
        annotation(LEVELS[level], rater) for rater, level in enumerate(levels, start=1)
    ]
    ratings, report, _ = read_pair_export(export(tmp_path, annotations), pairs)
    assert ratings.loc[pairs.index[0]].tolist() == [1, *[0] * 8]
    assert counts(report) == {"surplus rating": 2}
    fewer, *_ = read_pair_export(tmp_path / "pairs.json", pairs, n_raters=3)
    assert fewer.shape == (4, 3)


def test_reversed_polarity_is_one_clear_error(tmp_path):
    pairs = pairs_table()
    # A rating is counted from 1: here 5 says "same", as in a list exported in reverse.
    annotations = {
        pair: [annotation(5 if kind == "positive" else 1, rater) for rater in range(9)]
        for pair, kind in pairs["kind"].items()
    }
    with pytest.raises(ValueError, match=r"pairs.json: reversed polarity: .* 4\.00, .* 0\.00"):
        read_pair_export(export(tmp_path, annotations), pairs, stars={"identity": 5})
    # Without both kinds nothing can be compared.
    positive = pairs[pairs["kind"] == "positive"]
    path = tmp_path / "pairs.json"
    assert len(read_pair_export(path, positive, stars={"identity": 5}).ratings) == 2
    with pytest.raises(ValueError, match="'identity' has a rating of 5 and does not say"):
        read_pair_export(path, positive)
    with pytest.raises(ValueError, match="stars: {'identity': 5} was expected"):
        read_pair_export(path, positive, stars={"identity": 10})


def test_a_page_of_pairs_is_read_by_the_names_of_its_pictures(tmp_path):
    """A page knows images alone: what it saves calls a pair's picture `image_id`."""
    pairs = pairs_table()
    path = export(tmp_path, full(pairs))
    as_pairs = read_pair_export(path, pairs).ratings
    tasks = json.loads(path.read_text(encoding="utf-8"))
    for task in tasks:
        task["data"] = {"image_id": task["data"]["pair_id"]}
    path.write_text(json.dumps(tasks), encoding="utf-8")
    pd.testing.assert_frame_equal(read_pair_export(path, pairs).ratings, as_pairs)


def test_every_tool_of_an_audit_file_has_a_reader_of_pairs():
    assert set(ADD_EXPORT) == set(kinds_of(AnnotationTool))
    with pytest.raises(InputError, match="no tool of prolific among label-studio, page, mturk"):
        read_pair_export("x", pairs_table(), tool="prolific")
