import numpy as np
import pandas as pd

import facerender
from facerender.parameters import INDEX
from faceworld.people import ANCESTRIES, GROUPS, identity_set, nearest_ancestry, split_groups


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
