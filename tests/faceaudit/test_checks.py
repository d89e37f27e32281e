"""Faults that once gave a confident report: refused, or a doubt that closes the gate."""

import numpy as np
import pandas as pd
import pytest
from pretended_audits import pretended_table

import faceaudit
from faceaudit import gate
from faceaudit.designs.pairs import Pairs
from faceaudit.file.specification import Specification
from faceaudit.report.page import page

TABLE = {
    "name": "small",
    "question": "?",
    "axes": {"skin": ("light", "dark"), "gender": ("female", "male")},
    "classes": ("female", "male"),
    "images": "faces.csv",
    "design": {"tolerance": 0.05},
}


def report_of(table, **changes):
    specification = Specification(**(TABLE | changes))
    data = faceaudit.MatchedImages.from_table(table, specification)
    plan = faceaudit.make_plan(specification, data.frame["unit"].nunique())
    return faceaudit.build_report(data, data.analyse(plan), plan, plan)


def doubts(report):
    return {doubt.name: doubt.sentence for doubt in report.doubts}


@pytest.fixture
def table():
    return pretended_table(120, 0.1, seed=3)


@pytest.mark.parametrize(("base", "name"), [(0.46, "errors"), (0.75, "reversed")])
def test_errors_of_guessing_and_of_exchanged_classes(base, name):
    table = pretended_table(200, 0.05, seed=3, base=base)
    report = report_of(table)
    assert list(doubts(report)) == [name] and doubts(report)[name] in page(report)
    assert gate(report)[0] == 1 and any(name in line for line in gate(report)[1])
    accepted = report_of(table, accept=[name])
    assert accepted.doubts[0].accepted and "authors of the audit accept this" in page(accepted)
    code, lines = gate(accepted, "exceeds")
    assert code == 0 and f"doubt (accepted), {name}: " in lines[0]


def with_clothes():
    """A table with a placebo axis that changes nothing."""
    tables = [
        pretended_table(80, 0.0, seed=k).assign(clothes=k, image_id=range(k, 640, 2))
        for k in (0, 1)
    ]
    return pd.concat(tables)


@pytest.mark.parametrize("p", [0.0, 0.001, 0.5])
def test_a_limit_names_the_placebos_that_matter(p):
    specification = Specification(**(TABLE | {"placebos": {"clothes": ("0", "1")}}))
    data = faceaudit.MatchedImages.from_table(with_clothes(), specification)
    plan = faceaudit.make_plan(specification, 80)
    tables = data.analyse(plan)
    tables["placebo axes"]["p_holm"] = p
    limits = faceaudit.build_report(data, tables, plan, plan).limits
    named = any("reacts to the placebo clothes" in limit for limit in limits)
    assert named == (p < plan["level"])


@pytest.mark.parametrize("outcome", ["error", "no answer"])
def test_a_placebo_that_matters_is_doubted(outcome):
    table = with_clothes()
    blue = (table["clothes"] == 1) & (table["unit"] % 2 == 0)
    score = (1 - table["score"]) if outcome == "error" else np.nan
    table["score"] = table["score"].where(~blue, score)
    report = report_of(table, placebos={"clothes": ("0", "1")})
    assert list(doubts(report)) == ["placebo"] and gate(report)[0] == 1
    assert "In doubt" in page(report)


def with_other_labels(table, changed):
    """The table with another label of some images, whose answers are then wrong or right."""
    return table.assign(label=table["label"].where(~changed, 1 - table["label"]))


def test_labels_that_change_along_an_axis_are_doubted(table):
    """What is right about a face does not depend on skin. The labels say perceived gender."""
    assert not doubts(report_of(table))
    of_every_fifth_face = (table["skin"] == "dark") & (table["unit"] % 5 == 0)
    report = report_of(with_other_labels(table, of_every_fifth_face))
    assert list(doubts(report)) == ["labels"] and gate(report)[0] == 1
    expected = (
        "Along skin (dark instead of light), the label of 24 of 120 faces changes, in 20.0 of"
    )
    assert doubts(report)["labels"].startswith(expected) and expected in page(report)
    accepted = report_of(with_other_labels(table, of_every_fifth_face), accept=["labels"])
    assert accepted.doubts[0].accepted
    # Other names of the classes do not matter.
    numbers = {"classes": ("0", "1")}
    assert list(doubts(report_of(with_other_labels(table, of_every_fifth_face), **numbers))) == [
        "labels"
    ]


@pytest.mark.parametrize("seed", range(5))
def test_raters_who_disagree_about_a_few_images_are_no_doubt(table, seed):
    changed = np.random.default_rng(seed).random(len(table)) < 0.02
    assert "labels" not in doubts(report_of(with_other_labels(table, changed)))
    # Labels that many raters disagree about are no rule of a face, along any axis.
    scrambled = np.random.default_rng(seed).random(len(table)) < 0.25
    (sentence,) = [
        sentence
        for name, sentence in doubts(report_of(with_other_labels(table, scrambled))).items()
        if name == "labels"
    ]
    assert sentence.startswith("Along skin ")


