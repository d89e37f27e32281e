"""Verification: consensus as ground truth, error curves, bands, disparities, effects of steps."""

from helpers.verification.bands import Bands, vertex_bootstrap
from helpers.verification.composition import composition_effects
from helpers.verification.consensus import hcic, is_match
from helpers.verification.curves import equal_error_rate, error_curves, fixed_threshold, fnmr_at_fmr
from helpers.verification.embeddings import load_embeddings, similarity
from helpers.verification.group_disparities import disparities
from helpers.verification.steps import step_effects
