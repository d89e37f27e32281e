"""Audit a model of one's own: one file in, one report out."""

from helpers.audit.analysis import analyse
from helpers.audit.crowd_tasks import PeopleNeeded
from helpers.audit.gates import gate
from helpers.audit.group_rates import analyse_pairs
from helpers.audit.model_card import write_card
from helpers.audit.pairs import Pairs, from_pairs
from helpers.audit.planning import departures, keep_plan, make_plan
from helpers.audit.report_json import build_report, read_json, schema, write_json
from helpers.audit.report_schema import Report
from helpers.audit.specification import Specification, read_specification
from helpers.audit.tables import Audited, from_table
from helpers.audit.versions import Comparison, compare
