"""Several models in one report: judged together, by loops that say the same, and never rescued."""

import json
import pickle
import re
import shutil
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator
from pretended_audits import pretended_table
from scipy.stats import norm

import faceaudit
from faceaudit import families
from faceaudit.__main__ import main
from faceaudit.effects import paired_interval
from faceaudit.effects.paired_proportions import score_p
from faceaudit.models_side_by_side import side_by_side_from_files
from faceaudit.report.schema import ADJUSTED_COLUMNS
from faceaudit.results import MOST_LINES
from faceaudit.utils.errors import InputError
from faceaudit.verdicts import settle_audits_together

TWO_AXES = {"skin": ["light", "dark"], "gender": ["female", "male"]}
SETTINGS = {"unit": "unit", "axes": TWO_AXES, "image": "image_id", "tolerance": 0.05}
ERRORS = {"label": "gender", "score": "score", "classes": ["female", "male"]}
UNITS = 80
ORDER = ["within", "inconclusive", "exceeds"]
"""Verdicts by how much of an effect they claim."""


def pretended_audit(effect, seed, **settings):
    """An audit of one model of two axes, with a planted effect of dark skin on women."""
    table = pretended_table(UNITS, effect, seed)
    return faceaudit.table(table, **{**SETTINGS, **ERRORS, **settings})


def audit_of_age(off_by=2.0, missing=0):
    """An audit of numbers: by how many years an age is off, more with dark skin."""
    table = pretended_table(UNITS, 0.0, seed=1)
    noise = np.random.default_rng(5).normal(size=len(table))
    table["off"] = noise + off_by * (table["skin"] == "dark")
    table.loc[: missing - 1, "off"] = np.nan
    return faceaudit.table(table, outcome="off", **{**SETTINGS, "tolerance": 1.0})


def one_axis_audit(worse, better=0, units=120):
    """An audit of one axis with one pair a face; `worse` faces err with dark skin alone."""
    rows = [
        (f"{face}-{skin}", face, skin, int(face < worse if skin else face >= units - better))
        for face in range(units)
        for skin in (0, 1)
    ]
    table = pd.DataFrame(rows, columns=["image_id", "unit", "skin", "wrong"])
    settings = {**SETTINGS, "axes": {"skin": [0, 1]}}
    return faceaudit.table(table, error="wrong", **settings)


@pytest.fixture(scope="module")
def audits():
    """Two gender models of one table, one of another table, and one of age."""
    return {
        "first": pretended_audit(0.5, seed=1),
        "second": pretended_audit(0.0, seed=2),
        "third": pretended_audit(0.2, seed=3, outcomes=["error", "selection", "score"]),
        "age": audit_of_age(missing=8),
    }


@pytest.fixture(scope="module")
def found(audits):
    return faceaudit.side_by_side(audits, name="gender-and-age")


@pytest.fixture(scope="module")
def saved(found, tmp_path_factory):
    """The folder of the saved report, which stays as it is."""
    folder = tmp_path_factory.mktemp("saved") / "report"
    found.save(folder)
    return folder


@pytest.fixture
def copied(saved, tmp_path):
    """A folder of the saved report for one test to change."""
    return shutil.copytree(saved, tmp_path / "copied")


# --- judged together


def test_comparisons_of_one_axis_are_adjusted_over_the_models_as_a_loop_does():
    """Holm's method and Bonferroni's quantile over the models, by hand."""
    counts = {"none": (3, 3), "some": (17, 2), "many": (40, 1)}
    models = {name: one_axis_audit(*discordant) for name, discordant in counts.items()}
    table = faceaudit.side_by_side(models).averages.set_index("model")
    quantile = norm.ppf(1 - 0.05 / (2 * len(counts)))
    p_beyond = {}
    for name, (worse, better) in counts.items():
        low, high = paired_interval(worse, better, 120, quantile)
        assert table.loc[name, ["low_family", "high_family"]].tolist() == pytest.approx([low, high])
        size = abs(worse - better) / 120
        p_beyond[name] = score_p(worse, better, 120, 0.05).item() if size > 0.05 else 1.0
    left = len(counts)
    adjusted = 0.0
    for name in sorted(p_beyond, key=p_beyond.get):
        adjusted = min(1.0, max(adjusted, left * p_beyond[name]))
        assert table.loc[name, "p_beyond_holm"] == pytest.approx(adjusted)
        left -= 1


