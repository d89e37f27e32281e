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

from faceaudit.annotations.ingest import RawAnswers, validate
from faceaudit.annotations.schema import ATTRIBUTES, scores
from faceaudit.datasets.rows import PAIR, DataSet, Folder, Records, as_file
from faceaudit.utils.arguments import require_members
from faceaudit.utils.tables import wrong_format

BFW = [
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
NAMES = dict(zip(["p1", "p2", "id1", "id2", "label"], PAIR, strict=True))
SCORES = ["vgg16", "resnet50", "senet50", "sphereface"]
FOLDS, OF_ONE_KIND = 10, 300
_LINE = r"^(?P<one>[^\t]+)\t(?P<n>\d+)(?:\t(?P<other>[^\t]+))?\t(?P<m>\d+)$"


def read_bfw(table: str | Path, *, images: Folder = None, version: str | None = None) -> DataSet:
    """Read the table of pairs of Balanced Faces in the Wild.

    Takes a CSV file with the columns fold, p1, p2, label, id1, id2, att1, att2, a1, a2, g1, g2, e1
    and e2, with or without ID and the similarities vgg16, resnet50, senet50 and sphereface. The
    release's pickle is refused, since opening one runs what is in it; write it as CSV beforehand.
    A pair whose label and identities disagree is dropped, and so is an image paired with itself.

    Args:
        table: the CSV file.
        images: folder that the paths in `p1` and `p2` count from; pairs with an image that is not
            in it are dropped. Without it no image is looked for.
        version: of the set, as you name it; the hash of the file without it.

    Returns:
        The pairs: `first_image` and `second_image` are the source's p1 and p2, `first_identity` and
        `second_identity` its id1 and id2, `same` is its label, and the similarities that it has are
        numbers.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is of another form, or no row can be used.
    """
    rows = Records.read(table, "BFW's table of pairs (CSV)", BFW, NAMES)
    rows.frame = rows.frame.drop(columns="ID", errors="ignore")
    rows.present(["first_identity", "second_identity", "att1", "att2"])
    same = rows.truths("same", {"0": False, "1": True})
    rows.labels(["g1", "g2"], ["F", "M"])
    rows.labels(["e1", "e2"], ["A", "B", "I", "W"])
    one = rows.frame["first_identity"] == rows.frame["second_identity"]
    disagree = one != same[rows.frame.index]
    rows.drop(disagree, "label and identities disagree", "same")
    rows.frame = rows.frame.assign(same=same[rows.frame.index].astype(int))
    rows.numbers(["fold", *(name for name in SCORES if name in rows.frame)])
    rows.images(["first_image", "second_image"], images)
    return rows.finish("BFW", "form, research", version, PAIR)


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
    path, total = Path(pairs), 2 * FOLDS * OF_ONE_KIND
    race, rest, _ = path.name.partition("_pairs.txt")
    if not rest:
        raise wrong_format(path, "its name", "<set>_pairs.txt", path.name)
    rows = Records.lines(path)
    if len(rows.frame) != total:
        found = f"{len(rows.frame):,} lines"
        raise wrong_format(path, "the whole file", f"{total:,} pairs, one a line", found)
    cells = rows.frame["line"].str.strip().str.extract(_LINE)
    block, place = np.divmod(np.arange(total), 2 * OF_ONE_KIND)
    other = cells["other"].fillna(cells["one"])
    columns = {"first_identity": cells["one"], "second_identity": other}
    for side, who, number in (("first", cells["one"], "n"), ("second", other, "m")):
        columns[f"{side}_image"] = (
            race + "/" + who + "/" + who + "_" + cells[number].str.zfill(4) + ".jpg"
        )
    same = (cells["one"] == other).astype(int)
    rows.frame = rows.frame.assign(**columns, same=same, fold=block + 1, race=race)
    other_kind = same.to_numpy() != (place < OF_ONE_KIND)
    rows.frame = rows.frame.assign(other_kind=other_kind)
    rows.drop(cells["one"].isna(), "neither three nor four cells", "line")
    rows.drop(rows.frame["other_kind"], "pair of the other kind than its place says", "line")
    rows.frame = rows.frame.drop(columns=["line", "other_kind"])
    rows.images(["first_image", "second_image"], images)
    return rows.finish("RFW", "research", version, PAIR)


IN_TABLE = r"^seed_(\d+)_race_([a-z]+)_gender_(female|male)_([a-z]+_-?[\d.]+\.png)$"
IN_FOLDER = r"(?:^|/)seed_(\d+)/([a-z]+)_(female|male)_"
PARTS = ["identity", "seed", "race", "gender"]
RATINGS = 0, 4  # the lowest says: the same person
EXPECTED = "a CausalFace table (a header; then an image and pairs of worker and score a row)"


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
        ...     found = datasets.read_causalface({"gender": file.name}).frame
        >>> found[["image", "identity", "gender_score"]].values.tolist()
        [['seed_1/asian_male_age_0.png', '1 asian male', 0.875]]
    """
    require_members([*tables], ATTRIBUTES, "attribute")
    export = RawAnswers("causalface")
    for attribute, path in tables.items():
        export.begin(Path(path), [attribute])
        _add(export, Path(path), attribute)
    answers, report = validate(export, "causalface")
    found = scores(answers).add_suffix("_score").reset_index(names="image")
    rows = Records(found.set_axis(range(1, len(found) + 1)), next(iter(tables.values())), "image")
    lost = report[report["dropped"] & (report["count"] > 0)]
    for one in lost.itertuples():
        rows.lost.append((one.reason, one.field or "row", one.count, one.file, one.place, ""))
    _named(rows, {"image": ""})
    rows.images(["image"], images)
    return rows.finish("CausalFace", "research", version, ["image", *PARTS], tables.values())


def _add(export: RawAnswers, path: Path, attribute: str) -> None:
    """Add the answers of a table, a row of which may have another number of workers than others."""
    try:
        with as_file(path, EXPECTED).open(encoding="utf-8-sig", newline="") as stream:
            header, *rows = [*csv.reader(stream, strict=True)] or [[]]
    except (csv.Error, UnicodeDecodeError) as error:
        raise wrong_format(path, "the whole file", EXPECTED, f"no CSV ({error})") from None
    if not rows or len(header) < 3 or re.search(r"seed_\d", header[0]):
        raise wrong_format(path, "row 1", EXPECTED, f"{','.join(header)!r:.60}")
    for number, (name, *cells) in ((k, row) for k, row in enumerate(rows, 2) if row):
        if len(cells) % 2:
            found = f"{len(cells)} cells behind the image"
            raise wrong_format(path, f"row {number}", EXPECTED, found)
        for worker, score in zip(cells[::2], cells[1::2], strict=True):
            if worker.strip() or score.strip():
                answer = (attribute, score.strip().removesuffix(".0"), attribute)
                export.add([answer], place=number, named=name.strip(), annotator=worker)


def _named(rows: Records, sides: Mapping[str, str]) -> None:
    """Make paths of names, and add what they say, with a prefix for each side of a pair."""
    for column, prefix in sides.items():
        paths = rows.frame[column].str.replace(IN_TABLE, r"seed_\1/\2_\3_\4", regex=True)
        parts = paths.str.extract(IN_FOLDER).set_axis(PARTS[1:], axis=1)
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
    names = {first: "first_image", second: "second_image"}
    needed = [first, second, *ratings]
    rows = Records.read(table, "CausalFace's pairs", needed, names)
    rows.numbers(ratings, *RATINGS)
    rows.present(["first_image", "second_image"])
    _named(rows, {"first_image": "first_", "second_image": "second_"})
    rows.images(["first_image", "second_image"], images)
    same = rows.frame["first_identity"] == rows.frame["second_identity"]
    rows.frame = rows.frame.assign(same=same.astype(int))
    return rows.finish("CausalFace pairs", "research", version, PAIR)
