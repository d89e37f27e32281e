"""Error rates carried over to a named population."""

import numpy as np
import pytest

from faceaudit.report.page import page
from faceworld.audit import run_audit

TARGET = ", target: {name: our users, table: users.csv, by: [skin]}}"


@pytest.fixture
def with_target(audit_file):
    users = "skin,gender\n" + "dark,female\n" * 3 + "light,male\n" * 5 + "dark,male\n" * 2
    (audit_file.parent / "users.csv").write_text(users, encoding="utf-8")
    audit_file.write_text(audit_file.read_text(encoding="utf-8")[:-1] + TARGET, encoding="utf-8")
    return audit_file


def test_rates_are_weighted_as_the_population_has_them(with_target):
    report = run_audit(with_target)
    rate = {row.group: row.rate for row in report.rates}
    found = {(row.kind, row.group): row for row in report.target}
    expected = 0.3 * rate["dark, female"] + 0.5 * rate["light, male"] + 0.2 * rate["dark, male"]
    assert np.isclose(found["rate", "all"].estimate, expected)
    dark = 0.6 * rate["dark, female"] + 0.4 * rate["dark, male"]
    assert np.isclose(found["rate", "dark"].estimate, dark)
    assert report.plan.kept and "our users" in page(report)
