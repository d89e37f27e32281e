"""Shared by the tests of the room."""

import numpy as np
import pytest
from statsmodels.api import OLS


@pytest.fixture
def robust():
    """Mean of values in clusters and its cluster-robust t interval, by statsmodels."""

    def mean(values, cluster):
        fit = OLS(values, np.ones(len(values))).fit(
            cov_type="cluster", cov_kwds={"groups": cluster}, use_t=True
        )
        # statsmodels also multiplies the variance by (n - 1) / (n - k), here 1.
        return fit.params[0], *fit.conf_int()[0]

    return mean
