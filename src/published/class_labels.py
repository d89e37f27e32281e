"""What a class sees in the study's faces, and how often published models differ from it.

    python -m published.class_labels handed-in/

Reads the files in a folder, which a class saved on the pages of `published.class_page`. Writes one
folder: who answered, how far people agree, the class's labels, and for every question the error
rates of all networks that answer it, with `report.html` of one audit. The study's two controls
stand beside skin. The networks' answers come from the record, so that this half needs no generator,
no node and no network.

Labels say how a face is *perceived* by this class, and not who somebody is. The faces exist
nowhere.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import jinja2
import numpy as np
import pandas as pd

import faceaudit
from faceaudit.annotations import (
    Ingest,
    agreement_table,
    count_tensor,
    read_label_studio,
    screen_raters,
)
from faceaudit.effects import score_interval
from faceaudit.utils.errors import InputError
from faceaudit.utils.files import write_text
from published import record
from published.places import ROOT
from published.study import ABSTAINED, AGE, ANSWERED, MEASURED, PLACEBO, RANDOM

GENDER = "gender"
QUESTIONS: Mapping[str, tuple[str, ...]] = {
    GENDER: ("Female", "Probably female", "Cannot tell", "Probably male", "Male"),
    AGE: ("Under 20", "20 to 29", "30 to 39", "40 to 49", "50 to 59", "60 or older"),
}
"""What a page can ask → its answers. Levels of gender lie on both sides of "Cannot tell"."""
CANNOT_TELL = QUESTIONS[GENDER].index("Cannot tell")
YEARS = (20, 30, 40, 50, 60)
"""Where the age groups begin, after the first one."""
OUTCOME_OF: Mapping[str, str] = {GENDER: "P(male)", AGE: "age"}
"""Question → the networks' outcome that answers it."""
SKIN = {"low": "light", "middle": "medium", "high": "dark"}
"""Level of skin in the record → its name in the labels."""
CHANGES = {
    "low": "light",
    "middle": "medium skin",
    "high": "dark skin",
    RANDOM: "a step at random",
    PLACEBO: "dimmed light",
}
"""Level of skin, or study of a control → its name in the report, as in chapter 19."""
LEVELS_OF_SKIN = tuple(CHANGES[level] for level in SKIN)
GROUPS_OF_LABELS: Mapping[str, tuple[str, ...]] = {
    GENDER: ("perceived female", "perceived male"),
    AGE: tuple(f"perceived age: {name.lower()}" for name in QUESTIONS[AGE]),
}
LEAST_ANSWERS = 2
"""Answers that a picture needs for a label."""
TOLERANCE = 0.05
"""Change of an error rate that does not matter, as the study's plan has it for shares."""
REASONS = {ANSWERED: "", ABSTAINED: "abstention", "failed": "failed call"}
"""The record's word → the reason that `faceaudit.table` knows, where they differ."""
QUANTILE = 1.96
SALT = "class page"
FOLDER = ROOT / "build" / "class" / "report"


def picture_id(image: str) -> str:
    """The name of an image on the page, which does not tell its level of skin.

    Args:
        image: its name in the record.
    """
    return "picture-" + blake2b(image.encode(), digest_size=6).hexdigest()


def recorded_images(answers: pd.DataFrame) -> pd.DataFrame:
    """The images that a class can be asked about.

    Args:
        answers: the record.

    Returns:
        Index `picture_id`; columns image, face and skin (light, medium, dark).
    """
    images = answers[answers["study"] == MEASURED].drop_duplicates("image")
    table = images[["image", "transect", "skin"]].rename(columns={"transect": "face"})
    table["skin"] = table["skin"].map(SKIN)
    return table.set_index(table["image"].map(picture_id))


# --- the answers of the class


@dataclass(frozen=True)
class ClassAnswers:
    """What a class answered.

    Attributes:
        frame: a row per answer, as of `read_label_studio`; `image_id` is the image's name in the
            record.
        left_out: reason → how many answers or assignments were left out for it, such as "cancelled
            assignment", where somebody chose "cannot say" of a picture.
    """

    frame: pd.DataFrame
    left_out: Mapping[str, int]


