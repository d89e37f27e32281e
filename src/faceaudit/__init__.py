"""Audit a model of one's own: one file in, one report out."""

from faceaudit.analysis import analyse
from faceaudit.gates import gate
from faceaudit.group_rates import analyse_pairs
from faceaudit.model_card import write_card
from faceaudit.pairs import Pairs, from_pairs
from faceaudit.people import PeopleNeeded
from faceaudit.planning import departures, keep_plan, make_plan
from faceaudit.report_json import build_report, read_json, schema, write_json
from faceaudit.report_schema import Report
from faceaudit.specification import Specification, read_specification
from faceaudit.tables import Audited, from_table
from faceaudit.versions import Comparison, compare
