"""Portraits whose labels are what others saw in them: CelebA, FairFace, and tables like PPB's."""

from pathlib import Path

import pandas as pd

from faceaudit.datasets.rows import DataSet, Folder, Records
from faceaudit.utils.tables import wrong_format

CELEBA_ATTRIBUTES = 40
"""How many attributes CelebA has."""
CELEBA_PARTITIONS = ["0", "1", "2"]
"""Training, validation and test images of CelebA."""
CELEBA_MORE_FILES = {"identity": "identity_CelebA.txt", "partition": "list_eval_partition.txt"}
"""Column → the file of CelebA that it is read from, where that file lies beside the attributes."""
FAIRFACE_LABELS = {
    "age": [
        "0-2",
        "3-9",
        "10-19",
        "20-29",
        "30-39",
        "40-49",
        "50-59",
        "60-69",
        "more than 70",
    ],
    "gender": ["Male", "Female"],
    "race": [
        "White",
        "Black",
        "Latino_Hispanic",
        "East Asian",
        "Southeast Asian",
        "Indian",
        "Middle Eastern",
    ],
}
"""Column of FairFace → the labels that occur in it."""


# --- CelebA


def read_celeba(
    folder: str | Path, *, images: Folder = None, version: str | None = None
) -> DataSet:
    """Read CelebA's text files: attributes, and partition and identities where they lie beside.

    Takes `list_attr_celeba.txt` (a line with the number of images, a line with the names of 40
    attributes, then a file and 40 values a line), `list_eval_partition.txt` (a file and 0, 1 or 2)
    and `identity_CelebA.txt` (a file and a number). CSV files made of these are refused. An image
    is dropped if its line in one of the last two files is damaged, or if two lines there differ.

    Args:
        folder: where the text files lie.
        images: folder of the images; rows whose image is not in it are dropped. Without it no image
            is looked for.
        version: of the set, as you name it; the hash of the files without it.

    Returns:
        The images with `identity` and `partition` (0 train, 1 validation, 2 test) if there is such
        a file, and the attributes, -1 or 1.

    Raises:
        FileNotFoundError: the folder has no file of attributes.
        ValueError: a file is of another form, or was cut; no row can be used.
    """
    path = Path(folder, "list_attr_celeba.txt")
    rows = _attributes_of_celeba(path)
    rows.drop_repeated("image")
    rows.drop_unusable_images(["image"], images)
    files = [path]
    first_columns = ["image"]
    for column, name in CELEBA_MORE_FILES.items():
        beside = Path(folder, name)
        if beside.is_file():
            _add_column(rows, beside, column)
            files.append(beside)
            first_columns.append(column)
    if "partition" in first_columns:
        rows.frame = rows.frame.astype({"partition": "int8"})
    return rows.as_data_set("CelebA", "research", version, first_columns, files)


def _attributes_of_celeba(path: Path) -> Records:
    """Read the file of attributes: images, and -1 or 1 for each attribute."""
    rows = Records.from_lines(path)
    lines = rows.frame["line"].str.strip()
    count = lines.iloc[0] if len(lines) > 0 else ""
    attributes = lines.iloc[1].split() if len(lines) > 1 else []
    rows.frame = rows.frame.iloc[2:]
    if not count.isdecimal():
        raise wrong_format(path, "line 1", "the number of images", repr(count[:60]))
    if len(attributes) != CELEBA_ATTRIBUTES:
        raise wrong_format(path, "line 2", f"{CELEBA_ATTRIBUTES} names", f"{len(attributes)}")
    if len(rows.frame) != int(count):
        raise wrong_format(path, "line 1", f"{len(rows.frame)}, as many as images below", count)
    _split_lines(rows, ["image", *attributes])
    rows.drop_unknown_labels(attributes, ["-1", "1"])
    rows.frame = rows.frame.astype(dict.fromkeys(attributes, "int8"))
    return rows