def test_families_of_one_audit_share_the_level_and_models_each_others():
    """One audit alone is judged by its families; two equal ones have half of the level each."""
    data = pretended_audit(0.5, seed=1)
    own = data.report
    tables = {
        families.AVERAGES: pd.DataFrame({"p_beyond": [0.001, 0.3], "verdict": "inconclusive"}),
        families.CELLS: pd.DataFrame({"p_beyond": [0.01, 0.02, 0.9], "verdict": "within"}),
    }
    (alone,) = settle_audits_together([tables], 0.05)
    assert alone[families.AVERAGES]["p_beyond_holm"].tolist() == pytest.approx([0.004, 0.5])
    both = faceaudit.side_by_side({"a": data, "b": data}).report
    for part in ("averages", "effects"):
        rows = [row for row in getattr(both, part) if row.model == "a"]
        for row, row_alone in zip(rows, getattr(own, part), strict=True):
            assert row.p_beyond_holm >= row_alone.p_beyond_holm
            same = row.model_dump(exclude={*ADJUSTED_COLUMNS, "sentence", "model", "verdict_alone"})
            assert same == row_alone.model_dump(exclude={*ADJUSTED_COLUMNS, "sentence"})
    smallest = min(row.p_beyond_holm for row in own.judged)
    assert min(row.p_beyond_holm for row in both.judged) == pytest.approx(2 * smallest)


def random_families(random):
    """Families of an audit with p-values, some of them small and some not estimable."""
    tables = {}
    for name in (families.AVERAGES, families.CELLS, families.OUTCOMES, families.MISSING):
        if name == families.CELLS or random.random() < 0.6:
            p = random.random(random.integers(1, 7)) ** random.integers(1, 9)
            p[random.random(len(p)) < 0.15] = np.nan
            tables[name] = pd.DataFrame({"p_beyond": p, "verdict": "inconclusive"})
    return tables


@pytest.mark.parametrize("seed", range(25))
def test_no_comparison_is_more_decided_among_models_of_other_families(seed):
    random = np.random.default_rng(seed)
    models = [random_families(random) for _ in range(random.integers(2, 6))]
    together = settle_audits_together(models, 0.05)
    for tables, judged in zip(models, together, strict=True):
        (alone,) = settle_audits_together([tables], 0.05)
        for name, table in alone.items():
            known = table["p_beyond"].notna()
            gain = judged[name]["p_beyond_holm"] - table["p_beyond_holm"]
            assert (gain[known] > -1e-12).all()


def test_joint_p_values_are_those_of_a_closed_test():
    """Over all subsets of comparisons, each tested by Bonferroni with the shares of its members."""
    random = np.random.default_rng(7)
    sizes = ({families.AVERAGES: 2, families.CELLS: 3}, {families.CELLS: 2})
    models = [
        {
            name: pd.DataFrame({"p_beyond": random.random(size) ** 4, "verdict": "within"})
            for name, size in families_of_model.items()
        }
        for families_of_model in sizes
    ]
    shares, p_values, adjusted = [], [], []
    for tables, judged in zip(models, settle_audits_together(models, 0.05), strict=True):
        for name, table in tables.items():
            shares += [1 / len(tables) / len(table)] * len(table)
            p_values += table["p_beyond"].tolist()
            adjusted += judged[name]["p_beyond_holm"].tolist()
    for one in range(len(shares)):
        worst = 0.0
        others = [place for place in range(len(shares)) if place != one]
        for size in range(len(others) + 1):
            for subset in combinations(others, size):
                members = [one, *subset]
                total = sum(shares[place] for place in members)
                tested = min(p_values[place] * total / shares[place] for place in members)
                worst = max(worst, min(tested, 1.0))
        assert adjusted[one] == pytest.approx(worst)


