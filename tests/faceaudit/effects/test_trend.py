"""Trends over levels against slow loops and statsmodels."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats
from scipy.optimize import brentq

from faceaudit.comparisons import trend_weights
from faceaudit.effects import matched_effects, matched_trends, paired_interval, portrait_trends
from faceaudit.effects.trend import largest_trend, level_halves
from faceaudit.utils.errors import InputError


def faces_at_levels(levels, faces=40, hair=1, seed=1):
    """A row per face, level of skin and level of hair, whose error rate grows with the level."""
    rng = np.random.default_rng(seed)
    index = pd.MultiIndex.from_product(
        [range(faces), range(levels), range(hair)], names=["face", "skin_level", "hair_level"]
    )
    frame = index.to_frame(index=False)
    frame["error"] = (rng.random(len(frame)) < 0.2 + 0.06 * frame["skin_level"]).astype(int)
    return frame


def portraits_at_levels(levels, people=120, several=False, seed=2):
    """Portraits of people, each of whom has one level, or several portraits at any of them."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), 3 if several else 1)
    level = rng.integers(levels, size=len(person))
    frame = pd.DataFrame({"person": person, "level": pd.Categorical(level, range(levels))})
    tends_to_err = rng.random(people)[person] < 0.3
    frame["error"] = (rng.random(len(frame)) < 0.05 + 0.3 * tends_to_err).astype(int)
    frame["years"] = rng.normal(level, 3) + 2 * tends_to_err
    return frame


@pytest.mark.parametrize("levels", [2, 3, 4, 6, 10])
def test_weights_are_those_of_least_squares(levels):
    rng = np.random.default_rng(levels)
    means = rng.random(levels)
    slope = np.polyfit(np.arange(levels), means, 1)[0]
    assert trend_weights(levels) @ means == pytest.approx(slope * (levels - 1))
    # No rates have a larger trend than those that are 1 in the upper half and 0 in the lower.
    upper = np.array(trend_weights(levels)) > 0
    assert largest_trend(levels) == pytest.approx(trend_weights(levels) @ upper.astype(float))


@pytest.mark.parametrize(("levels", "hair"), [(3, 1), (4, 1), (6, 2), (10, 1)])
def test_matched_trend_is_the_slope_of_a_regression_with_an_intercept_per_face(levels, hair):
    frame = faces_at_levels(levels, hair=hair)
    frame = frame.drop(columns="hair_level") if hair == 1 else frame
    row = matched_trends(frame, "error", "skin_level", levels, [], "face").iloc[0]
    fit = smf.ols("error ~ skin_level + C(face)", frame).fit()
    assert row["estimate"] == pytest.approx(fit.params["skin_level"] * (levels - 1))

    # The t-test of the faces' slopes agrees where errors are not rare.
    slopes = [np.polyfit(of["skin_level"], of["error"], 1)[0] for _, of in frame.groupby("face")]
    of_faces = np.array(slopes) * (levels - 1)
    half = stats.t.ppf(0.975, len(slopes) - 1) * of_faces.std(ddof=1) / np.sqrt(len(slopes))
    assert row["high"] - row["low"] == pytest.approx(2 * half, rel=0.12)
    assert row["transects"] == len(slopes) and row["n"] == hair * len(slopes)


def test_matched_interval_by_a_loop_over_faces():
    levels = 5
    frame = faces_at_levels(levels, faces=25).drop(columns="hair_level")
    row = matched_trends(frame, "error", "skin_level", levels, [], "face").iloc[0]
    shares = []
    for _, of_face in frame.groupby("face"):
        error = of_face.sort_values("skin_level")["error"].to_numpy()
        trend = sum(weight * e for weight, e in zip(trend_weights(levels), error, strict=True))
        shares.append(trend / largest_trend(levels))
    shares = np.array(shares)
    n = len(shares)
    single = np.abs(shares).sum() - n * shares.mean() ** 2
    effect = shares.var(ddof=1) * n / single
    counts = [shares[shares > 0].sum() / effect, -shares[shares < 0].sum() / effect, n / effect]
    ends = paired_interval(*counts, stats.t.ppf(0.975, n - 1))
    np.testing.assert_allclose(
        row[["low", "high"]].astype(float), np.array(ends) * largest_trend(levels)
    )


