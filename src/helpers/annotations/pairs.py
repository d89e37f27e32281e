"""Label Studio tasks about pairs of faces: are these two the same person? (verification, 3.5)

A *pairs table* has one row per pair: its unique index names the pairs (`pair_ids` makes names that
outlive the table), and its columns `first` and `second` (row numbers of the images) and `kind` (the
intended answer: "positive", "negative" or a control that polarity is not judged by) are used here.

Ratings count how *different* two faces look: level 0 is "Likely same", 4 "Likely different".
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from helpers.annotations.ingest import validate
from helpers.annotations.label_studio import (
    SOURCE,
    add_choices,
    read_export,
    to_xml,
    write_export,
    write_records,
)

SCALES: dict[str, tuple[str, ...]] = {
    "identity": (
        "Likely same",
        "Possibly same",
        "Not sure",
        "Possibly different",
        "Likely different",
    )
}
"""The five answers of the paper's survey (verification, 3.5 and supplement B), from 0 to 4."""

IMAGE_URL = "images/{image:05d}.png"

DROPPED = {"surplus rating": "answer", "missing raters": "pair"}
"""What is dropped besides `ingest.DROPPED`, and what one count stands for."""

_CONFIG = "labelling_config.xml"
_TASKS = "tasks.json"


class PairRatings(NamedTuple):
    """What `read_pair_export` returns.

    Attributes:
        ratings: int64 (n, raters), one row per completely rated pair; the index holds the pairs'
            labels in the pairs table, in its order. Ratings of a pair stand in order of time: a
            column is not a person.
        report: as `ingest.Ingest.report`, with the reasons of `DROPPED` added.
    """

    ratings: pd.DataFrame
    report: pd.DataFrame


def pair_ids(pairs: pd.DataFrame) -> pd.Index:
    """Names of pairs from the numbers of their images, str (n,).

    A pair that occurs again, as in the paper's design, is a pair of its own: "00017-00018.2".
    """
    _require_columns(pairs, ["first", "second"])
    names = pairs["first"].map("{:05d}".format) + "-" + pairs["second"].map("{:05d}".format)
    occurrence = names.groupby(names).cumcount() + 1
    names = names.where(occurrence == 1, names + "." + occurrence.astype("str"))
    return pd.Index(names, name="pair_id")


def pair_config() -> str:
    """Labelling configuration (XML): two images side by side, the question and its five answers."""
    view = ElementTree.Element("View")
    row = ElementTree.SubElement(view, "View", style="display: flex")
    for image in ("first", "second"):
        ElementTree.SubElement(row, "Image", name=image, value=f"${image}")
    ElementTree.SubElement(view, "Header", value="Do the two images show the same person?")
    for name, levels in SCALES.items():
        add_choices(view, name, "first", levels)
    return to_xml(view)


