"""The plan of an audit, written before any model is asked, and what departed from it afterwards.

The plan holds the tolerance, the level, every family of comparisons by name, the sizes and what
they can detect, with a date and a hash. A later run of the same audit keeps the first plan. It does
what the file says by then, and the report lists whatever of that departs from the plan.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Any

from scipy.optimize import brentq

from faceaudit import effects
from faceaudit.file.parts import AnnotationTool
from faceaudit.file.specification import VERIFICATION_OF_IMAGES, Specification
from faceaudit.utils import files
from faceaudit.utils.errors import fault
from faceaudit.utils.files import write_text

Plan = Mapping[str, Any]
LEVEL, EXPECTED_ERROR = 0.05, 0.1
"""Family-wise error over all comparisons that are judged, and of each control for itself; a guess
of the model's error rate, for the sizes only."""
LEAST_SKILL = 0.1
"""R² of an axis's direction below which people are not asked a second time."""
LITTLE_EXPLAINED, MOST_EXPLAINED = 0.2, 0.8
"""Shares of a gap among portraits: the rule of chapter 11 for what an effect explains of it."""
LEAK, SPREAD = 0.15, 0.03
"""Most that an axis may move what is held, in standard deviations of sampled faces, and that faces
may lie apart within a level, in scores: upper limits of a calibration's gate."""
RATERS_OF_NEUTRAL, SPARE = 30, 1.25
"""People who see each neutral face; faces that they see, for each that is needed."""
SECONDS = 3.5
"""Of an answer, for the sizes only: what a simulated crowd takes."""
PRICE = 0.02
"""Of an answer, for the sizes only: a fee without a source."""
CELLS, AVERAGES, INTERACTIONS = "effects by cell", "effects on average", "interactions"
GAPS, GAPS_BY_CELL = "differences between levels", "differences by cell"
UNANSWERED = "differences in having no answer"
NO_ANSWER, PLACEBOS, GROUPS = "effects on having no answer", "placebo axes", "error rates by group"
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7)
"""Looked at besides the audit's own, outside of the families of tests."""
MEASURES = ("FNMR at threshold", "FMR at threshold")
ENROLMENT, FTE = "failures to enrol by group", "FTE"
JUDGED_FAMILIES = (CELLS, AVERAGES, NO_ANSWER, GROUPS, ENROLMENT, GAPS, GAPS_BY_CELL, UNANSWERED)
"""Families that decide whether a model passes; their comparisons share `LEVEL`."""
COPIED_KEYS = {"name", "kind", "question", "axes", "placebos", "annotated", "accept"}
"""Of the audit file, into the plan."""
COMPARED_PARTS = {"model", "people", "columns"}
EXCLUDED_KEYS = {
    "model": {
        "headers",
        "url",
        "threshold",
        "fmr",
        "max_calls",
        "per_second",
        "timeout",
        "total_time",
    },
    "people": {"models", "export"},
}
"""Of the audit file's parts: what may hold a key, stands elsewhere in the plan, or is no choice."""
NOT_COMPARED = {"made", "sha256", "families", "inputs", "sizes", "accept", "said"}
"""Parts of a plan that are no decisions, or are compared in their own way."""


def held_levels(axes: Mapping[str, Sequence[str]], axis: str) -> list[dict[str, int]]:
    """The cells of an effect: every combination of levels of the other axes, axis → level."""
    others = [name for name in axes if name != axis]
    return [dict(zip(others, held, strict=True)) for held in product((0, 1), repeat=len(others))]


def cell_name(axes: Mapping[str, Sequence[str]], held: Mapping[str, int]) -> str:
    """A cell in words, "all faces" where no axis is held."""
    return ", ".join(axes[axis][level] for axis, level in held.items()) or "all faces"


