"""Which look at which release a monitored audit is, told from the look before it.

A gate is asked again for two reasons, and they are not the same:

- *Further faces* of the same model. Its effect stays what it is, and one confidence sequence speaks
  of it at every look. That costs nothing more, so the faces of an earlier look stay, and come
  first.
- *Another release* of the model. Its effect is another one, even on the same faces, and no sequence
  speaks of two. So each release has a share of the level
  (`faceaudit.effects.share_of_release`).

Which of the two it is, the user need not say: where any answer about an earlier face is another
one, the model is another one. The level is spent by the number of releases, so the earlier look has
to be there. It is read from the folder of its report, and a look that leaves faces of it out is
refused: the faces that were left out could be those that spoke against the model.

What is checked of an earlier look that is read from its folder: the report is computed once more
from the rows beside it, as `faceaudit.verify` does, and every difference is refused. So faces that
are gone from its rows are noticed, and so are the answers of another model and another number of
the release. This takes as long as that look took.

What is not checked:

- The looks before the earlier one. Its report has the hash of the report before it, and not its
  place. The first faces are still there, since each look has all faces of the looks before it.
- An earlier look whose rows were changed, and whose report was then made anew from them. So keep
  these folders where those whose model is audited cannot write.
- What an audit gave in the same session, which is taken as it is.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pandas as pd

from faceaudit.designs.matched import MatchedImages
from faceaudit.families import FIRST_LOOK, LOOK, Plan, look_of
from faceaudit.file.specification import Specification
from faceaudit.frames import listed_on_one_line
from faceaudit.kept_images import plan_of_analysis, read_verified_audit
from faceaudit.outcomes import outcomes_of
from faceaudit.report.schema import text_of
from faceaudit.results import AuditResult
from faceaudit.utils.errors import InputError

REPORT_FILE = "report.json"
"""Name of the report in the folder of an earlier look."""
EXPECTED = "the report.json of the look before, its folder, or what that audit gave"


def read_look(
    previous: AuditResult | str | Path | None, specification: Specification
) -> AuditResult | None:
    """The audit of the look before; None where the caller names none.

    Args:
        previous: what it found; or the path of its `report.json`, with `images.csv` beside it, or
            of the folder of both.
        specification: of this look.

    Raises:
        InputError: something else, files that are missing or damaged, rows that do not give what
            the report beside them says, or an audit that is not monitored, which counts no looks.
    """
    if previous is None:
        return None
    if not specification.policy.monitor:
        raise InputError(
            "previous is given without policy.monitor: true; only a monitored audit counts its "
            "looks",
            field="previous",
            expected="policy.monitor: true",
        )
    if isinstance(previous, AuditResult):
        return previous
    if not isinstance(previous, str | Path):
        raise InputError(
            f"previous is of type {type(previous).__name__}, {EXPECTED} was expected",
            field="previous",
            found=previous,
            expected=EXPECTED,
        )
    path = Path(previous)
    return read_verified_audit(path / REPORT_FILE if path.is_dir() else path)


def with_looks(
    data: MatchedImages, specification: Specification, previous: AuditResult | None
) -> tuple[MatchedImages, Plan]:
    """The images of a monitored audit with their looks, and what its plan says of this look.

    Args:
        data: of this look.
        specification: of the audit.
        previous: of `read_look`; None: this is the first look.

    Returns:
        The images, with the column `look`; and the entry `monitored` of the plan that they are
        analysed by. Of an audit that is not monitored, the images as they were, and no entry.

    Raises:
        InputError: an earlier look that is not monitored, has another design, or has faces that are
            not here or are otherwise here.
    """
    if not specification.policy.monitor:
        return data, {}
    frame = data.frame
    if previous is None:
        return replace(data, frame=frame.assign(**{LOOK: 1})), {"monitored": FIRST_LOOK}
    earlier = plan_of_analysis(previous.report)
    before = look_of(earlier)
    if before is None:
        raise InputError(
            f"previous is an audit of {previous.report.name} that is not monitored; one with "
            "policy.monitor: true was expected",
            field="previous",
            expected="a monitored audit",
        )
    _require_same_design(earlier, specification)
    _require_faces(previous.frame, frame, earlier)
    looks = looks_of_faces(frame, previous)
    earlier_answers = _answers(previous.frame, earlier)
    is_other_model = not earlier_answers.equals(_answers(frame[looks.notna()], earlier))
    has_further_faces = bool(looks.isna().any())
    number = before["look"] + int(is_other_model or has_further_faces)
    monitored = {
        "look": number,
        "release": before["release"] + int(is_other_model),
        "previous": hashlib.sha256(text_of(previous.report).encode()).hexdigest(),
    }
    frame = frame.assign(**{LOOK: looks.fillna(number).astype(int)})
    return replace(data, frame=frame), {"monitored": monitored}


def looks_of_faces(frame: pd.DataFrame, previous: AuditResult) -> pd.Series:
    """The look at which the face of each image came first; NaN of a face that is new.

    Args:
        frame: images of this look, with their units.
        previous: a monitored audit, the look before.
    """
    of_face = previous.frame.astype({"unit": str}).groupby("unit")[LOOK].first()
    return frame["unit"].astype(str).map(of_face)


def _require_same_design(earlier: Plan, specification: Specification) -> None:
    """Raise InputError where the look before compares something else.

    Args:
        earlier: plan of the look before.
        specification: of this one.
    """
    content = specification.model_dump(mode="json", include={"axes", "placebos", "outcomes"})
    design = specification.design
    now = {**content, "tolerance": design.tolerance, "seed": design.seed}
    # Of two levels there is one contrast, and plans do not name its kind.
    if "contrasts" in earlier:
        now["contrasts"] = design.contrasts
    before = {**earlier, "outcomes": outcomes_of(earlier)}
    for key, value in now.items():
        if before[key] != value:
            raise InputError(
                f"{key} of the look before is {before[key]}, that of this one is {value}; the same "
                "was expected",
                field=key,
                found=value,
                expected=str(before[key]),
            )


def _require_faces(earlier: pd.DataFrame, frame: pd.DataFrame, plan: Plan) -> None:
    """Raise InputError unless all images of the earlier look are here, as they were.

    Args:
        earlier, frame: images of both looks.
        plan: with their axes and placebos.
    """
    faces = pd.Index(earlier["unit"].astype(str).unique())
    here = frame["unit"].astype(str)
    gone = faces.difference(here)
    if len(gone):
        raise InputError(
            f"{len(gone)} of the {len(faces)} faces of the look before are not among the "
            f"{here.nunique()} faces here, such as {listed_on_one_line(gone[:3])}; a look has all "
            "faces of the looks before it",
            field="unit",
            found=here.nunique(),
            expected="all faces of the look before",
        )
    places = _places(earlier, plan)
    now = _places(frame[here.isin(faces)], plan)
    alone = places.index.symmetric_difference(now.index)
    if len(alone):
        raise InputError(
            f"{len(alone)} images of faces of the look before are in one of both looks alone, such "
            f"as {listed_on_one_line(alone[:3])}; further images of further faces were expected",
            field="images",
            found=str(alone[0]),
            expected="further images of further faces",
        )
    differs = (places != now.loc[places.index]).any(axis=1)
    if differs.any():
        raise InputError(
            f"image {differs.idxmax()!r} has another unit or level than at the look before "
            f"({differs.sum()} such images); the same was expected",
            field=f"image {differs.idxmax()!r}",
            expected="the same unit and levels",
        )


def _places(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Unit and levels of every image, by its name."""
    levels = [f"{axis}_level" for axis in [*plan["axes"], *plan["placebos"]]]
    texts = {"image_id": str, "unit": str, **dict.fromkeys(levels, int)}
    return frame.astype(texts).set_index("image_id")[["unit", *levels]]


def _answers(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """All outcomes of every image, by its name; NaN where there is none."""
    named = frame.astype({"image_id": str}).set_index("image_id")
    return named[outcomes_of(plan)].astype(float).sort_index()
