"""The parameter table, its validation, the ancestry axes and the visible scores."""

import pytest
import torch

import facerender
from facerender.parameters import ANCESTRY_SHIFTS, ancestry_shift


def test_ancestry_shifts_hold_at_the_references_and_vanish_at_the_centre():
    for name, values in ANCESTRY_SHIFTS.items():
        assert sum(values) == pytest.approx(0, abs=1e-9)
        for (x, y), value in zip(facerender.ANCESTRY_REFERENCES.values(), values, strict=True):
            shift = ancestry_shift(torch.tensor([x]), torch.tensor([y]), name)
            assert shift.item() == pytest.approx(value, abs=2e-3)
        assert ancestry_shift(torch.zeros(1), torch.zeros(1), name).item() == 0
    assert ancestry_shift(torch.ones(1), torch.ones(1), "chin").item() == 0


def test_visible_scores():
    parameters = facerender.defaults(4)
    parameters[:, facerender.INDEX["hair_length"]] = 0.8
    styles = ["straight", "tied back", "covered", "afro"]
    indices = [facerender.HAIR_STYLES.index(style) for style in styles]
    parameters[:, facerender.INDEX["hair_style"]] = torch.tensor(indices).float()
    parameters[:, facerender.INDEX["artefacts"]] = torch.tensor([0.0, 0.5, 0.9, 1.0])
    scores = facerender.visible_scores(parameters)
    assert scores.shape == (4, 8)
    assert scores["hair_length"].tolist() == pytest.approx([0.8, 0.48, 0.0, 0.8])
    assert scores["fakeness"].tolist() == pytest.approx([0.15, 0.625, 1.0, 1.0])
    assert ((scores >= 0) & (scores <= 1)).all(axis=None)
