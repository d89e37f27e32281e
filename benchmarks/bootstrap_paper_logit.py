"""1,000 refits of the paper's logit at its size (transects, section 5.5), on one thread.

Run `python benchmarks/bootstrap_paper_logit.py`. Competitors run in the same process on the same
data: the loop over scikit-learn fits that one would write, and the same loop over the distinct
covariate patterns only, which isolates the gain of fitting all resamples at once. Times are CPU
seconds of this process, which other load on the machine changes least.
"""

import platform
from time import process_time

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from helpers.effects import bootstrap_paper_logit
from helpers.resampling import cluster_weights

IMAGES, TRANSECTS, REFITS = 5_335, 1_000, 1_000
LEVELS = (2, 2, 2, 2, 2, 3, 4)
LOOP_REFITS = 100
"""The loops run this many refits; their time is scaled to REFITS."""


def audit(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """17 one-hot columns, errors at about 8 % and transects, of the paper's size."""
    rng = np.random.default_rng(seed)
    transect = np.sort(
        np.append(np.arange(TRANSECTS), rng.integers(TRANSECTS, size=IMAGES - TRANSECTS))
    )
    shares = [np.arange(count, 0, -1) / np.arange(1, count + 1).sum() for count in LEVELS]
    X = np.hstack([np.eye(len(share))[rng.choice(len(share), IMAGES, p=share)] for share in shares])
    log_odds = -2.5 + X @ rng.normal(0, 0.4, X.shape[1])
    return X, (rng.random(IMAGES) < 1 / (1 + np.exp(-log_odds))).astype(int), transect


def fit(X: np.ndarray, error: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    model = LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    model.fit(X, error, sample_weight=weight)
    return np.append(model.intercept_, model.coef_)


def loop_over_images(X: np.ndarray, error: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(1)
    draws = rng.integers(len(X), size=(LOOP_REFITS, len(X)))
    return np.array([fit(X[draw], error[draw]) for draw in draws])


def loop_over_patterns(X: np.ndarray, error: np.ndarray) -> np.ndarray:
    rows, code = np.unique(np.column_stack([X, error]), axis=0, return_inverse=True)
    weights = cluster_weights(np.arange(len(X)), LOOP_REFITS, seed=1)
    counts = [np.bincount(code, weight, minlength=len(rows)) for weight in weights]
    return np.array([fit(rows[:, :-1], rows[:, -1], count) for count in counts])


def seconds(run) -> tuple[float, np.ndarray]:
    start = process_time()
    result = run()
    return process_time() - start, result


def main() -> None:
    X, error, transect = audit()
    with threadpool_limits(1):
        bootstrap_paper_logit(X, error, 10, seed=1)  # imports and first calls
        images, fitted = seconds(lambda: bootstrap_paper_logit(X, error, REFITS, seed=1))
        clusters, _ = seconds(lambda: bootstrap_paper_logit(X, error, REFITS, 1, transect))
        loop, _ = seconds(lambda: loop_over_images(X, error))
        patterns, same_resamples = seconds(lambda: loop_over_patterns(X, error))
    scale = REFITS / LOOP_REFITS
    difference = np.abs(fitted[:LOOP_REFITS] - same_resamples).max()

    print(
        f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}, "
        f"scikit-learn {sklearn.__version__}, one thread"
    )
    print(f"{REFITS} refits, {IMAGES} images, {X.shape[1]} columns, {error.mean():.1%} errors")
    rows = {
        "bootstrap_paper_logit, images": images,
        "bootstrap_paper_logit, transects": clusters,
        "scikit-learn loop over images": loop * scale,
        "scikit-learn loop over patterns": patterns * scale,
    }
    for name, time in rows.items():
        print(f"{name:34s} {time:7.2f} s  {time / images:6.1f} x")
    print(f"largest difference of a coefficient on the same resamples: {difference:.1e}")


if __name__ == "__main__":
    main()
