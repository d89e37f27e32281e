"""Audits of the face world: its faces, its truth, and the models of the example files.

python -m faceworld.audit run audits/example.yml     what `make audit` does

The commands are those of `python -m faceaudit`. Two things come on top: audit files may name the
face world (`generator: {kind: known-truth}`), and what the example files name is made before they
run. What was finished lies in `artifacts/audits/<name>/`, the report in `build/audits/<name>/`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from PIL import Image

import facerender
from faceaudit import __main__ as commands
from faceaudit import run
from faceaudit.file.parts import Export, Simulated
from faceaudit.file.specification import Specification, read_specification
from faceaudit.images import directions as own
from faceaudit.images.faces import AuditImages, Score
from faceaudit.latents import transects
from faceaudit.latents.directions import Hyperplanes
from faceaudit.models.answers import Say
from faceaudit.people.labels import Labels
from faceaudit.report.schema import Report
from faceaudit.run import Folders
from faceaudit.utils.errors import fault
from faceworld import networks, populations
from faceworld import people as invented
from faceworld.crowd import annotate, mean_scores, perceived
from faceworld.known_truth import KnownTruthGenerator
from faceworld.networks.onnx_export import write_onnx
from faceworld.rendering import render_to_store
from faceworld.scorecard import truth
from helpers.artifacts import root
from helpers.artifacts.lineage import ROOT

DOSES = (0.2, 0.8)
"""Of every axis, on its scale from 0 to 1."""
STAGE = "audit"


# --- the commands


def folders_of(specification: Specification) -> Folders:
    """Where an audit of this checkout leaves its files."""
    name = specification.name
    return Folders(report=ROOT / "build" / "audits" / name, kept=root() / "audits" / name)


def plan_audit(
    path: str | Path, say: Say = print, *, folders: Folders | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Write the plan of an audit, as `faceaudit.run.plan_audit` does.

    Files go to folders of this checkout, if no others are given.
    """
    specification = read_specification(path)
    make_examples(specification)
    return run.plan_audit(path, say, folders=folders or folders_of(specification))


def run_audit(
    path: str | Path, say: Say = print, device: str = "cpu", *, folders: Folders | None = None
) -> Report:
    """Run an audit, as `faceaudit.run.run_audit` does, also of the face world.

    Files go to folders of this checkout, if no others are given.
    """
    specification = read_specification(path)
    make_examples(specification)
    folders = folders or folders_of(specification)
    return run.run_audit(path, say, device, folders=folders, pictures=pictures_of_the_world)


def make_examples(specification: Specification) -> None:
    """Make the files that an audit file names, if they are those of the examples."""
    named = [specification.images, getattr(specification.model, "path", None)]
    for path in named:
        if path is not None and (make := EXAMPLES.get(specification.beside(path).resolve())):
            make(specification.beside(path))


# --- the face world


