"""Weighted audits of matched images, against the formulas of surveys and other software."""

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

import faceaudit
from faceaudit.effects.paired_proportions import paired_interval
from faceaudit.effects.survey_weights import effective_number
from faceaudit.report.page import card, page
from faceaudit.run import run_audit
from faceaudit.utils.errors import InputError

AXES = {"skin": ["light", "dark"], "hair": ["short", "long"]}
NOT_OF_RESULTS = {"plan", "made", "data", "provenance"}


def table_of_faces(faces=120, seed=2):
    """Matched images; faces with larger weights err more with dark skin."""
    rng = np.random.default_rng(seed)
    weight = rng.lognormal(0, 0.7, faces).round(3)
    rows = [
        (
            face,
            skin,
            hair,
            face % 2,
            0.6 * rng.random() + 0.2 * (face % 2) + 0.05 * dark,
            weight[face],
        )
        for face in range(faces)
        for dark, skin in enumerate(AXES["skin"])
        for hair in AXES["hair"]
    ]
    frame = pd.DataFrame(rows, columns=["face", "skin", "hair", "truth", "score", "stands_for"])
    frame["years"] = 3 + frame["score"] * frame["stands_for"] + (frame["skin"] == "dark")
    frame["image_id"] = [f"{row}.png" for row in range(len(frame))]
    return frame.assign(score=frame["score"].round(6).mask(rng.random(len(frame)) < 0.03))


@pytest.fixture(scope="module")
def frame():
    return table_of_faces()


def audit_of(frame, weights="stands_for", **settings):
    settings = {"label": "truth", "score": "score", "axes": AXES, "tolerance": 0.05} | settings
    return faceaudit.table(frame, unit="face", weights=weights, **settings)


def pairs_of(frame, value):
    """Pairs that differ in skin, with both values: face, hair, weight, light and dark."""
    index = ["face", "hair", "stands_for"]
    wide = frame.assign(value=value).pivot_table("value", index, "skin")
    return wide.dropna().reset_index()


def error_of(frame):
    wrong = (frame["score"] > 0.5) != (frame["truth"] == 1)
    return wrong.astype(float).where(frame["score"].notna())


def linearised(difference, weight, face):
    """Mean and standard error of a weighted mean over clusters, as `svymean` has them.

    Lumley, Complex Surveys (2010), appendix A.1: the variance of a sum over clusters of what each
    adds to the estimate.
    """
    mean = (weight * difference).sum() / weight.sum()
    of_face = (weight * (difference - mean)).groupby(face).sum() / weight.sum()
    return mean, np.sqrt((of_face**2).sum() * len(of_face) / (len(of_face) - 1))


def degrees_of_freedom(pairs):
    return effective_number(pairs.groupby("face")["stands_for"].first().to_numpy()) - 1


def test_the_effective_number_is_that_of_the_design_effect_of_weights():
    weights = np.array([1.0, 2.0, 3.0, 6.0])
    relative_variance = weights.var() / weights.mean() ** 2
    assert effective_number(weights) == pytest.approx(4 / (1 + relative_variance))


def test_a_number_has_the_interval_of_a_weighted_regression_with_clusters(frame):
    row = audit_of(frame, label=None, score=None, outcome="years", tolerance=1.0)
    row = row.averages.query("axis == 'skin'").iloc[0]
    pairs = pairs_of(frame, frame["years"])
    difference = pairs["dark"] - pairs["light"]
    groups = {"groups": pairs["face"], "use_correction": False, "df_correction": False}
    fit = sm.WLS(difference, np.ones(len(pairs)), weights=pairs["stands_for"]).fit(
        cov_type="cluster", cov_kwds=groups
    )
    faces = pairs["face"].nunique()
    se = fit.bse.iloc[0] * np.sqrt(faces / (faces - 1))
    mean, by_survey_formula = linearised(difference, pairs["stands_for"], pairs["face"])
    assert se == pytest.approx(by_survey_formula, rel=1e-9)
    half_width = stats.t.ppf(0.975, degrees_of_freedom(pairs)) * se
    assert row["estimate"] == pytest.approx(fit.params.iloc[0]) == pytest.approx(mean)
    assert [row["low"], row["high"]] == pytest.approx([mean - half_width, mean + half_width])
    assert row["effective_units"] == pytest.approx(degrees_of_freedom(pairs) + 1)
    assert row["base_rate"] == pytest.approx(
        np.average(pairs["light"], weights=pairs["stands_for"])
    )


