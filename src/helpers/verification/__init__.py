"""Verification: invented people and their pairs, consensus as truth, error curves, disparities."""

from helpers.verification.bootstrap import Bands, vertex_bootstrap
from helpers.verification.composition import (
    composition_effects,
    recorded_trainings,
    training_effects,
)
from helpers.verification.consensus import hcic, is_match, over_seeds, step_effects
from helpers.verification.curves import fixed_threshold, similarity
from helpers.verification.group_disparities import disparities
from helpers.verification.pairs import (
    ATTRIBUTES,
    IMAGES_EACH,
    STEPS,
    below_targets,
    cross_pairs,
    image_index,
    image_pairs,
    neutral,
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
    identity_set,
    nearest_ancestry,
    pool_composition,
    render_heads,
    render_people,
    split_groups,
    store_heads,
)
from helpers.verification.prototypes import (
    crowd_scores,
    group_planes,
    judge_prototypes,
    label_leakage,
    max_min_selection,
    perceived_ancestry,
    walk_to_groups,
)
