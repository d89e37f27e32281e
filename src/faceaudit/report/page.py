"""`report.html`, one file that needs no other, and the model card.

The page is for a manager, an analyst and a printer. Its order is that of the readers: the answer
and what it does not say, then tables and figures, then limits, then the plan and what departed from
it. The card has the sections of Mitchell et al., Model Cards for Model Reporting, FAT* 2019,
section 4. What only the makers of the model can know is left open, in so many words. Its head is
the `model-index` that model hubs read. The words of both stand in `templates`.
"""

import base64
import html
import io
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from markupsafe import Markup
from matplotlib.figure import Figure
from PIL import Image

from faceaudit import words
from faceaudit.effects.verdicts import EXCEEDS, INCONCLUSIVE, WITHIN
from faceaudit.plans import UNANSWERED, cell_name
from faceaudit.report.schema import Disparity, Effect, Gap, Report
from faceaudit.utils import formatting
from faceaudit.utils.files import write_text


def write_card(report: Report, path: Path) -> Path:
    """Write `model_card.md`.

    Args:
        report: what the card is about.
        path: of the file.

    Returns:
        The path.
    """
    return write_text(path, card(report))


def card(report: Report) -> str:
    """The model card as text: Markdown with a head in YAML."""
    text = words.render_template("model_card.md.j2", report=report)
    _, head, body = text.split("---\n", 2)
    # Names of the audit file and the table may hold tags, which a hub would show as a page's own.
    return f"---\n{head}---\n{html.escape(body, quote=False)}"


BLACK = "#000000"
BLUE = "#0072B2"
GREY = "#777777"
VERMILION = "#D55E00"
MARKS = {EXCEEDS: (VERMILION, "s"), WITHIN: (BLUE, "o"), INCONCLUSIVE: (GREY, "D")}
"""Verdict → colour and marker, told apart without colour."""
WIDTH = 5.2
"""Of figures in inches, so that their text can be read on a phone as on paper."""
LOOK = dict.fromkeys((f"axes.spines.{side}" for side in ("top", "right", "left")), False)
LOOK |= {"font.size": 10, "svg.hashsalt": "audit", "svg.fonttype": "path"}
ROWS, SIDE, GAP = 4, 96, 2
"""Faces of a contact sheet, and the height and width of an image and of the gaps, in pixels."""
QUALITY = 82
"""Of the faces in a report, from 0 to 100."""
Row = Effect | Disparity | Gap


def write_html(report: Report, path: Path, sheet: Mapping[str, Any] | None = None) -> Path:
    """Write `report.html`, with some of the images if there is a `contact_sheet`; its path."""
    return write_text(path, page(report, sheet))


def page(report: Report, sheet: Mapping[str, Any] | None = None) -> str:
    """The page as text. Axes, and the comparisons of each, are in the order of their verdicts."""
    axes: dict[str, list[Row]] = {}
    for row in sorted(report.judged, key=_urgent):
        axes.setdefault(_subject(row), []).append(row)
    ranks = {id(row): n for n, row in enumerate(row for rows in axes.values() for row in rows)}
    ordered = partial(sorted, key=lambda row: ranks[id(row)])
    effects = report.disparities or report.effects or _gaps(report, of_answers=False)
    return words.render_template(
        "report.html.j2",
        report=report,
        axes=axes,
        rows=ordered(effects),
        averages=ordered(report.averages),
        figure=_figure(report, ordered([*report.averages, *effects])),
        worst=_worst(report),
        largest=_largest,
        place=partial(_place, report),
        contrasts={row.axis: row.contrast for row in report.effects},
        sheet=sheet,
    )


def contact_sheet(
    images: np.ndarray, index: pd.DataFrame, axes: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """The first faces of an audit, a row each, at all combinations of the axes' levels.

    Returns the data address of the picture, what each of its columns shows, and its alt text.

    `index` has unit and `<axis>_level` of every image. Of several images at a place the first is
    shown, and a place without one stays white.
    """
    places = [f"{axis}_level" for axis in axes]
    table = index.assign(row=range(len(index))).pivot_table("row", "unit", places, aggfunc="first")
    table = table.reindex(index["unit"].unique()[:ROWS])
    sheet = np.full((*table.shape, SIDE + GAP, SIDE + GAP, 3), 255, np.uint8)
    for place, row in np.ndenumerate(table):
        if not np.isnan(row):
            picture = Image.fromarray(np.ascontiguousarray(images[int(row)].transpose(1, 2, 0)))
            picture = picture.resize((SIDE, SIDE), Image.Resampling.LANCZOS)
            sheet[place][:SIDE, :SIDE] = picture
    sheet = np.concatenate(np.concatenate(sheet, axis=1), axis=1)[:-GAP, :-GAP]
    columns = [cell_name(axes, dict(zip(axes, np.atleast_1d(cell), strict=True))) for cell in table]
    alt = f"{len(table)} faces, each in {len(columns)} versions: {'; '.join(columns)}."
    return {"address": data_address(sheet), "columns": columns, "alt": alt}


def data_address(image: np.ndarray) -> str:
    """One image, uint8 (h, w, 3), as the data address of a WebP file."""
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "webp", quality=QUALITY, method=4)
    return "data:image/webp;base64," + base64.b64encode(stream.getvalue()).decode()