def test_verdicts_are_at_most_as_decided_as_alone_and_keep_their_numbers(found, audits):
    for table in (found.averages, found.effects, found.outcomes, found.missing):
        assert table.columns[0] == "model"
        estimated = table[table["verdict"] != "not estimable"]
        for row in estimated.itertuples():
            assert ORDER.index(row.verdict) in (ORDER.index(row.verdict_alone), 1)
            assert row.low_family <= row.low and row.high <= row.high_family
    own = pd.concat({name: audit.averages for name, audit in audits.items()})
    assert found.averages["estimate"].tolist() == own["estimate"].tolist()
    assert set(found.missing["model"]) == {"age"} and set(found.outcomes["model"]) == {"third"}
    assert f"{len(found.report.judged)} comparisons" in repr(found)


def test_a_tolerance_is_that_of_the_models_own_audit(found):
    table = found.averages.set_index(["model", "axis"])
    assert table.loc[("age", "skin"), "verdict"] == "exceeds"
    assert table.loc[("age", "gender"), "verdict"] == "within", "by years, and not by points"


# --- differences


def test_differences_are_those_of_the_same_images(found, audits):
    table = found.differences
    assert set(zip(table["model"], table["minus"], strict=True)) == {
        ("first", "second"),
        ("first", "third"),
        ("second", "third"),
    }
    frames = {
        name: audit.frame.set_index("image_id")["error"]
        for name, audit in audits.items()
        if name != "age"
    }
    for row in table.itertuples():
        if row.quantity == "mean":
            changes = [
                frames[row.model][image] - frames[row.minus][image]
                for image in frames[row.model].index
            ]
            expected = np.mean(changes)
        else:
            mine, theirs = (
                audits[name].averages.set_index("axis")["estimate"][row.axis]
                for name in (row.model, row.minus)
            )
            expected = mine - theirs
        assert row.estimate == pytest.approx(expected)
        assert row.low_family <= row.low and row.p_holm >= row.p
    assert len(table) == 9
    assert table["p_holm"].min() == pytest.approx(9 * table["p"].min())


def test_models_of_other_questions_have_no_difference(audits):
    first = audits["first"]
    answers = pretended_table(UNITS, 0.0, seed=1)
    answers["smiles"] = answers["unit"] % 2
    answers["says"] = answers["smiles"]
    others = {
        "other labels": faceaudit.table(answers, **SETTINGS, label="smiles", pred="says"),
        "other tolerance": pretended_audit(0.0, 2, tolerance=0.1),
        "other outcome": pretended_audit(0.0, 2, outcomes=["selection"], label=None),
    }
    for name, other in others.items():
        both = faceaudit.side_by_side({"first": first, name: other})
        assert both.differences.empty and both.report.questions == [["first"], [name]]
        assert f"groups: first; {name}." in both.report.limits[3]
    flips = pretended_audit(0.0, 2, outcomes=["flip"], label=None)
    of_flips = faceaudit.side_by_side({"one": flips, "other": flips})
    assert of_flips.differences.empty and of_flips.report.models[0].mean is None


def test_differences_of_effects_may_be_larger_than_one():
    """Two effects of opposite sign: their difference is not cut at 100 points."""
    against = faceaudit.side_by_side({"a": one_axis_audit(118, 0), "b": one_axis_audit(0, 118)})
    effect = against.differences.set_index("quantity").loc["effect"]
    assert effect["estimate"] == pytest.approx(2 * 118 / 120)
    assert effect["low_family"] > 1 and effect["high_family"] > effect["estimate"]


