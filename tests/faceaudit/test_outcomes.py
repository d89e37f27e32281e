"""Outcomes besides errors, audits without labels, and classes among many."""

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

import faceaudit
from faceaudit import api
from faceaudit.effects.impact_ratio import impact_ratio
from faceaudit.file.specification import Specification
from faceaudit.report.page import page
from faceaudit.run import run_audit
from faceaudit.utils.errors import InputError

AXES = {"skin": ["light", "dark"], "hair": ["short", "long"]}
ALL = ["error", "fpr", "fnr", "selection", "score", "flip", "no_face", "failed_call"]
NUMBERS = ["estimate", "low", "high", "low90", "high90", "p", "n"]
"""Columns of a comparison that do not depend on the others of its family."""


def table_of_faces(faces=150, seed=1):
    """Matched images with scores, higher for dark skin; some have no face, most of them dark."""
    rng = np.random.default_rng(seed)
    rows = [
        (face, skin, hair, face % 2, 0.6 * rng.random() + 0.2 * (face % 2) + 0.15 * dark)
        for face in range(faces)
        for dark, skin in enumerate(AXES["skin"])
        for hair in AXES["hair"]
    ]
    frame = pd.DataFrame(rows, columns=["face", "skin", "hair", "truth", "score"])
    lost = rng.random(len(frame)) < np.where(frame["skin"] == "dark", 0.15, 0.01)
    frame["reason"] = np.where(lost, "no face", None)
    return frame.assign(score=frame["score"].mask(lost))


@pytest.fixture(scope="module")
def frame():
    return table_of_faces()


def audit_of(frame, outcomes, unit="face", **settings):
    settings = {"axes": AXES, "tolerance": 0.05, "score": "score", **settings}
    if "error" in outcomes:
        settings.setdefault("label", "truth")
    return faceaudit.table(frame, unit=unit, outcomes=outcomes, **settings)


def by_pandas(frame, outcome):
    """Value of every image by its definition; NaN where it has none."""
    selected = (frame["score"] > 0.5).astype(float).where(frame["score"].notna())
    wrong = (selected != frame["truth"]).astype(float).where(selected.notna())
    values = {
        "error": wrong,
        "fpr": selected.where(frame["truth"] == 0),
        "fnr": 1 - selected.where(frame["truth"] == 1),
        "selection": selected,
        "score": frame["score"],
        "flip": selected,
        "no_face": (frame["reason"] == "no face").astype(float),
        "failed_call": (frame["reason"] == "failed call").astype(float),
    }
    return values[outcome]


@pytest.mark.parametrize("outcome", ALL[1:])
def test_a_further_outcome_is_the_mean_difference_of_pairs(frame, outcome):
    row = audit_of(frame, ALL, reason="reason").outcomes.query("axis == 'skin'")
    row = row[row["outcome"] == outcome].iloc[0]
    wide = frame.assign(value=by_pandas(frame, outcome))
    wide = wide.pivot_table("value", ["face", "hair"], "skin").dropna()
    difference = wide["dark"] - wide["light"]
    expected = difference.ne(0).mean() if outcome == "flip" else difference.mean()
    assert row["estimate"] == pytest.approx(expected, abs=1e-12)
    assert row["n"] == len(wide)


@pytest.mark.parametrize("outcome", ["fpr", "selection", "score", "no_face"])
def test_a_further_outcome_of_portraits_is_a_difference_of_means(frame, outcome):
    outcomes = [name for name in ALL if name != "flip"]
    table = audit_of(frame, outcomes, None, reason="reason").outcomes
    row = table[(table["outcome"] == outcome) & (table["axis"] == "skin")].iloc[0]
    means = by_pandas(frame, outcome).groupby(frame["skin"]).mean()
    assert row["estimate"] == pytest.approx(means["dark"] - means["light"], abs=1e-12)
    if outcome == "selection":
        assert row["ratio"] == pytest.approx(means["dark"] / means["light"], abs=1e-12)


def test_false_positives_are_the_errors_on_one_class(frame):
    of_all = audit_of(frame, ["error", "fpr"]).outcomes
    of_one_class = audit_of(frame[frame["truth"] == 0], ["error"]).averages
    np.testing.assert_array_equal(
        of_all[NUMBERS].astype(float), of_one_class[NUMBERS].astype(float)
    )


