"""Identities for verification: seeds, prototypes of six groups, their variants, and pairs."""

from helpers.identities.groups import ANCESTRIES, GROUPS, ancestry_point, nearest_ancestry, split
from helpers.identities.image_variants import (
    below_targets,
    neutral,
    variants,
)
from helpers.identities.pair_design import (
    ATTRIBUTES,
    IMAGES_EACH,
    STEPS,
    cross_pairs,
    image_index,
    pairs,
)
from helpers.identities.prototype_walks import group_planes, label_leakage, prototypes
from helpers.identities.selection import (
    crowd_scores,
    judge,
    max_min_selection,
    perceived_ancestry,
)
from helpers.identities.training_sets import (
    COMPOSITIONS,
    CONTROL,
    RECOGNISERS,
    composition,
    draw_sets,
    identity_set,
    pool_composition,
)
from helpers.identities.whitening import render_heads, whiten