# --- what is refused


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda: audit_of_units(range(3, UNITS)), "12 images are in one of both audits alone"),
        (lambda: audit_of_units(range(UNITS), shift=1), "another unit, level or weight in b"),
        (lambda: pretended_audit(0.0, 2, unit=None), "b is an audit of portraits"),
        (lambda: pretended_audit(0.0, 2, axes={"skin": ["light", "dark"]}, incomplete="pairs",
                                 placebos={"gender": ["female", "male"]}), "axes of a is"),
    ],
    ids=["images", "units", "portraits", "axes"],
)  # fmt: skip
def test_audits_that_do_not_belong_together_are_refused(other, words):
    with pytest.raises(InputError, match=words):
        faceaudit.side_by_side({"a": pretended_audit(0.0, 1), "b": other()})


def audit_of_units(units, shift=0):
    table = pretended_table(UNITS, 0.0, seed=2)
    table = table[table["unit"].isin(list(units))]
    moved = (table["unit"] + shift) % UNITS
    return faceaudit.table(table.assign(unit=moved), **SETTINGS, **ERRORS)


def test_one_model_is_not_several():
    with pytest.raises(InputError, match="two or more were expected"):
        faceaudit.side_by_side({"a": pretended_audit(0.0, 1)})


@pytest.mark.parametrize("given", [list, tuple], ids=["list", "tuple"])
def test_models_without_names_are_refused_in_plain_words(given):
    audit = one_axis_audit(3)
    words = f"audits is of type {given.__name__}, a mapping from names of models to their audits, "
    with pytest.raises(InputError, match=words) as refused:
        faceaudit.side_by_side(given([audit, audit]))
    assert refused.value.field == "audits"


# --- the gate


def test_other_models_do_not_help_a_model_to_pass():
    """What is beyond alone and undecided among eight is said so, and fails."""
    alone = one_axis_audit(13)
    assert alone.verdict == "exceeds"
    models = {"biased": alone} | {f"fair {number}": one_axis_audit(1, 1) for number in range(7)}
    found = faceaudit.side_by_side(models)
    row = found.averages.set_index("model").loc["biased"]
    assert (row["verdict"], row["verdict_alone"]) == ("inconclusive", "exceeds")
    assert "adjusted for all 8 comparisons, it is undecided" in row["sentence"]
    assert found.gate() == 1
    assert "In its own report beyond the tolerance, and undecided here" in found._repr_html_()


def test_the_gate_goes_by_the_worst_model():
    passing = pretended_audit(0.0, seed=2, tolerance=0.3)
    undecided = pretended_audit(0.1, seed=4)
    assert (passing.gate(), undecided.gate()) == (0, 2)
    assert faceaudit.side_by_side({"a": passing, "b": passing}).gate() == 0
    both = faceaudit.side_by_side({"a": passing, "b": undecided})
    assert both.gate() == 2 and both.gate("exceeds") == 0
    with pytest.raises(ValueError, match="fail_on"):
        both.gate("nothing")


def test_doubts_departures_and_coverage_of_each_model_count(tmp_path):
    passing = pretended_audit(0.0, seed=2, tolerance=0.3)
    table = pretended_table(UNITS, 0.0, seed=1)
    reversed_scores = table.assign(score=1 - table["score"])
    doubted = faceaudit.table(reversed_scores, **SETTINGS, **ERRORS)
    settings = {**SETTINGS, **ERRORS, "tolerance": 0.3}
    plan = faceaudit.plan(UNITS, **{**settings, "tolerance": 0.2})
    departed = faceaudit.table(table, plan=plan, **settings)
    strict = pretended_audit(0.0, 2, tolerance=0.3, policy={"faces": 500})
    for other, code, title, said in (
        (doubted, 1, "Before you believe this:", "The model errs on"),
        (departed, 1, "The analysis departed from the plan:", "tolerance: 0.2 was planned, 0.3 "),
        (strict, 2, "Too little is there to let the model pass:", "The smallest cell has 80 faces"),
    ):
        found = faceaudit.side_by_side({"passing": passing, "other": other})
        assert found.gate() == code
        page = found.save(tmp_path).read_text(encoding="utf-8")
        first_box = page.partition("<nav")[0].partition('id="answer"')[2]
        assert first_box.count('class="doubts"') == 1
        warned = first_box.partition(f"<strong>{title}</strong>")[2]
        assert warned.partition("</ul>")[0].count(f"<li><strong>other</strong>: {said}") == 1
        assert faceaudit.verify(tmp_path / "report.json")[0] == 0


