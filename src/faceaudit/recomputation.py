"""Whether a report says what its rows give: everything with a verdict is computed once more.

A gate trusts a report whose parts agree with one another. Here the rows count: those of matched
images lie beside the report, and so do those of portraits and pairs that came as a data frame;
those of an audit file are in its own table.
"""

from pathlib import Path

import pandas as pd

from faceaudit.designs.matched import MatchedImages
from faceaudit.designs.pairs import Pairs
from faceaudit.designs.portraits import Portraits
from faceaudit.file.specification import read_specification
from faceaudit.kept_images import plan_of_analysis, read_audit, read_images
from faceaudit.models_side_by_side import side_by_side
from faceaudit.report.consistency import contradictions, contradictions_of_models
from faceaudit.report.gate import BROKEN, PASSED
from faceaudit.report.recomputed import differences_from_rows, differences_of_part
from faceaudit.report.schema import (
    PARTS_OF_MODELS,
    Report,
    is_of_models,
    read_models_report,
    read_report,
)
from faceaudit.results import IMAGES_FILE, ROWS_FILE
from faceaudit.run import input_files, open_audit
from faceaudit.utils.errors import InputError
from faceaudit.utils.files import file_hash

Data = MatchedImages | Pairs | Portraits
"""Rows of any design, with their answers."""
PARTS_OF_SEVERAL = ("images", "units", "level", "models", *PARTS_OF_MODELS, "differences")
"""Parts of a report of several models that follow from the rows of all."""


def verify(report: str | Path, file: str | Path | None = None) -> tuple[int, list[str]]:
    """Compute a report once more from its rows, by its own plan.

    The rows of matched images are `images.csv` beside the report, and so is `rows.csv` of portraits
    and pairs that came as a data frame. Those of an audit file are in the table of the audit, if
    its answers are in a table; it must be the same file as at the run. Limits, what people see in
    images, and the model itself are not computed again. Of several models in one report, that of
    each model is computed once more, and then what is adjusted over all of them and the differences
    between models.

    Args:
        report: the path of a `report.json`.
        file: the path of the audit file, for portraits and pairs; by default it is looked for in
            the folder above that of the report, by its name at the run.

    Returns:
        The exit code, and a line for each thing that differs, or the line that all agrees. 0: the
        rows give what the report says; 3: they do not, or they are missing.

    Example:
        >>> from faceaudit import verify
        >>> verify("nowhere/report.json")
        (3, ['nowhere/report.json: no such report'])
    """
    path = Path(report)
    try:
        if is_of_models(path):
            return _verify_models(path)
        content = read_report(path)
        if not content.judged:
            return BROKEN, [f"{content.name}: the report has no comparison to judge"]
        contradicted = contradictions(content)
        if contradicted:
            return BROKEN, [f"{content.name}: {line}" for line in contradicted]
        source, data = _rows_of(content, path, None if file is None else Path(file))
        lines = list(differences_from_rows(content, data, plan_of_analysis(content)))
    except ValueError as error:
        return BROKEN, [str(error)]
    if lines:
        return BROKEN, [f"{content.name}: {line}" for line in lines]
    return PASSED, [f"verified: {source} gives what the report says"]


def _verify_models(path: Path) -> tuple[int, list[str]]:
    """Compute a report of several models once more; returns what `verify` returns.

    Raises:
        InputError: a report or a table is missing or damaged.
    """
    several, reports = read_models_report(path)
    contradicted = contradictions_of_models(several, reports)
    if contradicted:
        return BROKEN, [f"{several.name}: {line}" for line in contradicted]
    places = {model.name: path.parent / model.folder / path.name for model in several.models}
    lines = []
    for model, place in places.items():
        code, lines_of_model = verify(place)
        if code != PASSED:
            lines += [f"{model}: {line}" for line in lines_of_model]
    if lines:
        return BROKEN, lines
    audits = {model: read_audit(place) for model, place in places.items()}
    computed = side_by_side(audits, name=several.name, question=several.question).report
    for part in PARTS_OF_SEVERAL:
        lines += differences_of_part(part, getattr(several, part), getattr(computed, part))
    if several.limits != computed.limits or several.questions != computed.questions:
        lines.append("the limits are not those that follow from the reports of the models")
    if lines:
        return BROKEN, [f"{several.name}: {line}" for line in lines]
    return PASSED, [f"verified: {path.parent} gives what the report of all models says"]


def _rows_of(report: Report, path: Path, file: Path | None) -> tuple[Path, Data]:
    """Where the rows of a report are, and the rows.

    Raises:
        InputError: they are missing, or are not those of the run.
    """
    if report.kind == "classification":
        table = path.parent / IMAGES_FILE
        return table, read_images(table, report)
    name = next(iter(report.provenance["inputs"]), None)
    if name is None and file is None:
        table = path.parent / ROWS_FILE
        if not table.is_file():
            raise InputError(
                f"{table}: the rows of the report are not there; save what the audit found again "
                "to have them",
                field=str(table),
                expected="the table of rows beside the report",
            )
        rows = pd.read_csv(table, dtype=str, keep_default_na=False)
        design = Pairs if report.kind == "verification" else Portraits
        return table, design.from_kept_rows(rows, report, str(table))
    place = file or path.parent.parent / str(name)
    if not place.is_file():
        raise InputError(
            f"{path}: the rows of this report are in the table of the audit, and the audit file "
            f"{place} is not there; say where it is with --file",
            field=str(place),
            expected="the audit file",
        )
    specification = read_specification(place)
    inputs = report.provenance["inputs"]
    # The audit file counts by what it says, which the plan of the report has.
    for table in input_files(specification)[1:]:
        if table.is_file() and inputs.get(table.name) != file_hash(table):
            raise InputError(
                f"{table}: this is not the table that the report was made from; its hash is "
                "another one",
                field=str(table),
                expected="the table of the run",
            )
    opened = open_audit(specification)
    if opened.data is None or opened.table is None:
        raise InputError(
            f"{path}: a model was asked, and its answers are not beside the report; there are no "
            "rows to compute from",
            field=str(path),
            expected="answers in a table",
        )
    return opened.table, opened.data
