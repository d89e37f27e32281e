"""What a composition does over trainings, not in one network alone (chapter 17).

All networks judge the same faces, so their errors are not independent, and a meta-analysis that
takes every training for a study of its own would be certain of what those faces happen to show.
Trainings and faces are crossed random effects, as readers and cases are where several radiologists
read the same pictures; the variance here is that of Obuchowski & Rockette (Communications in
Statistics - Simulation and Computation 24 (1995) 285-308). In simulated
audits of eight trainings and forty identities, at rates of 5 and 10 %, 95 % intervals held the
known effect in 91 to 95 of a hundred (300 audits a setting); those of a single network, where
trainings differed by three points, in 54 to 58 (150 audits).
"""

from collections.abc import Collection

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from helpers.utils.checks import as_binary, require_alike
from helpers.verification.composition import Gaps, gap_table, gaps_of


def training_effects(
    errors: ArrayLike,
    control: ArrayLike,
    group: ArrayLike,
    vertices: ArrayLike,
    familiar: Collection[str],
) -> pd.DataFrame:
    """Error rate of groups rarely seen minus that of familiar ones, over trainings and faces.

    As `composition_effects`, which speaks of one network, for the mean over all trainings of a
    composition. With gaps D of R trainings the variance of their mean is s² / R + c. Here s² is the
    variance of D between trainings, and c the covariance of the D of two trainings, by the
    dyadic-robust sums: what both have in common because they judge the same faces. No less is taken
    than the dyadic-robust variance of the trainings' mean errors, which holds for these trainings
    alone. Intervals have Student quantiles with the degrees of freedom of the sum (Satterthwaite,
    Biometrics Bulletin 2 (1946) 110-114); Hillis (Statistics in Medicine 26 (2007) 596-619) takes c
    as known, for which there are too few faces here.

    Args:
        errors: whether each pair is an error of each training's network, 0 or 1, (R, m), R ≥ 2.
        control: the same of the control's trainings; row by row they share a seed.
        group, vertices, familiar: as of `composition_effects`.

    Returns:
        Its rows and columns, the interval and p over trainings and faces, and besides

        - within: the standard error that an audit of one network has, for faces alone; the root
          of the mean square over trainings;
        - between: standard deviation of D over trainings, had there been faces without number:
          the root of s² less what faces add to it, 0 where that is more;
        - trainings: R.

    Raises:
        ValueError: as `composition_effects`, or fewer than two trainings.

    Example:
        >>> import numpy as np
        >>> from helpers import verification
        >>> ends = np.array([[n, n] for n in range(8)] * 2)
        >>> group = np.repeat(["known", "rare"], 8)
        >>> errors = np.array([[1, 0, 0, 0] * 2 + [1, 1, 0, 0] * 2, [0, 1, 0, 0] * 4])
        >>> table = verification.training_effects(errors, 0 * errors, group, ends, ["known"])
        >>> table.loc["recogniser", ["estimate", "trainings"]].tolist()
        [0.125, 2.0]
    """
    both = _by_training(errors, "errors"), _by_training(control, "control")
    require_alike(both[1], "control", both[0], "errors")
    if len(both[0]) < 2:
        raise ValueError("errors are of one training: how trainings differ takes two or more")
    gaps = [gaps_of(rows, group, vertices, familiar) for rows in (*both, both[0] - both[1])]
    found = pd.DataFrame([_crossed(of_trainings) for of_trainings in gaps])
    rare, common = np.array([[x.rare.mean(), x.familiar.mean()] for x in gaps]).T
    table = gap_table(gaps[0], rare, common, *found[["se", "df"]].to_numpy().T)
    spreads = found[["within", "between"]].set_axis(table.index)
    return table.join(spreads).assign(trainings=len(both[0]))


def _by_training(errors: ArrayLike, name: str) -> np.ndarray:
    """Errors (R, m) as float64."""
    rows = np.asarray(errors)
    if rows.ndim != 2:
        raise ValueError(f"{name} of shape {rows.shape}: a row per training was expected, (R, m)")
    return as_binary(rows.ravel(), name).reshape(rows.shape).astype(np.float64)


def _crossed(gaps: Gaps) -> dict[str, float]:
    """Standard error of the mean of the gaps of R trainings, and what it is made of."""
    runs, spread = len(gaps.gap), np.var(gaps.gap, ddof=1)
    alone = gaps.variance()[0].mean()
    (of_mean,), (faces,) = gaps.variance(mean=True)
    # The variance of a mean of R is made of its R variances and R (R - 1) covariances.
    shared = np.maximum((runs * of_mean - alone) / (runs - 1), 0)
    variance = spread / runs + shared
    squares = (spread / runs) ** 2 / (runs - 1) + shared**2 / faces
    df = variance**2 / squares if squares > 0 else np.nan
    if variance < of_mean:
        variance, df = of_mean, faces
    return {
        "se": np.sqrt(variance),
        "df": df,
        "within": np.sqrt(alone),
        "between": np.sqrt(np.maximum(spread - (alone - shared), 0)),
    }
