"""Images of people who agreed and described themselves: FHIBE and Casual Conversations v2.

FHIBE changes from month to month, because people may withdraw. An image without a row belongs to
somebody who withdrew, or to another version, so no reader returns it.
"""

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from faceaudit.datasets.rows import DataSet, Folder, Records, as_file
from faceaudit.utils.names import MISSING_TEXTS, paths_on_disk
from faceaudit.utils.tables import wrong_format

FHIBE_COLUMNS = [
    "image_id",
    "filepath",
    "subject_id",
    "age",
    "pronoun",
    "ancestry",
    "nationality",
    "natural_skin_color",
    "apparent_skin_color",
]
"""Columns that FHIBE's table must have."""
FHIBE_NEW_NAMES = {"filepath": "image", "subject_id": "identity"}
"""Column of FHIBE's table → what a `DataSet` calls it."""
TONE_COLUMNS = ["monk_skin_tone.scale", "fitzpatrick_skin_tone.type"]
"""Values that every record of Casual Conversations must have; a dot leads into an object."""
FRAME_SUFFIXES = {".jpg", ".jpeg", ".png"}
"""Ends of names of images, in small letters."""
_CASUAL_CONVERSATIONS = "Casual Conversations v2 (a JSON list of records)"
_LIST_OF_TEXTS = r"\[['\"]"
_NAME_OF_A_FOLDER = r"(?!\.+$)[^/\\:]+"  # without a way to another folder
_CODE_NUMBER = re.compile(r"^\d+\.\s+")


# --- FHIBE


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
    expected = "FHIBE's table of aligned faces (CSV)"
    rows = Records.from_csv(table, expected, FHIBE_COLUMNS, FHIBE_NEW_NAMES)
    rows.drop_missing(["identity"])
    rows.to_numbers(["age"], least=0)
    first_columns = ["image", "identity", "image_id", "age"]
    for column in rows.frame.columns.drop(first_columns):
        _remove_code_numbers(rows, column)
    rows.drop_repeated("image")
    rows.drop_unusable_images(["image"], images)
    return rows.as_data_set("FHIBE", "registration, evaluation only", version, first_columns)


def _remove_code_numbers(rows: Records, column: str) -> None:
    """Replace the cells of a column by their labels; rows whose list is cut are dropped."""
    cells = rows.frame[column]
    has_lists = cells.str.match(_LIST_OF_TEXTS).any()
    label_of_cell = {cell: _label(cell, has_lists) for cell in cells.unique()}
    labels = cells.map(label_of_cell)
    rows.drop(labels.isna(), "list that is cut", column)
    labels = labels.where(~labels.isin(MISSING_TEXTS), None)
    rows.frame = rows.frame.assign(**{column: labels})


def _label(cell: str, has_lists: bool) -> str | None:
    """The label of a cell without code numbers; None for a list that cannot be read.

    Args:
        cell: its text.
        has_lists: whether some cell of its column is a list of texts.
    """
    if not has_lists or not cell.startswith("["):
        return _without_code_number(cell)
    try:
        content = ast.literal_eval(cell)
        return _joined_labels(content) if _is_list_of_texts(content) else cell
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # all it may raise
        return None


def _without_code_number(text: str) -> str:
    return _CODE_NUMBER.sub("", text)


def _is_list_of_texts(content: Any) -> bool:
    return isinstance(content, list) and all(isinstance(element, str) for element in content)


def _joined_labels(labels: list[str]) -> str:
    return "; ".join(_without_code_number(label) for label in labels)


# --- Casual Conversations v2


def read_casual_conversations(
    annotations: str | Path, images: str | Path, *, version: str | None = None
) -> DataSet:
    """Read Casual Conversations v2, a set of videos, by frames in a folder for each person.

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
        differ is missing; age and gender are missing where a person did not say them. What is
        counted as kept are frames, and what is counted as dropped are records.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is of another form, the folder is missing, or no record can be used.
    """
    path = Path(annotations)
    folder = Path(images)
    frame = _records_of_people(path)
    if not folder.is_dir():
        raise ValueError(f"{images}: no such folder of images")
    rows = Records(frame.set_axis(range(1, len(frame) + 1)), path, "record")
    rows.drop_missing(["identity", *TONE_COLUMNS])
    leads_elsewhere = ~rows.frame["identity"].str.fullmatch(_NAME_OF_A_FOLDER).astype(bool)
    rows.drop(leads_elsewhere, "no plain name of a folder", "identity")
    paths = {person: _frames_of(person, folder) for person in rows.frame["identity"].unique()}
    without_frames = ~rows.frame["identity"].map(paths).astype(bool)
    rows.drop(without_frames, "person without frames", "identity")
    rows.frame = _row_per_frame(rows.frame, paths)
    source = "Casual Conversations v2"
    return rows.as_data_set(source, "agreement", version, ["image", "identity"])


def _records_of_people(path: Path) -> pd.DataFrame:
    """A row per record of the JSON file, with a column for each value inside another."""
    expected = _CASUAL_CONVERSATIONS
    try:
        content = as_file(path, expected).read_bytes()
        records = msgspec.json.decode(content, type=list[dict[str, Any]])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise wrong_format(path, "the whole file", expected, str(error)) from None
    for record in records:  # beside a missing id, pandas would make 1.0 of the number 1
        if record.get("subject_id") is not None:
            record["subject_id"] = str(record["subject_id"])
    frame = pd.json_normalize(records)
    for column in ("subject_id", *TONE_COLUMNS):
        if column not in frame:
            raise wrong_format(path, "the whole file", expected, f"no record with {column}")
    return frame.map(_list_as_text).rename(columns={"subject_id": "identity"})


def _list_as_text(value: Any) -> Any:
    """A list of labels in one text, and any other list as Python prints it."""
    if _is_list_of_texts(value):
        return _joined_labels(value)
    return str(value) if isinstance(value, list) else value


def _frames_of(person: str, images: Path) -> list[str]:
    """Paths of a person's frames from the folder of images, sorted."""
    folder = paths_on_disk(images, [person])[person]
    frames = (path for path in folder.rglob("*") if path.suffix.lower() in FRAME_SUFFIXES)
    return sorted(path.relative_to(images).as_posix() for path in frames)


def _row_per_frame(records: pd.DataFrame, paths: Mapping[str, list[str]]) -> pd.DataFrame:
    """A row per frame with the values on which all records of its person agree.

    Args:
        records: a row per record, with the column `identity`.
        paths: person → paths of the frames.
    """
    people = records.groupby("identity", sort=False)
    agreed = people.first().where(people.nunique(dropna=False).eq(1))
    frames = [(path, person) for person in agreed.index for path in paths[person]]
    return pd.DataFrame(frames, columns=["image", "identity"]).join(agreed, on="identity")
