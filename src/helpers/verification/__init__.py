"""Verification: invented people and their pairs, consensus as truth, error curves, disparities."""

from helpers.verification.bootstrap import Bands, vertex_bootstrap
from helpers.verification.composition import (
    composition_effects,
    recorded_trainings,
    training_effects,
)
from helpers.verification.curves import fixed_threshold, similarity
from helpers.verification.group_disparities import disparities
from helpers.verification.pairs import (
    ATTRIBUTES,
    IMAGES_EACH,
    STEPS,
    cross_pairs,
    hcic,
    image_index,
    image_pairs,
    is_match,
    neutral,
    over_seeds,
    step_effects,
    variants,
)
from helpers.verification.people import (
    ANCESTRIES,
    COMPOSITIONS,
    CONTROL,
    GROUPS,
    RECOGNISERS,
    ancestry_point,
    draw_sets,
    group_counts,
    render_people,
    split_groups,
    store_heads,
)
from helpers.verification.prototypes import (
    crowd_scores,
    exact_planes,
    group_planes,
    max_min_selection,
    perceived_ancestry,
    walk_to_groups,
)
