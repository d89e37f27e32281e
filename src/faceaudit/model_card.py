"""`model_card.md`: what an audit adds to a model's card, in the sections of Mitchell et al.

Mitchell et al., Model Cards for Model Reporting, FAT* 2019, section 4. What only the makers of the
model can know is left open, in so many words. The head is the `model-index` that model hubs read.
"""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import yaml

from faceaudit import summing_up, words
from faceaudit.report_schema import Report
from faceaudit.writing import write_text
from helpers.utils.numbers import with_minus

OPEN = "*To be filled in by those who made the model.*"


def write_card(report: Report, path: Path) -> Path:
    """Write `model_card.md`.

    Args:
        report: to write.
        path: of the file.

    Returns:
        The path.
    """
    return write_text(path, card(report))


def card(report: Report) -> str:
    """The card as text.

    Args:
        report: to write.

    Returns:
        Markdown with a head in YAML.

    Example:
        >>> import faceaudit
        >>> from faceaudit.pretended import pretend
        >>> data, plan = pretend(units=60, effect=0.4, seed=1)
        >>> report = faceaudit.build_report(data, faceaudit.analyse(data, plan), plan, plan)
        >>> "## Quantitative analyses" in card(report)
        True
    """
    model = report.provenance["model"] or {}
    details = [f"- {name}: {value}" for name, value in model.items()] or [OPEN]
    groups = "axes and their cells" if report.kind == "classification" else "groups"
    source, threshold = report.data["source"], with_minus(f"{report.threshold:g}")
    sections = {
        "Model details": [
            *details,
            "",
            f"{summing_up.task(report)} Audited as *{report.name}* on {report.made[:10]}.",
        ],
        "Intended use": [OPEN],
        "Factors": [
            f"The {groups} of the audit: "
            + "; ".join(dict.fromkeys(_factor(row) for row in report.judged))
            + ".",
        ],
        "Metrics": [
            f"Differences of error rates at the threshold {threshold}, with 95 % "
            f"intervals; verdicts against a tolerance of {words.tolerated(report.tolerance)}, "
            f"adjusted by Holm over all {len(report.judged)} comparisons at {report.level:g}."
        ],
        "Evaluation data": [f"{_counts(report)} ({source})."],
        "Training data": [OPEN],
        "Quantitative analyses": [
            f"**{report.answer}**",
            "",
            *(f"- {row.sentence}" for row in report.judged),
        ],
        "Ethical considerations": [
            "Perceived traits are judgements of people who look at a picture, and no identity.",
            "",
            OPEN,
        ],
        "Caveats and recommendations": [f"- {limit}" for limit in report.limits],
    }
    body = [f"# Model card of {report.name}", ""]
    for head, lines in sections.items():
        body += [f"## {head}", "", *lines, ""]
    head = yaml.safe_dump({"model-index": [_index(report)]}, sort_keys=False, allow_unicode=True)
    # Names of the audit file and the table may hold tags, which a hub would show as a page's own.
    return f"---\n{head}---\n\n" + html.escape("\n".join(body), quote=False)


def _factor(row: Any) -> str:
    return row.group if hasattr(row, "group") else words.spaced(row.axis)


def _counts(report: Report) -> str:
    data = report.data
    if report.kind == "verification":
        images = f"{data['images']} images of " if "images" in data else ""
        return f"{data['pairs']} pairs, {images}{data['identities']} identities"
    return f"{data['images']} images of {data['units']} matched faces"


def _index(report: Report) -> dict[str, Any]:
    """The entry of a `model-index`: a metric for every comparison."""
    last = len(report.judged)  # where those of having no answer stand
    silent = range(last - len(report.failures_to_enrol or report.no_answer), last)
    metrics = [
        {
            "type": "no_answer_difference" if k in silent else "error_rate_difference",
            "name": f"{getattr(row, 'contrast', None) or row.measure}, "
            f"{getattr(row, 'cell', None) or row.group}",
            "value": None if row.estimate is None else round(row.estimate, 5),
            "verdict": row.verdict,
            "interval": None
            if row.low is None
            else f"{words.points(row.low)} to {words.points(row.high)} points",
        }
        for k, row in enumerate(report.judged)
    ]
    task = {"type": f"face-{report.kind}", "name": report.question}
    dataset = {"type": "matched-images", "name": str(report.data["source"])}
    results = [{"task": task, "dataset": dataset, "metrics": metrics}]
    return {"name": report.name, "results": results}
