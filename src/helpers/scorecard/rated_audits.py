"""Audits whose labels come from a few raters out of many, drawn again and again (chapter 11)."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from helpers.annotations import crowd
from helpers.annotations.raters import resampled_scores
from helpers.annotations.schema import n_levels
from helpers.utils import seeding
from helpers.utils.checks import SCORE_DIGITS

_STAGE = "scorecard: rated"
_ORDERS = 40


def answers_of_all(perceived: pd.DataFrame, noise: float, seed: int, stage: str) -> np.ndarray:
    """Level of perceived gender that every rater of the crowd gives to every image.

    Args:
        perceived: visible scores (zero to one), a row per image, with the column gender.
        noise: factor of the calibrated noise and of the raters' biases.
        seed: of `helpers.annotations.crowd.annotate`.
        stage: of the same.

    Returns:
        int8 (n images, R raters).

    Example:
        >>> from helpers.scorecard import rated_audits
        >>> perceived = pd.DataFrame({"gender": [0.0, 1.0]}, index=["a woman", "a man"])
        >>> rated_audits.answers_of_all(perceived, 1.0, seed=1, stage="example").shape
        (2, 60)
    """
    people = crowd.rater_pool(seed)
    people = replace(people, noise=noise * people.noise, bias=noise * people.bias)
    people = replace(people, rejected=0 * people.rejected, cancelled=0.0, repeated=0.0)
    size = len(people.worker_ids)
    answers = crowd.annotate(perceived[["gender"]], size, seed=seed, stage=stage, pool=people)
    levels = answers.pivot_table("gender", "image_id", "rater")
    return levels.loc[perceived.index].to_numpy()


def expected_labels(levels: np.ndarray, n_raters: int, seed: int) -> np.ndarray:
    """Chance of each image that the majority of raters drawn from all of them calls it male.

    Args:
        levels: (n images, R raters) of perceived gender.
        n_raters: drawn for an image, without replacement.
        seed: of the draws; the raters are put in forty orders, and each is cut into groups.

    Returns:
        (n images,) in [0, 1].

    Example:
        >>> from helpers.scorecard import rated_audits
        >>> rated_audits.expected_labels(np.array([[0, 0, 4, 0], [4, 4, 4, 4]]), 1, 1).tolist()
        [0.25, 1.0]
    """
    images, people = levels.shape
    groups = people // n_raters
    total = np.zeros(images)
    for random in seeding.rngs(seed, f"{_STAGE}, expected", range(_ORDERS)):
        order = random.permuted(np.tile(np.arange(people), (images, 1)), axis=1)
        drawn = np.take_along_axis(levels, order[:, : groups * n_raters], axis=1)
        total += _majority(_scores(drawn.reshape(images, groups, n_raters))).mean(axis=1)
    return total / _ORDERS


def average_effects(errors: np.ndarray) -> np.ndarray:
    """What each axis does to a transect's errors: mean at its high level minus at its low one.

    Args:
        errors: (..., 2, 2, 2), the last three axes being those of the transects.

    Returns:
        (..., 3), for the three axes.

    Example:
        >>> from helpers.scorecard import rated_audits
        >>> errors = np.zeros((2, 2, 2))
        >>> errors[1] = 1
        >>> rated_audits.average_effects(errors).tolist()
        [1.0, 0.0, 0.0]
    """
    signs = (2 * np.indices((2, 2, 2)) - 1).reshape(3, 8) / 4
    return errors.reshape(*errors.shape[:-3], 8) @ signs.T


def rated_audits(
    levels: np.ndarray,
    answered: Mapping[str, np.ndarray],
    *,
    n_raters: int,
    panel: bool,
    n_transects: int,
    repetitions: int,
    n_boot: int,
    seed: int,
) -> pd.DataFrame:
    """Average effects of repeated audits, and what their standard errors are made of.

    Every audit draws transects and raters anew.

    Args:
        levels: (n transects, 2, 2, 2, R) of perceived gender by every rater.
        answered: model → (n transects, 2, 2, 2), 1 where it says male.
        n_raters: that label an image.
        panel: the same raters label all images of an audit; else every image has its own.
        n_transects: of an audit, drawn with replacement.
        repetitions: number of audits; audit k depends on the seed and k alone.
        n_boot: resamples of the raters.
        seed: of the draws.

    Returns:
        Columns audit, model, axis (0, 1, 2), estimate, and three standard errors: `transects`, of
        a mean over transects; `raters` and `answers`, from resampling either
        (`helpers.annotations.raters.resampled_scores`) while the transects stay.

    Example:
        >>> from helpers.scorecard import rated_audits
        >>> levels = np.zeros((6, 2, 2, 2, 4), dtype=int)
        >>> how = {"n_raters": 3, "panel": True, "n_transects": 5, "n_boot": 10, "seed": 1}
        >>> says = {"all women": np.zeros((6, 2, 2, 2))}
        >>> table = rated_audits.rated_audits(levels, says, repetitions=2, **how)
        >>> len(table), float(table["estimate"].abs().max()), float(table["raters"].max())
        (6, 0.0, 0.0)
    """
    n, people = len(levels), levels.shape[-1]
    stage = f"{_STAGE} by {'one panel' if panel else 'raters of its own'}"
    rows = []
    for audit, random in enumerate(seeding.rngs(seed, stage, range(repetitions))):
        faces = random.integers(n, size=n_transects)
        said = levels[faces].reshape(-1, people)
        if panel:
            who = np.tile(random.permutation(people)[:n_raters], (len(said), 1))
        else:
            who = random.random(said.shape).argsort(axis=1)[:, :n_raters]
        chosen = np.take_along_axis(said, who, axis=1)
        given = _tidy(chosen, who)
        labels = {"estimate": _scores(chosen)[:, None]}
        for of in ("raters", "answers"):
            labels[of] = resampled_scores(
                given, "gender", n_boot, of=of, seed=seed, stage=f"{stage}, audit {audit}"
            ).to_numpy()
        for model, says in answered.items():
            own = says[faces].reshape(-1, 1)
            effect = {of: _effects(own, score) for of, score in labels.items()}
            columns = {
                "estimate": effect["estimate"][0].mean(axis=0),
                "transects": effect["estimate"][0].std(axis=0, ddof=1) / np.sqrt(n_transects),
                "raters": effect["raters"].mean(axis=1).std(axis=0, ddof=1),
                "answers": effect["answers"].mean(axis=1).std(axis=0, ddof=1),
            }
            rows.append(pd.DataFrame(columns).assign(audit=audit, model=model, axis=range(3)))
    return pd.concat(rows, ignore_index=True)


def _scores(levels: np.ndarray) -> np.ndarray:
    """Mean of the last axis, from zero to one."""
    return levels.mean(axis=-1) / (n_levels("gender") - 1)


def _majority(scores: np.ndarray) -> np.ndarray:
    """`helpers.errors.majority` of an array."""
    return np.round(scores, SCORE_DIGITS) >= 0.5


def _tidy(levels: np.ndarray, who: np.ndarray) -> pd.DataFrame:
    """Answers (images, raters of each) as a reader would give them."""
    image = np.repeat(np.arange(len(levels)), levels.shape[1])
    columns = {"image_id": image, "annotator_id": who.ravel(), "level": levels.ravel()}
    return pd.DataFrame(columns).assign(attribute="gender")


def _effects(answered: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Effects within transects (versions, transects, 3), of labels by scores (images, versions)."""
    errors = (answered != _majority(scores)).T.astype(float)
    return average_effects(errors.reshape(len(errors), -1, 2, 2, 2))