@pytest.mark.parametrize("hair", ["short", None])
def test_errors_have_the_score_interval_of_their_design_effect(frame, hair):
    """One pair of a face and several: the variance is the survey's, the interval Tango's."""
    audit = audit_of(frame)
    rows = audit.averages if hair is None else audit.effects
    row = rows[(rows["axis"] == "skin") & rows["cell"].isin([hair or "all faces"])].iloc[0]
    pairs = pairs_of(frame, error_of(frame))
    if hair:
        pairs = pairs[pairs["hair"] == hair]
    weight = pairs["stands_for"]
    difference = pairs["dark"] - pairs["light"]
    mean, se = linearised(difference, weight, pairs["face"])
    worse = np.average(difference == 1, weights=weight)
    better = np.average(difference == -1, weights=weight)
    size = (worse + better - mean**2) / se**2
    df = degrees_of_freedom(pairs)
    for names, quantile in {("low", "high"): 0.975, ("low90", "high90"): 0.95}.items():
        counts = (worse * size, better * size, size)
        expected = paired_interval(*counts, stats.t.ppf(quantile, df))
        assert row[list(names)].tolist() == pytest.approx(expected, abs=1e-9)
    assert row["estimate"] == pytest.approx(mean)
    low = row["estimate"] - stats.t.ppf(0.975, df) * se
    assert row["low"] == pytest.approx(low, abs=0.01)
    assert row["n"] == len(pairs) and row["worse"] == (difference == 1).sum()


def test_few_changes_do_not_hide_that_weights_differ():
    """A single change at a face of small weight looked as if the mean were known for sure."""
    faces = pd.DataFrame({"face": range(60), "stands_for": [0.1] + [1.0] * 40 + [9.0] * 19})
    frame = faces.merge(pd.DataFrame({"skin": AXES["skin"]}), how="cross")
    frame["wrong"] = ((frame["face"] == 0) & (frame["skin"] == "dark")).astype(int)
    settings = {"axes": {"skin": AXES["skin"]}, "error": "wrong", "label": None, "score": None}
    row = audit_of(frame, **settings).averages.iloc[0]
    effective = effective_number(faces["stands_for"].to_numpy())
    changed = faces["stands_for"].iloc[0] / faces["stands_for"].sum()
    quantile = stats.t.ppf(0.975, effective - 1)
    expected = paired_interval(changed * effective, 0, effective, quantile)
    assert row[["low", "high"]].tolist() == pytest.approx(expected)


def test_interactions_are_weighted_means_over_faces(frame):
    audit = audit_of(frame)
    (row,) = audit.report.interactions
    errors = frame.assign(error=error_of(frame))
    wide = errors.pivot_table("error", ["face", "stands_for"], ["skin", "hair"])
    wide = wide.dropna().reset_index("stands_for")
    differences = (
        wide["dark", "long"]
        - wide["light", "long"]
        - wide["dark", "short"]
        + wide["light", "short"]
    )
    weight = wide["stands_for"]
    mean, se = linearised(differences, weight, pd.Series(wide.index, wide.index))
    half_width = stats.t.ppf(0.975, effective_number(weight.to_numpy()) - 1) * se
    assert row.estimate == pytest.approx(mean)
    assert [row.low, row.high] == pytest.approx([mean - half_width, mean + half_width])


