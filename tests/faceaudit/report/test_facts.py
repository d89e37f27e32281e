"""What sentences and pages follow from is decided in Python, at its cut-offs too."""

import re
from pathlib import Path

import pytest

import faceaudit
from faceaudit.report import facts
from faceaudit.report.facts import ContrastLevels, Coverage, Ending, LevelsWithoutErrors, Void
from faceaudit.report.limits import limits_of_images
from faceaudit.report.schema import Effect, Leak, Predicted, Rate

TOLERANCE = 0.05
EFFECT = {
    "axis": "skin",
    "outcome": "error",
    "contrast": "dark instead of light",
    "cell": "all faces",
    "held": {},
    "estimate": 0.02,
    "low": 0.01,
    "high": 0.03,
    "low90": 0.012,
    "high90": 0.028,
    "low_family": 0.0,
    "high_family": 0.04,
    "p": 0.5,
    "p_holm": 0.5,
    "p_beyond_holm": 1.0,
    "verdict": "inconclusive",
    "mde": 0.1,
    "reason": "",
    "n": 80,
    "units": 40,
    "missing": 0,
    "worse": 4,
    "better": 2,
    "base_rate": 0.1,
}
COUNTS = {"images": 160, "units": 40, "no_image": 0, "no_answer": 0, "no_label": 0}
PLAN = {"model": "onnx", "level": 0.05}


def effect(**changes):
    return Effect(**(EFFECT | changes))


def limits(effects=(), placebos=(), leakage=(), **counts):
    parts = {"effects": effects, "placebos": placebos, "leakage": leakage}
    parts |= {"outcomes": [], "missing": []}
    return "\n".join(limits_of_images(parts, COUNTS | counts, PLAN, one_class=False))


@pytest.mark.parametrize(
    ("verdict", "low", "high", "ending"),
    [
        ("exceeds", -0.01, 0.02, Ending.BEYOND),
        ("within", -0.049, 0.049, Ending.WITHIN),
        ("within", -0.05, 0.0, Ending.WITHIN_BY_TESTS),
        ("within", 0.0, 0.05, Ending.WITHIN_BY_TESTS),
        ("inconclusive", 0.051, 0.2, Ending.BEYOND_ALONE),
        ("inconclusive", -0.2, -0.051, Ending.BEYOND_ALONE),
        ("inconclusive", 0.05, 0.2, Ending.UNDECIDED),
        ("inconclusive", -0.2, -0.05, Ending.UNDECIDED),
        ("not estimable", None, None, None),
    ],
)
def test_a_sentence_ends_as_verdict_and_interval_say(verdict, low, high, ending):
    row = effect(verdict=verdict, low=low, high=high)
    assert facts.ending_of(row, TOLERANCE) == ending
    assert facts.is_within_by_tests(row, TOLERANCE) == (ending == Ending.WITHIN_BY_TESTS)


@pytest.mark.parametrize(
    ("p", "differs"), [(0.0, True), (0.049, True), (0.05, False), (0.9, False), (None, False)]
)
def test_a_p_of_exactly_zero_is_below_the_level(report, p, differs):
    row = effect(axis="clothing", p_holm=p)
    assert facts.differs_from_zero(row, 0.05) == differs
    assert ("The model reacts to the placebo clothing" in limits(placebos=[row])) == differs
    with_placebo = report.model_copy(update={"placebos": [row], "level": 0.05})
    assert facts.reacting_placebos(with_placebo) == ["clothing"] * differs


def test_the_levels_of_a_contrast_are_separated_once():
    levels = facts.levels_of("tea instead of coffee instead of milk")
    assert levels == ContrastLevels("tea", "coffee instead of milk")


@pytest.mark.parametrize(
    ("estimate", "level"), [(0.1, "dark"), (0.0, "light"), (-0.1, "light"), (None, "light")]
)
def test_the_side_with_more_errors_is_asked_about(estimate, level):
    assert facts.higher_side(effect(estimate=estimate)) == level


@pytest.mark.parametrize(
    ("base_rate", "estimate", "levels"),
    [
        (0.0, 0.0, LevelsWithoutErrors.NEITHER_ERRS),
        (1e-12, 0.2, LevelsWithoutErrors.ONE_ERRS),
        (0.2, -0.2, LevelsWithoutErrors.ONE_ERRS),
        (0.2, 0.1, None),
        (None, 0.1, None),
        (0.0, None, None),
    ],
)
def test_levels_without_errors_have_no_ratio(base_rate, estimate, levels):
    assert facts.levels_without_errors(effect(base_rate=base_rate, estimate=estimate)) == levels


