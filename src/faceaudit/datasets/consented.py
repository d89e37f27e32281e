"""Images of people who agreed and spoke for themselves: FHIBE and Casual Conversations v2.

FHIBE changes from month to month, since people may withdraw. An image without a row belongs to
somebody who withdrew, or to another version; no reader hands it out.
"""

import ast
import re
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from faceaudit.datasets.rows import DataSet, Folder, Records, as_file
from faceaudit.utils.names import MISSING_TEXTS, paths_on_disk
from faceaudit.utils.tables import wrong_format

FHIBE = ["image_id", "filepath", "subject_id", "age", "pronoun", "ancestry", "nationality"]
FHIBE += ["natural_skin_color", "apparent_skin_color"]
TONES = ["monk_skin_tone.scale", "fitzpatrick_skin_tone.type"]
NAMES = {"filepath": "image", "subject_id": "identity"}
LIST = r"\[['\"]"
FOLDER = r"(?!\.+$)[^/\\:]+"  # a plain name
FRAMES = {".jpg", ".jpeg", ".png"}
_CODE = re.compile(r"^\d+\.\s+")


def read_fhibe(table: str | Path, *, images: Folder = None, version: str | None = None) -> DataSet:
    """Read FHIBE's table of aligned faces.

    Takes `fhibe_face_crop_align.csv`. Labels stand there behind code numbers, which differ between
    versions of the set, and several labels in a list: "['0. She/her/hers']". They are read without
    the numbers, and labels of a list are joined by "; ". Other lists stay as they stand, and so
    does a column in which no cell is a list of texts.

    Args:
        table: the CSV file.
        images: folder that the paths in `filepath` count from; rows whose image is not in it are
            dropped. Without it no image is looked for.
        version: of the set, as the name of its archive says; the hash of the file without it. The
            set is updated every month, when people withdraw.

    Returns:
        The images with `identity` (the source's `subject_id`), `image_id`, `age` as a number, and
        all other columns as texts, missing where a cell is empty.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is of another form, or no row can be used.
    """
    rows = Records.read(table, "FHIBE's table of aligned faces (CSV)", FHIBE, NAMES)
    rows.present(["identity"])
    rows.numbers(["age"], least=0)
    order = ["image", "identity", "image_id", "age"]
    for column in rows.frame.columns.drop(order):
        lists = rows.frame[column].str.match(LIST).any()
        known = {text: _label(text, lists) for text in rows.frame[column].unique()}
        labels = rows.frame[column].map(known)
        rows.drop(labels.isna(), "list that is cut", column)
        rows.frame = rows.frame.assign(**{column: labels.where(~labels.isin(MISSING_TEXTS), None)})
    rows.distinct("image")
    rows.images(["image"], images)
    return rows.finish("FHIBE", "registration, evaluation only", version, order)


def _label(text: str, lists: bool) -> str | None:
    """What a cell says without code numbers; None for a list that cannot be read."""
    if not lists or not text.startswith("["):
        return _CODE.sub("", text)
    try:
        return _joined(ast.literal_eval(text), text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # all it may raise
        return None


def _joined(value: Any, otherwise: object) -> Any:
    """Labels of a list in one text."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return otherwise
    return "; ".join(_CODE.sub("", one) for one in value)


def read_casual_conversations(
    annotations: str | Path, images: str | Path, *, version: str | None = None
) -> DataSet:
    """Read Casual Conversations v2, a set of videos, by the frames that lie in a folder a person.

    Takes `CasualConversationsV2.json`: a list of records with `subject_id`, `age`, `gender`,
    `monk_skin_tone` (`scale` and `confidence`), `fitzpatrick_skin_tone` (`type` and `confidence`)
    and more. A person has a record for each video. Frames are .jpg or .png files at any depth of
    the folder `<images>/<subject_id>`.

    Args:
        annotations: the JSON file.
        images: folder with a folder of frames for each person.
        version: of the set, as you name it; the hash of the file without it.

    Returns:
        The frames with `identity` (the source's `subject_id`) and what the records say, a column
        `monk_skin_tone.scale` for a value inside another. A value on which the records of a person
        differ is missing; age and gender are missing where a person did not say them. Dropped are
        records, kept are frames.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is of another form, the folder is missing, or no record can be used.
    """
    path, expected = Path(annotations), "Casual Conversations v2 (a JSON list of records)"
    try:
        content = as_file(path, expected).read_bytes()
        records = msgspec.json.decode(content, type=list[dict[str, Any]])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise wrong_format(path, "the whole file", expected, str(error)) from None
    for one in records:  # beside a missing id, pandas would make 1.0 of the number 1
        if one.get("subject_id") is not None:
            one["subject_id"] = str(one["subject_id"])
    frame = pd.json_normalize(records)
    if lacking := [name for name in ("subject_id", *TONES) if name not in frame]:
        raise wrong_format(path, "the whole file", expected, f"no record with {lacking[0]}")
    if not Path(images).is_dir():
        raise ValueError(f"{images}: no such folder of images")
    frame = frame.map(lambda one: _joined(one, str(one)) if isinstance(one, list) else one)
    frame = frame.rename(columns={"subject_id": "identity"})
    rows = Records(frame.set_axis(range(1, len(frame) + 1)), path, "record")
    rows.present(["identity", *TONES])
    leaving = ~rows.frame["identity"].str.fullmatch(FOLDER).astype(bool)
    rows.drop(leaving, "no plain name of a folder", "identity")
    frames = {one: _frames(Path(images), one) for one in rows.frame["identity"].unique()}
    rows.drop(~rows.frame["identity"].map(frames).astype(bool), "person without frames", "identity")
    people = rows.frame.groupby("identity", sort=False)
    agreed = people.first().where(people.nunique(dropna=False).eq(1))
    found = [(image, one) for one in agreed.index for image in frames[one]]
    found = pd.DataFrame(found, columns=["image", "identity"])
    rows.frame = found.join(agreed, on="identity")
    return rows.finish("Casual Conversations v2", "agreement", version, ["image", "identity"])


def _frames(images: Path, person: str) -> list[str]:
    """Paths of a person's frames from the folder of images, sorted."""
    folder = paths_on_disk(images, [person])[person]
    found = (path for path in folder.rglob("*") if path.suffix.lower() in FRAMES)
    return sorted(path.relative_to(images).as_posix() for path in found)
