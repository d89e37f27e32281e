"""Raters one by one: who answers unlike the others, and what another choice of raters would say."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache

import numpy as np
import pandas as pd
from pandas.api.typing import SeriesGroupBy
from scipy.stats import median_abs_deviation, norm

from helpers.annotations.schema import ATTRIBUTES, n_levels, occurring
from helpers.utils import seeding
from helpers.utils.checks import check_whole, require_columns, require_present, require_rows

_ROUNDING = 1e-9
_LEAST, _MANY = 3, 200
"""Raters of whom one can stand out; and those beyond which their number hardly matters."""
_GROUPS = 4_000
_QUESTION = ["image_id", "attribute"]
_ANSWER = ["annotator_id", *_QUESTION]


def screen_raters(
    tidy: pd.DataFrame,
    *,
    cut: float = 3.0,
    repeats: Mapping[str, str] | None = None,
    gold: Mapping[tuple[str, str], Collection[int]] | None = None,
) -> pd.DataFrame:
    """Compare every rater with the others, and with what else is known; nobody is left out.

    A rater's distance is the mean of |level − mean level of the others| / (levels − 1), over the
    answers to questions that somebody else answered too. It is flagged beyond median + cut · 1.4826
    MAD of all raters' distances, where MAD is the median absolute deviation (Leys et al., Journal
    of Experimental Social Psychology 49 (2013) 764-766). It compares raters who were asked alike,
    and says little of one with few answers.

    Among few raters the rule knows little, because these few are all it has for what is usual.
    `by_chance` says how often it flags a rater who answers like the others: a flag among fewer than
    ten is a reason to look, and no finding.

    Args:
        tidy: answers, one row each, as a reader returns them.
        cut: robust standard deviations above the median from which a rater is flagged.
        repeats: images that were shown twice: id of the second showing → id of the first.
        gold: (image id, attribute) → levels that are accepted, counted from 0.

    Returns:
        A row per rater, index annotator_id (sorted), with the columns

        - answers; compared: those that the distance is made of;
        - distance: in units of the scale, NaN where nothing could be compared; flagged: bool;
        - by_chance: share of raters who would be flagged if all answered alike, with distances that
          are normal; NaN with fewer than three raters, of whom none can stand out;
        - seconds: median time for an answer; those of one assignment share its time equally;
        - repeats: answers given a second time; self_distance: mean distance of the two, in units of
          the scale;
        - gold: gold questions answered; gold_right: share with an accepted level.

    Raises:
        ValueError: no answers, or a missing column or value; an unknown attribute, or a level
            outside of its scale; two answers of a rater to one question; a repeated image or a gold
            question that nobody answered.

    Example:
        >>> import pandas as pd
        >>> from helpers.annotations import raters
        >>> levels = {"anne": [0, 4, 2], "ben": [0, 4, 2], "cleo": [0, 4, 3], "dora": [5, 0, 2]}
        >>> tidy = pd.DataFrame(levels, ["a", "b", "c"]).rename_axis("image_id").reset_index()
        >>> tidy = tidy.melt("image_id", var_name="annotator_id", value_name="level")
        >>> table = raters.screen_raters(tidy.assign(attribute="age", seconds=3.0))
        >>> table.index[table["flagged"]].tolist()
        ['dora']
    """
    tidy = tidy.reset_index(drop=True)
    answers = _checked(tidy)
    rater = answers["annotator_id"]
    distance = _distance_from_others(answers)
    table = pd.DataFrame({"answers": rater.value_counts(sort=False)})
    table["compared"] = _by(rater, distance).count()
    table["distance"] = _by(rater, distance).mean()
    table["flagged"] = _far_beyond(table["distance"], cut)
    table["by_chance"] = _flagged_by_chance(int(table["distance"].count()), cut)
    table["seconds"] = _by(rater, _seconds(tidy)).median()
    again = _by(rater, _self_distance(answers, repeats or {}))
    right = _by(rater, _accepted(answers, gold or {}))
    table = table.assign(repeats=again.count(), self_distance=again.mean())
    table = table.assign(gold=right.count(), gold_right=right.mean())
    return table.set_index(table.index.astype("str").rename("annotator_id")).sort_index()


def resampled_scores(
    tidy: pd.DataFrame, attribute: str, n_boot: int, *, of: str, seed: int, stage: str = "raters"
) -> pd.DataFrame:
    """Scores of the images as other raters would have given them, by resampling those there are.

    Whole raters come with all of their answers: what a rater does to every image stays together.
    Answers drawn within images vary from image to image only. Chapter 11 adds the first to the
    variance of an effect and takes away the second, which the spread between transects has in it
    (Cameron, Gelbach and Miller, Journal of Business & Economic Statistics 29 (2011) 238-249).

    Args:
        tidy: answers, one row each, as a reader returns them.
        attribute: the one to score.
        n_boot: resamples, at least 2.
        of: "raters" draws as many raters as there are, with replacement; "answers" draws, within
            each image, as many of its answers.
        seed: of the run.
        stage: what is resampled; a resample depends on these two, its number and the table.

    Returns:
        (images, n_boot) in [0, 1], index image_id (sorted). An image none of whose raters was drawn
        keeps its own score.

    Raises:
        ValueError: no answer about the attribute, fewer than 2 resamples, or another `of`.

    Example:
        >>> import pandas as pd
        >>> from helpers.annotations import raters
        >>> tidy = pd.DataFrame({"image_id": ["a", "a", "b"], "level": [0, 5, 5]})
        >>> tidy = tidy.assign(attribute="age", annotator_id=["anne", "ben", "anne"])
        >>> scores = raters.resampled_scores(tidy, "age", 50, of="answers", seed=1)
        >>> sorted(set(scores.loc["a"])), sorted(set(scores.loc["b"]))
        ([0.0, 0.5, 1.0], [1.0])
    """
    check_whole("n_boot", n_boot, 2)
    if of not in ("raters", "answers"):
        raise ValueError(f"of is {of!r}, 'raters' or 'answers' was expected")
    answers = tidy[(tidy["attribute"] == attribute).to_numpy()]
    if answers.empty:
        raise ValueError(f"no answer about {attribute!r}")
    image, images = pd.factorize(answers["image_id"].to_numpy(), sort=True)
    order = np.argsort(image, kind="stable")
    image = image[order]
    unit = answers["level"].to_numpy()[order] / (n_levels(attribute) - 1)
    rater = pd.factorize(answers["annotator_id"].to_numpy()[order])[0]
    size = np.bincount(image)
    first, own = (size.cumsum() - size)[image], np.bincount(image, unit) / size
    scores = np.empty((n_boot, len(images)))
    for score, random in zip(scores, seeding.rngs(seed, stage, range(n_boot)), strict=True):
        if of == "raters":
            people = rater.max() + 1
            drawn = np.bincount(random.integers(people, size=people), minlength=people)[rater]
            total, weight = np.bincount(image, drawn * unit), np.bincount(image, drawn)
        else:
            total = np.bincount(image, unit[first + random.integers(size[image])])
            weight = size
        np.divide(total, weight, out=score, where=weight > 0)
        score[weight == 0] = own[weight == 0]
    return pd.DataFrame(scores.T, pd.Index(images, name="image_id"))


def _checked(tidy: pd.DataFrame) -> pd.DataFrame:
    """Who answered what, as categories; the level, and where it lies on its scale (unit)."""
    require_columns(tidy, [*_ANSWER, "level", "seconds"])
    require_rows(tidy)
    for column in (*_ANSWER, "level"):
        require_present(tidy[column], "a value")
    answers = pd.DataFrame({column: occurring(pd.Categorical(tidy[column])) for column in _ANSWER})
    unknown = [name for name in answers["attribute"].cat.categories if name not in ATTRIBUTES]
    if unknown:
        raise ValueError(f"unknown attribute {unknown[0]!r}, expected one of {list(ATTRIBUTES)}")
    top = answers["attribute"].map(lambda name: n_levels(name) - 1).astype(int)
    outside = tidy[~tidy["level"].between(0, top)]
    if len(outside):
        row = outside.iloc[0]
        raise ValueError(
            f"image {row['image_id']!r} has the level {row['level']} of {row['attribute']}, "
            f"0 ... {n_levels(row['attribute']) - 1} was expected"
        )
    repeated = answers.duplicated(_ANSWER)
    if repeated.any():
        first = answers.loc[repeated, _ANSWER].iloc[0].to_dict()
        raise ValueError(f"two answers of one rater to one question: {first}")
    return answers.assign(level=tidy["level"], unit=tidy["level"] / top)


def _by(rater: pd.Series, values: pd.Series) -> SeriesGroupBy:
    return values.groupby(rater, observed=True)


def _distance_from_others(answers: pd.DataFrame) -> pd.Series:
    """Of every answer from the mean of the others to its question; NaN where there is no other."""
    question = answers.groupby(_QUESTION, observed=True)["unit"]
    others = question.transform("size") - 1
    mean = (question.transform("sum") - answers["unit"]) / others.where(others > 0)
    return (answers["unit"] - mean).abs()


def _far_beyond(distance: pd.Series, cut: float) -> pd.Series:
    known = distance.dropna()
    spread = median_abs_deviation(known, scale="normal") if len(known) else np.nan
    return distance > known.median() + cut * spread + _ROUNDING


@cache
def _flagged_by_chance(n_raters: int, cut: float) -> float:
    """Share of raters beyond the cut among so many alike, in simulated groups of them."""
    if n_raters < _LEAST:
        return np.nan
    if n_raters > _MANY:
        return float(norm.sf(cut))
    groups = seeding.rng(0, "raters alike", n_raters).standard_normal((_GROUPS, n_raters))
    limit = np.median(groups, axis=1)
    limit += cut * median_abs_deviation(groups, axis=1, scale="normal")
    return float((groups > limit[:, None]).mean())


def _seconds(tidy: pd.DataFrame) -> pd.Series:
    """Time of every answer: an equal share of its assignment's."""
    visit = [c for c in ("annotator_id", "image_id", "submitted_at", "seconds") if c in tidy]
    size = tidy.groupby(visit, observed=True, dropna=False)["level"].transform("size")
    return tidy["seconds"] / size


