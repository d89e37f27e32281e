"""Found portraits: pictures of people that somebody collected, such as PPB, FairFace or FHIBE.

No face is there twice, so whatever goes with an attribute goes into a difference of its levels.
What is counted here is association: rates of strata, differences of rates, and the same after
adjustment for covariates. How much of a difference is an effect, an audit with matched images says:
its effects are carried over to the portraits' mix, and held against the difference.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from faceaudit import effects, plans
from faceaudit import words as wording
from faceaudit.checks import examine
from faceaudit.effects import error_rates
from faceaudit.file.specification import Specification
from faceaudit.frames import Rows, level_names, read_scores, with_errors
from faceaudit.models.answers import Say
from faceaudit.models.asking import check_model, model_of
from faceaudit.plans import Plan, cell_name, held_levels
from faceaudit.report.build import Tables, count_images, rows_of, rows_with_sentences
from faceaudit.utils.errors import fault
from faceaudit.utils.names import comparable
from faceaudit.verdicts import settle_together, with_p_values

FIFTHS = 5
"""Of a covariate of numbers; these take out some nine tenths of a confounder's bias (Cochran,
Biometrics 24 (1968) 295-313)."""
MOST_CODES = 20
"""Whole numbers with at most so many different values are taken for the codes of categories, such
as of seven races; fifths of codes would mix categories whose numbers are neighbours. Years of age
and counts have more values as a rule. Each category costs a coefficient of the regression."""
ERROR_CODES = ("False", "True"), "1 (an error), 0, or an empty cell without an answer"


ESTIMATE_AND_LIMITS = ["estimate", "low", "high"]


# --- reading


@dataclass(frozen=True)
class Portraits:
    """Portraits with labels and answers, ready for the analysis.

    Attributes:
        frame: a row per portrait: image_id, identity, a column per axis (a categorical of both
            levels, the low one first) and per covariate (text), label (0, 1 or NaN where raters
            tie), and of those with answers no_answer (0 or 1) and error (0, 1 or NaN).
        source: of the table.
        left_out: rows that cannot be used: column, value as it stands in the table ("" for an
            empty cell) and their count.
        transects: matched images of another audit, if the file names some: unit, error (0 or 1),
            and the levels of some of the axes, by the same names.
        in_fifths: the covariates of numbers that are cut into fifths.
    """

    frame: pd.DataFrame
    source: str
    left_out: pd.DataFrame
    transects: pd.DataFrame | None = None
    in_fifths: tuple[str, ...] = ()

    def report_parts(self, tables: Tables, plan: Plan) -> tuple[dict[str, Any], list[str]]:
        """The parts of a report that found portraits have, and its limits."""
        counts = count_images(self.frame, self.source, plan) | {
            "identities": self.frame["identity"].nunique()
        }
        # Without a missing answer there is no difference in having none.
        made = [
            name for name in plan["families"] if counts["no_answer"] or name != plans.UNANSWERED
        ]
        gaps = pd.concat({name: tables[name] for name in made}, names=["family"]).reset_index(
            "family"
        )
        gaps["reference"], gaps["group"] = zip(*gaps["axis"].map(plan["axes"]), strict=True)
        parts = {"threshold": plan["threshold"], "data": counts}
        parts["gaps"] = rows_with_sentences("gaps", "gap", gaps, plan)
        parts |= {
            name: rows_of(name, tables.get(name)) for name in ("rates", "adjusted", "carried")
        }
        parts["left_out"] = rows_of("left_out", self.left_out)
        return parts, wording.render_sentences(
            "limits_of_portraits", parts, counts, plan, self.in_fifths
        )


def from_portraits(table: str | Path | pd.DataFrame, specification: Specification) -> Portraits:
    """Read a table of portraits, as the audit file describes it.

    Rows without a covariate, an identity, a label or one of the two levels of an axis are left out.
    Where most cells of a covariate are numbers, rows with other cells are left out as well. Numbers
    are cut into fifths of the portraits. At most five different numbers, and whole numbers with at
    most `MOST_CODES` different values, are categories instead.

    Args:
        table: a `.csv` or `.parquet` file, or a frame.
        specification: whose `columns`, `axes`, `covariates`, `classes`, `transects` and threshold
            count.

    Returns:
        The portraits; without errors if the model is still to be asked.

    Raises:
        ValueError: a column that is missing, an image twice, a level that no row has, an answer
            that is none, or portraits of fewer than two people.

    Example:
        >>> one = Specification(
        ...     name="mine", question="?", kind="portraits", axes={"skin": ("light", "dark")},
        ...     images="found.csv", columns={"error": "wrong"}, design={"tolerance": 0.1},
        ... )
        >>> found = {"image_id": [*"abcd"], "skin": ["light", "dark", "?", "dark"]}
        >>> data = from_portraits(pd.DataFrame(found | {"wrong": [0, 1, 1, None]}), one)
        >>> data.frame["error"].tolist(), data.left_out.values.tolist()
        ([0.0, 1.0, nan], [['skin', '?', 1]])
    """
    rows, own, columns = Rows.read(table), specification, specification.columns
    asked = own.model.kind != "table"
    labels = [] if columns.error else columns.answers or [columns.label]
    identity = columns.identity if "identity" in columns.model_fields_set else columns.image
    said = [] if asked else [columns.error or columns.decision or columns.score]
    rows.require([columns.image, identity, *own.axes, *own.covariates, *labels, *said])
    names = rows.names(columns.image)
    levels = {axis: rows.level(axis, two) for axis, two in own.axes.items()}
    bad = {axis: level.isna() for axis, level in levels.items()}
    if len(labels) == 1:
        bad[labels[0]] = rows.answer(labels[0], own.classes)[0].isna()
    bad[identity] = rows.frame[identity].isna()
    numbers = {name: rows.measures(name) for name in own.covariates}
    for name, number in numbers.items():
        bad[name] = (rows.frame[name] if number is None else number).isna()
    bad = pd.DataFrame(bad)
    at = bad.idxmax(axis=1)[bad.any(axis=1)]
    cells = [rows.cell(row, column) for row, column in at.items()]
    left_out = pd.DataFrame({"column": at, "value": cells})
    left_out = left_out.astype(str).value_counts().reset_index()
    rows = replace(rows, frame=rows.frame.drop(at.index))
    frame = pd.DataFrame({"image_id": names.drop(at.index), "identity": rows.texts(identity)})
    if (people := frame["identity"].nunique()) < 2:
        raise fault("few_people", rows.source, people, left_out.to_numpy()[:3].tolist())
    for axis, two in own.axes.items():
        level = levels[axis].drop(at.index).astype(int)
        for name in {*two} - {*np.take(two, level)}:
            raise ValueError(f"{rows.source}: column {axis!r} has no {name!r} in a row of use")
        frame[axis] = pd.Categorical.from_codes(level, [*two], ordered=True)
    in_fifths = []
    for name, number in numbers.items():
        if number is None:
            frame[name] = rows.frame[name].astype(str)
            continue
        number = number.drop(at.index)
        if _are_categories(number):
            frame[name] = comparable(number)
        else:
            frame[name] = pd.qcut(number, FIFTHS, labels=False, duplicates="drop").astype(str)
            in_fifths.append(name)
    if columns.error:
        frame["error"] = rows.coded(columns.error, *ERROR_CODES)
        frame["no_answer"] = frame["error"].isna().astype(float)
    else:
        frame["label"] = rows.labels(labels, own.classes)
    matched = _read_transects(own) if own.transects else None
    frame = frame.reset_index(drop=True)
    found = Portraits(frame, rows.source, left_out, matched, tuple(in_fifths))
    return (
        found
        if asked or columns.error
        else _with_answers(found, read_scores(rows, own).to_numpy(), own)
    )


def ask_about_portraits(
    specification: Specification, folder: Path, say: Say, device: str = "cpu"
) -> tuple[Portraits, dict[str, Any]]:
    """Ask the model of an audit file about the portraits; what the report says of the model.

    Pictures and answers are kept in the folder; `say` takes a sentence after every stage.
    """
    from faceaudit.generators.image_cache import synthesize_to_store
    from faceaudit.images.pictures import pictures_of  # with torch

    own, table = specification, specification.beside(specification.images)
    found, images = from_portraits(table, own), pictures_of(own, table, own.columns.image)
    chosen = pd.Index(images.index["image_id"]).get_indexer(found.frame["image_id"])
    pixels = synthesize_to_store(images, images.codes[chosen], folder / "images.npy")
    say(f"portraits: {len(pixels):,}, and {found.left_out['count'].sum():,} rows left out")
    model = model_of(own, device=device)
    check_model(model, pixels)
    answers, told = examine(model, pixels, found.frame["label"], folder, say, own.design.seed)
    return _with_answers(found, answers.values, own), told | {"generator": images.card}


def _read_transects(own: Specification) -> pd.DataFrame:
    rows = Rows.read(own.beside(own.transects))
    common = {axis: names for axis, names in own.axes.items() if axis in rows.frame}
    rows.require(["unit", "error", *(common or own.axes)])
    words, wrong = level_names(rows.levels(common), common), rows.coded("error", *ERROR_CODES)
    return pd.DataFrame({"unit": rows.texts("unit"), "error": wrong} | words).dropna()


def _are_categories(number: pd.Series) -> bool:
    """Whether each different number is a category: they are few, or codes in whole numbers."""
    different = number.unique()
    if len(different) <= FIFTHS:
        return True
    return len(different) <= MOST_CODES and bool((different % 1 == 0).all())


def _with_answers(data: Portraits, score: np.ndarray, own: Specification) -> Portraits:
    frame = with_errors(data.frame.assign(score=score), own.model.score_threshold, data.source)
    return replace(data, frame=frame)


# --- the tables of the report


def analyse_portraits(data: Portraits, plan: Plan) -> dict[str, pd.DataFrame]:
    """All tables of a report about found portraits.

    Args:
        data: the portraits.
        plan: of `faceaudit.make_plan`.

    Returns:
        The families of the plan, each with a row per difference (high minus low level of an axis,
        in one cell of the others or over all portraits, intervals with identities as units);
        "rates": error rates with Wilson's intervals, and with those of identities where one has
        several portraits; "adjusted": the differences after linear (transects, equation 2) and
        logistic regression on the other axes and the covariates; with transects "carried": the
        effect of each axis by the portraits' mix of the others (estimate, low, high), the
        difference if the others go along as among the portraits (mix, mix_low, mix_high: chapter
        13), the share of portraits in strata that the transects lack (missing), and of the counted
        gap the effect's share, share_low, share_high and word (`faceaudit.effects.share_of_gap`).

    Raises:
        ValueError: no portrait has both a label and an answer.
    """
    frame, axes = data.frame, plan["axes"]
    known = frame[frame["error"].notna()]
    if known.empty:
        raise ValueError(f"{data.source}: no portrait has both a label and an answer")
    found = {plans.GAPS: _differences_between_levels(frame, "error", plan)}
    if len(axes) > 1:
        found[plans.GAPS_BY_CELL] = _differences_between_levels(frame, "error", plan, by_cell=True)
    found[plans.UNANSWERED] = _differences_between_levels(frame, "no_answer", plan)
    found = settle_together(found, plan["level"], frame["no_answer"].any())
    found["rates"] = _error_rates_by_stratum(frame, known, axes)
    if len(axes) + len(plan["covariates"]) > 1:
        found["adjusted"] = _adjusted_differences(known, [*axes], plan["covariates"])
    if data.transects is not None:
        found["carried"] = _carried_effects(known, data.transects, found[plans.GAPS], plan)
    return found


def _differences_between_levels(
    frame: pd.DataFrame, outcome: str, plan: Plan, by_cell: bool = False
) -> pd.DataFrame:
    tables, axes, told = [], plan["axes"], {"tolerance": plan["tolerance"]}
    for axis in axes:
        held = held_levels(axes, axis) if by_cell else [{}]
        table = effects.risk_differences(frame, outcome, axis, [*held[0]], "identity", **told)
        rates = frame.groupby([*held[0], axis], observed=False)[outcome].mean()
        table["reference_rate"], table["rate"] = rates.to_numpy().reshape(-1, 2).T
        tables.append(table.assign(axis=axis, held=held, cell=[cell_name(axes, k) for k in held]))
    table = pd.concat(tables, ignore_index=True).rename(columns={"clusters": "identities"})
    return with_p_values(table, plan)


def _error_rates_by_stratum(
    frame: pd.DataFrame, known: pd.DataFrame, axes: Mapping[str, Any]
) -> pd.DataFrame:
    strata = frame.groupby([*axes], observed=False)
    table = error_rates.stratified_errors(known, [*axes]).rename(columns={"n": "answered"})
    table = table.assign(images=strata.size(), identities=strata["identity"].nunique())
    table.index = [", ".join(np.atleast_1d(key)) for key in table.index]
    if known["identity"].duplicated().any():
        own = effects.transport(known, "error", [*axes], known, "identity", [*axes]).iloc[1:]
        own = own[own["kind"] == "rate"].set_index("group")[["low", "high"]]
        table = table.join(own.add_prefix("cluster_"))
    return table.rename_axis("group").reset_index()


def _adjusted_differences(
    known: pd.DataFrame, axes: list[str], covariates: list[str]
) -> pd.DataFrame:
    linear = effects.linear_effects(known, "error", axes, covariates, "identity")
    rows = []
    for axis in axes:
        others = [one for one in [*axes, *covariates] if one != axis]
        rows.append(effects.risk_differences(known, "error", axis, None, "identity", others))
    both = {"linear": linear, "logistic": pd.concat(rows).set_axis(axes)}
    table = pd.concat(both, names=["model", "axis"]).reset_index()
    return table.rename(columns={"clusters": "identities"})


def _carried_effects(
    known: pd.DataFrame, transects: pd.DataFrame, gaps: pd.DataFrame, plan: Plan
) -> pd.DataFrame:
    axes, rows = [one for one in plan["axes"] if one in transects], []
    for axis, gap in gaps.set_index("axis").loc[axes].iterrows():
        row, kind = {"axis": axis, "gap": gap["estimate"]}, known[axis].dtype
        both = pd.concat(known.assign(**{axis: one}) for one in kind.categories)
        for prefix, target in (("mix_", known), ("", both.astype({axis: kind}))):
            here = transects, "error", axes, target[axes], "unit", [axis]
            told = effects.transport(*here).iloc[-1]  # the low level minus the high one
            turned = [-told[one] for one in ("estimate", "high", "low")]
            row |= {
                prefix + one: value for one, value in zip(ESTIMATE_AND_LIMITS, turned, strict=True)
            }
        row |= effects.share_of_gap(turned, gap[ESTIMATE_AND_LIMITS], plan["little"], plan["most"])
        rows.append(row | {"missing": told["missing"]})
    return pd.DataFrame(rows).rename(columns={"mix_estimate": "mix"})
