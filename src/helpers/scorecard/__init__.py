"""Estimators held against the truth: one audit many times over, and every estimate scored."""

from helpers.scorecard.degradation import (
    between_directions,
    departures,
    labels_by,
    leaking,
    nearest_cells,
    power_of_cell,
    tipping,
)
from helpers.scorecard.estimators import (
    Estimator,
    as_frame,
    g_computation_audits,
    logit_audits,
    null_audits,
    observational_audits,
    paper_difference,
)
from helpers.scorecard.figures import (
    draw_coverage,
    draw_leaks,
    draw_paths,
    draw_power,
    draw_ranges,
    draw_scores,
    draw_sweep,
)
from helpers.scorecard.scores import alarms, failures, flag, name_cells, score, worst
from helpers.scorecard.words import (
    say_bias,
    say_border,
    say_cancellation,
    say_card,
    say_coverage,
    say_path,
    say_power,
    say_scores,
    say_seldom_found,
    say_sweep,
    say_tipping,
)
