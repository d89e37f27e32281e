import numpy as np
import pytest

from faceaudit.latents.directions import Hyperplanes
from faceworld import load_generator
from faceworld.prototypes import exact_planes, walk_to_groups

OTHERS = {"age": 0.0, "smiling": 0.0, "skin_colour": None}


@pytest.fixture(scope="package")
def generator():
    return load_generator("known-truth")


@pytest.fixture(scope="package")
def codes(generator):
    return generator.sample(8, 5).numpy().astype(np.float64)


@pytest.fixture(scope="package")
def planes(generator):
    exact = exact_planes(generator)
    normals, intercepts = generator.exact_hyperplanes(list(OTHERS))
    return Hyperplanes(
        (*exact.names, *OTHERS),
        np.vstack([exact.normals, normals]),
        np.concatenate([exact.intercepts, intercepts]),
    )


@pytest.fixture(scope="package")
def prototypes(codes, planes):
    return walk_to_groups(codes, planes, gender=0.8, ancestry=1.8, others=OTHERS)
