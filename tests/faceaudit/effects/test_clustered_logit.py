"""Firth's log odds ratios against statsmodels and plain loops, and their coverage."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import t as student

from faceaudit.effects import firth_log_odds_ratios, interaction_columns
from faceaudit.utils import seeding

SKINS = ("skin_colour", "light", "dark")


def columns_of(**levels):
    """Columns of 0 and 1, from the names of the two levels and the codes of an attribute."""
    blocks = {
        (attribute, name): (np.asarray(codes) == code).astype(float)
        for attribute, (names, codes) in levels.items()
        for code, name in enumerate(names)
    }
    return pd.DataFrame(blocks)


def audit(faces, rates, seed, spread=1.0):
    """Four images a face: two skins, two lengths of hair; faces of two ages, not alike often."""
    random = seeding.rng(seed, "test of Firth's logit")
    face = np.repeat(np.arange(faces), 4)
    skin = np.tile([0, 1, 0, 1], faces)
    hair = np.tile([0, 0, 1, 1], faces)
    age = (face % 3 == 0).astype(int)
    common = np.repeat(random.random(faces) < 0.5, 4)
    chance = np.array(rates)[skin] * np.where(common, 1 + spread, 1 - spread)
    error = (random.random(4 * faces) < chance).astype(int)
    X = columns_of(
        skin_colour=(["light", "dark"], skin),
        hair_length=(["short", "long"], hair),
        age=(["young", "old"], age),
    )
    return X, error, face


def reference(design, error, face, column):
    """Firth's fit by statsmodels on data with the penalty's halves; its variance by plain loops."""
    leverage = np.full(len(error), 0.1)
    for _ in range(500):
        data = np.vstack([design, design, design])
        outcome = np.concatenate([error, np.ones(len(error)), np.zeros(len(error))])
        weights = np.concatenate([np.ones(len(error)), leverage / 2, leverage / 2])
        family = sm.families.Binomial()
        model = sm.GLM(outcome, data, family, freq_weights=weights)
        coefficients = model.fit(tol=1e-12, maxiter=200).params
        risk = 1 / (1 + np.exp(-design @ coefficients))
        curvature = risk * (1 - risk)
        information = design.T @ (curvature[:, None] * design)
        inverse = np.linalg.inv(information)
        leverage = curvature * np.array([row @ inverse @ row for row in design])
    clusters = np.unique(face)
    variance = 0.0
    shares = []
    for cluster in clusters:
        inside = face == cluster
        rows = design[inside]
        score = rows.T @ (error - risk)[inside]
        of_cluster = rows.T @ (curvature[inside, None] * rows)
        moved = np.linalg.solve(information - of_cluster, score)[column]
        variance += moved**2 * (len(clusters) - 1) / len(clusters)
        shares.append((inverse @ of_cluster @ inverse)[column, column])
    for row, risk_of_row, part in zip(design, risk, leverage, strict=True):
        influence = (inverse @ row)[column]
        variance += part / 2 * (influence * (1 - risk_of_row)) ** 2
        variance += part / 2 * (influence * risk_of_row) ** 2
    df = np.sum(shares) ** 2 / np.sum(np.square(shares)) - 1
    return coefficients[column], np.sqrt(variance), df


@pytest.mark.parametrize("attribute", ["skin_colour", "age"])
def test_fit_variance_and_degrees_of_freedom_are_those_of_plain_loops(attribute):
    X, error, face = audit(30, (0.05, 0.2), seed=1)
    error = error.copy()
    error[(X["hair_length", "long"] == 1) & (X["age", "old"] == 1)] = 0
    design = np.column_stack([np.ones(len(X)), X.iloc[:, 1::2]])
    column = {"skin_colour": 1, "hair_length": 2, "age": 3}[attribute]
    estimate, sd, df = reference(design, error, face, column)
    names = X[attribute].columns
    found = firth_log_odds_ratios(X, error, attribute, *names, face).loc["main effects"]
    assert found["estimate"] == pytest.approx(estimate, abs=1e-6)
    assert found["sd"] == pytest.approx(sd, rel=1e-6)
    assert found["df"] == pytest.approx(df, rel=1e-6)
    reach = student.ppf(0.975, df) * sd
    assert found["low"] == pytest.approx(estimate - reach, abs=1e-5)
    assert found["high"] == pytest.approx(estimate + reach, abs=1e-5)
    assert found["clusters"] == 30 and found["reason"] == ""


def test_two_levels_are_those_of_a_table_with_a_half_in_each_cell():
    skin = np.repeat([0, 1], [60, 40])
    error = np.concatenate([np.zeros(60), np.ones(3), np.zeros(37)])
    X = columns_of(skin_colour=(["light", "dark"], skin))
    found = firth_log_odds_ratios(X, error, *SKINS).loc["main effects"]
    assert found["estimate"] == pytest.approx(np.log(3.5 / 37.5 / (0.5 / 60.5)))
    # The variance of Gart's logit interval is 1 / cell, summed over the four cells.
    wide = np.sqrt(1 / 3.5 + 1 / 37.5 + 1 / 0.5 + 1 / 60.5)
    assert found["sd"] == pytest.approx(wide, rel=0.05)


def test_with_many_errors_it_is_the_cluster_sandwich_of_statsmodels():
    X, error, face = audit(400, (0.25, 0.4), seed=2)
    design = sm.add_constant(X.iloc[:, 1::2].to_numpy())
    model = sm.GLM(error, design, sm.families.Binomial())
    fit = model.fit(cov_type="cluster", cov_kwds={"groups": face})
    found = firth_log_odds_ratios(X, error, *SKINS, face).loc["main effects"]
    assert found["estimate"] == pytest.approx(fit.params[1], abs=0.01)
    assert found["sd"] == pytest.approx(fit.bse[1], rel=0.02)
    assert found["df"] == pytest.approx(399, rel=0.01)


def test_products_with_gender_give_a_row_a_gender():
    random = seeding.rng(3, "test of Firth's logit")
    skin = np.tile([0, 1, 0, 1], 200)
    gender = np.tile([0, 0, 1, 1], 200)
    slope = np.where(gender == 0, 1.5, -1.5)
    error = random.random(800) < 1 / (1 + np.exp(1.5 - slope * (skin - 0.5)))
    X = columns_of(
        skin_colour=(["light", "dark"], skin), gender=(["Female", "Male"], gender)
    ).rename_axis(columns=["attribute", "level"])
    Z = interaction_columns(X, ["skin_colour"])
    table = firth_log_odds_ratios(Z, error.astype(int), *SKINS, np.repeat(np.arange(200), 4))
    assert table.index.tolist() == ["Female", "Male"]
    for code, (_, row) in enumerate(table.iterrows()):
        inside = gender == code
        counts = [[(error[inside & (skin == k)] == e).sum() + 0.5 for e in (0, 1)] for k in (0, 1)]
        (right, wrong), (right_dark, wrong_dark) = counts
        assert row["estimate"] == pytest.approx(np.log(wrong_dark / right_dark * right / wrong))


def test_it_says_why_something_is_not_estimable():
    X, error, face = audit(30, (0.1, 0.2), seed=4)

    def reason(X, error, face, attribute="skin_colour", low="light", high="dark"):
        table = firth_log_odds_ratios(X, error, attribute, low, high, face)
        row = table.loc["main effects"]
        assert row[["estimate", "sd", "low", "high"]].isna().all()
        return row["reason"]

    assert reason(X, 0 * error, face) == "all err alike"
    assert reason(X, error, 0 * face) == "one cluster"
    dark = X[("skin_colour", "dark")] == 1
    only_dark = X[dark].reset_index(drop=True)
    assert reason(only_dark, error[dark], face[dark]) == "no image with one of the levels"
    twin = X.copy()
    twin["twin", "low"] = X["skin_colour", "light"]
    twin["twin", "high"] = X["skin_colour", "dark"]
    assert reason(twin, error, face) == "confounded with the covariates"
    assert not firth_log_odds_ratios(twin, error, "age", "young", "old", face)["reason"].item()
    one_old = X.copy()
    one_old["age", "old"] = (face == 7).astype(float)
    one_old["age", "young"] = 1 - one_old["age", "old"]
    alone = "one cluster has all images of a level"
    assert reason(one_old, error, face, "age", "young", "old") == alone
    assert not firth_log_odds_ratios(one_old, error, *SKINS, face)["reason"].item()


def test_intervals_cover_where_errors_are_rare():
    covered = []
    for seed in range(200):
        X, error, face = audit(40, (0.02, 0.06), seed)
        row = firth_log_odds_ratios(X, error, *SKINS, face).loc["main effects"]
        truth = np.log(0.06 / 0.94) - np.log(0.02 / 0.98)
        if not row["reason"]:
            covered.append(row["low"] <= truth <= row["high"])
    assert len(covered) > 180 and np.mean(covered) >= 0.93
