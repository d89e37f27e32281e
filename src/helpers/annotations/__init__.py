"""Annotations: external formats at the edge, one tidy table inside.

The simulated crowd and pairs of faces are imported by name.
"""

from helpers.annotations.agreement import agreement_table, screen_raters
from helpers.annotations.class_page import write_page
from helpers.annotations.ground_truth import read_ground_truth
from helpers.annotations.ingest import Ingest
from helpers.annotations.label_studio import labelling_config, read_label_studio, write_label_studio
from helpers.annotations.mturk import read_mturk, write_mturk
from helpers.annotations.published import read_published, read_published_planes
from helpers.annotations.schema import ATTRIBUTES, count_tensor, scores, standard_deviation
