"""What a report holds and says: `report.json`, its schema, the gate and the model card.

All rates and differences are fractions; null is what could not be estimated. The card has the
sections of Mitchell et al., Model Cards for Model Reporting, FAT* 2019, section 4. What only the
makers of the model can know is left open, in so many words. Its head is the `model-index` that
model hubs read.
"""

import html
import json
import platform
from ast import literal_eval
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import numpy as np
import pandas as pd
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, create_model

from faceaudit import plan as plans
from faceaudit import wording
from faceaudit.pairs import Pairs
from faceaudit.plan import Plan
from faceaudit.plausibility import doubts_of
from faceaudit.portraits import Portraits
from faceaudit.tables import Audited

PACKAGES = ("helpers", "numpy", "pandas", "scipy", "statsmodels", "torch", "onnxruntime")
PASSED, FAILED, UNDECIDED, BROKEN = 0, 1, 2, 3
"""Exit codes of the gate; the last where a run or a report is none."""
STATES = ("exceeds", "inconclusive")
"""Verdicts on which a gate may be told to fail."""
JUDGED = ("averages", "effects", "no_answer", "disparities", "failures_to_enrol", "gaps")
"""Parts of a report whose comparisons decide whether a model passes."""
EFFECTS = {"effects": plans.CELLS, "averages": plans.AVERAGES}
EFFECTS |= {"no_answer": plans.NO_ANSWER, "placebos": plans.PLACEBOS}
"""Parts of a report about matched images that have sentences → their families."""
Tables = Mapping[str, pd.DataFrame]


# --- what `report.json` holds; `audits/report.schema.json` is made from these classes


def _finite(value: Any) -> Any:
    """None, as JSON has it, for a number that is not finite."""
    return None if isinstance(value, float) and not np.isfinite(value) else value


Verdict = Literal["exceeds", "within", "inconclusive", "not estimable"]
Carry = Literal["rate", "difference"]
Held = dict[str, int]
Texts, Anything = list[str], dict[str, Any]
Hashes, Counts = dict[str, str], dict[str, float | int | str | None]
Word = Literal["little", "partly", "most", "undecided"]
Count = int | None
Number = Annotated[float | None, BeforeValidator(_finite)]


class Part(BaseModel):
    """A part of the report: nothing unknown is in it."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


def _row(columns: str) -> type[Part]:
    """The base of a table's rows: columns with their types, by default `Number`, and defaults."""
    types = {}
    for column in columns.split(", "):
        field, _, default = column.partition(" = ")
        field, _, kind = field.partition(": ")
        types[field] = (kind or "Number", literal_eval(default) if default else ...)
    return create_model("Row", __base__=Part, __module__=__name__, **types)


EFFECT = (
    "axis: str, contrast: str, cell: str, held: Held, estimate, low, high, "
    "low_family, high_family, p, p_holm, p_beyond_holm, verdict: Verdict, mde, reason: str, "
    "n: int, units: int, missing: int, worse: int, better: int, base_rate, e_value = None, "
    "e_value_limit = None, gamma = None, tipping = None, truth = None, truth_se = None, "
    "sentence: str = ''"
)


class Effect(_row(EFFECT)):
    """One comparison: the high level of an axis minus the low one, in one cell or over all faces.

    Attributes:
        axis, contrast, cell, held: what is compared, and where; held is axis → level (0 or 1).
        estimate, low, high: difference of error rates, 95 % interval for this comparison alone.
        low_family, high_family: interval that holds for the whole family at once.
        p, p_holm: of no effect, alone and adjusted over the family.
        p_beyond_holm: of an effect no larger than the tolerance, adjusted.
        verdict, mde, reason: verdict; minimum detectable effect; why there is no estimate.
        n, units, missing, worse, better, base_rate: pairs, faces, pairs that lack an image, pairs
            that err at the high (low) level only, error rate at the low level.
        e_value, e_value_limit, gamma, tipping: how strong something hidden would have to be.
        truth, truth_se: in the known-truth world, the effect by intervention.
        sentence: the finding in words.
    """


