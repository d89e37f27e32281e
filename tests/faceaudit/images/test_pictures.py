"""A folder and a table as a generator: the protocol, and one sentence for every defect."""

import unicodedata

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from faceaudit import generators
from faceaudit.images import ImageSet
from faceaudit.utils.errors import InputError

LEVELS = {"skin": ["light", "dark"], "pose": [-30, 0, 30]}
SIZE = 12


@pytest.fixture
def folder(tmp_path):
    """Two units of six images each, every image of random pixels."""
    random = np.random.default_rng(1)
    rows = []
    for unit in ("ann", "bob"):
        for skin in LEVELS["skin"]:
            for pose in LEVELS["pose"]:
                name = f"{unit}/{skin}{pose}.png"
                path = tmp_path / name
                path.parent.mkdir(exist_ok=True)
                Image.fromarray(random.integers(0, 256, (SIZE, SIZE, 3), dtype=np.uint8)).save(path)
                rows.append((name, unit, skin, pose, random.random()))
    columns = ["file", "person", "skin", "pose", "male"]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "faces.csv", index=False)
    return tmp_path


def opened(folder, **options):
    settings = {"unit": "person"} | options
    return ImageSet(folder / "faces.csv", settings.pop("levels", LEVELS), **settings)


def change(folder, row, **values):
    """Other values in a row of the table."""
    table = pd.read_csv(folder / "faces.csv").astype(object)
    table.loc[row, list(values)] = list(values.values())
    table.to_csv(folder / "faces.csv", index=False)


class TestProtocol:
    def test_rows_are_codes(self, folder):
        faces = opened(folder)
        assert isinstance(faces, generators.Generator)
        assert faces.size == SIZE
        names = faces.index["image_id"]
        straight = np.stack([np.asarray(Image.open(folder / name)) for name in names])
        images = faces.synthesize(faces.codes)
        assert images.dtype == torch.float32
        np.testing.assert_array_equal(images.mul(255).round().permute(0, 2, 3, 1), straight)
        assert torch.equal(faces.synthesize(faces.codes[[4, 2]]), images[[4, 2]])
        assert faces.index["pose_level"].tolist() == [0, 1, 2] * 4
        assert faces.index["transect"].tolist() == ["ann"] * 6 + ["bob"] * 6


def put(image, where="bob/dark0.png"):
    return lambda at: image.save(at / where)


DEFECTS = {
    "no file 'bob/dark0.png' in": lambda at: (at / "bob/dark0.png").unlink(),
    "dark0.png is no readable image": lambda at: (at / "bob/dark0.png").write_text("hello"),
    "dark0.png is 8×9 pixels and the first image 12×12": put(Image.new("RGB", (8, 9))),
    "is transparent in places": put(Image.new("RGBA", (SIZE, SIZE), (9, 9, 9, 100))),
    "row 5: '../x.png' lies outside": lambda at: change(at, 3, file="../x.png"),
    "file './ann/light0.png' stands in an": lambda at: change(at, 3, file="./ann/light0.png"),
    "column 'file', row 5 is .*a value was": lambda at: change(at, 3, file=None),
    "no level of skin of medium among light, dark": lambda at: change(at, 3, skin="medium"),
    "two images in one place of a unit": lambda at: change(at, 3, skin="light"),
    "unit ann has 5 of 6 combinations of levels": lambda at: change(at, 3, person="cy"),
    "the frame has no column \\['pose'\\]": lambda at: (at / "faces.csv").write_text(
        "file,person,skin\nann/light0.png,ann,light\n"
    ),
    "no such table": lambda at: (at / "faces.csv").unlink(),
}


@pytest.mark.parametrize("expected", DEFECTS)
def test_a_defect_is_one_sentence_that_names_the_table(folder, expected):
    DEFECTS[expected](folder)
    with pytest.raises(ValueError, match=expected) as raised:
        faces = opened(folder)
        faces.synthesize(faces.codes)
    assert "faces.csv" in str(raised.value) and "\n" not in str(raised.value)


def test_an_error_names_the_row_and_what_was_expected(folder):
    change(folder, 3, file="../x.png")
    with pytest.raises(InputError) as raised:
        opened(folder)
    error = raised.value
    assert (error.field, error.found, error.expected) == (
        "row 5",
        "../x.png",
        "a file within the folder of the table",
    )


def test_what_is_asked_must_fit(folder):
    faces = opened(folder)
    with pytest.raises(ValueError, match="no scene parameters: \\['yaw'\\]"):
        faces.synthesize(faces.codes, yaw=0.0)
    with pytest.raises(ValueError, match="codes must be numbers of rows"):
        faces.synthesize(torch.tensor([[12.0]]))
    pd.read_csv(folder / "faces.csv").drop(index=3).to_csv(folder / "faces.csv", index=False)
    assert len(opened(folder, whole=False).index) == 11


@pytest.mark.parametrize(("on_disk", "in_table"), [("NFD", "NFC"), ("NFC", "NFD")])
def test_a_file_is_found_however_the_disk_spells_its_accents(folder, on_disk, in_table):
    plain = opened(folder)
    expected = plain.synthesize(plain.codes)
    name = "ann/Zoë.png"
    (folder / "ann/light0.png").rename(folder / unicodedata.normalize(on_disk, name))
    change(folder, 1, file=unicodedata.normalize(in_table, name))
    faces = opened(folder)
    assert torch.equal(faces.synthesize(faces.codes), expected)
    assert faces.index["image_id"][1] == unicodedata.normalize("NFC", name)


def test_empty_rows_and_blanks_of_a_spreadsheet_are_no_faults(folder):
    expected = opened(folder).index
    change(folder, 1, file=" ann/light0.png ")
    table = folder / "faces.csv"
    table.write_text(table.read_text() + ",,,,\n,,,,\n")
    pd.testing.assert_frame_equal(opened(folder).index, expected)


def test_tabs_and_the_mark_of_a_byte_order_are_read_as_in_other_tables(folder):
    expected = opened(folder).index
    table = folder / "faces.csv"
    pd.read_csv(table).to_csv(table, sep="\t", index=False, encoding="utf-8-sig")
    pd.testing.assert_frame_equal(opened(folder).index, expected)


def test_a_column_with_two_parts_is_named_once(folder):
    with pytest.raises(ValueError, match=r"no column \['picture'\]; it has \['file', 'person'"):
        opened(folder, levels={}, unit="picture", file="picture")


def test_a_damaged_table_is_named(folder):
    damaged = folder / "faces.parquet"
    damaged.write_text("hello")
    with pytest.raises(ValueError, match=r"faces\.parquet: .*Parquet"):
        ImageSet(damaged, LEVELS)


def test_a_name_of_figures_is_a_name(folder):
    (folder / "ann/light0.png").rename(folder / "0010")
    change(folder, 1, file="0010")
    assert opened(folder).index["image_id"][1] == "0010"
