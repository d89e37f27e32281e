"""The plan of an audit, written before any model is asked, and what departed from it afterwards.

The plan holds the tolerance, the level, every family of comparisons by name, the sizes and which
verdicts these can be expected to lead to, with a date and a hash. A later run of the same audit
keeps the first plan. It does what the file says by then, and the report lists whatever of that
departs from the plan.

A plan binds decisions, and not the model: the next version of a model is audited by the same plan.
Where answers are in a table, the plan binds its images, units, levels and labels, and not its
answers. Of a monitored audit it binds those of the first look, and not the number of faces.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import scipy  # whose parts are imported at their first use

from faceaudit import effects
from faceaudit.comparisons import (
    Axes,
    all_contrasts,
    cell_name,
    combinations_of_levels,
    held_levels,
)
from faceaudit.effects.survey_weights import WEIGHT
from faceaudit.families import (
    AVERAGES,
    CELLS,
    ENROLMENT,
    FTE,
    GAPS,
    GAPS_BY_CELL,
    GROUPS,
    INTERACTIONS,
    JUDGED_FAMILIES,
    LOOK,
    MEASURES,
    MISSING,
    MISSING_GAPS,
    MISSING_PAIRS,
    OUTCOMES,
    PLACEBOS,
    REGRESSION,
    Plan,
    look_of,
    pairs_of_contrasts,
)
from faceaudit.file.parts import AnnotationTool, DirectionSettings
from faceaudit.file.specification import VERIFICATION_OF_IMAGES, Specification
from faceaudit.outcomes import ERROR
from faceaudit.utils import files
from faceaudit.utils.errors import InputError

LEVEL = 0.05
"""Family-wise error over all comparisons that are judged, and of each control for itself."""
EXPECTED_ERROR = 0.1
"""A guess of the model's error rate, for the sizes only."""
LARGEST_RATE = 0.99
"""Largest error rate that a planned effect may lead to."""
MULTIPLES_OF_TOLERANCE = (0, 1, 1.5, 2)
"""True effects whose chances of each verdict the plan has, as multiples of the tolerance."""
BEYOND_OF_TOLERANCE = 2
"""The effect that is to be called beyond the tolerance where the plan chooses the number of faces,
as a multiple of the tolerance."""
LEAST_SKILL = 0.1
"""R² of an axis's direction below which people are not asked a second time."""
LITTLE_EXPLAINED = 0.2
"""Share of a gap among portraits up to which an effect explains little of it (chapter 11)."""
MOST_EXPLAINED = 0.8
"""Share of a gap among portraits from which on an effect explains most of it (chapter 11)."""
LEAK = 0.15
"""Most that an axis may move what is held, in standard deviations of sampled faces.

It is compared with upper limits, in a calibration's gate; so is `SPREAD`.
"""
SPREAD = 0.03
"""Most that faces may lie apart within a level, in scores."""
RATERS_OF_NEUTRAL = 30
"""People who see each neutral face."""
SPARE = 1.25
"""Neutral faces that people see, for each face that is needed."""
SECONDS = 3.5
"""Of an answer, for the sizes only: the time that a simulated crowd takes."""
PRICE = 0.02
"""Of an answer, for the sizes only: a fee without a source."""

STEPS_TO_OTHER_THRESHOLDS = (0.2, 0.4)
"""Other score thresholds lie so far of the way from the audit's own to 0 and to 1.

They are tried outside of the families of tests. For 0.5 they are 0.3, 0.4, 0.6 and 0.7.
"""

# --- what of an audit file is in its plan

COPIED_KEYS = {
    "name",
    "kind",
    "question",
    "axes",
    "placebos",
    "annotated",
    "accept",
    "policy",
}
"""Keys of the audit file that the plan holds as they are."""
COMPARED_PARTS = {"model", "people", "columns"}
"""Parts of the audit file that the plan holds for comparison with later runs, as `said`."""
EXCLUDED_KEYS = {
    "model": {
        "path",
        "function",
        "url",
        "version",
        "version_header",
        "version_read",
        "headers",
        "threshold",
        "fmr",
        "max_calls",
        "per_second",
        "timeout",
        "total_time",
    },
    "people": {"models", "export"},
    "columns": {"score", "decision", "error", "number", "reason", "similarity"},
}
"""Keys of these parts that may hold a secret, are elsewhere in the plan, or are no decisions.

Which model it is, and which column has its answers, is none: it changes with every version.
"""
NOT_COMPARED = {
    "made",
    "sha256",
    "families",
    "inputs",
    "rows",
    "sizes",
    "accept",
    "said",
    "replaces",
    "monitored",
}
"""Parts of a plan that are no decisions, or are compared in their own way."""


