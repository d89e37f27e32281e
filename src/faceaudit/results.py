"""What an audit found, for who called it from Python: tables, verdict, gate and report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from faceaudit import families
from faceaudit.effects.survey_weights import WEIGHT
from faceaudit.families import LOOK, Plan
from faceaudit.file.specification import Specification
from faceaudit.frames import with_level_names
from faceaudit.outcomes import NUMBER
from faceaudit.report import facts
from faceaudit.report.gate import coverage_warnings, gate, warnings_of
from faceaudit.report.page import answer_html, figure_of, write_card, write_html
from faceaudit.report.schema import (
    Adjusted,
    Disparity,
    Effect,
    Gap,
    MatchRates,
    Part,
    Rate,
    Report,
    write_report,
)
from faceaudit.utils.errors import InputError
from faceaudit.utils.files import write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_LINES = 10
"""Lines of an audit's text in a console."""
IMAGES_FILE = "images.csv"
"""Name of the table of matched images and their errors, beside the report."""
ROWS_FILE = "rows.csv"
"""Name of the table of portraits or pairs beside the report, where they came as a frame."""
REPORT_FILES = ("report.json", "report.html", "model_card.md")
"""Files that say what an audit found."""


@dataclass(frozen=True, repr=False)
class AuditResult:
    """What an audit found.

    In a notebook it shows the answer and its figure, in a console the answer.

    Attributes:
        report: all that was found, as `report.json` has it.
        frame: a row per image, portrait or pair, as it was read: see `faceaudit.MatchedImages`,
            `faceaudit.Portraits` and `faceaudit.Pairs`.
        images: of matched images, the table of `table_of_images`; None of portraits and pairs.
        rows: of portraits and pairs that came as a frame, the table beside the report, of
            `Portraits.kept_rows` or `Pairs.kept_rows`; else None.
        sheet: some of the images, of `faceaudit.report.page.contact_sheet`, where there are any.
    """

    report: Report
    frame: pd.DataFrame
    images: pd.DataFrame | None = None
    rows: pd.DataFrame | None = None
    sheet: Mapping[str, Any] | None = None

    @property
    def verdict(self) -> str:
        """ "exceeds", "within" or "inconclusive"."""
        return self.report.verdict

    @property
    def effects(self) -> pd.DataFrame:
        """A row per comparison in one cell of the other axes, with the columns of report.json.

        Of matched images these are effects, of portraits differences between levels, and of pairs
        differences between groups. Rates and differences are fractions, intervals have 95%;
        low_family and high_family hold for all cells at once.
        """
        report = self.report
        if report.kind == "verification":
            return table_of(report.disparities, Disparity)
        if report.kind == "portraits":
            gaps = [
                row for row in report.gaps if row.family in (families.GAPS, families.GAPS_BY_CELL)
            ]
            several_axes = any(row.family == families.GAPS_BY_CELL for row in gaps)
            family = families.GAPS_BY_CELL if several_axes else families.GAPS
            return table_of([row for row in gaps if row.family == family], Gap)
        return table_of(report.effects, Effect)

    @property
    def averages(self) -> pd.DataFrame:
        """A row per axis, over all faces or portraits; of pairs none."""
        row_class = Gap if self.report.kind == "portraits" else Effect
        return table_of(facts.averages(dict(self.report)), row_class)

    @property
    def outcomes(self) -> pd.DataFrame:
        """A row per outcome besides the first and per contrast, over all faces or portraits."""
        report = self.report
        if report.kind == "portraits":
            return table_of([row for row in report.gaps if row.family == families.OUTCOMES], Gap)
        return table_of(report.outcomes, Effect)

    @property
    def missing(self) -> pd.DataFrame:
        """A row per comparison of how often images, labels, answers or embeddings are missing.

        Where all are missing for one reason that is judged under its name, such as "no_face", the
        rows are those of `outcomes`, and there are none here.
        """
        report = self.report
        if report.kind == "verification":
            return table_of(report.failures_to_enrol, Disparity)
        if report.kind == "portraits":
            return table_of(
                [row for row in report.gaps if row.family == families.MISSING_GAPS], Gap
            )
        return table_of(report.missing, Effect)

    @property
    def rates(self) -> pd.DataFrame:
        """Images, answers, errors and error rate of every combination of levels.

        Of pairs, a row per group: FNMR and FMR with their intervals, and how many pairs there are.
        """
        if self.report.kind == "verification":
            return table_of(self.report.match_rates, MatchRates)
        return table_of(self.report.rates, Rate)

    @property
    def adjusted(self) -> pd.DataFrame:
        """Of portraits, a row per contrast and adjustment: differences of the first outcome.

        The model "none" is the counted difference, on the portraits of "aipw", which is there if
        the audit asked for this adjustment. The report's `overlap`, `balance` and `robustness` say
        what it rests on.
        """
        return table_of(self.report.adjusted, Adjusted)

    @property
    def power(self) -> pd.DataFrame:
        """Chances of each verdict, by true effects as multiples of the tolerance.

        Pairs and portraits have no row, since the number of faces is not planned there.
        """
        return chances_of(self.report.plan.content)

    def gate(self, fail_on: str | None = None, *, allow_departures: bool = False) -> int:
        """Whether the model may pass, as the exit code of `faceaudit.gate`.

        Returns:
            0: passed; 1: failed; 2: undecided; 3: the report contradicts itself.

        Raises:
            InputError: another word in `fail_on`.
        """
        code, _ = gate(self.report, fail_on, allow_departures)
        return code

    def plot(self) -> Figure:
        """The comparisons with their intervals, around the band of the tolerance."""
        return figure_of(self.report)

    def save(self, folder: str | Path) -> Path:
        """Write `report.html`, `report.json` and `model_card.md`, and the rows beside them.

        The rows are `images.csv` of matched images, and `rows.csv` of portraits and pairs that came
        as a frame; `faceaudit.verify` computes from them.

        A report that was saved before stays in the folder until this call replaces it, also where a
        later audit raised an error. Each report says when it was made.

        Args:
            folder: which is made if it is not there; files of these names are replaced.

        Returns:
            The path of `report.html`.

        Raises:
            InputError: a file is where the folder should be.
        """
        folder = Path(folder)
        for place in (folder, *folder.parents):
            if place.exists() and not place.is_dir():
                raise InputError(
                    f"{place}: this is a file, a folder was expected",
                    field=str(place),
                    expected="a folder",
                )
        if self.images is not None:
            text = self.images.to_csv(index=False, lineterminator="\n")
            write_text(folder / IMAGES_FILE, text)
        if self.rows is not None:
            text = self.rows.to_csv(index=False, lineterminator="\n")
            write_text(folder / ROWS_FILE, text)
        write_card(self.report, folder / "model_card.md")
        page = write_html(self.report, folder / "report.html", self.sheet)
        # Last, since a gate takes it for the end of the run.
        write_report(self.report, folder / "report.json")
        return page

    def __repr__(self) -> str:
        report = self.report
        head = f"{report.name}: {report.verdict} (tolerance {report.tolerance:g})"
        warnings = [*warnings_of(report), *coverage_warnings(report)]
        lines = [head, *warnings, *report.answer.splitlines()]
        return "\n".join(lines[:MOST_LINES])

    def _repr_html_(self) -> str:
        return answer_html(self.report)


