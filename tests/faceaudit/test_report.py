"""Reports: JSON as its schema says, a page that needs nothing else, a card with its sections."""

import html
import json
import re

import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe
from jsonschema import Draft202012Validator

import faceaudit
from faceaudit import read_json, report_page, schema, write_json
from faceaudit.report import card
from faceaudit.report_page import page, write_html
from faceaudit.report_schema import Answers
from faceaudit.wording import ORDER, by_chance, hundredths, percent, points, told
from helpers.artifacts.lineage import ROOT
from helpers.claims import with_minus


@pytest.fixture
def text_of(monkeypatch):
    """The page as plain text without its figures, which take the time."""
    monkeypatch.setattr(report_page, "_figures", lambda *_: {"forest": "", "thresholds": ""})

    def text(report, **update):
        return " ".join(html.unescape(page(report.model_copy(update=update))).split())

    return text


def test_a_report_obeys_the_published_schema_and_reads_back(report, tmp_path):
    published = (ROOT / "audits" / "report.schema.json").read_text(encoding="utf-8")
    assert published == schema(), "python -m faceaudit schema > audits/report.schema.json"
    path = write_json(report, tmp_path / "report.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    Draft202012Validator(json.loads(published)).validate(content)
    assert read_json(path) == report
    assert content["plan"]["kept"] and content["plan"]["departures"] == []


def test_the_answer_comes_first_and_the_page_needs_no_other_file(report):
    text = page(report)
    heads = ["In short", "Findings", "Limits", "Plan and departures", "Provenance"]
    places = [text.index(report.answer[:60]), text.index("What this does not say")]
    places = places[:1] + [text.index(f">{head}</h2>") for head in heads]
    assert places == sorted(places)
    assert all(row.sentence in text for row in report.effects) and report.plan.sha256 in text
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
    update = {"threshold": -0.125, "people": [Answers(**about, agreement=agreement)]}
    update["plan"] = report.plan.model_copy(update={"content": content})
    changed = report.model_copy(update=update)
    cells = re.findall(r">([^<]+)<", re.sub(r"<style.*?</style>", "", page(changed), flags=re.S))
    _, head, body = card(changed).split("---\n", 2)
    (index,) = yaml.safe_load(head)["model-index"]
    intervals = [one["interval"] for one in index["results"][0]["metrics"]]
    sentences = [row.sentence for row in changed.effects]
    for text in (*cells, body, *intervals, *sentences, *changed.limits):
        assert with_minus(text) == text
    lowest = min(row.low for row in changed.effects)
    for texts in (cells, [body], intervals, sentences):
        assert lowest < 0 and any(points(lowest) in text for text in texts)
    assert {"−0.25", "−0.125"} <= {*cells} and "threshold −0.125" in body
    read = json.loads(write_json(changed, tmp_path / "report.json").read_text(encoding="utf-8"))
    assert min(row["low"] for row in read["effects"]) == lowest


def test_names_of_the_user_s_cannot_become_code(report):
    tag = "<img src=x onerror=alert(1)>"
    named = {"axis": tag, "cell": tag, "contrast": f"{tag} instead of {tag}", "verdict": "exceeds"}
    row = report.effects[0].model_copy(update=named | {"sentence": f"{tag}: the model errs & more"})
    changes = {"question": tag, "answer": tag, "effects": [row], "limits": [tag]}
    changes |= {"averages": [], "interactions": []}
    changes["data"] = report.data | dict.fromkeys(("source", "tells", "answers", "trial"), tag)
    changes["provenance"] = report.provenance | {"model": {"file": tag}}
    changed = report.model_copy(update=changes)
    _, _, body = card(changed).split("---\n", 2)
    assert "<" not in body and body.count("&lt;img src=x onerror=alert(1)&gt;") >= 5
    assert "errs &amp; more" in body and "<img" not in page(changed)


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
    _, head, body = card(report.model_copy(update={"tolerance": 0.01})).split("---\n", 2)
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
    assert "against a tolerance of 1 point," in body
    (index,) = yaml.safe_load(head)["model-index"]
    metrics = index["results"][0]["metrics"]
    assert [one["verdict"] for one in metrics] == [row.verdict for row in report.judged]


def test_sentences_say_on_whose_evidence_a_verdict_stands():
    numbers = {"estimate": -0.2, "low": -0.33, "high": -0.07, "reason": ""}
    row = numbers | {"cell": "male", "contrast": "dark instead of light", "base_rate": 0.3}

    def effect(verdict, tolerance=0.05, **update):
        said = row | {"verdict": verdict} | update, ("light", "dark"), tolerance, 12
        return told("effect", *said, "errs on", "made to show")[0]

    assert effect("inconclusive") == (
        "Male: the model errs on 30.0 of 100 images made to show “light” and on 10.0 of 100 of the "
        "same faces made to show “dark” (−20.0 points; 95 % interval −33.0 to −7.0). Alone it "
        "would lie beyond the tolerance of 5 points; adjusted for all 12 comparisons, it is "
        "undecided."
    )
    assert effect("exceeds", 0.01).endswith("This is beyond the tolerance of 1 point.")
    assert effect("inconclusive", high=-0.04).endswith(
        "The images cannot tell whether this is beyond the tolerance of 5 points."
    )
    within = effect("within", high=0)
    assert within.endswith("by two one-sided tests within the tolerance of 5 points.")
    assert effect("not estimable", low=None, reason="no pair") == (
        "Male: dark instead of light cannot be compared here (no pair)."
    )
    gap = numbers | {"measure": "FMR at threshold", "group": "black_f", "reference": "a"}
    gap |= {"rate": 0.1, "reference_rate": 0.3, "verdict": "inconclusive"}
    assert told("disparity", gap, 0.05, 12) == [
        "black_f: the false match rate is 10.0 %, against 30.0 % for a: −20.0 points (95 % "
        "interval −33.0 to −7.0). Alone it would lie beyond the tolerance of 5 points; adjusted "
        "for all 12 comparisons, it is undecided."
    ]
    assert told("disparity", gap | {"low": None, "measure": "FTE"}, 0.05, 1) == [
        "black_f: the rate of failures to enrol cannot be compared with that of a."
    ]


@pytest.mark.parametrize("rate", [0.1875, 0.18749999999999997])
def test_one_number_is_told_alike_in_all_words(rate):
    assert (points(rate), percent(rate), hundredths(rate)) == ("+18.8", "18.8 %", "18.8")


def test_rows_and_axes_come_worst_first_in_text_and_figure(report, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        report_page, "forest", lambda rows, names, *_: drawn.append([*rows]) or "<svg"
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
        body = text[text.index(f"{caption}</caption>") :].split("</table>")[0]
        cells = re.findall(r'<th scope="row">([^<]+)</th><td class="text">([^<]+)</td>', body)
        assert cells == pairs


def test_the_head_says_what_is_told_of_what_images_and_that_it_is_a_trial(report, text_of):
    data = report.data | {"tells": "gender", "made_by": "known-truth", "trial": "Cut to 4."}
    text = text_of(report, data=data | {"labelled_by": "mturk"})
    assert (
        "The model tells perceived gender, female or male; an error is an answer other than that "
        "of most of the people who looked. The images are drawings of invented faces. There are "
        "1,200: 300 faces, each in 4 versions that should differ in nothing but skin and"
    ) in text[text.index("<h1>") : text.index("<nav")]
    assert "A trial run with few faces: its numbers are rough.</strong> Cut to 4." in text
    assert "<h3>Skin</h3>" in text and "<h3>Perceived gender</h3>" in text
    assert "A trial run" not in text_of(report)
    simulated = text_of(report, data=data | {"labelled_by": "simulated"})
    assert "that of most of the simulated people who looked" in simulated


def test_the_truth_is_explained_counted_and_held_against_chance(report, text_of):
    truths = [report.effects[0].low - 1e-6, *(row.high for row in report.effects[1:])]
    rows = [
        row.model_copy(update={"truth": one, "truth_se": 0.012})
        for row, one in zip(report.effects, truths, strict=True)
    ]
    averages = [row.model_copy(update={"truth": row.estimate}) for row in report.averages]
    averages[0].truth = averages[0].high + 1e-6
    text = text_of(report, effects=rows, averages=averages)
    assert f"{len(rows) - 1} of {len(rows)} hold this truth" in text
    assert f"{len(averages) - 1} of {len(averages)} intervals hold the truth" in text
    assert "with a standard error of up to 1.2 points" in text and by_chance(1, len(rows)) in text
    assert "hold this truth" not in text_of(report)
    chance = by_chance(2, 12)
    assert "0.6 of 12; 2 missed" in chance and "2 or more would do so in 11.8 %" in chance
    assert "at most 30.0 %" in chance and "no fault" in chance  # 12 × 5 % / 2, by Markov
    assert by_chance(0, 12).endswith("0.6 of 12; none missed.")
    assert "one audit cannot tell" in by_chance(3, 12)


def test_truths_beyond_the_tolerance_are_counted_by_verdict(report, text_of):
    numbers = [
        ("exceeds", 0.2, 0.1),
        ("exceeds", 0.2, -0.1),  # beyond, but on the other side
        ("inconclusive", 0.1, -0.06),
        ("inconclusive", 0.1, 0.04),
        ("within", 0.0, 0.0),
    ]
    names = ("verdict", "estimate", "truth")
    rows = [
        report.effects[0].model_copy(update=dict(zip(names, one, strict=True))) for one in numbers
    ]
    text = text_of(report, effects=rows, interactions=[])
    text = text.split("The truth is beyond the tolerance in")[1]
    assert [*re.findall(r"(\d) of the (\d) (?:comp|und|found)", text)] == [
        ("1", "2"),
        ("1", "2"),
        ("0", "1"),
    ]


@pytest.mark.parametrize(("kind", "shown"), [(None, "listed as"), ("eg3d", "made to show")])
def test_a_level_is_never_taken_for_the_answer_of_the_model(analysed, text_of, kind, shown):
    data, plan, tables = analysed
    plan = plan | ({"generator": {"kind": kind}} if kind else {})
    report = faceaudit.build_report(data, tables, plan, plan)
    text = text_of(report)
    for row in report.effects:
        low, high = plan["axes"][row.axis]
        assert f"images {shown} “{low}”" in row.sentence
        assert f"the same faces {shown} “{high}”" in row.sentence
    heads = re.findall(r'<thead><tr><th scope="col">([^<]+)</th>', text)
    assert heads.count(f"images {shown}") == 5  # cells, averages, hidden causes, scores, rates
    assert f"errs most often on images {shown}" in text
    assert f"{shown}, such as “female”. It is never what the model answered" in text


def test_the_smallest_changes_of_rows_averages_and_plan_are_told_apart(report, text_of):
    text = text_of(report)
    cells, averages = report.effects[0].n, report.averages[0].n
    assert averages > cells and f"more pairs ({averages}) than a cell ({cells})" in text
    planned = report.plan.content["sizes"]["detectable"]
    assert f"The plan's {hundredths(planned)} points are no such number" in text
    (limit,) = [one for one in report.limits if one.startswith("“Undecided” is not “no effect”")]
    sizes = [row.mde for row in report.effects if row.verdict == "inconclusive"]
    assert " to ".join(dict.fromkeys(map(hundredths, (min(sizes), max(sizes))))) in limit
    assert any("were in the table before the plan" in one for one in report.limits)


def test_void_comparisons_and_no_departures_are_named(report, text_of):
    text = text_of(report)
    assert "Every image was answered: the 2 planned comparisons of missing answers are void" in text
    assert "<h3>Departures</h3> <p>None.</p>" in text
    assert "are void" not in text_of(report, no_answer=report.averages)


def test_the_next_steps_follow_from_the_verdicts(report, text_of):
    def steps(**update):
        rows = [row.model_copy(update=update) for row in report.effects]
        text = text_of(report, effects=rows, averages=[])
        return re.findall(r"<li>(.*?)</li>", text.split('id="next"')[1].split("</ul>")[0])

    heads = {
        verdict: [step.split(":")[0] for step in steps(verdict=verdict)]
        for verdict in ("within", "exceeds", "inconclusive")
    }
    assert heads == {
        "within": ["In any case"],
        "exceeds": ["Beyond the tolerance", "In any case"],
        "inconclusive": ["Undecided", "In any case"],
    }
    needed = report.plan.content["sizes"]["needed"]
    assert needed > 300 and f"{needed:,} faces" in steps(verdict="inconclusive")[0]
    cell = report.effects[0].cell
    for estimate, side in ((0.3, "dark"), (-0.3, "light")):  # who bears more errors
        step = steps(verdict="exceeds", estimate=estimate)[0]
        assert f"about images listed as {cell}, {side}: which faces" in step


@pytest.mark.parametrize(
    ("update", "why"),
    [
        ({"base_rate": 0.0, "estimate": 0.25}, "none: no errors at one level"),
        ({"base_rate": 0.25, "estimate": -0.25}, "none: no errors at one level"),
        ({"base_rate": 0.0, "estimate": 0.0}, "none: no errors at either level"),
        ({"estimate": None}, "–"),
        ({"e_value": 4.584}, "4.58"),
    ],
)
def test_an_e_value_that_there_is_not_says_why(report, text_of, update, why):
    row = report.effects[0].model_copy(update={"e_value": None} | update)
    text = text_of(report, effects=[row], interactions=[]).split("Sensitivity to hidden causes")[1]
    assert f'<td class="text">{row.cell}</td><td>{why}' in text.replace("<td> ", "<td>")
