"""Checks of faults that give confident, wrong reports, such as exchanged classes.

Certain faults are refused, such as distances for similarities. A likely fault is a doubt: it
stands in the report's first box and closes the gate, unless the audit file accepts it by name.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy  # whose parts are imported at their first use
from numpy.typing import ArrayLike

from faceaudit import families
from faceaudit.effects.verdicts import EXCEEDS
from faceaudit.file.parts import Preparation
from faceaudit.models.answers import (
    ANSWERS_FOLDER,
    BlackBox,
    ModelAnswers,
    Notify,
    ask_and_keep,
)
from faceaudit.models.asking import require_judged_answers
from faceaudit.models.local import LocalModel
from faceaudit.outcomes import TITLES
from faceaudit.utils import seeding
from faceaudit.utils.formatting import capital
from faceaudit.utils.names import TRUTH_VALUES
from faceaudit.words import render_sentences

GUESSING_ERROR_RATE = 0.45
"""Error rate above which a model hardly tells the classes apart."""
REVERSED_ERROR_RATE = 0.6
"""Error rate above which a model seems to tell the classes the wrong way round."""
CHANCE_SEPARATION = 0.6
"""Separation of pairs below which similarities hardly tell people apart."""
DISTANCE_SEPARATION = 0.4
"""Separation of pairs below which similarities seem to be distances."""
ONE_SIDED_SHARE = 0.95
"""Share of the same decision, over two classes as if they were equally frequent, from which on a
model hardly decides. Where all labels are right, a model that tells classes apart has one half."""
LEAST_MANIPULATION = 0.1
"""Of a scale: an axis that moves what people see by less was not varied."""
MISSING_ALONG_PLACEBOS = "placebos, missing"
PLACEBO_TABLES = (families.PLACEBOS, MISSING_ALONG_PLACEBOS)
"""Tables of placebos, which should change neither errors nor what is missing."""
LABELS_ALONG_AXES = "labels"
"""Table of how often labels of one face differ, of `label_changes`."""
OTHER_LEVELS = "levels"
"""Table of the pairs of levels of one axis that the audit's contrasts do not compare."""
TOLD_SHARE = 0.75
"""Of pairs: where labels differ more often along an axis, they say what the axis changes."""
PREPARATION_IMAGES = 200
"""Images on which other preparations are tried."""
PIXEL_RANGES = {"0 to 255": (0.0, 255.0), "0 to 1": (0.0, 1.0), "−1 to 1": (-1.0, 1.0)}
"""The usual ranges, to which pixels are brought."""
BLACK_AND_WHITE = np.array([0, 255], np.uint8).reshape(2, 1, 1, 1).repeat(3, 1)
"""Two images of one pixel, which tell whether two preparations give the same range."""
FALSE_ALARMS = 0.01
"""How often a right preparation is warned of, at most, over all that are tried."""
Doubts = Iterator[tuple[str, str]]
"""Name and sentence of each."""


def examine(
    model: BlackBox,
    images: np.ndarray,
    groups: pd.Series,
    folder: Path,
    say: Notify,
    seed: int,
    compares_distances: bool = False,
) -> tuple[ModelAnswers, dict[str, Any]]:
    """Ask the model under audit about all images, and try other preparations of them.

    Args:
        model: that was tried by `check_model`.
        images: uint8 (n, 3, height, width).
        groups: (n,) as of `find_preparation_doubts`.
        folder: of the audit, which keeps the answers.
        say: takes a sentence on how many answers there are.
        seed: of the audit.
        compares_distances: whether the audit judges a recogniser by Euclidean distances.

    Returns:
        The answers, and arguments of `build_report`: the model's card and doubts.
    """
    answers = ask_and_keep(model, images, folder / ANSWERS_FOLDER)
    require_judged_answers(model, answers.values)
    n_missing = int((answers.reasons != "").sum())
    say(f"model: {len(images) - n_missing:,} answers, {n_missing:,} images without one")
    if images_at_a_time := model.description.get("asked"):
        say(f"model: {model.name} was asked about {images_at_a_time}, as it takes no more")
    card = model.card()
    height, width = images.shape[2:]
    cut_height, cut_width = model.cut_images(images[:1]).shape[2:]
    if (cut_height, cut_width) != (height, width):
        crop = model.preparation.crop if model.preparation else None
        place = f"box {list(crop)}" if crop else "middle"
        part = f"{cut_width}×{cut_height} pixels in the {place} of {width}×{height}"
        say(f"model: it was shown the {part}")
        card["pictures"] = f"cut to the {part}"
    doubts = list(find_preparation_doubts(model, images, groups, seed, compares_distances))
    return answers, {"model": card, "doubts": doubts}