def test_whole_weights_give_the_estimates_of_as_many_copies_of_a_face(frame):
    whole = frame.assign(stands_for=1 + frame["face"] % 3)
    copies = whole.loc[whole.index.repeat(whole["stands_for"])]
    copy = copies.groupby(["face", "skin", "hair"]).cumcount()
    copies = copies.assign(face=copies["face"].astype(str) + "-" + copy.astype(str))
    copies["image_id"] = [f"{row}.png" for row in range(len(copies))]
    asked = {"outcomes": ["error", "fpr", "selection", "score", "flip"]}
    weighted = audit_of(whole, **asked)
    copied = audit_of(copies, None, **asked)
    columns = ["estimate", "base_rate", "ratio"]
    for part in ("effects", "averages", "outcomes", "missing"):
        found, expected = (getattr(audit, part) for audit in (weighted, copied))
        np.testing.assert_allclose(
            found[columns].to_numpy(float), expected[columns].to_numpy(float), atol=1e-12
        )
        assert (found["high"] - found["low"] >= expected["high"] - expected["low"]).all()
    np.testing.assert_allclose(weighted.rates["rate"], copied.rates["rate"])
    thresholds = [[row.rate for row in audit.report.thresholds] for audit in (weighted, copied)]
    np.testing.assert_allclose(*thresholds)
    rates = [audit.report.data["error_rate"] for audit in (weighted, copied)]
    assert rates[0] == pytest.approx(rates[1])


def test_weights_that_are_all_alike_change_nothing(frame):
    plain, weighted = (
        audit_of(frame.assign(stands_for=2.5), weights).report.model_dump(exclude=NOT_OF_RESULTS)
        for weights in (None, "stands_for")
    )
    limits = [one.pop("limits") for one in (plain, weighted)]
    assert plain == weighted
    assert len(limits[1]) == len(limits[0]) + 1


def test_the_impact_ratio_is_that_of_weighted_rates(frame):
    audit = audit_of(frame, label=None, outcomes=["selection"])
    row = audit.averages.query("axis == 'skin'").iloc[0]
    pairs = pairs_of(frame, (frame["score"] > 0.5).astype(float).where(frame["score"].notna()))
    weight = pairs["stands_for"]
    light, dark = (np.average(pairs[skin], weights=weight) for skin in AXES["skin"])
    # What a pair adds to the logarithm of the ratio.
    adds = (pairs["dark"] / dark - pairs["light"] / light) * weight / weight.sum()
    of_face = adds.groupby(pairs["face"]).sum()
    se = np.sqrt((of_face**2).sum() * len(of_face) / (len(of_face) - 1))
    half_width = stats.t.ppf(0.975, degrees_of_freedom(pairs)) * se
    assert row["ratio"] == pytest.approx(dark / light)
    assert np.log(row["ratio_high"] / row["ratio"]) == pytest.approx(half_width)


def test_a_few_heavy_faces_are_not_enough():
    """A hundred faces of which two stand for nearly everybody passed as a hundred."""
    frame = table_of_faces(100)
    frame["score"] = frame["truth"] * 0.8 + 0.1
    frame["stands_for"] = np.where(frame["face"] < 2, 1000.0, 1.0)
    plain, weighted = (audit_of(frame, weights) for weights in (None, "stands_for"))
    assert plain.gate() == 0 and weighted.gate() == 2
    (faces,) = (row for row in weighted.report.coverage if row.demand == "faces")
    assert not faces.met and "has 2 effective faces that count" in faces.sentence


def test_the_report_and_the_card_say_that_faces_have_weights(frame):
    report = audit_of(frame).report
    weights = frame.groupby("face")["stands_for"].first()
    effective = f"{weights.sum() ** 2 / (weights**2).sum():.2f}"
    text = " ".join(page(report).split())
    assert f"whose sum is {weights.sum():.2f}." in text
    assert f"those of {effective} faces with equal weights (Kish's effective number)" in text
    assert any(effective in limit for limit in report.limits)
    assert f"their sum is {weights.sum():.2f}, their effective number {effective}" in card(report)
    assert "have weights" not in page(audit_of(frame, None).report) + card(
        audit_of(frame, None).report
    )