def read_answers(files: Sequence[Path], images: pd.DataFrame) -> ClassAnswers:
    """The answers of a class, a file for each person or page.

    Args:
        files: that the page saved.
        images: of `recorded_images`.

    Raises:
        InputError: a file is no export of the page, asks about other pictures, or has no answer; a
            person answered about a picture in two files; no picture has answers of two people.
    """
    tables = []
    reports = []
    for path in files:
        table, report = _read_file(path, images)
        tables.append(table)
        reports.append(report[report["dropped"] & (report["count"] > 0)])
    answers = pd.concat(tables, ignore_index=True)
    _refuse_people_twice(answers)
    people = answers.groupby(["attribute", "image_id"])["annotator_id"].nunique()
    if people.max() < LEAST_ANSWERS:
        raise InputError(
            f"no picture has answers of {LEAST_ANSWERS} people, so how far they agree is not "
            "known; give the same page to several people",
            field="files",
            found=len(files),
            expected=f"answers of {LEAST_ANSWERS} people about a picture",
        )
    left_out = pd.concat(reports).groupby("reason")["count"].sum()
    return ClassAnswers(answers, {str(reason): int(count) for reason, count in left_out.items()})


def files_of(paths: Sequence[Path]) -> list[Path]:
    """Files, and in place of a folder the `.json` files in it.

    Raises:
        InputError: a folder without such files.
    """
    files = []
    for path in paths:
        found = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not found:
            raise InputError(
                f"{path}: the folder has no .json file, the answers that the class page saved were "
                "expected",
                field=str(path),
                expected="files that the class page saved",
            )
        files += found
    return files


def _read_file(path: Path, images: pd.DataFrame) -> Ingest:
    if not path.is_file():
        raise InputError(
            f"{path}: there is no such file, the answers that the class page saved were expected",
            field=str(path),
            expected="a file that the class page saved",
        )
    answers, report = read_label_studio(path, questions=QUESTIONS, salt=SALT)
    answers = answers.astype(dict.fromkeys(("image_id", "attribute", "annotator_id"), "str"))
    unknown = answers.loc[~answers["image_id"].isin(images.index), "image_id"].unique()
    if len(unknown):
        asked = answers["image_id"].nunique()
        raise InputError(
            f"{path}: {len(unknown)} of {asked} pictures are not in the record, such as "
            f"{unknown[0]}; answers of a page that published.class_page made from this record were "
            "expected",
            field=str(path),
            found=unknown[0],
            expected="pictures of the record",
        )
    image = answers["image_id"].map(images["image"])
    return Ingest(answers.assign(image_id=image, source=path.name), report)


def _refuse_people_twice(answers: pd.DataFrame) -> None:
    """Raise InputError where one pseudonym answered about one picture in two files."""
    keys = ["annotator_id", "image_id", "attribute"]
    twice = answers[answers.duplicated(keys, keep=False)]
    if len(twice):
        first = twice[(twice[keys] == twice.iloc[0][keys]).all(axis=1)]
        files = " and ".join(first["source"])
        raise InputError(
            f"{files} have answers of one pseudonym about the same pictures; keep one of the "
            "files, or ask one of the two people for another pseudonym",
            field="files",
            found=files,
            expected="a pseudonym for each person",
        )


def labels_of_gender(counts: np.ndarray) -> np.ndarray:
    """What more than half of the people see: 0 female, 1 male, NaN where no side has that many.

    Args:
        counts: (n, levels) of people; "Cannot tell" counts for neither side.

    Example:
        >>> import numpy as np
        >>> labels_of_gender(np.array([[1, 1, 1, 0, 0], [1, 0, 1, 0, 1]])).tolist()
        [0.0, nan]
    """
    people = counts.sum(axis=1)
    female = counts[:, :CANNOT_TELL].sum(axis=1)
    male = counts[:, CANNOT_TELL + 1 :].sum(axis=1)
    labels = np.full(len(counts), np.nan)
    labels[2 * female > people] = 0
    labels[2 * male > people] = 1
    return labels


def labels_of_age(counts: np.ndarray) -> np.ndarray:
    """The group of the middle answer, NaN where the middle falls between two groups.

    Args:
        counts: (n, levels) of people.

    Example:
        >>> import numpy as np
        >>> labels_of_age(np.array([[0, 1, 1, 1, 0, 0], [0, 1, 1, 0, 0, 0]])).tolist()
        [2.0, nan]
    """
    reached = 2 * counts.cumsum(axis=1)
    people = counts.sum(axis=1, keepdims=True)
    lower = (reached >= people).argmax(axis=1)
    upper = (reached > people).argmax(axis=1)
    return np.where(lower == upper, lower, np.nan)


LABELS_OF = {GENDER: labels_of_gender, AGE: labels_of_age}


def labels_of_class(answers: pd.DataFrame, images: pd.DataFrame) -> pd.DataFrame:
    """The label of every picture, with how many people answered.

    Returns:
        Columns question, image, face, skin, people and label. NaN where fewer than `LEAST_ANSWERS`
        people answered, or the class is divided or cannot tell.
    """
    by_image = images.set_index("image")
    names, counts = count_tensor(answers)
    tables = []
    for question, count in counts.items():
        people = count.sum(axis=1)
        labels = np.where(people >= LEAST_ANSWERS, LABELS_OF[question](count), np.nan)
        table = by_image.loc[names].reset_index(names="image")
        table = table.assign(people=people, label=labels)
        table.insert(0, "question", question)
        tables.append(table[people > 0])
    return pd.concat(tables, ignore_index=True)


