"""Names that tools change on the way, and names that are none."""

import pytest

from helpers.annotations.image_names import (
    AMBIGUOUS,
    CONTRADICTORY,
    MISSING,
    UNKNOWN,
    UNUSABLE,
    Found,
    ImageNames,
    names_for_files,
)


@pytest.mark.parametrize(
    ("named", "address", "image_id"),
    [
        ("x", "y.png", "x"),
        (" 7 ", None, "7"),
        (7, None, "7"),
        (None, "https://host.example/a/0042_L1.jpg?sig=1", "0042_L1"),
        (None, "/data/local-files/?d=images/0042.png", "0042"),
        ("", "s3://bucket/a%20b.png", "a b"),
        (None, r"C:\faces\0042.png", "0042"),
        (None, "0042", "0042"),
    ],
)
def test_the_image_is_its_id_or_its_file_name(named, address, image_id):
    assert ImageNames().of(named, address)[:2] == (image_id, None)


@pytest.mark.parametrize(
    ("named", "address", "why"),
    [
        (None, None, MISSING),
        (None, "", MISSING),
        (None, "data:image/png;base64,AAAA/0042.png", MISSING),
        (None, "https://host.example/view?id=0042", MISSING),
        (None, ["0042.png"], MISSING),
        *((odd, "0042.png", UNUSABLE) for odd in ([], {}, True, 1.5, "nan", "null", "..", "a\0")),
        *((odd, "0042.png", UNUSABLE) for odd in (-1, 10**400, "a\ud800")),
        *((odd, None, UNUSABLE) for odd in ("../a", "<b>", "=1+1", "@a", "a|b", "a" * 256)),
    ],
)
def test_what_is_no_name(named, address, why):
    assert ImageNames().of(named, address) == (None, why, None)


def test_known_images_come_first():
    names = ImageNames(["42cdb83f-a", "a", "faces/b", "c.png"])
    assert names.of(None, "/data/upload/1/42cdb83f-a.png") == Found("42cdb83f-a")
    assert names.of(None, "/data/upload/1/52cdb83f-a.png") == Found("a")
    assert names.of(None, "/data/local-files/?d=faces/b.png") == Found("faces/b")
    assert names.of(None, "c.png") == Found("c.png")
    assert names.of("17", "x/d.png")[:2] == (None, UNKNOWN)


def test_an_id_and_a_file_that_do_not_agree_are_told():
    names = ImageNames(["a", "b"])
    assert names.of("17", "x/a.png") == Found("a", None, "17")
    assert names.of("a", "x/b.png") == Found(None, CONTRADICTORY)
    assert names.of("a", "/data/upload/1/42cdb83f-b.png") == Found(None, CONTRADICTORY)
    assert names.of("b", "/data/upload/1/42cdb83f-B.png?x=1") == Found("b")
    assert names.of("a", "x/IMG_7.png") == Found("a", None, "IMG_7")
    assert names.of("a", "y/a.png") == Found("a", None, "y/a.png")  # another file than before
    assert names.of("a", "data:image/png;base64,AAAA") == Found("a")
    paths = ImageNames(["b", "faces/b"])
    assert paths.of("faces/b", "/data/local-files/?d=faces/b.png") == Found("faces/b")
    anything = ImageNames()
    assert anything.of("a b", "s3://bucket/a%20b.png") == Found("a b")
    assert anything.of("a", "b.png") == Found("a", None, "b")


@pytest.mark.parametrize("known", [None, ["1"]])
@pytest.mark.parametrize("second", ["b/1.png", "a/1.jpg", "/data/upload/1/52cdb83f-1.png"])
def test_two_files_of_one_name_are_two_images(known, second):
    names = ImageNames(known)
    first = "/data/upload/1/42cdb83f-1.png" if "upload" in second else "a/1.png"
    if known or "upload" not in second:  # else the server's names tell them apart
        assert names.of(None, first) == Found("1")
        assert names.of(None, second) == Found(None, AMBIGUOUS)
        assert names.of(None, f"{first}?v=2") == Found("1")


def test_files_share_what_they_saw_unless_the_images_are_known():
    first, second = names_for_files(None, 2)
    assert first.of(None, "a/1.png") == Found("1")
    assert second.of(None, "b/1.png") == Found(None, AMBIGUOUS)
    first, second = names_for_files(iter(["1"]), 2)
    assert first.of(None, "a/1.png") == second.of(None, "b/1.png") == Found("1")


@pytest.mark.parametrize(
    ("stored", "known", "found"),
    [
        ("42cdb83f-00000_L0.png", {"00000_L0"}, ("00000_L0", None)),
        ("42cdb83f-c_d.png", {"c d"}, ("c d", None)),
        ("42cdb83f-aé1.png", {"a+é(1)"}, ("a+é(1)", None)),
        ("42cdb83f-c_d.png", {"c d", "c_d"}, (None, AMBIGUOUS)),
        ("42cdb83f-c_d.png", {"42cdb83f-c_d", "c d"}, ("42cdb83f-c_d", None)),
        ("c_d.png", {"c d"}, (None, UNKNOWN)),
    ],
)
def test_an_upload_is_the_image_that_a_server_would_call_so(stored, known, found):
    assert ImageNames(known).of(None, f"/data/upload/1/{stored}")[:2] == found
