"""Ratings of pairs of faces: do they show the same person? (verification, section 3.5)

A *pairs table* has one row per pair: its unique index names the pairs (`pair_ids` makes names that
outlive the table), and its columns `first` and `second` (row numbers of the images) and `kind` (the
intended answer: "positive", "negative" or a control, of which polarity says nothing) are used here.

Ratings count how *different* two faces look: level 0 is "Likely same", 4 "Likely different".
They are written in Label Studio's format, and read in those of all tools.

The raters of `crowd` see how far two identities lie apart, not which identities were intended, and
answer by the same model on a scale of five points. A difference in pose makes a pair harder: the
perceived difference is pulled towards "Not sure", and answers spread more. Little is known of real
raters: the median over pairs of the standard deviation of nine ratings is about .3 of the scale's
range (verification, supplement F, Fig. 13), they "generally agreed with our intended synthesis, but
there are also a significant number of images where they did not" (4.1, Fig. 4), and no differences
between demographic groups were found (Fig. 4), so there are none here. The noise is set by the
first; all else is assumed.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from faceaudit.annotations.ground_truth import add_job
from faceaudit.annotations.ingest import RawAnswers, validate
from faceaudit.annotations.label_studio import read_export
from faceaudit.annotations.mturk import add_batch
from faceaudit.utils.arguments import check_whole, require_columns, require_members
from faceaudit.utils.errors import InputError

PAIR_SCALES: dict[str, tuple[str, ...]] = {
    "identity": (
        "Likely same",
        "Possibly same",
        "Not sure",
        "Possibly different",
        "Likely different",
    )
}
"""The question and the five answers of the paper's survey, from 0 to 4.

