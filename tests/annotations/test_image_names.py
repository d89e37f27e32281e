"""Names that tools change on the way, and names that are none."""

import pytest

from helpers.annotations.image_names import AMBIGUOUS, MISSING, UNKNOWN, UNUSABLE, ImageNames


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
    assert ImageNames().of(named, address) == (image_id, None)


@pytest.mark.parametrize(
    ("named", "address", "why"),
    [
        (None, None, MISSING),
        (None, "", MISSING),
        (None, "data:image/png;base64,AAAA/0042.png", MISSING),
        (None, "https://host.example/view?id=0042", MISSING),
        (None, ["0042.png"], MISSING),
        *((odd, "0042.png", UNUSABLE) for odd in ([], {}, True, 1.5, "nan", "null", "..", "a\0")),
        *((odd, None, UNUSABLE) for odd in ("../a", "<b>", "=1+1", "@a", "a|b", "a" * 256)),
    ],
)
def test_what_is_no_name(named, address, why):
    assert ImageNames().of(named, address) == (None, why)


def test_known_images_come_first():
    names = ImageNames(["42cdb83f-a", "a", "faces/b", "c.png"])
    assert names.of(None, "/data/upload/1/42cdb83f-a.png") == ("42cdb83f-a", None)
    assert names.of(None, "/data/upload/1/52cdb83f-a.png") == ("a", None)
    assert names.of(None, "/data/local-files/?d=faces/b.png") == ("faces/b", None)
    assert names.of(None, "c.png") == ("c.png", None)
    assert names.of("17", "x/a.png") == ("a", None)
    assert names.of("17", "x/d.png") == (None, UNKNOWN)


def test_one_name_in_two_folders_is_ambiguous():
    names = ImageNames()
    assert names.of(None, "a/1.png") == ("1", None)
    assert names.of(None, "b/1.png") == (None, AMBIGUOUS)
    assert names.of(None, "a/1.png?v=2") == ("1", None)


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
    assert ImageNames(known).of(None, f"/data/upload/1/{stored}") == found
