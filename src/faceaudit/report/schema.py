"""What a report holds: `report.json` and its schema.

All rates and differences are fractions; null is what could not be estimated.
"""

import json
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from faceaudit.utils.errors import InputError
from faceaudit.utils.files import file_hash, write_text

JUDGED_PARTS = (
    "averages",
    "effects",
    "outcomes",
    "missing",
    "disparities",
    "failures_to_enrol",
    "gaps",
)
"""Parts of a report whose comparisons decide whether a model passes."""


PARTS_OF_MODELS = ("averages", "effects", "outcomes", "missing")
"""Those of a report of several models, which are of matched images."""
ADJUSTED_COLUMNS = ("low_family", "high_family", "p_holm", "p_beyond_holm", "verdict")
"""Columns of an effect that depend on which others it is adjusted together with."""

ESTIMATES = {"estimate", "ratio"}
"""Columns of a row that say nothing without an interval."""


def finite(value: Any) -> Any:
    """None, as JSON has it, for a number that is not finite."""
    return None if isinstance(value, float) and not np.isfinite(value) else value


Verdict = Literal["exceeds", "within", "inconclusive", "not estimable"]
Demand = Literal["faces", "unanswered", "left_out"]
"""Keys of `faceaudit.file.parts.CoveragePolicy`."""
CarriedKind = Literal["rate", "difference"]
ShareWord = Literal["little", "partly", "most", "undecided"]
Counts = dict[str, float | int | str | None]
"""Type of `Report.data`."""
Number = Annotated[float | None, BeforeValidator(finite)]
"""A finite number, or None for what could not be estimated."""


# `audits/report.schema.json` is made from the classes below, with their docstrings.