def test_the_interval_of_an_impact_ratio_agrees_with_a_bootstrap_of_faces(frame):
    wide = frame.assign(selected=by_pandas(frame, "selection"))
    wide = wide.pivot_table("selected", ["face", "hair"], "skin").dropna()
    row = audit_of(frame, ["selection"]).averages.query("axis == 'skin'").iloc[0]
    rng = np.random.default_rng(5)
    faces = wide.groupby("face").agg(["sum", "size"])
    light, dark = (faces[(skin, "sum")].to_numpy() for skin in AXES["skin"])
    draws = rng.integers(len(faces), size=(4000, len(faces)))
    logarithms = np.log(dark[draws].sum(axis=1) / light[draws].sum(axis=1))
    half_width = (np.log(row["ratio_high"]) - np.log(row["ratio_low"])) / 2
    assert half_width == pytest.approx(1.96 * logarithms.std(), rel=0.05)
    assert row["ratio"] == pytest.approx(wide["dark"].mean() / wide["light"].mean())


def test_a_ratio_without_a_selection_has_no_number():
    nobody = impact_ratio(np.array([0.0, 0.0, 1.0, 0.0]), np.array([1, 1, 0, 0]) == 1, np.arange(4))
    assert np.isnan([nobody.ratio, nobody.low, nobody.high]).all()
    of_one_face = impact_ratio(np.ones(2), np.array([True, False]), np.zeros(2))
    assert of_one_face.ratio == 1 and np.isnan(of_one_face.low)


def test_a_model_that_flips_both_ways_does_not_pass():
    """Half of the changes mend an error and half make one, so that the error rate stays."""
    rows = [
        (face, skin, 0, int(face % 4 == (1 if skin == "dark" else 2)))
        for face in range(400)
        for skin in AXES["skin"]
    ]
    frame = pd.DataFrame(rows, columns=["face", "skin", "truth", "says"])
    settings = {"unit": "face", "axes": {"skin": AXES["skin"]}, "tolerance": 0.1, "pred": "says"}
    errors = faceaudit.table(frame, label="truth", **settings)
    flips = faceaudit.table(frame, outcomes=["flip"], **settings)
    assert errors.verdict == "within" and errors.gate() == 0
    assert flips.averages["estimate"].item() == 0.5 and flips.gate() == 1
    assert "the answer changes for 50.0 of 100 faces" in flips.report.answer


@pytest.mark.parametrize(("first", "unit"), [("selection", "face"), ("score", None)])
def test_audits_without_labels_are_the_same_through_the_file(tmp_path, frame, first, unit):
    unlabelled = frame.drop(columns="truth").assign(image_id=[f"{k}.png" for k in range(600)])
    # Older versions of pandas read a number of many digits but for its last bit.
    unlabelled["score"] = unlabelled["score"].round(6)
    unlabelled.to_csv(tmp_path / "faces.csv", index=False)
    content = {
        "name": "audit",
        "question": "?",
        "axes": AXES,
        "outcomes": [first, "no_face"],
        "images": "faces.csv",
        "columns": {"unit": "face"} if unit else {},
        "design": {"tolerance": 0.05},
    }
    if unit is None:
        content["kind"] = "portraits"
    (tmp_path / "audit.yml").write_text(json.dumps(content), encoding="utf-8")
    by_file = run_audit(tmp_path / "audit.yml", lambda line: None)
    by_call = audit_of(unlabelled, [first, "no_face"], unit, reason="reason", question="?")
    of_file, of_call = (
        json.loads(one.model_dump_json(exclude={"made", "plan", "provenance"}))
        for one in (by_file, by_call.report)
    )
    of_call["data"]["source"] = of_file["data"]["source"] = ""
    assert of_file == of_call
    assert faceaudit.verify(tmp_path / "audit" / "report.json")[0] == 0
    assert by_call.gate() == 1 and "error" not in by_call.report.answer
    by_call.save(tmp_path / "saved")
    page = (tmp_path / "saved" / "report.html").read_text(encoding="utf-8")
    assert "what is right is not known" in page and "the model errs" not in page


def test_refusals_by_reason_fail_the_gate():
    """A model that abstains where it would err: no error is left to count."""
    rows = [
        (face, skin, 0, None if skin == "dark" and face % 5 == 0 else 0)
        for face in range(300)
        for skin in AXES["skin"]
    ]
    frame = pd.DataFrame(rows, columns=["face", "skin", "truth", "says"])
    frame["why"] = np.where(frame["says"].isna(), "abstention", None)
    frame.loc[0, ["says", "why"]] = None, "failed call"
    audit = faceaudit.table(
        frame,
        unit="face",
        axes={"skin": AXES["skin"]},
        label="truth",
        pred="says",
        reason="why",
        outcomes=["error", "abstention", "failed_call"],
        tolerance=0.05,
    )
    verdicts = audit.outcomes.set_index("outcome")["verdict"]
    assert verdicts.to_dict() == {"abstention": "exceeds", "failed_call": "within"}
    assert audit.averages["verdict"].item() == "within" and audit.gate() == 1