# --- the networks' answers against them


def errors_of_networks(recorded: pd.DataFrame, labels: pd.DataFrame, question: str) -> pd.DataFrame:
    """What networks say of the pictures that have a label, and of the study's two controls.

    No person labelled the controls, in which the light face has dimmed light, or is moved at
    random. They have the label of the light picture.

    Args:
        recorded: the record.
        labels: of `labels_of_class`.
        question: whose labels count.

    Returns:
        A row per image and network that answers at all: network, image, face, change (of
        `CHANGES`), label, error (0 or 1, NaN without an answer) and reason. An age is an error
        where it lies outside of the class's group.
    """
    of_question = labels[(labels["question"] == question) & labels["label"].notna()]
    light = of_question[of_question["skin"] == SKIN["low"]]
    said = recorded[recorded["outcome"] == OUTCOME_OF[question]]
    said = said.rename(columns={"model": "network", "transect": "face"})
    kind = said["skin"].where(said["study"] == MEASURED, said["study"])
    said = said.assign(change=kind.map(CHANGES))
    columns = ["network", "image", "face", "change", "value", "state"]
    measured = said.loc[said["study"] == MEASURED, columns]
    controls = said.loc[said["study"].isin([RANDOM, PLACEBO]), columns]
    parts = [
        measured.merge(of_question[["image", "label"]], on="image"),
        controls.merge(light[["face", "label"]], on="face"),
    ]
    rows = pd.concat(parts, ignore_index=True)
    rows = rows[rows.groupby("network")["value"].transform("count") > 0]
    if question == GENDER:
        decision = (rows["value"] > record.DECIDED_AT).astype(float)
    else:
        decision = pd.Series(np.searchsorted(YEARS, rows["value"], side="right"), rows.index)
    error = (decision != rows["label"]).astype(float).where(rows["value"].notna())
    return rows.assign(error=error, reason=rows["state"].replace(REASONS))


def error_rates(rows: pd.DataFrame, question: str) -> pd.DataFrame:
    """Error rates by network, change and label, with Wilson's intervals.

    Every face has one image of each change, so that images of one change are independent.

    Args:
        rows: of `errors_of_networks`.
        question: that they answer.

    Returns:
        Columns network, perceived ("all", or the class's label), change, answered, errors, rate,
        low, high, and silent: images without an answer.
    """
    names = GROUPS_OF_LABELS[question]
    perceived = rows["label"].map(lambda label: names[int(label)])
    both = pd.concat([rows.assign(perceived="all"), rows.assign(perceived=perceived)])
    both["change"] = pd.Categorical(both["change"], list(CHANGES.values()))
    both["perceived"] = pd.Categorical(both["perceived"], ["all", *names])
    by = both.groupby(["network", "perceived", "change"], observed=True)["error"]
    answered = by.count()
    rate = by.mean()
    low, high = score_interval(rate.to_numpy(), answered.where(answered > 0).to_numpy(), QUANTILE)
    table = pd.DataFrame({"answered": answered, "errors": by.sum().astype(int), "rate": rate})
    table["low"] = np.maximum(low, 0)
    table["high"] = np.minimum(high, 1)
    table["silent"] = by.size() - answered
    return table.reset_index()


def audit_of(rows: pd.DataFrame, question: str) -> faceaudit.ModelsSideBySide:
    """The audit of all networks by the class's labels, with faces as units.

    Each change is compared with the light picture of the same face.

    Args:
        rows: of `errors_of_networks`.
        question: that they answer.

    Raises:
        InputError: no face has labels at light skin and at another level.
    """
    levels = rows[rows["change"].isin(LEVELS_OF_SKIN)].groupby("face")["change"].agg(set)
    if not any(CHANGES["low"] in one and len(one) > 1 for one in levels):
        raise InputError(
            f"{question}: no face has a label at light skin and at another level, so what skin "
            "changes is not known; hand out pages 1, 2 and 3, each to several people",
            field=question,
            found=len(levels),
            expected="a face with a label at light skin and at another level",
        )
    audits = {
        str(network): faceaudit.table(
            of_network,
            unit="face",
            axes={"change": list(CHANGES.values())},
            image="image",
            error="error",
            reason="reason",
            incomplete="pairs",
            tolerance=TOLERANCE,
        )
        for network, of_network in rows.groupby("network")
    }
    return faceaudit.side_by_side(
        audits,
        name=f"perceived-{question}",
        question="Does skin colour change how often published models differ from what a class "
        f"perceives as the {question} of a generated face?",
    )


