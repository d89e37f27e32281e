"""Found portraits: pictures of people that somebody collected, such as PPB, FairFace or FHIBE.

No face is there twice, so whatever goes with an attribute goes into a difference of its levels.
What is counted here is association: rates of strata, differences of rates, and the same after
adjustment for covariates. An audit with matched images tells how much of a difference is an effect:
its effects are carried over to the portraits' mix, and held against the difference.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from faceaudit import effects, families
from faceaudit.checks import OTHER_LEVELS, examine
from faceaudit.comparisons import (
    Contrast,
    all_contrasts,
    cell_name,
    held_levels,
    other_contrasts,
)
from faceaudit.effects import error_rates
from faceaudit.effects.impact_ratio import impact_ratio
from faceaudit.effects.mean_difference import LIMITS, mean_difference
from faceaudit.effects.trend import largest_trend, portrait_trends
from faceaudit.effects.verdicts import beyond_by_interval, settled
from faceaudit.families import (
    BOOSTED_AIPW,
    Plan,
    kind_of_contrasts,
    kind_of_pairs,
    learner_of_adjustment,
)
from faceaudit.file.specification import Specification
from faceaudit.frames import (
    InputTables,
    Rows,
    level_names,
    read_errors,
    read_numbers,
    read_reasons,
    read_scores,
)
from faceaudit.models.answers import Notify, silent
from faceaudit.models.asking import check_model, model_of
from faceaudit.outcomes import (
    ERROR,
    MISSING,
    NUMBER,
    REASONS,
    SCORE,
    SELECTION,
    errors_at,
    first_outcome,
    further_outcomes,
    has_own_missing,
    tolerance_of,
    with_outcomes,
)
from faceaudit.report.build import (
    Tables,
    count_images,
    robustness_rows,
    rows_of,
    rows_with_sentences,
)
from faceaudit.report.coverage import (
    WORST_CASES,
    Covered,
    LeftOutRows,
    coverage_rows,
    worst_case_rows,
)
from faceaudit.report.limits import limits_of_portraits
from faceaudit.report.schema import Report
from faceaudit.utils.errors import InputError, missing_in_table, require_extra
from faceaudit.utils.names import comparable
from faceaudit.verdicts import beyond_elsewhere, settle_together, was_judged, with_p_values

USED = "row_is_used"
"""Column of the rows beside a report: 0 in those that are left out of the analysis."""
MODEL_OF_LEARNER = {"logistic": "aipw", "boosted": "boosted aipw"}
"""Learner of the doubly robust adjustment → what its rows are called."""
FIFTHS = 5
"""Groups of a covariate of numbers.

Five take out some nine tenths of a confounder's bias (Cochran, Biometrics 24 (1968) 295-313).
"""
MOST_CODES = 20
"""Most different whole numbers that are taken for the codes of categories.

