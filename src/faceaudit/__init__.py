"""Audit a model of one's own: one file in, one report out."""

import helpers  # sets the pins, before numpy is imported
from faceaudit.analysis import analyse, analyse_pairs
from faceaudit.pairs import Pairs, from_pairs
from faceaudit.people import PeopleNeeded
from faceaudit.plan import departures, keep_plan, make_plan
from faceaudit.portraits import Portraits, analyse_portraits, from_portraits
from faceaudit.report import Report, build_report, gate, read_json, schema, write_card, write_json
from faceaudit.specification import Specification, read_specification
from faceaudit.tables import Audited, from_table