# --- what is saved


def test_a_saved_report_leads_to_the_single_ones_and_is_verified(found, audits, tmp_path):
    page = found.save(tmp_path).read_text(encoding="utf-8")
    links = re.findall(r'href="([^"#]+)"', page)
    assert set(links) == {f"{name}/report.html" for name in audits}
    assert all((tmp_path / link).is_file() for link in links)
    assert page.count("<svg") == 2, "a forest of rates and one of years"
    content = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    Draft202012Validator(json.loads(faceaudit.schema_of_models())).validate(content)
    assert faceaudit.verify(tmp_path / "report.json")[0] == 0
    assert faceaudit.gate(tmp_path / "report.json")[0] == found.gate() == 1
    for name in audits:
        assert faceaudit.verify(tmp_path / name / "report.json")[0] == 0


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (lambda content: content["averages"][0].update(verdict="within"), 3, "does not follow"),
        (lambda content: content["averages"][0].update(estimate=0.0), 3, "not those of its own"),
        (lambda content: content["models"][0].update(verdict="within"), 3, "what its rows give"),
        (lambda content: content["models"][0].update(sha256="0"), 3, "hash is another one"),
        (lambda content: content.update(level="low"), 3, "damaged or of another version"),
    ],
    ids=["verdict", "estimate", "model", "hash", "schema"],
)
def test_the_gate_trusts_no_report_whose_parts_disagree(copied, change, code, words):
    path = copied / "report.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    found_code, lines = faceaudit.gate(path)
    assert found_code == code and words in lines[0]
    assert faceaudit.verify(path)[0] == 3


def test_verifying_finds_other_differences_and_other_rows(saved, copied):
    path = copied / "report.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["differences"][0]["p_holm"] = 0.001
    path.write_text(json.dumps(content), encoding="utf-8")
    code, lines = faceaudit.verify(path)
    assert code == 3 and "differences (first, second, mean" in lines[0]
    shutil.copy(saved / "report.json", path)
    images = pd.read_csv(copied / "age" / "images.csv", dtype=str)
    images[images["unit"] != "3"].to_csv(copied / "age" / "images.csv", index=False)
    code, lines = faceaudit.verify(path)
    assert code == 3 and lines[0].startswith("age: ")


def test_the_command_makes_the_same_report_of_what_was_saved(found, audits, tmp_path, capsys):
    for name, audit in audits.items():
        audit.save(tmp_path / name)
    page = tmp_path / "first" / "report.html"
    page.write_text("with a contact sheet", encoding="utf-8")
    reports = [str(tmp_path / name / "report.json") for name in audits]
    # The folder of the report holds those of the single models already.
    out = ["--out", str(tmp_path), "--name", "gender-and-age"]
    assert main(["side-by-side", *reports, *out]) == 0
    assert "gender-and-age: 4 models" in capsys.readouterr().out
    made = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    expected = found.report.model_dump(mode="json")
    for part in ("averages", "effects", "outcomes", "missing", "differences", "limits"):
        for row, other in zip(made[part], expected[part], strict=True):
            assert row == pytest.approx(other) if part == "limits" else same_row(row, other)
    assert page.read_text(encoding="utf-8") == "with a contact sheet"
    assert main(["verify", str(tmp_path / "report.json")]) == 0
    assert main(["gate", str(tmp_path / "report.json")]) == 1
    assert main(["side-by-side", *reports, "--out", str(tmp_path / "age")]) == 3
    assert main(["side-by-side", reports[0], reports[0], "--out", str(tmp_path / "new")]) == 3
    assert main(["side-by-side", *reports]) == 3, "without a folder"