def test_weights_are_the_same_through_the_file_and_are_verified(tmp_path, frame):
    frame.to_csv(tmp_path / "faces.csv", index=False)
    content = {
        "name": "audit",
        "question": "?",
        "axes": AXES,
        "images": "faces.csv",
        "columns": {"unit": "face", "label": "truth", "weight": "stands_for"},
        "design": {"tolerance": 0.05},
    }
    (tmp_path / "audit.yml").write_text(json.dumps(content), encoding="utf-8")
    by_file = run_audit(tmp_path / "audit.yml", lambda line: None)
    by_call = audit_of(frame, question="?")
    of_file, of_call = (
        json.loads(one.model_dump_json(exclude={"made", "plan", "provenance"}))
        for one in (by_file, by_call.report)
    )
    of_call["data"]["source"] = of_file["data"]["source"] = ""
    assert of_file == of_call
    report = tmp_path / "audit" / "report.json"
    assert faceaudit.verify(report)[0] == 0
    images = pd.read_csv(tmp_path / "audit" / "images.csv")
    images.assign(unit_weight=1.0).to_csv(tmp_path / "audit" / "images.csv", index=False)
    assert faceaudit.verify(report)[0] == 3


def test_other_weights_depart_from_the_plan(frame):
    settings = {"unit": "face", "label": "truth", "score": "score", "axes": AXES, "tolerance": 0.05}
    plan = faceaudit.plan(n=120, weights="stands_for", **settings)
    assert not audit_of(frame, plan=plan).report.plan.departures
    (departure,) = audit_of(frame, None, plan=plan).report.plan.departures
    assert "columns.weight" in departure
    first = audit_of(frame)
    frame = frame.assign(stands_for=frame["stands_for"] + 1)
    again = audit_of(frame, plan=faceaudit.AuditPlan(first.report.plan.content))
    expected = "the table: not every image has the weight that it had when the plan was made"
    assert again.report.plan.departures == [expected]


def test_models_are_compared_by_weighted_means(frame):
    settings = {"outcome": "years", "label": None, "score": None, "tolerance": 1.0}
    old = audit_of(frame, **settings)
    later = frame.assign(years=frame["years"] + 0.1 * frame["stands_for"])
    new = audit_of(later, **settings)
    change = (later["years"] - frame["years"]).to_numpy()
    expected = np.average(change, weights=frame["stands_for"])
    assert faceaudit.compare(old, new).changes["estimate"].iloc[0] == pytest.approx(expected)
    both = faceaudit.side_by_side({"old": old, "new": new})
    assert both.differences["estimate"].iloc[0] == pytest.approx(-expected)
    means = [model.mean for model in both.report.models]
    assert means[1] - means[0] == pytest.approx(expected)
    assert both.averages["effective_units"].notna().all()
    with pytest.raises(InputError, match="has another unit, level or weight in"):
        faceaudit.compare(old, audit_of(frame, None, **settings))


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([0.0] * 4, "column 'stands_for', row 0 is 0.0, a weight above 0 was expected"),
        ([-2.0] * 4, "row 0 is -2.0, a weight above 0 was expected"),
        ([np.nan] * 4, "row 0 is empty, a weight above 0 was expected"),
        ([np.inf] * 4, "row 0 is inf, a weight above 0 was expected"),
        (
            [1.0, 1.0, 2.0, 1.0],
            "row 2 is 2.0, the same weight as in the other rows of unit '0' was expected",
        ),
    ],
)
def test_a_weight_that_is_none_is_named(frame, cells, words):
    wrong = frame.copy()
    wrong.loc[:3, "stands_for"] = cells
    with pytest.raises(InputError, match=words):
        audit_of(wrong)


def test_designs_without_weights_refuse_them(frame):
    with pytest.raises(InputError, match="weights is given, and portraits take none"):
        faceaudit.table(
            frame, unit=None, weights="stands_for", error="truth", axes=AXES, tolerance=0.1
        )
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        faceaudit.pairs(frame, weights="stands_for")
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        faceaudit.classifier(frame, weights="stands_for")
    with pytest.raises(InputError, match="'gone'"):
        audit_of(frame, "gone")