def holm_by_hand(p_of_families):
    """Adjusted p-values of families that share the level, by Holm's steps one after the other."""
    shares = {
        (family, place): 1 / len(p_of_family)
        for family, p_of_family in p_of_families.items()
        for place in range(len(p_of_family))
    }
    adjusted = {}
    reached = 0.0
    while shares:
        step = {
            (family, place): p_of_families[family][place] * sum(shares.values()) / share
            for (family, place), share in shares.items()
        }
        first = min(step, key=step.get)
        reached = max(reached, min(step[first], 1.0))
        adjusted[first] = reached
        del shares[first]
    return adjusted


@pytest.mark.parametrize("unit", ["face", None])
def test_what_is_missing_for_one_reason_is_judged_under_its_name_alone(monkeypatch, frame, unit):
    """Its comparisons stood in the report twice, and took a share of the level each time."""
    tables = {}
    build_report = api.build_report

    def keep_tables(data, of_audit, *plans):
        tables.update(of_audit)
        return build_report(data, of_audit, *plans)

    monkeypatch.setattr(api, "build_report", keep_tables)
    audit = audit_of(frame, ["error", "no_face", "failed_call"], unit, reason="reason")
    lost = frame.assign(lost=frame["score"].isna()).groupby("skin")["lost"].mean()
    row = audit.outcomes.query("outcome == 'no_face' and axis == 'skin'").iloc[0]
    assert row["estimate"] == pytest.approx(lost["dark"] - lost["light"], abs=1e-12)
    assert row["verdict"] == "exceeds" and audit.gate() == 1
    assert audit.missing.empty
    assert "missing" not in {row.outcome for row in audit.report.judged}
    assert "they are not judged twice" in " ".join(page(audit.report).split())
    judged = {name: table for name, table in tables.items() if "together" in table}
    assert {len(table) for table in judged.values()} == {2, 4}
    adjusted = holm_by_hand({name: table["p_beyond"].tolist() for name, table in judged.items()})
    for name, table in judged.items():
        expected = [adjusted[name, place] for place in range(len(table))]
        np.testing.assert_allclose(table["p_beyond_holm"], expected, rtol=1e-12)


@pytest.mark.parametrize("unit", ["face", None])
def test_what_is_missing_for_another_reason_too_is_judged_as_a_whole(frame, unit):
    """Else a user could name one reason, and delete what is missing for another."""
    lost = (frame["skin"] == "dark") & frame["score"].notna() & (frame["face"] % 4 == 0)
    if unit:
        settings = {"incomplete": "pairs"}
        table = frame[~lost]
    else:
        settings = {}
        table = frame.assign(truth=frame["truth"].astype(float).mask(lost))
    audit = audit_of(table, ["error", "no_face"], unit, reason="reason", **settings)
    missing = (frame["score"].isna() | lost).groupby(frame["skin"]).mean()
    row = audit.missing.query("axis == 'skin'").iloc[0]
    assert row["estimate"] == pytest.approx(missing["dark"] - missing["light"], abs=1e-12)
    assert row["verdict"] == "exceeds"
    assert "not judged twice" not in " ".join(page(audit.report).split())


def test_a_class_among_many_is_right_or_wrong(frame):
    rng = np.random.default_rng(3)
    classes = ["joy", "fear", "anger"]
    truth = np.take(classes, frame["face"] % 3)
    says = np.where(rng.random(len(frame)) < 0.2, "fear", truth)
    many = frame.assign(truth=truth, says=says, wrong=(says != truth).astype(int))
    settings = {"unit": "face", "axes": AXES, "tolerance": 0.05}
    by_class = faceaudit.table(
        many, label="truth", pred="says", classes=classes, outcomes=["error", "flip"], **settings
    )
    by_error = faceaudit.table(many, error="wrong", **settings)
    np.testing.assert_array_equal(
        by_class.effects[NUMBERS].astype(float), by_error.effects[NUMBERS].astype(float)
    )
    assert by_class.outcomes["estimate"].between(0, 1).all()


