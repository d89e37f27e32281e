"""What a hurried reader takes from a report: from audit files to the first box and the card."""

import html
import json
import re

import numpy as np
import pandas as pd
import pytest
from pretended_audits import OF_TABLE, pretended_table
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import norm

from faceaudit.__main__ import main
from faceaudit.report.answer import answer_of
from faceaudit.report.page import card, page
from faceaudit.report.schema import read_report
from faceaudit.utils import seeding

MOST_WORDS = 1500
"""Before the part "Details"."""


@pytest.fixture
def audit(tmp_path):
    """Write an audit file with its table and run it: the report."""

    def run(table, **changes):
        settings = OF_TABLE | changes
        table.to_csv(tmp_path / "faces.csv", index=False)
        path = tmp_path / f"{settings['name']}.yml"
        path.write_text(json.dumps(settings), encoding="utf-8")  # which is YAML
        assert main(["run", str(path)]) == 0
        return read_report(tmp_path / settings["name"] / "report.json")

    return run


def shown(text):
    """The words of a page before its details, without those of the figure."""
    _, _, body = text.partition("<body>")
    before, _, details = body.partition('<details id="details">')
    assert details
    before = re.sub(r"<svg.*?</svg>", " ", before, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", before)).split())


def letters(table):
    """The table with levels that do not say what they are of."""
    return table.replace({"skin": {"light": "a", "dark": "B"}, "gender": {"female": "F"}})


LETTERS = {"axes": {"gender": ["F", "male"], "skin": ["a", "B"]}, "classes": ["F", "male"]}
OWN_LABEL = {"label": lambda table: table["label"].map({0: "F", 1: "male"})}


def test_every_line_names_its_axis(audit):
    """G11: “B instead of a changes …” did not say of what."""
    table = letters(pretended_table(120, 0.4, seed=1)).assign(**OWN_LABEL)
    report = audit(table, **LETTERS)
    for row in report.judged:
        assert row.sentence.startswith(row.axis.replace("gender", "perceived gender").capitalize())
    headline, *lines = report.answer.splitlines()
    assert "skin, +" in headline and "perceived gender" in headline
    assert [line.partition(":")[0] for line in lines[:2]] == ["Perceived gender", "Skin"]
    index = card(report).split("---\n")[1]
    assert index.count('name: "perceived gender: ') == index.count('name: "skin: ') > 0


def test_the_first_box_answers_about_every_axis_in_the_file_s_order(audit):
    """G12: a question about skin had a first line about gender."""
    table = pretended_table(400, 0.0, seed=2, base=0.02)
    # The model errs on men with light skin.
    wrong = (table["gender"] == "male") & (table["skin"] == "light") & (table["unit"] % 3 == 0)
    table.loc[wrong, "score"] = 0.1
    report = audit(table)
    answer = answer_of(dict(report), report.tolerance)
    assert [part.name for part in answer.subjects] == ["skin", "perceived gender"]
    assert [part.verdict for part in answer.subjects] == ["exceeds", "exceeds"]
    # A reader who asked about more errors with dark skin sees that there are fewer.
    assert re.match(r"Beyond the tolerance of 5 points: skin, −\d", answer.headline)
    text = shown(page(report))
    places = [text.index(report.question), text.index(answer.headline)]
    places += [text.index(f"{name} : ") for name in ("Skin", "Perceived gender")]
    assert places == sorted(places)
    assert answer.text == report.answer


def test_an_axis_within_is_told_apart_from_one_beyond(audit):
    table = pretended_table(1500, 0.0, seed=2, base=0.02)
    wrong = (table["gender"] == "male") & (table["unit"] % 3 == 0)
    table.loc[wrong, "score"] = 0.1
    headline = audit(table).answer.splitlines()[0]
    assert re.fullmatch(
        r"Beyond the tolerance of 5 points: perceived gender, \+[\d.]+ points for male \(.*\)\. "
        r"Within the tolerance of 5 points: skin\.",
        headline,
    )


def tango_limit(worse, better, n, z):
    """Upper end of Tango's interval, by maximising the restricted likelihood numerically."""

    def score(delta):
        def loss(risk):
            cells = np.array([risk + delta, risk, 1 - 2 * risk - delta])
            return -np.array([worse, better, n - worse - better]) @ np.log(cells)

        bounds = max(0, -delta) + 1e-10, (1 - delta) / 2 - 1e-10
        risk = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x
        variance = n * (2 * risk + delta - delta**2)
        return (worse - better - n * delta) / np.sqrt(variance) + z

    return brentq(score, (worse - better) / n + 1e-6, 0.9)


def test_two_one_sided_tests_show_their_90_percent_interval(audit):
    """G13: “+0.0 (95% −6.3 to +6.3): within the tolerance [5]”."""
    table = pretended_table(150, 0.0, seed=4, base=0.15)
    (row,) = [row for row in audit(table).averages if row.axis == "skin"]
    wide, narrow = max(row.high, -row.low), max(row.high90, -row.low90)
    assert narrow < wide
    tolerance = round((wide + narrow) / 2, 4)
    report = audit(table, name="close", design={"tolerance": tolerance})
    (row,) = [row for row in report.averages if row.axis == "skin"]
    assert row.verdict == "within"
    ends = f"{100 * row.low90:+.1f} to {100 * row.high90:+.1f}".replace("-", "−")
    assert f"90% interval {ends}): within the tolerance by two one-sided tests" in report.answer
    assert f"90% interval {ends}). Its 90% interval is within" in row.sentence
    text = shown(page(report))
    assert f"90%: {ends}" in text and "Upright ticks" in text
    assert f"90% interval {ends}" in card(report) and "interval_90" in card(report)

    # By other code: of cells Tango's interval, of averages Student's of the faces' means.
    for cell in report.effects:
        expected = tango_limit(cell.worse, cell.better, cell.n, norm.ppf(0.95))
        assert cell.high90 == pytest.approx(expected, abs=1e-5)
        expected = -tango_limit(cell.better, cell.worse, cell.n, norm.ppf(0.95))
        assert cell.low90 == pytest.approx(expected, abs=1e-5)
        assert cell.low < cell.low90 < cell.high90 < cell.high


def found(count=900):
    random = seeding.rng(1, "portraits of the first box")
    table = pd.DataFrame({"image_id": [f"{number}.png" for number in range(count)]})
    for axis, levels in (("skin", ["light", "dark"]), ("hair", ["short", "long"])):
        table[axis] = random.choice(levels, count)
    risk = np.where(table["skin"] == "dark", 0.3, 0.05)
    return table.assign(wrong=(random.random(count) < risk).astype(int))


def of_pairs(identities=40):
    random = seeding.rng(1, "pairs of the first box")
    rows = []
    for group, shift in (("a", 0.0), ("b", 0.9), ("c", 0.0)):
        for one in range(identities):
            other = (one + 1) % identities
            for _ in range(6):
                first, second = f"{group}{one}", f"{group}{other}"
                rows.append((group, first, first, 1, 3 + random.normal()))
                rows.append((group, first, second, 0, shift + random.normal() - 1))
    return pd.DataFrame(rows, columns=["group", "first", "second", "same", "similarity"])


PORTRAITS = {
    "kind": "portraits",
    "axes": {"skin": ["light", "dark"], "hair": ["short", "long"]},
    "columns": {"error": "wrong"},
    "classes": ["0", "1"],
}


def test_before_the_details_there_are_few_words_in_every_design(audit, tmp_path):
    refused = pretended_table(100, 0.3, seed=1)
    refused.loc[refused.index % 9 == 0, "score"] = None
    reports = [audit(refused), audit(found(), name="found", **PORTRAITS)]
    of_pairs().to_csv(tmp_path / "pairs.csv", index=False)
    settings = {
        "name": "pairs",
        "kind": "verification",
        "question": "Who is mixed up more often?",
        "pairs": "pairs.csv",
        "reference": "a",
        "model": {"kind": "table", "threshold": 0.5},
        "design": {"tolerance": 0.05},
    }
    (tmp_path / "pairs.yml").write_text(json.dumps(settings), encoding="utf-8")
    assert main(["run", str(tmp_path / "pairs.yml")]) == 0
    reports.append(read_report(tmp_path / "pairs" / "report.json"))
    for report in reports:
        text = page(report)
        count = len(shown(text).split())
        assert 300 < count <= MOST_WORDS, (report.kind, count)
    assert reports[2].answer.splitlines()[0].startswith("Beyond the tolerance of 5 points: b, +")
    assert ". False match rate +" in reports[2].answer.splitlines()[1]


def test_box_and_card_have_doubts_departures_and_the_version_of_the_model(audit):
    table = pretended_table(300, 0.0, seed=1, base=0.8)
    audit(table, accept=["reversed"])
    report = audit(table, accept=["reversed"], design={"tolerance": 0.2})
    provenance = report.provenance | {"model": {"name": "faces.onnx", "version": "7"}}
    report = report.model_copy(update={"provenance": provenance})
    box, text = shown(page(report)).partition(" Comparisons ")[0], card(report)
    for line in (*report.plan.departures, *(doubt.sentence for doubt in report.doubts)):
        assert line in box and line in text
    assert report.doubts and report.plan.departures
    assert "Model: faces.onnx, version 7." in box and "version: 7" in text