# --- figures


def forest(rows: Sequence[Row], names: Sequence[str], tolerance: float, what: str) -> Figure:
    """Estimates with their intervals, one below the other, around the band of the tolerance.

    The thin interval is that of the family, the upright line the truth; `what` changes.
    """
    figure = Figure((WIDTH, 0.5 * len(rows) + 0.75), layout="constrained")
    ax = figure.subplots()
    ax.axvspan(-100 * tolerance, 100 * tolerance, color="#E8EEF4", lw=0)
    ax.axvline(0, color=BLACK, lw=0.8)
    for place, row, name in zip(range(len(rows))[::-1], rows, names, strict=True):
        known = row.low is not None
        if known:
            colour, marker = MARKS[row.verdict]
            if isinstance(row, Effect):
                ax.hlines(place, 100 * row.low_family, 100 * row.high_family, color=colour, lw=1)
            ax.hlines(place, 100 * row.low, 100 * row.high, color=colour, lw=3.2)
            style = {"color": colour, "ms": 6.5, "mec": "white", "mew": 0.6}
            ax.plot(100 * row.estimate, place, marker, **style)
        if getattr(row, "truth", None) is not None:
            ax.plot(100 * row.truth, place, "|", color=BLACK, ms=13, mew=2)
        at = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        told = name if known else f"{name}: not estimable"
        ax.annotate(told, (0, place), xytext=(0, 6), fontsize=9.5, **at)
    ax.set(xlabel=what, yticks=[], ylim=(-0.6, len(rows) - 0.2), axisbelow=True)
    ax.grid(axis="x", color="#E3E3E3", lw=0.6)
    return figure


def _figure(report: Report, rows: Sequence[Row]) -> Markup:
    """The forest as a part of the page, which scales it and says what it is."""
    names = [f"{formatting.spaced(_subject(row))}: {_place(report, row)}" for row in rows]
    what, text = "difference" if report.gaps else "change", io.StringIO()
    with mpl.rc_context(LOOK):
        figure = forest(rows, names, report.tolerance, f"{what} of the error rate (points)")
        figure.savefig(text, format="svg", metadata={"Date": None})
    return Markup(f'<svg aria-hidden="true"{text.getvalue().partition("<svg")[2]}')


# --- what the page says first


def _subject(row: Row) -> str:
    return row.measure if isinstance(row, Disparity) else row.axis


def _gaps(report: Report, of_answers: bool) -> list[Gap]:
    return [row for row in report.gaps if (row.family == UNANSWERED) == of_answers]


def _place(report: Report, row: Row) -> str:
    """What a comparison of an axis or a rate is about."""
    if isinstance(row, Disparity):
        return row.group
    of_answers = [*report.no_answer, *_gaps(report, of_answers=True)]
    if any(row is one for one in of_answers):  # an equal one can stand in another family
        return "having no answer"
    return row.cell if row.held else "on average"


def _urgent(row: Row) -> tuple[int, bool, float]:
    """Key by which what asks for action comes first, and of that what is over all faces."""
    return words.ORDER.index(row.verdict), bool(getattr(row, "held", ())), -abs(row.estimate or 0)


def _largest(rows: Sequence[Any]) -> Any:
    known = [row for row in rows if row.estimate is not None]
    return max(known, key=lambda row: abs(row.estimate), default=None)


def _worst(report: Report) -> Row | None:
    """The comparison beyond the tolerance to ask about first.

    A group that fares worse than the reference is more urgent than one that fares better.
    """
    beyond = [row for row in report.judged if row.verdict == EXCEEDS]
    worse = [row for row in beyond if (row.estimate or 0) > 0]
    return _largest(worse if report.kind == "verification" and worse else beyond)
