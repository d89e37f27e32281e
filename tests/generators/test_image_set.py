"""A folder and a table as a generator: the protocol, and one sentence for every defect."""

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from helpers import generators
from helpers.generators import ImageSet
from helpers.generators.batches import synthesize_to_store

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
        faces = opened(folder, scores=["male"])
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
        table = pd.read_csv(folder / "faces.csv")
        assert faces.scores.loc["bob/dark0.png", "male"] == pytest.approx(table["male"][10])

    def test_a_sample_depends_on_the_seed_and_the_place_alone(self, folder):
        faces = opened(folder)
        codes = faces.sample(12, seed=3)
        assert torch.equal(codes[:5], faces.sample(5, seed=3))
        assert sorted(codes[:, 0].tolist()) == list(range(12))
        assert not torch.equal(codes, faces.sample(12, seed=4))
        with pytest.raises(ValueError, match="has 12 images, 13 were asked for"):
            faces.sample(13, seed=3)

    def test_images_are_scaled_and_kept_on_disk(self, folder):
        small = opened(folder, size=6)
        store = synthesize_to_store(small, small.codes, folder / "store.npy")
        first = Image.open(folder / small.index["image_id"][0])
        expected = np.asarray(first.resize((6, 6), Image.Resampling.LANCZOS))
        np.testing.assert_array_equal(store[0].transpose(1, 2, 0), expected)

    def test_the_card_knows_every_file(self, folder):
        before = opened(folder).card
        assert opened(folder).card == before
        assert opened(folder, size=6).card != before
        Image.new("RGB", (SIZE, SIZE)).save(folder / "bob/dark0.png")
        assert opened(folder).card["sha256"] != before["sha256"]

    def test_images_lie_on_their_side_only_in_the_file(self, folder):
        path = folder / "ann/light0.png"
        tags = Image.Exif()
        tags[0x0112] = 6  # turned by a quarter
        upright = np.asarray(Image.open(path).convert("RGB"))
        Image.fromarray(np.rot90(upright)).save(path, exif=tags)
        faces = opened(folder)
        image = faces.synthesize(faces.codes[1:2])[0].mul(255).round().permute(1, 2, 0)
        np.testing.assert_array_equal(image, upright)

    def test_grey_images_and_parquet_tables_are_read(self, folder):
        Image.new("L", (SIZE, SIZE), 51).save(folder / "ann/light-30.png")
        pd.read_csv(folder / "faces.csv").to_parquet(folder / "faces.parquet")
        faces = ImageSet(folder / "faces.parquet", LEVELS, unit="person")
        assert faces.synthesize(faces.codes[:1]).mul(255).unique().tolist() == [51]

    def test_links_to_files_elsewhere_are_followed(self, folder, tmp_path_factory):
        elsewhere = tmp_path_factory.mktemp("blobs") / "blob"
        path = folder / "ann/dark0.png"
        path.rename(elsewhere)
        path.symlink_to(elsewhere)
        faces = opened(folder)
        assert faces.synthesize(faces.codes).shape == (12, 3, SIZE, SIZE)

    def test_scenes_and_codes_that_are_no_rows_are_refused(self, folder):
        faces = opened(folder)
        with pytest.raises(ValueError, match="no scene parameters: \\['yaw'\\]"):
            faces.synthesize(faces.codes, yaw=0.0)
        for wrong in (12.0, -1.0, 0.5, float("nan")):
            with pytest.raises(ValueError, match="has no row"):
                faces.synthesize(torch.tensor([[wrong]]))
        for shape in ((3,), (0, 1), (2, 2)):
            with pytest.raises(ValueError, match="codes must be \\(n, 1\\)"):
                faces.synthesize(torch.zeros(shape))