Such codes may be of seven races; fifths of them would mix categories whose numbers are neighbours.
Years of age and counts have more values as a rule. Each category costs a coefficient of the
regression.
"""
ESTIMATE_AND_LIMITS = ["estimate", "low", "high"]


@dataclass(frozen=True)
class Portraits:
    """Portraits with labels and answers, ready for the analysis.

    Attributes:
        frame: a row per portrait: image_id, identity, a column per axis (a categorical of its
            levels, the lowest first) and per covariate (text), where errors are counted label (the
            place of the class, NaN where raters tie), and of those with answers no_answer (0 or 1)
            and the outcomes of the audit.
        source: of the table.
        left_out: counts of rows that cannot be used: column, value as it is in the table ("" for an
            empty cell) and count.
        transects: matched images of another audit, if the file names some: unit, error (0 or 1),
            and the levels of some of the axes, by the same names.
        in_fifths: the covariates of numbers that are cut into fifths.
        left_out_portraits: identity and axes of the rows behind these counts, but for those of
            values that the audit file ignores. An axis is missing where its cell has no level.
        scored: whether scores are known, and not decisions or errors alone.
    """

    frame: pd.DataFrame
    source: str
    left_out: pd.DataFrame
    transects: pd.DataFrame | None = None
    in_fifths: tuple[str, ...] = ()
    left_out_portraits: pd.DataFrame = field(default_factory=pd.DataFrame)
    scored: bool = False

    @classmethod
    def from_table(
        cls,
        table: str | Path | pd.DataFrame | Rows,
        specification: Specification,
        tables: InputTables | None = None,
    ) -> Portraits:
        """Read a table of portraits, as the audit file describes it.

        Rows without a covariate, an identity, a label or one of the levels of an axis are not
        used. Where most cells of a covariate are numbers, neither are rows with other cells.
        Numbers are cut into fifths of the portraits. At most five different numbers, and whole
        numbers with at most `MOST_CODES` different values, are categories instead.

        Args:
            table: a `.csv` or `.parquet` file, a frame, or rows that were read before.
            specification: whose `columns`, `axes`, `covariates`, `classes`, `transects` and
                threshold count.
            tables: of the audit file; without them, the table of transects is read.

        Returns:
            The portraits; without errors if the model is still to be asked.

        Raises:
            InputError: a column that is missing, a covariate that is a column of answers or labels,
                a cell with several values, an image twice, a level that no row has, an answer that
                is none, or portraits of fewer than two people.

        Example:
            >>> audit = Specification(
            ...     name="mine", question="?", kind="portraits", axes={"skin": ("light", "dark")},
            ...     images="found.csv", columns={"error": "wrong"}, design={"tolerance": 0.1},
            ... )
            >>> table = pd.DataFrame({
            ...     "image_id": ["a", "b", "c", "d"],
            ...     "skin": ["light", "dark", "?", "dark"],
            ...     "wrong": [0, 1, 1, None],
            ... })
            >>> data = Portraits.from_table(table, audit)
            >>> data.frame["error"].tolist(), data.left_out.values.tolist()
            ([0.0, 1.0, nan], [['skin', '?', 1]])
        """
        if specification.design.adjustment == BOOSTED_AIPW:
            require_extra("adjusted", "sklearn")
        rows = Rows.read(table)
        columns = specification.columns
        axes = specification.axes
        model_is_asked = specification.model.kind != "table"
        label_columns = columns.answers or [columns.label]
        if columns.error or not specification.has_labels:
            label_columns = []
        answer_column = columns.error or columns.number or columns.decision or columns.score
        identity_is_named = "identity" in columns.model_fields_set
        identity = columns.identity if identity_is_named else columns.image
        required = [columns.image, identity, *axes, *specification.covariates, *label_columns]
        if not model_is_asked:
            required.append(answer_column)
            if specification.names_reasons:
                required.append(columns.reason)
        rows.require(required)
        _require_covariates(specification)
        _require_single_values(rows, required)
        names = rows.names(columns.image)

        levels = {axis: rows.level(axis, names) for axis, names in axes.items()}
        unusable = {axis: level.isna() for axis, level in levels.items()}
        if len(label_columns) == 1:
            label, _ = rows.answer(label_columns[0], specification.classes)
            unusable[label_columns[0]] = label.isna()
        unusable[identity] = rows.frame[identity].isna()
        numbers_of_covariate = {name: rows.measures(name) for name in specification.covariates}
        for name, numbers in numbers_of_covariate.items():
            cells = rows.frame[name] if numbers is None else numbers
            unusable[name] = cells.isna()
        unusable_column = _first_unusable_column(pd.DataFrame(unusable))
        cells = _unusable_cells(rows, unusable_column)
        left_out = cells.value_counts().reset_index()
        unexpected = cells.index[~_on_purpose(cells, specification.ignore)]
        # A person without a name is another one in each portrait.
        people = comparable(rows.frame[identity])
        left_out_portraits = pd.DataFrame({"identity": people.where(people.notna(), names)})
        for axis, level_names_of_axis in axes.items():
            left_out_portraits[axis] = _categorical(levels[axis], level_names_of_axis)
        left_out_portraits = left_out_portraits.loc[unexpected].reset_index(drop=True)
        rows = replace(rows, frame=rows.frame.drop(unusable_column.index))
        usable = rows.frame.index

        frame = pd.DataFrame({"image_id": names[usable], "identity": rows.texts(identity)})
        _require_people(frame["identity"], left_out, rows.source)
        for axis, level_names_of_axis in axes.items():
            level = levels[axis][usable]
            _require_every_level(level.astype(int), axis, level_names_of_axis, rows.source)
            frame[axis] = _categorical(level, level_names_of_axis)
        in_fifths = []
        for name, numbers in numbers_of_covariate.items():
            if numbers is None:
                frame[name] = rows.frame[name].astype(str)
            elif _are_categories(numbers[usable]):
                frame[name] = comparable(numbers[usable])
            else:
                frame[name] = _fifths(numbers[usable])
                in_fifths.append(name)
        if specification.names_reasons and not model_is_asked:
            has_answer = rows.frame[answer_column].notna()
            reasons = read_reasons(rows, columns.reason, has_answer)
            if specification.reads_reasons:
                frame["reason"] = reasons
        if columns.error:
            frame["error"] = read_errors(rows, columns.error)
            frame["no_answer"] = frame["error"].isna().astype(float)
            for name in specification.outcomes[1:]:
                frame[name] = (frame["reason"] == REASONS[name]).astype(float)
        elif columns.number:
            frame[NUMBER] = read_numbers(rows, columns.number)
            frame["no_answer"] = frame[NUMBER].isna().astype(float)
        elif label_columns:
            frame["label"] = rows.labels(label_columns, specification.classes)
        transects = None
        if specification.transects is not None:
            tables = tables or InputTables(specification)
            transects = _read_transects(tables.rows(specification.transects), axes)
        frame = frame.reset_index(drop=True)
        portraits = cls(
            frame, rows.source, left_out, transects, tuple(in_fifths), left_out_portraits
        )
        if model_is_asked or columns.error or columns.number:
            return portraits
        scores = read_scores(rows, specification).to_numpy()
        return portraits.with_answers(scores, specification)

    @classmethod
    def from_model(
        cls,
        specification: Specification,
        tables: InputTables,
        folder: Path,
        say: Notify,
        device: str = "cpu",
    ) -> tuple[Portraits, dict[str, Any]]:
        """Ask the model of an audit file about its portraits.

        Args:
            specification: of the audit.
            tables: of the audit file.
            folder: for pictures and answers, which are used again.
            say: takes a sentence after every stage.
            device: "cpu" or "cuda", where networks of files compute.

        Returns:
            The portraits; and what the report has of the model and the pictures, by arguments of
            `build_report`.
        """
        from faceaudit.images.pictures import pictures_of  # an audit of a table does without

        rows = tables.rows(specification.table_of_images)
        portraits = cls.from_table(rows, specification, tables)
        path = specification.beside(specification.table_of_images)
        image = specification.columns.image
        pictures = pictures_of(specification, path, image, rows, tables.pictures)
        chosen = pd.Index(pictures.index["image_id"]).get_indexer(portraits.frame["image_id"])
        images = pictures.to_store(chosen, folder / "images.npy")
        rows_left_out = portraits.left_out["count"].sum()
        say(f"portraits: {len(images):,}, and {rows_left_out:,} rows left out")
        model = model_of(specification, device=device)
        check_model(model, images, folder)
        frame = portraits.frame
        labels = frame.get("label", pd.Series(np.nan, frame.index))
        seed = specification.design.seed
        answers, about_model = examine(model, images, labels, folder, say, seed)
        frame = frame.assign(reason=answers.reasons_in_tables)
        portraits = replace(portraits, frame=frame).with_answers(answers.values, specification)
        return portraits, {**about_model, "generator": pictures.card}

    def with_answers(self, scores: np.ndarray, specification: Specification) -> Portraits:
        """The portraits with the outcomes of a model's scores (n,), NaN without an answer."""
        frame = with_outcomes(
            self.frame.assign(score=scores),
            specification.outcomes,
            specification.model.score_threshold,
            len(specification.classes),
        )
        return replace(self, frame=frame, scored=specification.columns.decision is None)

    def analyse(self, plan: Plan, say: Notify = silent) -> dict[str, pd.DataFrame]:
        """All tables of a report about found portraits.

        Args:
            plan: of `faceaudit.make_plan`.
            say: takes a sentence after every stage, which can take seconds.

        Returns:
            The families of the plan, each with a row per difference (high minus low level of an
            axis, in one cell of the others or over all portraits, intervals with identities as
            units); "rates": error rates with Wilson's intervals, and with those of identities where
            one has several portraits; "adjusted": the differences after linear (transects, equation
            2) and logistic regression on the other axes and the covariates, and by AIPW where the
            plan asks for it; then also "overlap", "balance", "robustness" and "benchmarks", see
            `_doubly_robust_tables`; and with transects "carried", see `_carried_effects`. Where
            scores are known, also "thresholds", and where pairs of levels are not compared,
            "levels".

        Raises:
            InputError: no portrait has both a label and an answer.
        """
        frame = self.frame
        axes = plan["axes"]
        outcome = first_outcome(plan)
        known = frame[frame[outcome].notna()]
        if known.empty:
            needed = "both a label and an answer" if outcome == ERROR else "an answer"
            raise InputError(
                f"{self.source}: no portrait has {needed}",
                field=self.source,
                expected=f"a portrait with {needed}",
            )
        tables = {families.GAPS: _differences_between_levels(frame, [outcome], plan)}
        say(f"compared: {families.GAPS}")
        if len(axes) > 1:
            by_cell = _differences_between_levels(frame, [outcome], plan, by_cell=True)
            tables[families.GAPS_BY_CELL] = by_cell
            say(f"compared: {families.GAPS_BY_CELL}")
        further = further_outcomes(plan)
        if further:
            tables[families.OUTCOMES] = _differences_between_levels(frame, further, plan)
            say(f"compared: {families.OUTCOMES}")
        every_portrait = self._with_missing_portraits(list(axes), outcome)
        tables[families.MISSING_GAPS] = _differences_between_levels(every_portrait, [MISSING], plan)
        say(f"compared: {families.MISSING_GAPS}")
        is_judged = has_own_missing(frame, every_portrait[MISSING], plan)
        tables = settle_together(tables, plan["level"], is_judged)
        if outcome == ERROR and every_portrait[MISSING].any():
            worst = _differences_between_levels(every_portrait, [ERROR], plan)
            worst = worst.assign(subject=worst["axis"], measure="")
            tables[WORST_CASES] = settled(worst, plan["level"])
            say(f"compared: {WORST_CASES}")
        others = other_contrasts(axes, kind_of_contrasts(plan))
        if others:
            of_levels = [
                _differences_between_levels(portraits, [of_pair], plan, contrasts=others)
                for portraits, of_pair in ((frame, outcome), (every_portrait, MISSING))
            ]
            apart = pd.concat([settled(table, plan["level"]) for table in of_levels])
            tables[OTHER_LEVELS] = apart.reset_index(drop=True)
        if self.scored and outcome == ERROR:
            tables["thresholds"] = _other_thresholds(frame, plan)
            say("compared: other thresholds")
        tables["rates"] = _rates_by_stratum(frame, known, outcome, axes)
        if outcome != NUMBER and len(axes) + len(plan["covariates"]) > 1:
            tables["adjusted"] = _adjusted_differences(known, outcome, plan)
            say("compared: adjusted differences")
        learner = learner_of_adjustment(plan)
        if learner is not None:
            robust = _doubly_robust_tables(known, outcome, learner, plan)
            of_regressions = [tables["adjusted"]] if "adjusted" in tables else []
            by_model = [robust["unadjusted"], *of_regressions, robust["adjusted"]]
            rows = pd.concat(by_model, ignore_index=True)
            # All estimates of a contrast stand together.
            order = rows.groupby(["axis", "contrast"], sort=False).ngroup()
            rows = rows.iloc[np.argsort(order, kind="stable")].reset_index(drop=True)
            tables |= robust | {"adjusted": rows}
            say("compared: doubly robust differences")
        if self.transects is not None:
            tables["carried"] = _carried_effects(known, self.transects, tables[families.GAPS], plan)
        return tables

    def report_parts(self, tables: Tables, plan: Plan) -> tuple[dict[str, Any], list[str]]:
        """The parts of a report that found portraits have, and its limits."""
        counts = count_images(self.frame, self.source, plan)
        counts["identities"] = self.frame["identity"].nunique()
        judged = {name: tables[name] for name in plan["families"] if was_judged(tables[name])}
        gaps = pd.concat(judged, names=["family"])
        gaps = gaps.reset_index("family")
        parts = {"threshold": plan["threshold"], "data": counts}
        parts["gaps"] = rows_with_sentences("gaps", gaps, plan)
        for name in (
            "thresholds",
            "rates",
            "adjusted",
            "overlap",
            "balance",
            "benchmarks",
            "carried",
        ):
            parts[name] = rows_of(name, tables.get(name))
        parts["robustness"] = robustness_rows(tables.get("robustness"), parts["benchmarks"])
        left_out = self.left_out.assign(on_purpose=_on_purpose(self.left_out, plan["ignore"]))
        parts["left_out"] = rows_of("left_out", left_out)
        covered = self._covered(list(plan["axes"]), first_outcome(plan), left_out)
        parts["coverage"] = coverage_rows(covered, plan["policy"])
        parts["worst_cases"] = worst_case_rows(tables.get(WORST_CASES))
        return parts, limits_of_portraits(parts, counts, plan, self.in_fifths)

    def kept_rows(self) -> pd.DataFrame:
        """The rows as they are kept beside a report of a data frame: see `from_kept_rows`.

        Returns:
            The columns of `frame` and of `left_out_portraits`, and `USED`: 1 in the rows of the
            former.
        """
        left_out = self.left_out_portraits.assign(**{USED: 0})
        return pd.concat([self.frame.assign(**{USED: 1}), left_out], ignore_index=True)

    @classmethod
    def from_kept_rows(cls, rows: pd.DataFrame, report: Report, source: str) -> Portraits:
        """The portraits of a report, from the rows that are kept beside it.

        Args:
            rows: of `kept_rows`, as texts, with an empty one for what is unknown.
            report: of these portraits.
            source: of the rows.

        Raises:
            InputError: a column is missing, or has a level that is none.
        """
        plan = report.plan.content
        axes = plan["axes"]
        needed = [USED, "image_id", "identity", *axes, *plan["covariates"]]
        missing = [name for name in needed if name not in rows]
        if missing:
            raise missing_in_table(source, missing, ", ".join(rows))
        frame = rows.drop(columns=USED)
        texts = {"image_id", "identity", "reason", *plan["covariates"]}
        for name in frame:
            if name in axes:
                unknown = ~frame[name].isin([*axes[name], ""])
                if unknown.any():
                    raise InputError(
                        f"{source}: column {name!r} has {frame[name][unknown].iloc[0]!r}, one "
                        f"of {', '.join(axes[name])} was expected",
                        field=str(name),
                        found=frame[name][unknown].iloc[0],
                        expected=f"one of {', '.join(axes[name])}",
                    )
                known = frame[name].where(frame[name] != "")
                frame[name] = pd.Categorical(known, axes[name], ordered=True)
            elif name not in texts:
                frame[name] = frame[name].replace("", "nan").astype(float)
        is_used = rows[USED] == "1"
        left_out = [(row.column, row.value, row.count) for row in report.left_out]
        return cls(
            frame[is_used].reset_index(drop=True),
            str(report.data["source"]),
            pd.DataFrame(left_out, columns=["column", "value", "count"]),
            left_out_portraits=frame.loc[~is_used, ["identity", *axes]].reset_index(drop=True),
            scored=bool(report.thresholds),
        )

    def _with_missing_portraits(self, axes: list[str], outcome: str) -> pd.DataFrame:
        """Every portrait, and whether its outcome is unknown: identity, axes and missing (0 or 1).

        Where errors are counted first, there is the error as well, 1 where it is missing. Missing
        are portraits without a label or an answer, and those that are left out for a value that was
        not expected, as is done with the missing images of matched faces.
        """
        there = self.frame[["identity", *axes]].assign(missing=self.frame[outcome].isna())
        left_out = self.left_out_portraits.assign(missing=True)
        portraits = pd.concat([there, left_out], ignore_index=True).astype({"missing": float})
        if outcome == ERROR:
            known = self.frame[ERROR].reset_index(drop=True).reindex(portraits.index)
            portraits[ERROR] = known.fillna(1.0)
        return portraits

    def _covered(self, axes: list[str], outcome: str, left_out: pd.DataFrame) -> Covered:
        """People and answers in every combination of levels, and rows that are left out."""
        frame = self.frame
        answered = frame[outcome].notna()
        strata = frame.groupby(axes, observed=False)
        people = frame[answered].groupby(axes, observed=False)["identity"].nunique()
        unanswered = 1 - answered.groupby([frame[axis] for axis in axes], observed=False).mean()
        # A combination without a portrait has no share; it is the one with the fewest people.
        unanswered = unanswered[strata.size() > 0]
        return Covered(
            unit="people",
            place="cell",
            smallest=_stratum_name(people.idxmin()),
            fewest=int(people.min()),
            emptiest=_stratum_name(unanswered.idxmax()),
            unanswered=float(unanswered.max()),
            left_out=self._rows_left_out(axes, left_out),
        )

    def _rows_left_out(self, axes: list[str], left_out: pd.DataFrame) -> LeftOutRows:
        """The largest share of rows that are left out for a value that was not expected."""
        reasons = [row for row in rows_of("left_out", left_out) if not row.on_purpose]
        count = sum(row.count for row in reasons)
        by_count = attrgetter("count")
        largest = max(reasons, key=by_count, default=None)
        shares = [LeftOutRows(count / (len(self.frame) + count), count, largest=largest)]
        for axis in axes:
            count = int(self.left_out_portraits[axis].isna().sum())
            of_levels = self.frame[axis].value_counts(sort=False)
            level = str(of_levels.idxmin())
            fewest = int(of_levels.min())
            of_axis = [row for row in reasons if row.column == axis]
            largest = max(of_axis, key=by_count, default=None)
            shares.append(LeftOutRows(count / fewest, count, axis, level, fewest, largest))
        return max(shares, key=attrgetter("share"))


