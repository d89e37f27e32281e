"""What is wrong with an argument is said by its name, its place and what was expected."""

import numpy as np
import pandas as pd
import pytest
from simulated import perceived_scores, transect_frame

from helpers import effects
from helpers.effects.contrasts import factorial_contrasts, outcome_grid
from helpers.effects.verdicts import partial_pooling

FRAME = transect_frame(12, lambda skin, hair, gender: 0.3 + 0 * skin, seed=1)
ODD = FRAME.assign(
    rate=1.5,
    word=FRAME["error"].astype(str),
    colour=np.where(FRAME["skin_level"] == 1, "dark", "fair"),
    three=FRAME.index % 3,
    number=np.arange(len(FRAME)) / 7,
    gap=FRAME["hair_level"].where(FRAME.index != 2),
    one=1,
    tint_level=np.where(FRAME["skin_level"] == 1, "dark", "fair"),
)
TWICE = pd.concat([FRAME, FRAME.iloc[[9]]])
SCORES = perceived_scores(20).clip(lower=0.5)
PLAN = effects.Design(0.02, 0.05)
RATES = pd.DataFrame({"estimate": [0.1], "low": [0.0], "high": [0.2]})


def matched(frame=ODD, outcome="error", attribute="skin_level", by=("gender_level",)):
    kept = [c for c in frame if c != "tint_level"]
    return effects.matched_effects(frame[kept], outcome, attribute, by, "transect")


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
        (lambda: matched(outcome="word"), "'word', row 0 is '[01]', a number"),
        (lambda: matched(by=["gap"]), "'gap', row 2 is nan, a level"),
        (lambda: matched(attribute="three"), "levels .0, 1, 2.*two"),
        (lambda: matched(TWICE), "two images in one place"),
        (lambda: matched(FRAME.iloc[:0]), "no rows"),
        (lambda: matched(by=["skin_level"]), "define the cells"),
        (
            lambda: effects.all_matched_effects(ODD, "error", ["tint", "gender"], "transect"),
            "'tint_level', row 0 is 'fair', a level's number",
        ),
        (lambda: risks(adjust=["smile"]), "no column .*smile"),
        (lambda: risks("rate"), "'rate', row 0 is 1.5, a number in .0, 1."),
        (lambda: risks(by="gap"), "'gap', row 2 is nan"),
        (lambda: risks(treatment="three"), "'three' has the levels .*keep two of them"),
        (lambda: risks(adjust=["number"]), "'number' has 96 levels: cut it into bins"),
        (lambda: risks(by="skin_level"), "two roles"),
        (lambda: risks(frame=FRAME.iloc[:0]), "no rows"),
        (lambda: bounded("yes"), "'kept', row 0 is 'yes', 0 or 1 was expected"),
        (lambda: bounded(frame=FRAME.drop(columns="skin_level")), "no column .*skin_level"),
        (lambda: bounded(frame=TWICE), "two images in one place"),
        (lambda: outcome_grid(ODD, "rate", ["skin"], "transect"), "two images in one place"),
        (lambda: outcome_grid(ODD, "error", ["tint"], "transect"), "levels of 0 and 1 were"),
        (lambda: factorial_contrasts(["skin"], [2]), r"orders \[2\] of the 1 attributes"),
        (lambda: transported(by=["age"]), "columns among the strata"),
        (lambda: transported(target=FRAME[["error"]]), "no column .*skin_level"),
        (lambda: transported(target=FRAME.iloc[:0]), "no rows"),
        (
            lambda: transported(target=ODD, strata=["gap"], frame=ODD),
            "'gap', row 2 is nan, a level",
        ),
        (lambda: transported(FRAME.assign(error=0.5)), "'error', row 0 is 0.5, 0 or 1"),
        (lambda: transported(FRAME.assign(transect=np.nan)), "no cluster identifier"),
        (lambda: transported(ODD, cluster="one"), "at least two clusters"),
        (lambda: transported(labelled=FRAME.assign(error=0)), "errors is 0: a shift"),
        (lambda: transported(labelled=FRAME.assign(skin_level=7)), "fewer than two faces"),
        (lambda: effects.paper_columns(SCORES.assign(age=0.0)), "row 'image 0' is a Child"),
        (lambda: effects.paper_columns(SCORES.assign(makeup=np.nan)), "'makeup', row 'image 0'"),
        (lambda: effects.paper_columns(SCORES.drop(columns="smiling")), "no column .*smiling"),
        (lambda: effects.paper_logit(np.eye(3), [0, 1, 1.5]), r"row 2 is 1.5, a number in \[0, 1"),
        (lambda: effects.paper_logit(np.eye(3), [0, 1, np.nan]), "row 2 is nan, an error"),
        (lambda: effects.paper_logit(np.eye(3), [0, 1]), "does not fit"),
        (lambda: effects.paper_logit(np.eye(2) * np.nan, [0, 1]), "row 0, column 0 is nan"),
        (
            lambda: effects.bootstrap_paper_logit(np.eye(2), [0, 1], 5, 1, [7, 7]),
            "at least two clusters",
        ),
        (lambda: effects.verdict(0, 1, 0, 1, 0), "tolerance is 0, a positive number"),
        (
            lambda: effects.max_t_intervals(RATES * np.nan, n_boot=9, seed=1),
            "values: row 0, column",
        ),
        (lambda: effects.max_t_intervals(RATES, n_boot=9, seed=1), "at least two clusters"),
        (lambda: effects.power(1, PLAN), "transects is 1, a number of at least 2"),
        (lambda: effects.power(100, PLAN, alpha=0.0), "alpha is 0.0, a number in .0, 1."),
        (lambda: effects.power(9.5, effects.Design(0.02, 0.05, pairs=1)), "transects is 9.5, a wh"),
        (lambda: effects.printed_power(0, PLAN), "transects is 0, a positive number"),
        (lambda: effects.printed_transects(PLAN, power=80), "power is 80, a number in .0, 1."),
        (lambda: effects.transects_needed(effects.Design(0.0, 0.05)), "difference is 0: no number"),
        (lambda: effects.transects_needed(effects.Design(1e-6, 0.05)), "more than 10000000 trans"),
        (lambda: effects.cost(10, 0, price=1, seconds=1), "raters is 0, a whole number"),
        (lambda: effects.cost(10, 1, price=0, seconds=1), "price is 0, a positive number"),
        (lambda: effects.Design(0.02, 0.0), "base_rate is 0.0, a number in .0, 1."),
        (lambda: effects.Design(0.6, 0.5), r"difference is 0.6: base_rate \+ difference"),
        (lambda: effects.Design(0.02, 0.05, -0.1), r"within is -0.1, a number in \[0, 1\)"),
        (lambda: effects.Design(0.02, 0.05, retention=0), r"retention is 0, a number in \(0, 1\]"),
        (lambda: effects.Design(0.02, 0.05, pairs=1.5), "pairs is 1.5, a whole number"),
        (lambda: effects.power(99, effects.Design(0.2, 0.01, 0.6)), "correlate by 0.1. at most"),
        (
            lambda: effects.power(99, effects.Design(0.02, 0.05, pair_correlation=0.99)),
            "pair_correlation is 0.99; .* lies between",
        ),
        (
            lambda: effects.power(99, effects.Design(0.02, 0.05, -0.1, pairs=1)),
            "by -0.06 at least and 0.84 at most",
        ),
        (lambda: effects.attenuation(1.2), r"reliability is 1.2, a number in \[0, 1\]"),
        (lambda: effects.label_noise(0.5, 3), "rater_error is 0.5"),
        (lambda: effects.noisy_design(PLAN, 0.5), "noise is 0.5"),
        (lambda: effects.rogan_gladen(1.1, 0.1), "rate is 1.1"),
        (lambda: effects.disattenuate(RATES, 0.0), r"factor is 0.0, a number in \(0, 1\]"),
        (lambda: effects.disattenuate(RATES[["estimate"]], 0.5), "no column .*'low', 'high'"),
        (lambda: effects.e_value(-1.0), "rr is -1.0, a risk ratio of at least 0"),
        (lambda: effects.e_values(RATES, 1.5), "base_rate is 1.5, an error rate"),
        (lambda: effects.rosenbaum_gamma(2.5, 1), "b is 2.5, whole numbers"),
        (lambda: partial_pooling([1, 2], np.eye(2)), "spread between 2 cells is unknown"),
        (lambda: partial_pooling([1, 2, np.nan], np.eye(3)), "leave that cell out"),
    ],
)
def test_what_is_wrong_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