Verification, 3.5 and supplement B.
"""


def _add_label_studio(export: RawAnswers, path: Path) -> None:
    """Add an export of Label Studio, or of the page, which writes the same format."""
    read_export(export, path, "pair", list(PAIR_SCALES))


def _add_ground_truth(export: RawAnswers, path: Path) -> None:
    """Add the folder of a labelling job of Ground Truth."""
    add_job(export, path, scales=PAIR_SCALES)


ADD_EXPORT: Mapping[str, Callable[[RawAnswers, Path], None]] = {
    "label-studio": _add_label_studio,
    "page": _add_label_studio,
    "mturk": add_batch,
    "ground-truth": _add_ground_truth,
}
"""Tool in which people answered → the function that adds one of its exports."""


class PairRatings(NamedTuple):
    """Ratings of pairs and what was not taken, as `read_pair_export` returns them.

    Attributes:
        ratings: int64 (n, raters), one row per completely rated pair; the index holds the pairs'
            labels in the pairs table, in its order. Ratings of a pair stand in order of time: a
            column is not a person.
        report: as `Ingest.report`, with the reasons "surplus rating" (counted in answers) and
            "missing raters" (in pairs) added.
        people: how many people answered.
    """

    ratings: pd.DataFrame
    report: pd.DataFrame
    people: int


def side_by_side(images: np.ndarray, pairs: pd.DataFrame) -> np.ndarray:
    """One picture of each pair, its first face at the left: what tools for images can ask about.

    With `PAIR_SCALES` as the questions of `write_page` or `labelling_config`, people's answers are
    read by `read_pair_export`.

    Args:
        images: uint8 (n, 3, height, width).
        pairs: columns `first` and `second`, row numbers of the images, (m, …).

    Returns:
        uint8 (m, 3, height, 2 * width + gap). The gap between the faces is white, a sixteenth of
        their width, rounded down.

    Raises:
        ValueError: the table lacks a column.

    Example:
        >>> import numpy as np, pandas as pd
        >>> from faceaudit.annotations import pair_ratings
        >>> faces = np.zeros((2, 3, 32, 32), np.uint8)
        >>> pairs = pd.DataFrame({"first": [0], "second": [1]})
        >>> pair_ratings.side_by_side(faces, pairs).shape
        (1, 3, 32, 66)
    """
    require_columns(pairs, ["first", "second"])
    gap = np.full((len(pairs), *images.shape[1:3], images.shape[3] // 16), 255, np.uint8)
    first = images[pairs["first"].to_numpy()]
    second = images[pairs["second"].to_numpy()]
    return np.concatenate([first, gap, second], axis=3)


def read_pair_export(
    path: str | Path | Sequence[Path],
    pairs: pd.DataFrame,
    n_raters: int = 9,
    tool: str = "label-studio",
    stars: Mapping[str, int] | None = None,
) -> PairRatings:
    """Read what people said of pairs, by default a Label Studio export: JSON, JSON_MIN or CSV.

    The rules of `ingest.validate` apply, with these additions:

    - an answer whose task names no pair, or one that is not in the table, is a "missing pair";
    - of more than `n_raters` good ratings of a pair the first ones by time are kept;
    - a pair with fewer is dropped and counted under "missing raters": a trimmed mean of nine and
      one of six do not mean the same.

    Args:
        path: the export, or several, as people save them of a page; a job's folder of Ground Truth.
        pairs: the pairs table that was annotated.
        n_raters: ratings of every pair; Liang et al. (2023) have 9 (section 3.5).
        tool: in which people answered, a key of `ADD_EXPORT`; in mturk and ground-truth a pair
            stands in place of an image.
        stars: {"identity": 5} where people gave stars in Label Studio, one for "Likely same"; no
            export says how many there were.

    Returns:
        The ratings of completely rated pairs, and the report of what was dropped.

    Raises:
        InputError: the file is not an export; the tool is not known; the table lacks a column; no
            answer is about a pair of the table; `n_raters` is below 1; or the polarity is reversed,
            which shows when positive pairs look more different than negative ones on average.

    Example:
        >>> import pandas as pd, tempfile
        >>> from faceaudit.annotations import pair_ratings
        >>> pairs = pd.DataFrame({"kind": ["negative"]}, index=["a"])
        >>> with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        ...     _ = file.write('[{"annotation_id": 1, "annotator": "x", "pair_id": "a",'
        ...                    ' "identity": "Not sure", "created_at": "2025-10-09T07:30:20Z"}]')
        ...     file.flush()
        ...     pair_ratings.read_pair_export(file.name, pairs, n_raters=1).ratings.values.tolist()
        [[2]]
    """
    check_whole("n_raters", n_raters, 1)
    require_members([tool], ADD_EXPORT, "tool")
    require_columns(pairs, ["kind"])
    labels = pairs.index.map(str)
    export = RawAnswers(tool.replace("-", "_"))
    paths = [Path(path)] if isinstance(path, str | Path) else path
    for file in paths:
        ADD_EXPORT[tool](export, file)
    expected = {"identity": len(PAIR_SCALES["identity"])}
    if stars is not None and stars.get("identity") != expected["identity"]:
        raise InputError(
            f"stars: {expected} was expected, not {stars!r}",
            field="stars",
            found=stars,
            expected=str(expected),
        )
    frame, report = validate(
        export, "pairs", None, labels, PAIR_SCALES, numbered=False, stars=stars
    )
    frame = frame.sort_values("submitted_at", kind="stable")
    order = frame.groupby("image_id").cumcount().to_numpy()  # of the ratings of one pair
    row = labels.get_indexer(frame["image_id"])
    counts = order < n_raters
    ratings = np.full((len(pairs), n_raters), -1)
    ratings[row[counts], order[counts]] = frame["level"].to_numpy()[counts]
    complete = (ratings >= 0).all(axis=1)
    ratings = pd.DataFrame(ratings[complete], index=pairs.index[complete])
    _require_polarity(paths[0], ratings, pairs["kind"][complete])
    report["reason"] = report["reason"].str.replace("image", "pair")
    dropped = [
        ("surplus rating", "answer", labels[row[~counts]]),
        ("missing raters", "pair", labels[~complete]),
    ]
    for reason, unit, names in dropped:
        file = paths[0].name if len(names) else None
        field = f"pair_id {names[0]}" if len(names) else None
        report.loc[len(report)] = (reason, unit, len(names), True, 0, file, None, field)
    return PairRatings(ratings, report, int(frame["annotator_id"].nunique()))


def _require_polarity(path: str | Path, ratings: pd.DataFrame, kind: pd.Series) -> None:
    """Raise InputError where positive pairs look more different than negative ones on average.

    Levels written as numbers may have been counted from the other end of the scale.
    """
    mean = ratings.mean(axis=1).groupby(kind).mean().reindex(["positive", "negative"])
    if mean["positive"] > mean["negative"]:
        lowest, *_, highest = PAIR_SCALES["identity"]
        expected = f"0 for {lowest!r} and 4 for {highest!r}"
        raise InputError(
            f"{path}: reversed polarity: positive pairs have a mean rating of "
            f"{mean['positive']:.2f}, negative ones {mean['negative']:.2f}; expected {expected}",
            field=str(path),
            found=mean.to_dict(),
            expected=expected,
        )
