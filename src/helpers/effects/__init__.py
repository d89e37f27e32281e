"""Effects of attributes on errors: estimates, intervals and what may be concluded from them."""

from helpers.effects.design import (
    cost,
    design_table,
    power,
    power_grid,
    printed_power,
    printed_transects,
    simulated_power,
    transects_needed,
)
from helpers.effects.matched import (
    all_matched_effects,
    cochran_q,
    matched_effects,
    mcnemar,
    paired_interval,
)
from helpers.effects.noise import (
    attenuation,
    disattenuate,
    label_noise,
    noisy_design,
    noisy_pair_correlation,
    rogan_gladen,
)
from helpers.effects.paired_model import shared_pair_correlation
from helpers.effects.paper import (
    PAPER_AGES,
    PAPER_LEVELS,
    bootstrap_paper_logit,
    interaction_columns,
    log_odds_ratios,
    paper_columns,
    paper_logit,
    regression_draws,
    summarize_draws,
)
from helpers.effects.regression import logit
from helpers.effects.risks import (
    direct_effects,
    hybrid_score_interval,
    hybrid_score_p,
    risk_differences,
    score_interval,
)
from helpers.effects.robustness import (
    e_value,
    e_value_limit,
    e_values,
    leakage_tipping_point,
    nearest_limit,
    rosenbaum_gamma,
)
from helpers.effects.selection import pruning_bounds
from helpers.effects.transport import calibrate_intercept, transport
from helpers.effects.verdicts import holm, mde, verdict

__all__ = [
    "PAPER_AGES",
    "PAPER_LEVELS",
    "all_matched_effects",
    "attenuation",
    "bootstrap_paper_logit",
    "calibrate_intercept",
    "cochran_q",
    "cost",
    "design_table",
    "direct_effects",
    "disattenuate",
    "e_value",
    "e_value_limit",
    "e_values",
    "holm",
    "hybrid_score_interval",
    "hybrid_score_p",
    "interaction_columns",
    "label_noise",
    "leakage_tipping_point",
    "log_odds_ratios",
    "logit",
    "matched_effects",
    "mcnemar",
    "mde",
    "nearest_limit",
    "noisy_design",
    "noisy_pair_correlation",
    "paired_interval",
    "paper_columns",
    "paper_logit",
    "power",
    "power_grid",
    "printed_power",
    "printed_transects",
    "pruning_bounds",
    "regression_draws",
    "risk_differences",
    "rogan_gladen",
    "rosenbaum_gamma",
    "score_interval",
    "shared_pair_correlation",
    "simulated_power",
    "summarize_draws",
    "transects_needed",
    "transport",
    "verdict",
]