def test_models_in_folders_of_one_name_are_told_apart(tmp_path):
    """The second one was refused, though the folders around them have other names."""
    files = []
    for name, worse in (("old/skin", 3), ("new/skin", 17), ("new/other", 8)):
        one_axis_audit(worse).save(tmp_path / name)
        files.append(tmp_path / name / "report.json")
    _, found = side_by_side_from_files(files, tmp_path / "all")
    assert [model.name for model in found.report.models] == ["old/skin", "new/skin", "other"]
    assert faceaudit.verify(tmp_path / "all" / "report.json")[0] == 0


def same_row(row, other):
    """Whether two rows agree up to rounding."""
    return all(
        value == pytest.approx(other[key]) if isinstance(value, float) else value == other[key]
        for key, value in row.items()
    )


# --- what is shown


def test_a_console_and_a_notebook_show_the_answers(found, audits):
    lines = repr(found).splitlines()
    assert lines[1].startswith(
        "first: exceeds. Error rate, on average (tolerance: 5 points): skin, +"
    )
    assert " for dark (beyond); perceived gender, " in lines[1]
    assert "Other comparisons: 2 beyond the tolerance (largest: " in lines[1]
    assert lines[4].startswith("age: exceeds. Mean, on average (tolerance: 1): skin, +")
    assert len(lines) <= MOST_LINES + len(audits)
    shown = found._repr_html_()
    assert all(f"<strong>{name}</strong>" in shown for name in audits) and "<svg" in shown
    assert pickle.loads(pickle.dumps(found)).report == found.report


def test_a_forest_has_a_panel_for_each_unit(found):
    rates, years = found.plot().axes
    assert rates.get_xlabel() == "change (points)"
    assert years.get_xlabel() == "change of the mean"
    texts = [text.get_text() for text in rates.texts]
    assert texts == [
        "Skin: dark instead of light (error rate)", "first", "second", "third",
        "Perceived gender: male instead of female (error rate)", "first", "second", "third",
        "Skin: dark instead of light (selection rate)", "third",
        "Perceived gender: male instead of female (selection rate)", "third",
        "Skin: dark instead of light (mean score)", "third",
        "Perceived gender: male instead of female (mean score)", "third",
    ]  # fmt: skip


def audit_of_levels(model):
    """An audit of one axis of three levels, by errors and by selections."""
    random = np.random.default_rng(model)
    faces = pd.DataFrame({"unit": range(UNITS), "truth": random.integers(0, 2, UNITS)})
    table = faces.merge(pd.DataFrame({"skin": ["I", "III", "V"]}), how="cross")
    table["image_id"] = table["unit"].astype(str) + table["skin"]
    wrong = random.random(len(table)) < 0.05 + 0.2 * (table["skin"] == "V")
    table["says"] = (table["truth"] != wrong).astype(int)
    settings = {**SETTINGS, "axes": {"skin": ["I", "III", "V"]}}
    return faceaudit.table(
        table, label="truth", pred="says", outcomes=["error", "selection"], **settings
    )


def test_a_forest_has_every_contrast_and_every_outcome(tmp_path):
    """Further outcomes stood in a table alone, though they decide like the first one."""
    audits = {"first": audit_of_levels(1), "second": audit_of_levels(1)}
    found = faceaudit.side_by_side(audits)
    (panel,) = found.plot().axes
    assert panel.get_xlabel() == "change (points)"
    headings = [
        f"Skin: {contrast} ({outcome})"
        for outcome in ("error rate", "selection rate")
        for contrast in ("III instead of I", "V instead of I")
    ]
    expected = [text for heading in headings for text in (heading, *audits)]
    assert [text.get_text() for text in panel.texts] == expected
    drawn = [line.get_xdata()[0] for line in panel.lines if line.get_marker() in "soD"]
    shown = pd.concat([found.averages, found.outcomes])
    assert sorted(drawn) == pytest.approx(sorted(100 * shown["estimate"]))
    page = found.save(tmp_path).read_text(encoding="utf-8")
    assert "by axis and model, on the first outcome and then on the others." in page


