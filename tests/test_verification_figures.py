"""Figures of the verification study: what is drawn where, and what is said and not drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers import figures, verification_figures as drawn
from helpers.identities import GROUPS, STEPS
from helpers.verification import disparities, fixed_threshold, step_effects, vertex_bootstrap

RECOGNISERS = {"arcface-a": 0.09, "arcface-b": 0.05, "sphereface": 0.07, "balanced": 0.0}
DISADVANTAGE = dict(zip(GROUPS, (1.0, 0.75, 0.6, 0.45, 0.25, 0.0), strict=True))
THRESHOLD = 0.38


@pytest.fixture(autouse=True)
def book_style():
    with plt.rc_context():
        figures.style()
        yield
    plt.close("all")


def study(skew: float = 0.09, n_seeds: int = 40, groups=GROUPS, key: int = 0) -> pd.DataFrame:
    """Pairs as `identities.pairs` with a relation, a similarity and a rating each."""
    rng = np.random.default_rng(key)
    steps = [("prototype", "0"), *((a, str(s)) for a in STEPS for s in STEPS[a])]
    tables = []
    for relation, level in zip(drawn.RELATIONS, (0.62, 0.14, 0.04), strict=True):
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


def audited(n_seeds: int = 40) -> tuple[pd.DataFrame, ...]:
    """Curves, rates at fixed FMR, at a fixed threshold, and disparities, of four recognisers."""
    tables = []
    for key, (name, skew) in enumerate(RECOGNISERS.items()):
        frame = study(skew, n_seeds, key=key)
        frame = frame[frame["relation"] != drawn.RELATIONS[2]]
        group = pd.Categorical(frame["group"], GROUPS)
        match = (frame["relation"] == drawn.RELATIONS[0]).to_numpy()
        if key == 2:  # a group without positives, as where raters agree with no intended pair
            keep = ~((group == GROUPS[2]) & match)
            frame, group, match = frame[keep], group[keep], match[keep]
        pairs = frame["similarity"], match, group
        vertices = frame[["seed_first", "seed_second"]]
        bands = vertex_bootstrap(*pairs, vertices, n_boot=60, seed=1)
        found = disparities(
            *pairs, vertices, threshold=THRESHOLD, tolerance=0.05, n_boot=60, seed=1
        )
        parts = bands.curves, bands.at_fmr, fixed_threshold(*pairs, THRESHOLD), found
        tables.append([part.assign(recogniser=name) for part in parts])
    return tuple(pd.concat(parts, ignore_index=True) for parts in zip(*tables, strict=True))