def find_doubts(frame: pd.DataFrame, tables: Mapping[str, Any], plan: Mapping) -> Doubts:
    """Find what is hard to believe of an audit's images or pairs.

    Args:
        frame: a row per image with its `error`, or per pair with `similarity`, which may be NaN,
            and `same`.
        tables: of the analysis.
        plan: of the audit.

    Yields:
        Name and sentence of each doubt.
    """
    if plan["kind"] == "verification":
        compared = frame.dropna(subset="similarity")
        pair_separation = separation(compared["similarity"], compared["same"] == 1)
        if pair_separation < CHANCE_SEPARATION:
            yield _doubt_in_words("chance", pair_separation)
        yield from _find_one_sided_decisions_about_pairs(tables["rates"])
        return
    if "thresholds" in tables:
        errors = [tables[name] for name in families.FAMILIES_OF_ERRORS if name in tables]
        axes = {axis for table in errors for axis in table.loc[table["verdict"] == EXCEEDS, "axis"]}
        rows = tables["thresholds"].itertuples()
        yield from find_threshold_doubts(rows, axes, plan["threshold"], plan["level"])
    error_rate = frame["error"].mean() if "error" in frame else np.nan
    decision = _decision_about_all(frame, plan)
    one_sided = _one_sided_decisions(frame, plan)
    if decision is not None:
        yield _doubt_in_words("constant", error_rate, decision)
    elif one_sided is not None:
        yield _doubt_in_words("constant", error_rate, one_sided)
    elif error_rate > REVERSED_ERROR_RATE:
        yield _doubt_in_words("reversed", error_rate)
    elif error_rate > GUESSING_ERROR_RATE:
        yield _doubt_in_words("errors", error_rate)
    if OTHER_LEVELS in tables:
        yield from find_level_doubts(tables[OTHER_LEVELS])
    if LABELS_ALONG_AXES in tables:
        axes = {**plan["axes"], **plan["placebos"]}
        yield from find_label_doubts(tables[LABELS_ALONG_AXES], axes, plan["classes"])
    if "manipulation" in tables:
        for row in tables["manipulation"].itertuples():
            if not abs(row.estimate) >= LEAST_MANIPULATION:  # true of NaN as well
                yield _doubt_in_words("manipulation", error_rate, row)
    if plan["placebos"]:
        for name in PLACEBO_TABLES:
            of_missing = name == MISSING_ALONG_PLACEBOS
            for row in tables[name].itertuples():
                if row.verdict == EXCEEDS:
                    yield _doubt_in_words("placebo", error_rate, row, of_missing)


def find_threshold_doubts(
    rows: Iterable[Any], axes_beyond: Collection[str], threshold: float, level: float
) -> Doubts:
    """Find axes that move scores across another threshold, though no verdict tells of it.

    A model can be equal at the audit's threshold, and its scores of one level lie much nearer to
    it. Then the verdicts hold for this threshold alone. A shift that crosses none of the planned
    thresholds is not seen.

    Args:
        rows: a row per threshold and axis: those of `Report.thresholds`, or of the table that they
            are made from.
        axes_beyond: axes with an effect on errors that is called beyond the tolerance. Of these the
            verdicts tell already.
        threshold: of the audit.
        level: of the tests together.

    Yields:
        Name and sentence, one for an axis, of the threshold with its largest effect.
    """
    largest: dict[str, Any] = {}
    for row in rows:
        p = row.p_beyond_holm
        if p is None or not p < level or row.axis in axes_beyond:  # no NaN is below the level
            continue
        first = largest.setdefault(row.axis, row)
        if abs(row.same_label) > abs(first.same_label):
            largest[row.axis] = row
    for row in largest.values():
        yield _doubt_in_words("thresholds", threshold, row)


