"""Effects of attributes on errors: estimates, intervals and what may be concluded from them."""

from helpers.effects.clustered_logit import firth_log_odds_ratios
from helpers.effects.matched import (
    all_matched_effects,
    matched_effects,
    mcnemar,
    paired_interval,
    pruning_bounds,
)
from helpers.effects.paper import (
    PAPER_LEVELS,
    LogitDraws,
    bootstrap_paper_logit,
    interaction_columns,
    linear_effects,
    log_odds_ratios,
    paper_columns,
    paper_logit,
    regression_draws,
    summarize_draws,
)
from helpers.effects.planning import Design, power, rogan_gladen, transects_needed
from helpers.effects.reweighting import ratio_interval, share_of_gap, transport
from helpers.effects.risks import direct_effects, risk_differences, score_interval
from helpers.effects.verdicts import (
    e_value,
    e_values,
    holm,
    max_t_intervals,
    mde,
    rosenbaum_gamma,
    verdict,
)
