"""Figures of the verification study: what is drawn where, and what is said and not drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers import figures, verification
from helpers.verification import GROUPS, STEPS
from helpers.verification import figures as drawn

pytestmark = pytest.mark.usefixtures("book_style")
RECOGNISERS = ("arcface-a", "arcface-b", "sphereface", "balanced")
LACKING = "sphereface"
"""The recogniser that has no positives of a group, as where raters agree with no intended pair."""
N = 12


def study(key: int = 0) -> pd.DataFrame:
    """Pairs of N seeds in six groups, each with itself and with the next two in a ring."""
    rng = np.random.default_rng(key)
    steps = [("prototype", "0"), *((name, str(step)) for name in STEPS for step in STEPS[name])]
    tables = []
    for apart in range(3):
        for number, group in enumerate(GROUPS):
            table = pd.DataFrame(steps * N, columns=["attribute", "step"])
            near = 0.6 - 0.02 * number if apart == 0 else 0.2
            table["seed_first"] = np.arange(N).repeat(17)
            table["seed_second"] = (table["seed_first"] + apart) % N
            table["similarity"] = near + rng.normal(0, 0.1, 17 * N)
            relation = drawn.RELATIONS[min(apart, 1)]
            tables.append(table.assign(group=group, rating=rng.random(17 * N), relation=relation))
    table = pd.concat(tables, ignore_index=True)
    table["match"] = table["relation"] == drawn.RELATIONS[0]
    return table[(table["step"] != "0") | ~table["match"]]


@pytest.fixture(scope="module")
def audited() -> dict[str, pd.DataFrame]:
    """Curves, rates at fixed FMR, at a fixed threshold, and disparities, of four recognisers."""
    found = {"curves": [], "held": [], "fixed": [], "gaps": []}
    for key, name in enumerate(RECOGNISERS):
        table = study(key)
        table = table[~(table["match"] & (table["group"] == GROUPS[2]) & (name == LACKING))]
        three = table["similarity"], table["match"], pd.Categorical(table["group"], GROUPS)
        vertices, boot = table[["seed_first", "seed_second"]], {"n_boot": 40, "seed": 1}
        bands = verification.vertex_bootstrap(*three, vertices, **boot)
        rule = {"threshold": 0.4, "tolerance": 0.05}
        gaps = verification.disparities(*three, vertices, **rule, **boot)
        fixed = verification.fixed_threshold(*three, 0.4)
        for kind, one in zip(found, (bands.curves, bands.at_fmr, fixed, gaps), strict=True):
            found[kind].append(one.assign(recogniser=name, attribute="pose"))
    return {kind: pd.concat(parts, ignore_index=True) for kind, parts in found.items()}


def words(ax) -> str:
    return "\n".join(text.get_text() for text in ax.texts)


def ends(ax) -> np.ndarray:
    """Ends of all level error bars, from the top down."""
    segments = np.concatenate([bar.lines[2][0].get_segments() for bar in ax.containers])
    return segments[segments[:, 0, 1].argsort(), :, 0]


def test_all_are_as_wide_as_the_page_and_no_text_is_small(audited):
    pairs, gaps = study(), audited["gaps"]
    for figure in (
        drawn.draw_pairs(pairs, verification.ATTRIBUTES, "rating", 0.4),
        drawn.draw_step_effects(verification.step_effects(pairs[pairs["match"]])),
        drawn.draw_rates(audited["held"][audited["held"]["fmr"] == 0.01]),
        drawn.draw_disparities(gaps[gaps["measure"] == "FNMR at FMR"], 0.05),
        drawn.draw_curves(audited["curves"], audited["fixed"]),
    ):
        assert figure.get_figwidth() == figures.WIDTH and figure.get_figheight() < 9
        figure.draw_without_rendering()
        shown = [t for t in figure.findobj(plt.Text) if t.get_visible() and t.get_text().strip()]
        assert len(shown) > 5 and min(text.get_fontsize() for text in shown) >= 10
        for text in (text for legend in figure.legends for text in legend.get_texts()):
            box = text.get_window_extent()
            assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1, text


def test_rates_and_disparities_stand_at_their_value_or_say_why_not(audited):
    table = audited["held"][audited["held"]["fmr"] == 0.01]
    gaps = audited["gaps"][audited["gaps"]["measure"] == "FNMR at FMR"]
    both = (drawn.draw_rates(table), table), (drawn.draw_disparities(gaps, 0.05), gaps)
    for figure, rows in both:
        parts = rows.groupby("recogniser", sort=False)
        for ax, (name, own) in zip(figure.axes, parts, strict=True):
            assert ax.get_title() == name
            shown = own.dropna(subset="low")[["low", "high"]]
            np.testing.assert_allclose(ends(ax), 100 * shown)
            assert ("no positives" in words(ax)) == (name == LACKING)
