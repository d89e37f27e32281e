"""Sentences of the scorecard, made from its numbers."""

import pandas as pd

from helpers.effects.labels import CONTRASTS


def say_cancellation(planted: pd.DataFrame, name: str) -> str:
    """How far one estimator's mean effects differ between cells, and how far the true ones do."""
    cells = (
        100 * planted[planted["estimator"] == name].groupby("cell")[["estimate", "truth"]].mean()
    )
    said, true = (cells[column] for column in ("estimate", "truth"))
    return (
        f"In truth dark skin changes this model's error rate by {true.min():+.0f} points in one "
        f"cell (*{true.idxmin().split(': ')[1]}*) and by {true.max():+.0f} in another "
        f"(*{true.idxmax().split(': ')[1]}*). On average over all audits, the {name} says between "
        f"{said.min():+.1f} and {said.max():+.1f} points, whatever the cell."
    )


def say_scores(scores: pd.DataFrame) -> str:
    """A line per estimator: bias and coverage on the models where they are worst."""
    lines = []
    for name, part in scores.groupby("estimator", sort=False):
        worst = part["coverage"].astype(float).idxmin()[0]
        bias = part["bias"].astype(float)
        lines.append(
            f"- **{name}**: bias up to {100 * bias.max():.1f} points ({bias.idxmax()[0]}); its "
            f"intervals hold the truth in {part['coverage'].min():.0%} of cases at worst "
            f"({worst}) and {part['coverage'].max():.0%} at best."
        )
    return "\n".join(lines)


def say_bias(observed: pd.DataFrame) -> str:
    """A line per model: the truth, and every estimator's mean error, in points."""
    lines = []
    for model, part in observed.groupby("model", sort=False):
        true = 100 * part["truth"].iloc[0]
        error = (
            100 * (part["estimate"] - part["truth"]).groupby(part["estimator"], sort=False).mean()
        )
        words = ", ".join(
            f"{name} {value:+.1f}" if pd.notna(value) else f"{name} not estimable"
            for name, value in error.items()
        )
        lines.append(f"- **{model}**: the truth is {true:+.1f} points. Mean errors: {words}.")
    return "\n".join(lines)


def say_border(shares: pd.Series) -> str:
    """Whether light-skinned short-haired women are the odd ones."""
    light, dark = shares["light"], shares["dark"]
    if not light > dark:
        return (
            "In this sample the short-haired women of either skin are equally clear cases, so "
            "this cannot be what leads the adjustment astray."
        )
    return (
        f"Of the light-skinned short-haired women, {light:.0%} lie near the border of perceived "
        f"gender, of the dark-skinned {dark:.0%}. Adjusting for hair compares the second group "
        "with the first."
    )


def say_card(failed: pd.DataFrame) -> str:
    """Which estimators pass all marks, and why the others do not (rows of `failures`)."""
    passed = [f"*{name}*" for name in failed.index[~failed.any(axis=1)]]
    reasons = [
        f"- {words}: {', '.join(f'*{name}*' for name in failed.index[bad])}."
        for words, bad in failed.items()
        if bad.any()
    ]
    head = f"**Passed on every count: {', '.join(passed) if passed else 'none'}.**"
    return head + " Beyond Monte-Carlo error, the others fail by\n\n" + "\n".join(reasons)


def say_seldom_found(table: pd.DataFrame, large: float, often: float = 0.8) -> str:
    """Which true effects beyond `large` are flagged with the right sign in fewer audits than that.

    Args:
        table: rows of one model and one estimator, from `flag`.
        large: size from which an effect counts.
        often: share of audits that is enough.
    """
    big = table[table["truth"].abs() > large]
    right = (big["flagged"] & (big["estimate"] * big["truth"] > 0)).groupby(big["cell"]).mean()
    truth = 100 * big.groupby("cell")["truth"].mean()
    named = [
        f"*{cell}* (truth {truth[cell]:+.1f} points, found in {share:.0%} of audits)"
        for cell, share in right.sort_values().items()
        if share < often
    ]
    head = f"Of {len(right)} effects beyond {100 * large:.0f} points, of whatever attribute, "
    if not named:
        return head + f"each is found in at least {often:.0%} of audits."
    return head + f"these are found in fewer than {often:.0%} of audits: {'; '.join(named)}."


def say_sweep(table: pd.DataFrame, x: str) -> str:
    """A line per attribute: departures at the first and last step of a sweep, largest model."""
    lines = []
    for attribute, part in table.groupby("attribute", sort=False):
        ends = part[part[x].isin([part[x].iloc[0], part[x].iloc[-1]])]
        wide = 100 * ends.pivot_table("value", "model", x, sort=False)
        first, last = wide.iloc[:, 0], wide.iloc[:, -1]
        lines.append(
            f"- **{CONTRASTS[attribute]}**: {first.min():.1f} to {first.max():.1f} points at the "
            f"left end, {last.min():.1f} to {last.max():.1f} at the right end, depending on the "
            "model."
        )
    return "\n".join(lines)


def say_path(table: pd.DataFrame) -> str:
    """A line per model: mean estimates along the sweep, and whether they pass the truth."""
    lines = []
    for model, part in table.groupby("model", sort=False):
        mean = 100 * part.groupby("estimator", sort=False)["estimate"].mean()
        true = 100 * part["truth"].iloc[0]
        passes = mean.min() < true < mean.max()
        lines.append(
            f"- **{model}**: from {mean.iloc[0]:+.1f} points with the labels as rated to "
            f"{mean.iloc[-1]:+.1f} with labels that say nothing; the truth is {true:+.1f}, which "
            f"the curve {'passes on its way' if passes else 'does not pass'}."
        )
    return "\n".join(lines)


def say_power(power: pd.DataFrame, transects: int) -> str:
    """Power in audits of the book's size, and the largest gap between formula and simulation."""
    here = power[power["transects"] == transects]
    words = [f"*{row.cell}*: {row.found:.0%}" for row in here.itertuples()]
    gap = (power["found"] - power["formula"]).abs().max()
    head = f"With {transects} transects the test finds " + "; ".join(words) + ". " if words else ""
    return head + (
        f"Formula and repeated audits differ by at most {100 * gap:.0f} points over all sizes and "
        "cells, part of which is the finite number of audits."
    )


def say_tipping(table: pd.DataFrame) -> str:
    """Which estimates a hidden attribute explains away (rows of `tipping`)."""
    strongest = table["hidden does"].abs().idxmax()
    counts = table["explained away"].value_counts().reindex(["yes", "no", "no clear effect"])
    gone, kept, none = counts.fillna(0).astype(int)
    return (
        f"The hidden attribute changes errors most for the {strongest[0]} model when it comes with "
        f"{CONTRASTS[strongest[1]]}, by {table.loc[strongest, 'hidden does']:+.1f} points. Of "
        f"{gone + kept} clear estimates it accounts for {gone} entirely and for {kept} at most in "
        f"part; {none} more show no clear effect."
    )


def say_coverage(study: pd.DataFrame, band: tuple[float, float]) -> str:
    """Per estimator the range of coverage, and how many entries leave the band."""
    lines = []
    for name, part in study.groupby("estimator", sort=False):
        out = ~part["coverage"].between(*band)
        clear = (part["high"] < band[0]) | (part["low"] > band[1])
        lines.append(
            f"- **{name}**: {part['coverage'].min():.1%} to {part['coverage'].max():.1%}; "
            f"{out.sum()} of {len(part)} entries outside {band[0]:.0%} to {band[1]:.0%}, "
            f"{clear.sum()} of them beyond Monte-Carlo error."
        )
    return "\n".join(lines)