def other_thresholds(threshold: float) -> list[float]:
    """Thresholds of scores that are tried besides the audit's own, on both of its sides.

    Example:
        >>> other_thresholds(0.5), other_thresholds(0.9)
        ([0.3, 0.4, 0.6, 0.7], [0.54, 0.72, 0.92, 0.94])
    """
    below = [threshold * (1 - step) for step in STEPS_TO_OTHER_THRESHOLDS]
    above = [threshold + (1 - threshold) * step for step in STEPS_TO_OTHER_THRESHOLDS]
    return sorted(round(other, 9) for other in [*below, *above])


def families(specification: Specification) -> dict[str, list[list[str]]]:
    """Every comparison that the audit tests: family → comparisons, each a list of names."""
    if specification.kind == "verification":
        of_images = specification.route == VERIFICATION_OF_IMAGES
        measures_of_missing = [FTE] if of_images else MISSING_PAIRS
        return {
            GROUPS: [[measure] for measure in MEASURES],
            ENROLMENT: [[measure] for measure in measures_of_missing],
        }
    axes = specification.axes
    contrasts = all_contrasts(axes, specification.design.contrasts)
    cells = [
        [*contrast.key, cell_name(axes, held)]
        for contrast in contrasts
        for held in held_levels(axes, contrast.axis)
    ]
    averages = [[*contrast.key, "all faces"] for contrast in contrasts]
    further = {}
    if len(specification.outcomes) > 1:
        further[OUTCOMES] = [
            [outcome, *contrast.key]
            for outcome in specification.outcomes[1:]
            for contrast in contrasts
        ]
    # Of one axis, the cell is the average.
    several_axes = len(axes) > 1
    if specification.kind == "portraits":
        comparisons = {GAPS: averages}
        if several_axes:
            comparisons[GAPS_BY_CELL] = cells
        comparisons[MISSING_GAPS] = averages
        return comparisons | further
    comparisons = {CELLS: cells}
    if several_axes:
        comparisons[AVERAGES] = averages
        comparisons[INTERACTIONS] = [
            [*first.key, *second.key] for first, second in pairs_of_contrasts(contrasts)
        ]
    comparisons[MISSING] = averages
    comparisons |= further
    if specification.placebos:
        placebos = all_contrasts(specification.placebos, specification.design.contrasts)
        comparisons[PLACEBOS] = [[*contrast.key, "all faces"] for contrast in placebos]
    return comparisons


