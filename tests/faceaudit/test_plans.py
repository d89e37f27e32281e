"""The plan: what it holds, that it stays, and that departures are listed."""

from pathlib import Path

import pytest

import faceaudit
from faceaudit import departures, effects, make_plan, words
from faceaudit.example_files import EXAMPLES
from faceaudit.utils.errors import InputError

BASE = {
    "name": "small",
    "question": "?",
    "axes": ["skin_colour", "hair_length", "gender"],
    "design": {"tolerance": 0.05},
}


def sizes_of(tolerance=0.05, units=None, axes=BASE["axes"]):
    specification = BASE | {"axes": axes, "design": {"tolerance": tolerance}}
    return make_plan(faceaudit.Specification(**specification), units)["sizes"]


def test_faces_follow_from_the_chances_of_verdicts():
    sizes = sizes_of()
    assert sizes["units"] == sizes["needed"]
    at_zero, at_tolerance, _, at_twice = sizes["chances"]
    assert at_zero["within"] >= 0.8
    assert at_twice["beyond"] >= 0.8
    assert at_tolerance["undecided"] > 0.9
    assert sizes["detectable"] == pytest.approx(0.1, abs=0.001)
    design = effects.Design(0.1, 0.1, within=0, pairs=1)
    levels = effects.levels_of_cells([2, 2, 2], 0.05)
    chances = effects.chances_of_verdicts(sizes["units"], design, 0.05, levels)
    assert vars(chances) | {"times the tolerance": 2} == at_twice


def test_few_faces_decide_about_large_changes_alone_or_about_none():
    fewer = sizes_of(units=100)
    at_zero, *_, at_twice = fewer["chances"]
    assert min(at_zero["undecided"], at_twice["undecided"]) > 0.9
    assert fewer["detectable"] > 0.2
    assert fewer["needed"] > 1000
    assert sizes_of(units=3)["detectable"] is None


def test_effects_end_where_every_image_would_be_an_error():
    sizes = sizes_of(tolerance=0.5)
    assert [row["times the tolerance"] for row in sizes["chances"]] == [0, 1, 1.5]
    assert sizes["change called beyond"] == pytest.approx(0.89)
    with pytest.raises(InputError, match=r"tolerance is 0\.9, a number below 0\.89 was") as caught:
        sizes_of(tolerance=0.9)
    assert (caught.value.field, caught.value.found) == ("design.tolerance", 0.9)


@pytest.mark.parametrize(
    ("axes", "units", "sentences"),
    [
        (
            ["gender"],
            781,
            [
                "chances that the verdict is “within”, “beyond” or “undecided”, with 781 faces and "
                "a model that errs on 10% of the images: 90, under 1 and 10% for a change of "
                "zero; 5, 3 and 93% for one as large as the tolerance; under 1, 30 and 69% for "
                "one 1.5 times as large; under 1, 80 and 20% for one twice as large",
                "781 faces would call a change of zero within the tolerance, and one of 10 points "
                "beyond it, each with a chance of 80%",
            ],
        ),
        (
            ["gender", "skin_colour"],
            3000,
            ["the verdict on one cell", "1,173 faces", "on an average over all faces"],
        ),
    ],
)
def test_a_plan_tells_its_chances_in_words(axes, units, sentences):
    plan = make_plan(faceaudit.Specification(**BASE | {"axes": axes}), units)
    written = words.render_sentences("chances", plan)
    for sentence, words_of_it in zip(written, sentences, strict=True):
        assert words_of_it in sentence
    assert words.render_sentences("chances", {"axes": {}}) == []


def test_comparisons_too_few_and_too_many_are_departures():
    plan = {"families": {"placebo axes": [["clothing", "all faces"]]}}
    made = {"placebo axes": [["shoes", "all faces"]]}
    assert departures(plan, plan, made) == [
        "placebo axes: left out clothing, all faces",
        "placebo axes: not planned shoes, all faces",
    ]


def test_files_that_ship_can_be_read():
    audits = Path(__file__).parents[2] / "audits"
    names = ("example", "example-smoke", "study", "verification")
    files = [audits / f"{name}.yml" for name in names]
    files += [EXAMPLES / f"{name}.yml" for name in ("pairs", "portraits", "table")]
    for file in files:
        one = faceaudit.read_specification(file)
        assert one.name == file.stem and one.beside("x.csv") == file.parent / "x.csv"
    whole, small = (faceaudit.read_specification(file).model_dump() for file in files[:2])
    assert {key for key in whole if whole[key] != small[key]} == {
        *("name", "question", "generator", "design")
    }


def test_patience_with_an_endpoint_is_no_decision():
    given = {"kind": "http", "url": "https://x.example", "read": "p", "version": "1", "size": 8}
    quick = given | {"max_calls": 1, "per_second": 1, "timeout": 1, "total_time": 1}
    slow = given | {"max_calls": 9, "per_second": 9, "timeout": 9, "total_time": 9}
    plans = [make_plan(faceaudit.Specification(**BASE, model=one)) for one in (quick, slow)]
    assert departures(*plans, {}) == []
