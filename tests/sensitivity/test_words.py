"""Sentences say what the numbers say."""

import numpy as np
import pandas as pd
import pytest

from helpers.sensitivity import words


def quality(precision: float, recall: float, distance: float = 1.5) -> pd.DataFrame:
    columns = {
        "precision": [0.9, 0.4, precision],
        "recall": [0.8, 0.1, recall],
        "Fréchet distance": [0.1, 9.0, distance],
    }
    return pd.DataFrame(columns, ["other renders", "renders, blurred", "samples"])


@pytest.mark.parametrize(
    ("precision", "recall", "elsewhere", "never"),
    [(0.88, 0.79, 0, 0), (0.5, 0.79, 1, 0), (0.95, 0.6, 0, 1), (0.5, 0.6, 1, 1)],
)
def test_words_on_quality_name_what_falls_short(precision, recall, elsewhere, never):
    told = words.on_quality(quality(precision, recall))
    assert told.startswith(
        f"{precision:.0%} of the samples lie among the renders, against 90% of other renders and "
        f"40% of blurred ones; {recall:.0%} of the renders lie among the samples, against 80%. "
        "Their Fréchet distance is 1.50, that of other renders 0.10, that of blurred ones 9.00."
    )
    assert ("Samples that lie elsewhere" in told) == elsewhere
    assert ("Faces that the generator never makes" in told) == never
    assert not told.endswith(" ")


def test_words_on_quality_leave_out_a_distance_of_too_few_images():
    assert "Fréchet" not in words.on_quality(quality(0.5, 0.5, np.nan))


def test_words_on_accuracy_list_vectors_at_chance():
    table = pd.DataFrame({"low": [0.45, 0.6, 0.5]}, ["Smiling", "Long_Hair", "Heavy_Makeup"])
    told = words.on_accuracy(table)
    assert told.startswith("For *Smiling*, *Heavy Makeup* the interval holds one half")
    assert "better than chance" in words.on_accuracy(table.loc[["Long_Hair"]])


def test_words_on_balance_have_the_mean_sizes():
    columns = pd.MultiIndex.from_product([["smiling", "gender"], ["unbalanced", "balanced"]])
    gaps = pd.DataFrame([[0.3, -0.1, 0.8, 0.2], [-0.5, 0.1, -0.6, 0.0]], columns=columns)
    told = words.on_balance(gaps)
    assert "smiling from 0.40 to 0.10" in told and "gender from 0.70 to 0.10" in told
    assert told.endswith(" standard deviations.")


def test_words_on_lines_have_the_base_rate_beside():
    kept = pd.DataFrame(
        {"estimate": [0.5, np.nan], "low": [0.28, np.nan], "high": [0.72, np.nan]},
        ["positive", "negative"],
    )
    told = words.on_lines(kept, np.arange(10) < 1)
    assert (
        "Between two codes that smile, 50% [28%, 72%] keep the class; of random codes 10%" in told
    )
    assert told.endswith("There are no two codes that do not smile.")


def test_words_on_reading_name_attributes_that_shrink():
    reading = pd.DataFrame({"slope": [0.51, 0.98, 0.6]}, ["gender", "skin_colour", "facial_hair"])
    told = words.on_reading(reading)
    assert "change in perceived gender (51%), facial hair (60%) the reader" in told
    assert "three quarters or more" in words.on_reading(reading.iloc[[1]])


def parts(estimate: float, low: float, high: float) -> pd.DataFrame:
    """A table whose total and rest are the same."""
    return pd.DataFrame([[estimate, low, high]] * 2, ["total", "rest"], ["estimate", "low", "high"])


TABLES = {
    "Heavy_Makeup": parts(0.12, 0.05, 0.2),
    "Young": parts(0.02, -0.05, 0.2),
    "No_Beard": parts(-0.3, -0.5, -0.1),
}


def test_words_on_random_compare_with_the_farthest():
    by_chance = np.array([[0.01, 0.03], [-0.06, -0.04], [0.0, 0.0]])
    told = words.on_random(pd.Series({"Young": -0.06, "No_Beard": 0.04}), by_chance)
    assert words.farthest_by_chance(by_chance) == pytest.approx(0.05)
    assert told.startswith("Along 3 random directions the mean score moves by 0.031 (root")
    assert "at most by 0.050; 0 of their intervals" in told and "along *Young*. For" in told
    assert "along no vector." in words.on_random(pd.Series({"Young": 0.01}), by_chance)
    many = by_chance[:, np.arange(400) % 2]
    assert "2 of their intervals" in words.on_random(pd.Series({"Young": 0.01}), many)


def test_words_on_printed_name_what_leans_to_the_other_side():
    rows = {"Young": (0.05, 0.01, 0.09), "No_Beard": (-0.05, -0.1, 0.1), "Blond": (0.1, 0.0, 0.2)}
    index = pd.MultiIndex.from_tuples([(name, "+", "net") for name in rows])
    index.names = ["vector", "direction", "measure"]
    flips = pd.DataFrame([*rows.values()], index, ["estimate", "low", "high"])
    told = words.on_printed(flips, {"Young": (7.0, 2.6), "No_Beard": (0.8, 11.8)})
    assert told.startswith("For *Young* decisions lean to the other side than printed.")
    assert "No attribute's" in words.on_printed(flips, {"Young": (2.6, 7.0)})


