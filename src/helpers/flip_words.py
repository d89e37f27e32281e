"""Sentences of the chapter on sensitivity flips that follow from its numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.stats import norm


def on_quality(quality: pd.DataFrame) -> str:
    """What precision and recall say, from `quality_table` with rows samples and other renders."""
    made, perfect = quality.loc["samples"], quality.loc["other renders"]
    shares = (
        f"{made['precision']:.0%} of the samples lie among the renders, against "
        f"{perfect['precision']:.0%} of other renders, and {made['recall']:.0%} of the renders "
        f"among the samples, against {perfect['recall']:.0%}."
    )
    faults = []
    if made["precision"] < perfect["precision"] - 0.05:
        faults.append("Samples that lie elsewhere test how the classifier treats artefacts.")
    if made["recall"] < perfect["recall"] - 0.05:
        faults.append("Faces that the generator never makes are never audited.")
    return " ".join([shares, *faults])


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


def on_balance(cosines: pd.DataFrame) -> str:
    """What balancing does to the mean absolute cosines of `overlap`."""
    mean = cosines.abs().mean()
    parts = [
        f"with {other} from {mean[other, 'unbalanced']:.2f} to {mean[other, 'balanced']:.2f}"
        for other in cosines.columns.levels[0]
    ]
    return f"Balancing changes the mean absolute cosine {' and '.join(parts)}."


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
        if row["low"] > 0 or row["high"] < 0
    ]
    verdict = (
        f"The rest is clearly different from zero for {', '.join(told) or 'none of the vectors'}. "
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
    return (
        f"With exact directions {held} of {count} intervals hold the truth, {held / count:.0%}; as "
        f"the truth has an error of its own, {expected:.0%} can be expected to. Without that "
        f"error, in audits drawn again and again from the faces on which the truth was computed, "
        f"{repeated.mean():.0%} of the intervals hold it, and between {repeated.min():.0%} and "
        f"{repeated.max():.0%} for single attributes."
    )
