"""What `report.json` holds, as classes from which its published schema is made.

`audits/report.schema.json` is that schema; `python -m faceaudit schema` prints it. All rates
and differences are fractions; null is what could not be estimated.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

VERSION = "2.0"
Verdict = Literal["exceeds", "within", "inconclusive", "not estimable"]
Number = float | None


class Part(BaseModel):
    """A part of the report: nothing unknown is in it."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class Effect(Part):
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

    axis: str
    contrast: str
    cell: str
    held: dict[str, int]
    estimate: Number
    low: Number
    high: Number
    low_family: Number
    high_family: Number
    p: Number
    p_holm: Number
    p_beyond_holm: Number
    verdict: Verdict
    mde: Number
    reason: str
    n: int
    units: int
    missing: int
    worse: int
    better: int
    base_rate: Number
    e_value: Number = None
    e_value_limit: Number = None
    gamma: Number = None
    tipping: Number = None
    truth: Number = None
    truth_se: Number = None
    sentence: str = ""


class Interaction(Part):
    """How much the effect of one axis differs between the levels of another."""

    axis: str
    other: str
    estimate: Number
    low: Number
    high: Number
    p_holm: Number
    units: int


class AtThreshold(Part):
    """The average effect of an axis where the score is cut at a threshold."""

    threshold: float
    axis: str
    estimate: Number
    low: Number
    high: Number
    rate: Number


class Rate(Part):
    """Images and errors of one combination of levels."""

    group: str
    images: int
    answered: int
    errors: int
    rate: Number


class Leak(Part):
    """How far an annotated attribute moves along an axis."""

    axis: str
    attribute: str
    estimate: Number
    low: Number
    high: Number


class Carried(Part):
    """An error rate in the target population, or a difference of two of its groups."""

    kind: Literal["rate", "difference"]
    group: str
    reference: str
    estimate: Number
    low: Number
    high: Number
    missing: Number
    reason: str


class MatchRates(Part):
    """A group's row of the FRTE-style table, at one threshold for all groups."""

    group: str
    threshold: float
    fnmr: Number
    fnmr_low: Number
    fnmr_high: Number
    fmr: Number
    fmr_low: Number
    fmr_high: Number
    positives: int
    negatives: int
    fnmr_ratio: Number
    fmr_ratio: Number
    reason: str


class Disparity(Part):
    """A group's error rate minus that of the reference."""

    measure: str
    group: str
    reference: str
    rate: Number
    reference_rate: Number
    estimate: Number
    low: Number
    high: Number
    p_holm: Number
    p_beyond_holm: Number
    verdict: Verdict
    mde: Number
    n: int
    identities: int
    reason: str
    sentence: str = ""


class Enrolment(Part):
    """Images of a group of which the recogniser made no embedding: failures to enrol."""

    group: str
    images: int
    identities: int
    failures: int
    rate: Number
    low: Number
    high: Number


class Rejected(Part):
    """What was found in people's exports that was not taken as it was; see `annotations.Ingest`."""

    reason: str
    unit: str
    count: int
    dropped: bool


class Agreement(Part):
    """How far people agree about an attribute; see `annotations.agreement_table`."""

    attribute: str
    images: int
    raters: Number
    sd: Number
    alpha: Number
    alpha_low: Number
    alpha_high: Number
    reason: str


class Answers(Part):
    """Who said what the images show, at one stage of the audit."""

    kind: str
    stage: str
    people: int | None = None
    answers: int | None = None
    wanted: int | None = None
    ingest: list[Rejected] = []
    agreement: list[Agreement] = []
    files: dict[str, str] = {}


class Doubt(Part):
    """What makes the report hard to believe; see `faceaudit.plausibility`."""

    name: str
    sentence: str
    accepted: bool


class PlanKept(Part):
    """The plan, and whether the analysis kept to it."""

    sha256: str
    made: str
    kept: bool
    departures: list[str]
    content: dict[str, Any]


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
        people: who said what the images show, a row for each stage that asked them.
        limits: what the report does not say, a sentence each.
        plan: see `PlanKept`.
        provenance: versions, hashes, seed and the model's card.

    Example:
        >>> "verdict" in Report.model_json_schema()["required"]
        True
    """

    schema_version: Literal["2.0"] = VERSION
    name: str
    kind: Literal["classification", "verification"]
    question: str
    made: str
    verdict: Verdict
    answer: str
    doubts: list[Doubt] = []
    tolerance: float
    level: float
    threshold: float
    data: dict[str, float | int | str | None]
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
    people: list[Answers] = []
    limits: list[str]
    plan: PlanKept
    provenance: dict[str, Any]

    @property
    def judged(self) -> list[Effect] | list[Disparity]:
        """The comparisons that decide whether the model passes, of all families together."""
        if self.kind == "verification":
            return [*self.disparities, *self.failures_to_enrol]
        return [*self.averages, *self.effects, *self.no_answer]
