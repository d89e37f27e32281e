"""Portraits whose labels are what others saw in them: CelebA, FairFace, and tables like PPB's."""

from pathlib import Path

import pandas as pd

from faceaudit.datasets.rows import DataSet, Folder, Records
from faceaudit.utils.tables import wrong_format

ATTRIBUTES, PARTITIONS = 40, ["0", "1", "2"]
AGES = ["0-2", "3-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "more than 70"]
RACES = ["White", "Black", "Latino_Hispanic", "East Asian", "Southeast Asian", "Indian"]
RACES += ["Middle Eastern"]


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
    rows = Records.lines(path)
    count, header = [*rows.frame["line"].str.strip(), "", ""][:2]
    names, rows.frame = header.split(), rows.frame.iloc[2:]
    if not count.isdecimal():
        raise wrong_format(path, "line 1", "the number of images", repr(count[:60]))
    if len(names) != ATTRIBUTES:
        raise wrong_format(path, "line 2", f"{ATTRIBUTES} names", f"{len(names)}")
    more_files = {"identity": "identity_CelebA.txt", "partition": "list_eval_partition.txt"}
    if len(rows.frame) != int(count):
        raise wrong_format(path, "line 1", f"{len(rows.frame)}, as many as images below", count)
    _split(rows, ["image", *names])
    rows.labels(names, ["-1", "1"])
    rows.frame = rows.frame.astype(dict.fromkeys(names, "int8"))
    rows.distinct("image")
    rows.images(["image"], images)
    files, order = [path], ["image"]
    for column, file in more_files.items():
        if (beside := Path(folder, file)).is_file():
            _join(rows, beside, column)
            files, order = [*files, beside], [*order, column]
    if "partition" in order:
        rows.frame = rows.frame.astype({"partition": "int8"})
    return rows.finish("CelebA", "research", version, order, files)


def _join(rows: Records, beside: Path, column: str) -> None:
    """Add a column from another file; a damaged line there is counted, and its image dropped."""
    more = Records.lines(beside)
    words = more.frame["line"].str.split()
    more.frame = more.frame.assign(line=words.str.join(" "))
    more.frame = more.frame[words.str[0].isin(rows.frame["image"])].drop_duplicates()
    image = words.str[0][more.frame.index]
    _split(more, ["image", column])
    if column == "partition":
        more.labels([column], PARTITIONS)
    more.drop(more.frame["image"].duplicated(), "another value on an earlier line", "image")
    rows.lost += more.lost
    damaged = image.drop(more.frame.index)
    rows.frame = rows.frame[~rows.frame["image"].isin(damaged)]
    values = rows.frame["image"].map(more.frame.set_index("image")[column])
    rows.drop(values.isna(), f"no line in {beside.name}", "image")
    rows.frame = rows.frame.assign(**{column: values})


def _split(rows: Records, columns: list[str]) -> None:
    """Turn lines of words into columns."""
    words = rows.frame["line"].str.split()
    rows.drop(words.str.len() != len(columns), f"not {len(columns)} words", "line")
    words = words[rows.frame.index]
    rows.frame = pd.DataFrame(words.tolist(), words.index, columns, dtype="str")


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
    columns = ["file", "age", "gender", "race", "service_test"]
    image = {"file": "image"}
    rows = Records.read(labels, "FairFace's labels (CSV)", columns, image, others=False)
    known = {"age": AGES, "gender": ["Male", "Female"], "race": RACES}
    for column, values in known.items():
        rows.labels([column], values)
    rows.frame = rows.frame.assign(service_test=rows.truths("service_test"))
    rows.distinct("image")
    rows.images(["image"], images)
    return rows.finish("FairFace", "CC BY 4.0", version, ["image"])


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
    rows = Records.read(table, "a table of portraits", columns, {image: "image"}, others=False)
    rows.present([gender, skin])
    rows.distinct("image")
    rows.images(["image"], images)
    return rows.finish(source, terms, version, ["image"])
