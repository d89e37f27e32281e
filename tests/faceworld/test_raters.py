import numpy as np
import pandas as pd
import pytest

from faceaudit import annotations as raters
from faceaudit.annotations.schema import n_levels
from faceworld import crowd

ASKED = ["gender", "skin_colour", "makeup"]


@pytest.fixture(scope="module")
def answers() -> pd.DataFrame:
    """Accepted first answers of the simulated crowd, with its numbers of raters."""
    shown = np.random.default_rng(3).random((300, len(ASKED)))
    shown = pd.DataFrame(shown, [f"{k:03}" for k in range(300)], ASKED)
    made = crowd.annotate(shown, 5, seed=5, stage="test")
    return made[(made["status"] == "accepted") & (made["visit"] == 0)]


@pytest.fixture(scope="module")
def tidy(answers) -> pd.DataFrame:
    """The same as a reader gives them."""
    long = answers.melt(
        ["image_id", "rater", "seconds", "submitted_at"], ASKED, "attribute", "level"
    )
    long["annotator_id"] = "r" + long.pop("rater").astype("str").str.zfill(2)
    as_text = ["image_id", "attribute", "annotator_id"]
    return long.astype(dict.fromkeys(as_text, "category"))


def slow_distances(tidy: pd.DataFrame) -> dict[str, float]:
    """Mean distance from the others' mean, answer by answer."""
    given = {}
    for row in tidy.itertuples():
        given.setdefault((row.image_id, row.attribute), {})[row.annotator_id] = row.level
    found = {}
    for (_, attribute), by_rater in given.items():
        for rater, level in by_rater.items():
            rest = [other for name, other in by_rater.items() if name != rater]
            if rest:
                away = abs(level - sum(rest) / len(rest)) / (n_levels(attribute) - 1)
                found.setdefault(rater, []).append(away)
    return {rater: sum(values) / len(values) for rater, values in found.items()}


def test_distances_are_those_of_a_loop(tidy):
    uneven = tidy.sample(frac=0.4, random_state=1)  # some questions keep one answer
    table = raters.screen_raters(uneven)
    slow = slow_distances(uneven)
    assert table["distance"].dropna().to_dict() == pytest.approx(slow, abs=1e-12)
    assert table["answers"].sum() == len(uneven)
    assert table["compared"].sum() < len(uneven)


def test_the_flags_are_the_rule_written_out(tidy):
    table = raters.screen_raters(tidy)
    distance = table["distance"].to_numpy()
    deviation = np.abs(distance - np.median(distance))
    limit = np.median(distance) + 3 * 1.4826 * np.median(deviation)
    assert (table["flagged"] == (distance > limit)).all()
    assert 0 < table["flagged"].sum() < 12


def test_careless_raters_are_found(tidy):
    careless = np.flatnonzero(crowd.rater_pool(5).random > 0) + 1
    table = raters.screen_raters(tidy)
    assert len(careless) == 4
    assert table.loc[[f"r{number:02}" for number in careless], "flagged"].all()


def test_gold_questions_are_counted_by_rater(tidy):
    gold = {("000", "makeup"): [0, 1], ("001", "makeup"): {2}}
    table = raters.screen_raters(tidy, gold=gold)
    assert table["gold"].sum() == 10
    for rater, row in table[table["gold"] > 0].iterrows():
        own = tidy[(tidy["annotator_id"] == rater) & (tidy["attribute"] == "makeup")]
        right = [
            given.level in gold[given.image_id, "makeup"]
            for given in own.itertuples()
            if given.image_id in ("000", "001")
        ]
        assert row["gold_right"] == pytest.approx(np.mean(right))
