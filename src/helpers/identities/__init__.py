"""Identities for verification: seeds, prototypes of six groups, their variants, and pairs."""

from helpers.identities.design import (
    ATTRIBUTES,
    IMAGES_EACH,
    STEPS,
    cross_pairs,
    image_index,
    pairs,
)
from helpers.identities.groups import (
    ANCESTRIES,
    GROUPS,
    ancestry_point,
    nearest_ancestry,
    split,
)
from helpers.identities.heads import render_heads, whiten
from helpers.identities.selection import (
    UNCANNY,
    candidates,
    crowd_scores,
    judge,
    max_min_selection,
    perceived_ancestry,
)
from helpers.identities.traversal import (
    exact_planes,
    group_planes,
    label_leakage,
    prototypes,
)
from helpers.identities.variants import (
    below_targets,
    known_score,
    neutral,
    variants,
    walk_to_score,
)

__all__ = [
    "ANCESTRIES",
    "ATTRIBUTES",
    "GROUPS",
    "IMAGES_EACH",
    "STEPS",
    "UNCANNY",
    "ancestry_point",
    "below_targets",
    "candidates",
    "cross_pairs",
    "crowd_scores",
    "exact_planes",
    "group_planes",
    "image_index",
    "judge",
    "known_score",
    "label_leakage",
    "max_min_selection",
    "nearest_ancestry",
    "neutral",
    "pairs",
    "perceived_ancestry",
    "prototypes",
    "render_heads",
    "split",
    "variants",
    "walk_to_score",
    "whiten",
]
