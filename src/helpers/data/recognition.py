"""Pairs of photographs for face recognition, with groups that others assigned: BFW and RFW."""

from pathlib import Path

import numpy as np

from helpers.annotations.ingest import wrong_format
from helpers.data.rows import PAIR, DataSet, Folder, Records

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
        The pairs: `first` and `second` are the source's p1 and p2, `same` is its label, and the
        similarities that it has are numbers.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is of another form, or no row can be used.
    """
    rows = Records.read(table, "BFW's table of pairs (CSV)", BFW, NAMES)
    rows.frame = rows.frame.drop(columns="ID", errors="ignore")
    rows.present(["first_identity", "second_identity", "att1", "att2"])
    rows.labels(["same"], ["0", "1"])
    rows.labels(["g1", "g2"], ["F", "M"])
    rows.labels(["e1", "e2"], ["A", "B", "I", "W"])
    one = rows.frame["first_identity"] == rows.frame["second_identity"]
    rows.drop(one != (rows.frame["same"] == "1"), "label and identities disagree", "same")
    rows.numbers(["fold", "same", *(name for name in SCORES if name in rows.frame)])
    rows.images(["first", "second"], images)
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
        The pairs with `fold` (1 to 10) and `race`, the name of the set.

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
        columns[side] = race + "/" + who + "/" + who + "_" + cells[number].str.zfill(4) + ".jpg"
    same = (cells["one"] == other).astype(int)
    rows.frame = rows.frame.assign(**columns, same=same, fold=block + 1, race=race)
    other_kind = same.to_numpy() != (place < OF_ONE_KIND)
    rows.frame = rows.frame.assign(other_kind=other_kind)
    rows.drop(cells["one"].isna(), "neither three nor four cells", "line")
    rows.drop(rows.frame["other_kind"], "pair of the other kind than its place says", "line")
    rows.frame = rows.frame.drop(columns=["line", "other_kind"])
    rows.images(["first", "second"], images)
    return rows.finish("RFW", "research", version, PAIR)
