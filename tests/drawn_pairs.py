"""What a figure of the verification study shows; and pairs to draw. Several tests share it."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from helpers import figures
from helpers.identities import GROUPS, STEPS
from helpers.verification import figure_steps

DISADVANTAGE = dict(zip(GROUPS, (1.0, 0.75, 0.6, 0.45, 0.25, 0.0), strict=True))


def pairs_by_step(
    skew: float = 0.09, n_seeds: int = 40, groups=GROUPS, key: int = 0
) -> pd.DataFrame:
    """Pairs as `identities.pairs` with a relation, a similarity and a rating each."""
    rng = np.random.default_rng(key)
    steps = [("prototype", "0"), *((a, str(s)) for a in STEPS for s in STEPS[a])]
    tables = []
    for relation, level in zip(figure_steps.RELATIONS, (0.62, 0.14, 0.04), strict=True):
        variants = steps[1:] if relation.startswith("same") else steps
        for group in groups:
            first = np.repeat(np.arange(n_seeds), len(variants))
            far = np.array([2 if s in ("-30", "30", "-2", "2") else s != "0" for _, s in variants])
            weight = np.array([0.09 if a == "pose" else 0.04 for a, _ in variants])
            bias = skew * DISADVANTAGE[group] * (-1 if relation.startswith("same") else 1)
            person = rng.normal(0, 0.07, n_seeds)[first]
            mean = level + bias - np.tile(far * weight, n_seeds) * (level > 0.5)
            seen = 0.12 if relation.startswith("same") else 0.8
            table = pd.DataFrame(variants * n_seeds, columns=["attribute", "step"])
            tables.append(
                table.assign(
                    relation=relation,
                    group=group,
                    seed_first=first,
                    seed_second=first if level > 0.5 else (first + 1) % n_seeds,
                    similarity=mean + person + rng.normal(0, 0.07, len(first)),
                    rating=(seen + rng.normal(0, 0.15, len(first))).clip(0, 1).round(2),
                )
            )
    return pd.concat(tables, ignore_index=True)


def words(ax) -> str:
    return "\n".join(text.get_text() for text in ax.texts)


def bars(ax) -> list[tuple]:
    """(place, middle, low, high, marker, face) of every drawn error bar, upright or level."""
    found = []
    for container in ax.containers:
        line, _, (whiskers,) = container
        for x, y, ends in zip(*line.get_data(), whiskers.get_segments(), strict=True):
            across = int(np.ptp(ends[:, 1]) > np.ptp(ends[:, 0]))
            middle, place = (y, x) if across else (x, y)
            low, high = sorted(ends[:, across])
            found.append((place, middle, low, high, line.get_marker(), line.get_markerfacecolor()))
    return found


def check_page(figure) -> None:
    """It is as wide as the page, and no text is small or beyond its edge."""
    assert figure.get_figwidth() == figures.WIDTH and figure.get_figheight() < 9
    figure.draw_without_rendering()
    shown = [t for t in figure.findobj(plt.Text) if t.get_visible() and t.get_text()]
    assert len(shown) > 5 and min(text.get_fontsize() for text in shown) >= 10
    for text in (text for legend in figure.legends for text in legend.get_texts()):
        box = text.get_window_extent()
        assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1, text
