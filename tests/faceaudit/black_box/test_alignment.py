"""Five points on the template, against Umeyama's own algorithm and faces of the face world."""

import numpy as np
import pytest
import torch

from faceaudit import black_box
from faceaudit.black_box import TEMPLATE, Preparation, python_model


def umeyama(points, goal):
    """Equations 40 to 43 of the paper, by a singular value decomposition."""
    here, there = points - points.mean(0), goal - goal.mean(0)
    u, d, v = np.linalg.svd(there.T @ here / len(points))
    signs = np.array([1, np.sign(np.linalg.det(u) * np.linalg.det(v))])
    turn = u * signs @ v
    scale = (d * signs).sum() / (here**2).sum(1).mean()
    return np.column_stack([scale * turn, goal.mean(0) - scale * turn @ points.mean(0)])


def test_the_transform_is_umeyamas():
    chance = np.random.default_rng(3)
    points = TEMPLATE * 2 + chance.normal(0, 9, (50, 5, 2))
    points[25:] = chance.uniform(0, 99, (25, 5, 2))  # mirrored ones among them
    found = black_box.similarity_transform(points, TEMPLATE)
    np.testing.assert_allclose(found, [umeyama(one, TEMPLATE) for one in points], atol=1e-9)


def spots(points, size):
    """An image that is bright around each point."""
    rows, columns = np.mgrid[:size, :size]
    far = (columns - points[:, 0, None, None]) ** 2 + (rows - points[:, 1, None, None]) ** 2
    image = 255 * np.exp(-far / 18).sum(0).clip(0, 1)
    return np.broadcast_to(image, (3, size, size)).astype(np.uint8)


@pytest.mark.parametrize("size", [112, 224])
def test_what_was_at_the_points_is_at_the_template(size):
    angle = np.deg2rad(25)
    turn = 1.6 * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    points = TEMPLATE @ turn.T + (70, -5)
    image = torch.from_numpy(spots(points, 256)).float()[None]
    found = black_box.aligned(image, torch.from_numpy(points)[None], size)[0, 0].numpy()
    rows, columns = np.mgrid[:size, :size]
    for x, y in (TEMPLATE + 0.5) * size / 112 - 0.5:
        near = found * ((columns - x) ** 2 + (rows - y) ** 2 < (0.05 * size) ** 2)
        centre = np.array([(near * columns).sum(), (near * rows).sum()]) / near.sum()
        np.testing.assert_allclose(centre, (x, y), atol=0.15 * size / 112)


def test_no_face_found_is_an_answer_and_the_others_do_not_change(images):
    seen = []

    def network(ready):
        seen.append(len(ready))
        return ready.reshape(len(ready), -1)[:, :7] + ready.mean((1, 2, 3))[:, None]

    points = np.tile(TEMPLATE / 7, (24, 1, 1))
    points[[0, 5]] = np.nan
    options = {"version": "1", "gives": "embedding", "batch": 5}
    model = python_model(network, Preparation(32, align="arcface"), **options)
    found = model.ask(images, points)
    assert (found.reasons == "no face found").nonzero()[0].tolist() == [0, 5]
    assert np.isnan(found.values[[0, 5]]).all() and found.values.shape == (24, 7)
    assert sum(seen) == 22
    finder = python_model(
        network, Preparation(32, align="arcface"), find=lambda x: points[: len(x)], **options
    )
    np.testing.assert_array_equal(finder(images[:5]), model(images[:5], points[:5]))
    nothing = model.ask(images[:2], points[:2] * np.nan)
    assert np.isnan(nothing.values).all() and (nothing.reasons != "").all()
    with pytest.raises(ValueError, match="needs five points of every face: pass"):
        model(images)


def test_points_in_one_place_are_named():
    with pytest.raises(ValueError, match="points, row 1: all lie in one place"):
        black_box.similarity_transform(np.stack([TEMPLATE, np.ones((5, 2))]), TEMPLATE)