def table_of_images(frame: pd.DataFrame, specification: Specification) -> pd.DataFrame:
    """The table beside the report of matched images.

    An audit of portraits can be held against it, and `faceaudit.verify` computes from it.

    Args:
        frame: of `faceaudit.MatchedImages`.
        specification: whose axes and placebos count.

    Returns:
        image_id, unit, error where it is counted, the levels of the axes by their names; no_answer,
        and label, score, number, reason, weight and look where they are known; and
        `<placebo>_level`.
    """
    known = [
        name for name in ("no_answer", "label", "score", NUMBER, WEIGHT, LOOK) if name in frame
    ]
    if specification.reads_reasons:
        known.append("reason")
    placebos = [f"{placebo}_level" for placebo in specification.placebos]
    return with_level_names(frame, specification.axes).join(frame[[*known, *placebos]])


def table_of(rows: Sequence[Part], row_class: type[Part]) -> pd.DataFrame:
    """Rows of a report as a frame; what could not be estimated is NaN.

    Args:
        rows: of one class.
        row_class: theirs, whose fields are the columns, also without a row.
    """
    table = pd.DataFrame([dict(row) for row in rows], columns=list(row_class.model_fields))
    for name, field in row_class.model_fields.items():
        if field.annotation == float | None:
            table[name] = table[name].astype(float)
    return table


def chances_of(plan: Plan) -> pd.DataFrame:
    """The chances of each verdict that a plan has, of a cell and on average.

    Returns:
        A row per comparison ("cell" or "average") and multiple of the tolerance.
    """
    sizes = plan.get("sizes", {})
    of_cells = pd.DataFrame(sizes.get("chances", []))
    on_average = pd.DataFrame(sizes.get("chances on average", []))
    return (
        pd.concat({"cell": of_cells, "average": on_average}, names=["comparison"])
        .reset_index("comparison")
        .reset_index(drop=True)
    )
