"""Populations: keyed draws, valid parameters, and the links that are planted on purpose."""

import numpy as np
import pytest
import torch

from facerender.parameters import INDEX, validate, visible_scores
from faceworld import populations

N = 2500


@pytest.fixture(scope="module")
def samples():
    return {name: populations.sample(name, N, seed=5) for name in populations.POPULATIONS}


@pytest.mark.parametrize("name", populations.POPULATIONS)
def test_parameters_are_valid_and_described_by_the_frame(samples, name):
    sample = samples[name]
    validate(sample.parameters)
    assert sample.name == name
    assert sample.frame["item"].tolist() == list(range(N))
    for column in ("skin_colour", "hair_length", "age"):
        drawn = sample.parameters[:, INDEX[column]].numpy()
        np.testing.assert_allclose(sample.frame[column], drawn, atol=1e-6)


@pytest.mark.parametrize("name", populations.POPULATIONS)
def test_shares_are_those_of_the_table(samples, name):
    population, frame = populations.POPULATIONS[name], samples[name].frame
    assert frame["gender"].mean() == pytest.approx(population.men, abs=0.03)
    if population.dark is not None:
        dark = frame["skin_colour"].gt(0.5).groupby(frame["gender"]).mean()
        np.testing.assert_allclose(dark, population.dark, atol=0.04)


def test_faces_are_keyed_by_item_seed_and_population():
    long = populations.sample("ppb-like", 50, seed=1)
    short = populations.sample("ppb-like", 7, seed=1)
    assert torch.equal(long.parameters[:7], short.parameters)
    assert not torch.equal(populations.sample("ppb-like", 7, seed=2).parameters, short.parameters)
    other = populations.sample("celeba-like", 7, seed=1)
    column = INDEX["face_width"]
    assert not torch.equal(other.parameters[:, column], short.parameters[:, column])


def short_haired(sample):
    return visible_scores(sample.parameters)["hair_length"].to_numpy() <= 0.4


def test_ppb_confounds_skin_with_hair_among_women(samples):
    sample = samples["ppb-like"]
    women, dark = sample.frame["gender"] == 0, sample.frame["skin_colour"] > 0.5
    short = short_haired(sample)
    assert short[women & dark].mean() > 0.7
    assert short[women & ~dark].mean() < 0.25


def test_only_plantskin_ties_skin_to_gender(samples):
    for name, sample in samples.items():
        link = np.corrcoef(sample.frame["gender"], sample.frame["skin_colour"])[0, 1]
        assert (link > 0.4) if name == "plantskin" else (abs(link) < 0.06)


def test_unknown_population_is_named():
    with pytest.raises(ValueError, match="'celebb' is not one of"):
        populations.sample("celebb", 3, seed=0)
