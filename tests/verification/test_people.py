import numpy as np
import pandas as pd
import pytest

import facerender
from facerender.parameters import INDEX
from helpers import verification
from helpers.verification import ANCESTRIES, GROUPS, split_groups
from helpers.verification.people import identity_set, nearest_ancestry


def test_an_identity_set_is_as_composed_and_looks_it():
    wanted = {group: 5 + 3 * k for k, group in enumerate(GROUPS)}
    parameters, labels, group = identity_set(wanted, 4, seed=1)
    assert pd.Series(group[::4]).value_counts().to_dict() == wanted
    assert (np.bincount(labels) == 4).all() and len(parameters) == len(labels) == len(group)
    facerender.render(parameters[:1], 16)  # valid parameters
    ancestry, male = split_groups(group)
    place = parameters[:, [INDEX["ancestry_x"], INDEX["ancestry_y"]]]
    assert (np.array(ANCESTRIES)[nearest_ancestry(place)] == ancestry).all()
    assert ((parameters[:, INDEX["gender"]] > 0.5).numpy() == male).all()


@pytest.mark.parametrize("n", [24, 400, 401])
def test_training_sets_have_their_compositions_and_the_skewed_ones_nobody_in_common(n):
    wanted = verification.pool_composition(n)
    groups = np.repeat([*wanted], [2 * count for count in wanted.values()])
    frame = pd.DataFrame({"identity": np.arange(len(groups)) // 2, "group": groups})
    sets = verification.draw_sets(frame, n, seed=1)
    assert list(sets) == list(verification.RECOGNISERS)
    people = {name: set(frame["identity"].iloc[rows]) for name, rows in sets.items()}
    for name, design in verification.RECOGNISERS.items():
        wanted = verification.group_counts(design.shares, n)
        assert sum(wanted.values()) == n == len(people[name])
        assert all(abs(count - n * design.shares[g]) < 1 for g, count in wanted.items())
        drawn = frame.iloc[sets[name]]["group"].value_counts().to_dict()
        assert drawn == {group: 2 * count for group, count in wanted.items() if count}
    skewed = [members for name, members in people.items() if name != verification.CONTROL]
    assert len(set.union(*skewed)) == 3 * n
    others = verification.draw_sets(frame, n, seed=3)
    assert all(set(rows) != set(others[name]) for name, rows in sets.items())
