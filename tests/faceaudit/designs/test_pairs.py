"""The verification route: pairs with similarities, by group, at one threshold."""

import numpy as np
import pandas as pd
import pytest

import faceaudit
from faceaudit.file.specification import Specification
from faceaudit.report.page import page
from faceaudit.verification import fixed_threshold

BASE = {
    "name": "faces",
    "kind": "verification",
    "question": "Does the recogniser mix up people of one group more often?",
    "pairs": "pairs.csv",
    "reference": "a",
    "design": {"tolerance": 0.05},
}


def file(columns=None, **model) -> Specification:
    model = {"kind": "table", **(model or {"threshold": 0.5})}
    return Specification(**BASE, model=model, columns=columns or {})


def pairs(identities=60, pictures=6, worse=0.9, seed=0) -> pd.DataFrame:
    """Two groups, in the second of which strangers look more alike."""
    random, rows = np.random.default_rng(seed), []
    for group, shift in (("a", 0.0), ("b", worse)):
        for one in range(identities):
            other = (one + 1) % identities
            ease = random.normal(0, 0.3)
            for _ in range(pictures):
                rows.append((group, one, one, 1, 3 + ease + random.normal()))
                rows.append((group, one, other, 0, shift + random.normal() - 1))
    table = pd.DataFrame(rows, columns=["group", "first", "second", "same", "similarity"])
    for side in ("first", "second"):
        table[side] = table["group"] + table[side].astype(str)
    return table


@pytest.fixture(scope="module")
def analysed():
    data = faceaudit.Pairs.from_table(pairs(), file())
    plan = faceaudit.make_plan(file())
    return data, plan, data.analyse(plan)


def test_rates_are_those_of_one_threshold_with_ratios_and_counts(analysed):
    data, _, tables = analysed
    frame = data.frame
    expected = fixed_threshold(frame["similarity"], frame["same"], frame["group"], 0.5)
    own = tables["rates"]
    for column in ("fnmr", "fmr", "positives", "negatives"):
        np.testing.assert_allclose(own[column], expected[column])
    assert own["fmr_ratio"].iloc[0] == 1
    assert own["fmr_ratio"].iloc[1] == own["fmr"].iloc[1] / own["fmr"].iloc[0]
    assert (own["fmr_low"] < own["fmr"]).all() and (own["fmr"] < own["fmr_high"]).all()


def test_the_gap_is_found_and_told(analysed):
    data, plan, tables = analysed
    found = tables["error rates by group"].set_index("measure")
    assert found.loc["FMR at threshold", "verdict"] == "exceeds"
    report = faceaudit.build_report(data, tables, plan, plan)
    assert report.verdict == "exceeds" and report.plan.kept
    assert report.disparities[1].sentence.startswith("b: the false match rate is ")
    code, lines = faceaudit.gate(report)
    assert code == 1 and len(lines) == 1


def test_the_threshold_can_be_set_by_the_reference():
    one = file(fmr=0.05)
    data, plan = faceaudit.Pairs.from_table(pairs(), one), faceaudit.make_plan(one)
    rates = data.analyse(plan)["rates"].set_index("group")
    assert 0 < rates.loc["a", "fmr"] <= 0.05 < rates.loc["b", "fmr"]
    with pytest.raises(
        ValueError, match=r"model.fmr is 0.001, in the reference 'a' that is not es"
    ):
        data.analyse(plan | {"fmr": 0.001})


def test_pictures_are_not_taken_for_people():
    """A pair of one person has one identity, and a pair of two people has two."""
    table = pairs()
    pictures = table.assign(
        first=[f"{name}-{row}.png" for row, name in enumerate(table["first"])],
        second=[f"{name}-{row}.jpg" for row, name in enumerate(table["second"])],
    )
    with pytest.raises(ValueError, match="row 2: column 'same' says a pair of one person") as told:
        faceaudit.Pairs.from_table(pictures, file())
    assert "columns 'first' and 'second' have the identities 'a0-0.png' and" in str(told.value)
    assert f"({(table['same'] == 1).sum()} such rows)" in str(told.value)
    assert "\n" not in str(told.value)
    table.loc[5, "second"] = table.loc[5, "first"]
    with pytest.raises(ValueError, match="row 7: column 'same' says a pair of two people, but"):
        faceaudit.Pairs.from_table(table, file())