DISPARITY = (
    "measure: str, group: str, reference: str, rate, reference_rate, estimate, low, high, "
    "p_holm, p_beyond_holm, verdict: Verdict, mde, n: int, identities: int, reason: str, "
    "sentence: str = ''"
)


class Disparity(_row(DISPARITY)):
    """A group's error rate minus that of the reference."""


class Interaction(_row("axis: str, other: str, estimate, low, high, p_holm, units: int")):
    """How much the effect of one axis differs between the levels of another."""


class AtThreshold(_row("threshold: float, axis: str, estimate, low, high, rate")):
    """The average effect of an axis where the score is cut at a threshold."""


RATE = (
    "group: str, images: int, answered: int, errors: int, rate, low = None, high = None, "
    "cluster_low = None, cluster_high = None, identities: Count = None"
)


class Rate(_row(RATE)):
    """Images and errors of one combination of levels; of found portraits, intervals as well.

    Attributes:
        low, high: Wilson's interval, of independent portraits.
        cluster_low, cluster_high: with identities as units, where one has several portraits.
    """


GAP = (
    "family: str, axis: str, group: str, reference: str, cell: str, held: Held, rate, "
    "reference_rate, estimate, low, high, p, p_holm, p_beyond_holm, verdict: Verdict, mde, n: int, "
    "identities: int, reason: str, sentence: str = ''"
)


class Gap(_row(GAP)):
    """A difference of rates between found portraits of two levels of an axis; no effect."""


class Adjusted(
    _row("axis: str, model: str, estimate, low, high, p, n: int, identities: int, reason: str")
):
    """A difference after a linear or logistic regression on the other axes and the covariates."""


CARRIED = "axis: str, estimate, low, high, mix, mix_low, mix_high, missing, gap, share, share_low"


class Predicted(_row(f"{CARRIED}, share_high, word: Word")):
    """What matched images say of a difference; see `faceaudit.analyse_portraits`."""


class LeftOut(_row("column: str, value: str, count: int")):
    """Rows of a table of portraits that cannot be used, by a value that was not expected."""


class Leak(_row("axis: str, attribute: str, estimate, low, high")):
    """How far an annotated attribute moves along an axis."""


class Carried(
    _row("kind: Carry, group: str, reference: str, estimate, low, high, missing, reason: str")
):
    """An error rate in the target population, or a difference of two of its groups."""


class MatchRates(
    _row(
        "group: str, threshold: float, fnmr, fnmr_low, fnmr_high, fmr, fmr_low, fmr_high, "
        "positives: int, negatives: int, fnmr_ratio, fmr_ratio, reason: str"
    )
):
    """A group's row of the FRTE-style table, at one threshold for all groups."""


class Enrolment(_row("group: str, images: int, identities: int, failures: int, rate, low, high")):
    """Images of a group of which the recogniser made no embedding: failures to enrol."""


class Rejected(_row("reason: str, unit: str, count: int, dropped: bool")):
    """What was found in people's exports that was not taken as it was; see `annotations.Ingest`."""


class Agreement(
    _row("attribute: str, images: int, raters, sd, alpha, alpha_low, alpha_high, reason: str")
):
    """How far people agree about an attribute; see `annotations.agreement_table`."""


class Answers(
    _row(
        "kind: str, stage: str, people: Count = None, answers: Count = None, wanted: Count = None, "
        "ingest: list[Rejected] = [], agreement: list[Agreement] = [], files: Hashes = {}, "
        "readers: Hashes = {}"
    )
):
    """Who said what the images show, at one stage of the audit."""


class Moved(_row("axis: str, attribute: str, change, upper")):
    """A leak at the gate of a calibration; see `faceaudit.latents.calibration.leaks`."""


class Dose(_row("axis: str, level: int, sd, upper")):
    """How far faces lie apart within a level; see `faceaudit.latents.calibration.dose_spread`."""


GATE = "passed: bool, measures: int, most_leak, most_spread, leaks: list[Moved], doses: list[Dose]"


class Calibrated(_row(GATE)):
    """The gate of a calibration: upper limits of leaks and doses, and the most that they may be."""


