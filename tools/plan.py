"""What waits for what, what is stale and why, and how long it will take."""

import json
from graphlib import TopologicalSorter

import book
from helpers.artifacts import lineage, manifests, pages

COURSE, BOOK = "course", "book"
# Stages whose networks are shipped; `--train 1` trains them.
TRAINS = [
    "02_face_world",
    "13_sensitivity_flips",
    "14_verification_measures",
    "n04_remedies",
    "n12_counted_people",
]
OWN_STUDY = "18_audit_your_model"  # it shows a study of somebody's own generator, or the example


def graph() -> dict[str, list[str]]:
    """Step → steps it waits for: pages, studies, the course, and the book after all."""
    sources = {s: lineage.source_of(s) for s in (*lineage.notebooks(), *lineage.STUDIES)}
    waits = {step: lineage.inputs(source) for step, source in sources.items()}
    waits |= {COURSE: [], BOOK: [*lineage.notebooks(), COURSE]}
    for step, earlier in waits.items():
        if missing := set(earlier) - set(waits):
            raise ValueError(f"{step} reads {', '.join(missing)}, which no notebook makes")
    TopologicalSorter(waits).prepare()  # raises where stages read each other
    return waits


def needed(waits: dict[str, list[str]], step: str) -> dict[str, list[str]]:
    """The part of the graph that a step needs."""
    found = {step: waits[step]}
    for earlier in waits[step]:
        found |= needed(waits, earlier)
    return found


def why(step: str, profile: str, train: int | None = None, study: object = None) -> str | None:
    """Say why a step must be run; None if it need not be.

    Args:
        step: a page, a study, the course or the book.
        profile: whose artifacts.
        train: 1 for networks trained here, 0 for those that are shipped, None for either.
        study: of somebody's own generator, or that generator; None for the example.
    """
    if step == OWN_STUDY and study:
        return "GENERATOR is given, and its study is shown anew each time"
    if step in (COURSE, BOOK):
        return book.why_stale(profile)
    stale = manifests.why_stage_is_stale if step in lineage.STUDIES else pages.why_page_is_stale
    if reason := stale(step, profile):
        return reason
    if (
        step in TRAINS
        and train is not None
        and train != manifests.read_manifest(step, profile)["train"]
    ):
        return f"TRAIN={train} asks for other networks than those in use"
    return None


def stale(waits: dict[str, list[str]], profile: str, *asked: object) -> list[str]:
    """Steps that are stale, or may become so because one that they read is; `asked` as of `why`."""
    steps: list[str] = []
    for name in TopologicalSorter(waits).static_order():
        if set(waits[name]) & {*steps} or why(name, profile, *asked):
            steps.append(name)
    return steps


def sentence(steps: list[str], profile: str) -> str:
    """One sentence on the steps to come."""
    if not steps:
        return f"{profile}: nothing to do, everything is up to date"
    return f"{profile}: {len(steps)} steps may run ({', '.join(steps)})"


def rest(name: str, waits: dict[str, list[str]], seconds: dict[str, float]) -> float:
    """Seconds from the start of a step to the end of the run, if no other step were run."""
    later = (rest(other, waits, seconds) for other, reads in waits.items() if name in reads)
    return seconds.get(name, 1.0) + max(later, default=0.0)


def known_seconds(profile: str) -> dict[str, float]:
    """Step → seconds that it takes on two cores, as measured once."""
    return json.loads((lineage.PROFILES / "seconds.json").read_text("utf-8")).get(profile, {})
