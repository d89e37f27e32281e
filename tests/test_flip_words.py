"""Sentences say what the numbers say."""

import numpy as np
import pandas as pd
import pytest

from helpers import flip_words


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
    told = flip_words.on_quality(quality(precision, recall))
    assert told.startswith(
        f"{precision:.0%} of the samples lie among the renders, against 90% of other renders and "
        f"40% of blurred ones; {recall:.0%} of the renders lie among the samples, against 80%. "
        "Their Fréchet distance is 1.50, that of other renders 0.10, that of blurred ones 9.00."
    )
    assert ("Samples that lie elsewhere" in told) == elsewhere
    assert ("Faces that the generator never makes" in told) == never
    assert not told.endswith(" ")


def test_words_on_quality_leave_out_a_distance_of_too_few_images():
    assert "Fréchet" not in flip_words.on_quality(quality(0.5, 0.5, np.nan))


def test_words_on_accuracy_list_vectors_at_chance():
    table = pd.DataFrame({"low": [0.45, 0.6, 0.5]}, ["Smiling", "Long_Hair", "Heavy_Makeup"])
    told = flip_words.on_accuracy(table)
    assert told.startswith("For *Smiling*, *Heavy Makeup* the interval holds one half")
    assert "better than chance" in flip_words.on_accuracy(table.loc[["Long_Hair"]])


def test_words_on_balance_have_the_mean_sizes():
    columns = pd.MultiIndex.from_product([["smiling", "gender"], ["unbalanced", "balanced"]])
    gaps = pd.DataFrame([[0.3, -0.1, 0.8, 0.2], [-0.5, 0.1, -0.6, 0.0]], columns=columns)
    told = flip_words.on_balance(gaps)
    assert "smiling from 0.40 to 0.10" in told and "gender from 0.70 to 0.10" in told
    assert told.endswith(" standard deviations.")


def test_words_on_lines_have_the_base_rate_beside():
    kept = pd.DataFrame(
        {"estimate": [0.5, np.nan], "low": [0.28, np.nan], "high": [0.72, np.nan]},
        ["positive", "negative"],
    )
    told = flip_words.on_lines(kept, np.arange(10) < 1)
    assert (
        "Between two codes that smile, 50% [28%, 72%] keep the class; of random codes 10%" in told
    )
    assert told.endswith("There are no two codes that do not smile.")


def test_words_on_reading_name_attributes_that_shrink():
    reading = pd.DataFrame({"slope": [0.51, 0.98, 0.6]}, ["gender", "skin_colour", "facial_hair"])
    told = flip_words.on_reading(reading)
    assert "change in perceived gender (51%), facial hair (60%) the reader" in told
    assert "three quarters or more" in flip_words.on_reading(reading.iloc[[1]])


def rest(estimate: float, low: float, high: float) -> pd.DataFrame:
    return pd.DataFrame([[estimate, low, high]], ["rest"], ["estimate", "low", "high"])


def test_words_on_rest_list_what_differs_from_zero():
    tables = {
        "Heavy_Makeup": rest(0.12, 0.05, 0.2),
        "Young": rest(0.02, -0.05, 0.2),
        "No_Beard": rest(-0.3, -0.5, -0.1),
    }
    smiles = {name: pd.Series([0.01, 0.03]) for name in tables} | {"Smiling": pd.Series([0.1])}
    told = flip_words.on_rest(tables, smiles)
    listed = "clearly different from zero for *Heavy Makeup* (+0.12), *No Beard* (-0.30); "
    assert f"{listed}by chance alone 0.15 of 3 such intervals would exclude it." in told
    assert "Young" not in told and "none" not in told
    told = flip_words.on_rest({"Young": tables["Young"]}, smiles)
    assert "clearly different from zero for none of the vectors; by" in told
    smiles["No_Beard"] = pd.Series([-0.2])
    told = flip_words.on_rest(tables, smiles)
    assert "Do not trust it here" in told and "change more along No Beard than" in told


def test_words_on_rest_say_where_nothing_can_be_calibrated():
    tables = {"Young": rest(0.1, 0.05, 0.2), "No_Beard": rest(np.nan, np.nan, np.nan)}
    told = flip_words.on_rest(tables, {"Smiling": pd.Series([0.0, 0.1])})
    assert "nothing to calibrate on" in told and "different from zero" not in told


def test_words_on_rest_by_hand_compare_only_what_is_clear():
    tables = {
        "Heavy_Makeup": rest(0.12, 0.05, 0.2),
        "Young": rest(0.02, -0.05, 0.2),
        "Wearing_Lipstick": rest(0.3, 0.2, 0.4),
    }
    truth = pd.DataFrame({"estimate": [0.001, 0.002]}, ["Heavy_Makeup", "Young"])
    told = flip_words.on_rest_by_hand(tables, truth)
    assert told.startswith("*Heavy Makeup*: rest +0.120, by hand +0.001. ")
    assert "No vector" in flip_words.on_rest_by_hand({"Young": tables["Young"]}, truth)


def test_words_on_validation_count_and_average():
    totals = pd.DataFrame(
        {"estimate": [0.3, 0.1], "low": [0.2, 0.0], "high": [0.4, 0.2], "truth": [0.1, 0.1]}
    )
    rests = totals.assign(estimate=[0.14, 0.1], low=[0.05, 0.0])
    told = flip_words.on_validation(rests, totals)
    assert "truth for 1 of 2 vectors and are 0.100 off" in told
    assert "the rests hold it for 2 and are 0.020 off." in told


@pytest.mark.parametrize(("ratio", "expected"), [(0, "95%"), (0.5, "92%"), (1, "83%")])
def test_words_on_truth_expect_less_where_the_truth_is_uncertain(ratio, expected):
    audited = pd.DataFrame({"low": [0.0, 1.0], "high": [0.2, 1.4], "holds": [True, False]})
    truth = pd.DataFrame({"low": [0.0, 0.0], "high": [0.2 * ratio, 0.4 * ratio]})
    told = flip_words.on_truth(audited, truth, pd.Series([0.93, 0.97]))
    assert "1 of 2 intervals hold the truth, 50%;" in told
    assert f"{expected} can be expected to. The interval of *1* misses it. " in told
    assert "95% of the intervals hold it, and between 93% and 97% for single" in told


def test_words_on_truth_expect_what_simulated_audits_hold():
    """Audit and truth both miss the effect; the interval is the audit's alone."""
    rng, ratio = np.random.default_rng(7), 0.75
    found, truth = rng.normal(0, 1, 20_000), rng.normal(0, ratio, 20_000)
    share = (np.abs(found - truth) < 1.96).mean()
    audited = pd.DataFrame({"low": [0.0], "high": [2 * 1.96], "holds": [True]})
    told = flip_words.on_truth(audited, audited[["low", "high"]] * ratio, pd.Series([0.95]))
    stated = int(told.split("own, ")[1].split("%")[0])
    assert stated == pytest.approx(100 * share, abs=1.5)


def test_words_on_smiles_say_when_samples_hardly_smile():
    renders = np.arange(10) < 6
    assert flip_words.on_smiles(np.arange(10) < 5, renders).endswith("60% of the renders held out.")
    few = flip_words.on_smiles(np.arange(10) < 1, renders)
    assert "10% of the samples" in few and "few smiles that can be read" in few