DEFECTS = {
    "absent": (lambda at: (at / "bob/dark0.png").unlink(), "no file 'bob/dark0.png' in"),
    "no image": (
        lambda at: (at / "bob/dark0.png").write_text("hello"),
        "bob/dark0.png is no readable image",
    ),
    "another size": (
        lambda at: Image.new("RGB", (8, 9)).save(at / "bob/dark0.png"),
        "bob/dark0.png is 8×9 pixels and ann/light-30.png 12×12: images of a set are of one size",
    ),
    "16 bits": (
        lambda at: Image.fromarray(np.zeros((SIZE, SIZE), np.uint16)).save(at / "bob/dark0.png"),
        "bob/dark0.png has I;16 pixels, expected 8 bits each",
    ),
    "outside, up": (lambda at: change(at, 3, file="../x.png"), "row 3: '../x.png' lies outside"),
    "outside, root": (lambda at: change(at, 3, file="/x.png"), "row 3: '/x.png' lies outside"),
    "file twice": (
        lambda at: change(at, 3, file="./ann/light0.png"),
        "row 3: the file './ann/light0.png' stands in an earlier row",
    ),
    "no path": (lambda at: change(at, 3, file=None), "column 'file', row 3 is .*a path was"),
    "no unit": (lambda at: change(at, 3, person=None), "column 'person', row 3 is .*a unit was"),
    "unknown level": (
        lambda at: change(at, 3, skin="medium"),
        "no level of skin of medium among light, dark",
    ),
    "place twice": (lambda at: change(at, 3, skin="light"), "two images in one place of a unit"),
    "no such place": (
        lambda at: change(at, 3, person="cy"),
        "unit ann has 5 of 6 combinations of levels, and so have 1 others",
    ),
    "score": (lambda at: change(at, 3, male=1.5), "column 'male', row 3 is 1.5, a score in"),
    "no column": (
        lambda at: pd.read_csv(at / "faces.csv").drop(columns="pose").to_csv(at / "faces.csv"),
        "the frame has no column \\['pose'\\]",
    ),
    "no rows": (
        lambda at: pd.read_csv(at / "faces.csv").head(0).to_csv(at / "faces.csv", index=False),
        "the frame has no rows",
    ),
    "no table": (lambda at: (at / "faces.csv").unlink(), "no readable table"),
    "empty table": (lambda at: (at / "faces.csv").write_text(""), "no readable table"),
    "binary table": (lambda at: (at / "faces.csv").write_bytes(b"\xff\xfe\x00"), "faces.csv"),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_one_sentence_that_names_the_table(folder, name):
    spoil, expected = DEFECTS[name]
    opened(folder, scores=["male"])
    spoil(folder)
    with pytest.raises(ValueError, match=expected) as raised:
        opened(folder, scores=["male"])
    assert "faces.csv" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "is no readable image"),
        (lambda path: path.unlink(), "is no readable image"),
        (lambda path: Image.new("RGB", (5, 5)).save(path), "has changed since"),
        (
            lambda path: Image.new("RGBA", (SIZE, SIZE), (9, 9, 9, 100)).save(path),
            "is transparent in places",
        ),
    ],
    ids=["cut off", "gone", "another size", "transparent"],
)
def test_what_only_reading_shows_is_named_then(folder, spoil, expected):
    faces = opened(folder)
    path = folder / "bob/dark0.png"
    random = np.random.default_rng(2).integers(0, 256, (SIZE, SIZE, 3), dtype=np.uint8)
    Image.fromarray(random).save(path)
    spoil(path)
    with pytest.raises(ValueError, match=f"faces.csv: bob/dark0.png {expected}"):
        faces.synthesize(faces.codes)


def test_a_set_with_gaps_is_taken_if_that_is_said(folder):
    pd.read_csv(folder / "faces.csv").drop(index=3).to_csv(folder / "faces.csv", index=False)
    assert len(opened(folder, whole=False).index) == 11


def test_wrong_settings_are_refused(folder):
    with pytest.raises(ValueError, match="at least 2 levels, all distinct"):
        opened(folder, levels={"skin": ["light", "light"]})
    with pytest.raises(ValueError, match="size is 0"):
        opened(folder, size=0)
    with pytest.raises(ValueError, match="ends in .csv or .parquet"):
        ImageSet(folder / "faces.txt", LEVELS)


def test_images_that_are_not_square_are_scaled_by_their_owner(tmp_path):
    for name in ("a.png", "b.png"):
        Image.new("RGB", (6, 9)).save(tmp_path / name)
    (tmp_path / "faces.csv").write_text("file,person,skin\na.png,x,light\nb.png,x,dark\n")
    levels = {"skin": LEVELS["skin"]}
    faces = opened(tmp_path, levels=levels)
    assert faces.size is None
    assert faces.synthesize(faces.codes).shape == (2, 3, 9, 6)
    store = synthesize_to_store(faces, faces.codes, tmp_path / "store.npy")
    assert store.shape == (2, 3, 9, 6)
    with pytest.raises(ValueError, match="6×9 pixels: crop them to squares"):
        opened(tmp_path, levels=levels, size=6)
