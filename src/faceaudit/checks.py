"""Is what an audit was given what it takes it for? Faults that give confident, wrong reports.

What is certain is refused: `require_decided`, `refuse_distances`. What is likely is a doubt: it is
in the report's first box and closes the gate, unless the audit file accepts it by name.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import norm, rankdata

from faceaudit.file.parts import Preparation
from faceaudit.models import answers
from faceaudit.models.answers import BlackBox, ModelAnswers, Say
from faceaudit.utils import seeding
from faceaudit.utils.formatting import capital
from faceaudit.words import render_sentences


def examine(
    model: BlackBox, images: np.ndarray, groups: pd.Series, folder: Path, say: Say, seed: int
) -> tuple[ModelAnswers, dict[str, Any]]:
    """Answers of the model under audit about all images, and what the report says of it.

    Args:
        model: that was tried by `check_model`.
        images: uint8 (n, 3, height, width).
        groups: (n,) as of `faceaudit.checks.doubts_of_preparation`.
        folder: of the audit, which keeps the answers.
        say: takes a sentence on how many answers there are.
        seed: of the audit.
    """
    found = answers.ask_and_keep(model, images, folder / "answers")
    answers.require_answers(found.values, model.name)
    silent = int((found.reasons != "").sum())
    say(f"model: {len(images) - silent:,} answers, {silent:,} images without one")
    if asked := model.said.get("asked"):
        say(f"model: {model.name} was asked about {asked}, as it takes no more")
    card = model.card()
    height, width = images.shape[2:]
    seen_height, seen_width = model.seen(images[:1]).shape[2:]
    if (seen_height, seen_width) != (height, width):
        shown = f"{seen_width}×{seen_height} pixels in the middle of {width}×{height}"
        say(f"model: it was shown the {shown}")
        card["pictures"] = f"cut to the {shown}"
    doubts = doubts_of_preparation(model, images, groups, seed)
    return found, {"model": card, "doubts": [*doubts]}


MOST_ERRORS, REVERSED = 0.45, 0.6
"""Error rates above which a model hardly tells the classes, or tells them the wrong way round."""
CHANCE, DISTANCE = 0.6, 0.4
"""Separation of pairs below which similarities hardly tell people apart, or are distances."""
MOVED = 0.1
"""Of a scale: an axis that moves what people see by less was not varied."""
CONTROLS = ("placebo axes", "placebos, no answer")
"""Tables of placebos, which should change neither errors nor missing answers."""
TRIED = 200
"""Images on which other preparations are tried."""
RANGES = {"0 to 255": (0.0, 255.0), "0 to 1": (0.0, 1.0), "−1 to 1": (-1.0, 1.0)}
"""The usual ones, to which pixels are brought."""
BLACK_AND_WHITE = np.array([0, 255], np.uint8).reshape(2, 1, 1, 1).repeat(3, 1)
FALSE_ALARMS = 0.01
"""How often a right preparation is warned of, at most, over all that are tried."""
Doubts = Iterator[tuple[str, str]]
"""Name and sentence of each."""


def doubts_of(frame: pd.DataFrame, tables: Mapping[str, Any], plan: Mapping) -> Doubts:
    """What is hard to believe of an audit's images or pairs; `tables` are those of its analysis."""
    if plan["kind"] == "verification":
        if (apart := separation(frame["similarity"], frame["same"] == 1)) < CHANCE:
            yield _doubt("chance", apart)
        return
    rate = frame["error"].mean()
    if rate > MOST_ERRORS:
        yield _doubt("reversed" if rate > REVERSED else "errors", rate)
    for row in tables["manipulation"].itertuples() if "manipulation" in tables else ():
        if not abs(row.estimate) >= MOVED:
            yield _doubt("manipulation", rate, row)
    for name in CONTROLS if plan["placebos"] else ():
        for row in tables[name].itertuples():
            if row.verdict == "exceeds":
                yield _doubt("placebo", rate, row, name)


