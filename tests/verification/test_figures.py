"""Figures of the verification study: what is drawn where, and what is said and not drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers import figures
from helpers.verification import (
    ATTRIBUTES,
    GROUPS,
    STEPS,
    disparities,
    fixed_threshold,
    step_effects,
    vertex_bootstrap,
)
from helpers.verification import figure_steps as by_step
from helpers.verification import figures as drawn

pytestmark = pytest.mark.usefixtures("book_style")

RECOGNISERS = ("arcface-a", "arcface-b", "sphereface", "balanced")
THRESHOLD, N = 0.4, 12
LACKING = "sphereface"
"""The recogniser that has no positives of a group, as where raters agree with no intended pair."""


def study(key: int = 0) -> pd.DataFrame:
    """Pairs of N seeds in six groups, each with itself and with the next two in a ring."""
    rng = np.random.default_rng(key)
    steps = [("prototype", "0"), *((name, str(step)) for name in STEPS for step in STEPS[name])]
    tables = []
    for apart in range(3):
        for number, group in enumerate(GROUPS):
            seeds, variants = np.arange(N).repeat(17), pd.DataFrame(steps * N)
            variants.columns = ["attribute", "step"]
            near = 0.6 - 0.02 * number if apart == 0 else 0.2
            ends = {"seed_first": seeds, "seed_second": (seeds + apart) % N, "group": group}
            values = {"similarity": near + rng.normal(0, 0.1, 17 * N), "rating": rng.random(17 * N)}
            relation = by_step.RELATIONS[min(apart, 1)]
            tables.append(variants.assign(**ends, **values, relation=relation))
    table = pd.concat(tables, ignore_index=True)
    return table[(table["step"] != "0") | (table["relation"] != by_step.RELATIONS[0])]


@pytest.fixture(scope="module")
def pairs() -> pd.DataFrame:
    return study()


@pytest.fixture(scope="module")
def audited() -> dict[str, pd.DataFrame]:
    """Curves, rates at fixed FMR, at a fixed threshold, and disparities, of four recognisers."""
    found = {"curves": [], "held": [], "fixed": [], "gaps": []}
    for key, name in enumerate(RECOGNISERS):
        table = study(key)
        match = table["relation"] == by_step.RELATIONS[0]
        table = table[~(match & (table["group"] == GROUPS[2]) & (name == LACKING))]
        match = table["relation"] == by_step.RELATIONS[0]
        three = table["similarity"], match, pd.Categorical(table["group"], GROUPS)
        vertices, boot = table[["seed_first", "seed_second"]], {"n_boot": 40, "seed": 1}
        bands = vertex_bootstrap(*three, vertices, **boot)
        rule = {"threshold": THRESHOLD, "tolerance": 0.05}
        tables = {"curves": bands.curves, "held": bands.at_fmr}
        tables["fixed"] = fixed_threshold(*three, THRESHOLD)
        tables["gaps"] = disparities(*three, vertices, **rule, **boot)
        for kind, one in tables.items():
            found[kind].append(one.assign(recogniser=name, attribute="pose"))
    return {kind: pd.concat(parts, ignore_index=True) for kind, parts in found.items()}


def words(ax) -> str:
    return "\n".join(text.get_text() for text in ax.texts)


def bars(ax) -> np.ndarray:
    """Place, middle, low and high of every drawn error bar, upright or level, in rows."""
    found = []
    for line, _, (whiskers,) in ax.containers:
        for x, y, ends in zip(*line.get_data(), whiskers.get_segments(), strict=True):
            across = int(np.ptp(ends[:, 1]) > np.ptp(ends[:, 0]))
            middle, place = (y, x) if across else (x, y)
            found.append((place, middle, *sorted(ends[:, across])))
    return np.array(found)


def test_all_are_as_wide_as_the_page_and_no_text_is_small(pairs, audited):
    seen = pairs.rename(columns={"rating": "score", "step": "shown"})
    at = audited["held"]["fmr"] == 0.01
    gaps = audited["gaps"]["measure"] == "FNMR at FMR"
    for figure in (
        by_step.draw_pairs(pairs, ATTRIBUTES, "similarity", THRESHOLD),
        by_step.draw_perceived(seen[seen["attribute"].isin(["expression", "age"])]),
        by_step.draw_step_effects(step_effects(pairs[pairs["relation"] == by_step.RELATIONS[0]])),
        drawn.draw_rates(audited["held"][at]),
        drawn.draw_disparities(audited["gaps"][gaps], 0.05),
        drawn.draw_curves(audited["curves"], audited["fixed"]),
    ):
        assert figure.get_figwidth() == figures.WIDTH and figure.get_figheight() < 9
        figure.draw_without_rendering()
        shown = [t for t in figure.findobj(plt.Text) if t.get_visible() and t.get_text().strip()]
        assert len(shown) > 5 and min(text.get_fontsize() for text in shown) >= 10
        for text in (text for legend in figure.legends for text in legend.get_texts()):
            box = text.get_window_extent()
            assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1, text


def test_rates_stand_at_their_value_or_say_why_not(audited):
    for fmr, said in ((0.01, "no positives"), (1e-3, "not estimable below 1/408")):
        table = audited["held"][audited["held"]["fmr"] == fmr]
        panels = table.groupby("recogniser", sort=False)
        for ax, (name, own) in zip(drawn.draw_rates(table).axes, panels, strict=True):
            assert ax.get_title() == name
            expected = own.dropna(subset="fnmr")[["fnmr", "low", "high"]]
            np.testing.assert_allclose(bars(ax)[:, 1:] if len(expected) else expected, expected)
            assert (said in words(ax)) == (fmr == 1e-3 or name == LACKING)


def test_disparities_mark_verdicts_against_the_tolerance(audited):
    table = audited["gaps"][audited["gaps"]["measure"] == "FNMR at FMR"].copy()
    table.loc[table.index[0], "verdict"] = "within"
    panels = table.groupby("recogniser", sort=False)
    for ax, (_, own) in zip(drawn.draw_disparities(table, 0.05).axes, panels, strict=True):
        own = own[own["reason"] == ""]
        np.testing.assert_allclose(bars(ax)[:, 1:], own[["estimate", "low", "high"]])
        for (line, *_), verdict in zip(ax.containers, own["verdict"], strict=True):
            marker, filled = drawn.VERDICTS[verdict]
            assert line.get_marker() == marker
            assert (line.get_markerfacecolor() != "white") == filled
        thick = [line.get_xdata() for line in ax.lines if line.get_linewidth() == 4]
        shown = [ends for ends in thick if np.isfinite(ends).all()]
        np.testing.assert_allclose(shown, own[["low90", "high90"]])


def test_curves_hold_exact_points_down_to_one_false_match(audited):
    curves, fixed = audited["curves"], audited["fixed"].copy()
    fixed.loc[0, "fmr"] = 0.0  # no false match at all: fewer than one can tell from 1 / negatives
    figure = drawn.draw_curves(curves, fixed)
    for ax, name in zip(figure.axes, RECOGNISERS, strict=True):
        assert (f"{GROUPS[2]}: no positives" in words(ax)) == (name == LACKING)
        own = curves[curves["recogniser"] == name]
        estimable = [g for g in GROUPS if own.loc[own["group"] == g, "fnmr"].notna().all()]
        lines = [line for line in ax.lines if len(line.get_xdata()) > 1]
        points = [line for line in ax.lines if len(line.get_xdata()) == 1]
        rows = fixed[fixed["recogniser"] == name].set_index("group").loc[estimable]
        for line, point, group in zip(lines, points, estimable, strict=True):
            exact = own[(own["group"] == group) & (own["fmr"] > 0)].groupby("fmr")["fnmr"].min()
            fmr, fnmr = line.get_data()
            assert fmr.min() == 1 / 408 and (exact[fmr] == fnmr).all()
            row = rows.loc[group]
            expected = (max(row["fmr"], 1 / 408), row["fnmr"])
            assert tuple(point.get_xydata()[0]) == expected
            assert point.get_marker() == ("<" if row["fmr"] < 1 / 408 else "^")
    assert figure.axes[0].get_title(loc="left") == "pose, n = 0 to 192 / 408"


def test_frames_show_every_threshold_and_what_lacks(audited):
    curves = audited["curves"]
    lacking = curves[curves["recogniser"] == LACKING]
    one, other = (lacking.groupby("group", observed=True).nth(k) for k in (20, 60))
    rates = pd.concat([one.assign(threshold=0.2), other.assign(threshold=0.5)])
    first, second = drawn.draw_frames(rates)
    assert first.dtype == np.uint8 and (first[:, -60:] == second[:, -60:]).all()
    assert (first != second).any() and plt.get_fignums() == []