def write_pair_tasks(pairs: pd.DataFrame, folder: str | Path, image_url: str = IMAGE_URL) -> None:
    """Write what Label Studio imports: `labelling_config.xml` and `tasks.json`, a task per pair.

    Args:
        pairs: the pairs table (n, ...).
        folder: to write into, made if it does not exist.
        image_url: where an image is served, with `{image}`, its row number, in it.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _CONFIG).write_text(pair_config(), encoding="utf-8")
    data = _task_data(pairs, image_url)
    write_records(({"data": task} for task in data.values()), folder / _TASKS)


def write_pair_export(
    answers: pd.DataFrame, path: str | Path, pairs: pd.DataFrame, image_url: str = IMAGE_URL
) -> None:
    """Write a crowd's answers as a full JSON export, one task a line.

    Args:
        answers: as `crowd_pairs.annotate_pairs` returns them.
        path: JSON file to write.
        pairs: the pairs table that the answers are about.
        image_url: where an image is served, with `{image}`, its row number, in it.
    """
    data = _task_data(pairs, image_url)
    write_export(answers, path, "pair", "first", SCALES, data.__getitem__)


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
        n_raters: ratings of every pair; the paper has 9 (verification, 3.5).
        salt: of the annotators' hashes (`schema.hash_annotator`).

    Raises:
        ValueError: the file is not an export; the table lacks a column or names a pair twice; no
            answer is about a pair of the table; `n_raters` is below 1; or the polarity is reversed,
            which shows when positive pairs look more different than negative ones on average.
    """
    if n_raters < 1:
        raise ValueError(f"n_raters is {n_raters}: at least one rating of a pair was expected")
    path = Path(path)
    labels = _labels(pairs)
    _require_columns(pairs, ["kind"])
    raw, fields = read_export(path, "pair", set(SCALES))
    known = raw["image_id"].isin(labels)
    if len(raw) and not known.any():
        raise ValueError(
            f"{path}: line {raw['line'].iloc[0]}: expected the pair_id of a pair in the table, for "
            f"example {labels[0]!r}, found {raw['image_id'].iloc[0]!r} and no known one elsewhere"
        )
    raw["image_id"] = raw["image_id"].where(known, None)
    frame, report = validate(raw, path, SOURCE, salt, fields, SCALES)

    frame = frame.sort_values("submitted_at", kind="stable")
    seat = frame.groupby("image_id").cumcount().to_numpy()
    row = labels.get_indexer(frame["image_id"])
    kept = seat < n_raters
    ratings = np.full((len(pairs), n_raters), -1)
    ratings[row[kept], seat[kept]] = frame["level"].to_numpy()[kept]
    complete = (ratings >= 0).all(axis=1)
    ratings = pd.DataFrame(ratings[complete], index=pairs.index[complete])
    _require_polarity(path, ratings, pairs["kind"][complete])
    lost = {"surplus rating": labels[row[~kept]], "missing raters": labels[~complete]}
    return PairRatings(ratings, _extended(report, path, lost))


def _require_columns(pairs: pd.DataFrame, columns: list[str]) -> None:
    if missing := [name for name in columns if name not in pairs]:
        raise ValueError(f"the pairs table has no column {missing[0]!r}: {list(pairs.columns)}")


def _labels(pairs: pd.DataFrame) -> pd.Index:
    """The pairs' names as text."""
    labels = pairs.index.map(str)
    if not labels.is_unique:
        twice = labels[labels.duplicated()][0]
        raise ValueError(f"pair {twice!r} occurs twice in the index of the pairs table")
    return labels


def _task_data(pairs: pd.DataFrame, image_url: str) -> dict[str, dict[str, str]]:
    sides = ["first", "second"]
    _require_columns(pairs, sides)
    urls = ([image_url.format(image=image) for image in pairs[side]] for side in sides)
    return {
        label: {"first": first, "second": second, "pair_id": label}
        for label, first, second in zip(_labels(pairs), *urls, strict=True)
    }


def _require_polarity(path: Path, ratings: pd.DataFrame, kind: pd.Series) -> None:
    """Levels written as numbers may have been counted from the other end of the scale."""
    mean = ratings.mean(axis=1).groupby(kind).mean().reindex(["positive", "negative"])
    if mean["positive"] > mean["negative"]:
        raise ValueError(
            f"{path}: reversed polarity: positive pairs have a mean rating of "
            f"{mean['positive']:.2f}, negative ones {mean['negative']:.2f}; expected 0 for "
            f"{SCALES['identity'][0]!r} and 4 for {SCALES['identity'][-1]!r}"
        )


def _extended(report: pd.DataFrame, path: Path, lost: dict[str, pd.Index]) -> pd.DataFrame:
    """The ingest report in terms of pairs, followed by what was lost after validation."""
    report = report.replace({"reason": {"missing image": "missing pair"}})
    rows = [
        {"reason": reason, "unit": unit, "count": len(lost[reason]), "dropped": True}
        | ({"file": path.name, "field": f"pair_id {lost[reason][0]}"} if len(lost[reason]) else {})
        for reason, unit in DROPPED.items()
    ]
    more = pd.DataFrame(rows, columns=report.columns).astype(report.dtypes)
    return pd.concat([report, more], ignore_index=True)
