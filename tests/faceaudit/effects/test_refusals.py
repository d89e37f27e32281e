"""What is wrong with an argument is said by its name, its place and what was expected."""

import numpy as np
import pandas as pd
import pytest
from simulated import perceived_scores, transect_frame

from faceaudit import effects
from faceaudit.effects.contrasts import outcome_grid
from faceaudit.utils.errors import InputError

FRAME = transect_frame(12, lambda skin, hair, gender: 0.3 + 0 * skin, seed=1)
ODD = FRAME.assign(
    rate=1.5,
    three=FRAME.index % 3,
    gap=FRAME["hair_level"].where(FRAME.index != 2),
    one=1,
    endless=np.where(FRAME.index == 2, np.inf, 1.0),
)
TWICE = pd.concat([FRAME, FRAME.iloc[[9]]])
SCORES = perceived_scores(20).clip(lower=0.5)
PLAN = effects.Design(0.02, 0.05)


def matched(frame=ODD, outcome="error", attribute="skin_level", by=("gender_level",)):
    return effects.matched_effects(frame, outcome, attribute, by, "transect")


def risks(outcome="error", treatment="skin_level", by=None, adjust=(), frame=ODD):
    return effects.risk_differences(frame, outcome, treatment, by, "transect", adjust)


def transported(frame=FRAME, target=FRAME, strata=("skin_level",), cluster="transect", **options):
    return effects.transport(frame, "error", strata, target, cluster, **options)


def bounded(kept=True, frame=FRAME):
    frame = frame.assign(kept=kept)
    return effects.pruning_bounds(frame, "kept", "error", "skin_level", [], "transect")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: matched(FRAME.drop(columns="transect")), "no column .*transect"),
        (lambda: matched(outcome="rate"), "'rate', row 0 is 1.5, a number in"),
        (lambda: matched(by=["gap"]), "'gap', row 2 is nan, a level"),
        (lambda: matched(attribute="three"), "levels .0, 1, 2.*two"),
        (lambda: matched(TWICE), "two images in one place"),
        (lambda: matched(FRAME.iloc[:0]), "no rows"),
        (lambda: matched(by=["skin_level"]), "define the cells"),
        (lambda: risks(treatment="three"), "'three' has the levels .*keep two of them"),
        (
            lambda: risks(adjust=["endless"]),
            "'endless', row 2 is inf, a finite number was expected",
        ),
        (lambda: bounded("yes"), "'kept', row 0 is 'yes', 0 or 1 was expected"),
        (lambda: outcome_grid(ODD, "rate", ["skin"], "transect"), "two images in one place"),
        (lambda: transported(by=["age"]), "columns among the strata"),
        (lambda: transported(target=FRAME[["error"]]), "no column .*skin_level"),
        (lambda: transported(FRAME.assign(error=0.5)), "'error', row 0 is 0.5, 0 or 1"),
        (lambda: transported(FRAME.assign(transect=np.nan)), "no cluster identifier"),
        (lambda: transported(ODD, cluster="one"), "at least two clusters"),
        (lambda: transported(labelled=FRAME.assign(error=0)), "errors is 0: a shift"),
        (lambda: transported(labelled=FRAME.assign(skin_level=7)), "fewer than two faces"),
        (lambda: effects.paper_columns(SCORES.assign(age=0.0)), "row 'image 0' is 'Child'"),
        (lambda: effects.paper_columns(SCORES.assign(makeup=np.nan)), "'makeup', row 'image 0'"),
        (lambda: effects.paper_logit(np.eye(3), [0, 1, 1.5]), r"row 2 is 1.5, a number in \[0, 1"),
        (lambda: effects.power(1, PLAN), "transects is 1, a number of at least 2"),
        (lambda: effects.power(9.5, effects.Design(0.02, 0.05, pairs=1)), "transects is 9.5, a wh"),
        (lambda: effects.transects_needed(effects.Design(0.0, 0.05)), "difference is 0: no number"),
        (lambda: effects.transects_needed(effects.Design(1e-6, 0.05)), "over 10000000 transects"),
        (lambda: effects.Design(0.02, 0.0), "base_rate is 0.0, a number in .0, 1."),
        (lambda: effects.Design(0.6, 0.5), r"difference is 0.6: base_rate \+ difference"),
        (lambda: effects.power(99, effects.Design(0.2, 0.01, 0.6)), "within is 0.6: no errors"),
        (lambda: effects.rosenbaum_gamma(2.5, 1), "whole numbers"),
    ],
)
def test_what_is_wrong_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "field", "found", "expected"),
    [
        (lambda: matched(attribute="three"), "three", [0, 1, 2], "two levels"),
        (lambda: risks(treatment="three"), "three", [0, 1, 2], "two levels"),
        (lambda: transported(ODD, cluster="one"), "one", 1, "at least two clusters"),
        (lambda: effects.power(1.5, PLAN), "transects", 1.5, "a number of at least 2"),
    ],
)
def test_errors_hold_what_is_at_fault(call, field, found, expected):
    with pytest.raises(InputError) as caught:
        call()
    error = caught.value
    assert (error.field, error.found, error.expected) == (field, found, expected)
