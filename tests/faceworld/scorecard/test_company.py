"""What else moved along an axis, against plain loops and full renders."""

import numpy as np
import pytest
import torch

import facerender
from faceworld.rendering import render_to_store
from faceworld.scorecard import error_sources

N = 6


@pytest.fixture
def base() -> torch.Tensor:
    random = np.random.default_rng(0)
    table = facerender.defaults(N)
    for name in ("hair_colour", "jaw_width", "earrings"):
        table[:, facerender.INDEX[name]] = torch.from_numpy(random.random(N).astype(np.float32))
    return table


@pytest.fixture
def moved(base: torch.Tensor) -> torch.Tensor:
    """Images of every base face whose hair colour, jaw and skin differ from one to the next."""
    random = np.random.default_rng(1)
    table = base.repeat_interleave(8, 0)
    for name in ("hair_colour", "jaw_width", "skin_colour"):
        table[:, facerender.INDEX[name]] = torch.from_numpy(random.random(8 * N).astype(np.float32))
    return table


def test_leaks_are_mean_differences_within_transects_in_standard_deviations(moved):
    population = facerender.defaults(50)
    population += torch.from_numpy(
        np.random.default_rng(2).normal(0, 0.1, population.shape)
    ).float()
    table = error_sources.parameter_changes(moved, population).set_index(["attribute", "parameter"])
    for name in ("hair_colour", "jaw_width"):
        values = moved[:, facerender.INDEX[name]].double().numpy()
        spread = population[:, facerender.INDEX[name]].double().numpy().std(ddof=1)
        for axis, step in (("skin_colour", 4), ("hair_length", 2), ("gender", 1)):
            by_transect = [
                np.mean([values[8 * k + i + step] - values[8 * k + i] for i in low_cells(step)])
                for k in range(N)
            ]
            row = table.loc[(axis, name)]
            assert row["effect"] == pytest.approx(np.mean(by_transect) / spread)
            se = np.std(by_transect, ddof=1) / np.sqrt(N) / spread
            assert row["se"] == pytest.approx(se)
            assert row["high"] - row["effect"] == pytest.approx(1.959964 * se)
    assert table.loc[("gender", "jaw_width"), "group"] == "face shape"
    assert set(facerender.NAMES) - set(table.index.unique("parameter")) == {"hair_style"}


def low_cells(step: int) -> list[int]:
    return [cell for cell in range(8) if not cell & step]


def test_answers_equal_those_of_a_full_render(moved, base, tmp_path):
    held = error_sources.hold_parameters(moved, base, ["hair_colour", "skin_colour"])
    column = facerender.INDEX["hair_colour"]
    assert torch.equal(held[:, column], base[:, column].repeat_interleave(8))
    assert (held != moved).any(dim=0).sum() == 2
    held[: 8 * 3] = moved[: 8 * 3]

    def brightness(images: np.ndarray) -> np.ndarray:
        return images.mean((1, 2, 3)) / 255

    before = brightness(render_to_store(moved, 16, tmp_path / "before.npy"))
    asked = []

    def counted(images: np.ndarray) -> np.ndarray:
        asked.append(len(images))
        return brightness(images)

    found = error_sources.answers_to(
        held, moved, {"m": before}, {"m": counted}, size=16, path=tmp_path / "held.npy"
    )
    full = brightness(render_to_store(held, 16, tmp_path / "full.npy"))
    np.testing.assert_allclose(found["m"], full, rtol=0, atol=1e-12)
    assert asked == [8 * 3]


def test_sizes_are_free_of_noise_on_average_and_their_intervals_hold_the_truth():
    random = np.random.default_rng(3)
    n, true = 80, np.zeros((2, 2, 2))
    true[1] = 0.1  # four skin cells of .1, eight others of 0
    size = np.sqrt(4 * 0.1**2 / 12)
    squares, holds = [], []
    for repetition in range(150):
        parts = true + random.normal(0, 0.35, (n, 2, 2, 2))
        found = error_sources.typical_size(parts, seed=repetition, n_boot=200)
        squares.append(found["size"] ** 2)
        holds.append(found["low"] <= size <= found["high"])
    assert np.mean(squares) == pytest.approx(size**2, rel=0.25)
    naive = np.mean([4 * 0.1**2 / 12, 2 * 0.35**2 / n])
    assert np.mean(squares) < 0.6 * naive * 2, "the noise was not taken off"
    assert 0.88 <= np.mean(holds) <= 1
