"""What a report holds: `report.json` and its schema.

All rates and differences are fractions; null is what could not be estimated.
"""

import json
from ast import literal_eval
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, create_model

from faceaudit.utils import errors
from faceaudit.utils import files as plans

JUDGED = ("averages", "effects", "no_answer", "disparities", "failures_to_enrol", "gaps")
"""Parts of a report whose comparisons decide whether a model passes."""


# --- what `report.json` holds; `audits/report.schema.json` is made from these classes


def finite(value: Any) -> Any:
    """None, as JSON has it, for a number that is not finite."""
    return None if isinstance(value, float) and not np.isfinite(value) else value


Verdict = Literal["exceeds", "within", "inconclusive", "not estimable"]
Carry = Literal["rate", "difference"]
Held = dict[str, int]
Texts, Anything = list[str], dict[str, Any]
Hashes, Counts = dict[str, str], dict[str, float | int | str | None]
Word = Literal["little", "partly", "most", "undecided"]
Count = int | None
Number = Annotated[float | None, BeforeValidator(finite)]


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
    """What matched images say of a difference; see `faceaudit.Portraits.analyse`."""


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
    """What makes the report hard to believe; see `faceaudit.checks`."""


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
        adjusted, carried, left_out: of found portraits, see `faceaudit.Portraits.analyse`.
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


def write_report(report: Report, path: Path) -> Path:
    """Write `report.json`.

    Args:
        report: what is written.
        path: of the file.

    Returns:
        The path.
    """
    return plans.write_text(path, report.model_dump_json(indent=1) + "\n")


def read_report(path: str | Path) -> Report:
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
        raise errors.fault("no_report", path, place, first["msg"]) from None


def schema() -> str:
    """Give the JSON schema of a report.

    Returns:
        What `audits/report.schema.json` holds.
    """
    return json.dumps(Report.model_json_schema(), indent=1) + "\n"