def test_an_identity_is_the_same_as_a_whole_number_and_as_a_float():
    table = pairs()
    number = pd.factorize(pd.concat([table["first"], table["second"]]))[0]
    first, second = number[: len(table)], number[len(table) :].astype(float)
    found = faceaudit.Pairs.from_table(table.assign(first=first, second=second), file()).frame
    assert (found["first"] == found["second"]).tolist() == (table["same"] == 1).tolist()
    texts = table.assign(first=first.astype(str), second=second.astype(str))  # as in a CSV file
    assert faceaudit.Pairs.from_table(texts, file()).frame.equals(found)


@pytest.mark.parametrize("column", ["group", "first", "same", "similarity"])
@pytest.mark.parametrize("text", ["nan", "NA", "#N/A"])
def test_a_missing_value_of_a_pair_is_refused_by_row(column, text):
    table = pairs().astype(object)
    table.loc[3, column] = text
    with pytest.raises(ValueError, match=f"column '{column}', row 5 is '{text}', "):
        faceaudit.Pairs.from_table(table, file())


@pytest.mark.parametrize("of_similarity", [{"threshold": 0.5}, {"fmr": 0.05}])
def test_a_table_of_distances_is_that_of_similarities_the_other_way_round(of_similarity):
    table = pairs()
    distances = table.assign(apart=8 - table["similarity"]).drop(columns="similarity")
    of_distance = {"threshold": 7.5} if "threshold" in of_similarity else of_similarity
    own = file({"distance": "apart"}, **of_distance)
    reports = []
    for rows, specification in ((table, file(**of_similarity)), (distances, own)):
        data = faceaudit.Pairs.from_table(rows, specification)
        plan = faceaudit.make_plan(specification)
        reports.append(faceaudit.build_report(data, data.analyse(plan), plan, plan))
    similar, apart = reports
    assert apart.threshold == pytest.approx(8 - similar.threshold)
    for row, other in zip(similar.match_rates, apart.match_rates, strict=True):
        assert row.model_copy(update={"threshold": other.threshold}) == other
    assert similar.disparities == apart.disparities
    assert "a distance of" in page(apart) and "a distance of" not in page(similar)
    assert any("The distances were in the table" in limit for limit in apart.limits)
    with pytest.raises(ValueError, match=r"is this a distance\? .* columns\.distance"):
        faceaudit.Pairs.from_table(distances.rename(columns={"apart": "similarity"}), file())
    with pytest.raises(ValueError, match=r"is this a similarity\? .* columns\.similarity"):
        faceaudit.Pairs.from_table(table.rename(columns={"similarity": "apart"}), own)


def test_a_threshold_of_distances_is_none_of_similarities():
    with pytest.raises(ValueError, match=r"threshold is -0\.5, a distance above 0"):
        file({"distance": "apart"}, threshold=-0.5)
    with pytest.raises(ValueError, match=r"columns\.distance is given besides columns\.similarity"):
        file({"distance": "apart", "similarity": "alike"})


@pytest.mark.parametrize(("threshold", "people"), [(-50, "one person"), (50, "two people")])
def test_a_threshold_that_takes_all_pairs_alike_is_doubted(threshold, people):
    """All groups have the same error rates then, and no difference to be judged."""
    specification = file(threshold=threshold)
    data = faceaudit.Pairs.from_table(pairs(), specification)
    plan = faceaudit.make_plan(specification)
    report = faceaudit.build_report(data, data.analyse(plan), plan, plan)
    (doubt,) = report.doubts
    assert doubt.name == "constant" and f"every pair for those of {people}." in doubt.sentence
    assert faceaudit.gate(report)[0] == 1