@dataclass(frozen=True)
class Answered:
    """All that is known about one question.

    Attributes:
        question: of `QUESTIONS`.
        labels: its rows of `labels_of_class`.
        rates: of `error_rates`.
        silent: networks that answer about none of the pictures.
    """

    question: str
    labels: pd.DataFrame
    rates: pd.DataFrame
    silent: Sequence[str]

    @property
    def labelled(self) -> int:
        """Pictures with a label."""
        return int(self.labels["label"].notna().sum())

    @property
    def label_changes(self) -> tuple[int, int]:
        """Faces whose label at light and dark skin differs, and all that have both."""
        wide = self.labels.pivot_table("label", "face", "skin")
        wide = wide.reindex(columns=list(SKIN.values()))
        both = wide[["light", "dark"]].dropna()
        return int((both["light"] != both["dark"]).sum()), len(both)


# --- the report


def write_report(answered: ClassAnswers, images: pd.DataFrame, folder: Path) -> list[Answered]:
    """Write the folder of the report.

    Args:
        answered: of `read_answers`.
        images: of `recorded_images`.
        folder: which is made; files of an earlier call are replaced.

    Returns:
        What was found, by question.
    """
    recorded = record.read()
    answers = answered.frame
    labels = labels_of_class(answers, images)
    _, counts = count_tensor(answers)
    agreement = agreement_table(counts)
    raters = screen_raters(answers)
    found = []
    for question in counts:
        rows = errors_of_networks(recorded, labels, question)
        audit_of(rows, question).save(folder / question)
        told = recorded.loc[recorded["outcome"] == OUTCOME_OF[question], "model"]
        silent = sorted(set(told) - set(rows["network"]))
        of_question = labels[labels["question"] == question]
        found.append(Answered(question, of_question, error_rates(rows, question), silent))
    rates = pd.concat([one.rates.assign(question=one.question) for one in found])
    tables = {
        "raters": raters.reset_index(),
        "agreement": agreement.reset_index(),
        "labels": labels,
        "error_rates": rates,
        "lab/answers": _answers_for_lab(answers),
        "lab/images": _images_for_lab(recorded, labels),
    }
    for name, table in tables.items():
        text = table.to_csv(index=False, lineterminator="\n")
        write_text(folder / f"{name}.csv", text)
    write_text(folder / "class.html", _page(found, agreement, raters, answered.left_out))
    return found


def _answers_for_lab(answers: pd.DataFrame) -> pd.DataFrame:
    columns = {"image_id": "image", "annotator_id": "rater", "attribute": "question"}
    return answers.rename(columns=columns)[["image", "rater", "question", "level", "seconds"]]


def _images_for_lab(recorded: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """A row per picture and network: image, face, skin, network, P(male) and age."""
    asked = recorded[recorded["outcome"].isin(OUTCOME_OF.values())]
    said = asked.pivot_table("value", ["image", "model"], "outcome").reset_index()
    said = said.rename(columns={"model": "network"})
    images = labels[["image", "face", "skin"]].drop_duplicates("image")
    columns = ["image", "face", "skin", "network", *OUTCOME_OF.values()]
    return images.merge(said, on="image")[columns]


def _page(
    found: Sequence[Answered],
    agreement: pd.DataFrame,
    raters: pd.DataFrame,
    left_out: Mapping[str, int],
) -> str:
    template = Path(__file__).with_suffix(".html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    parts = record.manifest()["parts"]
    return environment.from_string(template).render(
        found=found,
        agreement=agreement.to_dict("index"),
        raters=raters.to_dict("index"),
        left_out=left_out,
        recorded=parts[MEASURED]["made"][:10],
        changes=list(CHANGES.values()),
    )


def main(arguments: Sequence[str]) -> int:
    """Read a class's answers and write its report.

    Returns:
        0, or 1 where a file cannot be used.
    """
    command = argparse.ArgumentParser(
        prog="python -m published.class_labels",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "files", type=Path, nargs="+", help="that the class page saved, or a folder of them"
    )
    command.add_argument("--folder", type=Path, default=FOLDER, help="for the report")
    given = command.parse_args(arguments)
    try:
        images = recorded_images(record.read())
        answered = read_answers(files_of(given.files), images)
        found = write_report(answered, images, given.folder)
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    people = answered.frame["annotator_id"].nunique()
    for one in found:
        print(f"{one.question}: {people} people, {one.labelled} of {len(one.labels)} have a label")
    print(f"{given.folder / 'class.html'} has it all")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
