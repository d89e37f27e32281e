"""Steps of the known-truth generator: how long they are, and what they change."""

import numpy as np
import pytest
import torch

from facerender.parameters import INDEX, NAMES
from helpers.generators import load_generator
from helpers.sensitivity.known_truth import do_step, leakage, moved, step_of_one
from helpers.world.known_truth import AGE_GATES, LATENTS

SOME = ("age", "makeup", "smiling", "hair_length")


@pytest.fixture(scope="module")
def generator():
    return load_generator("known-truth", size=16)


@pytest.fixture(scope="module")
def codes(generator):
    return generator.sample(40, seed=5)


def any_direction(generator, name: str = "smiling") -> np.ndarray:
    """One that moves every coordinate; that of one attribute up, by no round number."""
    direction = np.random.default_rng(0).standard_normal(512) / 20
    return direction + 0.7 * generator.exact_directions([name])[0]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_step_of_one_moves_its_own_coordinate_by_one(generator, codes, sign):
    direction = sign * any_direction(generator)
    step = step_of_one(generator, direction, "smiling", sign)
    along = moved(codes.double(), step)
    change = generator.coordinates(along, ["smiling"]) - generator.coordinates(codes, ["smiling"])
    np.testing.assert_allclose(change, sign, atol=1e-12)
    np.testing.assert_allclose(step / np.linalg.norm(step), direction / np.linalg.norm(direction))
    assert np.abs(leakage(generator, step[None])).loc[0].drop("smiling").max() > 0.1


def test_a_direction_that_goes_elsewhere_is_refused(generator):
    direction = any_direction(generator)
    with pytest.raises(ValueError, match=r"moves smiling by 0\.\d+ per unit, not towards -1"):
        step_of_one(generator, direction, "smiling", -1)
    with pytest.raises(ValueError, match=r"moves smiling by -0\.\d+ per unit, not towards \+1"):
        step_of_one(generator, -direction, "smiling")
    age = generator.exact_directions(["age"])[0]
    with pytest.raises(ValueError, match=r"moves smiling by .* per unit, not towards \+1"):
        step_of_one(generator, age, "smiling")


def test_codes_move_and_keep_their_type(codes):
    step = np.random.default_rng(1).standard_normal(512)
    along = moved(codes, step)
    assert along.dtype == codes.dtype and along.shape == codes.shape
    np.testing.assert_allclose(along, codes.numpy() + step, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in SOME if name != "age"])
def test_do_changes_one_column_by_the_generators_own_dose(generator, codes, name):
    step = step_of_one(generator, any_direction(generator, name), name)
    before, after = generator.parameters(codes), do_step(generator, codes, step, name)
    own = INDEX[name]
    others = [column for column in range(len(NAMES)) if column != own]
    assert torch.equal(after[:, others], before[:, others])
    reached = generator.parameters(moved(codes, step))
    assert torch.equal(after[:, own], reached[:, own])
    assert (after[:, own] - before[:, own]).abs().max() > 1e-3
    assert (reached - before).abs().amax(0).gt(1e-3).sum() > 10  # so do() had much to hold


def test_exact_directions_leak_nowhere(generator):
    table = leakage(generator, generator.exact_directions(SOME))
    assert list(table.columns) == list(LATENTS)
    expected = [[name == column for column in LATENTS] for name in SOME]
    np.testing.assert_allclose(table, np.array(expected, float), atol=1e-12)


def test_leakage_is_the_change_of_any_codes_coordinates(generator, codes):
    steps = np.random.default_rng(2).standard_normal((3, 512))
    table = leakage(generator, steps, SOME)
    assert table.shape == (3, 4) and list(table.columns) == list(SOME)
    for row, step in zip(table.to_numpy(), steps, strict=True):
        after = generator.coordinates(moved(codes.double(), step), SOME)
        change = after - generator.coordinates(codes, SOME)
        np.testing.assert_allclose(change, np.tile(row, (40, 1)), atol=1e-12)


@pytest.mark.parametrize("name", SOME)
def test_an_exact_step_is_what_do_does(generator, codes, name):
    """With age come the beards and the makeup that it gates, in both."""
    step = generator.exact_directions([name])[0]
    apart = generator.parameters(moved(codes, step)) - do_step(generator, codes, step, name)
    # The artefacts see the length of the code.
    differs = {one for one in NAMES if apart[:, INDEX[one]].abs().max() > 1e-3}
    assert differs <= {"artefacts"}


def test_age_takes_along_what_it_gates_and_nothing_else(generator, codes):
    step = generator.exact_directions(["age"])[0]
    apart = do_step(generator, codes, step, "age") - generator.parameters(codes)
    differs = {one for one in NAMES if apart[:, INDEX[one]].abs().max() > 1e-3}
    assert differs == {"age", *AGE_GATES}
