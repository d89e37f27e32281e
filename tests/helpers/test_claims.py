"""Tests of sentences that are bound to a check, and of what the runner makes of them."""

import json

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from faceaudit.utils.formatting import in_points, with_minus
from helpers.claims import (
    BOX_TITLES,
    CONTRADICTED,
    HOLDS,
    UNDECIDED,
    Margin,
    claim,
    claims_of_page,
    margin_above,
    margin_below,
    question,
)

CELL = """
from helpers.claims import Margin, claim
claim("The gap is {gap:points} points.", {rests_on}, title="A gap", gap=-0.0304)
"""


def test_numbers_are_told_in_points_with_a_true_minus_and_their_interval():
    gap = {"estimate": -0.0304, "low": -0.051, "high": -0.0001}
    told = claim("{gap:points} points, {rate:percent}%, {n:,}", True, gap=gap, rate=0.2, n=1200)
    assert told.sentence == "−3.0 (−5.1 to −0.01) points, 20.0%, 1,200"


@pytest.mark.parametrize(
    ("margins", "state"),
    [
        ([Margin(0.21, 0.1)], HOLDS),
        ([Margin(0.2, 0.1)], UNDECIDED),
        ([Margin(-0.2, 0.1)], UNDECIDED),
        ([Margin(-0.21, 0.1)], CONTRADICTED),
        ([Margin(9, 1), Margin(0.1, 0.1)], UNDECIDED),
        ([Margin(9, 1), Margin(0.1, 0.1), Margin(-9, 1)], CONTRADICTED),
        ([Margin(np.nan, 0.1)], UNDECIDED),
        ([Margin(1, np.nan)], UNDECIDED),
        ([Margin(None, None)], UNDECIDED),
        ([Margin(0.001, 0)], HOLDS),
        ([Margin(0, 0)], UNDECIDED),
    ],
)
def test_a_claim_is_decided_only_beyond_two_standard_errors(margins, state):
    assert claim("It grew.", margins=margins).state == state


def test_a_fact_holds_or_is_contradicted_whatever_the_size():
    assert claim("It is so.", holds=True).state == HOLDS
    assert claim("It is so.", holds=np.bool_(False)).state == CONTRADICTED


@pytest.mark.parametrize(
    "rests_on", [{}, {"holds": True, "margins": [Margin(1, 0.1)]}, {"margins": []}]
)
def test_a_claim_rests_on_a_fact_or_on_margins_and_never_on_both(rests_on):
    with pytest.raises(ValueError, match="margin"):
        claim("It grew.", **rests_on)


def test_a_standard_error_below_zero_is_refused():
    with pytest.raises(ValueError, match=r"zero or above, found -0\.1"):
        Margin(1, -0.1)


def test_a_claim_knows_its_smallest_margin_and_what_its_estimates_say():
    near = claim("It grew.", margins=[Margin(3, 1), Margin(0.5, 1)])
    assert near.standard_errors == 0.5 and near.met and not near.holds and not near.contradicted
    assert claim("It grew.", margins=[Margin(np.nan, 1)]).standard_errors is None
    assert not claim("It grew.", margins=[Margin(3, 1), Margin(-0.5, 1)]).met


def test_the_side_of_an_interval_that_faces_the_limit_counts():
    rate = {"estimate": 0.1, "low": 0.08, "high": 0.2}
    above, beyond = margin_above(rate, 0.05), margin_above(rate, 0.15)
    assert above.error == pytest.approx(0.02 / 1.96, rel=1e-3)
    assert beyond.error == pytest.approx(0.1 / 1.96, rel=1e-3)
    for limit in (0.05, 0.15):
        over, under = margin_above(rate, limit), margin_below(rate, limit)
        assert over.value == pytest.approx(-under.value)
        assert over.error == pytest.approx(under.error)
    assert margin_above({"estimate": None, "low": None, "high": None}, 0).state == UNDECIDED
    assert margin_below({"estimate": 0.2, "low": -np.inf, "high": np.inf}, 1).state == UNDECIDED


def test_a_question_has_the_same_three_answers():
    words = [question("Is it?", margin=margin, error=1).data for margin in (3, 1, -3)]
    assert [text.rpartition(" ")[2] for text in words] == ["yes.*", "undecided.*", "no.*"]


@pytest.mark.parametrize(
    ("rests_on", "state"),
    [
        ("holds=True", HOLDS),
        ("margins=[Margin(0.1, 0.1)]", UNDECIDED),
        ("margins=[Margin(-1, 0.1)]", CONTRADICTED),
    ],
)
def test_a_page_shows_a_box_of_its_own_kind_for_what_does_not_hold(tmp_path, rests_on, state):
    page = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(CELL.replace("{rests_on}", rests_on))]
    )
    NotebookClient(page).execute()
    shown = page.cells[0].outputs[0]["data"]["text/markdown"]
    assert "The gap is −3.0 points." in shown
    assert [kind for kind, title in BOX_TITLES.items() if title in shown] == [state][
        state == HOLDS :
    ]
    nbformat.write(page, tmp_path / "page.ipynb")
    (found,) = claims_of_page(tmp_path / "page.ipynb")
    assert found.state == state and found.title == "A gap"


def test_claims_of_another_version_of_the_code_are_refused(tmp_path):
    shown = {"metadata": {"claim": {"sentence": "True.", "holds": True, "title": ""}}}
    page = tmp_path / "page.ipynb"
    page.write_text(json.dumps({"cells": [{"outputs": [shown]}]}))
    with pytest.raises(ValueError, match="another version of the code.*holds"):
        list(claims_of_page(page))


@pytest.mark.parametrize(
    ("rate", "told"),
    [(-0.0304, "-3.0"), (-0.0, "+0.0"), (0.0004, "+0.04"), (-1e-9, "+0.00"), (0.0005001, "+0.1")],
)
def test_small_differences_keep_their_sign(rate, told):
    assert in_points(rate) == told


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("(-.5 to -0.1), -inf", "(−.5 to −0.1), −inf"),
        ("<td>-1,200</td>", "<td>−1,200</td>"),
        ("celeba-like, 2020-07-15, 2-3, 1e-05, T_a-1, -- 5, - 5", None),
        ("[0.1]-2, f(x)-2, --2, -index", None),
    ],
)
def test_a_hyphen_before_a_number_becomes_a_minus(printed, told):
    assert with_minus(printed) == (told or printed)
