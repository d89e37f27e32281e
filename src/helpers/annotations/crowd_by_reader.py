"""A simulated crowd that looks at images through a reader (see `helpers.models.attribute_reader`).

The crowd of `helpers.annotations.crowd` is shown scores, and of a learned generator's images nobody
knows any. A reader supplies them, with an error, and raters' disagreement is widened by that error,
so that an audit does not pretend to see more clearly than its reader.

Raters of an image all look at the same reading: its own error stays in their mean, however many
they are, while the widened noise averages out. The widening therefore makes raters as unsure as
separate readings would; it does not remove what the reader gets wrong. Chapter 15 asks such a
crowd.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from helpers.annotations import crowd
from helpers.annotations.schema import ATTRIBUTES, n_levels
from helpers.utils.checks import require_columns


def widened(
    disagreement: Mapping[str, crowd.Disagreement], error: pd.DataFrame
) -> dict[str, crowd.Disagreement]:
    """Disagreement with a reader's error on top, for `crowd.rater_pool`.

    Noise and error add in quadrature. The error is in scores, the noise in levels as the raters see
    them, so a score is worth levels − 1 + 2 margin of them (see `helpers.annotations.crowd`).

    Args:
        disagreement: by attribute.
        error: as `models.reading_error` returns it; index attribute, column rmse.

    Returns:
        The attributes that are both judged by raters and read, in the order of `disagreement`.

    Raises:
        ValueError: no rmse, one that is no number of at least 0, or no attribute in common.

    Example:
        >>> import pandas as pd
        >>> from helpers.annotations import crowd, crowd_by_reader
        >>> error = pd.DataFrame({"rmse": {"smiling": 0.1}})
        >>> wide = crowd_by_reader.widened(crowd.DISAGREEMENT, error)
        >>> wide["smiling"].noise > crowd.DISAGREEMENT["smiling"].noise
        True
    """
    require_columns(error, ["rmse"])
    common = [name for name in disagreement if name in error.index]
    if not common:
        raise ValueError(
            f"the reader reads {list(error.index)}, none of {list(disagreement)} that raters judge"
        )
    wide = {}
    for name in common:
        spec, rmse = disagreement[name], float(error.loc[name, "rmse"])
        if not 0 <= rmse < math.inf:
            raise ValueError(f"rmse of {name!r} is {rmse}, expected a number of at least 0")
        noise = math.hypot(spec.noise, rmse * (n_levels(name) - 1 + 2 * spec.margin))
        origin = f"{spec.origin}; widened by a reader's error of {rmse:.3f}"
        wide[name] = replace(spec, noise=noise, origin=origin)
    return wide


def perceived_through(
    reader: Callable[[np.ndarray], pd.DataFrame],
    images: np.ndarray,
    ids: Sequence[object],
    n_raters: int,
    *,
    seed: int,
    stage: str,
    disagreement: Mapping[str, crowd.Disagreement],
) -> pd.DataFrame:
    """What a crowd says of images that it sees through a reader.

    What is said of an image depends on (seed, stage, its id) and its reading, not on the others.

    Args:
        reader: a `models.Reader`, or any function from images to scores in [0, 1].
        images: uint8 (n, 3, size, size), an array or a memory map.
        ids: (n,) of the images, all different.
        n_raters: accepted answers per image and attribute.
        seed: of the raters and of the run.
        stage: that the annotation belongs to.
        disagreement: of the attributes that are asked about, `widened`.

    Returns:
        Mean scores (n, attributes) in [0, 1]; index image_id (`ids` as text, in their order),
        columns in the order of `disagreement`.

    Raises:
        ValueError: ids that do not match the images, occur twice, or an attribute that is not read;
            and as `crowd.annotate`.

    Example:
        >>> import numpy as np
        >>> import pandas as pd
        >>> from helpers.annotations import crowd, crowd_by_reader
        >>> asked = {"smiling": crowd.DISAGREEMENT["smiling"]}
        >>> def levels(images):
        ...     return pd.DataFrame({"smiling": images.mean((1, 2, 3)) / 255})
        >>> white = np.full((2, 3, 4, 4), 255, np.uint8)
        >>> settings = {"seed": 1, "stage": "example", "disagreement": asked}
        >>> seen = crowd_by_reader.perceived_through(levels, white, ["a", "b"], 5, **settings)
        >>> (seen["smiling"] > 0.5).tolist()
        [True, True]
    """
    seen = reader(images)
    require_columns(seen, list(disagreement))
    image_ids = pd.Index([str(image_id) for image_id in ids], dtype="str", name="image_id")
    scales = {name: ATTRIBUTES[name] for name in disagreement}
    answers = crowd.annotate(
        seen[list(scales)].set_axis(image_ids),
        n_raters,
        seed=seed,
        stage=stage,
        pool=crowd.rater_pool(seed, disagreement=disagreement),
        scales=scales,
    )
    return crowd.mean_scores(answers, scales).loc[image_ids]
