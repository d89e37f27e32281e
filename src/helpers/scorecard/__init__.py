"""Estimators held against the truth: one audit many times over, and every estimate scored."""

from helpers.scorecard.audits import (
    Estimator,
    draw,
    g_computation_audits,
    ideal_audits,
    logit_audits,
    matched_audits,
    matched_averages,
    normal_interval,
    observational_audits,
    pooled_audits,
    resample_images,
    with_truth,
)
from helpers.scorecard.rated import (
    answers_of_all,
    average_effects,
    expected_labels,
    labels_by,
    rated_audits,
)
from helpers.scorecard.scores import departures, name_cells, score, share_of_audits
from helpers.scorecard.simulated_audits import null_audits
