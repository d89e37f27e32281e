"""Annotations: external formats at the edge, one tidy table inside."""

from helpers.annotations.agreement import agreement_table
from helpers.annotations.causalface import read_causalface
from helpers.annotations.counts import count_tensor, scores, standard_deviation
from helpers.annotations.ground_truth import read_ground_truth
from helpers.annotations.ingest import Ingest
from helpers.annotations.label_studio import labelling_config, read_label_studio
from helpers.annotations.label_studio_writing import write_label_studio
from helpers.annotations.mturk import read_mturk
from helpers.annotations.mturk_writing import write_mturk
from helpers.annotations.pairs import PairRatings, pair_ids, read_pair_export, write_pair_export
from helpers.annotations.published import read_published
from helpers.annotations.schema import ATTRIBUTES
