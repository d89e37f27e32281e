"""Prototypes lie where they were sent, and keep what makes the person."""

import numpy as np
import pandas as pd
import pytest
import torch

from facerender.parameters import INDEX, visible_scores
from helpers import identities


def test_prototypes_lie_at_the_decision_values_asked_for(codes, planes, prototypes):
    latents, index = prototypes
    assert index["group"].tolist() == list(identities.GROUPS) * 8
    values = pd.DataFrame(planes.decision_values(latents), columns=planes.names)
    ancestry, male = identities.split(index["group"])
    np.testing.assert_allclose(values["gender"], np.where(male, 0.8, -0.8), atol=1e-9)
    np.testing.assert_allclose(values[["age", "smiling"]], 0, atol=1e-9)
    own = planes.select(["skin_colour"]).decision_values(codes)[:, 0]
    np.testing.assert_allclose(values["skin_colour"], np.repeat(own, 6), atol=1e-9)
    for row, name in enumerate(ancestry):
        others = [other for other in identities.ANCESTRIES if other != name]
        assert values.loc[row, name] == pytest.approx(1.8)
        assert values.loc[row, others[0]] == pytest.approx(values.loc[row, others[1]])
        assert values.loc[row, others[0]] < 0


def test_prototypes_look_as_intended_and_share_a_seeds_identity(generator, prototypes):
    latents, index = prototypes
    parameters = generator.parameters(torch.from_numpy(latents))
    place = parameters[:, [INDEX["ancestry_x"], INDEX["ancestry_y"]]]
    nearest = np.array(identities.ANCESTRIES)[identities.nearest_ancestry(place)]
    ancestry, male = identities.split(index["group"])
    assert (nearest == ancestry).all()
    assert ((parameters[:, INDEX["gender"]].numpy() > 0.5) == male).all()
    eyes = parameters[:, INDEX["eye_gap"]].reshape(8, 6)
    assert eyes.std(1).max() < 0.2 * eyes[:, 0].std()


def test_prototypes_reject_impossible_wishes(codes, planes):
    with pytest.raises(ValueError, match="above 0; got -1"):
        identities.prototypes(codes, planes, gender=-1, ancestry=1, others={})
    with pytest.raises(ValueError, match="no hyperplane of makeup"):
        identities.prototypes(codes, planes, gender=1, ancestry=1, others={"makeup": None})


def test_svms_from_true_labels_point_along_the_exact_normals(generator):
    codes = generator.sample(1500, 3)
    parameters = generator.parameters(codes)
    place = parameters[:, [INDEX["ancestry_x"], INDEX["ancestry_y"]]]
    fitted = identities.group_planes(
        codes, visible_scores(parameters)["gender"], identities.nearest_ancestry(place)
    )
    assert fitted.names == ("gender", *identities.ANCESTRIES)
    np.testing.assert_allclose(np.linalg.norm(fitted.normals, axis=1), 1)
    report = identities.label_leakage(generator, codes[:50], {"true": fitted}, ["hair_length"])
    assert report["labels"].tolist() == ["true"] * 4 + ["exact"] * 4
    assert (report["angle"][:4] < 45).all() and (report["angle"][4:] < 1e-3).all()
    assert (report["accuracy"][:4] > 0.75).all()
    # Men's hair is shorter, as planted.
    assert (report.loc[report["plane"] == "gender", "hair_length"] < -0.05).all()
