"""Chapter 18 and the pages on audits show the calls that readers write in projects of their own."""

import ast
import re

import pytest

import faceaudit

CHAPTER = "18_audit_your_model"
PAGES = (
    "audit-a-classifier",
    "audit-a-recogniser",
    "audit-a-table",
    "audit-portraits",
    "audit-flips",
    "a-study-with-label-studio",
    "bring-your-generator",
    "in-your-project",
)
API = {
    "table",
    "pairs",
    "classifier",
    "generator",
    "plan",
    "compare",
    "side_by_side",
    "verify",
    "gate",
    "read_report",
    "AuditPlan",
    "AuditResult",
    "PeopleNeeded",
}
"""Names of `faceaudit` that an audit from Python is written with."""
METHOD = {
    "annotations",
    "datasets",
    "effects",
    "generators",
    "images.ImageSet",
    "latents",
    "sensitivity",
    "verification",
}
"""What other chapters teach: tools of a study that are no stage of an audit."""
EXCEPTIONS = {
    "read_specification": (
        {CHAPTER},
        "the file of somebody's own study says where its answers are and which generator it has",
    ),
    "images.generator_kinds.generator_of": (
        {CHAPTER},
        "the generator of such a study is sampled anew, to see which faces it hardly makes",
    ),
    "utils.formatting": ({CHAPTER}, "labels of figures and numbers in sentences"),
    "models.local.local_model": (
        {"audit-a-recogniser", "audit-flips"},
        "a script needs a network's answers, of which it makes no audit",
    ),
    "file.parts": (
        {"audit-a-recogniser", "audit-flips"},
        "the same scripts say how that network is asked",
    ),
}
"""What else is used: where, and why no call of the API can take its place."""


def code_of(repository, place):
    """The code of the chapter, or of a page's blocks."""
    if place == CHAPTER:
        return (repository / "notebooks" / f"{place}.py").read_text(encoding="utf-8")
    text = (repository / "book" / f"{place}.md").read_text(encoding="utf-8")
    return "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))


def names_used(code):
    """What code takes from faceaudit: names below it, with dots between modules."""
    used = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("faceaudit"):
            module = node.module.removeprefix("faceaudit").removeprefix(".")
            used |= {f"{module}.{alias.name}".removeprefix(".") for alias in node.names}
        elif isinstance(node, ast.Import):
            used |= {
                alias.name.removeprefix("faceaudit.")
                for alias in node.names
                if alias.name.startswith("faceaudit.")
            }
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "faceaudit":
            used.add(node.attr)
    return used


def is_below(name, allowed):
    """Whether a name is one of those allowed, or in one of their modules."""
    return any(name == one or name.startswith(f"{one}.") for one in allowed)


@pytest.mark.parametrize("place", [CHAPTER, *PAGES])
def test_a_page_uses_the_api_and_tools_of_the_method_alone(repository, place):
    exceptions = {name for name, (places, _) in EXCEPTIONS.items() if place in places}
    used = names_used(code_of(repository, place))
    assert {name for name in used if not is_below(name, API | METHOD | exceptions)} == set()


def test_every_call_of_an_audit_is_shown_somewhere(repository):
    used = {name for place in (CHAPTER, *PAGES) for name in names_used(code_of(repository, place))}
    assert {"table", "pairs", "classifier", "generator", "plan", "compare"} <= used
    assert set(faceaudit.__all__) >= API


def test_every_exception_is_in_use_where_it_is_listed(repository):
    for name, (places, reason) in EXCEPTIONS.items():
        assert reason
        for place in places:
            used = names_used(code_of(repository, place))
            assert any(is_below(one, {name}) for one in used), (name, place)


def test_what_lies_below_the_api_is_found():
    code = "from faceaudit.checks import examine\nimport faceaudit\nfaceaudit.make_plan(1)\n"
    code += "from faceaudit import Portraits, effects\nimport faceaudit.run\n"
    found = names_used(code)
    assert found == {"checks.examine", "make_plan", "Portraits", "effects", "run"}
    assert [name for name in sorted(found) if is_below(name, API | METHOD)] == ["effects"]
