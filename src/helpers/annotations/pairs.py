"""Exports about pairs of faces: are these two the same person? (verification, section 3.5)

A *pairs table* has one row per pair: its unique index names the pairs (`pair_ids` makes names that
outlive the table), and its columns `first` and `second` (row numbers of the images) and `kind` (the
intended answer: "positive", "negative" or a control that polarity is not judged by) are used here.

Ratings count how *different* two faces look: level 0 is "Likely same", 4 "Likely different".
They are written and read in Label Studio's format.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from helpers.annotations.ingest import Export, validate
from helpers.annotations.label_studio import read_export, write_export
from helpers.annotations.schema import PAIR_SCALES
from helpers.utils.checks import check_whole, require_columns


class PairRatings(NamedTuple):
    """Ratings of pairs and what was not taken, as `read_pair_export` returns them.

    Attributes:
        ratings: int64 (n, raters), one row per completely rated pair; the index holds the pairs'
            labels in the pairs table, in its order. Ratings of a pair stand in order of time: a
            column is not a person.
        report: as `Ingest.report`, with the reasons "surplus rating" (counted in answers) and
            "missing raters" (in pairs) added.
    """

    ratings: pd.DataFrame
    report: pd.DataFrame


def pair_ids(pairs: pd.DataFrame) -> pd.Index:
    """Name pairs by the numbers of their images.

    A pair that occurs again, as in the design of Liang et al. (2023), is a pair of its own.

    Args:
        pairs: columns `first` and `second`, row numbers of the images.

    Returns:
        Names, str (n,), all different.

    Raises:
        ValueError: the table lacks a column.

    Example:
        >>> import pandas as pd
        >>> from helpers import annotations
        >>> annotations.pair_ids(pd.DataFrame({"first": [17, 17], "second": 18})).tolist()
        ['00017-00018', '00017-00018.2']
    """
    require_columns(pairs, ["first", "second"])
    names = pairs["first"].map("{:05d}".format) + "-" + pairs["second"].map("{:05d}".format)
    occurrence = names.groupby(names).cumcount() + 1
    names = names.where(occurrence == 1, names + "." + occurrence.astype("str"))
    return pd.Index(names, name="pair_id")


def write_pair_export(answers: pd.DataFrame, path: str | Path, pairs: pd.DataFrame) -> None:
    """Write a crowd's answers as a full JSON export, one task a line.

    Args:
        answers: as `crowd.annotate_pairs` returns them.
        path: JSON file to write.
        pairs: the pairs table that the answers are about, (n, …) with `first` and `second`.

    Raises:
        ValueError: the table lacks a column.

    Example:
        >>> import pandas as pd, tempfile
        >>> from helpers import annotations
        >>> from helpers.annotations import crowd
        >>> pairs = pd.DataFrame({"first": [0], "second": [7], "kind": ["negative"]})
        >>> pairs.index = annotations.pair_ids(pairs)
        >>> apart = pd.Series(1.0, pairs.index)
        >>> answers = crowd.annotate_pairs(apart, 0 * apart, 9, seed=1, stage="example")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     annotations.write_pair_export(answers, f"{folder}/pairs.json", pairs)
        ...     annotations.read_pair_export(f"{folder}/pairs.json", pairs).ratings.shape
        (1, 9)
    """
    require_columns(pairs, ["first", "second"])
    images = zip(pairs["first"], pairs["second"], strict=True)
    data = {
        label: {"first": f"images/{a:05d}.png", "second": f"images/{b:05d}.png", "pair_id": label}
        for label, (a, b) in zip(pairs.index.map(str), images, strict=True)
    }
    write_export(answers, path, "pair", "first", PAIR_SCALES, data)


def read_pair_export(
    path: str | Path, pairs: pd.DataFrame, n_raters: int = 9, *, salt: str = "helpers"
) -> PairRatings:
    """Read a Label Studio export about pairs: full JSON, JSON_MIN or CSV.

    The rules of `ingest.validate` apply, with these additions:

    - an answer whose task names no pair, or one that is not in the table, is a "missing pair";
    - of more than `n_raters` good ratings of a pair the first ones by time are kept;
    - a pair with fewer is dropped and counted under "missing raters": a trimmed mean of nine and
      one of six do not mean the same.

    Args:
        path: the export.
        pairs: the pairs table that was annotated.
        n_raters: ratings of every pair; Liang et al. (2023) have 9 (section 3.5).
        salt: of the annotators' hashes.

    Returns:
        The ratings of completely rated pairs, and the report of what was dropped.

    Raises:
        ValueError: the file is not an export; the table lacks a column; no
            answer is about a pair of the table; `n_raters` is below 1; or the polarity is reversed,
            which shows when positive pairs look more different than negative ones on average.

    Example:
        >>> import pandas as pd, tempfile
        >>> from helpers import annotations
        >>> pairs = pd.DataFrame({"kind": ["negative"]}, index=["a"])
        >>> with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        ...     _ = file.write('[{"annotation_id": 1, "annotator": "x", "pair_id": "a",'
        ...                    ' "identity": "Not sure", "created_at": "2025-10-09T07:30:20Z"}]')
        ...     file.flush()
        ...     annotations.read_pair_export(file.name, pairs, n_raters=1).ratings.values.tolist()
        [[2]]
    """
    check_whole("n_raters", n_raters, 1)
    labels, export = pairs.index.map(str), Export("label_studio")
    require_columns(pairs, ["kind"])
    read_export(export, Path(path), "pair", list(PAIR_SCALES))
    frame, report = validate(export, salt, None, labels, PAIR_SCALES, numbered=False)
    frame = frame.sort_values("submitted_at", kind="stable")
    seat = frame.groupby("image_id").cumcount().to_numpy()
    row = labels.get_indexer(frame["image_id"])
    kept = seat < n_raters
    ratings = np.full((len(pairs), n_raters), -1)
    ratings[row[kept], seat[kept]] = frame["level"].to_numpy()[kept]
    complete = (ratings >= 0).all(axis=1)
    ratings = pd.DataFrame(ratings[complete], index=pairs.index[complete])
    _require_polarity(path, ratings, pairs["kind"][complete])
    report["reason"] = report["reason"].str.replace("image", "pair")
    report["field"] = report["field"].astype("object")
    lost = [
        ("surplus rating", "answer", labels[row[~kept]]),
        ("missing raters", "pair", labels[~complete]),
    ]
    for reason, unit, names in lost:
        first = (Path(path).name, None, f"pair_id {names[0]}") if len(names) else (None,) * 3
        report.loc[len(report)] = (reason, unit, len(names), True, 0, *first)
    return PairRatings(ratings, report)


def _require_polarity(path: str | Path, ratings: pd.DataFrame, kind: pd.Series) -> None:
    """Levels written as numbers may have been counted from the other end of the scale."""
    mean = ratings.mean(axis=1).groupby(kind).mean().reindex(["positive", "negative"])
    if mean["positive"] > mean["negative"]:
        raise ValueError(
            f"{path}: reversed polarity: positive pairs have a mean rating of "
            f"{mean['positive']:.2f}, negative ones {mean['negative']:.2f}; expected 0 for "
            f"{PAIR_SCALES['identity'][0]!r} and 4 for {PAIR_SCALES['identity'][-1]!r}"
        )
