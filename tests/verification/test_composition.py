"""Effects of a training set's composition: against a loop, and coverage of known effects."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, t

from helpers.verification import composition_effects

FAMILIAR = ("a", "b")


def study(seed, n=40, rates=(0.05, 0.1), control=(0.05, 0.05), shared=0.4, dyad=0.3, images=17):
    """Errors of two recognisers on pairs in a ring, at known rates in familiar and other groups."""
    rng = np.random.default_rng(seed)
    first = np.tile(np.repeat(np.arange(n), 3), 4)
    second = (first + np.tile(np.arange(1, 4), 4 * n)) % n
    group = np.repeat(["a", "b", "c", "d"], 3 * n)
    own = np.sqrt(shared / 2) * rng.standard_normal(n)
    latent = own[first] + own[second] + np.sqrt(dyad) * rng.standard_normal(len(first))
    rest = np.sqrt(1 - shared - dyad)
    errors = []
    for familiar, rare in (rates, control):
        limit = norm.ppf(1 - np.where(np.isin(group, FAMILIAR), familiar, rare))
        noise = rest * rng.standard_normal((images, len(first)))
        errors.append((latent + noise > limit).astype(int).T.ravel())
    vertices = np.repeat(np.column_stack([first, second]), images, axis=0)
    return *errors, np.repeat(group, images), vertices


def test_estimates_and_variance_are_those_of_a_loop():
    errors, control, group, vertices = study(1, n=8, images=2)
    table = composition_effects(errors, control, group, vertices, FAMILIAR)
    names = ["a", "b", "c", "d"]
    rates = {g: errors[group == g].mean() for g in names}
    gap = (rates["c"] + rates["d"] - rates["a"] - rates["b"]) / 2
    assert table.loc["recogniser", "estimate"] == pytest.approx(gap)
    assert table.loc["recogniser", "rare"] == pytest.approx((rates["c"] + rates["d"]) / 2)
    estimates = table["estimate"]
    expected = estimates["recogniser"] - estimates["control"]
    assert estimates["difference"] == pytest.approx(expected)
    weight = np.where(np.isin(group, FAMILIAR), -0.5, 0.5) / (group == "a").sum()
    residual = weight * (errors - np.array([rates[g] for g in group]))
    variance = within = apart = 0
    for i, one in enumerate(vertices):
        for j, other in enumerate(vertices):
            if set(one) & set(other):
                variance += residual[i] * residual[j]
                within += residual[i] * residual[j] * (set(one) == set(other))
            else:
                apart += 1
    se = np.sqrt(max(variance, within) * len(vertices) ** 2 / apart)
    sums = [residual[(vertices == identity).any(axis=1)].sum() ** 2 for identity in range(8)]
    df = min(2 * np.sum(sums) ** 2 / (8 * np.var(sums)), 7)
    half = (table["high"] - table["low"])["recogniser"] / 2
    assert half == pytest.approx(t.ppf(0.975, df) * se)


@pytest.mark.parametrize("shared, dyad", [(0.1, 0.1), (0.5, 0.3)])
@pytest.mark.parametrize("rates", [(0.05, 0.05), (0.05, 0.12)])
def test_intervals_cover_the_known_effect(rates, shared, dyad):
    tables = [
        composition_effects(*study(seed, rates=rates, shared=shared, dyad=dyad), FAMILIAR)
        for seed in range(300)
    ]
    for row, truth in (("recogniser", rates[1] - rates[0]), ("difference", rates[1] - rates[0])):
        covered = np.mean([(x.loc[row, "low"] <= truth <= x.loc[row, "high"]) for x in tables])
        assert 0.92 <= covered <= 0.99, row


def test_what_both_recognisers_share_is_no_effect():
    errors, _, group, vertices = study(3)
    table = composition_effects(errors, errors, group, vertices, FAMILIAR)
    assert table.loc["difference", "estimate"] == 0
    assert table.loc["difference", "reason"] == "errors do not vary within groups"
    assert table.loc["difference", ["low", "high", "p"]].isna().all()
    assert table.loc["recogniser", "reason"] == ""


def test_positives_of_one_identity_are_clusters():
    errors, control, group, vertices = study(4)
    vertices = vertices[:, [0, 0]]
    table = composition_effects(errors, control, group, vertices, FAMILIAR)
    weight = np.where(np.isin(group, FAMILIAR), -0.5, 0.5) / (group == "a").sum()
    means = {g: errors[group == g].mean() for g in set(group)}
    residual = weight * (errors - np.array([means[g] for g in group]))
    squares = np.bincount(vertices[:, 0], residual) ** 2
    se = np.sqrt(squares.sum() * 40 / 39)
    df = min(2 * squares.sum() ** 2 / (40 * squares.var()), 39)
    half = (table["high"] - table["low"])["recogniser"] / 2
    assert half == pytest.approx(t.ppf(0.975, df) * se)


def test_errors_that_vary_between_groups_alone_have_no_interval():
    _, control, group, vertices = study(6)
    table = composition_effects(np.isin(group, ["c"]), control, group, vertices, FAMILIAR)
    assert table.loc["recogniser", ["rare", "familiar", "estimate"]].tolist() == [0.5, 0, 0.5]
    assert table.loc["recogniser", "reason"] == "errors do not vary within groups"
    assert table.loc["recogniser", ["low", "high", "p"]].isna().all()
    assert table.loc["control", "reason"] == ""


def test_a_categorical_says_which_groups_there_are():
    *errors, group, vertices = study(7)
    plain = composition_effects(*errors, group, vertices, FAMILIAR)
    # In another order, which changes nothing.
    named = pd.Categorical(group, ["d", "b", "a", "c"])
    pd.testing.assert_frame_equal(composition_effects(*errors, named, vertices, FAMILIAR), plain)
    pd.testing.assert_frame_equal(
        composition_effects(*errors, pd.Series(named), vertices, FAMILIAR), plain
    )


@pytest.mark.parametrize("lost", [["a"], ["d"], ["b", "c"], ["a", "b", "c", "d"]])
def test_without_pairs_of_a_group_nothing_is_estimable(lost):
    errors, control, group, vertices = study(8)
    some = ~np.isin(group, lost)
    named = pd.Categorical(group, ["a", "b", "c", "d"])[some]
    table = composition_effects(errors[some], control[some], named, vertices[some], FAMILIAR)
    assert set(table["reason"]) == {f"no pairs of {', '.join(lost)}"}
    assert table[["estimate", "low", "high", "p"]].isna().all(axis=None)
    for side, labels in (("familiar", ["a", "b"]), ("rare", ["c", "d"])):
        assert table[side].isna().all() == bool(set(labels) & set(lost))
        assert table[side].isna().any() == bool(set(labels) & set(lost))


def test_bad_input_is_named():
    errors, control, group, vertices = study(5, n=8)
    for familiar in (["a", "x"], "xy", [], ["a", "b", "c", "d"]):
        with pytest.raises(ValueError, match="must be some, but not all, of .'a', 'b', 'c', 'd'."):
            composition_effects(errors, control, group, vertices, familiar)
    with pytest.raises(ValueError, match="errors: row 0 is 2, 0 or 1"):
        composition_effects(errors + 2, control, group, vertices, FAMILIAR)
    with pytest.raises(ValueError, match="control: row 0 is 2, 0 or 1"):
        composition_effects(errors, control + 2, group, vertices, FAMILIAR)
    with pytest.raises(ValueError, match="control: shape .* as of errors"):
        composition_effects(errors, control[1:], group, vertices, FAMILIAR)
    # Plain labels name only the groups that there are.
    some = group != "b"
    with pytest.raises(ValueError, match="must be some, but not all, of .'a', 'c', 'd'."):
        composition_effects(errors[some], control[some], group[some], vertices[some], FAMILIAR)
    for missing in (None, np.nan):
        labels = group.astype(object)
        labels[3] = missing
        with pytest.raises(ValueError, match="'group', row 3 is nan, a group was expected"):
            composition_effects(errors, control, labels, vertices, FAMILIAR)
    for wrong in (vertices[:-1], vertices[:, 0], vertices.ravel()):
        with pytest.raises(ValueError, match=rf"identities \({len(errors)}, 2\) were expected"):
            composition_effects(errors, control, group, wrong, FAMILIAR)
    unknown = vertices.astype(float)
    unknown[4, 1] = np.nan
    with pytest.raises(ValueError, match="vertices, row 4: an identity is missing"):
        composition_effects(errors, control, group, unknown, FAMILIAR)


def test_one_identity_has_no_interval():
    errors, control, group, vertices = study(5, n=8)
    alone = np.zeros_like(vertices)
    table = composition_effects(errors, control, group, alone, FAMILIAR)
    assert set(table["reason"]) == {"too few identities"}
    assert table["estimate"].notna().all() and table[["low", "high", "p"]].isna().all(axis=None)
