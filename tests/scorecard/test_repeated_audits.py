import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from helpers import effects
from helpers.effects.partial_pooling import partial_pooling
from helpers.scorecard import truth
from helpers.scorecard.repeated_audits import (
    draw,
    ideal_audits,
    matched_audits,
    pooled_audits,
    with_truth,
)
from helpers.utils import seeding

AXES = ["skin_colour", "hair_length", "gender"]


@pytest.fixture
def pool() -> np.ndarray:
    """Errors of 300 faces whose own difficulty ties them, with effects in every cell."""
    rng = np.random.default_rng(3)
    rates = np.array([[[0.1, 0.05], [0.02, 0.2]], [[0.2, 0.05], [0.02, 0.4]]])
    own = rng.normal(0, 0.05, (300, 1, 1, 1))
    return (rng.random((300, 2, 2, 2)) < rates + own).astype(float)


def test_an_audit_equals_matched_effects_on_the_drawn_faces(pool):
    table = ideal_audits(pool, AXES, n_transects=50, repetitions=3, seed=7)
    drawn = pool[seeding.rng(7, "repeated audits", 2).integers(300, size=50)]
    index = np.indices(drawn.shape).reshape(4, -1)
    frame = pd.DataFrame(dict(zip(["transect", *(f"{a}_level" for a in AXES)], index, strict=True)))
    frame["error"] = drawn.ravel().astype(int)
    expected = effects.all_matched_effects(frame, "error", AXES, "transect")
    keys, values = ["attribute", *AXES], ["estimate", "low", "high"]
    both = table[table["audit"] == 2].merge(expected, on=keys, suffixes=("", "_expected"))
    assert len(both) == 12
    for name in values:
        np.testing.assert_allclose(both[name], both[f"{name}_expected"], atol=1e-12)


def test_the_truth_is_the_pools_own_effect_and_intervals_hold_it(pool):
    table = ideal_audits(pool, AXES, n_transects=100, repetitions=200, seed=1)
    cell = table[(table["attribute"] == "gender") & table["skin_colour"].eq(1).fillna(False)]
    expected = (pool[:, 1, :, 1] - pool[:, 1, :, 0]).mean(axis=0)
    np.testing.assert_allclose(cell.groupby("hair_length")["truth"].first(), expected)
    contained = table["truth"].between(table["low"], table["high"]).mean()
    assert 0.92 < contained < 0.98


def test_the_estimated_truth_is_a_sample_of_its_own_of_the_pools_size(pool):
    table = ideal_audits(pool, AXES, n_transects=100, repetitions=400, seed=2)
    cell = table[(table["attribute"] == "gender") & table["skin_colour"].eq(1).fillna(False)]
    cell = cell[cell["hair_length"] == 0]
    changes = pool[:, 1, 0, 1] - pool[:, 1, 0, 0]
    error = cell["estimated_truth"] - cell["truth"]
    assert error.mean() == pytest.approx(0, abs=4 * changes.std() / np.sqrt(300 * 400))
    assert error.std() == pytest.approx(changes.std() / np.sqrt(300), rel=0.1)
    assert abs(np.corrcoef(error, cell["estimate"])[0, 1]) < 0.15
    # Both errors together are larger by a half, of which honest intervals hold as many as follow.
    contained = table["estimated_truth"].between(table["low"], table["high"]).mean()
    expected = 2 * norm.cdf(norm.ppf(0.975) / np.sqrt(1 + 100 / 300)) - 1
    assert contained == pytest.approx(expected, abs=0.015)


def test_an_audit_depends_on_its_own_number_only(pool):
    few, many = (ideal_audits(pool, AXES, 40, repetitions=k, seed=5) for k in (2, 4))
    pd.testing.assert_frame_equal(few, many[many["audit"] < 2].reset_index(drop=True))


def test_pooled_cells_of_an_audit_are_pooled_from_its_pairs(pool):
    audits = draw(pool, 80, 3, seed=4)
    table = pooled_audits(audits, AXES)
    cells = matched_audits(audits, AXES)
    for axis, attribute in enumerate(AXES):
        rows = cells.query(f"audit == 1 and attribute == {attribute!r}")
        low, high = np.split(audits[1], 2, axis=axis + 1)
        covariance = np.cov((high - low).reshape(80, 4).T, bias=True) / 80
        se = (rows["high"] - rows["low"]) / (2 * norm.ppf(0.975))
        np.fill_diagonal(covariance, np.maximum(np.diag(covariance), se**2))
        expected = partial_pooling(rows["estimate"], covariance)
        found = table.query(f"audit == 1 and attribute == {attribute!r}")
        np.testing.assert_allclose(found["estimate"], expected.estimate)
        np.testing.assert_allclose(found["high"] - found["estimate"], expected.se * norm.ppf(0.975))
        np.testing.assert_allclose(found["between"], expected.between)
        pd.testing.assert_frame_equal(
            found[["audit", *AXES]].reset_index(drop=True),
            rows[["audit", *AXES]].reset_index(drop=True),
        )
    assert ((table["p"] < 0.05) == ((table["low"] > 0) | (table["high"] < 0))).all()


def test_pairs_that_lack_an_image_are_left_out(pool):
    audits = draw(pool, 80, 2, seed=4)
    audits[:, :30, 1, 0, 0] = np.nan
    found = matched_audits(audits, AXES).query("audit == 0 and attribute == 'skin_colour'").iloc[0]
    rest = matched_audits(audits[:, 30:], AXES).query("audit == 0").iloc[0]
    assert (rest["estimate"], rest["high"]) == (found["estimate"], found["high"])


def test_the_truth_of_averages_is_that_of_the_interventions(pool):
    averages = pd.DataFrame({"attribute": AXES, **dict.fromkeys(AXES, pd.NA)})
    averages[AXES] = averages[AXES].astype("Int64")
    found = with_truth(averages, pool, AXES).set_index("attribute")["truth"]
    expected = truth.effects(pool, AXES)
    expected = expected[expected[AXES].isna().all(axis=1)].set_index("attribute")["effect"]
    np.testing.assert_allclose(found[AXES], expected[AXES])
