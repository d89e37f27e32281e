"""Several models in one report: each was audited on the same matched images.

Their comparisons are judged together, so that the chance of calling any of them beyond the
tolerance by mistake does not grow with the number of models. Units are the matched faces.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from faceaudit import effects, families, words
from faceaudit.designs.matched import FAMILY_OF_PART
from faceaudit.effects.survey_weights import weighted_mean
from faceaudit.families import Plan
from faceaudit.kept_images import plan_of_analysis, read_audit
from faceaudit.matched_comparisons import judged_families, with_missing_images, with_numbered_units
from faceaudit.model_versions import change_on_average, changes_of_effects, images_of_both
from faceaudit.outcomes import FLIP, NUMBER, first_outcome, tolerance_of
from faceaudit.report import facts
from faceaudit.report.build import comparison_sentence, package_versions, rows_of
from faceaudit.report.gate import gate_of_models, warnings_of
from faceaudit.report.schema import (
    ADJUSTED_COLUMNS,
    PARTS_OF_MODELS,
    AuditedModel,
    Effect,
    ModelDifference,
    ModelEffect,
    ModelsReport,
    Report,
    text_of,
    write_report,
)
from faceaudit.report.side_by_side import (
    answers_of_models,
    figure_of_models,
    models_html,
    write_models_html,
)
from faceaudit.results import MOST_LINES, AuditResult, table_of
from faceaudit.shared_images import (
    SAME_DESIGN,
    have_same_labels,
    require_same_design,
    require_same_images,
)
from faceaudit.utils.errors import InputError
from faceaudit.utils.files import write_text
from faceaudit.verdicts import judge, settle_audits_together, with_family_intervals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "models"
"""Of a report of several models where the caller gives none."""


@dataclass(frozen=True, repr=False)
class ModelsSideBySide:
    """What audits of several models on the same matched images found.

    In a notebook it shows the answers and their figure, in a console the answers.

    Attributes:
        report: all that was found, as its `report.json` has it.
        audits: name of a model → its own audit.
    """

    report: ModelsReport
    audits: Mapping[str, AuditResult]

    @property
    def effects(self) -> pd.DataFrame:
        """A row per model and comparison in one cell of the other axes.

        The columns are those of `AuditResult.effects`, behind the name of the model; verdict,
        p_holm, p_beyond_holm, low_family and high_family are adjusted over all models, and
        verdict_alone is the verdict in the report of the model alone.
        """
        return _with_model_first(table_of(self.report.effects, ModelEffect))

    @property
    def averages(self) -> pd.DataFrame:
        """A row per model and contrast of an axis, over all faces; columns as of `effects`."""
        return _with_model_first(table_of(self.report.over_all_faces, ModelEffect))

    @property
    def outcomes(self) -> pd.DataFrame:
        """A row per model, outcome besides its first, and contrast; columns as of `effects`."""
        return _with_model_first(table_of(self.report.outcomes, ModelEffect))

    @property
    def missing(self) -> pd.DataFrame:
        """A row per model and contrast of how often images, labels or answers are missing."""
        return _with_model_first(table_of(self.report.missing, ModelEffect))

    @property
    def differences(self) -> pd.DataFrame:
        """What one model has minus what another has, by the same images.

        A row for the mean of the outcome and one for the effect of each contrast, of every two
        models with the same first outcome, tolerance, classes and labels; columns as of
        `faceaudit.report.schema.ModelDifference`. Intervals low_family and high_family, and p_holm,
        are adjusted over all rows.
        """
        return table_of(self.report.differences, ModelDifference)

    def gate(self, fail_on: str | None = None, *, allow_departures: bool = False) -> int:
        """Whether all models may pass, as the exit code of `faceaudit.gate`.

        The rule: the worst of the models decides, by the gate of its own report. So doubts,
        departures from a plan and coverage count as they do there. Adjusting over all models can
        only make a comparison undecided that is beyond the tolerance in the report of its model,
        and never the other way round. A model that fails alone therefore fails here, however many
        others stand beside it.

        Args:
            fail_on, allow_departures: as of `faceaudit.gate`.

        Returns:
            3: a report contradicts itself; 1: a model fails; 2: a model is undecided; 0: all pass.
        """
        code, _ = gate_of_models(self.report, self._reports, fail_on, allow_departures)
        return code

    def plot(self) -> Figure:
        """The average effects of all models by axis and outcome, around the band of the tolerance.

        Models with another first outcome or tolerance have a panel of their own.
        """
        return figure_of_models(self.report)

    def save(self, folder: str | Path) -> Path:
        """Write `report.html` and `report.json`, and the report of each model in a folder there.

        The report of a model stays whole and beside that of all, so that it can be verified and
        asked for its gate by itself. The joint one knows it by its hash.

        Args:
            folder: which is made if it is not there; files of these names are replaced.

        Returns:
            The path of `report.html`.
        """
        folder = Path(folder)
        for model in self.report.models:
            self.audits[model.name].save(folder / model.folder)
        page = write_models_html(self.report, self._reports, folder / "report.html")
        # Last, since a gate takes it for the end of the run.
        write_report(self.report, folder / "report.json")
        return page

    @property
    def _reports(self) -> dict[str, Report]:
        return {name: audit.report for name, audit in self.audits.items()}

    def __repr__(self) -> str:
        report = self.report
        models = [
            f"{answer.name}: {answer.verdict}. {' '.join(answer.sentences)}"
            for answer in answers_of_models(report, self._reports)
        ]
        warnings = [
            f"{name}: {line}"
            for name, audit in self.audits.items()
            for line in warnings_of(audit.report)
        ]
        judged = len(report.judged)
        head = f"{report.name}: {len(models)} models, {judged} comparisons judged together"
        return "\n".join([head, *models, *warnings[: MOST_LINES - 1]])

    def _repr_html_(self) -> str:
        return models_html(self.report, self._reports)


def side_by_side(
    audits: Mapping[str, AuditResult], *, name: str = NAME, question: str | None = None
) -> ModelsSideBySide:
    """Put several models in one report, which were audited on the same matched images.

    All comparisons of all models are judged together: each model has the same share of the level,
    and divides it as its own report does. What the models are audited for may differ, such as the
    gender that one says and the age that another says, and so may their tolerances.

    Args:
        audits: name of a model → its audit; two or more, with the same units, images, axes,
            placebos and contrasts.
        name: of the report.
        question: what the report asks, in words.

    Returns:
        What was found.

    Raises:
        InputError: no mapping, one audit alone, audits of portraits or pairs, of other images, or
            with other axes, placebos or contrasts.

    Example:
        >>> import faceaudit
        >>> import pandas as pd
        >>> rows = [(face, skin, 0, face % 3 == 0 and skin == "dark", 0)
        ...         for face in range(90) for skin in ("light", "dark")]
        >>> frame = pd.DataFrame(rows, columns=["face", "skin", "truth", "first", "second"])
        >>> settings = {"unit": "face", "axes": {"skin": ["light", "dark"]}, "tolerance": 0.05}
        >>> audits = {model: faceaudit.table(frame, label="truth", pred=model, **settings)
        ...           for model in ("first", "second")}
        >>> both = faceaudit.side_by_side(audits)
        >>> dict(zip(both.averages["model"], both.averages["verdict"])), both.gate()
        ({'first': 'exceeds', 'second': 'within'}, 1)
        >>> both.differences["estimate"].round(3).tolist()
        [0.167, 0.333]
    """
    if not isinstance(audits, Mapping):
        expected = "a mapping from names of models to their audits, such as {'first': audit}"
        raise InputError(
            f"audits is of type {type(audits).__name__}, {expected} was expected",
            field="audits",
            found=audits,
            expected=expected,
        )
    if len(audits) < 2:
        raise InputError(
            f"audits has {len(audits)} model, two or more were expected",
            field="audits",
            found=len(audits),
            expected="two or more models",
        )
    audits = dict(audits)
    require_same_design(audits, SAME_DESIGN)
    _refuse_monitored(audits)
    require_same_images(audits)
    plans = {model: plan_of_analysis(audit.report) for model, audit in audits.items()}
    parts = _judged_together(audits, plans)
    questions = _questions(audits)
    first = next(iter(audits.values()))
    (default_question,) = words.render_sentences(
        "question_of_models", len(audits), list(first.report.plan.content["axes"])
    )
    report = ModelsReport(
        name=name,
        question=question or default_question,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        level=first.report.level,
        images=len(first.frame),
        units=first.frame["unit"].nunique(),
        models=_models(audits, parts),
        averages=parts["averages"],
        effects=parts["effects"],
        outcomes=parts["outcomes"],
        missing=parts["missing"],
        differences=_differences(audits, questions),
        questions=questions,
        limits=_limits(audits, parts, questions),
        versions=package_versions(),
    )
    return ModelsSideBySide(report, audits)


def _refuse_monitored(audits: Mapping[str, AuditResult]) -> None:
    """Raise InputError where an audit is monitored: its share of the level is that of one model."""
    for model, audit in audits.items():
        if audit.report.monitored is not None:
            raise InputError(
                f"{model} is monitored, and looks at one model after the other; an audit without "
                "policy.monitor was expected",
                field=model,
                found="a monitored audit",
                expected="an audit without policy.monitor",
            )


def side_by_side_from_files(
    files: Sequence[str | Path], folder: str | Path, name: str = NAME
) -> tuple[Path, ModelsSideBySide]:
    """Put models in one report whose audits were saved, and save it.

    Args:
        files: of each audit its `report.json`, with `images.csv` beside it. The name of a model is
            that of the folder, with the folders above it where several have this name.
        folder: of the report, as of `ModelsSideBySide.save`.
        name: of the report.

    Returns:
        The path of `report.html`, and what was found.

    Raises:
        InputError: as of `side_by_side`; or a file is missing or damaged, a folder is given twice,
            or the folder is that of a single report.
    """
    places = [Path(file) for file in files]
    folders = [place.resolve().parent for place in places]
    twice = [str(one) for one in folders if folders.count(one) > 1]
    if twice:
        raise InputError(
            f"{twice[0]}: the report of this folder is given twice; different folders were "
            "expected",
            field="files",
            found=twice[0],
            expected="different folders",
        )
    names = _names_by_folder(folders)
    if Path(folder).resolve() in folders:
        raise InputError(
            f"{folder}: this folder has the report of a single model, which would be replaced; "
            "another folder was expected",
            field="folder",
            found=str(folder),
            expected="another folder",
        )
    audits = {model: read_audit(place) for model, place in zip(names, places, strict=True)}
    # The page of an audit has a contact sheet, which its report.json has not.
    pages = [place.with_name("report.html") for place in places]
    texts = [page.read_text(encoding="utf-8") if page.is_file() else None for page in pages]
    found = side_by_side(audits, name=name)
    page = found.save(folder)
    for model, text in zip(found.report.models, texts, strict=True):
        if text is not None:
            write_text(page.parent / model.folder / page.name, text)
    return page, found


def _names_by_folder(folders: Sequence[Path]) -> list[str]:
    """A name for each model: that of its folder, with as much of the way to it as tells it apart.

    Example:
        >>> _names_by_folder([Path("/old/skin"), Path("/new/skin"), Path("/new/age")])
        ['old/skin', 'new/skin', 'age']
    """

    def ends(folder: Path, count: int) -> tuple[str, ...]:
        return folder.parts[-count:]

    names = []
    for folder in folders:
        count = 1
        while [ends(other, count) for other in folders].count(ends(folder, count)) > 1:
            count += 1
        names.append("/".join(ends(folder, count)))
    return names


# --- what is judged together


def _judged_together(
    audits: Mapping[str, AuditResult], plans: Mapping[str, Plan]
) -> dict[str, list[ModelEffect]]:
    """The comparisons of all models by the parts of the report, adjusted over all of them."""
    level = next(iter(plans.values()))["level"]
    tables = [_families_of(audit, plans[model]) for model, audit in audits.items()]
    tables = _adjust_families(tables, list(plans.values()), level)
    adjusted = settle_audits_together(tables, level)
    parts: dict[str, list[ModelEffect]] = {part: [] for part in PARTS_OF_MODELS}
    for (model, audit), families_of_model in zip(audits.items(), adjusted, strict=True):
        for part in PARTS_OF_MODELS:
            table = families_of_model.get(FAMILY_OF_PART[part])
            rows = getattr(audit.report, part)
            parts[part] += _rows_of_model(model, rows, table, plans[model])
    return parts


def _families_of(audit: AuditResult, plan: Plan) -> dict[str, pd.DataFrame]:
    """The families of one audit that are judged; that of missing ones where any is missing."""
    frame = with_numbered_units(audit.frame, plan)
    tables = judged_families(frame, with_missing_images(frame, plan), plan)
    if not audit.report.missing:
        del tables[families.MISSING]
    return tables


def _adjust_families(
    audits: Sequence[Mapping[str, pd.DataFrame]], plans: Sequence[Plan], level: float
) -> list[dict[str, pd.DataFrame]]:
    """The families of several audits, each judged with those of the same name of the others.

    Each row keeps the tolerance of its own audit.
    """
    adjusted: list[dict[str, pd.DataFrame]] = [{} for _ in audits]
    for family in families.JUDGED_FAMILIES:
        having = [number for number, tables in enumerate(audits) if family in tables]
        if not having:
            continue
        together = pd.concat([audits[number][family] for number in having], keys=having)
        tolerances = [
            tolerance_of(outcome, first_outcome(plans[number]), plans[number]["tolerance"])
            for number, outcome in zip(
                together.index.get_level_values(0), together["outcome"], strict=True
            )
        ]
        judged = judge(together, np.array(tolerances), level)
        for number in having:
            adjusted[number][family] = judged.loc[number]
    return adjusted


def _rows_of_model(
    model: str, rows: Sequence[Effect], table: pd.DataFrame | None, plan: Plan
) -> list[ModelEffect]:
    """The comparisons of one model as its own report has them, but for the adjusted columns.

    Raises:
        InputError: the images of the audit do not give the rows of its report.
    """
    computed = rows_of("effects", table)
    _require_rows(model, rows, computed)
    together = 0 if table is None else int(table["together"].iloc[0])
    adjusted_rows = []
    for row, adjusted in zip(rows, computed, strict=True):
        changed = {column: getattr(adjusted, column) for column in ADJUSTED_COLUMNS}
        effect = row.model_copy(update=changed)
        sentence = comparison_sentence(effect, plan, together)
        of_models = {"sentence": sentence, "model": model, "verdict_alone": row.verdict}
        adjusted_rows.append(ModelEffect.model_validate(dict(effect) | of_models))
    return adjusted_rows


def _require_rows(model: str, rows: Sequence[Effect], computed: Sequence[Effect]) -> None:
    """Refuse an audit whose images do not give the rows of its report."""
    told, found = ([_key(row) for row in table] for table in (rows, computed))
    estimates, others = (
        np.array([row.estimate for row in table], float) for table in (rows, computed)
    )
    if told != found or not np.allclose(estimates, others, equal_nan=True):
        raise InputError(
            f"{model}: the images do not give what the report says; faceaudit.verify says where",
            field=model,
            expected="a report that follows from its images",
        )


def _key(row: Effect) -> tuple[str, str, str, str]:
    """What names a comparison within a part of a report."""
    return row.axis, row.outcome, row.contrast, row.cell


# --- differences between models


def _questions(audits: Mapping[str, AuditResult]) -> list[list[str]]:
    """The models that answer the same question, a list for each question."""
    questions: list[list[str]] = []
    for model, audit in audits.items():
        for models in questions:
            if _answer_one_question(audits[models[0]], audit):
                models.append(model)
                break
        else:
            questions.append([model])
    return questions


def _differences(
    audits: Mapping[str, AuditResult], questions: Sequence[Sequence[str]]
) -> list[ModelDifference]:
    """The differences of every two models that answer the same question."""
    tables = [
        _differences_of_two(audits[minus], audits[model]).assign(model=model, minus=minus)
        for models in questions
        for model, minus in combinations(models, 2)
    ]
    if not tables:
        return []
    level = next(iter(audits.values())).report.level
    table = pd.concat(tables, ignore_index=True)
    # A difference of two effects on a rate can be twice as large as either.
    sizes = np.where(table["quantity"] == "effect", 2.0, 1.0)
    largest = np.where(table["outcome"] == NUMBER, np.inf, sizes)
    table = with_family_intervals(table, level, largest)
    table["p_holm"] = effects.holm(table["p"])
    return rows_of("differences", table, ModelsReport)


def _answer_one_question(first: AuditResult, second: AuditResult) -> bool:
    """Whether the outcomes of two models can be subtracted from one another.

    A flip is counted between two images of one model, so that no image has it by itself.
    """
    contents = [audit.report.plan.content for audit in (first, second)]
    outcomes = {first_outcome(content) for content in contents}
    questions = {(*content["classes"], content["attribute"]) for content in contents}
    tolerances = {audit.report.tolerance for audit in (first, second)}
    are_alike = len(outcomes) == len(questions) == len(tolerances) == 1
    return are_alike and FLIP not in outcomes and have_same_labels(first, second)


def _differences_of_two(old: AuditResult, new: AuditResult) -> pd.DataFrame:
    """What the new model has minus what the old one has, not yet adjusted.

    Returns:
        A row for the mean of the outcome, and one for the effect of each contrast.
    """
    frame, plan = images_of_both(old, new)
    mean = pd.DataFrame([change_on_average(frame, plan)]).assign(axis="", contrast="")
    of_effects = changes_of_effects(frame, plan).assign(exact=False)
    tables = {"mean": mean, "effect": of_effects}
    table = pd.concat(tables, names=["quantity"]).reset_index("quantity")
    return table.astype({"exact": bool})


# --- what the report says of the models


def _models(
    audits: Mapping[str, AuditResult], parts: Mapping[str, Sequence[ModelEffect]]
) -> list[AuditedModel]:
    """What the report says of each model, and where its own report is."""
    folders = _folders(audits)
    models = []
    for model, audit in audits.items():
        report = audit.report
        rows = [row for part in parts.values() for row in part if row.model == model]
        outcome = first_outcome(report.plan.content)
        models.append(
            AuditedModel(
                name=model,
                identity=facts.model_name(report),
                folder=folders[model],
                sha256=hashlib.sha256(text_of(report).encode()).hexdigest(),
                outcome=outcome,
                tolerance=report.tolerance,
                threshold=report.threshold if _has_scores(audit) else None,
                mean=None if outcome == FLIP else weighted_mean(audit.frame[outcome], audit.frame),
                verdict=facts.overall_verdict(rows),
                verdict_alone=report.verdict,
            )
        )
    return models


def _has_scores(audit: AuditResult) -> bool:
    """Whether the answers are scores that a threshold cuts, and not classes or numbers."""
    classes = audit.report.plan.content["classes"]
    if "score" not in audit.frame or len(classes) > 2:
        return False
    return not audit.frame["score"].dropna().isin([0, 1]).all()


def _folders(names: Iterable[str]) -> dict[str, str]:
    """A folder for each model, by its name in the letters that every system takes.

    Example:
        >>> _folders(["VGG 16", "vgg-16", "年齢"])
        {'VGG 16': 'VGG-16', 'vgg-16': 'vgg-16-2', '年齢': 'model'}
    """
    folders: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-") or "model"
        folder = plain
        number = 2
        while folder.lower() in taken:
            folder = f"{plain}-{number}"
            number += 1
        taken.add(folder.lower())
        folders[name] = folder
    return folders


def _limits(
    audits: Mapping[str, AuditResult],
    parts: Mapping[str, Sequence[ModelEffect]],
    questions: Sequence[Sequence[str]],
) -> list[str]:
    """What the report does not say: limits of several models, then those of each."""
    models_by_limit: dict[str, list[str]] = {}
    for model, audit in audits.items():
        for limit in audit.report.limits:
            models_by_limit.setdefault(limit, []).append(model)
    judged = sum(map(len, parts.values()))
    limits = words.render_sentences("limits_of_models", judged, questions, len(questions) > 1)
    for limit, models in models_by_limit.items():
        everyone = len(models) == len(audits)
        limits.append(limit if everyone else f"{', '.join(models)}: {limit}")
    return limits


def _with_model_first(table: pd.DataFrame) -> pd.DataFrame:
    columns = ["model", *table.columns.drop("model")]
    return table[columns]
