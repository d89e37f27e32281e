"""Training sets of recognisers: identities of stated composition."""

import numpy as np
import pytest
import torch

import facerender
from facerender.parameters import INDEX
from helpers import identities
from helpers.identities import ANCESTRIES, GROUPS, nearest_ancestry, split
from helpers.identities.training_sets import IDENTITY


def test_an_identity_set_is_as_composed_and_looks_it():
    wanted = {group: 5 + 3 * k for k, group in enumerate(GROUPS)}
    parameters, labels, frame = identities.identity_set(wanted, 4, seed=1)
    assert frame.drop_duplicates("identity")["group"].value_counts().to_dict() == wanted
    assert (np.bincount(labels) == 4).all() and len(parameters) == len(labels) == len(frame)
    facerender.render(parameters[:1], 16)  # valid parameters
    ancestry, male = split(frame["group"])
    place = parameters[:, [INDEX["ancestry_x"], INDEX["ancestry_y"]]]
    assert (np.array(ANCESTRIES)[nearest_ancestry(place)] == ancestry).all()
    assert ((parameters[:, INDEX["gender"]] > 0.5).numpy() == male).all()


def test_images_of_a_person_share_the_identity_and_differ_in_the_scene():
    wanted = {"african male": 6, "european female": 6}
    parameters, labels, _ = identities.identity_set(wanted, 5, seed=1)
    values = facerender.to_frame(parameters).groupby(labels)
    spread = values.std()
    own = [*IDENTITY, "skin_colour", "gender", "hair_style", "hair_colour"]
    assert (spread[own] == 0).all(axis=None)
    assert (spread[["yaw", "light_azimuth", "smiling", "age"]] > 0).all(axis=None)
    assert (values.mean()[list(IDENTITY)].std() > 0.3).all()


def test_a_larger_set_begins_with_the_same_people():
    small, _, few = identities.identity_set({"east asian male": 3}, 2, seed=4)
    large, _, many = identities.identity_set({"african male": 2, "east asian male": 6}, 3, seed=4)
    asian = (many["group"] == "east asian male").to_numpy()
    first = large[asian & (many["image"] < 2).to_numpy()][: len(small)]
    torch.testing.assert_close(first, small)
    assert len(few) == 6
    with pytest.raises(ValueError, match="needs identities"):
        identities.identity_set({"african male": 0}, 2, seed=4)


@pytest.mark.parametrize("n", [24, 400, 401])
def test_training_sets_have_their_compositions_and_the_skewed_ones_nobody_in_common(n):
    _, _, frame = identities.identity_set(identities.pool_composition(n), 2, seed=2)
    sets = identities.draw_sets(frame, n, seed=1)
    assert list(sets) == list(identities.RECOGNISERS)
    people = {name: set(frame["identity"].iloc[rows]) for name, rows in sets.items()}
    for name, design in identities.RECOGNISERS.items():
        wanted = identities.composition(design.shares, n)
        assert sum(wanted.values()) == n == len(people[name])
        assert all(abs(count - n * design.shares[g]) < 1 for g, count in wanted.items())
        drawn = frame.iloc[sets[name]]["group"].value_counts().to_dict()
        assert drawn == {group: 2 * count for group, count in wanted.items() if count}
    skewed = [members for name, members in people.items() if name != identities.CONTROL]
    assert len(set.union(*skewed)) == 3 * n
    others = identities.draw_sets(frame, n, seed=3)
    assert all(set(rows) != set(others[name]) for name, rows in sets.items())


def test_compositions_that_cannot_be_had_are_named():
    needed = identities.pool_composition(60)
    _, _, frame = identities.identity_set(needed | {"african male": 3}, 1, seed=2)
    message = f"has 3 identities of 'african male', not {needed['african male']}"
    with pytest.raises(ValueError, match=message):
        identities.draw_sets(frame, 60, seed=1)
    with pytest.raises(ValueError, match="add up to 1"):
        identities.composition({"african male": 1.0}, 10)