def test_one_answer_about_all_images_is_doubted_without_labels(frame):
    audit = audit_of(frame.assign(score=0.6 + frame["score"] / 10), ["selection"])
    assert [doubt.name for doubt in audit.report.doubts] == ["constant"]
    assert audit.gate() == 1


def test_a_plan_of_errors_alone_does_not_name_outcomes(frame):
    settings = {"unit": "face", "label": "truth", "pred": "says", "tolerance": 0.05, "axes": AXES}
    plan = faceaudit.plan(**settings)
    assert "outcomes" not in plan.content
    added = faceaudit.plan(**settings, outcomes=["error", "fpr"])
    assert ["fpr", "skin"] in added.content["families"]["further outcomes"]
    audit = audit_of(frame, ["error", "fpr"], plan=plan)
    assert any("outcomes" in line for line in audit.report.plan.departures)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"outcomes": ["fpr"]}, "outcomes begins with fpr; the first outcome must be error, sel"),
        (
            {"outcomes": ["selection", "fpr"]},
            "and has fpr, which needs labels; put error",
        ),
        ({"outcomes": ["error", "error"]}, "every outcome once"),
        ({"outcomes": ["error", "speed"]}, "outcomes.1 is 'speed'"),
        ({"outcomes": []}, "outcomes"),
        ({"outcomes": ["score"], "columns": {"decision": "says"}}, "columns.score"),
        (
            {"outcomes": ["error", "flip"], "kind": "portraits"},
            "has flip, which compares images of one face",
        ),
        (
            {"outcomes": ["error", "fpr"], "columns": {"error": "wrong"}},
            "has fpr, which columns.error does not tell",
        ),
        ({"classes": ["a", "b", "c"]}, "classes has 3 names; with more than two, columns.decision"),
        (
            {
                "classes": ["a", "b", "c"],
                "columns": {"decision": "says"},
                "outcomes": ["error", "fpr"],
            },
            "outcomes has fpr, which is about two classes; there are 3",
        ),
    ],
)
def test_outcomes_that_do_not_go_together_are_named(settings, words):
    with pytest.raises(InputError, match=words):
        Specification(
            name="mine",
            question="?",
            axes=AXES,
            images="faces.csv",
            design={"tolerance": 0.05},
            **settings,
        )


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("asleep", "column 'reason', row 0 is 'asleep', one of abstention, no face, failed call"),
        ("no face", "row 0 is 'no face', an empty cell beside an answer was expected"),
    ],
)
def test_a_reason_that_is_none_is_named(frame, cell, words):
    wrong = frame.copy()
    wrong.loc[0, "reason"] = cell
    with pytest.raises(InputError, match=words):
        audit_of(wrong, ["error", "no_face"], reason="reason")


def table_of_years(seed=4):
    """By how many years an age is off: 2 more on dark faces, and a few have no answer."""
    rng = np.random.default_rng(seed)
    rows = [
        (face, skin, hair, 5 + of_face + 2 * dark + rng.normal(0, 1))
        for face, of_face in enumerate(rng.normal(0, 2, 120))
        for dark, skin in enumerate(AXES["skin"])
        for hair in AXES["hair"]
    ]
    frame = pd.DataFrame(rows, columns=["face", "skin", "hair", "years"])
    return frame.assign(years=frame["years"].mask(rng.random(len(frame)) < 0.02))


def test_a_number_of_one_pair_a_face_has_the_interval_of_the_paired_t_test():
    short = table_of_years().query("hair == 'short'")
    settings = {"unit": "face", "axes": {"skin": AXES["skin"]}, "outcome": "years"}
    audit = faceaudit.table(short, tolerance=1.0, **settings)
    wide = short.pivot_table("years", "face", "skin").dropna()
    test = stats.ttest_rel(wide["dark"], wide["light"])
    row = audit.averages.iloc[0]
    interval = test.confidence_interval()
    assert row["estimate"] == pytest.approx((wide["dark"] - wide["light"]).mean())
    assert row[["low", "high"]].tolist() == pytest.approx([interval.low, interval.high])
    assert row["p"] == pytest.approx(test.pvalue, rel=1e-6)
    assert row["verdict"] == "exceeds" and audit.gate() == 1
    assert "the mean changes by +" in audit.report.answer and "of 1: " in audit.report.answer
    wider = faceaudit.table(short, tolerance=5.0, **settings)
    assert wider.verdict == "within" and wider.gate() == 0


