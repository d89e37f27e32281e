"""Generators by their names: what is refused."""

import pytest

from faceworld import load_generator

REFUSED = {
    "stylegan2": "stylegan2 is read from a file: weights=path is missing",
    "dcgan": "generator 'dcgan' is not one of",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    with pytest.raises(ValueError, match=REFUSED[name]):
        load_generator(name)