def families(specification: Specification) -> dict[str, list[list[str]]]:
    """Every comparison that the audit tests: family → comparisons, each a list of names."""
    axes = specification.axes
    if specification.kind == "verification":
        enrolment = {ENROLMENT: [[FTE]]} if specification.route == VERIFICATION_OF_IMAGES else {}
        return {GROUPS: [[measure] for measure in MEASURES], **enrolment}
    cells = [[axis, cell_name(axes, held)] for axis in axes for held in held_levels(axes, axis)]
    means = [[axis, "all faces"] for axis in axes]
    if specification.kind == "portraits":
        by_cell = {GAPS_BY_CELL: cells} if len(axes) > 1 else {}
        return {GAPS: means, **by_cell, UNANSWERED: means}
    found = {CELLS: cells}
    if len(axes) > 1:  # of one axis, the cell is the average
        found |= {AVERAGES: means, INTERACTIONS: [[*pair] for pair in combinations(axes, 2)]}
    controls = [[axis, "all faces"] for axis in specification.placebos]
    return found | {NO_ANSWER: means} | ({PLACEBOS: controls} if controls else {})


def make_plan(
    specification: Specification, units: int | None = None, inputs: Sequence[Path] = ()
) -> dict[str, Any]:
    """What `plan.json` holds: decisions, families, sizes and what they can detect.

    Args:
        specification: of the audit.
        units: matched faces of a table; of a generator, the design's number or as many as the
            power asks for.
        inputs: files whose hashes are recorded.

    Returns:
        The content, with the date and the hash.

    Raises:
        ValueError: a difference that no number of faces detects.
    """
    own = specification
    content = own.model_dump(mode="json", include=COPIED_KEYS)
    content |= own.design.model_dump(include={"tolerance", "power", "seed", "incomplete"})
    content |= {"level": LEVEL, "floor": LEAST_SKILL, "families": families(own)}
    content |= {"threshold": own.model.threshold, "model": own.model.kind}
    content["judged"] = [name for name in JUDGED_FAMILIES if name in content["families"]]
    if own.kind == "verification":
        content |= {"reference": own.reference, "fmr": own.model.fmr}
        if own.route == VERIFICATION_OF_IMAGES:
            content |= own.design.model_dump(include={"impostors", "consensus"})
    elif own.kind == "portraits":
        content |= {
            "threshold": own.model.score_threshold,
            "classes": [*own.classes],
            "little": LITTLE_EXPLAINED,
        }
        content |= {
            "most": MOST_EXPLAINED,
            "covariates": own.covariates,
            "transects": bool(own.transects),
        }
    else:
        content |= {
            "threshold": own.model.score_threshold,
            "sizes": _sizes(own, units),
            "attribute": None,
        }
        content["classes"] = list(own.classes)
        if own.images is None:  # a table names its labels, not what they are of
            made_by = own.generator.model_dump(mode="json")
            content |= {"attribute": own.attribute, "generator": made_by, "people": own.people.kind}
    if own.calibration:
        limits = {"leak": LEAK, "spread": SPREAD}
        content["calibration"] = own.calibration.model_dump(mode="json") | limits
    content |= {"target": own.target.name} if own.target else {}
    content["other thresholds"] = list(THRESHOLDS)
    content["inputs"] = {path.name: files.file_hash(path) for path in inputs if path.is_file()}
    content["said"] = own.model_dump(mode="json", include=COMPARED_PARTS, exclude=EXCLUDED_KEYS)
    content["made"] = datetime.now(UTC).isoformat(timespec="seconds")
    return content | {"sha256": digest(content)}


def keep_plan(plan: Plan, path: Path) -> dict[str, Any]:
    """Write the plan where none is yet; where one is, that one counts.

    Args:
        plan: of `make_plan`.
        path: of `plan.json`.

    Returns:
        The plan that counts.

    Raises:
        ValueError: the file is damaged, or was changed after it was made.
    """
    if not path.exists():
        write_text(path, json.dumps(plan, indent=1) + "\n")
    with suppress(ValueError, KeyError, TypeError):
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["sha256"] == digest(kept):
            return kept
    raise fault("plan_damaged", path)


