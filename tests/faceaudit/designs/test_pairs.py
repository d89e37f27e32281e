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


@pytest.mark.parametrize("column", ["group", "first", "same"])
@pytest.mark.parametrize("text", ["nan", "NA", "#N/A"])
def test_a_missing_value_of_a_pair_is_refused_by_row(column, text):
    table = pairs().astype(object)
    table.loc[3, column] = text
    with pytest.raises(ValueError, match=f"column '{column}', row 5 is '{text}', "):
        faceaudit.Pairs.from_table(table, file())


@pytest.mark.parametrize("text", ["no face", "inf", "0,7"])
def test_a_similarity_that_is_no_number_is_refused(text):
    table = pairs().astype(object)
    table.loc[3, "similarity"] = text
    expected = (
        f"row 5 is '{text}', a finite similarity .an empty cell where a face was not enrolled"
    )
    with pytest.raises(ValueError, match=expected):
        faceaudit.Pairs.from_table(table, file())


COLUMNS = {name: name for name in ("group", "first", "second", "same", "similarity")}
SETTINGS = {**COLUMNS, "reference": "a", "threshold": 0.5, "tolerance": 0.05}


def without(table, is_missing) -> pd.DataFrame:
    """The table of pairs with empty similarities."""
    return table.assign(similarity=table["similarity"].mask(is_missing))


def at_random(table, share, group="b", kinds=(0, 1), seed=1) -> pd.Series:
    """A share of the pairs of one group, of one person (1), of two (0), or of both kinds."""
    drawn = np.random.default_rng(seed).random(len(table)) < share
    return drawn & (table["group"] == group) & table["same"].isin(kinds)


@pytest.mark.parametrize(
    ("kinds", "beyond"),
    [
        ((0, 1), {"missing positives", "missing negatives"}),
        ((1,), {"missing positives"}),
        ((0,), {"missing negatives"}),
    ],
    ids=["all", "one person", "two people"],
)
def test_a_recogniser_that_compares_fewer_pairs_of_a_group_does_not_pass(kinds, beyond):
    table = pairs(worse=0.0)
    assert faceaudit.pairs(table, **SETTINGS).gate() == 0
    rows = without(table, at_random(table, 0.5, kinds=kinds))
    audit = faceaudit.pairs(rows, **SETTINGS)
    assert audit.verdict == "exceeds" and audit.gate() == 1
    exceeding = {row.measure for row in audit.report.judged if row.verdict == "exceeds"}
    assert exceeding == beyond == set(audit.missing.query("verdict == 'exceeds'")["measure"])
    shares = rows["similarity"].isna().groupby([rows["group"], rows["same"]]).mean()
    (answered,) = [row for row in audit.report.coverage if row.demand == "unanswered"]
    assert answered.found == shares.max() and not answered.met
    assert answered.sentence.startswith("Pairs of one kind without an answer")
    # Nor does it where the policy allows any share to be missing.
    assert faceaudit.pairs(rows, **SETTINGS, policy={"unanswered": 1.0}).gate() == 1
    assert "Missing pairs" in page(audit.report)
    assert any(
        "pairs (" in limit and "have no similarity" in limit for limit in audit.report.limits
    )


def test_a_few_missing_pairs_are_no_reason_to_fail():
    table = pairs(worse=0.0)
    audit = faceaudit.pairs(without(table, at_random(table, 0.02)), **SETTINGS)
    assert audit.gate() == 0 and set(audit.missing["verdict"]) == {"within"}


def test_hard_pairs_of_one_person_do_not_drown_among_many_of_two():
    """A hundred times as many pairs of two people: of all pairs, less than one in a hundred."""
    table = pairs(identities=40, worse=0.0)
    strangers = table[table["same"] == 0]
    random = np.random.default_rng(2)
    more = pd.concat([strangers] * 100, ignore_index=True)
    more["similarity"] += random.normal(size=len(more))
    table = pd.concat([table, more], ignore_index=True)
    hardest = table[(table["group"] == "b") & (table["same"] == 1)]["similarity"].nsmallest(80)
    rows = without(table, table.index.isin(hardest.index))
    assert rows["similarity"].isna().mean() < 0.01
    audit = faceaudit.pairs(rows, **SETTINGS)
    assert audit.gate() == 1
    assert audit.missing.set_index("measure").loc["missing positives", "verdict"] == "exceeds"