# --- reading


def _require_covariates(specification: Specification) -> None:
    """Raise InputError where a covariate is a column of answers, labels or errors.

    Portraits with the same answer have the same error among those of one label. So nothing would
    be left of a difference of errors that is adjusted for them.
    """
    columns = specification.columns
    roles = {
        columns.decision: "the answers of the model",
        columns.score: "the scores of the model",
        columns.error: "the errors of the model",
        columns.number: "the outcome",
    }
    if specification.names_reasons:
        roles[columns.reason] = "the reasons why the model gave no answer"
    roles |= dict.fromkeys(columns.answers or [columns.label], "the right answers")
    for name in specification.covariates:
        if name in roles:
            raise InputError(
                f"covariates: the column {name!r} has {roles[name]}; a column that is known before "
                "the model answers, and no label, was expected",
                field="covariates",
                found=name,
                expected="columns that are no answers, labels or errors",
            )


def _require_single_values(rows: Rows, columns: Sequence[str]) -> None:
    """Raise InputError where a cell of a column has several values, as a list.

    Args:
        rows: of the table.
        columns: that are read.
    """
    for name in columns:
        cells = rows.frame[name]
        if cells.dtype != object:
            continue
        has_several = cells.map(pd.api.types.is_list_like)
        if has_several.any():
            row = has_several.idxmax()
            raise InputError(
                f"{rows.source}: column {name!r}, row {row} is {cells[row]!r}, a single value was "
                "expected",
                field=f"column {name!r}, row {row}",
                found=str(cells[row]),
                expected="a single value",
            )


