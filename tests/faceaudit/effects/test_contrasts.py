"""Grids of outcomes and interaction contrasts against matched effects, OLS and plain arithmetic."""

import numpy as np
import pytest
import statsmodels.formula.api as smf
from simulated import transect_frame

from faceaudit.effects import all_matched_effects
from faceaudit.effects.contrasts import contrast_values, factorial_contrasts, outcome_grid
from faceworld.scorecard.truth import name_cells

AXES = ["skin_colour", "hair_length", "gender"]


def frame_of(n=150, seed=0):
    frame = transect_frame(
        n, lambda skin, hair, gender: 0.1 + 0.4 * skin * hair * gender, seed, dependence=0.3
    )
    return frame.rename(
        columns={"skin_level": "skin_colour_level", "hair_level": "hair_length_level"}
    )


def test_effects_are_those_of_matched_pairs():
    frame = frame_of()
    values = contrast_values(
        outcome_grid(frame, "error", AXES, "transect"), factorial_contrasts(AXES, [1])
    )
    table = name_cells(all_matched_effects(frame, "error", AXES, "transect"))
    table = table[table["scope"] != "partial average"]
    names = table["attribute"].str.replace("_", " ")
    keys = list(zip(names, table["cell"], strict=True))
    np.testing.assert_allclose(values.mean()[keys], table["estimate"])


@pytest.mark.parametrize("axes", [AXES, AXES[:2]])
def test_interactions_are_the_coefficients_of_a_saturated_regression(axes):
    """Without a gender axis too; a regression of the errors on all products has them as slopes."""
    frame = frame_of().query("gender_level == 1") if len(axes) == 2 else frame_of()
    values = contrast_values(
        outcome_grid(frame, "error", axes, "transect"),
        factorial_contrasts(axes, range(2, len(axes) + 1)),
    )
    formula = "error ~ " + " * ".join(f"{axis}_level" for axis in axes)
    slopes = smf.ols(formula, frame).fit().params
    found = values.mean()
    lowest = "light skin", "short hair", "female", ""
    pairs = [pair for pair in found.index if pair[1] in lowest]
    assert len(pairs) == {3: 4, 2: 1}[len(axes)]
    for name, held in pairs:
        term = ":".join(f"{part.replace(' ', '_')}_level" for part in name.split(" × "))
        assert found[name, held] == pytest.approx(slopes[term])
