"""How often intervals of FNMR and FMR hold the true rate, ours and those that are recommended.

Run `python benchmarks/verification_intervals.py`. Identities with random effects are compared as in
chapter 14: each with 16 pictures of itself, and with 17 of each of the next three in a ring. A pair
errs where a normal variable falls beyond a threshold, so the rates are known. Three intervals are
held against them: the book's (`faceaudit.verification.vertex_bootstrap`), the one that Fogliato,
Patil & Perona (IJCV 132 (2024)) recommend, and Wilson's for so many independent pairs. They are
of rates at one threshold, and of differences of two groups that share their seeds, for which the
other two are combined as if the groups were independent, and the book's is that of
`faceaudit.verification.disparities`. Of the book's intervals alone, the FNMR where the threshold is
set for an FMR.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from record import RESULTS, write_rows
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint
from threadpoolctl import threadpool_limits

from faceaudit.verification import vertex_bootstrap
from faceaudit.verification.differences import difference_score, ordered_pairs
from helpers import figures

IDENTITIES, RATES = (25, 50, 100, 200), (0.01, 0.02, 0.05, 0.1)
OWN, OTHERS, OTHERS_EACH = 16, 3, 17
"""Pictures of oneself, others that one is compared with, and pictures of each of them."""
EASE, SHARED, DYAD, SHIFT = 0.5, 0.15, 0.2, 4.0
"""Of a variance of 1: an identity's own among positives; either identity's and their pair's among
negatives. How far positives lie above negatives."""
GAP, HELD = 0.05, 0.01
"""By how much a second group errs more often; the FMR that is held."""
REPETITIONS, DIFFERENCES, RESAMPLES = 1000, 300, 300
"""Audits of one group, those of two, and resamples of the first."""
GOOD = (92, 97)
"""Coverage (%) that is called right."""
OURS, THEIRS, PAIRS = "ours", "recommended", "pairs"
AT_FMR = f"FNMR at an FMR of {HELD:.0%}"
Z = norm.ppf(0.975)
Row = dict[str, object]


def pairs(
    n: int, groups: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Standard normal scores (groups, m), whether pairs are positives (m,), identities (m, 2).

    Half of every shared variance is common to the groups, as for prototypes of one seed.
    """
    first = np.repeat(np.arange(n), OTHERS)
    second = (first + np.tile(np.arange(1, OTHERS + 1), n)) % n

    def effects(size: int, share: float) -> np.ndarray:
        draws = rng.normal(0, np.sqrt(share / 2), (1 + groups, size))
        return draws[:1] + draws[1:]

    seeds, ease = effects(n, SHARED), effects(n, EASE)
    negative = seeds[:, first] + seeds[:, second] + effects(len(first), DYAD)
    own, others = np.repeat(ease, OWN, axis=1), np.repeat(negative, OTHERS_EACH, axis=1)
    own = own + rng.normal(0, np.sqrt(1 - EASE), own.shape)
    others = others + rng.normal(0, np.sqrt(1 - 2 * SHARED - DYAD), others.shape)
    vertices = np.concatenate(
        [
            np.repeat(np.column_stack([np.arange(n)] * 2), OWN, axis=0),
            np.repeat(np.column_stack([first, second]), OTHERS_EACH, axis=0),
        ]
    )
    positive = vertices[:, 0] == vertices[:, 1]
    return np.concatenate([own, others], axis=1), positive, vertices


def recommended(error: np.ndarray, vertices: np.ndarray) -> tuple[float, float]:
    """Wilson's interval for the effective size p (1 - p) / v, with the plug-in variance v.

    It sums the products of residuals of all pairs that have an identity in common. As in the
    authors' package, covariances that sum to less than zero count as zero, and without an error
    every pair counts as independent. Fogliato, Patil & Perona 2024.
    """
    rate, m = error.mean(), len(error)
    (low, high), residual = np.sort(vertices, axis=1).T, error - rate
    _, dyad = np.unique(low * (vertices.max() + 1) + high, return_inverse=True)
    of_dyad = np.bincount(dyad, residual)
    variance = (of_dyad**2).sum()
    two = low != high
    of_identity = np.bincount(np.concatenate([low[two], high[two]]), np.tile(residual[two], 2))
    # Squares of sums by identity hold every dyad of two twice, and their products once.
    variance += max((of_identity**2).sum() - 2 * (np.bincount(dyad, residual * two) ** 2).sum(), 0)
    size = m if rate in (0, 1) else rate * (1 - rate) * m**2 / variance
    return wilson(rate, size)


