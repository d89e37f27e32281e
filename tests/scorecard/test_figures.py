"""What the scorecard's figures name and where they put it."""

import numpy as np
import pandas as pd

from helpers.scorecard.figures import draw_power, draw_ranges, draw_scores, draw_sweep


def test_draws_a_panel_per_score():
    index = pd.MultiIndex.from_product([["null", "plantskin"], ["x", "y"]])
    values = {f"{name}{end}": 0.1 for name in ("bias", "rmse") for end in ("", "_low", "_high")}
    scores = pd.DataFrame(values, index=index.set_names(["model", "estimator"]))
    figure = draw_scores(scores, {"bias": "bias", "rmse": "RMSE"}, {"bias": 0})
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["x", "y"]
    assert len(figure.axes) == 2


def test_scores_that_a_model_has_not_are_left_out():
    index = pd.MultiIndex.from_product([["null", "plantskin"], ["x"]])
    scores = pd.DataFrame({"a": [0.1, np.nan], "b": 0.1}, index.set_names(["model", "estimator"]))
    for end in ("low", "high"):
        scores[[f"a_{end}", f"b_{end}"]] = scores[["a", "b"]]
    figure = draw_scores(scores, {"a": "A", "b": "B"}, {}, logarithmic=["b"])
    assert [len(ax.containers) for ax in figure.axes] == [1, 2]
    assert figure.axes[1].get_xscale() == "symlog"


def test_ranges_hold_the_middle_of_the_estimates_and_the_truth():
    estimates = np.linspace(0, 0.4, 401)
    table = pd.DataFrame({"cell": "a: b", "estimate": estimates, "truth": 0.1})
    (ax,) = draw_ranges(table, "cell", None, None, "points").axes
    (segment,) = ax.containers[0].lines[2][0].get_segments()
    np.testing.assert_allclose(segment[:, 0], [1, 39])
    truth = next(line for line in ax.lines if line.get_label() == "truth")
    assert truth.get_xdata().tolist() == [10]
    panels = draw_ranges(table.assign(kind="k", model="m"), "cell", "kind", "model", "").axes
    assert panels[0].get_title() == "m"


def test_sweeps_have_a_line_per_model():
    rows = [(m, a, x, 0.1 * x) for m in "ab" for a in ("gender", "hair_length") for x in (0, 1)]
    table = pd.DataFrame(rows, columns=["model", "attribute", "x", "value"])
    table = table.assign(low=table["value"], high=table["value"] + 0.1)
    figure = draw_sweep(table, "x", "")
    assert [len(ax.containers) for ax in figure.axes] == [2, 2]
    assert figure.axes[0].get_ylim()[0] == 0
    starts = draw_sweep(table, "x", "", starts=True).axes[0]
    assert len(starts.lines) == len(figure.axes[0].lines) + 3  # two starts and zero
    # Lines that would cover each other stand apart.
    first, second = (bar.lines[0].get_xdata() for bar in starts.containers)
    assert (first != second).all()


def test_power_has_a_formula_and_a_mark_for_every_size():
    found = {"found": [0.1, 0.5], "low": [0.0, 0.3], "high": [0.2, 0.7], "formula": [0.1, np.nan]}
    (ax,) = draw_power(pd.DataFrame({"cell": "c", "transects": [100, 1600], **found})).axes
    formula, marks = ax.lines[0], ax.containers[0].lines[0]
    np.testing.assert_allclose(formula.get_ydata(), [10, np.nan])
    assert marks.get_linestyle() == "None"
    assert marks.get_ydata().tolist() == [10, 50]


def test_a_cell_without_a_line_is_named_so():
    found = {"found": [0.1, 0.5], "low": 0.0, "high": 1.0, "formula": [0.1, 0.4] + [np.nan] * 2}
    found |= {"found": 0.5, "cell": np.repeat(["a", "b"], 2), "transects": [100, 1600] * 2}
    figure = draw_power(pd.DataFrame(found))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b (marks only)"]