class Doubt(_row("name: str, sentence: str, accepted: bool")):
    """What makes the report hard to believe; see `faceaudit.plausibility`."""


class PlanKept(_row("sha256: str, made: str, kept: bool, departures: Texts, content: Anything")):
    """The plan, and whether the analysis kept to it."""


class Report(Part):
    """What `report.json` holds.

    Attributes:
        schema_version: of this structure.
        name, kind, question, made: of the audit; made is a time in UTC.
        verdict, answer: of all families that are judged.
        doubts: what makes the report hard to believe.
        tolerance, level, threshold: decisions.
        data: counts: images, units, no_answer, no_label, error_rate, and so on.
        effects: by cell.
        averages: over all faces; empty with one axis, whose cell is the average.
        no_answer: where some image has none.
        placebos: a control, which is judged for itself.
        manipulation: how far people saw an axis move along itself.
        interactions, thresholds, scores, rates, leakage, target: see their classes.
        match_rates, disparities: of a verification.
        enrolment, failures_to_enrol: of a recogniser that was asked, by group and as differences
            from the reference; the latter only where there is a failure.
        gaps: of found portraits, differences in a column of errors or of missing answers.
        adjusted, carried, left_out: of found portraits, see `faceaudit.analyse_portraits`.
        people: who said what the images show, a row for each stage that asked them.
        calibration: of a generator of somebody's own, where the audit file has one.
        limits: what the report does not say, a sentence each.
        plan: see `PlanKept`.
        provenance: versions, hashes, seed and the model's card.

    Example:
        >>> "verdict" in Report.model_json_schema()["required"]
        True
    """

    schema_version: Literal["2.0"] = "2.0"
    name: str
    kind: Literal["classification", "verification", "portraits"]
    question: str
    made: str
    verdict: Verdict
    answer: str
    doubts: list[Doubt] = []
    tolerance: float
    level: float
    threshold: float
    data: Counts
    effects: list[Effect] = []
    averages: list[Effect] = []
    no_answer: list[Effect] = []
    placebos: list[Effect] = []
    interactions: list[Interaction] = []
    thresholds: list[AtThreshold] = []
    scores: list[Effect] = []
    rates: list[Rate] = []
    manipulation: list[Leak] = []
    leakage: list[Leak] = []
    target: list[Carried] = []
    match_rates: list[MatchRates] = []
    disparities: list[Disparity] = []
    enrolment: list[Enrolment] = []
    failures_to_enrol: list[Disparity] = []
    gaps: list[Gap] = []
    adjusted: list[Adjusted] = []
    carried: list[Predicted] = []
    left_out: list[LeftOut] = []
    people: list[Answers] = []
    calibration: Calibrated | None = None
    limits: Texts
    plan: PlanKept
    provenance: Anything

    @property
    def judged(self) -> list[Effect] | list[Disparity] | list[Gap]:
        """The comparisons that decide whether the model passes, of all families together."""
        return [row for name in JUDGED for row in getattr(self, name)]


# --- from tables to a report