def find_label_doubts(
    changes: pd.DataFrame, axes: Mapping[str, Collection[str]], classes: Collection[str]
) -> Doubts:
    """Find axes along which labels of one face differ, beyond the tolerance.

    A label says what is right about a face. If it changes with an axis, so does what counts as an
    error, and an effect on errors need not come from the model. A few raters who disagree are no
    doubt: their labels differ less often than the tolerance allows. An axis may change what the
    model is to tell, such as the perceived gender. Then labels differ in most pairs, or a level of
    the axis has the name of a class.

    Args:
        changes: of `faceaudit.matched_comparisons.label_changes`.
        axes: all axes and placebos → the names of their levels.
        classes: the names of the answers.

    Yields:
        Name and sentence, one for an axis, of the two levels with the largest share.
    """
    # Numbers and truth values name classes and levels of anything.
    telling = {
        name for name in classes if not name.isdecimal() and name.casefold() not in TRUTH_VALUES
    }
    for axis, rows in changes.groupby("axis", sort=False):
        is_told = rows["estimate"].max() > TOLD_SHARE or not telling.isdisjoint(axes[axis])
        beyond = rows[rows["verdict"] == EXCEEDS]
        if not is_told and not beyond.empty:
            row = beyond.loc[beyond["estimate"].idxmax()]
            yield _doubt_in_words("labels", row["estimate"], row)


def find_level_doubts(table: pd.DataFrame) -> Doubts:
    """Find axes with two levels that differ beyond the tolerance, though no verdict compares them.

    Each level can be within the tolerance of the first one, or of the one before it, and the trend
    can be flat, where two other levels are far apart.

    Args:
        table: a row for each outcome and pair of levels that is not compared, with its verdict:
            axis, outcome, contrast and estimate.

    Yields:
        Name and sentence, one for an outcome and axis, of the largest such difference.
    """
    beyond = table[table["verdict"] == EXCEEDS]
    for _, rows in beyond.groupby(["outcome", "axis"], sort=False):
        row = rows.loc[rows["estimate"].abs().idxmax()]
        yield _doubt_in_words("levels", TITLES[row["outcome"]], row)


def _decision_about_all(frame: pd.DataFrame, plan: Mapping) -> dict[str, Any] | None:
    """The answer of a model that decides alike about all images.

    Where their labels are alike too, the model need not be at fault, unless it gives them all the
    same score.

    Args:
        frame: a row per image: score, NaN where there is none, and the label where errors are
            counted; errors of a table have neither.
        plan: of the audit.

    Returns:
        What the macro `doubt` says of it; None of a model that decides about images.
    """
    if "score" not in frame or len(plan["classes"]) > 2:
        return None
    has_labels = "label" in frame
    known = frame.dropna(subset=["label", "score"] if has_labels else ["score"])
    threshold = plan["threshold"]
    lowest = known["score"].min()
    highest = known["score"].max()
    if known.empty or lowest <= threshold < highest:
        return None
    labels_differ = has_labels and bool(known["label"].min() < known["label"].max())
    # Of images of one class, the right decisions are alike, but no scores between 0 and 1.
    one_score = len(known) > 1 and 0 < lowest == highest < 1
    if has_labels and not labels_differ and not one_score:
        return None
    negative, positive = plan["classes"]
    # Probabilities of the class that a model chose are never below one half; decisions are all 1.
    of_chosen_class = bool(threshold <= 0.5 <= lowest < highest)
    return {
        "of_pairs": "",
        "answer": positive if lowest > threshold else negative,
        "images": len(known),
        "threshold": threshold,
        "shares": {},
        "positive": positive,
        "labels_differ": labels_differ,
        "of_chosen_class": of_chosen_class,
    }


def _one_sided_decisions(frame: pd.DataFrame, plan: Mapping) -> dict[str, Any] | None:
    """The answer of a model that decides alike about nearly all images of two classes.

    Args:
        frame: a row per image, as of `_decision_about_all`.
        plan: of the audit.

    Returns:
        What the macro `doubt` says of it; None of other models, and without labels of two classes.
    """
    negative, *_, positive = plan["classes"]
    if "score" not in frame or "label" not in frame or len(plan["classes"]) > 2:
        return None
    known = frame.dropna(subset=["label", "score"])
    said_positive = (known["score"] > plan["threshold"]).groupby(known["label"]).mean()
    if len(said_positive) < 2:
        return None
    shares = said_positive if said_positive.mean() > 0.5 else 1 - said_positive
    if not shares.mean() >= ONE_SIDED_SHARE:
        return None
    return {
        "of_pairs": "",
        "answer": positive if said_positive.mean() > 0.5 else negative,
        "threshold": plan["threshold"],
        "shares": dict(zip(plan["classes"], shares.tolist(), strict=True)),
    }


