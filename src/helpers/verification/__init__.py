"""Verification: invented people and their pairs, consensus as truth, error curves, disparities.

What one chapter alone uses is imported by name from its module.
"""

from helpers.verification.bootstrap import Bands, disparities, vertex_bootstrap
from helpers.verification.curves import fixed_threshold, similarity
from helpers.verification.pairs import ATTRIBUTES, hcic, image_pairs, is_match
from helpers.verification.people import (
    COMPOSITIONS,
    CONTROL,
    GROUPS,
    RECOGNISERS,
    group_counts,
    render_people,
    split_groups,
    store_heads,
)