def build_report(
    data: Audited | Pairs | Portraits,
    tables: Tables,
    plan: Plan,
    now: Plan,
    truth: pd.DataFrame | None = None,
    model: Mapping[str, Any] | None = None,
    people: Sequence[Mapping[str, Any]] = (),
    generator: Mapping[str, Any] | None = None,
    told: Sequence[str] = (),
    doubts: Iterable[tuple[str, str]] = (),
    gate: Mapping[str, Any] | None = None,
) -> Report:
    """The report of an analysis.

    Args:
        data: images, pairs or portraits.
        tables: of `analyse`, `analyse_pairs` or `analyse_portraits`.
        plan: that was made first, of `keep_plan`.
        now: of `make_plan`, from the audit file as it is now, by which `tables` were made.
        truth: of `faceworld.scorecard.truth.effects`, in the known-truth world.
        model: the card of the model that was asked.
        people: of `Said.about`, for every stage that asked people, with the key `stage`.
        generator: the card of a generator of somebody's own.
        told: limits that the images and the people brought.
        doubts: name and sentence of each that the run brought, of `faceaudit.plausibility`.
        gate: of a calibration, of `faceaudit.own_generator.Gate.content`.

    Returns:
        The report.
    """
    if isinstance(data, Pairs):
        parts, limits = _of_pairs(data, tables, now)
    elif isinstance(data, Portraits):
        parts, limits = _of_found(data, tables, now)
    else:
        parts, limits = _of_images(data, tables, now, truth)
    departures = plans.departures(plan, now, _made(tables, plan, now))
    kept = {"kept": not departures, "departures": departures, "content": dict(plan)}
    versions = {package: metadata.version(package) for package in PACKAGES}
    provenance = {"versions": {"python": platform.python_version(), **versions}}
    provenance |= {"inputs": now["inputs"], "seed": now["seed"], "model": model or None}
    doubts = [
        Doubt(name=name, sentence=sentence, accepted=name in now["accept"])
        for name, sentence in [*doubts_of(data.frame, tables, now), *doubts]
    ]
    return Report(
        **{name: now[name] for name in ("name", "kind", "question", "tolerance", "level")},
        **_answer(parts, now["tolerance"]),
        **parts,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        doubts=doubts,
        limits=[*told, *limits],
        people=[*people],
        calibration=gate,
        plan=kept | {name: plan[name] for name in ("sha256", "made")},
        provenance=provenance | {"generator": generator or None},
    )


def write_json(report: Report, path: Path) -> Path:
    """Write `report.json`.

    Args:
        report: what is written.
        path: of the file.

    Returns:
        The path.
    """
    return plans.write_text(path, report.model_dump_json(indent=1) + "\n")