def _find_one_sided_decisions_about_pairs(rates: pd.DataFrame) -> Doubts:
    """Whether a recogniser takes nearly all pairs, of one person and of two, for the same.

    Args:
        rates: a row per group, with fnmr and fmr, and with positives and negatives, the numbers of
            pairs.
    """
    pairs = rates[["positives", "negatives"]]
    errors = rates[["fnmr", "fmr"]].fillna(0) * pairs.to_numpy()
    if not pairs.sum().all():
        return
    fnmr, fmr = errors.sum().to_numpy() / pairs.sum().to_numpy()
    # Shares of the decision "one person", about pairs of one person and of two.
    shares = {"one person": 1 - fnmr, "two people": fmr}
    decision = "one person"
    if 1 - fnmr + fmr < 1:
        shares = {name: 1 - share for name, share in shares.items()}
        decision = "two people"
    if sum(shares.values()) / 2 >= ONE_SIDED_SHARE:
        is_constant = min(shares.values()) == 1
        row = {"of_pairs": decision, "shares": {} if is_constant else shares}
        yield _doubt_in_words("constant", fnmr, row)


def find_preparation_doubts(
    model: BlackBox,
    images: np.ndarray,
    groups: pd.Series,
    seed: int,
    compares_distances: bool = False,
) -> Doubts:
    """Whether another preparation suits a model better, tried on some of the images.

    A model on the network, and images of too few people, cannot be tried. A function is tried where
    the audit file says more of its pixels than that they stay as they are.

    Args:
        model: under audit.
        images: uint8 (n, 3, height, width).
        groups: (n,) the label of every image, NaN where it has none; of a recogniser, the identity.
        seed: which draws the images.
        compares_distances: as of `examine`.

    Yields:
        Name and sentence of the doubt, if there is one.
    """
    if not isinstance(model, LocalModel) or model.prepares_itself:
        return
    rows = np.flatnonzero(groups.notna())
    # All images of some people tell more of a recogniser than single images of many.
    if model.reading.gives == "embedding":
        rows = rows[np.argsort(groups.iloc[rows].to_numpy(), kind="stable")]
        enough = groups.iloc[rows].nunique() >= 3 and groups.duplicated().sum() >= 2
    else:
        rows = seeding.rng(seed, "audit/preparation").permutation(rows)
        class_counts = groups.iloc[rows[:PREPARATION_IMAGES]].value_counts().reindex([0, 1])
        enough = class_counts.min() >= 2
    if not enough:
        return
    rows = np.sort(rows[:PREPARATION_IMAGES])
    table = check_preparation(model, images[rows], groups.iloc[rows], compares_distances)
    better = better_preparation(table)
    # A model that separates the classes the wrong way round has another doubt. One that says the
    # same of all images separates one half of the pairs.
    if better and table["separation"].iloc[0] >= 0.5:
        yield "preparation", f"{capital(better)}."


def _doubt_in_words(name: str, *values: Any) -> tuple[str, str]:
    """Name and sentence of a doubt; the values are those of the macro `doubt` of the templates."""
    return name, render_sentences("doubt", name, *values)[0]


# --- other preparations of images


def check_preparation(
    model: LocalModel, images: np.ndarray, groups: ArrayLike, compares_distances: bool = False
) -> pd.DataFrame:
    """Try a model behind other channels and ranges: does one of them separate better?

    Separation is the probability that a face of class 1 scores higher than one of class 0 (of a
    recogniser: that two images of one person are more similar than images of two, by the cosine or
    by Euclidean distances). Differences are judged by a jackknife over faces (people), with
    Bonferroni's correction.

    Args:
        model: one that computes here.
        images: uint8 (n, 3, height, width), fifty or more, of known class or person.
        groups: (n,) 0 or 1, the class; of a recogniser, whose face it is: three people or more,
            some with several images.
        compares_distances: whether the audit judges a recogniser by Euclidean distances.

    Returns:
        One row per preparation, the declared one first: channels, pixels (the range), separation,
        gain over the declared one, and its one-sided lower limit `low`. Where a model refuses to
        answer, separation is missing.
    """
    assert model.preparation is not None  # a model that computes here is never without
    groups = np.asarray(groups)
    is_recogniser = model.reading.gives == "embedding"
    rows = []
    separations = []
    for pixels, preparation in _preparations(model.preparation, model.takes_pixels):
        try:
            values, _ = replace(model, preparation=preparation).ask(images)
        except ValueError:  # a model may refuse what was not declared
            if not rows:
                raise
            separations.append(np.full_like(separations[0], np.nan))
        else:
            if is_recogniser:
                similarities = _similarities_of_all_pairs(values, compares_distances)
                separations.append(_jackknife_over_people(similarities, groups))
            else:
                separations.append(_jackknife_over_faces(values, groups))
        rows.append({"channels": preparation.colours, "pixels": pixels})
    table = pd.DataFrame(rows)
    table["separation"] = [row[0] for row in separations]
    gains = np.array(separations) - separations[0]
    table["gain"] = gains[:, 0]
    left_out = gains[:, 1:]
    error = np.sqrt((left_out.shape[1] - 1) * left_out.var(axis=1))
    n_tried = max(len(rows) - 1, 1)
    table["low"] = table["gain"] - scipy.stats.norm.isf(FALSE_ALARMS / n_tried) * error
    return table


