"""Estimators held against the truth: one audit many times over, and every estimate scored."""

from helpers.scorecard.audits import (
    Estimator,
    coverage_study,
    departures,
    draw,
    ideal_audits,
    labels_by,
    logit_audits,
    matched_audits,
    name_cells,
    normal_interval,
    null_audits,
    observational_audits,
    of_frames,
    pooled_audits,
    resample_images,
    score,
    share_of_audits,
    with_truth,
)