def wilson(rate: float, size: float) -> tuple[float, float]:
    """Roots p of (p - rate)² = z² p (1 - p) / size."""
    half = Z * np.sqrt(rate * (1 - rate) / size + (Z / size / 2) ** 2)
    middle, scale = rate + Z**2 / size / 2, 1 + Z**2 / size
    return (middle - half) / scale, (middle + half) / scale


def intervals(error: np.ndarray, vertices: np.ndarray) -> dict[str, tuple[float, float]]:
    """The two intervals that need no resamples."""
    counts = error.sum(), len(error)
    return {
        THEIRS: recommended(error, vertices),
        PAIRS: proportion_confint(*counts, method="wilson"),
    }


def judged(n: int, what: str, truth: float, ends: dict[str, tuple[float, float]]) -> list[Row]:
    """What every interval did."""
    return [
        {"identities": n, "what": what, "interval": name, "width": high - low}
        | {"coverage": low <= truth <= high}
        for name, (low, high) in ends.items()
    ]


def one_group(n: int, seed: int) -> list[Row]:
    """One audit of one group: rates at thresholds, and the FNMR where the FMR is held."""
    scores, positive, vertices = pairs(n, 1, np.random.default_rng([n, seed]))
    scores = scores[0] + SHIFT * positive
    points = {"FNMR": SHIFT + norm.ppf(RATES), "FMR": norm.isf(RATES)}
    found = vertex_bootstrap(
        scores, positive, np.zeros(len(scores)), vertices,
        fmr=[HELD], n_boot=RESAMPLES, seed=seed, thresholds=np.concatenate([*points.values()]),
    )  # fmt: skip
    rows = []
    for number, threshold in enumerate(np.concatenate([*points.values()])):
        kind, rate = [*points][number // len(RATES)], RATES[number % len(RATES)]
        some = positive if kind == "FNMR" else ~positive
        error = (scores[some] < threshold) == (kind == "FNMR")
        ours = found.curves.loc[number, [f"{kind.lower()}_low", f"{kind.lower()}_high"]]
        ends = {OURS: tuple(ours)} | intervals(error, vertices[some])
        rows += judged(n, f"{kind} {rate:.0%}", rate, ends)
    held, truth = found.at_fmr.iloc[0], norm.cdf(norm.isf(HELD) - SHIFT)
    return rows + judged(n, AT_FMR, truth, {OURS: (held["low"], held["high"])})


def two_groups(n: int, seed: int) -> list[Row]:
    """One audit of two groups: differences of their rates at one threshold."""
    scores, positive, vertices = pairs(n, 2, np.random.default_rng([n, seed, 2]))
    rows = []
    for rate in RATES:
        rates = np.array([[rate + GAP], [rate]])
        at = scores + np.where(positive, norm.isf(rates), norm.ppf(rates))  # the threshold is 0
        for kind, some in (("FNMR", positive), ("FMR", ~positive)):
            errors = (at[:, some] < 0) == (kind == "FNMR")
            # As `disparities` has it, without its third measure, whose resamples would take longer.
            prone = at[:, some] * (-1 if kind == "FNMR" else 1)
            other, reference = (ordered_pairs(row, vertices[some], n) for row in prone)
            counts = errors.sum(axis=1)[None, ::-1]
            low, high = difference_score(reference, other, counts).interval()
            ends = {OURS: (low.item(), high.item())}
            other, own = (intervals(error, vertices[some]) for error in errors)
            p, q = errors.mean(axis=1)
            for name in own:
                (low, high), (own_low, own_high) = other[name], own[name]
                # Newcombe's combination of the intervals of two independent rates.
                below, above = np.hypot(p - low, own_high - q), np.hypot(high - p, q - own_low)
                ends[name] = p - q - below, p - q + above
            rows += judged(n, f"{kind}, {rate + GAP:.0%} − {rate:.0%}", GAP, ends)
    return rows


def summary(rows: list[Row]) -> pd.DataFrame:
    """Share of audits whose intervals hold the truth, and mean widths, in per cent and points."""
    by = ["identities", "what", "interval"]
    means = pd.DataFrame(rows).groupby(by, sort=False)[["coverage", "width"]].mean()
    return (100 * means).reset_index()


def draw(table: pd.DataFrame) -> None:
    """Coverage by number of identities, a mark per rate, for the book."""
    figures.style()
    kinds = {
        "one rate": ~table["what"].str.contains("−"),
        "a difference": table["what"].str.contains("−"),
    }
    _, axes = plt.subplots(1, 2, figsize=(figures.WIDTH, 3.4), sharey=True)
    names = {OURS: "this book", THEIRS: "Fogliato et al.", PAIRS: "independent pairs"}
    for ax, (title, rows) in zip(axes, kinds.items(), strict=True):
        ax.axhspan(*GOOD, color="#DDDDDD", zorder=0)
        for place, (name, look) in enumerate(zip(names, figures.SPARE, strict=False)):
            own = table[rows & (table["interval"] == name)]
            x = own["identities"].map(IDENTITIES.index) + 0.2 * (place - 1)
            ax.plot(
                x, own["coverage"], look.marker, color=look.colour, alpha=0.7, label=names[name]
            )
        ax.set_xticks(range(len(IDENTITIES)), [f"{n}" for n in IDENTITIES])
        ax.set(title=title, xlabel="identities")
    axes[0].set_ylabel("intervals that hold it (%)")
    axes[0].figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncol=3)
    path = RESULTS / "verification_intervals.svg"
    plt.savefig(path, bbox_inches="tight", metadata={"Date": None})