def test_labels_that_change_along_a_placebo_are_doubted():
    table = with_clothes()
    table["label"] = 0
    of_every_fifth_face = (table["clothes"] == 1) & (table["unit"] % 5 == 0)
    report = report_of(
        with_other_labels(table, of_every_fifth_face), placebos={"clothes": ("0", "1")}
    )
    assert doubts(report)["labels"].startswith("Along clothes (1 instead of 0), the label of 16 of")


@pytest.mark.parametrize(("names", "every"), [(("F", "M"), 6), (("female", "male"), 3)])
def test_an_axis_that_the_labels_tell_of_is_no_doubt(table, names, every):
    """People do not always see what was changed. A level may have the name of a class."""
    table = table.replace({"gender": dict(zip(("female", "male"), names, strict=True))})
    not_seen = (table["gender"] == names[1]) & (table["unit"] % every == 0)
    report = report_of(
        with_other_labels(table, not_seen), axes={"skin": ("light", "dark"), "gender": names}
    )
    assert "labels" not in doubts(report)


@pytest.mark.parametrize(
    ("share", "doubted"), [(0.0, True), (0.03, True), (0.06, True), (0.25, False), (0.9, False)]
)
@pytest.mark.parametrize("positives", [0.5, 0.2])
def test_a_classifier_that_says_nearly_always_the_same_is_doubted(share, doubted, positives):
    """The doubt was all or nothing (A7). How frequent the classes are does not matter."""
    unit = np.repeat(np.arange(500), 2)
    positive = unit % 10 < 10 * positives
    table = pd.DataFrame({"unit": unit, "skin": ["light", "dark"] * 500, "label": positive * 1})
    told = np.random.default_rng(1).random(len(table)) < share
    table["says"] = (positive & told) * 1
    settings = {"unit": "unit", "axes": {"skin": ["light", "dark"]}, "tolerance": 0.1}
    settings |= {"label": "label", "pred": "says"}
    report = faceaudit.table(table, **settings).report
    assert ("constant" in doubts(report)) == doubted
    if doubted:
        assert gate(report)[0] == 1
    if doubted and share > 0:
        missed = 100 * (1 - table["says"][positive].mean())
        said = (
            f"“0” of 100.0 of 100 images with the label “0” and of {missed:.1f} of 100 images with"
        )
        assert said in doubts(report)["constant"] and said in page(report)
    turned = table.assign(label=1 - table["label"], says=1 - table["says"])
    assert ("constant" in doubts(faceaudit.table(turned, **settings).report)) == doubted
    # A model that is right about rare faces decides alike about most images.
    right = faceaudit.table(
        table.assign(label=(unit % 50 == 0) * 1, says=(unit % 50 == 0) * 1), **settings
    )
    assert not right.report.doubts


@pytest.mark.parametrize(
    ("threshold", "doubted"), [(0.5, False), (0.8, False), (0.84, True), (0.95, True), (-1.0, True)]
)
def test_a_recogniser_that_rejects_nearly_everybody_is_doubted(threshold, doubted):
    """Genuine similarities lie around .8, and their spread is .02 (A7)."""
    random = np.random.default_rng(2)
    rows = []
    for group in ("a", "b"):
        for person in range(60):
            for other in (person, person, (person + 1) % 60, (person + 2) % 60, (person + 3) % 60):
                same = int(person == other)
                similarity = random.normal(0.8, 0.02) if same else random.normal(0.3, 0.1)
                rows.append((group, f"{group}{person}", f"{group}{other}", same, similarity))
    frame = pd.DataFrame(rows, columns=["group", "first", "second", "same", "similarity"])
    columns = {name: name for name in frame} | {"reference": "a", "tolerance": 0.05}
    report = faceaudit.pairs(frame, **columns, threshold=threshold).report
    assert ("constant" in doubts(report)) == doubted
    if doubted:
        assert gate(report)[0] == 1
        taken = "one person" if threshold < 0 else "two people"
        assert f"those of {taken}. Check the threshold" in doubts(report)["constant"]
    accepted = faceaudit.pairs(frame, **columns, threshold=threshold, accept=["constant"])
    assert accepted.gate() != 1


def test_a_recogniser_that_hardly_tells_people_apart_is_doubted():
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"same": np.tile([1, 0], 200), "similarity": random.random(400)})
    frame = frame.assign(group="a", first=np.arange(400), second=np.arange(400) + 1 - frame["same"])
    others = frame.assign(group="b", first=-frame["first"] - 1, second=-frame["second"] - 1)
    frame = pd.concat([frame, others])
    specification = Specification(
        **{"name": "pairs", "kind": "verification", "question": "?", "pairs": "pairs.csv"},
        reference="a",
        model={"kind": "table", "threshold": 0.5},
        design={"tolerance": 0.05},
    )
    data, plan = Pairs.from_table(frame, specification), faceaudit.make_plan(specification)
    report = faceaudit.build_report(data, data.analyse(plan), plan, plan)
    assert [*doubts(report)] == ["chance"] and gate(report)[0] == 1
    distances = frame.assign(similarity=0.5 * frame["similarity"] - 0.4 * frame["same"])
    with pytest.raises(ValueError, match="pairs of one person are less similar .* a distance"):
        Pairs.from_table(distances, specification)
