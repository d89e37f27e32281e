"""Balanced samples against counts, attribute vectors against planted directions."""

from itertools import product

import numpy as np
import pandas as pd

from faceaudit.sensitivity import lines
from faceaudit.sensitivity.vectors import attribute_vector, balanced_rows

HALVED = "Smiling"
SHARE = 0.8
RNG = np.random.default_rng(0)
N = 2000
SMILING = RNG.random(N) < 0.6
MALE = RNG.random(N) < 0.4
ATTRIBUTES = pd.DataFrame(
    {
        "Smiling": SMILING,
        "Male": MALE,
        "Heavy_Makeup": ~MALE & (RNG.random(N) < np.where(SMILING, 0.5, 0.3)),
        "Young": RNG.random(N) < np.where(MALE, 0.5, 0.8),
        "Goatee": np.zeros(N, bool),
    }
)


def counts(rows, *balance):
    return ATTRIBUTES.iloc[rows].groupby(list(balance)).size().to_dict()


def test_both_classes_have_the_same_cells_and_half_smile():
    positive, negative = balanced_rows(
        ATTRIBUTES, "Young", 200, ("Smiling", "Male"), HALVED, seed=1
    )
    assert ATTRIBUTES["Young"].to_numpy()[positive].all()
    assert not ATTRIBUTES["Young"].to_numpy()[negative].any()
    cells = dict.fromkeys(product([False, True], repeat=2), 50)
    assert counts(positive, "Smiling", "Male") == counts(negative, "Smiling", "Male") == cells
    for rows in (positive, negative):
        assert len(np.unique(rows)) == 200 and (np.diff(rows) > 0).all()


PLANTED = np.linalg.qr(RNG.standard_normal((16, 2)))[0].T
CODES = RNG.standard_normal((N, 16)).astype(np.float32)


def test_balancing_keeps_a_correlated_attribute_out():
    """Young codes smile more often: only the balanced vector is free of smiling."""
    smiling = CODES @ PLANTED[0] > 0
    young = CODES @ PLANTED[1] + 0.7 * CODES @ PLANTED[0] > 0
    frame = pd.DataFrame({"Smiling": smiling, "Young": young})
    leaks = [
        attribute_vector(
            CODES, *balanced_rows(frame, "Young", 400, balance, HALVED, 1), SHARE, 1
        ).direction
        @ PLANTED[0]
        for balance in ((), ("Smiling",))
    ]
    assert leaks[1] < leaks[0]


def test_lines_join_codes_of_one_class_and_use_none_twice():
    z = RNG.standard_normal((50, 6))
    positive = np.arange(50) < 31
    codes, ends = lines(z, positive, seed=3)
    assert codes.shape == (24, 6) and ends.shape == (24, 2)
    assert len(np.unique(ends)) == 48
    assert positive[ends[:15]].all() and not positive[ends[15:]].any()
    along = z[ends[:, 1]] - z[ends[:, 0]]
    offset = codes - z[ends[:, 0]]
    place = (offset * along).sum(axis=1) / (along**2).sum(axis=1)
    assert ((place >= 0) & (place < 1)).all() and place.std() > 0.1
    np.testing.assert_allclose(offset, place[:, None] * along, atol=1e-12)