@pytest.mark.parametrize("unit", ["face", None])
def test_a_number_has_the_cluster_robust_interval_of_a_regression(unit):
    frame = table_of_years()
    settings = {"axes": AXES, "tolerance": 1.0, "outcome": "years"}
    if unit is None:
        settings |= {"identity": "face"}
    audit = faceaudit.table(frame, unit=unit, **settings)
    row = audit.averages.query("axis == 'skin'").iloc[0]
    known = frame.dropna(subset="years")
    if unit:
        # Complete pairs, whose difference is regressed on a constant.
        wide = known.pivot_table("years", ["face", "hair"], "skin").dropna().reset_index()
        outcome = (wide["dark"] - wide["light"]).to_numpy()
        design, cluster, place = np.ones((len(wide), 1)), wide["face"], 0
    else:
        outcome = known["years"].to_numpy()
        design = np.column_stack([np.ones(len(known)), known["skin"] == "dark"]).astype(float)
        cluster, place = known["face"], 1
    codes, clusters = pd.factorize(cluster)
    groups = {"groups": codes, "use_correction": False, "df_correction": True}
    fit = sm.OLS(outcome, design).fit(cov_type="cluster", cov_kwds=groups)
    se = fit.bse[place] * np.sqrt(len(clusters) / (len(clusters) - 1))
    half_width = stats.t.ppf(0.975, len(clusters) - 1) * se
    assert row["estimate"] == pytest.approx(fit.params[place])
    assert (row["high"] - row["low"]) / 2 == pytest.approx(half_width)


def test_numbers_are_the_same_through_the_file_and_can_be_verified(tmp_path):
    frame = table_of_years().assign(image_id=[f"{k}.png" for k in range(480)])
    frame.to_csv(tmp_path / "faces.csv", index=False)
    content = {
        "name": "audit",
        "question": "?",
        "axes": AXES,
        "outcomes": ["number"],
        "images": "faces.csv",
        "columns": {"unit": "face", "number": "years"},
        "design": {"tolerance": 1.0, "incomplete": "refuse"},
    }
    (tmp_path / "audit.yml").write_text(json.dumps(content), encoding="utf-8")
    by_file = run_audit(tmp_path / "audit.yml", lambda line: None)
    by_call = faceaudit.table(
        frame, unit="face", axes=AXES, outcome="years", tolerance=1.0, question="?"
    )
    np.testing.assert_allclose(
        by_call.effects[NUMBERS].astype(float),
        pd.DataFrame([dict(row) for row in by_file.effects])[NUMBERS].astype(float),
        rtol=1e-12,
    )
    assert by_call.missing["verdict"].tolist() == ["within", "within"]
    assert faceaudit.verify(tmp_path / "audit" / "report.json")[0] == 0
    assert faceaudit.gate(by_file)[0] == by_call.gate() == 1
    page = (tmp_path / "audit" / "report.html").read_text(encoding="utf-8")
    assert "Tolerance: 1, in the unit of the number" in page
    assert ">means, or %</th>" in page


@pytest.mark.parametrize(
    ("years", "reason"),
    [([3.0, 5.0] * 40, "no variation"), ([3.0, None, 4.0, None] * 20, "no pair")],
)
def test_a_number_without_an_interval_says_why(years, reason):
    frame = pd.DataFrame({"face": np.repeat(range(40), 2), "skin": AXES["skin"] * 40})
    frame = frame.assign(years=years)
    settings = {"unit": "face", "axes": {"skin": AXES["skin"]}, "tolerance": 1.0}
    audit = faceaudit.table(frame, outcome="years", **settings)
    assert audit.averages[["verdict", "reason"]].to_numpy().tolist() == [["not estimable", reason]]
    assert audit.gate() != 0


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"tolerance": 2.0, "pred": "says", "label": "truth"}, "^tolerance is 2, a number below 1"),
        (
            {"outcome": "years", "outcomes": ["number", "flip"]},
            "has number beside others; number stands alone",
        ),
        ({"outcome": "years", "pred": "says"}, "pred and outcome are given, one of them"),
        (
            {"outcomes": ["number"], "score": "years"},
            "outcome is missing, a column of numbers was expected",
        ),
    ],
)
def test_numbers_do_not_go_with_other_outcomes(frame, settings, words):
    with pytest.raises(InputError, match=words):
        faceaudit.table(frame, unit="face", axes=AXES, **{"tolerance": 0.05, **settings})