def _first_unusable_column(unusable: pd.DataFrame) -> pd.Series:
    """Row → its first column with an unusable cell, of the rows that have one."""
    return unusable.idxmax(axis=1)[unusable.any(axis=1)]


def _unusable_cells(rows: Rows, column_of_row: pd.Series) -> pd.DataFrame:
    """What makes rows unusable: column and value, as texts."""
    cells = [rows.cell(row, column) for row, column in column_of_row.items()]
    return pd.DataFrame({"column": column_of_row, "value": cells}).astype(str)


def _on_purpose(cells: pd.DataFrame, ignored: Mapping[str, Sequence[str]]) -> np.ndarray:
    """Whether the audit file ignores each value: (n,) bool; cells have column and value."""
    # Whole numbers beside an empty cell are read as 4.0, and the audit file says 4.
    values = comparable(cells["value"])
    on_purpose = [
        value in ignored.get(column, ())
        for column, value in zip(cells["column"], values, strict=True)
    ]
    return np.array(on_purpose, dtype=bool)


def _categorical(level: pd.Series, names: Sequence[str]) -> pd.Categorical:
    """Levels (from 0 on, or NaN) by their names."""
    codes = level.fillna(-1).astype(int)
    return pd.Categorical.from_codes(codes, list(names), ordered=True)


