"""72 verification curves with 1,000 vertex resamples each, on one thread.

Run `python benchmarks/verification_curves.py`. Three recognisers, six groups and four attributes,
as in Fig 6 of the verification paper, on as many pairs as are left there: 11,682 positives and
35,406 negatives of 100 seeds. Competitors run in this process on the same data and weights:
scikit-learn's exact curve, resample by resample, and cumulative sums of pairs sorted once, resample
by resample, which isolates the gain of summing all resamples at once. The loops stop at the
resampled curves; ours goes on to intervals at all thresholds and of the FNMR at two FMRs.
"""

import numpy as np
from record import seconds, write
from sklearn.metrics import det_curve
from threadpoolctl import threadpool_limits

from helpers.resampling import draw_weights
from helpers.verification import vertex_bootstrap

SEEDS, GROUPS, ATTRIBUTES, RECOGNISERS = 100, 6, 4, 3
POSITIVES, NEGATIVES, OTHERS = 11_682, 35_406, 3
RESAMPLES, LOOP_RESAMPLES = 1_000, 10
"""The loops run LOOP_RESAMPLES; their time is scaled to RESAMPLES."""
IDENTITY_SHARE, SHIFT = 0.3, 2.5
"""Of the variance of a similarity, what the first identity brings; how far positives lie above."""


def audit(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Similarities (recognisers, m), is_match (m,), curve (m,) and seeds (m, 2) of all pairs."""
    rng = np.random.default_rng(seed)
    prototype, attribute, _, other = (
        index.ravel() for index in np.indices((SEEDS * GROUPS, ATTRIBUTES, 5, 1 + OTHERS))
    )
    first = prototype // GROUPS
    # Prototypes are paired with the next ones of their group; `other` 0 is the prototype itself.
    second = (first + other * (1 + first % 7)) % SEEDS
    curve = prototype % GROUPS * ATTRIBUTES + attribute
    positive = other == 0
    kept = np.sort(
        np.concatenate(
            [
                rng.permutation(np.flatnonzero(kind))[:count]
                for kind, count in ((positive, POSITIVES), (~positive, NEGATIVES))
            ]
        )
    )
    first, second, curve, positive = (values[kept] for values in (first, second, curve, positive))
    identity = rng.normal(0, np.sqrt(IDENTITY_SHARE), (RECOGNISERS, SEEDS))
    similarity = identity[:, first] + SHIFT * positive
    similarity += rng.normal(0, np.sqrt(1 - IDENTITY_SHARE), similarity.shape)
    return similarity, positive, curve, np.column_stack([first, second])


def pair_weights(vertices: np.ndarray) -> np.ndarray:
    """Weights of all pairs in LOOP_RESAMPLES resamples, as `vertex_bootstrap` draws them."""
    weights = draw_weights(SEEDS, range(LOOP_RESAMPLES), 1, "verification")
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


def main() -> None:
    data = audit()
    scale = RESAMPLES / LOOP_RESAMPLES
    with threadpool_limits(1):
        times = {
            "vertex_bootstrap, with its intervals": seconds(lambda: batched(*data)),
            "scikit-learn det_curve, loop over resamples": scale
            * seconds(lambda: loop_over_det_curve(*data)),
            "numpy cumulative sums, loop over resamples": scale
            * seconds(lambda: loop_over_sums(*data)),
        }
    facts = {
        "curves": RECOGNISERS * GROUPS * ATTRIBUTES,
        "pairs": len(data[1]),
        "identities": SEEDS,
        "resamples": RESAMPLES,
        "threads": 1,
        "resamples timed in a loop, then scaled": LOOP_RESAMPLES,
        "largest difference from det_curve at common thresholds": f"{difference(*data):.0e}",
    }
    write("verification_curves", facts, times, ["numpy", "scikit-learn"])


if __name__ == "__main__":
    main()
