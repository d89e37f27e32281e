"""Estimators held against the truth: one audit many times over, and every estimate scored."""

from helpers.scorecard.degradation import (
    between_directions,
    departures,
    labels_by,
    leaking,
    nearest_cells,
    power_of_cell,
)
from helpers.scorecard.estimators import (
    g_computation_audits,
    logit_audits,
    matched_averages,
    null_audits,
)
from helpers.scorecard.observed_audits import Estimator, observational_audits, paper_difference
from helpers.scorecard.scores import name_cells, score, share_of_audits
