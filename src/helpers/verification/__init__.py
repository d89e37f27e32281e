"""Verification: consensus as ground truth, error curves, bands, disparities, effects of steps."""

from helpers.verification.bands import Bands, vertex_bootstrap
from helpers.verification.composition import composition_effects
from helpers.verification.consensus import hcic, is_match
from helpers.verification.curves import fixed_threshold
from helpers.verification.embeddings import similarity
from helpers.verification.group_disparities import disparities
from helpers.verification.over_trainings import training_effects
from helpers.verification.steps import over_seeds, step_effects
