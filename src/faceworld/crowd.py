"""A simulated crowd whose disagreement is calibrated on real annotations.

A rater answers with the level nearest to what they see, plus their bias, plus noise:

    level = clip(round(latent + bias + noise), 0, levels - 1)
    latent = score * (levels - 1 + 2 * margin) - margin

Noise and bias are in levels, so how raters differ does not depend on which images they see. Alpha
and ICC do: skin colour has the lowest alpha of all in the real annotations (.21) partly because
most of those images show light skin. The same noise over the face world's whole range of skin
colours gives a higher one.

A few careless raters answer every second question at random. Perceived gender is taken from beard,
makeup and hair as well as from the shape of a face (`CUES`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import pandas as pd

from faceaudit.annotations.schema import ATTRIBUTES, Scales
from faceaudit.utils import seeding
from faceaudit.utils.arguments import as_score_table, check_range, check_whole, require_columns


@dataclass(frozen=True)
class Disagreement:
    """How raters differ about one attribute.

    Attributes:
        noise: standard deviation, in levels, of an answer around what the image shows, of all
            raters together: their biases are part of it.
        margin: how far, in levels, the clearest cases lie beyond the ends of the scale. It makes
            answers about them unanimous and leaves the middle contested. Mean answers then lie
            nearer the ends than the scores do (gender .75 is perceived as about .84).
        origin: "measured" on a published rating matrix; "from agreement": only alpha is known;
            "assumed": nothing is known, as the attribute named.
    """

    noise: float
    margin: float
    origin: str


# Derived from the annotations of Balakrishnan et al. (2020, the transects paper) that were released
# with Singh, Balakrishnan and Perona (2021), "Matched sample selection with GANs for mitigating
# attribute confounding": github.com/csinva/matching-with-gans, data/annotations_stylegan2. 5,000
# StyleGAN2 images, 7 ratings of each (gender 9).
#
# measured: `test_crowd_calibration.py` on those ratings, with the share of random answers below.
#   The margin of gender is where agreement comes out right; the likelihood rises a little further.
#   Given the fitted true scores, simulated alpha and ICC are within .02 of the real ones and the
#   spread per image within a tenth, of gender within an eighth.
# from agreement: `noise_from_alpha` there, from alpha .430 (facial hair) and .289
#   (makeup), if true scores are spread like Beta(1, 3): mostly little of it. ICC(1,7) then is
#   .85 and .76 where .834 and .733 are reported.
DISAGREEMENT: dict[str, Disagreement] = {
    "gender": Disagreement(1.27, 1.5, "measured"),
    "facial_hair": Disagreement(0.74, 0.0, "from agreement"),
    "skin_colour": Disagreement(0.83, 0.0, "measured"),
    "age": Disagreement(0.54, 0.0, "measured"),
    "makeup": Disagreement(0.77, 0.0, "from agreement"),
    "smiling": Disagreement(0.62, 0.0, "assumed, as hair_length"),
    "hair_length": Disagreement(0.62, 0.0, "measured"),
    "fakeness": Disagreement(0.83, 0.0, "assumed, as skin_colour"),
}
"""How raters differ, by attribute."""

# The published ratings do not say who gave them, so the following only splits what is calibrated
# above among raters, and is assumed.
BIAS_SHARE = 0.2  # of the variance of the noise is a rater's constant bias
NOISE_SPREAD = 0.25  # standard deviation of the log of a rater's noise over the crowd's
CARELESS_RATERS = 1 / 15
CARELESS_RANDOM = 0.5  # of a careless rater's answers; after rejections .03 of all, as of the real
CARELESS_REJECTED = 0.1  # of a careless rater's assignments

MEDIAN_SECONDS = 28.0  # for one image, all attributes
PACE_SPREAD = 0.3  # standard deviation of the log of a rater's pace
SECONDS_SPREAD = 0.45  # the same of one rater's assignments
CARELESS_PACE = 0.4
START = pd.Timestamp("2025-10-06T08:00:00Z")
DAYS = 7  # in which the answers come in

STATUS = ("accepted", "rejected", "cancelled")
# Raters in reserve for an image, in case assignments are rejected or cancelled.
_RESERVE = 4

# Images whose draws are held at a time.
_IMAGES = 10_000


@dataclass(frozen=True)
class Pool:
    """Raters to draw from; attributes in the order of the `disagreement` they were made with.

    Attributes:
        bias: (raters, attributes) in levels.
        noise: (raters, attributes) standard deviation in levels.
        margin: (attributes,) in levels, see `Disagreement`.
        random: (raters,) probability that an answer is given at random.
        rejected: (raters,) probability that an assignment is rejected.
        seconds: (raters,) median time for an assignment.
        worker_ids: (raters,) names.
        cancelled, repeated: shares of all assignments; the latter are submitted a second time.
    """

    bias: np.ndarray
    noise: np.ndarray
    margin: np.ndarray
    random: np.ndarray
    rejected: np.ndarray
    seconds: np.ndarray
    worker_ids: tuple[str, ...]
    cancelled: float = 0.002
    repeated: float = 0.001


def rater_pool(
    seed: int,
    n_raters: int = 60,
    disagreement: Mapping[str, Disagreement] = DISAGREEMENT,
    stage: str = "crowd/raters",
) -> Pool:
    """Make a crowd with the calibrated disagreement, a few careless raters among it.

    Biases and noises are scaled so that over the pool they amount to exactly `disagreement`,
    however few raters there are. The first rater signs with an e-mail address instead of an id.

    Args:
        seed: of the raters.
        n_raters: at least 2.
        disagreement: by attribute.
        stage: of the raters' draws; crowds with another task take another one.

    Raises:
        ValueError: fewer than 2 raters.
    """
    check_whole("n_raters", n_raters, 2)
    n = len(disagreement)
    draws = seeding.normals(seed, stage, range(n_raters), 2 * n + 2)
    draws = (draws - draws.mean(axis=0)) / draws.std(axis=0)
    noise = np.array([spec.noise for spec in disagreement.values()])
    relative = np.exp(NOISE_SPREAD * draws[:, n : 2 * n])
    relative /= np.sqrt((relative**2).mean(axis=0))
    careless = np.argsort(np.argsort(draws[:, 2 * n])) < round(CARELESS_RATERS * n_raters)
    pace = np.exp(PACE_SPREAD * draws[:, 2 * n + 1]) * np.where(careless, CARELESS_PACE, 1.0)
    digests = (blake2b(f"{seed}/{rater}".encode()).hexdigest() for rater in range(1, n_raters))
    return Pool(
        bias=np.sqrt(BIAS_SHARE) * noise * draws[:, :n],
        noise=np.sqrt(1 - BIAS_SHARE) * noise * relative,
        margin=np.array([spec.margin for spec in disagreement.values()]),
        random=np.where(careless, CARELESS_RANDOM, 0.0),
        rejected=np.where(careless, CARELESS_REJECTED, 0.0),
        seconds=MEDIAN_SECONDS * pace,
        worker_ids=("rater1@example.org", *("A" + digest[:13].upper() for digest in digests)),
    )


def annotate(
    perceived: pd.DataFrame,
    n_raters: int,
    *,
    seed: int,
    stage: str,
    pool: Pool | None = None,
    scales: Scales = ATTRIBUTES,
    spread: np.ndarray | None = None,
) -> pd.DataFrame:
    """Let raters of the pool annotate images.

    Every image goes to raters in an order of its own until `n_raters` assignments are accepted.
    Rejected and cancelled ones are replaced for as long as the pool has raters left. The answers
    about an image depend on (seed, stage, image id) only, not on the other images, attributes or
    their order; more raters add answers to those of fewer.

    Args:
        perceived: visible scores in [0, 1], (n, attributes); index image id, all different.
        n_raters: accepted answers per image and attribute.
        seed: of the run.
        stage: that the annotation belongs to.
        pool: who annotates, `rater_pool(seed)` if not given.
        scales: attribute → names of its levels, from low to high.
        spread: (n,) factor of the raters' noise for each image, 1 if not given.

    Returns:
        One row per assignment, also those that will be dropped on ingest: `image_id`, `rater`
        (number in the pool from 1), `worker_id`, `visit` (1: submitted a second time), `seconds`,
        `submitted_at` (UTC), `status` ("accepted", "rejected", "cancelled") and a column with the
        level of every attribute, int8.

    Raises:
        ValueError: an attribute is unknown, a score is missing or outside [0, 1], or the pool has
            fewer than `n_raters` raters.

    Example:
        >>> import pandas as pd
        >>> from faceworld import crowd
        >>> shown = pd.DataFrame({"gender": [0.0, 1.0]}, index=["a", "b"])
        >>> answers = crowd.annotate(shown, n_raters=3, seed=1, stage="example")
        >>> answers.groupby("image_id")["gender"].apply(list).to_dict()
        {'a': [0, 0, 0], 'b': [4, 4, 4]}
    """
    pool = rater_pool(seed) if pool is None else pool
    if unknown := [name for name in perceived if name not in scales]:
        raise ValueError(f"unknown attribute {unknown[0]!r}, expected some of {list(scales)}")
    as_score_table(perceived)
    size = len(pool.worker_ids)
    check_range("n_raters", n_raters, 1, size)
    spread = np.ones(len(perceived)) if spread is None else spread
    if len(perceived) > _IMAGES:  # draws take many times the memory of the answers
        starts = range(0, len(perceived), _IMAGES)
        parts = [
            annotate(
                perceived.iloc[start : start + _IMAGES],
                n_raters,
                seed=seed,
                stage=stage,
                pool=pool,
                scales=scales,
                spread=spread[start : start + _IMAGES],
            )
            for start in starts
        ]
        return pd.concat(parts, ignore_index=True)
    items = [_item(image_id) for image_id in perceived.index]
    candidates = min(size, n_raters + _RESERVE)
    order = seeding.uniforms(seed, f"{stage}/crowd/order", items, size).argsort(axis=1)
    raters = order[:, :candidates]

    # Draws of a candidate stand together, so that more candidates do not change the first ones'.
    width = len(scales)
    shape = (len(items), candidates, -1)
    normal = seeding.normals(seed, f"{stage}/crowd/noise", items, candidates * (width + 1))
    uniform = seeding.uniforms(seed, f"{stage}/crowd/chance", items, candidates * (2 * width + 4))
    normal = normal.reshape(shape)
    uniform = uniform.reshape(shape)
    cancelled, rejected, repeated, time = np.moveaxis(uniform[:, :, 2 * width :], 2, 0)

    # Places in `STATUS`.
    status = np.where(cancelled < pool.cancelled, 2, rejected < pool.rejected[raters])
    accepted = status == 0
    images, seats = np.nonzero(accepted.cumsum(axis=1) - accepted < n_raters)
    raters = raters[images, seats]
    seconds = pool.seconds[raters] * np.exp(SECONDS_SPREAD * normal[images, seats, width])
    whole_seconds = (time[images, seats] * DAYS * 86_400).astype(int)
    answers = pd.DataFrame(
        {
            "image_id": perceived.index.astype("str")[images],
            "rater": (raters + 1).astype(np.int16),
            "worker_id": pd.Categorical.from_codes(raters, pool.worker_ids),
            "visit": np.int8(0),
            "seconds": seconds.round(3),
            "submitted_at": START + pd.to_timedelta(whole_seconds, unit="s"),
            "status": pd.Categorical.from_codes(status[images, seats], STATUS),
        }
    )
    for column, (attribute, levels) in enumerate(scales.items()):
        if attribute not in perceived:
            continue
        top = len(levels) - 1
        margin = pool.margin[column]
        score = perceived[attribute].to_numpy(np.float64)[images]
        latent = score * (top + 2 * margin) - margin
        noise = spread[images] * pool.noise[raters, column] * normal[images, seats, column]
        deviation = pool.bias[raters, column] + noise
        seen = np.clip(np.floor(latent + deviation + 0.5), 0, top)
        at_random = uniform[images, seats, column] < pool.random[raters]
        drawn = np.floor(uniform[images, seats, width + column] * (top + 1))
        answers[attribute] = np.where(at_random, drawn, seen).astype(np.int8)
    return _with_repeats(answers, (repeated < pool.repeated)[images, seats])


def mean_scores(answers: pd.DataFrame, scales: Scales = ATTRIBUTES) -> pd.DataFrame:
    """Perceived scores: mean level over (levels - 1) of the answers that count.

    Args:
        answers: as `annotate` returns them; first visits of accepted assignments count.
        scales: as `annotate` took them.

    Returns:
        (images, attributes) in [0, 1], the attributes that were annotated; index image_id, as text,
        sorted.
    """
    attributes = [name for name in scales if name in answers]
    counted = answers[(answers["status"] == "accepted") & (answers["visit"] == 0)]
    tops = pd.Series({name: len(scales[name]) - 1 for name in attributes})
    return counted.groupby("image_id")[attributes].mean() / tops


def _with_repeats(answers: pd.DataFrame, repeated: np.ndarray) -> pd.DataFrame:
    """Add a second submission, a minute later, of the accepted assignments marked in `repeated`."""
    repeats = answers[repeated & (answers["status"] == "accepted")]
    later = repeats["submitted_at"] + pd.Timedelta(minutes=1)
    repeats = repeats.assign(visit=np.int8(1), submitted_at=later)
    return pd.concat([answers, repeats]).sort_index(kind="stable").reset_index(drop=True)


def _item(image_id: object) -> int:
    """Key of the image's draws."""
    return int.from_bytes(blake2b(str(image_id).encode(), digest_size=8).digest(), "little")