@pytest.mark.parametrize(("tipping", "has_one"), [(None, False), (0.0, False), (0.01, True)])
def test_only_an_interval_that_excludes_zero_has_a_tipping_point(tipping, has_one):
    assert facts.has_tipping_point(effect(tipping=tipping)) == has_one


def test_intervals_hold_a_truth_at_their_ends():
    truths = [None, 0.0, 0.01, 0.03, 0.031]
    rows = [effect(truth=truth, truth_se=k / 100) for k, truth in enumerate(truths)]
    assert facts.coverage(rows) == Coverage(intervals=4, hits=2, largest_se=0.04)
    assert facts.coverage([effect(), effect(truth=0.1, low=None, high=None)]) is None


def rate(group, error_rate):
    return Rate(group=group, images=4, answered=4, errors=0, rate=error_rate)


def test_extremes_are_groups_whose_rates_differ():
    groups = [rate("b", 0.5), rate("a", 0.5), rate("c", None), rate("d", 0.25)]
    lowest, highest = facts.extremes(groups)
    assert (lowest.group, highest.group) == ("d", "b")
    assert facts.extremes(groups[:3]) is None and facts.extremes([]) is None


def test_an_effect_of_the_other_sign_is_known_by_the_end_of_its_share():
    names = set(Predicted.model_fields) - {"axis", "contrast", "word"}
    contrast = EFFECT["contrast"]
    row = Predicted(axis="skin", contrast=contrast, word="undecided", **dict.fromkeys(names, 0.1))
    for end, opposite in ((-0.1, True), (0.0, False), (None, False)):
        changed = row.model_copy(update={"share_high": end})
        assert facts.points_the_other_way(changed) == opposite


def leak(estimate):
    contrast = EFFECT["contrast"]
    return Leak(
        axis="skin",
        contrast=contrast,
        attribute="makeup",
        estimate=estimate,
        low=None,
        high=None,
    )


@pytest.mark.parametrize(
    ("estimate", "named"), [(0.1, False), (0.11, True), (-0.11, True), (0.0, False), (None, False)]
)
def test_an_attribute_that_moves_far_along_an_axis_is_a_limit(estimate, named):
    assert ("makeup moves as well" in limits(leakage=[leak(estimate)])) == named


@pytest.mark.parametrize(("units", "few"), [(29, True), (30, False)])
def test_few_faces_are_a_limit(units, few):
    assert ("matched faces only" in limits(units=units)) == few


def test_undecided_comparisons_say_what_they_would_detect_if_it_is_known():
    assert "likely to find is 10.0 points" in limits([effect(), effect()])
    assert "likely to find is 10.0 to 20.0 points" in limits([effect(), effect(mde=0.2)])
    assert "likely to find is 10.0 points" in limits([effect(), effect(mde=None)])
    assert "likely to find" not in limits([effect(mde=None)])
    assert "likely to find" not in limits([effect(verdict="exceeds")])


def test_planned_comparisons_without_a_missing_answer_are_void(report):
    assert not report.missing and facts.void_comparisons(report) == Void.MISSING_IMAGES
    answered = report.model_copy(update={"missing": [effect()]})
    assert facts.void_comparisons(answered) is None
    content = report.plan.content
    families = {"effects on being missing": [["skin", "all faces"]]}
    plan = report.plan.model_copy(update={"content": content | {"families": families}})
    assert facts.void_comparisons(report.model_copy(update={"plan": plan})) == Void.MISSING_IMAGE


def test_a_comparison_is_of_missing_by_its_outcome():
    assert not facts.is_of_missing(effect())
    assert facts.is_of_missing(effect(outcome="missing"))


FOLDER = Path(faceaudit.__file__).parent / "templates"
TEMPLATES = sorted(FOLDER.glob("*.j2"))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_templates_compare_no_quantity_and_take_no_text_apart(path):
    expressions = " ".join(re.findall(r"{[{%](.*?)[%}]}", path.read_text("utf-8"), re.DOTALL))
    code = re.sub(r"'[^']*'|\"[^\"]*\"", "''", expressions)
    comparisons = r"[<>]|[!=]=\s*[-.\d]|length\s*[!=]="
    parts_of_text = r"\.(?:split|partition|remove\w+|startswith|endswith)\(|\[[-\d]*:[-\d]*\]"
    assert re.findall(f"{comparisons}|{parts_of_text}", code) == []
