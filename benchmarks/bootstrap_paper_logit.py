"""1,000 refits of the paper's logit, at its size and others (transects, section 5.5), one thread.

Run `python benchmarks/bootstrap_paper_logit.py`. Competitors run in the same process on the same
data: the loop over scikit-learn fits that one would write, the same loop over the distinct
covariate patterns only, which isolates the gain of fitting all resamples at once, the loop over
statsmodels fits (reference coding, no penalty), and the bootstrap of fairlearn's MetricFrame, which
gives error rates of the eight groups of skin, hair and gender and no regression. fairlearn comes
with `pip install fairlearn polars`; without it its row is left out.
"""

from functools import partial

import numpy as np
import pandas as pd
import statsmodels.api as sm
from record import Run, grow
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import zero_one_loss
from threadpoolctl import threadpool_limits

from faceaudit.effects import bootstrap_paper_logit
from faceaudit.effects.resampling import draw_weights

try:
    from fairlearn.metrics import MetricFrame
except ImportError:
    MetricFrame = None

IMAGES, REFITS = (1_000, 5_335, 30_000), 1_000
"""The second size is the paper's, with about five images a transect."""
A_TRANSECT = 5.335
LEVELS = (2, 2, 2, 2, 2, 3, 4)
LOOP_REFITS = 20
"""The loops run this many refits; their time is scaled to REFITS."""


def audit(images: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """17 one-hot columns, errors at about 8% and transects, of so many images."""
    rng = np.random.default_rng(seed)
    transects = round(images / A_TRANSECT)
    transect = np.sort(
        np.append(np.arange(transects), rng.integers(transects, size=images - transects))
    )
    shares = [np.arange(count, 0, -1) / np.arange(1, count + 1).sum() for count in LEVELS]
    X = np.hstack([np.eye(len(share))[rng.choice(len(share), images, p=share)] for share in shares])
    log_odds = -2.5 + X @ rng.normal(0, 0.4, X.shape[1])
    return X, (rng.random(images) < 1 / (1 + np.exp(-log_odds))).astype(int), transect


def fit(X: np.ndarray, error: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    model = LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    model.fit(X, error, sample_weight=weight)
    return np.append(model.intercept_, model.coef_)


def resampled_images(images: int) -> np.ndarray:
    return np.random.default_rng(1).integers(images, size=(LOOP_REFITS, images))


def loop_over_images(X: np.ndarray, error: np.ndarray) -> np.ndarray:
    return np.array([fit(X[draw], error[draw]) for draw in resampled_images(len(X))])


def loop_over_patterns(X: np.ndarray, error: np.ndarray) -> np.ndarray:
    rows, code = np.unique(np.column_stack([X, error]), axis=0, return_inverse=True)
    weights = draw_weights(len(X), range(LOOP_REFITS), seed=1)
    counts = [np.bincount(code, weight, minlength=len(rows)) for weight in weights]
    return np.array([fit(rows[:, :-1], rows[:, -1], count) for count in counts])


def loop_over_statsmodels(X: np.ndarray, error: np.ndarray) -> np.ndarray:
    references = np.cumsum((0, *LEVELS[:-1]))
    design = sm.add_constant(np.delete(X, references, axis=1))
    return np.array(
        [
            sm.GLM(error[draw], design[draw], family=sm.families.Binomial()).fit().params
            for draw in resampled_images(len(X))
        ]
    )


def metric_frame(X: np.ndarray, error: np.ndarray) -> None:
    groups = pd.DataFrame(X[:, [1, 3, 5]], columns=["skin", "hair", "gender"])
    MetricFrame(
        metrics=zero_one_loss,
        y_true=np.zeros_like(error),
        y_pred=error,
        sensitive_features=groups,
        n_boot=LOOP_REFITS,
        ci_quantiles=[0.025, 0.975],
        random_state=1,
    )


LOOPS = {
    "scikit-learn, loop over resampled images": loop_over_images,
    "scikit-learn, loop over covariate patterns": loop_over_patterns,
    "statsmodels GLM, loop over resampled images": loop_over_statsmodels,
} | ({} if MetricFrame is None else {"fairlearn, rates of eight groups only": metric_frame})


def competitors(images: int) -> dict[str, Run]:
    X, error, transect = audit(images)
    ours = partial(bootstrap_paper_logit, X, error, REFITS, 1)
    return {
        "bootstrap_paper_logit, images": Run(ours),
        "bootstrap_paper_logit, transects": Run(partial(ours, transect)),
    } | {what: Run(partial(loop, X, error), REFITS / LOOP_REFITS) for what, loop in LOOPS.items()}


def main() -> None:
    packages = ["numpy", "scikit-learn", "statsmodels"]
    if MetricFrame is None:
        print("fairlearn is not installed (pip install fairlearn polars): its row is left out")
    else:
        packages.append("fairlearn")
    X, error, _ = audit(IMAGES[0])
    with threadpool_limits(1):
        ours = bootstrap_paper_logit(X, error, LOOP_REFITS, seed=1).coefficients
        difference = np.abs(ours - loop_over_patterns(X, error)).max()
        facts = {
            "refits": REFITS,
            "columns": X.shape[1],
            "threads": 1,
            "refits timed in a loop, then scaled": LOOP_REFITS,
            "largest difference from scikit-learn's coefficients": f"{difference:.0e}",
        }
        sizes = {images: competitors(images) for images in IMAGES}
        grow("bootstrap_paper_logit", "images", sizes, facts, packages)


if __name__ == "__main__":
    main()
