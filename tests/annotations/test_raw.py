"""What counts as a person, a time spent and a time."""

import pandas as pd
import pytest

from helpers.annotations.raw import identity, is_email, iso_times, seconds


@pytest.mark.parametrize(
    ("value", "name"),
    [
        *((4, "4"), (4.0, "4"), ("4.0", "4"), (" A1 ", "A1"), ("ann@example.org",) * 2),
        *((value, None) for value in ("", "nan", "[]", "3.1", "-1", 'A1"', "a\0", "a" * 300)),
        *((value, None) for value in ("N/A", "NA", "null", "NaN", "<NA>", "undefined")),
        ("Nan Na", "Nan Na"),
        *((value, None) for value in (True, 1.5, -1, 10**300, None, float("nan"))),
    ],
)
def test_who_answers(value, name):
    assert identity(value) == name


@pytest.mark.parametrize("value", [-1, "x", None, True, [1], 10**400, float("inf")])
def test_what_is_no_time_spent(value):
    assert seconds(value) != seconds(value)
    assert seconds("3.5") == 3.5


def test_what_counts_as_an_email():
    assert is_email(" b@example.org ")
    assert not is_email("A1B2")
    assert not is_email(4)


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2025-10-09T07:30:20Z", "2025-10-09T07:30:20Z"),
        ("2025-10-09T07:30:20.5+02:00", "2025-10-09T05:30:20.5Z"),
        ("2025-10-09 07:30:20", "2025-10-09T07:30:20Z"),
        *((odd, None) for odd in ("2025-10-09", "-1", -1, None, "2025-13-45T00:00:00Z", [1])),
        *((f"{year}-12-31T23:59:59Z", None) for year in ("1969", "1970", "0000", "0001", "9999")),
        ("9999-12-31T23:59:59-05:00", None),
        *((f"2025-10-09T07:30:20{zone}", None) for zone in ("+99:99", "+15:00", "+00:60", "+1")),
        ("2025-10-09T07:30:20+14:00", "2025-10-08T17:30:20Z"),
        ("2025-10-09T07:30:20 +0200", "2025-10-09T05:30:20Z"),
        ("2025-10-09T07:30:20.123456789Z", "2025-10-09T07:30:20.123456Z"),
    ],
)
def test_times(text, utc):
    (time,) = iso_times(pd.Series([text], dtype="object"))
    assert pd.isna(time) if utc is None else time == pd.Timestamp(utc)