@dataclass(frozen=True)
class Cue:
    """How a visible attribute moves perceived gender.

    Attributes:
        strength: on gender's scale, from zero (female) to one (male), if the attribute goes from
            one end of its scale to the other.
        neutral: score of the attribute that speaks for neither.
        origin: source of the strength.
    """

    strength: float
    neutral: float
    origin: str


# Without hair, beard and makeup people name the gender of nearly all faces (Burton, Bruce and Dench
# 1993), but hair alone calls up a gender too (Macrae and Martin 2007). How strong each cue is among
# raters of portraits was not measured, so the strengths are assumptions.
# Of the 5,000 annotated StyleGAN2 images (see `DISAGREEMENT`) that most raters call female,
# none is rated .4 or more for facial hair, and of those they call male one in a thousand is so for
# makeup. In the face world 4.7% of the faces of feminine shape have such a beard; with a full
# beard that outweighs the most feminine shape .5% of those that are perceived as female do.
CUES: dict[str, Cue] = {
    "facial_hair": Cue(1.0, 0.0, "assumed: a full beard outweighs the most feminine shape"),
    "makeup": Cue(-0.2, 0.0, "assumed: as strong as hair"),
    "hair_length": Cue(-0.2, 0.5, "assumed: about one of the five levels, from short to long"),
}
"""Attributes that move perceived gender beside the shape of the face."""


def perceived(visible: pd.DataFrame, strength: float = 1.0) -> pd.DataFrame:
    """Scores as raters perceive them, who take gender from the shape of a face and from cues.

    Gender becomes the sum of the shape's score and of the shifts by all cues, clipped to the scale;
    the other scores stay.

    Args:
        visible: scores of `facerender.visible_scores`, in [0, 1]; at least gender and the `CUES`.
        strength: factor of all cues; zero for raters who look at the shape alone.

    Returns:
        The same table with the gender that raters perceive.

    Raises:
        ValueError: a cue or gender is not among the columns.

    Example:
        >>> import pandas as pd
        >>> from faceworld import crowd
        >>> shown = pd.DataFrame({"gender": [0.3, 0.3], "facial_hair": [0, 0.5]})
        >>> crowd.perceived(shown.assign(makeup=0, hair_length=0.5))["gender"].tolist()
        [0.3, 0.8]
    """
    require_columns(visible, ["gender", *CUES])
    added = sum(cue.strength * (visible[name] - cue.neutral) for name, cue in CUES.items())
    return visible.assign(gender=(visible["gender"] + strength * added).clip(0, 1))
