"""From the tables of an analysis to a report."""

import platform
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol, get_args

import pandas as pd
from pydantic import BaseModel

from faceaudit import plans, words
from faceaudit.checks import find_doubts
from faceaudit.effects.survey_weights import weighted_mean
from faceaudit.families import Plan
from faceaudit.outcomes import ERROR, TITLES, first_outcome, is_of_number
from faceaudit.report import facts
from faceaudit.report.answer import answer_of
from faceaudit.report.schema import (
    Answers,
    Benchmark,
    Calibrated,
    Comparison,
    Doubt,
    Effect,
    Gap,
    PlanKept,
    Report,
    Robustness,
    estimable_only,
    finite,
)
from faceaudit.utils.formatting import tolerated

PACKAGES = ("faceaudit", "numpy", "pandas", "scipy", "torch", "onnxruntime")
"""Packages whose versions stand in the report, where they are installed."""
Tables = Mapping[str, pd.DataFrame]
"""Name → a table of an analysis."""


class Analysed(Protocol):
    """What a design hands to the report: images, pairs or portraits.

    Attributes:
        frame: a row per image, pair or portrait.
    """

    @property
    def frame(self) -> pd.DataFrame: ...

    def report_parts(self, tables: Tables, plan: Plan) -> tuple[dict[str, Any], list[str]]:
        """Parts of the report by their names in `Report`, and what the report does not say."""
        ...


def build_report(
    data: Analysed,
    tables: Tables,
    plan: Plan,
    now: Plan,
    truth: pd.DataFrame | None = None,
    model: Mapping[str, Any] | None = None,
    people: Sequence[Mapping[str, Any]] = (),
    generator: Mapping[str, Any] | None = None,
    input_limits: Sequence[str] = (),
    doubts: Iterable[tuple[str, str]] = (),
    gate: Mapping[str, Any] | None = None,
) -> Report:
    """The report of an analysis.

    Args:
        data: images, pairs or portraits.
        tables: of `data.analyse`.
        plan: that was made first, of `keep_plan`.
        now: of `make_plan`, from the audit file as it is now, by which `tables` were made.
        truth: of `faceworld.scorecard.truth.true_effects`, in the known-truth world.
        model: the card of the model that was asked.
        people: of `Labels.people_record`, for every stage that asked people, with the key `stage`.
        generator: the card of a generator of somebody's own.
        input_limits: limits that the images and the people brought.
        doubts: name and sentence of each that the run brought, of `faceaudit.checks`.
        gate: of a calibration, of `faceaudit.images.directions.calibration_gate`.

    Returns:
        The report.
    """
    parts, limits = data.report_parts(tables, now)
    if truth is not None:
        for row in [*parts["effects"], *parts["averages"]]:
            row.truth, row.truth_se = true_effect(truth, row)
    every_doubt = [*find_doubts(data.frame, tables, now), *doubts]
    answer = answer_of(parts, now["tolerance"])
    return Report(
        name=now["name"],
        kind=now["kind"],
        question=now["question"],
        tolerance=now["tolerance"],
        level=now["level"],
        verdict=answer.verdict,
        answer=answer.text,
        **parts,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        doubts=[
            Doubt(name=name, sentence=sentence, accepted=name in now["accept"])
            for name, sentence in every_doubt
        ],
        limits=[*input_limits, *limits],
        people=[Answers(**record) for record in people],
        calibration=None if gate is None else Calibrated(**gate),
        plan=_plan_kept(plan, now, tables),
        provenance=_provenance(now, model, generator),
    )


def _plan_kept(plan: Plan, now: Plan, tables: Tables) -> PlanKept:
    """The plan that was made first, and what departed from it."""
    departures = plans.departures(plan, now, _comparisons_made(tables, plan, now))
    return PlanKept(
        sha256=plan["sha256"],
        made=plan["made"],
        # The time when a plan was made is in its hash.
        is_new=plan["sha256"] == now["sha256"],
        kept=not departures,
        departures=departures,
        content=dict(plan),
    )


def _comparisons_made(tables: Tables, plan: Plan, now: Plan) -> dict[str, list[list[str]]]:
    """The comparisons that were made: family → the names of each."""
    comparisons: dict[str, list[list[str]]] = {}
    for family in [*plan["families"], *now["families"]]:
        table = tables.get(family, pd.DataFrame(columns=["names"]))
        # Groups of one measure are one comparison of the plan.
        names = table[["measure"]].to_numpy().tolist() if "measure" in table else table["names"]
        comparisons[family] = [list(one) for one in dict.fromkeys(map(tuple, names))]
    return comparisons