def make_plan(
    specification: Specification,
    units: int | None = None,
    inputs: Sequence[Path] = (),
    rows: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What `plan.json` holds: decisions, families, sizes and the chances of the verdicts.

    Args:
        specification: of the audit.
        units: matched faces of a table; of a generator, the design's number or as many as the
            verdicts ask for with the planned power.
        inputs: files whose hashes are recorded.
        rows: of `bound_rows`, where the answers are in a table.

    Returns:
        The content, with the date and the hash.

    Raises:
        ValueError: a tolerance that no effect can be beyond, or that too many faces would decide
            about.
    """
    design = specification.design
    model = specification.model
    plan = specification.model_dump(mode="json", include=COPIED_KEYS)
    plan.update(design.model_dump(include={"tolerance", "power", "seed", "incomplete"}))
    # Of two levels there is one contrast, whatever its kind.
    if any(len(names) > 2 for names in [*plan["axes"].values(), *plan["placebos"].values()]):
        plan["contrasts"] = design.contrasts
    if specification.outcomes != [ERROR]:
        plan["outcomes"] = specification.outcomes
    plan["level"] = LEVEL
    plan["floor"] = LEAST_SKILL
    plan["families"] = families(specification)
    plan["threshold"] = model.threshold
    plan["model"] = model.kind
    plan["judged"] = [name for name in JUDGED_FAMILIES if name in plan["families"]]
    if specification.kind == "verification":
        plan["reference"] = specification.reference
        plan["fmr"] = model.fmr
        # Plans of similarities are as they were before there were distances.
        if specification.compares_distances:
            plan["distances"] = True
        if specification.route == VERIFICATION_OF_IMAGES:
            plan.update(design.model_dump(include={"impostors", "consensus"}))
    elif specification.kind == "portraits":
        plan["threshold"] = model.score_threshold
        plan["classes"] = list(specification.classes)
        plan["little"] = LITTLE_EXPLAINED
        plan["most"] = MOST_EXPLAINED
        plan["covariates"] = specification.covariates
        # Plans with regressions alone are as they were before there was another adjustment.
        if design.adjustment != REGRESSION:
            plan["adjustment"] = design.adjustment
        plan["ignore"] = specification.ignore
        plan["transects"] = bool(specification.transects)
    else:
        plan["threshold"] = model.score_threshold
        plan["sizes"] = _sizes(specification, units)
        plan["attribute"] = None
        plan["classes"] = list(specification.classes)
        # A table names its labels, and not the attribute that they are of.
        if specification.images is None:
            plan["attribute"] = specification.attribute
            plan["generator"] = specification.generator.model_dump(mode="json")
            plan["people"] = specification.people.kind
    if specification.calibration:
        plan["calibration"] = specification.calibration.model_dump(mode="json")
        plan["calibration"]["leak"] = LEAK
        plan["calibration"]["spread"] = SPREAD
    if specification.target:
        plan["target"] = specification.target.name
    if specification.kind != "verification":
        plan["other thresholds"] = other_thresholds(model.score_threshold)
    plan["inputs"] = {path.name: files.file_hash(path) for path in inputs if path.is_file()}
    plan["rows"] = None if rows is None else dict(rows)
    plan["said"] = specification.model_dump(
        mode="json", include=COMPARED_PARTS, exclude=EXCLUDED_KEYS
    )
    plan["made"] = datetime.now(UTC).isoformat(timespec="seconds")
    plan["sha256"] = files.hash_of_content(plan)
    return plan


def bound_rows(frame: pd.DataFrame, specification: Specification, table: Path) -> dict[str, Any]:
    """What a plan binds of a table with answers: hashes of all but the answers.

    Args:
        frame: of `MatchedImages`, `Portraits` or `Pairs`, as they are read from the table; of
            images with looks, those of the first one count.
        specification: of the audit.
        table: where the rows are from.

    Returns:
        table: its name; columns: what is bound → SHA-256 of its values, in the order of the names
        of the images. Pairs have no names, and are bound as a whole.

    Example:
        >>> own = Specification(
        ...     name="mine", question="?", axes={"skin": ("light", "dark")}, images="faces.csv",
        ...     design={"tolerance": 0.1},
        ... )
        >>> frame = pd.DataFrame({"image_id": ["a", "b"], "label": [1, None], "score": [0.1, 1]})
        >>> other_answers = frame.assign(score=0.5).iloc[::-1]
        >>> one, other = (bound_rows(rows, own, Path("a.csv")) for rows in (frame, other_answers))
        >>> list(one["columns"]), one == other
        (['image', 'label'], True)
    """
    if specification.kind == "verification":
        pairs = frame[["group", "first", "second", "same"]].astype(str)
        lines = pairs["group"].str.cat(pairs[["first", "second", "same"]], sep="\t")
        return {"table": table.name, "columns": {"pairs": _hash_of_texts(sorted(lines.tolist()))}}
    names = {"image": "image_id", "unit": "unit", "identity": "identity", "label": "label"}
    names["weight"] = WEIGHT
    if LOOK in frame:
        frame = frame[frame[LOOK] == 1]
    for axis in [*specification.axes, *specification.placebos]:
        names[axis] = axis if specification.kind == "portraits" else f"{axis}_level"
    for column in [*specification.covariates, *specification.annotated]:
        names.setdefault(column, column)
    order = frame["image_id"].argsort(kind="stable")
    ordered = frame.iloc[order.to_numpy()]
    hashes = {
        name: _hash_of_texts(map(str, ordered[column].tolist()))
        for name, column in names.items()
        if column in ordered
    }
    return {"table": table.name, "columns": hashes}


def _hash_of_texts(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def keep_plan(plan: Plan, path: Path) -> dict[str, Any]:
    """Write the plan where none is yet; where one is, that one counts.

    Args:
        plan: of `make_plan`.
        path: of `plan.json`.

    Returns:
        The plan that counts.

    Raises:
        InputError: the file is damaged, or was changed after it was made.
    """
    if not path.exists():
        files.write_text(path, json.dumps(plan, indent=1) + "\n")
    return read_plan(path)


def read_plan(path: Path) -> dict[str, Any]:
    """Read a plan that was written.

    Raises:
        InputError: the file is damaged or missing, or was changed after it was made.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such plan", field=str(path), expected="a plan.json")
    with suppress(OSError, ValueError, KeyError, TypeError):
        plan = json.loads(path.read_text(encoding="utf-8"))
        if plan["sha256"] == files.hash_of_content(plan):
            return plan
    raise InputError(
        f"{path}: the plan is damaged or was changed after it was made; restore it, or delete it, "
        "and the report will say that the plan is new",
        field=str(path),
        expected="the plan as it was made",
    )


def replace_plan(plan: Plan, path: Path, after_report: bool) -> dict[str, Any]:
    """Write a plan in place of the one that is there, which the new one names.

    Args:
        plan: of `make_plan`.
        path: of `plan.json`.
        after_report: whether the audit had a report by the old plan.

    Returns:
        The plan that counts from now on, with the entry `replaces` of `naming_former`.

    Raises:
        InputError: the old plan is damaged, or was changed after it was made.
    """
    former = read_plan(path)
    named = naming_former(plan, former, after_report)
    files.write_text(path, json.dumps(named, indent=1) + "\n")
    return named


def naming_former(plan: Plan, former: Plan, after_report: bool) -> dict[str, Any]:
    """A plan that names the one before it.

    Args:
        plan: of `make_plan`.
        former: the plan before it.
        after_report: whether the audit had a report by the former plan.

    Returns:
        The plan with a new hash and the entry `replaces`, a list of all plans before it, the oldest
        first: sha256, made, after_report, and changes, a sentence for each decision that is another
        one now.

    Example:
        >>> former = {"sha256": "ab", "made": "2026-11-20", "tolerance": 0.05, "said": {}}
        >>> plan = naming_former(former | {"tolerance": 0.1, "made": "2026-11-29"}, former, True)
        >>> plan["replaces"][0]["changes"]
        ['tolerance: 0.05 before, 0.1 now']
    """
    changes = ["what changed is not known"]
    if "said" in former:  # earlier versions kept its sha256 and made alone
        differences = _differences(_decisions(former), _decisions(plan))
        differences += _differences(_said(former), _said(plan))
        differences += _differences(former.get("accept"), plan.get("accept"), "accept")
        changes = [f"{place}: {before} before, {after} now" for place, before, after in differences]
    entry = {
        "sha256": former["sha256"],
        "made": former["made"],
        "after_report": after_report,
        "changes": changes,
    }
    named = {**plan, "replaces": [*former.get("replaces", []), entry]}
    return named | {"sha256": files.hash_of_content(named)}


def departures(
    plan: Plan, now: Plan, comparisons: Mapping[str, Iterable[Sequence[str]]]
) -> list[str]:
    """What was done otherwise than planned, a sentence each.

    Args:
        plan: that counts, of `keep_plan`.
        now: of `make_plan`, from the audit file as it is now.
        comparisons: that were made, by family.

    Returns:
        The sentences; none where all was done as planned.

    Example:
        >>> plan = {"tolerance": 0.05, "families": {}}
        >>> departures(plan, plan | {"tolerance": 0.1}, {})
        ['tolerance: 0.05 was planned, 0.1 was used']
    """
    differences = _differences(_decisions(plan), _decisions(now))
    differences += _differences(_said(plan), _said(now))
    sentences = [
        f"{place}: {before} was planned, {after} was used" for place, before, after in differences
    ]
    sentences.extend(_accepted_afterwards(plan, now))
    look = look_of(now)
    # At a further look the tables have further faces, and `faceaudit.looks` compared the others.
    if look is None or look["look"] == 1:
        sentences.extend(_changed_inputs(plan, now))
    sentences.extend(_changed_rows(plan.get("rows"), now.get("rows")))
    for family, names_of_comparisons in comparisons.items():
        planned = plan["families"].get(family, [])
        done = list(names_of_comparisons)
        for names in planned:
            if names not in done:
                sentences.append(f"{family}: left out {', '.join(names)}")
        for names in done:
            if names not in planned:
                sentences.append(f"{family}: not planned {', '.join(names)}")
    return sentences


def _decisions(plan: Plan) -> dict[str, Any]:
    """The parts of a plan that are compared as they are, and the number of faces.

    Of a monitored audit the number is none of them: there may be further faces at every look.
    """
    decisions = {name: plan[name] for name in plan if name not in NOT_COMPARED}
    if look_of(plan) is None:
        decisions["faces"] = plan.get("sizes", {}).get("units")
    return decisions


def _said(plan: Plan) -> dict[str, dict[str, Any]]:
    """What the file said, by its parts; plans of earlier versions name the model as well."""
    return {
        part: {key: value for key, value in content.items() if key not in EXCLUDED_KEYS[part]}
        for part, content in plan.get("said", {}).items()
    }


def _changed_inputs(plan: Plan, now: Plan) -> Iterator[str]:
    """A sentence for each file whose hash is another one.

    What the audit file says is compared as decisions, so that its layout and comments are free. Of
    a table with answers, the rows are compared.
    """
    before = plan.get("inputs", {})
    after = now.get("inputs", {})
    both_have_rows = bool(plan.get("rows") and now.get("rows"))
    compared_by_row = {plan["rows"]["table"], now["rows"]["table"]} if both_have_rows else ()
    for name in dict.fromkeys([*before, *after]):
        is_compared = name not in compared_by_row and not name.endswith((".yml", ".yaml"))
        if is_compared and before.get(name) != after.get(name):
            yield f"{name}: the file is not the one that the plan was made with"


def _changed_rows(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> Iterator[str]:
    """A sentence for each column of a table with answers that is not as it was planned.

    Args:
        before, after: of `bound_rows`; None where a model is asked.
    """
    if not before or not after:
        return
    table = after["table"]
    columns = before["columns"]
    for name in ("image", "pairs"):
        if columns.get(name) != after["columns"].get(name):
            yield f"{table}: the {name.removesuffix('s')}s are not those of the plan"
            return
    for name in dict.fromkeys([*columns, *after["columns"]]):
        if columns.get(name) != after["columns"].get(name):
            yield f"{table}: not every image has the {name} that it had when the plan was made"


def _accepted_afterwards(plan: Plan, now: Plan) -> Iterator[str]:
    """A sentence for each doubt that the first plan did not accept."""
    for name in now.get("accept", []):
        if name not in plan.get("accept", []):
            yield f"accept: the doubt {name!r} was accepted after the plan was made"


def _differences(before: object, after: object, place: str = "") -> list[tuple[str, str, str]]:
    """Each difference of nested keys: its place, and both values in words."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        found = []
        for key in dict.fromkeys([*before, *after]):
            inner = f"{place}.{key}" if place else key
            found += _differences(before.get(key), after.get(key), inner)
        return found
    return [] if before == after else [(place, _in_words(before), _in_words(after))]


def _in_words(value: object) -> str:
    return "nothing" if value in (None, "") else json.dumps(value)


def _sizes(specification: Specification, units: int | None) -> dict[str, Any]:
    """Faces, images, what they cost, and which verdicts they can be expected to lead to.

    How often a model errs can be guessed, within limits. How often it gives an answer or changes it
    cannot, so that audits of other outcomes than errors have no such chances.

    Raises:
        InputError: a tolerance that no effect can be beyond; or no number of faces, where a guess
            of it cannot be made.
    """
    expected = {}
    if specification.has_labels:
        expected = _expected_verdicts(specification, units)
        units = expected["units"]
    units = units or specification.design.transects
    if units is None:
        outcome = specification.outcomes[0]
        raise InputError(
            f"the number of faces is missing; how many decide about {outcome} cannot be planned",
            field="design.transects",
            expected="a number of faces",
        )
    axes = specification.axes
    images = units * combinations_of_levels({**axes, **specification.placebos})
    sizes = {
        "units": units,
        "images": images,
        "comparisons": len(families(specification)[CELLS]),
        **expected,
    }
    answers = _count_answers(specification, units, images)
    if answers:
        total = sum(answers.values())
        sizes["answers"] = answers
        sizes["hours"] = total * SECONDS / 3600
        sizes["money"] = total * PRICE
    return sizes


def _expected_verdicts(specification: Specification, units: int | None) -> dict[str, Any]:
    """Faces, and the verdicts that they can be expected to lead to.

    The verdicts are those on an effect in a cell, at the levels of `effects.levels_of_cells`. Of a
    trend they are those on a difference of two levels, which is told less precisely or as well.
    Errors of a pair are taken as independent, so that matching can only help.

    Raises:
        InputError: a tolerance that no effect can be beyond.
    """
    design = specification.design
    axes = specification.axes
    tolerance = design.tolerance
    largest = LARGEST_RATE - EXPECTED_ERROR
    if tolerance >= largest:
        raise InputError(
            f"{specification.place}design.tolerance is {tolerance}, a number below {largest:g} "
            f"was expected: the plan takes a model that errs on {EXPECTED_ERROR:.0%} of the "
            "images, and no effect on it is larger",
            field="design.tolerance",
            found=tolerance,
            expected=f"a number below {largest:g}",
        )
    contrasts = all_contrasts(axes, design.contrasts)
    of_axes = [sum(contrast.axis == axis for contrast in contrasts) for axis in axes]
    levels = effects.levels_of_cells([len(names) for names in axes.values()], LEVEL, of_axes)
    pair_design = partial(effects.Design, base_rate=EXPECTED_ERROR, within=0, pairs=1)
    beyond = min(BEYOND_OF_TOLERANCE * tolerance, largest)
    needed = effects.transects_to_decide(pair_design(beyond), tolerance, levels, design.power)
    units = units or design.transects or needed

    def chances(difference: float) -> effects.VerdictChances:
        return effects.chances_of_verdicts(units, pair_design(difference), tolerance, levels)

    true_effects = {
        multiple: multiple * tolerance
        for multiple in MULTIPLES_OF_TOLERANCE
        if multiple * tolerance <= largest
    }
    detectable = None
    if chances(largest).beyond >= design.power:
        detectable = scipy.optimize.brentq(
            lambda difference: chances(difference).beyond - design.power, 0, largest, xtol=1e-4
        )
    expected = {
        "units": units,
        "detectable": detectable,
        "expected error": EXPECTED_ERROR,
        "needed": needed,
        "change called beyond": beyond,
        "chances": [
            {"times the tolerance": multiple, **asdict(chances(effect))}
            for multiple, effect in true_effects.items()
        ],
    }
    if len(axes) > 1:
        expected["chances on average"] = [
            {
                "times the tolerance": multiple,
                **asdict(_chances_on_average(axes, len(contrasts), units, effect, tolerance)),
            }
            for multiple, effect in true_effects.items()
        ]
    return expected


def _chances_on_average(
    axes: Axes, averages: int, units: int, effect: float, tolerance: float
) -> effects.VerdictChances:
    """Chances of the verdicts on one of so many averages, which has the pairs of all its cells.

    An average has its share of the level at the first of Holm's steps (`effects.levels_of_cells`).
    The pairs of one face are taken as independent.
    """
    pairs_of_a_face = min(len(held_levels(axes, axis)) for axis in axes)
    share = LEVEL / (2 * averages)
    design = effects.Design(effect, base_rate=EXPECTED_ERROR, within=0, pairs=1)
    return effects.chances_of_verdicts(units * pairs_of_a_face, design, tolerance, [share])


def _count_answers(specification: Specification, units: int, images: int) -> dict[str, int]:
    """How many answers people give in a tool, by part of the audit."""
    people = specification.people
    generator = specification.generator
    calibration = specification.calibration
    if specification.images or not isinstance(people, AnnotationTool):
        return {}
    questions = len(specification.rated_attributes)
    questions_of_samples = len(specification.rated_attributes_of_samples)
    answers = {}
    if isinstance(generator, DirectionSettings) and not generator.hyperplanes:
        answers["sampled images"] = generator.samples * questions_of_samples * people.raters
    if calibration:
        neutral_faces = math.ceil(SPARE * units) + units
        answers["neutral faces"] = neutral_faces * len(specification.axes) * RATERS_OF_NEUTRAL
        images_of_rounds = calibration.rounds * min(calibration.transects, units) * images // units
        answers["rounds"] = images_of_rounds * questions_of_samples * people.raters
        # With a crop, people are asked about gender on crops, and so once more.
        questions = questions_of_samples + bool(calibration.crop)
    answers["matched images"] = images * questions * people.raters
    return answers
