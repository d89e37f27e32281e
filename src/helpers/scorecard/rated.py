"""Audits whose labels come from a few raters out of many.

Raters are those of the simulated crowd (`helpers.annotations.crowd`), their noise multiplied.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from helpers.annotations import crowd
from helpers.annotations.agreement import resampled_scores
from helpers.annotations.schema import n_levels
from helpers.errors import majority
from helpers.utils import seeding
from helpers.utils.checks import SCORE_DIGITS

_STAGE = "scorecard: rated"
_ORDERS = 40
_TOP = n_levels("gender") - 1


def labels_by(
    perceived: pd.DataFrame, raters: int, noise: float, seed: int, stage: str
) -> np.ndarray:
    """Majority label of perceived gender by so many raters, their noise multiplied.

    Args:
        perceived: visible scores (zero to one), a row per image, with the column gender.
        raters: accepted answers per image.
        noise: factor of the calibrated noise and of the raters' biases.
        seed: of `helpers.annotations.crowd.annotate`.
        stage: of the same.

    Returns:
        (n,) 0 (female) or 1 (male).
    """
    people = _crowd(noise, seed)
    answers = crowd.annotate(perceived[["gender"]], raters, seed=seed, stage=stage, pool=people)
    accepted = answers[(answers["status"] == "accepted") & (answers["visit"] == 0)]
    level = accepted.groupby("image_id")["gender"].mean().loc[perceived.index]
    return majority(level / _TOP).to_numpy()


def answers_of_all(perceived: pd.DataFrame, noise: float, seed: int, stage: str) -> np.ndarray:
    """Ask every rater about every image; no answer is rejected, cancelled or repeated.

    Args:
        perceived: scores with a column gender.
        noise: times that of the book's crowd.
        seed: of the raters and their answers.
        stage: what the draws are keyed by.

    Returns:
        Levels of perceived gender, int8 (n images, R raters).
    """
    people = _crowd(noise, seed)
    people = replace(people, rejected=0 * people.rejected, cancelled=0.0, repeated=0.0)
    size = len(people.worker_ids)
    answers = crowd.annotate(perceived[["gender"]], size, seed=seed, stage=stage, pool=people)
    levels = answers.pivot_table("gender", "image_id", "rater")
    return levels.loc[perceived.index].to_numpy()


def _crowd(noise: float, seed: int) -> crowd.Pool:
    people = crowd.rater_pool(seed)
    return replace(people, noise=noise * people.noise, bias=noise * people.bias)


def expected_labels(levels: np.ndarray, n_raters: int, seed: int) -> np.ndarray:
    """Chance of each image that the majority of raters drawn from all of them calls it male.

    Args:
        levels: (n images, R raters) of perceived gender.
        n_raters: drawn for an image, without replacement.
        seed: of the draws; the raters are put in forty orders, and each is cut into groups.

    Returns:
        (n images,) in [0, 1].
    """
    images, people = levels.shape
    groups = people // n_raters
    total = np.zeros(images)
    for random in seeding.rngs(seed, f"{_STAGE}, expected", range(_ORDERS)):
        order = random.permuted(np.tile(np.arange(people), (images, 1)), axis=1)
        drawn = np.take_along_axis(levels, order[:, : groups * n_raters], axis=1)
        scores = drawn.reshape(images, groups, n_raters).mean(axis=-1) / _TOP
        total += _says_male(scores).mean(axis=1)
    return total / _ORDERS


def average_effects(errors: np.ndarray) -> np.ndarray:
    """What each axis does to transects' errors: mean at its high level minus at its low one.

    Args:
        errors: (..., 2, 2, 2), the last three axes being those of the transects.

    Returns:
        Differences, (..., 3).
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
        (`helpers.annotations.resampled_scores`) while the transects stay.
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
        scores = {"estimate": (chosen.mean(axis=-1) / _TOP)[:, None]}
        columns = {"image_id": np.repeat(np.arange(len(said)), n_raters)}
        columns |= {"annotator_id": who.ravel(), "level": chosen.ravel()}
        given = pd.DataFrame(columns).assign(attribute="gender")
        for of in ("raters", "answers"):
            draws = {"of": of, "seed": seed, "stage": f"{stage}, audit {audit}"}
            scores[of] = resampled_scores(given, "gender", n_boot, **draws).to_numpy()
        for model, says in answered.items():
            own = says[faces].reshape(-1, 1)
            effect = {of: _effects(own, score) for of, score in scores.items()}
            columns = {
                "estimate": effect["estimate"][0].mean(axis=0),
                "transects": effect["estimate"][0].std(axis=0, ddof=1) / np.sqrt(n_transects),
                "raters": effect["raters"].mean(axis=1).std(axis=0, ddof=1),
                "answers": effect["answers"].mean(axis=1).std(axis=0, ddof=1),
            }
            rows.append(pd.DataFrame(columns).assign(audit=audit, model=model, axis=range(3)))
    return pd.concat(rows, ignore_index=True)


def _says_male(scores: np.ndarray) -> np.ndarray:
    """`helpers.errors.majority` of an array."""
    return np.round(scores, SCORE_DIGITS) >= 0.5


def _effects(answered: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Effects within transects (versions, transects, 3), of labels by scores (images, versions)."""
    errors = (answered != _says_male(scores)).T.astype(float)
    return average_effects(errors.reshape(len(errors), -1, 2, 2, 2))
