"""Draws depend on (seed, stage, item) alone."""

import numpy as np
import pytest
from scipy import stats

from faceaudit.utils import seeding


@pytest.mark.parametrize("draw", [seeding.normals, seeding.uniforms])
def test_rows_do_not_depend_on_what_is_drawn_together(draw):
    items = [3, 2**64 - 1, 0, 7]
    together = draw(7, "stage", items, 5)
    np.testing.assert_array_equal(draw(7, "stage", items[::-1], 3), together[::-1, :3])
    for row, item in zip(together, items, strict=True):
        np.testing.assert_array_equal(draw(7, "stage", [item], 5)[0], row)
    assert draw(0, "a", [], 3).shape == (0, 3)


def test_generators_are_those_of_the_items():
    """Whatever was left of a block of the one before, and whatever the order."""
    items = [3, 2**64 - 1, 0, 3]
    drawn = [g.integers(10, size=5, dtype=np.int32) for g in seeding.rngs(1, "a", items)]
    alone = [seeding.rng(1, "a", k).integers(10, size=5, dtype=np.int32) for k in items]
    np.testing.assert_array_equal(drawn, alone)
    row = seeding.normals(1, "a", [12], 4)[0]
    np.testing.assert_array_equal(row, seeding.rng(1, "a", 12).standard_normal(4))


def test_other_seed_stage_or_item_is_another_stream():
    keys = [(1, "a", 0), (2, "a", 0), (1, "b", 0), (1, "a", 1), (1, "a/0", 0), (11, "a", 0)]
    firsts = {float(seeding.rng(*key).random()) for key in keys}
    assert len(firsts) == len(keys)


def test_distributions_across_items():
    """Neighbouring items must look independent, which naive seeding does not promise."""
    normals = seeding.normals(0, "check", range(4000), 2)
    uniforms = seeding.uniforms(0, "check", range(4000), 2)
    assert stats.kstest(normals[:, 0], "norm").pvalue > 1e-3
    assert stats.kstest(uniforms[:, 0], "uniform").pvalue > 1e-3
    for drawn in (normals, uniforms):
        neighbours = np.corrcoef(drawn[:-1, 0], drawn[1:, 0])[0, 1]
        assert abs(neighbours) < 0.06 and abs(np.corrcoef(drawn.T)[0, 1]) < 0.06


@pytest.mark.parametrize("item", [-1, 2**64])
def test_item_out_of_range(item):
    with pytest.raises(ValueError, match="item must be"):
        seeding.rng(0, "a", item)
