"""Projection and grids against the identities that define them, at float64."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from simulated import at_cosine, random_normals

from faceaudit.latents.directions import Hyperplanes
from faceaudit.latents.orthogonalization import dual_basis
from faceaudit.latents.transects import base_latents, grid, index, project, project_cyclic
from faceworld.known_truth import KnownTruthGenerator

SEEDS = st.integers(0, 2**32 - 1)


def planes(seed: int, count: int, dimensions: int = 32) -> Hyperplanes:
    """Entangled hyperplanes with normals of lengths from 0.01 to 100."""
    normals = random_normals(seed, count, dimensions)
    intercepts = np.random.default_rng(seed).standard_normal(count) * np.linalg.norm(
        normals, axis=1
    )
    return Hyperplanes(tuple(map(str, range(count))), normals, intercepts)


def latents(seed: int, count: int = 7, dimensions: int = 32) -> np.ndarray:
    return np.random.default_rng(seed + 1).standard_normal((count, dimensions))


def assert_decision_values(hyperplanes: Hyperplanes, w: np.ndarray, expected: np.ndarray) -> None:
    """Equal up to rounding, measured as a distance because normals have any length."""
    error = np.abs(hyperplanes.decision_values(w) - expected)
    scale = np.linalg.norm(hyperplanes.normals, axis=1) * (1 + np.linalg.norm(w, axis=-1).max())
    assert (error / scale).max() < 1e-12


AXES = ("skin_colour", "hair_length", "gender")


@pytest.fixture(scope="module")
def world() -> KnownTruthGenerator:
    return KnownTruthGenerator()


def exact_planes(world: KnownTruthGenerator) -> Hyperplanes:
    names = (*AXES, "age", "makeup")
    return Hyperplanes(names, *world.exact_hyperplanes(names))


def test_base_latents_are_adults_on_the_axes(world):
    youngest = float(world.decision_value("age", 0.4))
    base = base_latents(
        world, exact_planes(world), AXES, 30, youngest=youngest, held={}, seed=1, stage="test"
    )
    assert base.shape == (30, world.latent_dim)
    values = exact_planes(world).select(AXES).decision_values(base)
    assert np.abs(values).max() < 1e-12
    ages = world.coordinates(torch.from_numpy(base), ["age"])
    assert ages.min() >= world.latent_coordinate("age", 0.4) - 1e-9


def test_base_latents_have_what_is_held(world):
    planes = exact_planes(world)
    recipe = {"youngest": 0.0, "seed": 1, "stage": "test"}
    base = base_latents(world, planes, AXES, 9, held={"makeup": -1.5}, **recipe)
    free = base_latents(world, planes, AXES, 9, held={}, **recipe)
    makeup = planes.select(["makeup"])
    np.testing.assert_allclose(makeup.decision_values(base), -1.5, atol=1e-12)
    assert np.ptp(makeup.decision_values(free)) > 0.5
    for name in (*AXES, "age"):
        values = [planes.select([name]).decision_values(w) for w in (base, free)]
        np.testing.assert_allclose(*values, atol=1e-12)


@given(SEEDS, st.integers(1, 6))
def test_projection_lies_on_every_hyperplane_and_is_idempotent(seed, count):
    hyperplanes = planes(seed, count)
    projected = project(latents(seed), hyperplanes.normals, hyperplanes.intercepts)
    assert_decision_values(hyperplanes, projected, 0)
    again = project(projected, hyperplanes.normals, hyperplanes.intercepts)
    np.testing.assert_allclose(again, projected, atol=1e-11)


@given(SEEDS)
def test_projection_is_the_nearest_point(seed):
    """What is removed lies in the span of the normals, whatever their lengths."""
    hyperplanes = planes(seed, 4)
    w = latents(seed)
    removed = w - project(w, hyperplanes.normals, hyperplanes.intercepts)
    units = hyperplanes.unit().normals
    in_span = np.linalg.lstsq(units.T, removed.T)[0]
    np.testing.assert_allclose(units.T @ in_span, removed.T, atol=1e-10)


@pytest.mark.parametrize("cosine", [-0.45, 0.0, 0.3, 0.45])
def test_cyclic_projection_converges_to_the_closed_form(cosine):
    normals = at_cosine(cosine, count=3 if cosine >= 0 else 2, dimensions=32)
    normals = normals * np.geomspace(0.1, 10, len(normals))[:, None]
    intercepts = np.linspace(-1, 1, len(normals))
    np.testing.assert_allclose(
        project_cyclic(latents(2), normals, intercepts),
        project(latents(2), normals, intercepts),
        atol=1e-9,
    )


@given(SEEDS, st.sampled_from([(3,), (2, 4), (2, 1, 3)]))
def test_cells_have_exactly_the_requested_decision_values(seed, shape):
    hyperplanes = planes(seed, len(shape))
    rng = np.random.default_rng(seed)
    values = [rng.uniform(-2, 2, levels) for levels in shape]
    directions = dual_basis(hyperplanes.normals, vif_cap=np.inf) * rng.uniform(
        0.1, 9, (len(shape), 1)
    )
    cells = grid(latents(seed), *axes_of(hyperplanes), directions, values)
    assert cells.shape == (7, *shape, 32)
    expected = np.stack(np.meshgrid(*values, indexing="ij"), axis=-1)
    assert_decision_values(hyperplanes, cells, expected)


def axes_of(hyperplanes: Hyperplanes) -> tuple[np.ndarray, np.ndarray]:
    return hyperplanes.normals, hyperplanes.intercepts


def test_raw_normals_shift_the_other_axes():
    normals = at_cosine(0.6, dimensions=32)
    hyperplanes = Hyperplanes(("a", "b"), normals, np.zeros(2))
    cells = grid(latents(0), normals, np.zeros(2), normals, [[-1, 1], [0]])
    values = hyperplanes.decision_values(cells)[:, :, 0]
    np.testing.assert_allclose(values[..., 0], np.tile([-1, 1], (7, 1)), atol=1e-12)
    np.testing.assert_allclose(values[..., 1], np.tile([-0.6, 0.6], (7, 1)), atol=1e-12)


def test_printed_step_is_right_for_unit_directions_only():
    hyperplanes = planes(6, 1)
    unit = hyperplanes.unit().normals
    for length in (1.0, 4.0):
        cells = grid(
            latents(6), *axes_of(hyperplanes), length * unit, [[-1.5, 1.7]], variant="paper"
        )
        assert_decision_values(hyperplanes, cells, np.array([[-1.5], [1.7]]) / length)


def test_index_is_aligned_with_the_grid():
    hyperplanes = planes(8, 3)
    dual = dual_basis(hyperplanes.normals, vif_cap=np.inf)
    axes = {"skin_colour": [-1.5, 1.7], "hair_length": [-0.5, 0.0], "gender": [-1.75, 0, 1.75]}
    cells = grid(latents(8), *axes_of(hyperplanes), dual, list(axes.values()))
    frame = index(7, axes)
    requested = frame[[f"{name}_decision" for name in axes]].to_numpy()
    assert_decision_values(hyperplanes, cells.reshape(-1, 32), requested)
    assert len(frame) == 7 * 12 and frame["image_id"].is_unique
