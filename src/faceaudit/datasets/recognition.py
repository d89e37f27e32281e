"""Sets for face recognition: BFW and RFW, with groups that others assigned, and CausalFace.

CausalFace are the synthetic faces of the verification paper, with people's scores of images and of
pairs. Its images are called `seed_<n>_race_<race>_gender_<gender>_age_0.png` in tables, and
`seed_<n>/<race>_<gender>_<what varies>_<value>.png` as files. Readers return the paths of the
files. Seed, race and gender make a prototype, which stands for an identity here. Race and gender
are what the authors meant to synthesise; people's scores say what others see.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from faceaudit.annotations.ingest import RawAnswers, validate
from faceaudit.annotations.schema import ATTRIBUTES, scores
from faceaudit.datasets.rows import PAIR_COLUMNS, DataSet, DroppedRows, Folder, Records, as_file
from faceaudit.utils.arguments import require_members
from faceaudit.utils.tables import wrong_format

BFW_COLUMNS = [
    "fold",
    "p1",
    "p2",
    "label",
    "id1",
    "id2",
    "att1",
    "att2",
    "a1",
    "a2",
    "g1",
    "g2",
    "e1",
    "e2",
]
"""Columns that BFW's table must have."""
BFW_NEW_NAMES = {
    "p1": "first_image",
    "p2": "second_image",
    "id1": "first_identity",
    "id2": "second_identity",
    "label": "same",
}
"""Column of BFW's table → what a `DataSet` calls it."""
BFW_SIMILARITIES = ["vgg16", "resnet50", "senet50", "sphereface"]
"""Columns that BFW's table may have: what four recognisers say."""
RFW_FOLDS = 10
"""Parts of each set of RFW."""
RFW_PAIRS_OF_A_KIND = 300
"""In each fold, first of one person, then of two."""
_RFW_LINE = r"^(?P<first>[^\t]+)\t(?P<n>\d+)(?:\t(?P<second>[^\t]+))?\t(?P<m>\d+)$"
CAUSALFACE_NAME_PARTS = ["seed", "race", "gender"]
"""What the name of an image of CausalFace says; together they are the identity."""
LOWEST_RATING = 0
"""Of a pair of CausalFace: the same person."""
HIGHEST_RATING = 4
"""Of a pair of CausalFace: two people."""
_CAUSALFACE_TABLE = (
    "a CausalFace table (a header; then an image and pairs of worker and score a row)"
)
_NAME_IN_TABLE = r"^seed_(\d+)_race_([a-z]+)_gender_(female|male)_([a-z]+_-?[\d.]+\.png)$"
_NAME_IN_FOLDER = r"(?:^|/)seed_(\d+)/([a-z]+)_(female|male)_"


# --- BFW


def read_bfw(table: str | Path, *, images: Folder = None, version: str | None = None) -> DataSet:
    """Read the table of pairs of Balanced Faces in the Wild.

    Takes a CSV file with the columns fold, p1, p2, label, id1, id2, att1, att2, a1, a2, g1, g2, e1
    and e2, with or without ID and the similarities vgg16, resnet50, senet50 and sphereface. The
    release's pickle is refused, since opening one runs what is in it; write it as CSV beforehand.
    These pairs are dropped: without an identity, att1, att2 or a path; with a label that is no
    truth value, a gender other than F and M, or an ethnicity other than A, B, I and W; with a fold
    or a similarity that is no number; whose label and identities disagree; and an image paired with
    itself. A pair without a similarity is kept: it could not be compared.

    Args:
        table: the CSV file.
        images: folder that the paths in `p1` and `p2` count from; pairs with an image that is not
            in it are dropped. Without it no image is looked for.
        version: of the set, as you name it; the hash of the file without it.

    Returns:
        The pairs: `first_image` and `second_image` are the source's p1 and p2, `first_identity` and
        `second_identity` its id1 and id2, `same` is its label, and the similarities that it has are
        numbers, NaN where there is none.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is of another form, or no row can be used.
    """
    rows = Records.from_csv(table, "BFW's table of pairs (CSV)", BFW_COLUMNS, BFW_NEW_NAMES)
    rows.frame = rows.frame.drop(columns="ID", errors="ignore")
    rows.drop_missing(["first_identity", "second_identity", "att1", "att2"])
    same = rows.truth_values("same", {"0": False, "1": True})
    rows.drop_unknown_labels(["g1", "g2"], ["F", "M"])
    rows.drop_unknown_labels(["e1", "e2"], ["A", "B", "I", "W"])
    one_identity = rows.frame["first_identity"] == rows.frame["second_identity"]
    disagree = one_identity != same[rows.frame.index]
    rows.drop(disagree, "label and identities disagree", "same")
    rows.frame = rows.frame.assign(same=same[rows.frame.index].astype(int))
    similarities = [name for name in BFW_SIMILARITIES if name in rows.frame]
    rows.to_numbers(["fold"])
    rows.to_numbers(similarities, keep_missing=True)
    rows.drop_unusable_images(["first_image", "second_image"], images)
    return rows.as_data_set("BFW", "form, research", version, PAIR_COLUMNS)