def _self_distance(answers: pd.DataFrame, repeats: Mapping[str, str]) -> pd.Series:
    """Of answers about a second showing from those about the first; NaN for all others."""
    _require_answered({*repeats, *repeats.values()}, answers["image_id"], "repeated image")
    second = answers[answers["image_id"].isin(repeats)]
    first = second.assign(image_id=second["image_id"].astype("str").map(dict(repeats)))
    earlier = first.astype({"image_id": "object"}).merge(
        answers.astype({"image_id": "object"}), "left", on=_ANSWER, suffixes=("", "_first")
    )
    found = (earlier["unit"] - earlier["unit_first"]).abs().set_axis(second.index)
    return found.reindex(answers.index)


def _accepted(answers: pd.DataFrame, gold: Mapping[tuple[str, str], Collection[int]]) -> pd.Series:
    """1.0 or 0.0 for answers to gold questions, NaN for all others."""
    question = pd.MultiIndex.from_frame(answers[_QUESTION])
    _require_answered(gold, question, "gold question")
    right = [(*asked, level) for asked, levels in gold.items() for level in levels]
    given = pd.MultiIndex.from_frame(answers[[*_QUESTION, "level"]])
    found = pd.Series(given.isin(right), answers.index, dtype=float)
    return found.where(question.isin(gold))


def _require_answered(named: Collection, answered: pd.Series | pd.MultiIndex, what: str) -> None:
    missing = sorted(set(named) - set(answered.unique()), key=str)
    if missing:
        raise ValueError(f"nobody answered the {what} {missing[0]!r} ({len(missing)} in all)")
