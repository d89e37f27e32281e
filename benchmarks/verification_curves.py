"""72 verification curves with 1,000 vertex resamples each, of ever more people, on one thread.

Run `python benchmarks/verification_curves.py`. Three recognisers, six groups and four attributes,
as in Fig 6 of the verification paper, on as many pairs as are left there, 11,682 positives and
35,406 negatives of 100 seeds, and on fewer and more. Competitors run in this process on the same
data and weights: scikit-learn's exact curve, resample by resample, and cumulative sums of pairs
sorted once, resample by resample, which isolates the gain of summing all resamples at once. The
loops stop at the resampled curves; ours goes on to intervals at all thresholds and of the FNMR at
two FMRs.
"""

from functools import partial

import numpy as np
from record import Run, grow
from sklearn.metrics import det_curve
from threadpoolctl import threadpool_limits

from faceaudit.effects.resampling import draw_weights
from faceaudit.verification import vertex_bootstrap

SEEDS, GROUPS, ATTRIBUTES, RECOGNISERS = (25, 100, 300), 6, 4, 3
"""Identities in each group; the second number is the paper's."""
POSITIVES, NEGATIVES, OTHERS = 116.82, 354.06, 3
"""Pairs a seed, and whom a prototype is paired with beside itself."""
RESAMPLES, LOOP_RESAMPLES = 1_000, 10
"""The loops run LOOP_RESAMPLES; their time is scaled to RESAMPLES."""
IDENTITY_SHARE, SHIFT = 0.3, 2.5
"""Of the variance of a similarity, what the first identity brings; how far positives lie above."""


def audit(seeds: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Similarities (recognisers, m), is_match (m,), curve (m,) and seeds (m, 2) of all pairs."""
    rng = np.random.default_rng(seed)
    prototype, attribute, _, other = (
        index.ravel() for index in np.indices((seeds * GROUPS, ATTRIBUTES, 5, 1 + OTHERS))
    )
    first = prototype // GROUPS
    # Prototypes are paired with the next ones of their group; `other` 0 is the prototype itself.
    second = (first + other * (1 + first % 7)) % seeds
    curve = prototype % GROUPS * ATTRIBUTES + attribute
    positive = other == 0
    kept = np.sort(
        np.concatenate(
            [
                rng.permutation(np.flatnonzero(kind))[: round(count * seeds)]
                for kind, count in ((positive, POSITIVES), (~positive, NEGATIVES))
            ]
        )
    )
    first, second, curve, positive = (values[kept] for values in (first, second, curve, positive))
    identity = rng.normal(0, np.sqrt(IDENTITY_SHARE), (RECOGNISERS, seeds))
    similarity = identity[:, first] + SHIFT * positive
    similarity += rng.normal(0, np.sqrt(1 - IDENTITY_SHARE), similarity.shape)
    return similarity, positive, curve, np.column_stack([first, second])


def pair_weights(vertices: np.ndarray) -> np.ndarray:
    """Weights of all pairs in LOOP_RESAMPLES resamples, as `vertex_bootstrap` draws them."""
    weights = draw_weights(vertices.max() + 1, range(LOOP_RESAMPLES), 1, "verification")
    first, second = vertices.T
    return np.where(first == second, 1, weights[:, second]) * weights[:, first]


def batched(similarity, positive, curve, vertices) -> None:
    for of_recogniser in similarity:
        vertex_bootstrap(of_recogniser, positive, curve, vertices, n_boot=RESAMPLES, seed=1)


def loop_over_det_curve(similarity, positive, curve, vertices) -> None:
    weights = pair_weights(vertices)
    rows = [np.flatnonzero(curve == code) for code in range(GROUPS * ATTRIBUTES)]
    for of_recogniser in similarity:
        for some in rows:
            for weight in weights[:, some]:
                det_curve(
                    positive[some],
                    of_recogniser[some],
                    sample_weight=weight,
                    drop_intermediate=False,
                )


def loop_over_sums(similarity, positive, curve, vertices) -> None:
    weights = pair_weights(vertices)
    for of_recogniser in similarity:
        for code in range(GROUPS * ATTRIBUTES):
            some = np.flatnonzero(curve == code)
            some = some[np.argsort(of_recogniser[some])]
            for weight in weights[:, some]:
                for kind in (positive[some], ~positive[some]):
                    rejected = np.cumsum(weight * kind)
                    rejected /= rejected[-1]


def difference(similarity, positive, curve, vertices) -> float:
    """Largest difference of the curves from `det_curve` at common thresholds."""
    table = vertex_bootstrap(similarity[0], positive, curve, vertices, n_boot=2, seed=1).curves
    largest = 0.0
    for code, rows in table.groupby("group"):
        some = curve == code
        fmr, fnmr, at = det_curve(positive[some], similarity[0, some], drop_intermediate=False)
        finite = np.isfinite(at)
        exact = rows.set_index("threshold").loc[at[finite], ["fmr", "fnmr"]].to_numpy()
        theirs = np.column_stack([fmr, fnmr])[finite]
        largest = max(largest, np.abs(exact - theirs).max())
    return largest


def competitors(seeds: int) -> dict[str, Run]:
    data, scale = audit(seeds), RESAMPLES / LOOP_RESAMPLES
    return {
        "vertex_bootstrap, with its intervals": Run(partial(batched, *data)),
        "scikit-learn det_curve, loop over resamples": Run(
            partial(loop_over_det_curve, *data), scale
        ),
        "numpy cumulative sums, loop over resamples": Run(partial(loop_over_sums, *data), scale),
    }


def main() -> None:
    facts = {
        "curves": RECOGNISERS * GROUPS * ATTRIBUTES,
        "pairs an identity": round(POSITIVES + NEGATIVES),
        "resamples": RESAMPLES,
        "threads": 1,
        "resamples timed in a loop, then scaled": LOOP_RESAMPLES,
        "largest difference from det_curve at common thresholds": (
            f"{difference(*audit(SEEDS[0])):.0e}"
        ),
    }
    with threadpool_limits(1):
        sizes = {seeds: competitors(seeds) for seeds in SEEDS}
        grow("verification_curves", "identities", sizes, facts, ["numpy", "scikit-learn"])


if __name__ == "__main__":
    main()
