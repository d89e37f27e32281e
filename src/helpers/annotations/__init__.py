"""Annotations: external formats at the edge, one tidy table inside."""

from helpers.annotations.agreement import agreement_table, icc, krippendorff_alpha, mean_deviation
from helpers.annotations.counts import (
    count_tensor,
    from_ratings,
    majorities,
    majority,
    mean,
    scores,
    standard_deviation,
)
from helpers.annotations.ingest import Ingest
from helpers.annotations.label_studio import (
    labelling_config,
    read_label_studio,
    write_label_studio,
    write_tasks,
)
from helpers.annotations.mturk import read_mturk, write_mturk
from helpers.annotations.schema import ATTRIBUTES, COLUMNS

__all__ = [
    "ATTRIBUTES",
    "COLUMNS",
    "Ingest",
    "agreement_table",
    "count_tensor",
    "from_ratings",
    "icc",
    "krippendorff_alpha",
    "labelling_config",
    "majorities",
    "majority",
    "mean",
    "mean_deviation",
    "read_label_studio",
    "read_mturk",
    "scores",
    "standard_deviation",
    "write_label_studio",
    "write_mturk",
    "write_tasks",
]