# --- RFW


def read_rfw(pairs: str | Path, *, images: Folder = None, version: str | None = None) -> DataSet:
    """Read the pairs of one of the four sets of Racial Faces in the Wild.

    Takes `<set>_pairs.txt` with 6,000 lines: ten times 300 pairs of one person (folder, n, m), then
    300 of two (folder, n, folder, m), all parted by tabs. Folders name people; they tell here which
    images belong together, and no name should be looked up. An image paired with itself is dropped.

    Args:
        pairs: the text file.
        images: folder with a folder for each set, `<set>/<folder>/<folder>_0001.jpg`; pairs with an
            image that is not in it are dropped. Without it no image is looked for.
        version: of the set, as you name it; the hash of the file without it.

    Returns:
        The pairs with `fold` (1 to 10) and `race`, the name of the set; `first_image` and
        `second_image` are files, `first_identity` and `second_identity` the folders.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is of another form, or was cut; no pair can be used.
    """
    path = Path(pairs)
    total = 2 * RFW_FOLDS * RFW_PAIRS_OF_A_KIND
    race, ending, _ = path.name.partition("_pairs.txt")
    if not ending:
        raise wrong_format(path, "its name", "<set>_pairs.txt", path.name)
    rows = Records.from_lines(path)
    if len(rows.frame) != total:
        expected = f"{total:,} pairs, one a line"
        raise wrong_format(path, "the whole file", expected, f"{len(rows.frame):,} lines")
    cells = rows.frame["line"].str.strip().str.extract(_RFW_LINE)
    first = cells["first"]
    second = cells["second"].fillna(first)
    fold, place = np.divmod(np.arange(total), 2 * RFW_PAIRS_OF_A_KIND)
    same = (first == second).astype(int)
    rows.frame = rows.frame.assign(
        first_identity=first,
        second_identity=second,
        first_image=_rfw_image(race, first, cells["n"]),
        second_image=_rfw_image(race, second, cells["m"]),
        same=same,
        fold=fold + 1,
        race=race,
        other_kind=same.to_numpy() != (place < RFW_PAIRS_OF_A_KIND),
    )
    rows.drop(first.isna(), "neither three nor four cells", "line")
    rows.drop(rows.frame["other_kind"], "pair of the other kind than its place says", "line")
    rows.frame = rows.frame.drop(columns=["line", "other_kind"])
    rows.drop_unusable_images(["first_image", "second_image"], images)
    return rows.as_data_set("RFW", "research", version, PAIR_COLUMNS)


def _rfw_image(race: str, person: pd.Series, number: pd.Series) -> pd.Series:
    """Paths of images from the folder of all four sets."""
    return race + "/" + person + "/" + person + "_" + number.str.zfill(4) + ".jpg"


# --- CausalFace


def read_causalface(
    tables: Mapping[str, str | Path], *, images: Folder = None, version: str | None = None
) -> DataSet:
    """Read people's scores of CausalFace's images, a CSV file for each attribute.

    Takes tables with a header, and in each row an image and then a worker and a score, as many
    times as there were workers. Scores are levels counted from 0. Workers are hashed as they are
    read, and only means are handed on.

    Args:
        tables: attribute that was asked about, a key of `faceaudit.annotations.ATTRIBUTES` → file.
        images: folder that holds the folders `seed_<n>`; rows whose image is not in it are dropped.
            Without it no image is looked for.
        version: of the set, as you name it; the hash of the files without it.

    Returns:
        The images, sorted by their names in the tables, with `identity` (the prototype), the
        `seed`, `race` and `gender` of their names, and `<attribute>_score`, the mean level over
        (levels - 1), in [0, 1]; it is missing where an image has no answer. Dropped answers are
        counted by the reasons of `faceaudit.annotations.Ingest`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: an attribute is unknown, a file is of another form, or nothing can be used.

    Example:
        >>> import tempfile
        >>> from faceaudit import datasets
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     _ = file.write("image,worker,score,worker,score\\n"
        ...                    "seed_1_race_asian_gender_male_age_0.png,w1,4,w2,3\\n")
        ...     file.flush()
        ...     frame = datasets.read_causalface({"gender": file.name}).frame
        >>> frame[["image", "identity", "gender_score"]].values.tolist()
        [['seed_1/asian_male_age_0.png', '1 asian male', 0.875]]
    """
    require_members(list(tables), ATTRIBUTES, "attribute")
    export = RawAnswers("causalface")
    for attribute, path in tables.items():
        export.begin(Path(path), [attribute])
        _add_answers(export, Path(path), attribute)
    answers, report = validate(export, "causalface")
    means = scores(answers).add_suffix("_score").reset_index(names="image")
    first_table = next(iter(tables.values()))
    rows = Records(means.set_axis(range(1, len(means) + 1)), first_table, "image")
    for line in report[report["dropped"] & (report["count"] > 0)].itertuples():
        field = line.field or "row"
        rows.dropped.append(
            DroppedRows(line.reason, field, line.count, line.file, line.place, found="")
        )
    _read_names(rows, "image", prefix="")
    rows.drop_unusable_images(["image"], images)
    first_columns = ["image", "identity", *CAUSALFACE_NAME_PARTS]
    return rows.as_data_set("CausalFace", "research", version, first_columns, tables.values())