def better_preparation(table: pd.DataFrame) -> str:
    """Say which row of `check_preparation` separates better than the declared one, or ""."""
    better = table[table["low"] > 0]
    if better.empty:
        return ""
    best = better.loc[better["separation"].idxmax()]
    return render_sentences("better_preparation", best, table.iloc[0])[0]


def _preparations(declared: Preparation, takes_pixels: bool) -> Iterator[tuple[str, Preparation]]:
    """Preparations and the names of their ranges: the declared one first, then others.

    Others have the other order of channels, one of the usual ranges, or both; of grey images and of
    a model that takes whole pixels there is but one.
    """
    orders = [declared]
    if not declared.grey:
        other_channels = {"rgb": "bgr", "bgr": "rgb"}[declared.channels]
        orders.append(declared.model_copy(update={"channels": other_channels}))
    for preparation in orders:
        yield "as declared", preparation
    if takes_pixels:
        return
    for preparation in orders:
        for name, ends in PIXEL_RANGES.items():
            other = preparation.model_copy(update={"range": ends, "mean": 0.0, "std": 1.0})
            if not np.allclose(other(BLACK_AND_WHITE), preparation(BLACK_AND_WHITE)):
                yield name, other


def _jackknife_over_faces(scores: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The separation by all scores, and then without each face.

    Args:
        scores: (n,) of the faces.
        groups: (n,) class of each face.

    Returns:
        (1 + n,) separations, the first one by all scores.
    """
    faces = np.arange(len(scores))
    return _jackknife(scores, groups == 1, faces, faces)


def _similarities_of_all_pairs(embeddings: np.ndarray, compares_distances: bool) -> np.ndarray:
    """How alike two images are, for all pairs of n images in the order of `np.triu_indices`.

    Args:
        embeddings: (n, d), NaN where there is none.
        compares_distances: whether similarities are negative distances, and not cosines.

    Returns:
        (n (n - 1) / 2,) similarities, NaN where an embedding is missing.
    """
    if compares_distances:
        return -scipy.spatial.distance.pdist(embeddings)
    lengths = np.linalg.norm(embeddings, axis=1, keepdims=True)
    directions = embeddings / lengths.clip(1e-12)
    return (directions @ directions.T)[np.triu_indices(len(embeddings), 1)]


def _jackknife_over_people(similarities: np.ndarray, people: np.ndarray) -> np.ndarray:
    """The separation by all pairs of n images, and then without each person.

    Args:
        similarities: of `_similarities_of_all_pairs`.
        people: (n,) person of each image.

    Returns:
        (1 + people,) separations, the first one by all pairs.
    """
    person = np.unique(people, return_inverse=True)[1]
    first, second = (person[rows] for rows in np.triu_indices(len(person), 1))
    return _jackknife(similarities, first == second, first, second)


def _jackknife(
    scores: np.ndarray, is_positive: np.ndarray, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """The separation by all scores, and then without those of each unit.

    Args:
        scores: (m,) NaN where there is none.
        is_positive: (m,) bool.
        first, second: (m,) the units that each score is of.

    Returns:
        (1 + units,) separations.
    """
    known = np.isfinite(scores)
    separations = [separation(scores[known], is_positive[known])]
    for unit in np.union1d(first, second):
        others = known & (first != unit) & (second != unit)
        separations.append(separation(scores[others], is_positive[others]))
    return np.array(separations)


def separation(scores: ArrayLike, is_positive: np.ndarray) -> float:
    """Probability that a positive scores higher than a negative; ties are a half.

    This is the area under the ROC curve, by Mann and Whitney's U.

    Args:
        scores: (n,) without NaN.
        is_positive: (n,) bool.

    Returns:
        A number from 0 to 1; NaN where there are no positives or no negatives.
    """
    n_positive = is_positive.sum()
    n_negative = (~is_positive).sum()
    if not n_positive or not n_negative:
        return np.nan
    rank_sum = scipy.stats.rankdata(scores)[is_positive].sum()
    return (rank_sum - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative)
