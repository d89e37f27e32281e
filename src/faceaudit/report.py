"""Reports: `report.json` with all that was found, decided and used; the gate; the model card.

The card has the sections of Mitchell et al., Model Cards for Model Reporting, FAT* 2019, section 4.
What only the makers of the model can know is left open, in so many words. Its head is the
`model-index` that model hubs read.
"""

from __future__ import annotations

import html
import json
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import yaml
from pydantic import ValidationError

from faceaudit import plan as plans
from faceaudit import wording
from faceaudit.pairs import Pairs
from faceaudit.plausibility import accepted, doubts_of_images, doubts_of_pairs
from faceaudit.report_schema import Answers, Disparity, Effect, PlanKept, Report
from faceaudit.tables import Audited

PACKAGES = ("helpers", "numpy", "pandas", "scipy", "statsmodels", "torch", "onnxruntime")
PASSED, FAILED, UNDECIDED, BROKEN = 0, 1, 2, 3
"""Exit codes of the gate; the last where a run or a report is none."""
STATES = ("exceeds", "inconclusive")
"""Verdicts on which a gate may be told to fail."""
Tables = Mapping[str, pd.DataFrame]
Plan = Mapping[str, Any]


def build_report(
    data: Audited | Pairs,
    tables: Tables,
    plan: Plan,
    now: Plan,
    truth: pd.DataFrame | None = None,
    model: Mapping[str, Any] | None = None,
    people: Sequence[Mapping[str, Any]] = (),
    generator: Mapping[str, Any] | None = None,
    told: Sequence[str] = (),
    doubts: Iterable[tuple[str, str]] = (),
) -> Report:
    """The report of an analysis.

    Args:
        data: images or pairs.
        tables: of `analyse` or `analyse_pairs`.
        plan: that was made first, of `keep_plan`.
        now: of `make_plan`, from the audit file as it is now, by which `tables` were made.
        truth: of `helpers.scorecard.truth.effects`, in the known-truth world.
        model: the card of the model that was asked.
        people: of `Said.about`, for every stage that asked people, with the key `stage`.
        generator: the card of a generator of somebody's own.
        told: limits that the images and the people brought.
        doubts: name and sentence of each that the run brought, of `faceaudit.plausibility`.

    Returns:
        The report.
    """
    if isinstance(data, Pairs):
        parts, limits = _of_pairs(data, tables, now)
        own = doubts_of_pairs(data.frame)
    else:
        parts, limits = _of_images(data, tables, now, truth)
        own = doubts_of_images(data.frame, tables, now)
    verdict, answer = _answer(parts, now["tolerance"])
    departures = plans.departures(plan, now, _made(tables, plan, now))
    versions = {package: metadata.version(package) for package in PACKAGES}
    return Report(
        **{name: now[name] for name in ("name", "kind", "question", "tolerance", "level")},
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        verdict=verdict,
        answer=answer,
        doubts=accepted([*own, *doubts], now),
        limits=[*told, *limits],
        people=[_answers(one) for one in people],
        plan=PlanKept(
            sha256=plan["sha256"],
            made=plan["made"],
            kept=not departures,
            departures=departures,
            content=dict(plan),
        ),
        provenance={
            "versions": {"python": platform.python_version(), **versions},
            "inputs": now["inputs"],
            "seed": now["seed"],
            "model": model or None,
            "generator": generator or None,
            "readers": {
                f"{name} ({one['stage']})": card["hash"]
                for one in people
                for name, card in one.get("models", {}).items()
            },
        },
        **parts,
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
        raise ValueError(
            f"{path}: the report is damaged or of another version; {place}: {first['msg']}"
        ) from None


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
    if not isinstance(report, Report):
        try:
            report = read_json(report)
        except ValueError as error:
            return BROKEN, [str(error)]
    judged = report.judged
    if not judged:
        return BROKEN, [f"{report.name}: the report has no comparison to judge"]
    beyond = [f"exceeds: {row.sentence}" for row in judged if row.verdict == "exceeds"]
    undecided = [row for row in judged if row.verdict in ("inconclusive", "not estimable")]
    asked = fail_on == "inconclusive"
    lines = beyond + [f"{row.verdict}: {row.sentence}" for row in undecided if asked]
    lines += warnings_of(report, allow_departures)
    doubted = any(not one.accepted for one in report.doubts)
    if beyond or doubted or (report.plan.departures and not allow_departures):
        return FAILED, lines
    if asked and undecided:
        return UNDECIDED, lines
    told = wording.undecided(Counter(row.verdict for row in undecided), len(judged))
    return PASSED, [*lines, f"passed ({told})" if told else "passed"]


def warnings_of(report: Report, allow_departures: bool = False) -> list[str]:
    """A line for each doubt, and for each departure from the plan."""
    doubts = [
        f"doubt{' (accepted)' * one.accepted}, {one.name}: {one.sentence}" for one in report.doubts
    ]
    allowed = " (allowed)" * allow_departures
    return doubts + [f"departure{allowed}: {one}" for one in report.plan.departures]


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
    silent = len(report.failures_to_enrol or report.no_answer)
    metrics = []
    for k, row in enumerate(report.judged, 1):
        last = k > len(report.judged) - silent  # where those of having no answer stand
        name = (row.measure, row.group) if isinstance(row, Disparity) else (row.contrast, row.cell)
        ends = None if row.low is None else [wording.points(end) for end in (row.low, row.high)]
        metrics.append(
            {
                "type": "no_answer_difference" if last else "error_rate_difference",
                "name": ", ".join(name),
                "value": None if row.estimate is None else round(row.estimate, 5),
                "verdict": row.verdict,
                "interval": ends and f"{ends[0]} to {ends[1]} points",
            }
        )
    result = {
        "task": {"type": f"face-{report.kind}", "name": report.question},
        "dataset": {"type": "matched-images", "name": str(report.data["source"])},
        "metrics": metrics,
    }
    index = {"model-index": [{"name": report.name, "results": [result]}]}
    head = yaml.safe_dump(index, sort_keys=False, allow_unicode=True)
    # Names of the audit file and the table may hold tags, which a hub would show as a page's own.
    (task,) = wording.told("task", report)
    body = wording.rendered("model_card.md.j2", report=report, task=task)
    return f"---\n{head}---\n\n{html.escape(body, quote=False)}"


def _of_images(
    data: Audited, tables: Tables, plan: Plan, truth: pd.DataFrame | None
) -> tuple[dict[str, Any], list[str]]:
    """The parts of a report that a classification has, and its limits."""
    frame = data.frame
    counts = {
        "images": len(frame),
        "units": frame["unit"].nunique(),
        "no_answer": int(frame["no_answer"].sum()),
        "no_label": int(frame["label"].isna().sum()),
        "error_rate": _plain(frame["error"].mean()),
        "source": Path(data.source).name,
        "target": plan.get("target"),
        "tells": plan["attribute"],
        "answers": " or ".join(plan["classes"]),
        "labelled_by": plan.get("people", "table"),
        "made_by": plan.get("generator", {}).get("kind"),
        "units_needed": plan["sizes"]["needed"],
        "trial": plan.get("note"),
    }
    silent = tables[plans.NO_ANSWER] if counts["no_answer"] else None
    crossed = {"cell": "other", "transects": "units"}
    parts = {
        "threshold": plan["threshold"],
        "data": counts,
        "effects": _effects(tables[plans.CELLS], plan, truth),
        "averages": _effects(tables.get(plans.AVERAGES), plan, truth),
        "no_answer": _effects(silent, plan, does="gives no answer on"),
        "placebos": _effects(tables.get(plans.PLACEBOS), plan),
        # Scores are no errors, and have no verdict: no sentence speaks of them.
        "scores": _effects(tables["scores"], plan, does=""),
        "interactions": _rows("interactions", tables.get(plans.INTERACTIONS), crossed),
    }
    for name in ("thresholds", "rates", "target", "manipulation", "leakage"):
        parts[name] = _rows(name, tables.get(name))
    one_class = frame["label"].nunique() < 2
    return parts, wording.told("limits_of_images", parts, counts, plan, one_class)


def _of_pairs(data: Pairs, tables: Tables, plan: Plan) -> tuple[dict[str, Any], list[str]]:
    """The parts of a report that a verification has, and its limits."""
    rates = _rows("match_rates", tables["rates"])
    frame, images, failed_calls = data.frame, data.images, 0
    counts = {
        "pairs": len(frame),
        "identities": int(pd.concat([frame["first"], frame["second"]]).nunique()),
        "groups": len(rates),
        "reference": plan["reference"],
        "source": Path(data.source).name,
    }
    parts = {"threshold": rates[0].threshold, "data": counts, "match_rates": rates}
    parts["disparities"] = _disparities(tables[plans.GROUPS], plan)
    if images is not None:
        failures, failed_calls = int((images["enrolled"] == 0).sum()), images["failed_call"].sum()
        counts |= {"images": len(images), "identities": images["identity"].nunique()}
        counts |= {"failures_to_enrol": failures, "pairs_left_out": data.left_out}
        parts["enrolment"] = _rows("enrolment", tables["enrolment"])
        differ = tables[plans.ENROLMENT] if failures else None
        parts["failures_to_enrol"] = _disparities(differ, plan)
    return parts, wording.told("limits_of_pairs", parts, counts, plan, int(failed_calls))


def _effects(
    table: pd.DataFrame | None,
    plan: Plan,
    truth: pd.DataFrame | None = None,
    does: str = "errs on",
) -> list[Effect]:
    """Comparisons with their sentences; `does` is what the rates count, "" of no rates."""
    axes = {**plan["axes"], **plan["placebos"]}
    shown = wording.shown_as(plan.get("generator", {}).get("kind"))
    found = _rows("effects", table, {"transects": "units"}, contrast="")
    for row in found:
        levels = axes[row.axis]
        row.contrast = f"{levels[1]} instead of {levels[0]}"
        if truth is not None:
            row.truth, row.truth_se = _truth(truth, row)
        if does:
            said = row, levels, plan["tolerance"], _together(table), does, shown
            (row.sentence,) = wording.told("effect", *said)
    return found


def _disparities(table: pd.DataFrame | None, plan: Plan) -> list[Disparity]:
    found = _rows("disparities", table)
    for row in found:
        said = row, plan["tolerance"], _together(table)
        (row.sentence,) = wording.told("disparity", *said)
    return found


def _together(table: pd.DataFrame) -> int:
    """Of how many comparisons that are adjusted together these are."""
    return int(table["together"].iloc[0]) if "together" in table else len(table)


def _truth(truth: pd.DataFrame, effect: Effect) -> tuple[float | None, float | None]:
    """The true effect in a cell and its standard error, of `helpers.scorecard.truth.effects`."""
    here, held = truth["attribute"] == effect.axis, effect.held
    for other in truth.columns.intersection([*truth["attribute"].unique()]):
        here &= truth[other].eq(held[other]).fillna(False) if other in held else truth[other].isna()
    (row,) = truth[here].to_dict("records")
    return _plain(row["effect"]), _plain(row["se"])


def _answer(parts: Mapping[str, Any], tolerance: float) -> tuple[str, str]:
    """The verdict of all families that are judged, and the lines that say it.

    "exceeds" if any does, "within" if all are, else "inconclusive".
    """
    families = ("averages", "effects", "no_answer", "disparities", "failures_to_enrol")
    rows = [row for name in families for row in parts.get(name, [])]
    counts = Counter(row.verdict for row in rows)
    # Of one axis, the cell of all faces is the average.
    alone = [row for row in parts.get("effects", []) if not row.held]
    averages = parts.get("averages") or alone
    beyond = [row for row in rows if row.verdict == "exceeds"]
    beyond.sort(key=lambda row: -abs(row.estimate or 0))
    all_within = counts["within"] == len(rows)
    verdict = "exceeds" if beyond else "within" if all_within else "inconclusive"
    lines = wording.told("answer", verdict, averages, beyond, counts, len(rows), tolerance)
    return verdict, "\n".join(lines)


def _answers(about: Mapping[str, Any]) -> Answers:
    """A stage of people, with numbers as JSON has them; the cards of a reader stand elsewhere."""
    known = {name: value for name, value in about.items() if name in Answers.model_fields}
    for name in ("ingest", "agreement"):
        rows = about.get(name, [])
        known[name] = [{key: _plain(value) for key, value in row.items()} for row in rows]
    return Answers(**known)


def _rows(
    name: str, table: pd.DataFrame | None, renamed: Mapping[str, str] | None = None, **more: Any
) -> list[Any]:
    """Rows of a table as the report's part of this name has them."""
    if table is None or table.empty:
        return []
    (kind,) = get_args(Report.model_fields[name].annotation)
    table = table.rename(columns=renamed or {})
    rows = table[[column for column in kind.model_fields if column in table]].to_dict("records")
    return [kind(**{column: _plain(row[column]) for column in row}, **more) for row in rows]


def _plain(value: Any) -> Any:
    """Numbers as JSON has them: None for what is not finite."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _made(tables: Tables, plan: Plan, now: Plan) -> dict[str, list[list[str]]]:
    """The comparisons that were made, by family."""
    made = {}
    for family in dict.fromkeys([*plan["families"], *now["families"]]):
        table = tables.get(family, pd.DataFrame(columns=["axis", "cell"]))
        names = ["measure"] if "measure" in table else ["axis", "cell"]
        made[family] = table[names].drop_duplicates().to_numpy().tolist()
    return made
