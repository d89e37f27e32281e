"""Sentences of the chapter on sensitivity flips that follow from its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from scipy.stats import norm
from scipy.stats import t as student

from helpers.sensitivity.measures import NEAR, THRESHOLD


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
    """How often the classifier sees a smile, and is in doubt, by its scores."""
    made, real = (np.mean(scores >= THRESHOLD) for scores in (samples, renders))
    doubt = [np.mean((scores > NEAR[0]) & (scores < NEAR[1])) for scores in (samples, renders)]
    told = (
        f"The classifier sees a smile in {made:.0%} of the samples and in {real:.0%} of the "
        f"renders held out; its score lies between {NEAR[0]} and {NEAR[1]} for {doubt[0]:.0%} of "
        f"the samples and {doubt[1]:.0%} of the renders."
    )
    if made >= 0.5 * real:
        return told
    return (
        f"{told} The generator draws few smiles that can be read, so rates among codes that smile "
        "rest on few codes, and their intervals are wide."
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
        f"Of a change in {', '.join(told)} the reader sees only the share in brackets, and so do "
        "the raters: what they say of these attributes below is too small."
    )


def on_random(changes: pd.Series, by_chance: np.ndarray) -> str:
    """Which vectors move the score farther than random directions do.

    Args:
        changes: score sensitivity by vector.
        by_chance: change of every code's score along random directions (directions, codes).
    """
    means, farthest = by_chance.mean(axis=1), farthest_by_chance(by_chance)
    error = by_chance.std(axis=1, ddof=1) / np.sqrt(by_chance.shape[1])
    clear = int((np.abs(means) > student.ppf(0.975, by_chance.shape[1] - 1) * error).sum())
    beyond = _listed(changes.index[changes.abs() > farthest])
    return (
        f"Along {len(means)} random directions the mean score moves by "
        f"{np.sqrt(np.mean(means**2)):.3f} (root mean square) and at most by {farthest:.3f}; "
        f"{clear} of their intervals exclude zero. Farther than all of them goes the score along "
        f"{beyond or 'no vector'}. For the others an interval without zero says that a step is not "
        "nothing; it does not say that this attribute matters more than a step of no name."
    )


def farthest_by_chance(by_chance: np.ndarray) -> float:
    """The largest mean change of changes (directions, codes), whatever its sign."""
    return float(np.abs(by_chance.mean(axis=1)).max())


def on_printed(flips: pd.DataFrame, printed: Mapping[str, tuple[float, float]]) -> str:
    """For which attributes decisions lean to the other side than in the workshop paper.

    Args:
        flips: of `all_flips`.
        printed: attribute → rates 1→0 and 0→1, in per cent.
    """
    net = flips.xs(("+", "net"), level=("direction", "measure"))
    other = [
        name
        for name, (away, towards) in printed.items()
        if _clear(net.loc[name]) and net.loc[name, "estimate"] * (towards - away) < 0
    ]
    lean = (
        f"For {_listed(other)} decisions lean to the other side than printed"
        if other
        else "No attribute's decisions clearly lean to the other side than printed"
    )
    return f"{lean}. Pictures, generator and classifier are others: the form compares, not rates."


def on_calibration(accuracy: pd.DataFrame, smile_changes: Mapping[str, pd.Series]) -> str:
    """Whether the vector of smiling can serve to calibrate.

    Args:
        accuracy: of `attribute_vectors.vector_table`.
        smile_changes: vector → changes of perceived smiling.
    """
    doubts = []
    if accuracy.loc["Smiling", "low"] <= 0.5:
        doubts.append("the vector of smiling tells held-out codes apart no better than chance")
    moved = {name: abs(change.mean()) for name, change in smile_changes.items()}
    if most := [name for name in moved if moved[name] > moved["Smiling"]]:
        doubts.append(f"the raters see the smile change more along {_listed(most)} than along it")
    if not doubts:
        return "The vector of smiling is fit for that: raters see the smile change most along it."
    return (
        f"**Do not trust the parts here:** {'; '.join(doubts)}. On these samples reader and vector "
        "know too little of smiles, so what follows shows how the question is asked, rather than "
        "its answer."
    )


def on_rest(explained: Mapping[str, pd.DataFrame], farthest: float) -> str:
    """For which vectors the perceived smile does not account for the change of the score.

    Args:
        explained: of `explained_by_smile`.
        farthest: how far the score moves along the farthest random direction.
    """
    rest = {name: table.loc["rest"] for name, table in explained.items()}
    if any(np.isnan(row["estimate"]) for row in rest.values()):
        return (
            "The raters see no clear change of the smile along the vector of smiling, so there is "
            "nothing to calibrate on: with this few codes the parts are not estimable."
        )
    clear = {name: row["estimate"] for name, row in rest.items() if _clear(row)}
    told = [f"*{name.replace('_', ' ')}* ({size:+.3f})" for name, size in clear.items()]
    far = [name for name, size in clear.items() if abs(size) > farthest]
    return (
        f"The rest can be told from zero for {', '.join(told) or 'none of the vectors'}, and is "
        f"larger than the score's change along any of the random directions ({farthest:.3f}) for "
        f"{_listed(far) or 'none'}. A rest that cannot be told from zero is not zero, and a smile "
        "that the reader misses would be counted as bias."
    )


def on_opposite(explained: Mapping[str, pd.DataFrame], truth: pd.DataFrame) -> str:
    """Along which learned vectors the score moves the other way than by do().

    Args:
        explained: of `explained_by_smile`, on learned images.
        truth: `mean_changes` of changes by do().
    """
    opposite = [
        name
        for name, table in explained.items()
        if name in truth.index
        and _clear(table.loc["total"])
        and _clear(truth.loc[name])
        and table.loc["total", "estimate"] * truth.loc[name, "estimate"] < 0
    ]
    told = (
        f"Along {_listed(opposite)} the score moves the other way than when the attribute is set "
        "by hand: the flips there are not the attribute's."
        if opposite
        else "Along no vector the score clearly moves the other way than by hand."
    )
    return (
        f"{told} Steps along learned and exact vectors differ in length, so only sign and order "
        "compare. Where an effect is far from zero and the change by hand is not, the vector moved "
        "something else, and the effect must not be put down to the attribute."
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
        audited: of `audit_with_truth.against`.
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
