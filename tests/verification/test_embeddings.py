"""Cosine similarity at any scale, and what has none."""

import numpy as np
import pytest

from helpers.verification import similarity


def test_similarity_is_the_cosine_at_any_scale():
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(30, 7)) * rng.uniform(0.01, 50, (30, 1))
    pairs = rng.integers(30, size=(10_000, 2))
    found = similarity(vectors.astype(np.float32), pairs)
    assert found.dtype == np.float64
    for k in (0, 8191, 8192, 9999):
        a, b = vectors[pairs[k]]
        assert found[k] == pytest.approx(a @ b / np.sqrt(a @ a * (b @ b)), abs=1e-6)
    assert found.max() <= 1
    for scale in (1e200, 1e-200, 1e-300):
        np.testing.assert_allclose(similarity(vectors * scale, pairs), found, atol=1e-6)
    both = np.vstack([1e200 * vectors[0], 1e-200 * vectors[0]])
    assert similarity(both, [[0, 1]])[0] == pytest.approx(1)


@pytest.mark.parametrize(
    ("row", "message"),
    [([np.nan, 1.0], "row 2, column 0 is nan"), ([0, 0], "row 2 is all zeros")],
)
def test_embeddings_without_a_direction_are_named(row, message):
    vectors = np.ones((4, 2))
    vectors[2] = row
    with pytest.raises(ValueError, match=message):
        similarity(vectors, [[0, 1]])


def test_pairs_without_an_embedding_are_named():
    with pytest.raises(ValueError, match=r"pairs, row 1: images \[0, 4\]"):
        similarity(np.ones((4, 2)), [[0, 1], [0, 4]])
    with pytest.raises(ValueError, match=r"\(m, 2\)"):
        similarity(np.ones((4, 2)), [0, 1])
