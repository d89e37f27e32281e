"""Audits of the face world: its faces, its truth, and the models of the example files.

python -m faceworld.audit run audits/example.yml     what `make audit` does

The commands are those of `python -m faceaudit`. Two things come on top: audit files may name the
face world (`generator: {kind: known-truth}`), and what the example files name is made before they
run. What was finished lies in `artifacts/audits/<name>/`, the report in `build/audits/<name>/`.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import torch
from PIL import Image

import facerender
from faceaudit import __main__ as command_line
from faceaudit import annotations, run
from faceaudit.annotations.schema import hidden_names
from faceaudit.file.parts import AnnotationTool, Crop, SimulatedCrowd
from faceaudit.file.specification import Specification, read_specification
from faceaudit.images import directions
from faceaudit.images.faces import AuditImages, ScoreImages
from faceaudit.images.rated_images import CROPS, crop_images
from faceaudit.latents import transects
from faceaudit.latents.directions import Hyperplanes
from faceaudit.models.answers import Notify
from faceaudit.people.labels import Labels
from faceaudit.report.schema import Report
from faceaudit.run import Folders
from faceaudit.utils.errors import InputError
from faceworld import networks, populations
from faceworld import people as invented_people
from faceworld.crowd import annotate, mean_scores, perceived
from faceworld.known_truth import KnownTruthGenerator
from faceworld.networks.onnx_export import write_onnx
from faceworld.raters import perceived_on_crops
from faceworld.rendering import render_to_store
from faceworld.scorecard import truth
from helpers.artifacts import root as artifacts_folder
from helpers.artifacts.lineage import ROOT

DOSES = (0.2, 0.8)
"""Of every axis, on its scale from 0 to 1."""
STAGE = "audit"


# --- the commands


def reports_folder() -> Path:
    """Where the reports of this checkout's audits are, in folders of their names."""
    return ROOT / "build" / "audits"


def folders_of(specification: Specification) -> Folders:
    """Where an audit of this checkout leaves its files."""
    name = specification.name
    return Folders(
        report=reports_folder() / name,
        artifacts=artifacts_folder() / "audits" / name,
    )