def _add_answers(export: RawAnswers, path: Path, attribute: str) -> None:
    """Add the answers of a table, a row of which may have another number of workers than others."""
    expected = _CAUSALFACE_TABLE
    try:
        with as_file(path, expected).open(encoding="utf-8-sig", newline="") as stream:
            lines = list(csv.reader(stream, strict=True))
    except (csv.Error, UnicodeDecodeError) as error:
        raise wrong_format(path, "the whole file", expected, f"no CSV ({error})") from None
    header = lines[0] if lines else []
    if len(lines) < 2 or len(header) < 3 or re.search(r"seed_\d", header[0]):
        raise wrong_format(path, "row 1", expected, f"{','.join(header)!r:.60}")
    for number, line in enumerate(lines[1:], 2):
        if not line:
            continue
        image, *cells = line
        if len(cells) % 2:
            cells_found = f"{len(cells)} cells behind the image"
            raise wrong_format(path, f"row {number}", expected, cells_found)
        for worker, score in zip(cells[::2], cells[1::2], strict=True):
            if worker.strip() or score.strip():
                answer = (attribute, score.strip().removesuffix(".0"), attribute)
                export.add([answer], place=number, named=image.strip(), annotator=worker)


def _read_names(rows: Records, column: str, prefix: str) -> None:
    """Turn names of images into paths, and add what the names say.

    Args:
        rows: that get the columns `identity`, `seed`, `race` and `gender`; rows with a name of
            another form are dropped.
        column: of the names.
        prefix: of the new columns.
    """
    paths = rows.frame[column].str.replace(_NAME_IN_TABLE, r"seed_\1/\2_\3_\4", regex=True)
    parts = paths.str.extract(_NAME_IN_FOLDER).set_axis(CAUSALFACE_NAME_PARTS, axis=1)
    rows.drop(parts["seed"].isna(), "no name of CausalFace", column)
    rows.frame = rows.frame.assign(**{column: paths})
    parts = parts.loc[rows.frame.index]
    parts.insert(0, "identity", parts.agg(" ".join, axis=1))
    rows.frame = rows.frame.join(parts.astype({"seed": int}).add_prefix(prefix))


def read_causalface_pairs(
    table: str | Path,
    *,
    first: str,
    second: str,
    ratings: Sequence[str],
    images: Folder = None,
    version: str | None = None,
) -> DataSet:
    """Read CausalFace's pairs of images with people's ratings, from columns that you name.

    Takes a CSV file, or one whose cells are parted by tabs, with one row a pair and one column a
    rating; how the release lays them out is not public. A pair that lacks a rating is dropped: a
    trimmed mean of nine and one of eight do not mean the same. Dropped is also a pair with a rating
    outside of 0 to 4, and an image paired with itself. A pair that occurs again is a pair of its
    own.

    Args:
        table: the file.
        first, second: names of its columns of the images.
        ratings: names of its columns of ratings.
        images: folder that the images' paths count from; pairs with an image that is not in it are
            dropped. Without it no image is looked for.
        version: of the set, as you name it; the hash of the file without it.

    Returns:
        The pairs, where `same` says whether both images are of one prototype (what was meant, not
        what people see), with seed, race and gender of both names, and the ratings as numbers; see
        `faceaudit.verification.hcic` for their consensus.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is of another form, or no row can be used.
    """
    new_names = {first: "first_image", second: "second_image"}
    needed = [first, second, *ratings]
    rows = Records.from_csv(table, "CausalFace's pairs", needed, new_names)
    rows.to_numbers(ratings, LOWEST_RATING, HIGHEST_RATING)
    rows.drop_missing(["first_image", "second_image"])
    _read_names(rows, "first_image", prefix="first_")
    _read_names(rows, "second_image", prefix="second_")
    rows.drop_unusable_images(["first_image", "second_image"], images)
    same = rows.frame["first_identity"] == rows.frame["second_identity"]
    rows.frame = rows.frame.assign(same=same.astype(int))
    return rows.as_data_set("CausalFace pairs", "research", version, PAIR_COLUMNS)
