"""Audit a model of one's own: one file in, one report out."""

from helpers.audit.analysis import analyse
from helpers.audit.pairs import analyse_pairs, from_pairs
from helpers.audit.planning import departures, keep_plan, make_plan
from helpers.audit.specification import Specification, read_specification
from helpers.audit.tables import Audited, from_table