def test_trend_of_three_levels_is_the_difference_of_the_outer_two():
    frame = faces_at_levels(3).drop(columns="hair_level")
    of_three = matched_trends(frame, "error", "skin_level", 3, [], "face")
    outer = frame[frame["skin_level"] != 1]
    of_two = matched_effects(outer, "error", "skin_level", [], "face")
    counts = ["estimate", "n", "transects", "worse", "better"]
    pd.testing.assert_frame_equal(of_three[counts], of_two[counts])
    # With Student's quantiles in place of the normal's, the interval is a little wider.
    assert (of_three["low"] < of_two["low"]).all() and (of_three["high"] > of_two["high"]).all()
    assert (of_three["high"] - of_three["low"]).item() < 1.1 * (
        of_two["high"] - of_two["low"]
    ).item()


def test_a_face_without_one_of_its_levels_does_not_count():
    frame = faces_at_levels(5).drop(columns="hair_level")
    # The middle level has no weight, and is asked for all the same.
    lost = frame.assign(error=frame["error"].where(frame["face"].ne(0) | frame["skin_level"].ne(2)))
    row = matched_trends(lost, "error", "skin_level", 5, [], "face").iloc[0]
    alone = matched_trends(frame[frame["face"] > 0], "error", "skin_level", 5, [], "face").iloc[0]
    assert row["transects"] == 39 and row["missing"] == 1
    assert row["estimate"] == pytest.approx(alone["estimate"])


def test_numbers_have_halves_whose_difference_is_the_trend():
    frame = faces_at_levels(4).assign(years=lambda t: 3 * t["skin_level"] + t["face"])
    halves = level_halves(frame, "years", "skin_level", 4, ["face"], is_number=True)
    of_level = halves.groupby("skin_level")["years"].mean()
    assert of_level[1] - of_level[0] == pytest.approx(9)


@pytest.mark.parametrize("levels", [3, 5])
def test_portrait_trend_by_a_loop_over_levels(levels):
    frame = portraits_at_levels(levels)
    row = portrait_trends(frame, "error", "level", cluster="person").loc["all"]
    rates = frame.groupby("level", observed=False)["error"].mean()
    fit = smf.ols("rate ~ number", pd.DataFrame({"rate": rates, "number": range(levels)})).fit()
    assert row["estimate"] == pytest.approx(fit.params["number"] * (levels - 1))

    weights = trend_weights(levels)
    n = frame["level"].value_counts(sort=False).to_numpy()
    shares = np.concatenate([[(w / size) ** 2] * size for w, size in zip(weights, n, strict=True)])
    quantile = stats.t.ppf(0.975, shares.sum() ** 2 / (shares**2).sum() - 1)
    margins = []
    for weight, rate, size in zip(weights, rates, n, strict=True):

        def excess(p, rate=rate, size=size):
            return (rate - p) ** 2 - quantile**2 * p * (1 - p) / size

        ends = brentq(excess, 0, rate), brentq(excess, rate, 1)
        to_lower = weight * (rate - ends[0]) if weight > 0 else weight * (rate - ends[1])
        margins.append(to_lower)
    assert row["low"] == pytest.approx(row["estimate"] - np.sqrt(np.square(margins).sum()))


def test_p_is_where_the_interval_ends_in_zero():
    frame = portraits_at_levels(4, people=60, several=True)
    rows = [
        portrait_trends(
            frame.assign(error=frame["error"] | (frame["level"].cat.codes >= least)),
            "error",
            "level",
            cluster="person",
        ).loc["all"]
        for least in (1, 3, 4)
    ]
    for row in rows:
        assert (row["p"] < 0.05) == (row["low"] > 0 or row["high"] < 0)
        assert (row["p"] < 0.1) == (row["low90"] > 0 or row["high90"] < 0)


def test_people_with_several_portraits_are_one_unit_each():
    frame = portraits_at_levels(4, several=True)
    row = portrait_trends(frame, "years", "level", cluster="person", is_number=True).loc["all"]
    means = frame.groupby("level", observed=False)["years"].mean().to_numpy()
    weights = np.array(trend_weights(4))
    n = frame["level"].value_counts(sort=False).to_numpy()
    influence = np.zeros((120, 4))
    for person, level, years in zip(frame["person"], frame["level"], frame["years"], strict=True):
        influence[person, level] += (years - means[level]) / n[level]
    people = (frame.groupby("level", observed=False)["person"].nunique()).to_numpy()
    influence *= np.sqrt(people / (people - 1))
    se = np.sqrt(((influence @ weights) ** 2).sum())
    assert row["estimate"] == pytest.approx(weights @ means)
    assert row["estimate"] - row["low"] == pytest.approx(
        row["mde"] / (stats.norm.ppf(0.8) + 1.96) * 1.96, rel=0.05
    )
    share = np.zeros(120)
    np.add.at(share, frame["person"], (weights / n)[frame["level"].cat.codes] ** 2)
    df = share.sum() ** 2 / (share**2).sum() - 1
    assert row["high"] - row["estimate"] == pytest.approx(stats.t.ppf(0.975, df) * se)
    # Errors of a person hang together, so the people are worth fewer images.
    by_person = portrait_trends(frame, "error", "level", cluster="person").loc["all"]
    by_image = portrait_trends(frame, "error", "level").loc["all"]
    assert by_person["estimate"] == by_image["estimate"]
    assert by_person["high"] - by_person["low"] != pytest.approx(by_image["high"] - by_image["low"])