def test_missing_pairs_take_no_part_in_error_rates():
    table = pairs()
    rows = without(table, at_random(table, 0.1))
    audit = faceaudit.pairs(rows, **SETTINGS)
    compared = faceaudit.pairs(rows.dropna(subset="similarity"), **SETTINGS)
    assert audit.report.match_rates == compared.report.match_rates
    untold = ["p_beyond_holm", "verdict", "sentence"]  # adjusted together with what is missing
    pd.testing.assert_frame_equal(
        audit.effects.drop(columns=untold), compared.effects.drop(columns=untold)
    )
    counts = audit.report.data
    missing = int(rows["similarity"].isna().sum())
    assert (counts["pairs"], counts["pairs_left_out"]) == (len(table) - missing, missing)
    assert len(audit.frame) == len(table)
    assert compared.missing.empty and not compared.report.missing_pairs
    assert "No pair is missing: the planned comparisons of missing pairs are void." in page(
        compared.report
    )


def test_rates_of_missing_pairs_are_counts_with_intervals_of_resampled_people():
    """People differ in how often they are missing; pairs of one person are missing together."""
    table = pairs(identities=150)
    random = np.random.default_rng(0)
    people = pd.unique(table["first"])
    chance = pd.Series(random.beta(0.6, 1.4, len(people)), people)
    rows = without(table, random.random(len(table)) < table["first"].map(chance))
    report = faceaudit.pairs(rows, **SETTINGS).report
    told = pd.DataFrame([dict(row) for row in report.missing_pairs])
    told["same"] = (told["measure"] == "missing positives").astype(int)
    told = told.set_index(["group", "same"])
    missing = rows["similarity"].isna().groupby([rows["group"], rows["same"]])
    expected = missing.agg(["size", "sum", "mean"])
    found = told[["pairs", "missing", "rate"]].sort_index()
    np.testing.assert_array_equal(found.to_numpy(), expected.to_numpy())
    for group in ("a", "b"):
        own = rows[(rows["group"] == group) & (rows["same"] == 1)]
        counts = own["similarity"].isna().groupby(own["first"]).agg(["sum", "size"]).to_numpy()
        draws = random.integers(0, len(counts), (4000, len(counts)))
        resampled = counts[draws].sum(axis=1)
        ends = np.quantile(resampled[:, 0] / resampled[:, 1], [0.025, 0.975])
        np.testing.assert_allclose(
            told.loc[(group, 1), ["low", "high"]].astype(float), ends, atol=0.007
        )
        rate = told.loc[(group, 1), "rate"]
        assert ends[1] - rate > 1.4 * 1.96 * np.sqrt(rate * (1 - rate) / len(own))


@pytest.mark.parametrize("group", ["a", "b"])
def test_a_group_without_any_similarity_is_not_estimable_and_beyond(group):
    table = pairs()
    audit = faceaudit.pairs(without(table, table["group"] == group), **SETTINGS)
    assert set(audit.effects["verdict"]) == {"not estimable"}
    assert set(audit.missing["verdict"]) == {"exceeds"} and audit.gate() == 1
    faces, answered = audit.report.coverage[:2]
    assert faces.found == 0 and answered.found == 1 and not faces.met
    assert [row.group for row in audit.report.match_rates] == ["a", "b"]


def test_a_table_without_any_similarity_is_refused():
    table = pairs()
    with pytest.raises(ValueError, match="column 'similarity' has no answer at all") as told:
        faceaudit.pairs(without(table, table["same"] >= 0), **SETTINGS)
    assert "\n" not in str(told.value)


def test_the_plan_binds_the_pairs_and_not_which_of_them_could_be_compared():
    table = pairs(worse=0.0)
    first = faceaudit.pairs(table, **SETTINGS)
    plan = faceaudit.AuditPlan(first.report.plan.content)
    rows = without(table, at_random(table, 0.5))
    second = faceaudit.pairs(rows, **SETTINGS, plan=plan)
    assert second.report.plan.kept and second.verdict == "exceeds"
    fewer = faceaudit.pairs(rows.dropna(), **SETTINGS, plan=plan)
    assert fewer.report.plan.departures == ["the table: the pairs are not those of the plan"]


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
    assert any("The distances stand in a table" in limit for limit in apart.limits)
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
