"""Tests of sentences that are bound to a check, and of what the runner makes of them."""

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from helpers.claims import CONTRADICTED, claim, in_points, of_page, with_minus

CELL = """
from helpers.claims import claim
claim("The gap is {gap:points} points.", {holds}, title="A gap", gap=-0.0304)
"""


def test_numbers_are_told_in_points_with_a_true_minus_and_their_interval():
    gap = {"estimate": -0.0304, "low": -0.051, "high": -0.0001}
    told = claim("{gap:points} points, {rate:percent} %, {n:,}", True, gap=gap, rate=0.2, n=1200)
    assert told.sentence == "−3.0 (−5.1 to −0.01) points, 20.0 %, 1,200"


def test_what_cannot_be_told_is_not_true():
    assert not claim("It grew.", np.nan > 0).holds


@pytest.mark.parametrize("holds", [True, False])
def test_a_page_shows_a_box_where_the_run_contradicts_it(tmp_path, holds):
    page = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(CELL.replace("{holds}", str(holds)))]
    )
    NotebookClient(page).execute()
    shown = page.cells[0].outputs[0]["data"]["text/markdown"]
    assert "The gap is −3.0 points." in shown
    assert (CONTRADICTED in shown) == (not holds)
    nbformat.write(page, tmp_path / "page.ipynb")
    (found,) = of_page(tmp_path / "page.ipynb")
    assert found == claim("The gap is {g:points} points.", holds, title="A gap", g=-0.0304)


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