def test_names_are_escaped_and_folders_are_apart(audits, tmp_path):
    names = ["<b>A</b>", "b/a-b", "B A B", "возраст"]
    models = dict(zip(names, audits.values(), strict=True))
    page = faceaudit.side_by_side(models).save(tmp_path / "new").read_text(encoding="utf-8")
    assert "&lt;b&gt;A" in page and "<b>A" not in page
    folders = sorted(path.name for path in (tmp_path / "new").iterdir() if path.is_dir())
    assert folders == ["B-A-B-3", "b-A-b", "b-a-b-2", "model"]
    assert faceaudit.verify(tmp_path / "new" / "report.json")[0] == 0


def test_a_question_is_that_of_the_caller(audits):
    models = {name: audits[name] for name in ("first", "second")}
    assert faceaudit.side_by_side(models).report.question == (
        "How much does each of 2 models change with skin and perceived gender?"
    )
    assert faceaudit.side_by_side(models, question="Why?").report.question == "Why?"


# --- the page of many models, and of several levels


def words_before_details(page):
    """The words of a page before its details, without those of figures."""
    before = page.partition("<body>")[2].partition('<details id="details">')[0]
    before = re.sub(r"<svg.*?</svg>", " ", before, flags=re.DOTALL)
    return re.sub(r"<[^>]+>", " ", before).split()


def test_nine_models_leave_the_page_short(tmp_path):
    """All 108 differences of nine models stood before the details."""
    effects = [0.05 * number for number in range(9)]
    models = {
        f"model {number}": pretended_audit(effect, number, outcomes=["error", "selection"])
        for number, effect in enumerate(effects, start=1)
    }
    found = faceaudit.side_by_side(models)
    page = found.save(tmp_path).read_text(encoding="utf-8")
    assert len(words_before_details(page)) <= 1500
    before, _, details = page.partition('<details id="details">')
    rows = r'<th scope="row">(model \d − model \d)</th>'
    # Fewer than eight are not zero, or else those with the smallest p-values are shown.
    surest = found.differences["p_holm"].sort_values().head(8)
    assert len(re.findall(rows, before)) == (surest < 0.05).sum() > 0
    assert len(re.findall(rows, details)) == len(found.differences) == 108
    assert "Short black lines: zero." in before


def test_the_first_box_has_what_is_missing_the_levels_and_the_edge_of_coverage(tmp_path):
    """What is missing beyond its tolerance stood under Details alone."""
    random = np.random.default_rng(3)
    levels = ["I", "II", "III"]
    audits = {}
    for name, lost in (("whole", 0.0), ("refusing", 0.4)):
        rows = [
            (f"{face}-{skin}-{hair}", face, skin, hair, float(random.random() < 0.05))
            for face in range(UNITS)
            for skin in levels
            for hair in ("short", "long")
        ]
        table = pd.DataFrame(rows, columns=["image_id", "unit", "skin", "hair", "wrong"])
        # The model errs on the third level with short hair, and has no answer to some of it.
        third = table["skin"] == "III"
        table.loc[third & (table["hair"] == "short"), "wrong"] = 1.0
        table["wrong"] = table["wrong"].mask(third & (random.random(len(table)) < lost))
        axes = {"skin": levels, "hair": ["short", "long"]}
        settings = {**SETTINGS, "axes": axes, "policy": {"unanswered": 0.6}}
        audits[name] = faceaudit.table(table, error="wrong", **settings)
    found = faceaudit.side_by_side(audits)
    row = found.missing.set_index("contrast").loc["III instead of I"]
    assert row["verdict"] == "exceeds"
    page = found.save(tmp_path).read_text(encoding="utf-8")
    first_box = page.partition("<nav")[0]
    change = f"{100 * row['estimate']:+.1f} points for III instead of I (beyond)"
    assert f"Share of missing images, on average (tolerance: 5 points): skin, {change}" in first_box
    assert "(largest: skin, III instead of I, short, +" in first_box
    covered = {name: audit.report.coverage for name, audit in audits.items()}
    faces, unanswered, _ = [line.sentence for line in covered["refusing"]]
    assert f"The least covered, refusing: {faces} {unanswered}" in first_box