def read_json(path: str | Path) -> Report:
    """Read a `report.json`, after checking that it is one.

    Args:
        path: of the file.

    Returns:
        The report.

    Raises:
        ValueError: the file is missing, damaged, or of another version of the schema.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path}: no such report")
    try:
        return Report.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise wording.fault("no_report", path, place, first["msg"]) from None


def schema() -> str:
    """Give the JSON schema of a report.

    Returns:
        What `audits/report.schema.json` holds.
    """
    return json.dumps(Report.model_json_schema(), indent=1) + "\n"


def gate(
    report: Report | str | Path, fail_on: str = "exceeds", allow_departures: bool = False
) -> tuple[int, list[str]]:
    """Whether a model may pass: a report in, an exit code out.

    Args:
        report: or the path of its `report.json`.
        fail_on: "exceeds": fail where a comparison is beyond the tolerance; "inconclusive": where
            one is, or is not known to be within.
        allow_departures: whether a model may pass though the plan was not kept.

    Returns:
        The exit code, and a line for each thing that stands in the way, or that the model passed.
        0: passed; 1: a comparison of any judged family is beyond the tolerance, the analysis
        departed from the plan, or there is a doubt that the audit file does not accept; 2: with
        "inconclusive", none of this, but some comparisons are undecided or not estimable; 3: the
        report is missing or damaged.

    Raises:
        ValueError: another word in `fail_on`.

    Example:
        >>> from faceaudit import gate
        >>> gate("nowhere/report.json")
        (3, ['nowhere/report.json: no such report'])
    """
    if fail_on not in STATES:
        raise ValueError(f"fail-on is {fail_on!r}, one of {', '.join(STATES)} was expected")
    try:
        report = report if isinstance(report, Report) else read_json(report)
    except ValueError as error:
        return BROKEN, [str(error)]
    judged, asked = report.judged, fail_on == "inconclusive"
    if not judged:
        return BROKEN, [f"{report.name}: the report has no comparison to judge"]
    beyond = [f"exceeds: {row.sentence}" for row in judged if row.verdict == "exceeds"]
    undecided = [row for row in judged if row.verdict in ("inconclusive", "not estimable")]
    lines = beyond + [f"{row.verdict}: {row.sentence}" for row in undecided if asked]
    lines += warnings_of(report, allow_departures)
    doubted = any(not one.accepted for one in report.doubts)
    if beyond or doubted or (report.plan.departures and not allow_departures):
        return FAILED, lines
    if asked and undecided:
        return UNDECIDED, lines
    told = wording.told("undecided", Counter(row.verdict for row in undecided), len(judged))
    return PASSED, [*lines, f"passed ({told[0]})" if told else "passed"]


def warnings_of(report: Report, allow_departures: bool = False) -> list[str]:
    """A line for each doubt, and for each departure from the plan."""
    return wording.told("warnings", report.doubts, report.plan.departures, allow_departures)


def write_card(report: Report, path: Path) -> Path:
    """Write `model_card.md`.

    Args:
        report: what the card is about.
        path: of the file.

    Returns:
        The path.
    """
    return plans.write_text(path, card(report))


def card(report: Report) -> str:
    """The model card as text: Markdown with a head in YAML."""
    text = wording.rendered("model_card.md.j2", report=report)
    _, head, body = text.split("---\n", 2)
    # Names of the audit file and the table may hold tags, which a hub would show as a page's own.
    return f"---\n{head}---\n{html.escape(body, quote=False)}"


def _of_images(
    data: Audited, tables: Tables, plan: Plan, truth: pd.DataFrame | None
) -> tuple[dict[str, Any], list[str]]:
    """The parts of a report that a classification has, and its limits."""
    frame, made_by = data.frame, plan.get("generator", {}).get("kind")
    counts = _counts(data, plan) | {"units": frame["unit"].nunique(), "made_by": made_by}
    counts |= {"target": plan.get("target"), "units_needed": plan["sizes"]["needed"]}
    parts = {"threshold": plan["threshold"], "data": counts}
    for name, family in EFFECTS.items():
        table = tables.get(family) if counts["no_answer"] or name != "no_answer" else None
        parts[name] = _rows_told(name, "effect", table, plan, name, made_by)
    for row in [*parts["effects"], *parts["averages"]] if truth is not None else ():
        row.truth, row.truth_se = _truth(truth, row)
    # Scores are no errors, and have no verdict: no sentence speaks of them.
    rest = ("scores", "interactions", "thresholds", "rates", "target", "manipulation", "leakage")
    parts |= {name: _rows(name, tables.get(name)) for name in rest}
    one_class = frame["label"].nunique() < 2
    return parts, wording.told("limits_of_images", parts, counts, plan, one_class)


def _of_pairs(data: Pairs, tables: Tables, plan: Plan) -> tuple[dict[str, Any], list[str]]:
    """The parts of a report that a verification has, and its limits."""
    rates, frame, images = _rows("match_rates", tables["rates"]), data.frame, data.images
    people = pd.concat([frame["first"], frame["second"]]).nunique()
    counts = {"pairs": len(frame), "identities": people, "groups": len(rates)}
    counts |= {"reference": plan["reference"], "source": Path(data.source).name}
    parts = {"threshold": rates[0].threshold, "data": counts, "match_rates": rates}
    parts["disparities"] = _rows_told("disparities", "disparity", tables[plans.GROUPS], plan)
    failed_calls = 0
    if images is not None:
        failures, failed_calls = int((images["enrolled"] == 0).sum()), images["failed_call"].sum()
        counts |= {"images": len(images), "identities": images["identity"].nunique()}
        counts |= {"failures_to_enrol": failures, "pairs_left_out": data.left_out}
        parts["enrolment"] = _rows("enrolment", tables["enrolment"])
        differ = tables[plans.ENROLMENT] if failures else None
        parts["failures_to_enrol"] = _rows_told("disparities", "disparity", differ, plan)
    return parts, wording.told("limits_of_pairs", parts, counts, plan, int(failed_calls))


def _of_found(data: Portraits, tables: Tables, plan: Plan) -> tuple[dict[str, Any], list[str]]:
    """The parts of a report that found portraits have, and its limits."""
    counts = _counts(data, plan) | {"identities": data.frame["identity"].nunique()}
    # Without a missing answer there is no difference in having none.
    made = [name for name in plan["families"] if counts["no_answer"] or name != plans.UNANSWERED]
    gaps = pd.concat({name: tables[name] for name in made}, names=["family"]).reset_index("family")
    gaps["reference"], gaps["group"] = zip(*gaps["axis"].map(plan["axes"]), strict=True)
    parts = {"threshold": plan["threshold"], "data": counts}
    parts["gaps"] = _rows_told("gaps", "gap", gaps, plan)
    parts |= {name: _rows(name, tables.get(name)) for name in ("rates", "adjusted", "carried")}
    parts["left_out"] = _rows("left_out", data.left_out)
    return parts, wording.told("limits_of_portraits", parts, counts, plan)


def _counts(data: Audited | Portraits, plan: Plan) -> dict[str, Any]:
    """What is counted of matched images and of found ones."""
    frame = data.frame.assign(label=data.frame.get("label", 0))
    counts = {"images": len(frame), "error_rate": _finite(frame["error"].mean())}
    counts |= {"no_answer": int(frame["no_answer"].sum()), "tells": plan.get("attribute")}
    counts |= {"no_label": int(frame["label"].isna().sum()), "source": Path(data.source).name}
    named = {"labelled_by": plan.get("people", "table"), "answers": " or ".join(plan["classes"])}
    return counts | named


def _rows_told(
    name: str, macro: str, table: pd.DataFrame | None, plan: Plan, *more: str
) -> list[Any]:
    """Rows of a part of the report with their sentences, of a macro."""
    found = _rows(name, table)
    for row in found:
        # Of how many comparisons that are adjusted together this is one.
        n = int(table["together"].iloc[0]) if "together" in table else len(table)
        row.sentence = wording.told(macro, row, plan["tolerance"], n, *more)[0]
    return found


def _truth(truth: pd.DataFrame, effect: Effect) -> tuple[float | None, float | None]:
    """The true effect in a cell and its standard error, of `faceworld.scorecard.truth.effects`."""
    here, held = truth["attribute"] == effect.axis, effect.held
    for other in truth.columns.intersection([*truth["attribute"].unique()]):
        here &= truth[other].eq(held[other]).fillna(False) if other in held else truth[other].isna()
    (row,) = truth[here].to_dict("records")
    return _finite(row["effect"]), _finite(row["se"])


def _answer(parts: Mapping[str, Any], tolerance: float) -> dict[str, str]:
    """The verdict of all families that are judged, and the lines that say it.

    "exceeds" if any does, "within" if all are, else "inconclusive".
    """
    rows = [row for name in JUDGED for row in parts.get(name, [])]
    counts = Counter(row.verdict for row in rows)
    # Of one axis, the cell of all faces is the average.
    shown = parts.get("effects") or parts.get("gaps", [])
    averages = parts.get("averages") or [row for row in shown if not row.held]
    averages = [row for row in averages if getattr(row, "family", plans.GAPS) == plans.GAPS]
    beyond = [row for row in rows if row.verdict == "exceeds"]
    beyond.sort(key=lambda row: -abs(row.estimate or 0))
    rest = "within" if counts["within"] == len(rows) else "inconclusive"
    verdict = "exceeds" if beyond else rest
    said = averages, beyond, counts, len(rows), tolerance, parts.get("carried", ())
    lines = wording.told("answer", verdict, *said)
    return {"verdict": verdict, "answer": "\n".join(lines)}


def _rows(name: str, table: pd.DataFrame | None) -> list[Any]:
    """Rows of a table as the report's part of this name has them."""
    if table is None or table.empty:
        return []
    (kind,) = get_args(Report.model_fields[name].annotation)
    table = table.rename(columns={"transects": "units"}).filter([*kind.model_fields])
    return [kind(**row) for row in table.to_dict("records")]


def _made(tables: Tables, plan: Plan, now: Plan) -> dict[str, list[list[str]]]:
    """The comparisons that were made, by family."""
    made = {}
    for family in [*plan["families"], *now["families"]]:
        table = tables.get(family, pd.DataFrame(columns=["axis", "cell"]))
        names = ["measure"] if "measure" in table else ["axis", "cell"]
        made[family] = table[names].drop_duplicates().to_numpy().tolist()
    return made
