"""Verification: invented people and their pairs, consensus as truth, error curves, disparities.

People and what one chapter alone uses are imported by name from their modules.
"""

from helpers.verification.bootstrap import Bands, disparities, vertex_bootstrap
from helpers.verification.curves import fixed_threshold, similarity
from helpers.verification.pairs import ATTRIBUTES, hcic, image_pairs, is_match
