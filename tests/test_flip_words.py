"""Sentences say what the numbers say."""

import numpy as np
import pandas as pd
import pytest

from helpers import flip_words


def quality(precision: float, recall: float) -> pd.DataFrame:
    columns = {"precision": [0.9, precision], "recall": [0.8, recall]}
    return pd.DataFrame(columns, ["other renders", "samples"])


@pytest.mark.parametrize(
    ("precision", "recall", "elsewhere", "never"),
    [(0.88, 0.79, 0, 0), (0.5, 0.79, 1, 0), (0.95, 0.6, 0, 1), (0.5, 0.6, 1, 1)],
)
def test_words_on_quality_name_what_falls_short(precision, recall, elsewhere, never):
    told = flip_words.on_quality(quality(precision, recall))
    assert told.startswith(
        f"{precision:.0%} of the samples lie among the renders, against 90% of other renders, "
        f"and {recall:.0%} of the renders among the samples, against 80%."
    )
    assert ("Samples that lie elsewhere" in told) == elsewhere
    assert ("Faces that the generator never makes" in told) == never
    assert not told.endswith(" ")


def test_words_on_balance_have_the_mean_sizes_of_cosines():
    columns = pd.MultiIndex.from_product([["Smiling", "Male"], ["unbalanced", "balanced"]])
    cosines = pd.DataFrame([[0.3, -0.1, 0.8, 0.2], [-0.5, 0.1, -0.6, 0.0]], columns=columns)
    told = flip_words.on_balance(cosines)
    assert told.startswith("Balancing changes the mean absolute cosine with ")
    assert "with Smiling from 0.40 to 0.10" in told and "with Male from 0.70 to 0.10" in told
    assert told.count(" and ") == 1 and told.endswith(".")


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
    listed = "clearly different from zero for *Heavy Makeup* (+0.12), *No Beard* (-0.30)."
    assert listed in told and "Young" not in told and "none" not in told
    told = flip_words.on_rest({"Young": tables["Young"]}, smiles)
    assert "clearly different from zero for none of the vectors." in told
    smiles["No_Beard"] = pd.Series([-0.2])
    told = flip_words.on_rest(tables, smiles)
    assert "Do not trust it here" in told and "change more along No Beard than" in told


def test_words_on_rest_say_where_nothing_can_be_calibrated():
    tables = {"Young": rest(0.1, 0.05, 0.2), "No_Beard": rest(np.nan, np.nan, np.nan)}
    told = flip_words.on_rest(tables, {"Smiling": pd.Series([0.0, 0.1])})
    assert "nothing to calibrate on" in told and "different from zero" not in told


@pytest.mark.parametrize(("ratio", "expected"), [(0, "95%"), (0.5, "92%"), (1, "83%")])
def test_words_on_truth_expect_less_where_the_truth_is_uncertain(ratio, expected):
    audited = pd.DataFrame({"low": [0.0, 1.0], "high": [0.2, 1.4], "holds": [True, False]})
    truth = pd.DataFrame({"low": [0.0, 0.0], "high": [0.2 * ratio, 0.4 * ratio]})
    told = flip_words.on_truth(audited, truth, pd.Series([0.93, 0.97]))
    assert "1 of 2 intervals hold the truth, 50%;" in told
    assert f"{expected} can be expected to" in told
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
