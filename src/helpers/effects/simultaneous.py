"""Intervals that hold for many quantities at once, from one bootstrap of the transects.

Curves over doses or thresholds, and tables of contrasts, invite a reader to look for the largest
entry. The 95 % of such a family must then hold for all its entries together. Each quantity here is
a mean of one value per transect, so that one function serves them all.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from helpers.resampling import as_resamples, resampled_sums
from helpers.utils.checks import as_finite


def max_t_intervals(
    values: pd.DataFrame,
    unit: ArrayLike = 0.0,
    *,
    n_boot: int,
    seed: int,
    stage: str = "max-t",
) -> pd.DataFrame:
    """Simultaneous 95 % intervals of the means of several columns, a row per transect.

    All intervals have the same number of standard errors on either side: the 95 % quantile, over
    resamples of transects, of the largest studentised deviation among the columns (Romano & Wolf,
    Econometrica 73 (2005) 1237-1282, section 4; Beran, Journal of the American Statistical
    Association 83 (1988) 679-686). Correlated columns therefore cost less than by Bonferroni.

    Errors are rare, and a column may hold nothing but zeros, whose standard error would be zero. So
    two transects are added to every column, one at `unit` and one at `-unit`. In a difference of
    two paired proportions, whose unit is 1, this is the interval of Bonett & Price (Journal of
    Educational and Behavioral Statistics 37 (2012) 479-488). The estimate is the plain mean.

    Args:
        values: (n, m), a row per transect, a column per quantity.
        unit: (m,) or one for all, the change of a value when one more image is misread; 0 where
            values are no errors, such as differences of scores.
        n_boot: resamples of the transects.
        seed: of the run.
        stage: what is resampled; families of one stage and one number of transects share resamples.

    Returns:
        A row per column of `values`: estimate, se, low, high. `attrs["critical"]` is the number of
        standard errors on either side.

    Raises:
        ValueError: a value that is missing, fewer than two transects or two resamples.

    Example:
        >>> import pandas as pd
        >>> from helpers.effects.simultaneous import max_t_intervals
        >>> values = pd.DataFrame({"skin": [0, 1, 0, -1] * 25, "hair": [0, 1, 1, 0] * 25})
        >>> table = max_t_intervals(values, unit=1, n_boot=200, seed=1)
        >>> table["estimate"].tolist(), bool(1.96 < table.attrs["critical"] < 3)
        ([0.0, 0.5], True)
    """
    table = pd.DataFrame(values)
    value = as_finite(table.to_numpy(), "values", 2)
    resamples = as_resamples(n_boot, 2)
    n, m = value.shape
    unit = np.broadcast_to(np.asarray(unit, dtype=np.float64), m)
    sums = resampled_sums(np.hstack([value, value**2]), resamples, seed, stage)
    mean, se = _regularised(sums[:, :m], sums[:, m:], n, unit)
    centre, error = _regularised(value.sum(axis=0), (value**2).sum(axis=0), n, unit)
    # A column that never varies has no standard error, in no resample: it has nothing to deviate.
    deviation = np.divide(np.abs(mean - centre), se, out=np.zeros_like(mean), where=se > 0)
    critical = np.quantile(deviation.max(axis=1), 0.95)
    critical = float(max(critical, stdtrit(n - 1, 0.975)))  # one column's is the least
    found = {"estimate": value.mean(axis=0), "se": error}
    found |= {"low": centre - critical * error, "high": centre + critical * error}
    intervals = pd.DataFrame(found, index=table.columns)
    intervals.attrs["critical"] = critical
    return intervals


def _regularised(
    total: np.ndarray, squares: np.ndarray, n: int, unit: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard errors (..., m) of sums over n transects, and two more at ±unit."""
    size = n + 2 * (unit > 0)
    mean = total / size
    variance = (squares + 2 * unit**2) / size - mean**2
    # Without added transects: the sample's variance, with n - 1.
    variance *= np.where(unit > 0, 1.0, n / max(n - 1, 1))
    return mean, np.sqrt(variance.clip(0) / size)
