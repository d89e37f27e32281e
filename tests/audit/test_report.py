"""Reports: JSON as its schema says, a page that needs nothing else, a card with its sections."""

import json
import re

import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe
from jsonschema import Draft202012Validator

from helpers import audit
from helpers.artifacts.lineage import ROOT
from helpers.audit.model_card import card
from helpers.audit.report_html import page, write_html
from helpers.audit.report_json import read_json, schema, write_json
from helpers.audit.report_schema import Answers
from helpers.audit.words import points
from helpers.utils.numbers import with_minus


def test_the_published_schema_is_that_of_the_code():
    published = ROOT / "audits" / "report.schema.json"
    assert published.read_text(encoding="utf-8") == schema(), (
        "python -m helpers.audit schema > audits/report.schema.json"
    )


def test_a_report_obeys_the_schema_and_reads_back(report, tmp_path):
    path = write_json(report, tmp_path / "report.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    Draft202012Validator(json.loads(schema())).validate(content)
    assert read_json(path) == report
    assert content["plan"]["kept"] and content["plan"]["departures"] == []


def test_the_answer_comes_first_and_every_cell_has_a_sentence(report):
    text = page(report)
    assert text.index(report.answer[:60]) < text.index("What this does not say")
    order = ["In short", "Findings", "Limits", "Plan and departures", "Provenance"]
    places = [text.index(f">{head}</h2>") for head in order]
    assert places == sorted(places)
    for row in report.effects:
        assert row.sentence in text
    assert report.plan.sha256 in text


def test_the_page_needs_no_other_file(report):
    text = page(report)
    assert not re.search(r'(src|href)="(?!#)', text.replace('xlink:href="#', 'href="#'))
    assert "@import" not in text and not re.search(r"url\((?!#)", text)
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids)


def test_negative_numbers_have_minus_signs_in_words_and_stay_numbers_in_json(report, tmp_path):
    about = {"kind": "page", "stage": "images", "people": 2, "answers": 4, "wanted": 2}
    alpha = dict.fromkeys(("raters", "sd", "alpha_low", "alpha_high"), 1.0) | {"alpha": -0.25}
    agreement = [{"attribute": "makeup", "images": 2, "reason": ""} | alpha]
    content = report.plan.content | {"threshold": -0.125}
    told = report.model_copy(
        update={
            "threshold": -0.125,
            "people": [Answers(**about, agreement=agreement)],
            "plan": report.plan.model_copy(update={"content": content}),
        }
    )
    cells = re.findall(r">([^<]+)<", re.sub(r"<style.*?</style>", "", page(told), flags=re.S))
    _, head, body = card(told).split("---\n", 2)
    (index,) = yaml.safe_load(head)["model-index"]
    intervals = [one["interval"] for one in index["results"][0]["metrics"]]
    sentences = [row.sentence for row in told.effects]
    for text in (*cells, body, *intervals, *sentences, *told.limits):
        assert with_minus(text) == text
    lowest = min(row.low for row in told.effects)
    for texts in (cells, [body], intervals, sentences):
        assert lowest < 0 and any(points(lowest) in text for text in texts)
    assert {"−0.25", "−0.125"} <= {*cells} and "threshold −0.125" in body
    read = json.loads(write_json(told, tmp_path / "report.json").read_text(encoding="utf-8"))
    assert min(row["low"] for row in read["effects"]) == lowest


def test_words_of_the_audit_file_cannot_become_code(report):
    changed = report.model_copy(update={"question": "<script>alert(1)</script>?"})
    assert "<script" not in page(changed)


def test_departures_are_shown(report):
    plan = report.plan.model_copy(update={"kept": False, "departures": ["tolerance: other"]})
    text = page(report.model_copy(update={"plan": plan}))
    assert "The analysis departed from the plan" in text and "tolerance: other" in text


@pytest.mark.browser
def test_the_page_fits_desk_and_phone_and_is_accessible(report, tmp_path, chromium):
    path = write_html(report, tmp_path / "report.html")
    with chromium.new_page() as tab:
        requests = []
        tab.on("request", lambda request: requests.append(request.url))
        for width in (1200, 390):
            tab.set_viewport_size({"width": width, "height": 900})
            tab.goto(path.as_uri())
            assert tab.evaluate("document.documentElement.scrollWidth") == width
            shown = tab.locator("figure svg:visible").count()
            assert shown == 2, "one version of each figure"
            found = Axe().run(tab)
            assert found.violations_count == 0, found.generate_report()
        assert set(requests) == {path.as_uri()}
        assert tab.pdf(path=tmp_path / "report.pdf")[:4] == b"%PDF"


def test_the_card_has_the_sections_of_mitchell_and_an_index(report):
    _, head, body = card(report).split("---\n", 2)
    assert re.findall(r"^## (.*)$", body, re.MULTILINE) == [
        "Model details",
        "Intended use",
        "Factors",
        "Metrics",
        "Evaluation data",
        "Training data",
        "Quantitative analyses",
        "Ethical considerations",
        "Caveats and recommendations",
    ]
    (index,) = yaml.safe_load(head)["model-index"]
    metrics = index["results"][0]["metrics"]
    assert [one["verdict"] for one in metrics] == [row.verdict for row in report.effects]


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"name": 1}'])
def test_a_damaged_report_is_named(tmp_path, content):
    path = tmp_path / "report.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=f"{path}: the report is damaged or of another version"):
        read_json(path)


def test_limits_name_what_the_data_shows(analysed):
    data, plan, tables = analysed
    report = audit.build_report(data, tables, plan, plan)
    assert any("were in the table before the plan" in one for one in report.limits)
    assert any(one.startswith("“Undecided” is not “no effect”") for one in report.limits)
