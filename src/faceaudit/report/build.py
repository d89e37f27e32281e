"""From the tables of an analysis to a report."""

import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol, get_args

import pandas as pd

from faceaudit import plans, words
from faceaudit.checks import doubts_of
from faceaudit.plans import Plan
from faceaudit.report.schema import JUDGED, Doubt, Effect, Report, finite

PACKAGES = ("helpers", "numpy", "pandas", "scipy", "statsmodels", "torch", "onnxruntime")
Tables = Mapping[str, pd.DataFrame]
"""Name → a table of an analysis."""


class Analysed(Protocol):
    """What a design hands to the report: images, pairs or portraits.

    Attributes:
        frame: a row per image, pair or portrait.
    """

    frame: pd.DataFrame

    def report_parts(self, tables: Tables, plan: Plan) -> tuple[dict[str, Any], list[str]]:
        """Parts of the report by their names in `Report`, and what the report does not say."""


def build_report(
    data: Analysed,
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
        truth: of `faceworld.scorecard.truth.true_effects`, in the known-truth world.
        model: the card of the model that was asked.
        people: of `Labels.about`, for every stage that asked people, with the key `stage`.
        generator: the card of a generator of somebody's own.
        told: limits that the images and the people brought.
        doubts: name and sentence of each that the run brought, of `faceaudit.checks`.
        gate: of a calibration, of `faceaudit.images.directions.calibration_gate`.

    Returns:
        The report.
    """
    parts, limits = data.report_parts(tables, now)
    if truth is not None:
        for row in [*parts["effects"], *parts["averages"]]:
            row.truth, row.truth_se = true_effect(truth, row)
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


def count_images(frame: pd.DataFrame, source: str, plan: Plan) -> dict[str, Any]:
    """What is counted of matched images and of found ones."""
    frame = frame.assign(label=frame.get("label", 0))
    counts = {"images": len(frame), "error_rate": finite(frame["error"].mean())}
    counts |= {"no_answer": int(frame["no_answer"].sum()), "tells": plan.get("attribute")}
    counts |= {"no_label": int(frame["label"].isna().sum()), "source": Path(source).name}
    named = {"labelled_by": plan.get("people", "table"), "answers": " or ".join(plan["classes"])}
    return counts | named


def rows_with_sentences(
    name: str, macro: str, table: pd.DataFrame | None, plan: Plan, *more: str
) -> list[Any]:
    """Rows of a part of the report with their sentences, of a macro."""
    found = rows_of(name, table)
    for row in found:
        # Of how many comparisons that are adjusted together this is one.
        n = int(table["together"].iloc[0]) if "together" in table else len(table)
        row.sentence = words.render_sentences(macro, row, plan["tolerance"], n, *more)[0]
    return found


def true_effect(truth: pd.DataFrame, effect: Effect) -> tuple[float | None, float | None]:
    """True effect in a cell and its standard error, of `faceworld.scorecard.truth.true_effects`."""
    here, held = truth["attribute"] == effect.axis, effect.held
    for other in truth.columns.intersection([*truth["attribute"].unique()]):
        here &= truth[other].eq(held[other]).fillna(False) if other in held else truth[other].isna()
    (row,) = truth[here].to_dict("records")
    return finite(row["effect"]), finite(row["se"])


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
    lines = words.render_sentences("answer", verdict, *said)
    return {"verdict": verdict, "answer": "\n".join(lines)}


def rows_of(name: str, table: pd.DataFrame | None) -> list[Any]:
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
