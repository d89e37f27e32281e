"""Sentences of the chapter on sensitivity flips that follow from its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from scipy.stats import norm


def on_quality(quality: pd.DataFrame) -> str:
    """What the measures say, from `quality_table` with rows samples, other renders and blurred."""
    made, perfect = quality.loc["samples"], quality.loc["other renders"]
    blurred = quality.loc["renders, blurred"]
    told = [
        f"{made['precision']:.0%} of the samples lie among the renders, against "
        f"{perfect['precision']:.0%} of other renders and {blurred['precision']:.0%} of blurred "
        f"ones; {made['recall']:.0%} of the renders lie among the samples, against "
        f"{perfect['recall']:.0%}."
    ]
    if not np.isnan(made["Fréchet distance"]):
        told.append(
            f"Their Fréchet distance is {made['Fréchet distance']:.2f}, that of other renders "
            f"{perfect['Fréchet distance']:.2f}, that of blurred ones "
            f"{blurred['Fréchet distance']:.2f}."
        )
    if made["precision"] < perfect["precision"] - 0.05:
        told.append("Samples that lie elsewhere test how the classifier treats artefacts.")
    if made["recall"] < perfect["recall"] - 0.05:
        told.append("Faces that the generator never makes are never audited.")
    return " ".join(told)


def on_smiles(samples: np.ndarray, renders: np.ndarray) -> str:
    """How often the classifier sees a smile, from its decisions on samples and on renders."""
    made, real = np.mean(samples), np.mean(renders)
    shares = f"The classifier sees a smile in {made:.0%} of the samples and in {real:.0%} of the "
    if made >= 0.5 * real:
        return f"{shares}renders held out."
    return (
        f"{shares}renders held out. The generator draws few smiles that can be read, so rates "
        "among codes that smile rest on few codes, and their intervals are wide."
    )


def on_accuracy(accuracy: pd.DataFrame) -> str:
    """Which vectors do not tell held-out codes apart, from `attribute_vectors.vector_table`."""
    blind = accuracy.index[accuracy["low"] <= 0.5]
    if blind.empty:
        return "Every vector tells held-out codes apart better than chance."
    return (
        f"For {_listed(blind)} the interval holds one half: these vectors tell codes apart no "
        "better than a random direction may, and what follows along them says nothing about their "
        "names."
    )


def on_balance(gaps: pd.DataFrame) -> str:
    """What balancing does to the mean sizes of `brought_along`."""
    mean = gaps.abs().mean()
    parts = [
        f"{other} from {mean[other, 'unbalanced']:.2f} to {mean[other, 'balanced']:.2f}"
        for other in gaps.columns.levels[0]
    ]
    return f"Balancing changes what comes along on average: {', '.join(parts)} standard deviations."


def on_lines(kept: pd.DataFrame, positive: np.ndarray) -> str:
    """How consistent lines are, beside what random codes of that class would give.

    Args:
        kept: of `sensitivity.consistency`.
        positive: decisions on random codes.
    """
    sides = {
        "smile": ("positive", np.mean(positive)),
        "do not smile": ("negative", 1 - np.mean(positive)),
    }
    told = []
    for words, (ends, base) in sides.items():
        row = kept.loc[ends]
        if np.isnan(row["estimate"]):
            told.append(f"There are no two codes that {words}.")
            continue
        told.append(
            f"Between two codes that {words}, {row['estimate']:.0%} [{row['low']:.0%}, "
            f"{row['high']:.0%}] keep the class; of random codes {base:.0%} have it."
        )
    return " ".join(told)


def on_reading(reading: pd.DataFrame) -> str:
    """Which attributes the reader sees move less than they do, from `models.reading_error`."""
    shrunk = reading.index[reading["slope"] < 0.75]
    if shrunk.empty:
        return "Of a change in any attribute the reader sees three quarters or more."
    told = [f"{_perceived(name)} ({reading.loc[name, 'slope']:.0%})" for name in shrunk]
    return (
        f"Of a change in {', '.join(told)} the reader sees only the share in brackets: cells in "
        "these columns are smaller than what happened by that much."
    )


def on_rest(explained: Mapping[str, pd.DataFrame], smile_changes: Mapping[str, pd.Series]) -> str:
    """For which vectors the perceived smile does not account for the change of the score.

    Args:
        explained: of `explained_by_smile`.
        smile_changes: vector → changes of perceived smiling; that of "Smiling" calibrates.
    """
    rest = {name: table.loc["rest"] for name, table in explained.items()}
    if any(np.isnan(row["estimate"]) for row in rest.values()):
        return (
            "The raters see no clear change of the smile along the vector of smiling, so there is "
            "nothing to calibrate on: with this few codes the parts are not estimable."
        )
    told = [
        f"*{name.replace('_', ' ')}* ({row['estimate']:+.2f})"
        for name, row in rest.items()
        if _clear(row)
    ]
    verdict = (
        f"The rest is clearly different from zero for {', '.join(told) or 'none of the vectors'}; "
        f"by chance alone {0.05 * len(rest):.2g} of {len(rest)} such intervals would exclude it. "
        "Only there does the classifier answer to something besides the smile, as far as these "
        "raters can see. A smile that the reader misses would still be counted as bias."
    )
    moved = {name: abs(change.mean()) for name, change in smile_changes.items()}
    if most := [name for name in moved if moved[name] > moved["Smiling"]]:
        return (
            f"{verdict} **Do not trust it here:** the raters see the smile change more along "
            f"{', '.join(name.replace('_', ' ') for name in most)} than along the vector of "
            "smiling itself. On these samples reader and vector know too little of smiles."
        )
    return verdict


def on_rest_by_hand(explained: Mapping[str, pd.DataFrame], truth: pd.DataFrame) -> str:
    """What setting an attribute by hand does, where the rest along its vector is not zero.

    Args:
        explained: of `explained_by_smile`, on learned images.
        truth: `mean_changes` of changes by do().
    """
    told = [
        f"*{name.replace('_', ' ')}*: rest {table.loc['rest', 'estimate']:+.3f}, by hand "
        f"{truth.loc[name, 'estimate']:+.3f}"
        for name, table in explained.items()
        if name in truth.index and _clear(table.loc["rest"])
    ]
    if not told:
        return "No vector left a rest that could be compared with a change by hand."
    return (
        f"{'; '.join(told)}. Steps along learned and exact vectors differ in length, so only sign "
        "and order compare. Where a rest is far from zero and the change by hand is not, the "
        "vector moved something else, and the rest must not be put down to the attribute."
    )


def on_validation(rests: pd.DataFrame, totals: pd.DataFrame) -> str:
    """How often total and rest hold the truth, both with columns low, high and truth."""
    held = {
        name: int(one["truth"].between(one["low"], one["high"]).sum())
        for name, one in (("total", totals), ("rest", rests))
    }
    off = {
        name: (one["estimate"] - one["truth"]).abs().mean()
        for name, one in (("total", totals), ("rest", rests))
    }
    return (
        f"The totals hold the truth for {held['total']} of {len(rests)} vectors and are "
        f"{off['total']:.3f} off on average; the rests hold it for {held['rest']} and are "
        f"{off['rest']:.3f} off."
    )


def on_truth(audited: pd.DataFrame, truth: pd.DataFrame, repeated: pd.Series) -> str:
    """How many intervals hold the truth, and how many can be expected to.

    Args:
        audited: of `KnownTruth.audited`.
        truth: `mean_changes`, with an error of its own.
        repeated: of `repeated_audits`.
    """
    held, count = int(audited["holds"].sum()), len(audited)
    # The truth misses as well: the difference of both has the larger spread.
    width = {name: table["high"] - table["low"] for name, table in (("t", truth), ("a", audited))}
    expected = (2 * norm.cdf(1.96 / np.sqrt(1 + (width["t"] / width["a"]) ** 2)) - 1).mean()
    missing = audited.index[~audited["holds"].astype(bool)]
    missed = f"The interval of {_listed(missing)} misses it. " if len(missing) else ""
    return (
        f"With exact directions {held} of {count} intervals hold the truth, {held / count:.0%}; as "
        f"the truth has an error of its own, {expected:.0%} can be expected to. {missed}Without "
        "that error, in audits drawn again and again from the faces on which the truth was "
        f"computed, {repeated.mean():.0%} of the intervals hold it, and between "
        f"{repeated.min():.0%} and {repeated.max():.0%} for single attributes."
    )


def _clear(row: pd.Series) -> bool:
    """Whether an interval excludes zero."""
    return bool(row["low"] > 0 or row["high"] < 0)


def _listed(names: Iterable[object]) -> str:
    return ", ".join(f"*{str(name).replace('_', ' ')}*" for name in names)


def _perceived(name: str) -> str:
    return "perceived gender" if name == "gender" else name.replace("_", " ")