def _add_column(rows: Records, file: Path, column: str) -> None:
    """Add a column from a file beside; images whose line there is damaged or missing are dropped.

    Args:
        rows: of the images.
        file: of lines with an image and a value.
        column: what the value is called.
    """
    lines = Records.from_lines(file)
    words = lines.frame["line"].str.split()
    image = words.str[0]
    lines.frame = lines.frame.assign(line=words.str.join(" "))
    lines.frame = lines.frame[image.isin(rows.frame["image"])].drop_duplicates()
    image = image[lines.frame.index]
    _split_lines(lines, ["image", column])
    if column == "partition":
        lines.drop_unknown_labels([column], CELEBA_PARTITIONS)
    repeated = lines.frame["image"].duplicated()
    lines.drop(repeated, "another value on an earlier line", "image")
    rows.dropped += lines.dropped
    image_of_dropped_line = image.drop(lines.frame.index)
    rows.frame = rows.frame[~rows.frame["image"].isin(image_of_dropped_line)]
    value_of_image = lines.frame.set_index("image")[column]
    values = rows.frame["image"].map(value_of_image)
    rows.drop(values.isna(), f"no line in {file.name}", "image")
    rows.frame = rows.frame.assign(**{column: values})


def _split_lines(rows: Records, columns: list[str]) -> None:
    """Turn lines of words into columns; lines with another number of words are dropped."""
    words = rows.frame["line"].str.split()
    rows.drop(words.str.len() != len(columns), f"not {len(columns)} words", "line")
    words = words[rows.frame.index]
    rows.frame = pd.DataFrame(words.tolist(), words.index, columns, dtype="str")


# --- FairFace


def read_fairface(
    labels: str | Path, *, images: Folder = None, version: str | None = None
) -> DataSet:
    """Read one of FairFace's label files, of the training or of the validation images.

    Takes a CSV file with the columns file, age (nine bands), gender, race (seven) and
    service_test. Bands that a spreadsheet turned into dates are dropped, as other unknown labels.

    Args:
        labels: the CSV file.
        images: folder that the paths in `file` count from; rows whose image is not in it are
            dropped. Without it no image is looked for.
        version: of the set, as you name it; the hash of the file without it.

    Returns:
        The images with the labels as texts, and `service_test` as a truth value.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is of another form, or no row can be used.

    Example:
        >>> import tempfile
        >>> from faceaudit import datasets
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     _ = file.write("file,age,gender,race,service_test\\n"
        ...                    "val/1.jpg,3-9,Male,East Asian,False\\n"
        ...                    "val/2.jpg,9-Mar,Female,Indian,True\\n")
        ...     file.flush()
        ...     datasets.read_fairface(file.name).card["dropped"]
        {'unknown label: age': 1}
    """
    columns = ["file", *FAIRFACE_LABELS, "service_test"]
    new_names = {"file": "image"}
    rows = Records.from_csv(labels, "FairFace's labels (CSV)", columns, new_names, others=False)
    for column, known in FAIRFACE_LABELS.items():
        rows.drop_unknown_labels([column], known)
    rows.frame = rows.frame.assign(service_test=rows.truth_values("service_test"))
    rows.drop_repeated("image")
    rows.drop_unusable_images(["image"], images)
    return rows.as_data_set("FairFace", "CC BY 4.0", version, ["image"])


# --- tables of portraits


def read_portraits(
    table: str | Path,
    *,
    image: str,
    gender: str,
    skin: str,
    source: str,
    terms: str,
    images: Folder = None,
    version: str | None = None,
) -> DataSet:
    """Read a table of portraits, as that of the Pilot Parliaments Benchmark is.

    Takes a CSV file, or one whose cells are parted by tabs, with one row a portrait. A portrait
    without perceived gender or without skin is dropped.

    Args:
        table: the file.
        image, gender, skin: names of its columns of the images' paths, of perceived gender, and of
            skin type or colour.
        source: what the set is called.
        terms: of use, in your words.
        images: folder that the paths count from; rows whose image is not in it are dropped. Without
            it no image is looked for.
        version: of the set, as you name it; the hash of the file without it.

    Returns:
        The images with the two attributes, as texts in columns of the given names.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is of another form, or no row can be used.
    """
    columns = [image, gender, skin]
    new_names = {image: "image"}
    rows = Records.from_csv(table, "a table of portraits", columns, new_names, others=False)
    rows.drop_missing([gender, skin])
    rows.drop_repeated("image")
    rows.drop_unusable_images(["image"], images)
    return rows.as_data_set(source, terms, version, ["image"])