def pictures_of_the_world(specification: Specification, units: int, folder: Path) -> AuditImages:
    """Faces of the world, what people see of them, and the effects by intervention."""
    world = World.of(specification)
    people = specification.people
    index, parameters = world.faces(units)

    def seen() -> np.ndarray:
        return render_to_store(parameters, people.size, folder / "people" / "images.npy")

    return AuditImages(
        index=index,
        images=render_to_store(parameters, specification.size, folder / "images.npy"),
        source="the known-truth face world",
        shown=f"{units} faces, {specification.size} pixels wide",
        labelled=(
            simulated_answers(index, parameters, specification)
            if isinstance(people, Simulated)
            else None
        ),
        seen=seen if isinstance(people, Export) else None,
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
        """The design that an audit file describes."""
        source, generator = specification.generator, KnownTruthGenerator()
        axes = [*specification.axes, *specification.placebos]
        if unknown := [name for name in axes if name not in facerender.INDEX]:
            raise fault("unknown_axis", specification.path, unknown[0], facerender.INDEX)
        held = {name: dose for name, dose in source.held.items() if name not in axes}
        names = (*axes, *held, "age")
        recipe = {
            "youngest": float(generator.decision_value("age", source.adult)),
            "held": {n: float(generator.decision_value(n, dose)) for n, dose in held.items()},
            "seed": specification.design.seed,
        }
        planes = Hyperplanes(names, *generator.exact_hyperplanes(names))
        return cls(generator, planes, dict.fromkeys(axes, DOSES), recipe)

    def base(self, n: int, stage: str) -> np.ndarray:
        """Latent codes of n base faces (n, D)."""
        given = self.generator, self.planes, [*self.axes], n
        return transects.base_latents(*given, stage=stage, **self.recipe)

    def faces(self, n: int) -> tuple[pd.DataFrame, torch.Tensor]:
        """Index (image_id, unit, levels) and parameters of all images of n transects."""
        axes, planes = [*self.axes], self.planes.select([*self.axes])
        levels = {n: self.generator.decision_value(n, np.array(d)) for n, d in self.axes.items()}
        along = self.generator.exact_directions(axes)
        given = planes.normals, planes.intercepts, along, [*levels.values()]
        codes = transects.grid(self.base(n, STAGE), *given).reshape(-1, along.shape[1])
        return own.indexed(n, levels), self.generator.parameters(torch.from_numpy(codes))

    def truth(
        self, score: Score, threshold: float, specification: Specification, path: Path
    ) -> pd.DataFrame:
        """Effects by intervention on other base faces; see `faceworld.scorecard.truth`."""
        n, axes = specification.generator.base_faces, [*specification.axes]
        form = {"size": specification.size, "path": path, "label": specification.attribute}
        base = self.generator.parameters(torch.from_numpy(self.base(n, f"{STAGE}/truth")))
        given = []

        def answer(images: np.ndarray) -> np.ndarray:
            given.append(score(images))
            return (given[0] > threshold).astype(float)  # that function cuts at 0.5

        doses = {name: self.axes[name] for name in axes}
        wrong = truth.errors_under_do(answer, base, doses, **form)
        # Without an answer there is neither an error nor a true rate of errors.
        wrong[np.isnan(given[0]).reshape(wrong.shape)] = np.nan
        return truth.true_effects(wrong, axes)


def simulated_answers(
    index: pd.DataFrame, parameters: torch.Tensor, specification: Specification
) -> pd.DataFrame:
    """The index with what a simulated crowd says of the images.

    That is the label (majority of the attribute, 0 or 1) and scores of what is annotated.
    """
    seen = perceived(facerender.visible_scores(parameters)).set_index(index["image_id"])
    wanted, seed = specification.asked, specification.design.seed
    answers = annotate(seen[wanted], specification.people.raters, seed=seed, stage=STAGE)
    scores = mean_scores(answers).loc[index["image_id"]].reset_index(drop=True)
    return Labels(scores).labelled(index, specification)


CLASSIFIER_SIZE, CLASSIFIER_SEED = 48, 20
COMPOSITION, TAUGHT, IMAGES_TAUGHT = "mostly european", 300, 8
SIZE, SEED = 64, 21
PEOPLE, IMAGES = 60, 5
"""People of each group that the recogniser is audited on, and images of each of them."""


def make_example_model(path: Path) -> Path:
    """Train the classifier and write it as ONNX, with weights and images beside it."""
    drawn = populations.sample("celeba-like", 2000, CLASSIFIER_SEED)
    images = render_to_store(drawn.parameters, CLASSIFIER_SIZE, path.with_suffix(".npy"))
    labels, weights = drawn.frame["gender"].to_numpy(), path.with_suffix(".safetensors")
    trained = networks.train_classifier(images, labels, weights, seed=CLASSIFIER_SEED, epochs=10)
    return write_onnx(trained.network, path, CLASSIFIER_SIZE)


def make_example_recogniser(path: Path) -> Path:
    """Train the recogniser and write it as ONNX, with weights and images beside it."""
    wanted = invented.group_counts(invented.COMPOSITIONS[COMPOSITION], TAUGHT)
    store, settings = path.with_suffix(".npy"), {"seed": SEED, "device": "cpu"}
    taught = invented.render_people(wanted, IMAGES_TAUGHT, SIZE, store, **settings)
    job = {"images": taught.images, "labels": taught.person, "loss": "arcface", "epochs": 14}
    job |= {"path": path.with_suffix(".safetensors"), **settings}
    (trained,) = networks.train_recognisers([job])
    return write_onnx(trained.network, path, SIZE)


def make_example_faces(path: Path) -> Path:
    """Draw people and write their pictures, with a table at the path, a `.csv`."""
    wanted = dict.fromkeys(invented.GROUPS, PEOPLE)
    store = path.with_suffix(".npy")
    people = invented.render_people(wanted, IMAGES, SIZE, store, seed=SEED + 1, device="cpu")
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
    return commands.main(arguments, plan_audit, run_audit)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
