"""Reports: JSON as its schema says, a page that needs nothing else, a card with its sections."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe
from jsonschema import Draft202012Validator

import faceaudit
from faceaudit import against_truth, explaining, report_figures, summing_up
from faceaudit.model_card import card
from faceaudit.planned_effects import _explained
from faceaudit.report_html import page, write_html
from faceaudit.report_json import read_json, schema, write_json
from faceaudit.report_schema import Answers
from faceaudit.words import (
    ORDER,
    answer,
    disparity_sentence,
    effect_sentence,
    hundredths,
    percent,
    points,
)
from helpers.artifacts.lineage import ROOT
from helpers.utils.numbers import with_minus


def test_the_published_schema_is_that_of_the_code():
    published = ROOT / "audits" / "report.schema.json"
    assert published.read_text(encoding="utf-8") == schema(), (
        "python -m faceaudit schema > audits/report.schema.json"
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


def test_names_in_a_card_cannot_become_code(report):
    tag, effect = "<img src=x onerror=alert(1)>", report.effects[0]
    named = effect.model_copy(update={"axis": tag, "sentence": f"{tag}: the model errs & more."})
    changes = {
        "question": "<script>?",
        "answer": f"{tag} errs",
        "effects": [named],
        "limits": [tag],
    }
    changes["data"] = report.data | {"source": f"{tag}.csv"}
    changes["provenance"] = report.provenance | {"model": {"file": tag}}
    _, _, body = card(report.model_copy(update=changes)).split("---\n", 2)
    assert "<" not in body and body.count("&lt;img src=x onerror=alert(1)&gt;") >= 5
    assert "**&lt;img" in body and "errs &amp; more" in body


def test_a_group_is_called_as_in_the_table_and_one_point_is_one():
    row = {"measure": "FMR at threshold", "group": "black_f", "reference": "a", "rate": 0.1}
    row |= {"reference_rate": 0.1, "estimate": 0.0, "low": -0.001, "high": 0.001, "reason": ""}
    told = disparity_sentence(row | {"verdict": "within"}, 0.01)
    assert told.startswith("black_f: the false") and told.endswith("the tolerance of 1 point.")
    sentence = "Male. This is beyond the tolerance of 1 point."
    row = SimpleNamespace(verdict="exceeds", estimate=0.1, sentence=sentence)
    told = answer({"disparities": [row]}, 0.01)[1]
    assert told == "Beyond the tolerance of 1 point: 1 of 1 comparisons. The largest change: Male."


def test_a_tolerance_of_one_point_in_the_card(report):
    assert "against a tolerance of 1 point," in card(report.model_copy(update={"tolerance": 0.01}))


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
    assert [one["verdict"] for one in metrics] == [row.verdict for row in report.judged]


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"name": 1}'])
def test_a_damaged_report_is_named(tmp_path, content):
    path = tmp_path / "report.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=f"{path}: the report is damaged or of another version"):
        read_json(path)


def test_limits_name_what_the_data_shows(analysed):
    data, plan, tables = analysed
    report = faceaudit.build_report(data, tables, plan, plan)
    assert any("were in the table before the plan" in one for one in report.limits)
    assert any(one.startswith("“Undecided” is not “no effect”") for one in report.limits)


def test_an_undecided_cell_beyond_the_tolerance_alone_says_that_it_is_the_adjustment():
    row = {"cell": "male", "estimate": -0.2, "low": -0.33, "high": -0.07, "base_rate": 0.3}
    row |= {"verdict": "inconclusive", "reason": ""}
    told = effect_sentence(row, ("light", "dark"), 0.05, 12)
    assert told == (
        "Male: the model errs on 30.0 of 100 images made to show “light” and on 10.0 of 100 of the "
        "same faces made to show “dark” (−20.0 points; 95 % interval −33.0 to −7.0). Alone it "
        "would lie beyond the tolerance of 5 points; adjusted for all 12 comparisons, it is "
        "undecided."
    )
    assert "cannot tell" in effect_sentence(row | {"high": -0.04}, ("light", "dark"), 0.05, 12)
    gap = {"measure": "FMR at threshold", "group": "b", "reference": "a", "rate": 0.1}
    gap |= {"reference_rate": 0.3, "reason": ""} | row
    assert "adjusted for all 12" in disparity_sentence(gap, 0.05, 12)


def test_rows_and_axes_come_worst_first_in_text_and_figure(report, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        report_figures, "forest", lambda rows, names, *_: drawn.append([*rows]) or "<svg"
    )
    text = page(report.model_copy(update={"effects": report.effects[::-1]}))
    order = [ORDER.index(row.verdict) for row in drawn[0]]
    firsts = [
        next(row.verdict for row in drawn[0] if row.axis == axis) for axis in ("skin", "gender")
    ]
    assert ORDER.index(firsts[0]) <= ORDER.index(firsts[1]) and len(set(order)) > 1
    places = [text.rindex(f">{row.sentence}<") for row in drawn[0]]
    assert places == sorted(places)
    pairs = [(row.contrast, row.cell) for row in drawn[0] if row.held]
    for caption in ("by cell", "to explain an effect away"):
        table = text[text.index(f"{caption}</caption>") :].partition("</table>")[0]
        cells = re.findall(r'<th scope="row">([^<]+)</th><td class="text">([^<]+)</td>', table)
        assert cells == pairs
    for axis in ("skin", "gender"):
        own = [ORDER.index(row.verdict) for row in drawn[0] if row.axis == axis]
        assert own == sorted(own)


def test_one_number_is_rounded_in_one_way():
    for rate in (0.1875, 0.18749999999999997, 0.18750000000000003):
        assert (points(rate), percent(rate), hundredths(rate)) == ("+18.8", "18.8 %", "18.8")


def test_the_head_says_what_is_told_of_what_images_and_that_it_is_a_trial(report):
    data = report.data | {"tells": "gender", "made_by": "known-truth", "trial": "Cut to 4."}
    data |= {"labelled_by": "mturk"}
    text = page(report.model_copy(update={"data": data}))
    top = text[text.index("<h1>") : text.index("<nav")]
    assert (
        "The model tells perceived gender, female or male; an error is an answer other than that "
        "of most of the people who looked. The images are drawings of invented faces. There are "
        "1,200: 300 faces, each in 4 versions that should differ in nothing but skin and"
    ) in top
    assert "A trial run with few faces: its numbers are rough.</strong> Cut to 4." in top
    for axis in ("Skin", "Perceived gender"):
        assert f"<h3>{axis}</h3>" in text
    assert "A trial run" not in page(report)
    simulated = report.model_copy(update={"data": data | {"labelled_by": "simulated"}})
    assert "that of most of the simulated people who looked" in page(simulated)


def test_the_truth_is_explained_and_counted(report):
    truths = [report.effects[0].low - 1e-6, *(row.high for row in report.effects[1:])]
    rows = [
        row.model_copy(update={"truth": one, "truth_se": 0.012})
        for row, one in zip(report.effects, truths, strict=True)
    ]
    averages = [row.model_copy(update={"truth": row.estimate}) for row in report.averages]
    averages[0].truth = averages[0].high + 1e-6
    text = page(report.model_copy(update={"effects": rows, "averages": averages}))
    assert f"{len(rows) - 1} of {len(rows)} hold this truth" in text
    assert f"{len(averages) - 1} of {len(averages)} intervals hold the truth" in text
    assert "with a standard error of up to 1.2 points" in text
    assert "hold this truth" not in page(report)


def test_misses_of_the_truth_are_held_against_chance():
    told = against_truth.by_chance(2, 12)
    assert "0.6 of 12; 2 missed" in told and "2 or more would do so in 11.8 %" in told
    assert "at most 30.0 %" in told and "no fault" in told  # 12 × 5 % / 2, by Markov's inequality
    assert against_truth.by_chance(0, 12).endswith("0.6 of 12; none missed.")
    assert "one audit cannot tell" in against_truth.by_chance(3, 12)


def test_truths_beyond_the_tolerance_are_counted_by_verdict(report):
    def row(verdict, estimate, truth):
        update = {"verdict": verdict, "estimate": estimate, "truth": truth, "truth_se": 0.0}
        return report.effects[0].model_copy(update=update)

    rows = [
        row("exceeds", 0.2, 0.1),
        row("exceeds", 0.2, -0.1),  # beyond, but on the other side
        row("inconclusive", 0.1, -0.06),
        row("inconclusive", 0.1, 0.04),
        row("within", 0.0, 0.0),
    ]
    told = against_truth.compared(report.model_copy(update={"effects": rows}))
    assert told[-1] == (
        "The truth is beyond the tolerance in 1 of the 2 comparisons found beyond it, 1 of the 2 "
        "undecided ones and 0 of the 1 found within it."
    )


@pytest.mark.parametrize(
    ("kind", "shown"), [(None, "listed as"), ("images", "listed as"), ("eg3d", "made to show")]
)
def test_a_level_is_never_taken_for_the_answer_of_the_model(analysed, kind, shown):
    data, plan, tables = analysed
    plan = plan | ({"generator": {"kind": kind}} if kind else {})
    report = faceaudit.build_report(data, tables, plan, plan)
    text = page(report)
    for row in report.effects:
        low, high = plan["axes"][row.axis]
        assert f"images {shown} “{low}”" in row.sentence
        assert f"the same faces {shown} “{high}”" in row.sentence
    heads = re.findall(r'<thead><tr><th scope="col">([^<]+)</th>', text)
    assert heads.count(f"images {shown}") == 5  # cells, averages, hidden causes, scores, rates
    assert f"errs most often on images {shown}" in text
    assert f"{shown}, such as “female”. It is never what the model answered" in text


def test_the_smallest_changes_of_rows_averages_and_plan_are_told_apart(report):
    told = explaining.detectable(report)
    cells, averages = report.effects[0].n, report.averages[0].n
    assert averages > cells and f"more pairs ({averages}) than a cell ({cells})" in told
    planned = report.plan.content["sizes"]["detectable"]
    assert f"The plan's {hundredths(planned)} points are no such number" in told
    (limit,) = [one for one in report.limits if one.startswith("“Undecided”")]
    sizes = [row.mde for row in report.effects if row.verdict == "inconclusive"]
    assert " to ".join(dict.fromkeys(map(hundredths, (min(sizes), max(sizes))))) in limit


def test_void_comparisons_and_no_departures_are_named(report):
    text = page(report)
    assert "Every image was answered: the 2 planned comparisons of missing answers are void" in text
    assert re.search(r"<h3>Departures</h3>\s*<p>None.</p>", text)
    silent = report.model_copy(update={"no_answer": report.averages})
    assert "are void" not in page(silent)


def test_the_next_steps_follow_from_the_verdicts(report):
    def heads(verdict):
        rows = [row.model_copy(update={"verdict": verdict}) for row in report.effects]
        changed = report.model_copy(update={"effects": rows, "averages": []})
        return [step.split(":")[0] for step in summing_up.next_steps(changed)]

    assert heads("within") == ["In any case"]
    assert heads("exceeds") == ["Beyond the tolerance", "In any case"]
    assert heads("inconclusive") == ["Undecided", "In any case"]
    needed = f"{report.plan.content['sizes']['needed']:,} faces"
    assert report.plan.content["sizes"]["needed"] > 300 and needed in page(report)


def test_mirrored_effects_have_the_same_e_values():
    numbers = {"estimate": [0.25, -0.25, 0.0], "low": [0.1, -0.4, -0.1], "high": [0.4, -0.1, 0.1]}
    table = pd.DataFrame(numbers | {"base_rate": [0.0, 0.25, 0.0]})
    table = table.assign(faces_worse=[25, 0, 0], faces_better=[0, 25, 0])
    found = _explained(table)
    assert np.isinf(found["e_value"][:2]).all() and np.isnan(found["e_value"][2])
    assert found["e_value_limit"][0] == found["e_value_limit"][1] > 1
    assert found["gamma"][0] == found["gamma"][1]


def test_an_e_value_that_there_is_not_says_why(report):
    row = report.effects[0]

    def told(**update):
        return explaining.e_value(row.model_copy(update={"e_value": None} | update))

    assert told(base_rate=0.0, estimate=0.25) == "none: no errors at one level"
    assert told(base_rate=0.25, estimate=-0.25) == "none: no errors at one level"
    assert told(base_rate=0.0, estimate=0.0) == "none: no errors at either level"
    assert told(estimate=None) == "–" and told(e_value=4.584) == "4.58"


@pytest.mark.parametrize(("estimate", "side"), [(0.3, "dark"), (-0.3, "light")])
def test_the_makers_are_asked_about_the_side_that_bears_more_errors(report, estimate, side):
    row = report.effects[0].model_copy(update={"verdict": "exceeds", "estimate": estimate})
    step = summing_up.next_steps(report.model_copy(update={"effects": [row]}))[0]
    assert f"about images listed as {row.cell}, {side}: which faces" in step