def doubts_of_preparation(
    model: BlackBox, images: np.ndarray, groups: pd.Series, seed: int
) -> Doubts:
    """Whether another preparation suits a model better, tried on some of the images.

    A model on the network, and images of too few people, cannot be tried. `groups` has the label of
    every image, NaN where it has none; of a recogniser, the identity. `seed` draws the images.
    """
    known = np.flatnonzero(groups.notna())
    # All images of some people tell more of a recogniser than single images of many.
    if model.reading.gives == "embedding":
        known = known[np.argsort(groups.iloc[known].to_numpy(), kind="stable")]
        several = groups.iloc[known].nunique() >= 3 and groups.duplicated().sum() >= 2
    else:
        known = seeding.rng(seed, "audit/preparation").permutation(known)
        several = groups.iloc[known[:TRIED]].value_counts().reindex([0, 1]).min() >= 2
    if model.preparation is None or not several:
        return
    rows = np.sort(known[:TRIED])
    tried = check_preparation(model, images[rows], groups.iloc[rows])
    # One that separates the classes the wrong way round has another doubt.
    better = better_preparation(tried)
    if better and tried["separation"].iloc[0] > 0.5:
        yield "preparation", f"{capital(better)}."


def _doubt(name: str, *values: Any) -> tuple[str, str]:
    return name, render_sentences("doubt", name, *values)[0]


# --- other preparations of images


def check_preparation(model: BlackBox, images: np.ndarray, groups: ArrayLike) -> pd.DataFrame:
    """Try a model behind other channels and ranges: does one of them separate better?

    Separation is the probability that a face of class 1 scores higher than one of class 0 (of a
    recogniser: that two images of one person are more similar than images of two). Differences are
    judged by a jackknife over faces (people), with Bonferroni's correction.

    Args:
        model: one that computes here.
        images: uint8 (n, 3, height, width), fifty or more, of known class or person.
        groups: (n,) 0 or 1, the class; of a recogniser, whose face it is: three people or more,
            some with several images.

    Returns:
        One row per preparation, the declared one first: channels, pixels (the range), separation,
        gain over the declared one, and its one-sided lower limit `low`. Where a model refuses to
        answer, separation is missing.
    """
    rows, found, of_people = [], [], model.reading.gives == "embedding"
    for name, preparation in _preparations(model.preparation):
        try:
            values, _ = replace(model, preparation=preparation).ask(images)
            found.append(_separations(values, np.asarray(groups), of_people))
        except ValueError:  # a model may refuse what was not declared
            if not rows:
                raise
            found.append(np.full_like(found[0], np.nan))
        rows.append({"channels": preparation.channels, "pixels": name, "separation": found[-1][0]})
    table, gain = pd.DataFrame(rows), np.array(found) - found[0]
    table["gain"], without = gain[:, 0], gain[:, 1:]
    error = np.sqrt((without.shape[1] - 1) * without.var(axis=1))
    table["low"] = table["gain"] - norm.isf(FALSE_ALARMS / max(len(rows) - 1, 1)) * error
    return table


def better_preparation(table: pd.DataFrame) -> str:
    """Say which row of `check_preparation` separates better than the declared one, or ""."""
    better = table[table["low"] > 0]
    if better.empty:
        return ""
    best = better.loc[better["separation"].idxmax()]
    return render_sentences("better_preparation", best, table.iloc[0])[0]


def _preparations(declared: Preparation) -> Iterator[tuple[str, Preparation]]:
    """The declared one, then those that differ in channels or range."""
    other = {"rgb": "bgr", "bgr": "rgb"}[declared.channels]
    both = [declared, declared.model_copy(update={"channels": other})]
    yield from (("as declared", one) for one in both)
    for one in both:
        for name, ends in RANGES.items():
            tried = one.model_copy(update={"range": ends, "mean": 0.0, "std": 1.0})
            if not np.allclose(tried(BLACK_AND_WHITE), one(BLACK_AND_WHITE)):
                yield name, tried


def _separations(values: np.ndarray, groups: np.ndarray, of_people: bool) -> np.ndarray:
    """The separation by all answers, then without each face; of a recogniser, each person."""
    first = second = unit = np.arange(len(values))
    scores, ones = values, groups == 1
    if of_people:
        unit = np.unique(groups, return_inverse=True)[1]
        first, second = np.triu_indices(len(values), 1)
        direction = values / np.linalg.norm(values, axis=1, keepdims=True).clip(1e-12)
        scores, ones = (direction @ direction.T)[first, second], unit[first] == unit[second]
    known = np.isfinite(scores)
    without = (known & (unit[first] != one) & (unit[second] != one) for one in np.unique(unit))
    return np.array([separation(scores[used], ones[used]) for used in (known, *without)])


def separation(scores: ArrayLike, ones: np.ndarray) -> float:
    """P(score of a one > score of another), NaN without both; ties are a half (Mann–Whitney U)."""
    n, others = ones.sum(), (~ones).sum()
    if not n or not others:
        return np.nan
    return (rankdata(scores)[ones].sum() - n * (n + 1) / 2) / (n * others)