def _provenance(
    plan: Plan, model: Mapping[str, Any] | None, generator: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Versions, hashes of the inputs, the seed, and the cards of the model and the generator."""
    return {
        "versions": package_versions(),
        "inputs": plan["inputs"],
        "seed": plan["seed"],
        "model": model or None,
        "generator": generator or None,
    }


def package_versions() -> dict[str, str]:
    """Python and the packages behind a report, with their versions."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return versions


def count_images(frame: pd.DataFrame, source: str, plan: Plan) -> dict[str, Any]:
    """What `Report.data` counts of matched images, and of portraits that were found.

    Args:
        frame: a row per image: no_answer, and error and label where they are known.
        source: file or folder of the images.
        plan: by which they were analysed.

    Returns:
        Counts and names: images, error_rate, no_answer, tells, no_label, source, labelled_by,
        answers and selected (the class of a high score).
    """
    labels = frame.get("label", pd.Series(0, index=frame.index))
    return {
        "images": len(frame),
        "error_rate": finite(weighted_mean(frame[ERROR], frame)) if ERROR in frame else None,
        "no_answer": int(frame["no_answer"].sum()),
        "tells": plan.get("attribute"),
        "no_label": int(labels.isna().sum()),
        "source": Path(source).name,
        "labelled_by": plan.get("people", "table"),
        "answers": " or ".join(plan["classes"]),
        "selected": plan["classes"][-1],
    }


def rows_with_sentences(name: str, table: pd.DataFrame | None, plan: Plan) -> list[Any]:
    """Rows of a part of the report with their sentences.

    Args:
        name: of the part, a field of `Report` with comparisons.
        table: a row per comparison, as of `rows_of`; together, if it is there, says how many
            comparisons are adjusted together; None where there is nothing.
        plan: by which they were compared.

    Returns:
        A row of the report for each row of the table.
    """
    if table is None:
        return []
    rows = rows_of(name, table)
    for row in rows:
        family_size = int(table["together"].iloc[0]) if "together" in table else len(table)
        row.sentence = comparison_sentence(row, plan, family_size)
    return rows


def robustness_rows(
    table: pd.DataFrame | None, benchmarks: Sequence[Benchmark]
) -> list[Robustness]:
    """Rows of the part `robustness` of the report with their sentences.

    Args:
        table: a row per contrast; None where there is nothing.
        benchmarks: rows of the part of this name.

    Returns:
        A row of the report for each row of the table.
    """
    rows = rows_of("robustness", table)
    for row in rows:
        strongest = facts.strongest_benchmark(row, benchmarks)
        holds_zero = row.robustness_of_limit == 0
        (row.sentence,) = words.render_sentences("robustness", row, strongest, holds_zero)
    return rows


@dataclass(frozen=True)
class Finding:
    """What the sentence of a comparison says besides its numbers.

    Attributes:
        comparable: whether there is an estimate with an interval.
        of_missing: whether what is missing is compared, and not errors.
        by_tests: whether the two one-sided tests alone say "within": the 95% interval is wider.
        ending: how the sentence ends; None if not comparable.
        tolerance: largest difference that does not matter, in words.
        family_size: how many comparisons are adjusted together.
    """

    comparable: bool
    of_missing: bool
    by_tests: bool
    ending: facts.Ending | None
    tolerance: str
    family_size: int


def comparison_sentence(row: Comparison, plan: Plan, family_size: int) -> str:
    """The sentence of a comparison.

    Args:
        row: with its numbers and its verdict.
        plan: its tolerance counts, and its kind of generator, if it has one.
        family_size: how many comparisons are adjusted together.
    """
    if isinstance(row, Effect):
        made_by = plan.get("generator", {}).get("kind")
        macro = "effect"
        more = (TITLES[row.outcome], facts.levels_of(row.contrast), facts.is_listed(made_by))
    elif isinstance(row, Gap):
        macro = "gap"
        more = (TITLES[row.outcome], facts.is_trend(row))
    else:
        macro = "disparity"
        more = (facts.measure_abbreviation(row.measure),)
    tolerance = facts.tolerance_of_row(row, first_outcome(plan), plan["tolerance"])
    finding = Finding(
        comparable=facts.is_comparable(row),
        of_missing=facts.is_of_missing(row),
        by_tests=facts.is_within_by_tests(row, tolerance),
        ending=facts.ending_of(row, tolerance),
        tolerance=tolerated(tolerance, is_of_number(row)),
        family_size=family_size,
    )
    (sentence,) = words.render_sentences(macro, row, finding, *more)
    return sentence


def true_effect(truth: pd.DataFrame, effect: Effect) -> tuple[float | None, float | None]:
    """The true effect in a cell and its standard error.

    Args:
        truth: a row per axis and cell: attribute (the axis), effect, se, and a column per axis with
            its level in the cell, NaN where it is not held.
        effect: whose axis and cell count.

    Returns:
        Both as fractions; None for what is not finite.
    """
    matches = truth["attribute"] == effect.axis
    for axis in truth.columns.intersection(list(truth["attribute"].unique())):
        if axis in effect.held:
            matches &= truth[axis].eq(effect.held[axis]).fillna(False)
        else:
            matches &= truth[axis].isna()
    (row,) = truth[matches].to_dict("records")
    return finite(row["effect"]), finite(row["se"])


def rows_of(
    name: str, table: pd.DataFrame | None, structure: type[BaseModel] = Report
) -> list[Any]:
    """Rows of a table as the report's part of this name has them.

    Args:
        name: of the part, a field of the report with a list of rows.
        table: None or empty where there is nothing; columns that the part does not have are left
            out.
        structure: of the report.

    Returns:
        A row of the report for each row of the table, of `estimable_only`.
    """
    if table is None or table.empty:
        return []
    (row_class,) = get_args(structure.model_fields[name].annotation)
    columns = table.rename(columns={"transects": "units"}).filter(list(row_class.model_fields))
    return [estimable_only(row_class(**row)) for row in columns.to_dict("records")]
