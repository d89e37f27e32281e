"""Reports: JSON as its schema says, a page that needs nothing else, a card with its sections."""

import io
import json
import re

import numpy as np
import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe
from jsonschema import Draft202012Validator
from PIL import Image
from pretended_audits import pretended_table

import faceaudit
from faceaudit import read_report, schema, schema_of_models, write_report
from faceaudit.report.page import card, page, write_html
from faceaudit.utils.errors import InputError
from helpers.artifacts.lineage import ROOT

LEAST_CONTRAST = 1.2
"""Of the band of the tolerance in the figure and the page around it."""


def test_a_report_obeys_the_published_schema_and_reads_back(report, tmp_path):
    published = (ROOT / "audits" / "report.schema.json").read_text(encoding="utf-8")
    assert published == schema(), "write faceaudit.schema() to audits/report.schema.json"
    path = write_report(report, tmp_path / "report.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    Draft202012Validator(json.loads(published)).validate(content)
    assert read_report(path) == report
    assert content["plan"]["kept"] and content["plan"]["departures"] == []


def test_the_schema_of_several_models_is_published():
    published = (ROOT / "audits" / "models.schema.json").read_text(encoding="utf-8")
    assert published == schema_of_models(), "write faceaudit.schema_of_models() to this file"


def test_a_report_that_cannot_be_read_says_what_is_at_fault(report, tmp_path):
    path = write_report(report, tmp_path / "report.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(content | {"level": "low"}), encoding="utf-8")
    with pytest.raises(InputError, match="damaged or of another version; level: ") as damaged:
        read_report(path)
    assert (damaged.value.field, damaged.value.found) == ("level", "low")
    assert damaged.value.expected == "a report of this version of the schema"
    with pytest.raises(InputError, match="no such report") as missing:
        read_report(tmp_path / "nowhere.json")
    assert missing.value.field == str(tmp_path / "nowhere.json")


def test_the_answer_comes_first_and_the_page_needs_no_other_file(report):
    text = page(report)
    heads = ["Comparisons", "Limits", "What next", "Details"]
    places = [text.index(report.answer[:60]), *(text.index(f">{head}</h2>") for head in heads)]
    places += [text.index(f">{head}</h3>") for head in ("Plan and departures", "Provenance")]
    assert places == sorted(places) and report.plan.sha256 in text
    assert all(row.sentence in card(report) for row in report.effects)
    assert not re.search(r'(src|href)="(?!#)', text.replace('xlink:href="#', 'href="#'))
    assert "@import" not in text and not re.search(r"url\((?!#)", text)
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids)


def test_the_page_tells_the_planned_chances_of_the_verdicts_and_what_to_do_next(report):
    undecided = report.effects[0].model_copy(update={"verdict": "inconclusive"})
    effects = [undecided, *report.effects[1:]]
    text = page(report.model_copy(update={"effects": effects}))
    how_many, chances = (
        re.search(f"<dt>Chances</dt><dd>({pattern})</dd>", text)[1]
        for pattern in ("[0-9,]+ faces would call a change of zero.*?", "chances that the.*?")
    )
    next_steps = " ".join(text.partition("<li>Undecided: ")[2].partition("</li>")[0].split())
    assert f"By the plan, {how_many} (here: " in next_steps
    assert chances[1:] in next_steps
    before_chances = json.loads(json.dumps(report.plan.content))
    del before_chances["sizes"]["chances"]
    old = report.plan.model_copy(update={"content": before_chances})
    text = page(report.model_copy(update={"effects": effects, "plan": old}))
    assert "More faces would decide." in text


def test_every_law_and_standard_has_its_date_or_edition(report):
    _, table = page(report).split('id="regulations"')
    table, _ = table.split("</table>", maxsplit=1)
    sources = re.findall(r'<th scope="row">(.*?)</th>', table)
    assert {re.split(r",| \(|:", source)[0] for source in sources} == {
        "EU AI Act",
        "NIST AI RMF 1.0",
        "ISO/IEC 19795-10",
        "New York City Local Law 144 of 2021",
    }
    assert all(re.search(r"\b20\d\d\b", source) for source in sources)


def test_names_of_the_user_s_cannot_become_code(report):
    tag = "<img src=x onerror=alert(1)>"
    named = {"axis": tag, "cell": tag, "contrast": f"{tag} instead of {tag}", "verdict": "exceeds"}
    row = report.effects[0].model_copy(update=named | {"sentence": f"{tag}: the model errs & more"})
    changes = {"question": tag, "answer": tag, "effects": [row], "limits": [tag]}
    changes |= {"averages": [], "interactions": []}
    changes["data"] = report.data | dict.fromkeys(("source", "tells", "answers"), tag)
    changes["provenance"] = report.provenance | {"model": {"file": tag}}
    changed = report.model_copy(update=changes)
    _, _, body = card(changed).split("---\n", 2)
    assert "<" not in body and body.count("&lt;img src=x onerror=alert(1)&gt;") >= 5
    assert "errs &amp; more" in body and "<img" not in page(changed)


@pytest.mark.parametrize("unit", ["unit", None], ids=["images", "portraits"])
def test_a_report_of_numbers_names_its_units(unit):
    """Points stood where years are meant, and the tolerance of what is missing was not said."""
    table = pretended_table(80, 0.0, seed=1)
    table["off"] = 3 * table["score"] + 2.0 * (table["skin"] == "dark")
    table.loc[table.index % 10 == 0, "off"] = None
    settings = {"axes": {"skin": ["light", "dark"]}, "image": "image_id", "tolerance": 1.0}
    placebos = {"gender": ["female", "male"]} if unit else {}
    audit = faceaudit.table(table, unit=unit, outcome="off", placebos=placebos, **settings)
    said = "The tolerance of 1 is in the unit of the number. What is missing is judged in points"
    text = page(audit.report)
    first_box = text.partition("<nav")[0]
    for shown in (audit.report.answer, first_box, audit._repr_html_(), card(audit.report)):
        assert f"{said}: its tolerance is 5 points." in shown
    assert "Tolerance: 1, in the unit of the number" in first_box
    assert "what is missing in points, with a tolerance of 5 points</caption>" in text
    assert '<th scope="row">missing, in points</th>' in text
    details = text.partition('<details id="details">')[2]
    assert "in the unit of the number (of what is missing in points)" in " ".join(details.split())
    for word in (
        "Threshold</dt>",
        "by the errors",
        "an error on the one side",
        "Wilson",
        "Newcombe",
    ):
        assert word not in details
    assert "threshold" not in text.partition('id="next"')[2].partition("<details")[0]
    head, body = card(audit.report).split("---\n", 2)[1:]
    intervals = [line for line in head.splitlines() if "interval: " in line]
    assert ["points" in line for line in intervals] == [
        row.outcome == "missing" for row in audit.report.judged
    ]
    assert "at the threshold" not in body and "of what is missing, of 5 points" in body

    no_gaps = table.assign(off=table["off"].fillna(0.0))
    complete = faceaudit.table(no_gaps, unit=unit, outcome="off", placebos=placebos, **settings)
    assert "points" not in complete.report.answer + page(complete.report).partition("<details")[0]


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
            assert shown == 1 and not tab.locator("#plan").is_visible()
            tab.goto(f"{path.as_uri()}#plan")
            assert tab.locator("#plan").is_visible()
            assert tab.evaluate("document.documentElement.scrollWidth") == width
            for scheme in ("light", "dark"):
                tab.emulate_media(color_scheme=scheme)
                found = Axe().run(tab)
                assert found.violations_count == 0, found.generate_report()
            tab.goto("about:blank")
        assert {request.partition("#")[0] for request in requests} <= {path.as_uri(), "about:blank"}
        tab.goto(path.as_uri())
        assert tab.pdf(path=tmp_path / "report.pdf")[:4] == b"%PDF"
        tab.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert tab.locator("#provenance").is_visible(), "paper has the details"
        tab.evaluate("dispatchEvent(new Event('afterprint'))")
        assert not tab.locator("#provenance").is_visible()


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_band_of_the_tolerance_stands_out_from_the_page(report, tmp_path, chromium, scheme):
    path = write_html(report, tmp_path / "report.html")
    with chromium.new_page() as tab:
        tab.emulate_media(color_scheme=scheme)
        tab.goto(path.as_uri())
        picture = tab.locator("figure svg").screenshot()
    pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("RGB")) / 255
    linear = np.where(pixels <= 0.04045, pixels / 12.92, ((pixels + 0.055) / 1.055) ** 2.4)
    # A row of pixels above the first name has the page and the band, besides thin lines.
    luminance = linear[9] @ np.array([0.2126, 0.7152, 0.0722])
    values, counts = np.unique(luminance.round(4), return_counts=True)
    page, band = values[np.argsort(counts)[:-3:-1]]
    lighter, darker = max(page, band), min(page, band)
    assert (lighter + 0.05) / (darker + 0.05) > LEAST_CONTRAST


def test_the_card_has_the_sections_of_mitchell_and_an_index(report):
    _, head, body = card(report.model_copy(update={"tolerance": 0.01})).split("---\n", 2)
    heads = re.findall(r"^## (.*)$", body, re.MULTILINE)
    assert len(heads) == 9 and heads[0] == "Model details" and heads[-1].startswith("Caveats")
    assert "against a tolerance of 1 point," in body
    (index,) = yaml.safe_load(head)["model-index"]
    metrics = index["results"][0]["metrics"]
    assert [one["verdict"] for one in metrics] == [row.verdict for row in report.judged]