def main() -> None:
    studies = {one_group: REPETITIONS, two_groups: DIFFERENCES}
    with threadpool_limits(1):
        rows = [
            row
            for study, audits in studies.items()
            for n in IDENTITIES
            for seed in range(audits)
            for row in study(n, seed)
        ]
    table = summary(rows)
    held = table.loc[table["what"] == AT_FMR, "coverage"]
    table = table[table["what"] != AT_FMR]
    draw(table)
    wide = table.pivot_table(["coverage", "width"], ["identities", "what"], "interval", sort=False)
    shown = []
    for (n, what), row in wide.iterrows():
        cells = {f"{name} (%)": row["coverage", name] for name in (OURS, THEIRS, PAIRS)}
        cells |= {f"width, {name}": row["width", name] for name in (OURS, THEIRS)}
        shown.append({"what": f"{n} identities: {what}"} | cells)
    facts = {
        "audits of one group": REPETITIONS,
        "audits of two groups": DIFFERENCES,
        "resamples": RESAMPLES,
        "standard error of a coverage of 95% (points)": (
            f"{100 * np.sqrt(0.95 * 0.05 / REPETITIONS):.1f}, of differences "
            f"{100 * np.sqrt(0.95 * 0.05 / DIFFERENCES):.1f}"
        ),
        "widths": "points",
    }
    for name in (OURS, THEIRS, PAIRS):
        own = table.loc[table["interval"] == name, "coverage"]
        facts[f"rows within {GOOD[0]} to {GOOD[1]}%, {name}"] = (
            f"{own.between(*GOOD).sum()} of {len(own)}; {own.min():.1f} to {own.max():.1f}"
        )
    facts[f"{AT_FMR}, ours"] = f"{held.min():.1f} to {held.max():.1f}"
    write_rows("verification_intervals", facts, shown, ["numpy", "scipy", "statsmodels"])


if __name__ == "__main__":
    main()