def plan_audit(
    path: str | Path,
    say: Notify = print,
    *,
    folders: Folders | None = None,
    plan_file: Path | None = None,
    replace: bool = False,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Write the plan of an audit, as `faceaudit.run.plan_audit` does.

    Files go to folders of this checkout, if no others are given.
    """
    specification = read_specification(path)
    make_examples(specification)
    return run.plan_audit(
        specification,
        say,
        folders=folders or folders_of(specification),
        plan_file=plan_file,
        replace=replace,
    )


def run_audit(
    path: str | Path,
    say: Notify = print,
    device: str = "cpu",
    *,
    folders: Folders | None = None,
    plan_file: Path | None = None,
    model_version: str | None = None,
) -> Report:
    """Run an audit, as `faceaudit.run.run_audit` does, also of the face world.

    Files go to folders of this checkout, if no others are given.
    """
    specification = run.read_to_run(
        Path(path), folders.report if folders else None, reports_folder()
    )
    make_examples(specification)
    return run.run_audit(
        specification,
        say,
        device,
        folders=folders or folders_of(specification),
        plan_file=plan_file,
        model_version=model_version,
        pictures=pictures_of_the_world,
    )


def make_examples(specification: Specification) -> None:
    """Make the files that an audit file names, if they are those of the examples."""
    for path in (specification.images, getattr(specification.model, "path", None)):
        if path is None:
            continue
        path = specification.beside(path)
        make = EXAMPLES.get(path.resolve())
        if make is not None:
            make(path)


# --- the face world


def pictures_of_the_world(specification: Specification, units: int, folder: Path) -> AuditImages:
    """Faces of the world, what people see of them, and the effects by intervention."""
    world = World.of(specification)
    people = specification.people
    index, parameters = world.faces(units)

    def images_for_people() -> np.ndarray:
        return render_to_store(parameters, people.size, folder / "people" / "images.npy")

    labelled = None
    if isinstance(people, SimulatedCrowd):
        labelled = simulated_answers(index, parameters, specification)
    return AuditImages(
        index=index,
        images=render_to_store(parameters, specification.size, folder / "images.npy"),
        source="the known-truth face world",
        description=f"{units} faces, {specification.size} pixels wide",
        labelled=labelled,
        images_for_people=images_for_people if isinstance(people, AnnotationTool) else None,
        truth=partial(world.truth, specification=specification, path=folder / "truth.npy"),
    )


@dataclass(frozen=True)
class World:
    """The design of an audit in the face world.

    Attributes:
        generator: of the faces.
        planes: exact hyperplanes of the axes, of what is held, and of age.
        axes: all that are manipulated, placebos last, with their doses.
        recipe: arguments of `faceaudit.latents.transects.base_latents`.
    """

    generator: KnownTruthGenerator
    planes: Hyperplanes
    axes: dict[str, tuple[float, float]]
    recipe: dict[str, Any]

    @classmethod
    def of(cls, specification: Specification) -> World:
        """The design that an audit file describes.

        Raises:
            InputError: an axis that the face world cannot change.
        """
        source = specification.generator
        generator = KnownTruthGenerator()
        axes = [*specification.axes, *specification.placebos]
        for axis in axes:
            if axis not in facerender.INDEX:
                known = ", ".join(facerender.INDEX)
                raise InputError(
                    f"{specification.path}: axes has {axis!r}, which the face world cannot change; "
                    f"it has {known}",
                    field="axes",
                    found=axis,
                    expected=f"one of {known}",
                )
        held = {}
        for name, dose in source.held.items():
            if name not in axes:
                held[name] = float(generator.decision_value(name, dose))
        names = (*axes, *held, "age")
        recipe = {
            "youngest": float(generator.decision_value("age", source.adult)),
            "held": held,
            "seed": specification.design.seed,
        }
        normals, intercepts = generator.exact_hyperplanes(names)
        planes = Hyperplanes(names, normals, intercepts)
        return cls(generator, planes, dict.fromkeys(axes, DOSES), recipe)

    def base(self, n: int, stage: str) -> np.ndarray:
        """Latent codes of n base faces (n, D)."""
        return transects.base_latents(
            self.generator, self.planes, list(self.axes), n, stage=stage, **self.recipe
        )

    def faces(self, n: int) -> tuple[pd.DataFrame, torch.Tensor]:
        """Index (image_id, unit, levels) and parameters of all images of n transects."""
        axes = list(self.axes)
        planes = self.planes.select(axes)
        levels = {}
        for axis, doses in self.axes.items():
            levels[axis] = self.generator.decision_value(axis, np.array(doses))
        steps = self.generator.exact_directions(axes)
        codes = transects.grid(
            self.base(n, STAGE), planes.normals, planes.intercepts, steps, list(levels.values())
        )
        codes = codes.reshape(-1, steps.shape[1])
        index = directions.transect_index(n, levels)
        return index, self.generator.parameters(torch.from_numpy(codes))

    def truth(
        self, score: ScoreImages, threshold: float, specification: Specification, path: Path
    ) -> pd.DataFrame:
        """Effects by intervention on other base faces; see `faceworld.scorecard.truth`."""
        axes = list(specification.axes)
        codes = self.base(specification.generator.base_faces, f"{STAGE}/truth")
        base = self.generator.parameters(torch.from_numpy(codes))
        scores = []

        def answer(images: np.ndarray) -> np.ndarray:
            scores.append(score(images))
            return (scores[0] > threshold).astype(float)  # `errors_under_do` cuts at 0.5

        errors = truth.errors_under_do(
            answer,
            base,
            {axis: self.axes[axis] for axis in axes},
            size=specification.size,
            path=path,
            label=specification.attribute,
        )
        # Without an answer there is neither an error nor a true rate of errors.
        errors[np.isnan(scores[0]).reshape(errors.shape)] = np.nan
        return truth.true_effects(errors, axes)


def simulated_answers(
    index: pd.DataFrame, parameters: torch.Tensor, specification: Specification
) -> pd.DataFrame:
    """The index with what a simulated crowd answers about the images.

    That is the label (majority of the attribute, 0 or 1) and scores of what is annotated.
    """
    visible = perceived(facerender.visible_scores(parameters)).set_index(index["image_id"])
    answers = annotate(
        visible[specification.rated_attributes],
        specification.people.raters,
        seed=specification.design.seed,
        stage=STAGE,
    )
    scores = mean_scores(answers).loc[index["image_id"]].reset_index(drop=True)
    return Labels(scores).add_to(index, specification)


def answer_tasks(folder: Path, crop: Crop, seed: int) -> None:
    """Answer the open tasks of an audit of this world's generator, as a simulated crowd.

    Tasks are those for Label Studio. Each gets an export where the audit looks for one, and is then
    removed.

    Args:
        folder: that the audit keeps codes, images and tasks in.
        crop: of the calibration, the part of an image that people see where they are asked on
            crops.
        seed: of the answers.
    """
    generator = KnownTruthGenerator()
    for tasks in sorted(folder.glob("people/*/tasks")):
        stage = tasks.parent.name
        part = stage.removesuffix(CROPS)
        images = np.load(folder / f"{part}.npy", mmap_mode="r")
        codes = torch.from_numpy(np.load(folder / f"{part}_codes.npy"))
        visible = facerender.visible_scores(generator.parameters(codes))
        if stage.endswith(CROPS):
            images = crop_images(images, crop)
            visible = perceived_on_crops(visible)
        else:
            visible = perceived(visible)
        shown = visible.set_axis(hidden_names(images))
        project = json.loads((tasks / "project.json").read_text(encoding="utf-8"))
        questions = ElementTree.fromstring(project["label_config"]).iter("Choices")
        answers = annotate(
            shown.loc[~shown.index.duplicated(), [choices.get("name") for choices in questions]],
            project["maximum_annotations"],
            seed=seed,
            stage=f"21 {stage}",
        )
        place = tasks.with_name("answers")
        place.mkdir(parents=True, exist_ok=True)
        annotations.write_label_studio(answers, place / "export.json")
        shutil.rmtree(tasks)


# --- what the example files name

CLASSIFIER_SIZE = 48
"""Height and width of the classifier's images, pixels."""
CLASSIFIER_SEED = 20
RECOGNISER_COMPOSITION = "mostly european"
"""Of the people that the recogniser is trained on."""
RECOGNISER_PEOPLE = 300
"""People that the recogniser is trained on."""
RECOGNISER_IMAGES = 8
"""Images of each of them."""
RECOGNISER_SIZE = 64
"""Height and width of the recogniser's images, pixels."""
RECOGNISER_SEED = 21
AUDIT_PEOPLE = 60
"""People of each group that the recogniser is audited on."""
AUDIT_IMAGES = 5
"""Images of each of them."""


def make_example_model(path: Path) -> Path:
    """Train the classifier and write it as ONNX, with weights and images beside it."""
    drawn = populations.sample("celeba-like", 2000, CLASSIFIER_SEED)
    images = render_to_store(drawn.parameters, CLASSIFIER_SIZE, path.with_suffix(".npy"))
    labels = drawn.frame["gender"].to_numpy()
    training = {
        "images": images,
        "labels": labels,
        "path": path.with_suffix(".safetensors"),
        "seed": CLASSIFIER_SEED,
        "epochs": 10,
    }
    (trained,) = networks.train_classifiers([training])
    return write_onnx(trained.network, path, CLASSIFIER_SIZE)


def make_example_recogniser(path: Path) -> Path:
    """Train the recogniser and write it as ONNX, with weights and images beside it."""
    composition = invented_people.COMPOSITIONS[RECOGNISER_COMPOSITION]
    people = invented_people.render_people(
        invented_people.group_counts(composition, RECOGNISER_PEOPLE),
        RECOGNISER_IMAGES,
        RECOGNISER_SIZE,
        path.with_suffix(".npy"),
        seed=RECOGNISER_SEED,
        device="cpu",
    )
    training = {
        "images": people.images,
        "labels": people.person,
        "loss": "arcface",
        "epochs": 14,
        "path": path.with_suffix(".safetensors"),
        "seed": RECOGNISER_SEED,
        "device": "cpu",
    }
    (trained,) = networks.train_recognisers([training])
    return write_onnx(trained.network, path, RECOGNISER_SIZE)


def make_example_faces(path: Path) -> Path:
    """Draw people and write their pictures, with a table at the path, a `.csv`."""
    people = invented_people.render_people(
        dict.fromkeys(invented_people.GROUPS, AUDIT_PEOPLE),
        AUDIT_IMAGES,
        RECOGNISER_SIZE,
        path.with_suffix(".npy"),
        seed=RECOGNISER_SEED + 1,
        device="cpu",
    )
    frame = pd.DataFrame({"identity": people.person, "group": people.group})
    return write_faces(people.images, frame, path)


def write_faces(images: np.ndarray, frame: pd.DataFrame, path: Path) -> Path:
    """Write images (n, 3, height, width) as PNG files, and at last the frame as a table beside."""
    folder = path.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    files = [f"{folder.name}/{number}.png" for number in range(len(images))]
    for image, file in zip(images, files, strict=True):
        Image.fromarray(image.transpose(1, 2, 0)).save(path.parent / file)
    frame.assign(file=files)[["file", *frame]].to_csv(path, index=False, lineterminator="\n")
    return path


EXAMPLES = {
    ROOT / "build" / "audits" / "example.onnx": make_example_model,
    ROOT / "build" / "audits" / "example-recogniser.onnx": make_example_recogniser,
    ROOT / "build" / "audits" / "example-faces.csv": make_example_faces,
}


def main(arguments: Sequence[str]) -> int:
    """Run a command; gives the exit code."""
    return command_line.main(arguments, plan_audit, run_audit)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