class Part(BaseModel):
    """A part of the report: nothing unknown is in it."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class Effect(Part):
    """One comparison: the high level of an axis minus the low one, in one cell or over all faces.

    Of a trend it is the change from the first level to the last along the straight line through
    the means of all levels; then there is no base_rate.

    Attributes:
        axis, outcome, contrast, cell, held: what is compared, and where; outcome is a name of
            `faceaudit.outcomes`, and held is axis → level, from 0 on.
        estimate, low, high: difference of error rates, 95% interval for this comparison alone.
        low90, high90: the 90% interval, which two one-sided tests at 5% go by ("within").
        low_family, high_family: interval that holds for the whole family at once.
        p, p_holm: of no effect, alone and adjusted over the family.
        p_beyond_holm: of an effect no larger than the tolerance, adjusted.
        verdict, mde, reason: verdict; minimum detectable effect; why there is no estimate.
        n, units, missing, worse, better, base_rate: pairs, faces, pairs that lack an image, pairs
            that err at the high (low) level only, error rate at the low level.
        effective_units: where faces have weights, their effective number (Kish); base_rate and
            estimate are then weighted.
        ratio, ratio_low, ratio_high: of selection rates, the high level's over the low one's.
        e_value, e_value_limit, gamma, tipping: how strong something hidden would have to be.
        truth, truth_se: in the known-truth world, the effect by intervention.
        sentence: the finding in words.
    """

    axis: str
    outcome: str
    contrast: str
    cell: str
    held: dict[str, int]
    estimate: Number
    low: Number
    high: Number
    low90: Number
    high90: Number
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
    effective_units: Number = None
    ratio: Number = None
    ratio_low: Number = None
    ratio_high: Number = None
    e_value: Number = None
    e_value_limit: Number = None
    gamma: Number = None
    tipping: Number = None
    truth: Number = None
    truth_se: Number = None
    sentence: str = ""


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
    low90: Number
    high90: Number
    low_family: Number
    high_family: Number
    p_holm: Number
    p_beyond_holm: Number
    verdict: Verdict
    mde: Number
    n: int
    identities: int
    reason: str
    sentence: str = ""


class Interaction(Part):
    """How much the effect of one axis differs between two levels of another.

    Attributes:
        contrast, other_contrast: the levels of each.
    """

    axis: str
    outcome: str
    contrast: str
    other: str
    other_contrast: str
    estimate: Number
    low: Number
    high: Number
    p_holm: Number
    units: int


class AtThreshold(Part):
    """The average effect of an axis, or difference, where the score is cut at a threshold.

    Attributes:
        same_label: the part that comes from images of one label.
        p_beyond_holm: of a `same_label` no larger than the tolerance, adjusted over all other
            thresholds and axes; null at the audit's own threshold.
    """

    threshold: float
    axis: str
    contrast: str
    estimate: Number
    low: Number
    high: Number
    rate: Number
    same_label: Number
    p_beyond_holm: Number


class Rate(Part):
    """Images and outcomes of one combination of levels; of found portraits, intervals as well.

    Attributes:
        errors: where these are counted.
        rate: mean of the audit's first outcome.
        low, high: Wilson's interval, of independent portraits.
        cluster_low, cluster_high: with identities as units, where one has several portraits.
    """

    group: str
    images: int
    answered: int
    errors: int | None
    rate: Number
    low: Number = None
    high: Number = None
    cluster_low: Number = None
    cluster_high: Number = None
    identities: int | None = None


class Gap(Part):
    """A difference of rates between found portraits of two levels of an axis; no effect.

    Of a trend, group and reference are the last and the first level, the estimate is the change
    between them along the straight line through the rates of all levels, and there is no rate nor
    reference_rate.

    Attributes:
        contrast: the levels in words.
    """

    family: str
    axis: str
    outcome: str
    contrast: str = ""
    group: str
    reference: str
    cell: str
    held: dict[str, int]
    rate: Number
    reference_rate: Number
    ratio: Number = None
    ratio_low: Number = None
    ratio_high: Number = None
    estimate: Number
    low: Number
    high: Number
    low90: Number
    high90: Number
    low_family: Number
    high_family: Number
    p: Number
    p_holm: Number
    p_beyond_holm: Number
    verdict: Verdict
    mde: Number
    n: int
    identities: int
    reason: str
    sentence: str = ""


Comparison = Effect | Disparity | Gap
"""A comparison with a verdict, of any design."""


class Adjusted(Part):
    """A difference after adjustment for the other axes and the covariates.

    Attributes:
        model: "linear" or "logistic", of a regression; "aipw" or "boosted aipw"; "none", as
            counted on the same portraits.
    """

    axis: str
    contrast: str
    model: str
    estimate: Number
    low: Number
    high: Number
    p: Number
    n: int
    identities: int
    reason: str


class Overlap(Part):
    """How alike the portraits of two levels are, one level of a contrast in each row.

    Attributes:
        identities: people.
        effective: people that the weights of the doubly robust adjustment leave.
        propensity_low, propensity_median, propensity_high: the least, the middle and the largest
            chance of this level that a portrait of it was given.
        outside: share of its portraits whose chance is below `bound` or above one minus it.
    """

    axis: str
    contrast: str
    level: str
    n: int
    identities: int
    effective: Number
    propensity_low: Number
    propensity_median: Number
    propensity_high: Number
    outside: Number
    bound: Number


class Balance(Part):
    """A level of a covariate, or a number ("" as its level), at the two levels of a contrast.

    Attributes:
        before, after: the difference of its means in standard deviations, without weights and with
            those of the doubly robust adjustment.
    """

    axis: str
    contrast: str
    covariate: str
    level: str
    before: Number
    after: Number


class Robustness(Part):
    """How strong an attribute that the table lacks explains an adjusted difference away.

    Attributes:
        estimate, low, high: of the linear adjustment.
        partial_r2: share that the levels explain of what the covariates leave of the outcome.
        robustness_value: share of both, the levels and the outcome, that such an attribute has to
            explain to bring the difference to zero.
        robustness_of_limit: the same of the end of the interval that is nearer to zero.
        sentence: says it.
    """

    axis: str
    contrast: str
    outcome: str
    estimate: Number
    low: Number
    high: Number
    partial_r2: Number
    robustness_value: Number
    robustness_of_limit: Number
    n: int
    identities: int
    reason: str
    sentence: str = ""


class Benchmark(Part):
    """An attribute that the table lacks and that is as strong as one of its covariates.

    Attributes:
        with_treatment, with_outcome: the shares that it explains of what the covariates leave of
            the levels, and of what they and the levels leave of the outcome.
        estimate: the linear adjustment next to it.
    """

    axis: str
    contrast: str
    outcome: str
    covariate: str
    with_treatment: Number
    with_outcome: Number
    estimate: Number


class Predicted(Part):
    """What matched images say of a difference; see `faceaudit.Portraits.analyse`."""

    axis: str
    contrast: str
    estimate: Number
    low: Number
    high: Number
    mix: Number
    mix_low: Number
    mix_high: Number
    missing: Number
    gap: Number
    share: Number
    share_low: Number
    share_high: Number
    word: ShareWord


class LeftOut(Part):
    """Rows of a table of portraits that are left out, by the value that made them so.

    Attributes:
        on_purpose: whether the audit file names the value under `ignore`.
    """

    column: str
    value: str
    count: int
    on_purpose: bool


class Coverage(Part):
    """A demand of the policy on what must be there before the model may pass.

    Attributes:
        demand: key of the audit file's policy.
        found, limit: what is there and what is asked for: of faces a number, else a share.
        met: whether it is enough.
        sentence: the same in words.
    """

    demand: Demand
    found: float
    limit: float
    met: bool
    sentence: str


class Monitored(Part):
    """Which look at which release the report of a monitored audit is.

    Attributes:
        look: how many looks there were with this one; further faces or another release make one.
        release: how many releases of the model were looked at with this one.
        previous: SHA-256 of the `report.json` of the look before; null of the first look.
        earlier_faces: faces of this audit that were there at an earlier look.
        share: of the level that the release has.
        sentence: says it, and for which looks intervals and verdicts hold.
    """

    look: int
    release: int
    previous: str | None
    earlier_faces: int
    share: float
    sentence: str


class WorstCase(Part):
    """An average comparison of errors in which each missing answer counts as an error.

    Attributes:
        subject: the axis, or the group of a verification.
        contrast, measure: the two levels or groups; of a verification which error rate, else "".
        estimate, low, high, low90, high90, p_beyond_holm, verdict: as of `Effect`, adjusted over
            these comparisons alone.
        sentence: the finding in words.
    """

    subject: str
    contrast: str
    measure: str
    estimate: Number
    low: Number
    high: Number
    low90: Number
    high90: Number
    p_beyond_holm: Number
    verdict: Verdict
    sentence: str


class Leak(Part):
    """How far an annotated attribute moves along an axis."""

    axis: str
    contrast: str
    attribute: str
    estimate: Number
    low: Number
    high: Number


class Carried(Part):
    """An error rate in the target population, or a difference of two of its groups."""

    kind: CarriedKind
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


class Enrolment(Part):
    """Images of a group of which the recogniser made no embedding: failures to enrol."""

    group: str
    images: int
    identities: int
    failures: int
    rate: Number
    low: Number
    high: Number


class MissingPairs(Part):
    """Pairs of a group in a table that have no similarity, since a face was not enrolled.

    Attributes:
        measure: of which pairs: "missing positives" of one person, "missing negatives" of two.
        pairs, missing: how many there are, and how many of them have no similarity.
        rate, low, high: the share without one, and its 95% interval.
    """

    group: str
    measure: str
    pairs: int
    missing: int
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
    readers: dict[str, str] = {}


class Moved(Part):
    """A leak at the gate of a calibration; see `faceaudit.latents.calibration.leaks`."""

    axis: str
    attribute: str
    change: Number
    upper: Number


class Dose(Part):
    """How far faces lie apart within a level; see `faceaudit.latents.calibration.dose_spread`."""

    axis: str
    level: int
    sd: Number
    upper: Number


class Calibrated(Part):
    """The gate of a calibration: upper limits of leaks and doses, and the most that they may be."""

    passed: bool
    measures: int
    most_leak: Number
    most_spread: Number
    leaks: list[Moved]
    doses: list[Dose]


class Doubt(Part):
    """What makes the report hard to believe; see `faceaudit.checks`."""

    name: str
    sentence: str
    accepted: bool


class PlanKept(Part):
    """The plan, and whether the analysis kept to it.

    Attributes:
        is_new: whether no plan was there before the run that made the report.
    """

    sha256: str
    made: str
    is_new: bool
    kept: bool
    departures: list[str]
    content: dict[str, Any]

    @property
    def replaced(self) -> list[dict[str, Any]]:
        """The plans that this one replaced, as of `faceaudit.plans.naming_former`."""
        return self.content.get("replaces", [])


class Report(Part):
    """What `report.json` holds.

    Attributes:
        schema_version: of this structure.
        name, kind, question, made: of the audit; made is a time in UTC.
        verdict, answer: of all families that are judged; the answer has a line for every axis.
        doubts: what makes the report hard to believe.
        coverage: whether enough is there for the model to pass, a row for each demand.
        monitored: of an audit whose policy monitors the gate; null of others.
        worst_cases: where errors are counted and some are not known, the averages in which these
            count as errors; they are not judged with the others, and the gate looks at them.
        tolerance, level, threshold: decisions.
        data: counts: images, units, no_image, no_answer, no_label, error_rate, and so on.
        effects: by cell.
        outcomes: of matched faces, effects on the outcomes besides the first, over all faces.
        averages: over all faces; empty with one axis, whose cell is the average.
        missing: effects on being missing: of an image without a known error, since it is absent or
            has no label or no answer; empty where none is, or all are for one reason that is judged
            under its name among the outcomes.
        placebos: a control, which is judged for itself.
        manipulation: how far people saw an axis move along itself.
        interactions, thresholds, scores, rates, leakage, target: see their classes.
        match_rates, disparities: of a verification.
        enrolment: of a recogniser that was asked, failures to enrol by group.
        missing_pairs: of a table of pairs, those without a similarity by group, if there are any.
        failures_to_enrol: the same as differences from the reference, of images or of pairs; only
            where there is a failure.
        gaps: of found portraits, differences of the first outcome, in being missing, and of further
            outcomes.
        adjusted, overlap, balance, robustness, benchmarks, carried, left_out: of found portraits,
            see `faceaudit.Portraits.analyse`.
        people: who said what the images show, a row for each stage that asked them.
        calibration: of a generator of somebody's own, where the audit file has one.
        limits: what the report does not say, a sentence each.
        plan: see `PlanKept`.
        provenance: versions, hashes, seed and the model's card.

    Example:
        >>> "verdict" in Report.model_json_schema()["required"]
        True
    """

    schema_version: Literal["2.3"] = "2.3"
    name: str
    kind: Literal["classification", "verification", "portraits"]
    question: str
    made: str
    verdict: Verdict
    answer: str
    doubts: list[Doubt] = []
    coverage: list[Coverage]
    monitored: Monitored | None = None
    worst_cases: list[WorstCase] = []
    tolerance: float
    level: float
    threshold: float
    data: Counts
    effects: list[Effect] = []
    averages: list[Effect] = []
    outcomes: list[Effect] = []
    missing: list[Effect] = []
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
    missing_pairs: list[MissingPairs] = []
    failures_to_enrol: list[Disparity] = []
    gaps: list[Gap] = []
    adjusted: list[Adjusted] = []
    overlap: list[Overlap] = []
    balance: list[Balance] = []
    robustness: list[Robustness] = []
    benchmarks: list[Benchmark] = []
    carried: list[Predicted] = []
    left_out: list[LeftOut] = []
    people: list[Answers] = []
    calibration: Calibrated | None = None
    limits: list[str]
    plan: PlanKept
    provenance: dict[str, Any]

    @property
    def judged(self) -> list[Comparison]:
        """The comparisons that decide whether the model passes, of all families together."""
        return [row for name in JUDGED_PARTS for row in getattr(self, name)]


class ModelEffect(Effect):
    """An effect of one of several models, adjusted over the rows of all of them.

    Attributes:
        model: its name.
        verdict_alone: the verdict in the report of this model alone.
    """

    model: str
    verdict_alone: Verdict


class ModelDifference(Part):
    """What one model has minus what another has, by the same images.

    Attributes:
        model, minus: names of the two models.
        quantity: "mean" of the outcome over all images, or "effect" of an axis on it.
        outcome: first outcome of both.
        axis, contrast: of an effect; empty of a mean.
        estimate, low, high: the difference, and its 95% interval for itself.
        low_family, high_family: interval that holds for all differences of all models at once.
        p, p_holm: of no difference, alone and adjusted over all of them.
        units: faces.
    """

    model: str
    minus: str
    quantity: Literal["mean", "effect"]
    outcome: str
    axis: str
    contrast: str
    estimate: Number
    low: Number
    high: Number
    low_family: Number
    high_family: Number
    p: Number
    p_holm: Number
    units: int


class AuditedModel(Part):
    """One of several models, and where its own report is.

    Attributes:
        name: in the report of all models.
        identity: of the model, with its version where it is known.
        folder: of its own report, beside that of all models.
        sha256: of the `report.json` there.
        outcome, tolerance: first outcome of its audit, and the largest effect that does not matter.
        threshold: that cuts its scores; null of answers that are no scores.
        mean: of the first outcome over all images.
        verdict: of its rows here, adjusted over all models.
        verdict_alone: in its own report.
    """

    name: str
    identity: str
    folder: str
    sha256: str
    outcome: str
    tolerance: float
    threshold: Number
    mean: Number
    verdict: Verdict
    verdict_alone: Verdict


class ModelsReport(Part):
    """What `report.json` holds of several models side by side.

    Attributes:
        schema_version, kind: of this structure.
        name, question, made: as of `Report`.
        level: of all comparisons of all models together.
        images, units: images and faces, the same of all models.
        models: a row for each.
        averages, effects, outcomes, missing: as of `Report`, of all models.
        differences: of every two models that answer the same question.
        questions: names of models that answer the same question, a list for each question.
        limits: what the report does not say, a sentence each.
        versions: of the packages that made the report.
    """

    schema_version: Literal["1.0"] = "1.0"
    kind: Literal["models"] = "models"
    name: str
    question: str
    made: str
    level: float
    images: int
    units: int
    models: list[AuditedModel]
    averages: list[ModelEffect]
    effects: list[ModelEffect]
    outcomes: list[ModelEffect]
    missing: list[ModelEffect]
    differences: list[ModelDifference]
    questions: list[list[str]]
    limits: list[str]
    versions: dict[str, str]

    @property
    def judged(self) -> list[ModelEffect]:
        """The comparisons of all models that are judged together."""
        return [row for part in PARTS_OF_MODELS for row in getattr(self, part)]

    @property
    def over_all_faces(self) -> list[ModelEffect]:
        """The comparisons of the first outcomes over all faces; of one axis, its only cell."""
        return self.averages or [row for row in self.effects if not row.held]


PartOfReport = TypeVar("PartOfReport", bound=Part)


def estimable_only(row: PartOfReport) -> PartOfReport:
    """A row of a report without an estimate where there is no interval around it.

    What is counted of one person has a number, and nothing says how far it is from that of others.
    So it is not estimable, and a number beside these words would be read as a finding. The rates
    that were counted stay.

    Args:
        row: of any part.

    Returns:
        The row as it is, or with null in place of estimate and ratio.

    Example:
        >>> between = {"axis": "skin", "contrast": "dark instead of light", "attribute": "hair"}
        >>> row = Leak(**between, estimate=0.2, low=None, high=None)
        >>> estimable_only(row).estimate is None
        True
    """
    content = dict(row)
    if not {"estimate", "low", "high"} <= content.keys():
        return row
    if content["low"] is not None and content["high"] is not None:
        return row
    return row.model_copy(update=dict.fromkeys(ESTIMATES & content.keys()))


AnyReport = TypeVar("AnyReport", Report, ModelsReport)


def write_report(report: Report | ModelsReport, path: Path) -> Path:
    """Write `report.json`.

    Args:
        report: what is written.
        path: of the file.

    Returns:
        The path.
    """
    return write_text(path, text_of(report))


def text_of(report: Report | ModelsReport) -> str:
    """The text of a `report.json`."""
    return report.model_dump_json(indent=1) + "\n"


def read_report(path: str | Path) -> Report:
    """Read a `report.json`, after checking that it is one.

    Args:
        path: of the file.

    Returns:
        The report.

    Raises:
        InputError: the file is missing, damaged, or of another version of the schema.
    """
    return _read(Path(path), Report)


def is_of_models(path: str | Path) -> bool:
    """Whether a file is the report of several models; False where it cannot be read."""
    try:
        content = json.loads(Path(path).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("kind") == "models"


def read_models_report(path: str | Path) -> tuple[ModelsReport, dict[str, Report]]:
    """Read the report of several models, and the reports of the single ones in its folders.

    Args:
        path: of its `report.json`.

    Returns:
        The report, and name of a model → its own report.

    Raises:
        InputError: a file is missing or damaged, or a report is not the one that stood there.
    """
    path = Path(path)
    several = _read(path, ModelsReport)
    reports = {}
    for model in several.models:
        place = path.parent / model.folder / path.name
        reports[model.name] = read_report(place)
        if file_hash(place) != model.sha256:
            raise InputError(
                f"{place}: this is not the report of {model.name} that {path} was made from; its "
                "hash is another one",
                field=str(place),
                expected="the report of the single model",
            )
    return several, reports


def _read(path: Path, structure: type[AnyReport]) -> AnyReport:
    """Read a report of a structure; InputError as of `read_report`."""
    if not path.is_file():
        raise InputError(f"{path}: no such report", field=str(path), expected="a report.json")
    try:
        return structure.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise InputError(
            f"{path}: the report is damaged or of another version; {place}: {first['msg']}",
            field=place,
            found=first["input"] if first["loc"] else None,
            expected="a report of this version of the schema",
        ) from None


def schema() -> str:
    """Give the JSON schema of a report.

    Returns:
        What `audits/report.schema.json` holds.
    """
    return json.dumps(Report.model_json_schema(), indent=1) + "\n"


def schema_of_models() -> str:
    """Give the JSON schema of a report of several models.

    Returns:
        What `audits/models.schema.json` holds.
    """
    return json.dumps(ModelsReport.model_json_schema(), indent=1) + "\n"