def departures(plan: Plan, now: Plan, made: Mapping[str, Iterable[Sequence[str]]]) -> list[str]:
    """What was done otherwise than planned, a sentence each.

    Args:
        plan: that counts, of `keep_plan`.
        now: of `make_plan`, from the audit file as it is now.
        made: family → the comparisons that were made.

    Returns:
        The sentences; none where all was kept.

    Example:
        >>> plan = {"tolerance": 0.05, "families": {}}
        >>> departures(plan, plan | {"tolerance": 0.1}, {})
        ['tolerance: 0.05 was planned, 0.1 was used']
    """
    before, after = ({k: one[k] for k in one if k not in NOT_COMPARED} for one in (plan, now))
    for one, kept in ((plan, before), (now, after)):
        kept["faces"] = one.get("sizes", {}).get("units")
    found = [*_changes(before, after), *_changes(plan.get("said"), now.get("said"))]
    before, after = plan.get("inputs", {}), now.get("inputs", {})
    found += [
        f"{name}: the file is not the one that the plan was made with"
        for name in dict.fromkeys([*before, *after])
        # What the audit file says is compared above: its layout and comments are free.
        if before.get(name) != after.get(name) and not name.endswith((".yml", ".yaml"))
    ]
    for name, comparisons in made.items():
        planned, done = plan["families"].get(name, []), [*comparisons]
        found += [f"{name}: left out {', '.join(one)}" for one in planned if one not in done]
        found += [f"{name}: not planned {', '.join(one)}" for one in done if one not in planned]
    return found


def _changes(before: object, after: object, place: str = "") -> Iterator[str]:
    """What differs, each with its place in nested keys."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys([*before, *after]):
            inner = f"{place}.{key}" if place else key
            yield from _changes(before.get(key), after.get(key), inner)
    elif before != after:
        yield f"{place}: {_in_words(before)} was planned, {_in_words(after)} was used"


def _in_words(value: object) -> str:
    return "nothing" if value in (None, "") else json.dumps(value)


def _sizes(specification: Specification, units: int | None) -> dict[str, Any]:
    """Faces, images, what they cost, and the smallest effect that they can be trusted to find.

    Errors of a pair are taken as independent, so that matching can only help.
    """
    design, axes, base = specification.design, specification.axes, EXPECTED_ERROR
    cells = len(axes) * 2 ** (len(axes) - 1)
    # Holm's first step, where every image has an answer.
    each = LEVEL / (2 if len(axes) > 1 else 1) / cells
    pairs = partial(effects.Design, base_rate=base, within=0, pairs=1)
    detectable, most = None, 0.99 - base
    needed = effects.transects_needed(pairs(design.tolerance), each, design.power)
    units = units or design.transects or needed

    def power(difference: float) -> float:
        return effects.power(units, pairs(difference), each)

    if power(most) >= design.power:
        detectable = brentq(lambda size: power(size) - design.power, 1e-4, most, xtol=1e-4)
    images = units * 2 ** (len(axes) + len(specification.placebos))
    found = {"units": units, "images": images, "comparisons": cells, "detectable": detectable}
    found |= {"expected error": base, "needed": needed}
    if answers := _count_answers(specification, units, images):
        total = sum(answers.values())
        found |= {"answers": answers, "hours": total * SECONDS / 3600, "money": total * PRICE}
    return found | {"power at the tolerance": power(design.tolerance)}


def _count_answers(own: Specification, units: int, images: int) -> dict[str, int]:
    """How many answers people give in a tool, by part of the audit."""
    people, source, given, found = own.people, own.generator, own.calibration, {}
    if own.images or not isinstance(people, AnnotationTool):
        return {}
    asked, every = len(own.rated_attributes), len(own.rated_attributes_of_samples)
    if hasattr(source, "samples") and not source.hyperplanes:
        found["sampled images"] = source.samples * every * people.raters
    if given:
        neutral = math.ceil(SPARE * units) + units
        found["neutral faces"] = neutral * len(own.axes) * RATERS_OF_NEUTRAL
        seen = given.rounds * min(given.transects, units) * images // units
        found["rounds"] = seen * every * people.raters
        asked = every + bool(given.crop)
    return found | {"matched images": images * asked * people.raters}


def digest(content: Mapping) -> str:
    """SHA-256 of a plan's content but for the hash itself, whatever the order of its keys."""
    rest = {name: value for name, value in content.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