def test_words_on_calibration_doubt_a_vector_at_chance_and_a_smile_that_moves_elsewhere():
    accuracy = pd.DataFrame({"low": [0.45]}, ["Smiling"])
    smiles = {name: pd.Series([0.01, 0.03]) for name in TABLES} | {"Smiling": pd.Series([0.1])}
    told = words.on_calibration(accuracy, smiles)
    assert "Do not trust" in told and "no better than chance" in told and "along it" not in told
    smiles["No_Beard"] = pd.Series([-0.2])
    told = words.on_calibration(accuracy + 0.1, smiles)
    assert "more along *No Beard* than along it" in told and "chance" not in told
    assert "fit for that" in words.on_calibration(accuracy + 0.1, {"Smiling": smiles["Young"]})


def test_words_on_rest_list_what_differs_from_zero():
    told = words.on_rest(TABLES, 0.2)
    assert "told from zero for *Heavy Makeup* (+0.120), *No Beard* (-0.300), and" in told
    assert "random directions (0.200) for *No Beard*. A rest" in told and "Young" not in told
    told = words.on_rest({"Young": TABLES["Young"]}, 0.2)
    assert "told from zero for none of the vectors" in told and "for none. A rest" in told


def test_words_on_rest_say_where_nothing_can_be_calibrated():
    told = words.on_rest(TABLES | {"Blond": parts(np.nan, np.nan, np.nan)}, 0.2)
    assert "nothing to calibrate on" in told and "told from zero" not in told


def test_words_on_opposite_need_both_to_be_clear():
    truth = pd.DataFrame(
        [[-0.1, -0.2, -0.05], [-0.1, -0.2, -0.05], [0.1, -0.1, 0.3]],
        ["Heavy_Makeup", "Young", "No_Beard"],
        ["estimate", "low", "high"],
    )
    tables = TABLES | {"Wearing_Lipstick": TABLES["Heavy_Makeup"]}
    told = words.on_opposite(tables, truth)
    assert told.startswith("Along *Heavy Makeup* the score moves the other way")
    assert "no vector the score clearly" in words.on_opposite(tables, -truth)


def test_words_on_validation_count_and_average():
    totals = pd.DataFrame(
        {"estimate": [0.3, 0.1], "low": [0.2, 0.0], "high": [0.4, 0.2], "truth": [0.1, 0.1]}
    )
    rests = totals.assign(estimate=[0.14, 0.1], low=[0.05, 0.0])
    told = words.on_validation(rests, totals)
    assert "truth for 1 of 2 vectors and are 0.100 off" in told
    assert "the rests hold it for 2 and are 0.020 off." in told


@pytest.mark.parametrize(("ratio", "expected"), [(0, "95%"), (0.5, "92%"), (1, "83%")])
def test_words_on_truth_expect_less_where_the_truth_is_uncertain(ratio, expected):
    audited = pd.DataFrame({"low": [0.0, 1.0], "high": [0.2, 1.4], "holds": [True, False]})
    truth = pd.DataFrame({"low": [0.0, 0.0], "high": [0.2 * ratio, 0.4 * ratio]})
    told = words.on_truth(audited, truth, pd.Series([0.93, 0.97]))
    assert "1 of 2 intervals hold the truth, 50%;" in told
    assert f"{expected} can be expected to. The interval of *1* misses it. " in told
    assert "95% of the intervals hold it, and between 93% and 97% for single" in told


def test_words_on_truth_expect_what_simulated_audits_hold():
    """Audit and truth both miss the effect; the interval is the audit's alone."""
    rng, ratio = np.random.default_rng(7), 0.75
    found, truth = rng.normal(0, 1, 20_000), rng.normal(0, ratio, 20_000)
    share = (np.abs(found - truth) < 1.96).mean()
    audited = pd.DataFrame({"low": [0.0], "high": [2 * 1.96], "holds": [True]})
    told = words.on_truth(audited, audited[["low", "high"]] * ratio, pd.Series([0.95]))
    stated = int(told.split("own, ")[1].split("%")[0])
    assert stated == pytest.approx(100 * share, abs=1.5)


def test_words_on_smiles_say_when_samples_hardly_smile():
    renders = np.linspace(0.05, 0.95, 10)
    half = words.on_smiles(np.repeat([0.4, 0.8], 5), renders)
    assert half.endswith(
        "a smile in 50% of the samples and in 50% of the renders held out; its score lies between "
        "0.3 and 0.7 for 50% of the samples and 40% of the renders."
    )
    few = words.on_smiles(np.where(np.arange(10) < 1, 0.9, 0.1), renders)
    assert "10% of the samples" in few and "few smiles that can be read" in few