def _require_people(identities: pd.Series, left_out: pd.DataFrame, source: str) -> None:
    """Raise InputError where usable portraits are of fewer than two people."""
    people = identities.nunique()
    if people >= 2:
        return
    reasons = ""
    counts = left_out[["column", "value", "count"]]
    for column, value, count in counts.to_numpy()[:3].tolist():
        reasons += f"; {column} is {value!r} in {count} rows"
    raise InputError(
        f"{source}: portraits of {people} {'person' if people == 1 else 'people'} are left, two or "
        f"more were expected{reasons}",
        field=source,
        found=people,
        expected="portraits of two or more people",
    )


def _require_every_level(level: pd.Series, axis: str, names: Sequence[str], source: str) -> None:
    """Raise InputError where no usable row has one of the levels of an axis."""
    present = set(np.take(names, level))
    missing_levels = [name for name in names if name not in present]
    for name in missing_levels:
        raise InputError(
            f"{source}: column {axis!r} has no {name!r} in a row of use",
            field=f"column {axis!r}",
            expected=f"{name!r} in a row of use",
        )


def _read_transects(rows: Rows, axes: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Matched images of another audit: unit, error, and the levels of the axes that it has."""
    common = {axis: names for axis, names in axes.items() if axis in rows.frame}
    rows.require(["unit", "error", *(common or axes)])
    levels = level_names(rows.levels(common), common)
    error = read_errors(rows, "error")
    return pd.DataFrame({"unit": rows.texts("unit"), "error": error, **levels}).dropna()


def _are_categories(numbers: pd.Series) -> bool:
    """Whether each different number is a category: they are few, or codes in whole numbers."""
    different = numbers.unique()
    if len(different) <= FIFTHS:
        return True
    return len(different) <= MOST_CODES and bool((different % 1 == 0).all())


def _fifths(numbers: pd.Series) -> pd.Series:
    """The fifth of the portraits that each number is in, "0" to "4"."""
    return pd.qcut(numbers, FIFTHS, labels=False, duplicates="drop").astype(str)


# --- the tables of the report


def _differences_between_levels(
    frame: pd.DataFrame,
    outcomes: Sequence[str],
    plan: Plan,
    by_cell: bool = False,
    contrasts: Sequence[Contrast] | None = None,
) -> pd.DataFrame:
    """Differences of outcomes between the levels of every axis, a family with p-values.

    Args:
        frame: of `Portraits`.
        outcomes: columns of numbers from 0 to 1, NaN where they are unknown.
        plan: of the audit.
        by_cell: whether in every cell of the other axes; else over all portraits.
        contrasts: of levels; None: those of the plan.
    """
    axes = plan["axes"]
    if contrasts is None:
        contrasts = all_contrasts(axes, kind_of_contrasts(plan))
    tables = []
    for outcome in outcomes:
        for contrast in contrasts:
            cells = held_levels(axes, contrast.axis) if by_cell else [{}]
            tables.append(_differences_of_contrast(frame, outcome, contrast, cells, plan))
    table = pd.concat(tables, ignore_index=True).rename(columns={"clusters": "identities"})
    return with_p_values(table, plan)


def _differences_of_contrast(
    frame: pd.DataFrame,
    outcome: str,
    contrast: Contrast,
    cells: Sequence[Mapping[str, int]],
    plan: Plan,
) -> pd.DataFrame:
    """Differences of an outcome between the levels of a contrast, a row for each of the cells."""
    axes = plan["axes"]
    axis = contrast.axis
    strata = list(cells[0])
    portraits = frame if contrast.is_trend else _at_levels_of(frame, contrast)
    tolerance = tolerance_of(outcome, first_outcome(plan), plan["tolerance"])
    if contrast.is_trend:
        table = portrait_trends(
            portraits, outcome, axis, strata, "identity", tolerance, outcome == NUMBER
        )
    elif outcome == NUMBER:
        table = _differences_of_means(portraits, contrast, cells, plan["tolerance"])
    else:
        table = effects.risk_differences(
            portraits, outcome, axis, strata, "identity", tolerance=tolerance
        )
    # A trend is along a line, and no difference of the rates of two levels.
    rates_of_levels = np.full((len(cells), 2), np.nan)
    if not contrast.is_trend:
        rates = portraits.groupby([*strata, axis], observed=False)[outcome].mean()
        rates_of_levels = rates.to_numpy().reshape(-1, 2)
    cell_names = [cell_name(axes, held) for held in cells]
    columns = {
        "axis": axis,
        "outcome": outcome,
        "contrast": contrast.name,
        "reference": contrast.low_name,
        "group": contrast.high_name,
        "reference_rate": rates_of_levels[:, 0],
        "rate": rates_of_levels[:, 1],
        "held": cells,
        "cell": cell_names,
        "largest": largest_trend(len(axes[axis])) if contrast.is_trend else 1.0,
    }
    if outcome == SELECTION and not strata and not contrast.is_trend:
        columns |= _ratio_of_rates(portraits, contrast)
    of_outcome = [outcome] if outcome in further_outcomes(plan) else []
    table["names"] = [
        [*of_outcome, *contrast.key, *([] if of_outcome else [name])] for name in cell_names
    ]
    return table.assign(**columns)


def _differences_of_means(
    portraits: pd.DataFrame,
    contrast: Contrast,
    cells: Sequence[Mapping[str, int]],
    tolerance: float,
) -> pd.DataFrame:
    """Differences of a number without bounds, with the columns of `effects.risk_differences`."""
    known = portraits[portraits[NUMBER].notna()]
    rows = []
    for held in cells:
        is_in_cell = np.ones(len(known), dtype=bool)
        for axis, level in held.items():
            is_in_cell &= (known[axis].cat.codes == level).to_numpy()
        of_cell = known[is_in_cell]
        is_high = (of_cell[contrast.axis] == contrast.high_name).to_numpy()
        identities = of_cell["identity"].to_numpy()
        found = mean_difference(of_cell[NUMBER].to_numpy(float), is_high, identities)
        low, high, low90, high90 = (found[name] for name in LIMITS)
        found["verdict"] = str(effects.verdict(low, high, low90, high90, tolerance))
        rows.append({**found, "n": len(of_cell), "clusters": len(set(identities))})
    return pd.DataFrame(rows)


def _ratio_of_rates(portraits: pd.DataFrame, contrast: Contrast) -> dict[str, float]:
    """The selection rate of the high level over that of the low one, with its interval."""
    known = portraits[portraits[SELECTION].notna()]
    is_high = known[contrast.axis] == contrast.high_name
    ratio = impact_ratio(
        known[SELECTION].to_numpy(float), is_high.to_numpy(), known["identity"].to_numpy()
    )
    return {"ratio": ratio.ratio, "ratio_low": ratio.low, "ratio_high": ratio.high}


def _at_levels_of(frame: pd.DataFrame, contrast: Contrast) -> pd.DataFrame:
    """The portraits at one of the two levels of a contrast, which are all levels of their axis."""
    level_pair = [contrast.low_name, contrast.high_name]
    portraits = frame[frame[contrast.axis].isin(level_pair)]
    column = portraits[contrast.axis].cat.set_categories(level_pair)
    return portraits.assign(**{contrast.axis: column})


def _other_thresholds(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Differences over all portraits where the score is cut elsewhere, and at the own threshold.

    Another threshold trades errors of one class for errors of the other, and so makes a difference
    between levels that have different labels. Therefore `same_label` is about portraits of one
    label, as far as both levels have them: differences within a label, each weighted by the smaller
    of its two shares. This is what pairs of one label are among matched faces
    (`faceaudit.designs.matched.other_thresholds`). Where the audit compares by trends, each level
    is compared with the first.

    Returns:
        A row per threshold and contrast: axis, contrast, estimate, low, high, threshold, rate (of
        errors), same_label, and p_beyond_holm of a `same_label` no larger than the tolerance (NaN
        at the audit's own threshold).
    """
    tables = []
    for threshold in sorted({*plan["other thresholds"], plan["threshold"]}):
        at_threshold = frame.assign(error=errors_at(frame, threshold))
        contrasts = all_contrasts(plan["axes"], kind_of_pairs(plan))
        table = _differences_between_levels(at_threshold, [ERROR], plan, contrasts=contrasts)
        table = table[["axis", "contrast", *ESTIMATE_AND_LIMITS]]
        known = at_threshold[at_threshold["error"].notna()]
        within_label = pd.DataFrame(
            [
                _difference_within_label(_at_levels_of(known, contrast), contrast.axis)
                for contrast in contrasts
            ]
        )
        degrees_of_freedom = known["identity"].nunique() - 1
        table["same_label"] = within_label["estimate"]
        table["p_beyond"] = beyond_by_interval(
            within_label, plan["tolerance"], degrees_of_freedom, plan["level"]
        )
        tables.append(table.assign(threshold=threshold, rate=known["error"].mean()))
    return beyond_elsewhere(pd.concat(tables, ignore_index=True), plan)


def _difference_within_label(known: pd.DataFrame, axis: str) -> dict[str, float]:
    """Difference of error rates between the levels of an axis, among portraits of one label.

    The interval of the sum over labels follows from those of its parts (MOVER: Zou & Donner,
    Statistics in Medicine 27 (2008) 1693-1702).

    Args:
        known: portraits with an error of 0 or 1, at the two levels of the axis.
        axis: whose levels are compared.

    Returns:
        estimate, low and high.
    """
    shares = pd.crosstab(known["label"], known[axis], normalize="columns")
    weights = shares.min(axis=1)
    weights = weights[weights > 0]
    shared = known[known["label"].isin(weights.index)]
    if shared.empty:
        return dict.fromkeys(ESTIMATE_AND_LIMITS, 0.0)
    parts = effects.risk_differences(shared, "error", axis, ["label"], "identity")
    parts = parts[ESTIMATE_AND_LIMITS].mul(weights, axis=0)
    estimate = parts["estimate"].sum(skipna=False)
    below = (parts["estimate"] - parts["low"]).pow(2).sum(skipna=False) ** 0.5
    above = (parts["high"] - parts["estimate"]).pow(2).sum(skipna=False) ** 0.5
    return {"estimate": estimate, "low": estimate - below, "high": estimate + above}


def _rates_by_stratum(
    frame: pd.DataFrame, known: pd.DataFrame, outcome: str, axes: Mapping[str, Any]
) -> pd.DataFrame:
    """Portraits, identities and rates of every combination of levels, with intervals.

    Args:
        frame: of `Portraits`.
        known: those whose outcome is known.
        outcome: 0 or 1 has Wilson's intervals, a score or a number none.
        axes: of the audit.
    """
    axis_columns = list(axes)
    strata = frame.groupby(axis_columns, observed=False)
    is_mean = outcome in (SCORE, NUMBER)
    if is_mean:
        strata_of_known = known.groupby(axis_columns, observed=False)
        table = strata_of_known[outcome].agg(answered="size", rate="mean")
    else:
        table = error_rates.stratified_errors(known, axis_columns, outcome)
        table = table.rename(columns={"n": "answered"})
    if outcome != ERROR:
        table["errors"] = None
    table = table.assign(images=strata.size(), identities=strata["identity"].nunique())
    table.index = [_stratum_name(levels) for levels in table.index]
    if not is_mean and known["identity"].duplicated().any():
        # Of the sample carried over to itself: rates with identities as units. The first row is
        # the rate of all portraits.
        rates = effects.transport(
            known, outcome, axis_columns, known, "identity", axis_columns
        ).iloc[1:]
        rates = rates[rates["kind"] == "rate"].set_index("group")[["low", "high"]]
        table = table.join(rates.add_prefix("cluster_"))
    return table.rename_axis("group").reset_index()


def _stratum_name(levels: Hashable) -> str:
    """The levels of a stratum in words: one level, or a tuple of those of several axes."""
    return ", ".join(levels) if isinstance(levels, tuple) else str(levels)


def _adjusted_differences(known: pd.DataFrame, outcome: str, plan: Plan) -> pd.DataFrame:
    """Differences between levels after linear and logistic regression on all other columns.

    Two levels are compared at a time: each with the first, where the audit compares by trends.
    """
    columns = [*plan["axes"], *plan["covariates"]]
    linear = []
    logistic = []
    contrasts = all_contrasts(plan["axes"], kind_of_pairs(plan))
    for contrast in contrasts:
        axis = contrast.axis
        portraits = _at_levels_of(known, contrast)
        others = [column for column in columns if column != axis]
        linear.append(effects.linear_effects(portraits, outcome, [axis], others, "identity"))
        logistic.append(
            effects.risk_differences(portraits, outcome, axis, None, "identity", others)
        )
    tables = []
    for model, rows in {"linear": linear, "logistic": logistic}.items():
        table = pd.concat(rows, ignore_index=True)
        table["axis"] = [contrast.axis for contrast in contrasts]
        table["contrast"] = [contrast.name for contrast in contrasts]
        tables.append(table.assign(model=model))
    return pd.concat(tables, ignore_index=True).rename(columns={"clusters": "identities"})


def _doubly_robust_tables(
    known: pd.DataFrame, outcome: str, learner: effects.Learner, plan: Plan
) -> dict[str, pd.DataFrame]:
    """Differences between levels by AIPW on all other columns, and what they rest on.

    Two levels are compared at a time, as in `_adjusted_differences`.

    Args:
        known: portraits whose outcome is known.
        outcome: column.
        learner: of both models.
        plan: of the audit.

    Returns:
        Each with the columns axis and contrast. "unadjusted" and "adjusted": a row per contrast,
        the same portraits without and with adjustment. "overlap": a row per level, "balance": per
        level of a covariate, see `faceaudit.effects.DoublyRobust`. "robustness": how strong an
        attribute would have to be that the table lacks, and "benchmarks": one as strong as each
        covariate, see `faceaudit.effects.Robustness`.
    """
    model = MODEL_OF_LEARNER[learner]
    is_number = outcome == NUMBER
    columns = [*plan["axes"], *plan["covariates"]]
    tables: dict[str, list[pd.DataFrame]] = {}
    for contrast in all_contrasts(plan["axes"], kind_of_pairs(plan)):
        axis = contrast.axis
        portraits = _at_levels_of(known, contrast)
        others = [column for column in columns if column != axis]
        compared = (portraits, outcome, axis, others, "identity")
        found = effects.doubly_robust_difference(
            *compared,
            learner=learner,
            is_number=is_number,
            seed=plan["seed"],
            tolerance=plan["tolerance"],
        )
        robustness = effects.robustness_to_omitted_variables(*compared, is_number=is_number)
        level_pair = [contrast.low_name, contrast.high_name]
        of_contrast = {
            "unadjusted": found.effects.loc[["unadjusted"]].assign(model="none"),
            "adjusted": found.effects.loc[["adjusted"]].assign(model=model),
            "overlap": found.overlap.assign(level=level_pair, bound=found.bound),
            "balance": found.balance,
            "robustness": pd.DataFrame([vars(robustness)]).drop(columns="benchmarks"),
            "benchmarks": robustness.benchmarks,
        }
        for name, table in of_contrast.items():
            named = table.assign(axis=axis, contrast=contrast.name, outcome=outcome)
            tables.setdefault(name, []).append(named.rename(columns={"clusters": "identities"}))
    return {name: pd.concat(parts, ignore_index=True) for name, parts in tables.items()}


def _carried_effects(
    with_error: pd.DataFrame, transects: pd.DataFrame, gaps: pd.DataFrame, plan: Plan
) -> pd.DataFrame:
    """Effects of matched images, carried over to the portraits and held against the differences.

    Args:
        with_error: portraits with an error of 0 or 1.
        transects: of `Portraits`.
        gaps: differences between levels over all portraits.
        plan: of the audit.

    Returns:
        A row per axis of two levels that the transects have: axis, contrast, gap (the counted
        difference); the effect of the axis by the portraits' mix of the others (estimate, low,
        high); the difference if the others go along as among the portraits (mix, mix_low, mix_high:
        chapter 13); of the gap the effect's share, share_low, share_high and word
        (`faceaudit.effects.share_of_gap`); and the share of portraits in strata that
        the transects lack (missing).
    """
    axes = [axis for axis in plan["axes"] if axis in transects]
    rows = []
    compared = [axis for axis in axes if len(plan["axes"][axis]) == 2]
    for axis, gap in gaps.set_index("axis").loc[compared].iterrows():
        mix, _ = _transported_difference(transects, with_error, axis, axes)
        # Every portrait at both levels, so that the others' mix is the same at each.
        levels = with_error[axis].dtype
        at_both_levels = pd.concat(
            with_error.assign(**{axis: level}) for level in levels.categories
        )
        at_both_levels = at_both_levels.astype({axis: levels})
        effect, missing = _transported_difference(transects, at_both_levels, axis, axes)
        row = {
            "axis": axis,
            "contrast": gap["contrast"],
            "gap": gap["estimate"],
            "mix": mix[0],
            "mix_low": mix[1],
            "mix_high": mix[2],
            "estimate": effect[0],
            "low": effect[1],
            "high": effect[2],
        }
        row.update(
            effects.share_of_gap(effect, gap[ESTIMATE_AND_LIMITS], plan["little"], plan["most"])
        )
        row["missing"] = missing
        rows.append(row)
    return pd.DataFrame(rows)


def _transported_difference(
    transects: pd.DataFrame, target: pd.DataFrame, axis: str, axes: list[str]
) -> tuple[list[float], float]:
    """The high level of an axis minus the low one, by the transects' rates in a target.

    Returns:
        Estimate, low and high end; and the share of the target in strata that the transects lack.
    """
    transported = effects.transport(transects, "error", axes, target[axes], "unit", [axis])
    # The last row is the low level minus the high one.
    difference = transported.iloc[-1]
    opposite = [-difference["estimate"], -difference["high"], -difference["low"]]
    return opposite, difference["missing"]


# --- the steps as functions

from_portraits = Portraits.from_table
analyse_portraits = Portraits.analyse
