"""`report.json`: everything that was found, decided and used, for machines and for the page."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import ValidationError

from faceaudit import limits, words
from faceaudit.pairs import Pairs
from faceaudit.planning import (
    AVERAGES,
    CELLS,
    ENROLMENT,
    GROUPS,
    INTERACTIONS,
    NO_ANSWER,
    PLACEBOS,
    departures,
)
from faceaudit.plausibility import accepted, doubts_of_images, doubts_of_pairs
from faceaudit.report_schema import (
    Answers,
    AtThreshold,
    Carried,
    Disparity,
    Effect,
    Enrolment,
    Interaction,
    Leak,
    MatchRates,
    PlanKept,
    Rate,
    Report,
)
from faceaudit.tables import Audited
from faceaudit.writing import write_text

PACKAGES = ("helpers", "numpy", "pandas", "scipy", "statsmodels", "torch", "onnxruntime")
Tables = Mapping[str, pd.DataFrame]


def build_report(
    data: Audited | Pairs,
    tables: Tables,
    plan: Mapping[str, Any],
    now: Mapping[str, Any],
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

    Example:
        >>> import faceaudit
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> build_report(data, faceaudit.analyse(data, plan), plan, plan).verdict
        'exceeds'
    """
    pairs = isinstance(data, Pairs)
    parts = _of_pairs(data, tables, now) if pairs else _of_images(data, tables, now, truth)
    verdict, answer = words.answer(parts, now["tolerance"])
    own = doubts_of_pairs(data.frame) if pairs else doubts_of_images(data.frame, tables, now)
    sentences = departures(plan, now, _made(tables, plan, now))
    kept = PlanKept(
        sha256=plan["sha256"],
        made=plan["made"],
        kept=not sentences,
        departures=sentences,
        content=dict(plan),
    )
    limit = limits.of_pairs if pairs else limits.of_images
    return Report(
        name=now["name"],
        kind=now["kind"],
        question=now["question"],
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        verdict=verdict,
        answer=answer,
        doubts=accepted([*own, *doubts], now),
        tolerance=now["tolerance"],
        level=now["level"],
        limits=[*told, *limit(data, parts, now)],
        people=[_answers(one) for one in people],
        plan=kept,
        provenance={
            "versions": {"python": platform.python_version(), **_versions()},
            "inputs": now["inputs"],
            "seed": now["seed"],
            "model": dict(model) if model else None,
            "generator": dict(generator) if generator else None,
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
        report: to write.
        path: of the file.

    Returns:
        The path.

    Example:
        >>> import tempfile
        >>> import faceaudit
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> report = build_report(data, faceaudit.analyse(data, plan), plan, plan)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     read_json(write_json(report, Path(folder, "report.json"))) == report
        True
    """
    return write_text(path, report.model_dump_json(indent=1) + "\n")


def read_json(path: str | Path) -> Report:
    """Read a `report.json`, after checking that it is one.

    Args:
        path: of the file.

    Returns:
        The report.

    Raises:
        ValueError: the file is missing, damaged, or of another version of the schema.

    Example:
        >>> read_json("nowhere/report.json")
        Traceback (most recent call last):
        ValueError: nowhere/report.json: no such report
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
    """The JSON schema of a report, as `audits/report.schema.json` holds it.

    Returns:
        The text.

    Example:
        >>> json.loads(schema())["title"]
        'Report'
    """
    return json.dumps(Report.model_json_schema(), indent=1) + "\n"


def _of_images(
    data: Audited, tables: Tables, plan: Mapping[str, Any], truth: pd.DataFrame | None
) -> dict[str, Any]:
    """The parts of a report that a classification has."""
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
    silent = tables[NO_ANSWER] if counts["no_answer"] else None
    return {
        "threshold": plan["threshold"],
        "data": counts,
        "effects": _effects(tables[CELLS], plan, truth),
        "averages": _effects(tables.get(AVERAGES), plan, truth),
        "no_answer": _effects(silent, plan, does="gives no answer on"),
        "placebos": _effects(tables.get(PLACEBOS), plan),
        "interactions": [
            Interaction(**row)
            for row in _rows(
                tables.get(INTERACTIONS), Interaction, {"cell": "other", "transects": "units"}
            )
        ],
        "thresholds": [AtThreshold(**row) for row in _rows(tables["thresholds"], AtThreshold)],
        # Scores are no errors, and have no verdict: no sentence speaks of them.
        "scores": [
            row.model_copy(update={"sentence": ""}) for row in _effects(tables["scores"], plan)
        ],
        "rates": [Rate(**row) for row in _rows(tables["rates"], Rate)],
        "target": [Carried(**row) for row in _rows(tables.get("target"), Carried)],
        "manipulation": [Leak(**row) for row in _rows(tables["manipulation"], Leak)],
        "leakage": [Leak(**row) for row in _rows(tables["leakage"], Leak)],
    }


def _of_pairs(data: Pairs, tables: Tables, plan: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a report that a verification has."""
    rates = [MatchRates(**row) for row in _rows(tables["rates"], MatchRates)]
    frame, images = data.frame, data.images
    counts = {
        "pairs": len(frame),
        "identities": int(pd.concat([frame["first"], frame["second"]]).nunique()),
        "groups": len(rates),
        "reference": plan["reference"],
        "source": Path(data.source).name,
    }
    parts = {"threshold": rates[0].threshold, "data": counts, "match_rates": rates}
    parts["disparities"] = _disparities(tables[GROUPS], plan)
    if images is None:
        return parts
    failures = int((images["enrolled"] == 0).sum())
    counts |= {"images": len(images), "identities": images["identity"].nunique()}
    counts |= {"failures_to_enrol": failures, "pairs_left_out": data.left_out}
    parts["enrolment"] = [Enrolment(**row) for row in _rows(tables["enrolment"], Enrolment)]
    parts["failures_to_enrol"] = _disparities(tables[ENROLMENT], plan) if failures else []
    return parts


def _together(table: pd.DataFrame) -> int:
    """Of how many comparisons that are adjusted together these are."""
    return int(table["together"].iloc[0]) if "together" in table else len(table)


def _disparities(table: pd.DataFrame, plan: Mapping[str, Any]) -> list[Disparity]:
    found = [Disparity(**row) for row in _rows(table, Disparity)]
    for row in found:
        row.sentence = words.disparity_sentence(
            row.model_dump(), plan["tolerance"], _together(table)
        )
    return found


def _effects(
    table: pd.DataFrame | None,
    plan: Mapping[str, Any],
    truth: pd.DataFrame | None = None,
    does: str = "errs on",
) -> list[Effect]:
    axes = {**plan["axes"], **plan["placebos"]}
    shown = words.shown_as(plan.get("generator", {}).get("kind"))
    found = []
    for row in _rows(table, Effect, {"transects": "units"}):
        levels = axes[row["axis"]]
        row["contrast"] = words.contrast(levels)
        if truth is not None:
            row |= _truth(truth, row["axis"], row["held"])
        row["sentence"] = words.effect_sentence(
            row, levels, plan["tolerance"], _together(table), does, shown
        )
        found.append(Effect(**row))
    return found


def _truth(truth: pd.DataFrame, axis: str, held: Mapping[str, int]) -> dict[str, float | None]:
    """The true effect in a cell, by the keys of `helpers.scorecard.truth.effects`."""
    here = truth["attribute"] == axis
    for other in truth.columns.intersection([*truth["attribute"].unique()]):
        here &= truth[other].eq(held[other]).fillna(False) if other in held else truth[other].isna()
    (row,) = truth[here].to_dict("records")
    return {"truth": _plain(row["effect"]), "truth_se": _plain(row["se"])}


def _answers(about: Mapping[str, Any]) -> Answers:
    """A stage of people, with numbers as JSON has them; the cards of a reader stand elsewhere."""
    known = {name: value for name, value in about.items() if name in Answers.model_fields}
    for name in ("ingest", "agreement"):
        rows = about.get(name, [])
        known[name] = [{key: _plain(value) for key, value in row.items()} for row in rows]
    return Answers(**known)


def _rows(
    table: pd.DataFrame | None, kind: type, renamed: Mapping[str, str] | None = None
) -> Sequence[dict[str, Any]]:
    """Rows of a table as the class wants them."""
    if table is None or table.empty:
        return []
    table = table.rename(columns=renamed or {})
    columns = [name for name in kind.model_fields if name in table]
    return [
        {name: _plain(value) for name, value in row.items()}
        for row in table[columns].to_dict("records")
    ]


def _plain(value: Any) -> Any:
    """Numbers as JSON has them: None for what is not finite."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def _made(
    tables: Tables, plan: Mapping[str, Any], now: Mapping[str, Any]
) -> dict[str, list[list[str]]]:
    """The comparisons that were made, by family."""
    made = {}
    for family in dict.fromkeys([*plan["families"], *now["families"]]):
        table = tables.get(family, pd.DataFrame(columns=["axis", "cell", "measure"]))
        if family in (GROUPS, ENROLMENT):
            made[family] = [[measure] for measure in table["measure"].unique()]
        else:
            made[family] = table[["axis", "cell"]].to_numpy().tolist()
    return made


def _versions() -> dict[str, str]:
    return {package: metadata.version(package) for package in PACKAGES}