def test_cells_are_apart():
    frame = portraits_at_levels(3, people=300)
    frame["hair"] = np.where(frame["person"] % 2, "long", "short")
    table = portrait_trends(frame, "error", "level", ["hair"], "person")
    for hair, row in table.iterrows():
        alone = portrait_trends(frame[frame["hair"] == hair], "error", "level", [], "person")
        pd.testing.assert_series_equal(row, alone.loc["all"], check_names=False)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda frame: frame[frame["level"] != 1], "no image with level = 1"),
        (
            lambda frame: frame[(frame["level"] != 1) | frame["is_first"]],
            "one person with level = 1",
        ),
    ],
)
@pytest.mark.parametrize("outcome", ["error", "years"])
def test_a_level_with_too_little_is_not_estimable(change, reason, outcome):
    frame = portraits_at_levels(4, several=True)
    frame["is_first"] = ~frame["level"].duplicated()
    row = portrait_trends(
        change(frame), outcome, "level", cluster="person", is_number=outcome == "years"
    ).loc["all"]
    assert row["reason"] == reason and row["verdict"] == "not estimable"
    assert row[["estimate", "low", "high", "p", "mde"]].isna().all()


def test_levels_need_an_order():
    frame = portraits_at_levels(3).astype({"level": int})
    with pytest.raises(InputError, match="'level' is no categorical, so its levels have no order"):
        portrait_trends(frame, "error", "level")


def test_a_trend_of_one_face_is_no_number():
    frame = faces_at_levels(4).drop(columns="hair_level")
    row = matched_trends(frame[frame["face"] == 7], "error", "skin_level", 4, [], "face").iloc[0]
    assert row["reason"] == "one transect" and row["verdict"] == "not estimable"
    assert row[["estimate", "low", "high", "p", "mde"]].isna().all()


@pytest.mark.parametrize(
    ("change", "levels", "message"),
    [
        ({"skin_level": -1}, 4, "'skin_level', row 5 is -1, a whole number from 0 to 3 was expe"),
        ({"skin_level": 1.5}, 4, "'skin_level', row 5 is 1.5, a whole number from 0 to 3 was exp"),
        ({"skin_level": np.nan}, 4, "'skin_level', row 5 is nan, a whole number from 0 to 3 was"),
        ({}, 3, "'skin_level', row 3 is 3, a whole number from 0 to 2 was expected .40 such"),
        ({}, 1, "levels is 1, a whole number of at least 2 was expected"),
        ({"error": 2}, 4, "'error', row 5 is 2, a number in .0, 1. was expected"),
        ({"error": "yes"}, 4, "'error', row 5 is 'yes', a number in .0, 1. was expected"),
        ({"face": None}, 4, "'face', row 5 is nan, a face or a level was expected"),
    ],
)
def test_what_is_wrong_with_matched_levels_is_named(change, levels, message):
    frame = faces_at_levels(4).drop(columns="hair_level").astype({"face": float})
    for column, value in change.items():
        frame[column] = frame[column].astype(object)
        frame.loc[5, column] = value
        if not isinstance(value, str):
            frame[column] = frame[column].infer_objects()
    with pytest.raises(InputError, match=message):
        matched_trends(frame, "error", "skin_level", levels, [], "face")


def test_what_is_wrong_with_numbers_at_levels_is_named():
    frame = faces_at_levels(4).assign(years=1.0)
    frame.loc[6, "years"] = np.inf
    matching = ["face", "hair_level"]
    with pytest.raises(InputError, match="'years', row 6 is inf, a finite number was expected"):
        level_halves(frame, "years", "skin_level", 4, matching, is_number=True)
    with pytest.raises(InputError, match="no column .*weeks"):
        level_halves(frame, "weeks", "skin_level", 4, matching, is_number=True)
