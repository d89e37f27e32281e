"""The images of an audit and what people say of them, from every kind of generator.

The recipe of the face world is that of chapters 05, 06 and 10, with the exact directions, which
move nothing but the axes: base faces of adults, projected onto the axes' hyperplanes, shown at
every combination of the doses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import facerender
from faceaudit import own_generator as own
from faceaudit.answers import BlackBox, Say
from faceaudit.generators.image_cache import synthesize_to_store
from faceaudit.images.pictures import FILE, ImageSet
from faceaudit.latents import transects
from faceaudit.latents.directions import Hyperplanes
from faceaudit.models import TRIED, check_model
from faceaudit.parts import Export, Images, KnownTruth, Simulated
from faceaudit.people import Said, said_of
from faceaudit.specification import Specification
from faceaudit.tables import Rows, matched
from faceaudit.utils.files import file_hash
from faceaudit.wording import fault, told
from faceworld.crowd import annotate, mean_scores, perceived
from faceworld.known_truth import KnownTruthGenerator
from faceworld.rendering import render_to_store
from faceworld.scorecard import truth

DOSES = (0.2, 0.8)
"""Of every axis, on its scale from 0 to 1."""
STAGE = "audit"
Score = Callable[[np.ndarray], np.ndarray]
"""Images → a score of each, NaN where there is no answer."""


# --- the face world


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
        return truth.effects(wrong, axes)


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
    return Said(scores).labelled(index, specification)


# --- the images of an audit


@dataclass(frozen=True)
class Shown:
    """Images, and what is known of them before the model is asked.

    Attributes:
        labelled: a row per image: image_id, unit, levels, label, annotated columns.
        images: uint8 (n, 3, height, width), in the order of the rows.
        source: of the images, for the report.
        world: whose truth can be computed, of the face world.
        more: what the report has of them, by arguments of `build_report`.
    """

    labelled: pd.DataFrame
    images: np.ndarray
    source: str
    world: World | None = None
    more: dict[str, Any] = field(default_factory=dict)


def show(
    specification: Specification, plan: dict, folder: Path, model: BlackBox, say: Say, device: str
) -> Shown:
    """Make or read the images of an audit, and get the labels of them.

    The model under audit is tried on some of the images before people are asked; `device` is where
    networks of files compute.
    """
    source, people, units = specification.generator, specification.people, plan["sizes"]["units"]
    if not isinstance(source, KnownTruth | Images):
        return _of_a_generator(specification, plan, folder, model, say, device)
    if isinstance(source, KnownTruth):
        world, name, card = World.of(specification), "the known-truth face world", None
        index, parameters = world.faces(units)
        images = render_to_store(parameters, specification.size, folder / "images.npy")
        shown = f"{units} faces, {specification.size} pixels wide"
    else:
        index, found = open_images(specification)
        images = synthesize_to_store(found, found.codes, folder / "images.npy")
        world, name, card = None, source.table.name, found.card
        shown = f"{index['unit'].nunique()} matched faces, from a folder"
    say(f"faces: {len(index):,} images of {shown}")
    check_model(model, images)
    if isinstance(people, Simulated):
        labelled = simulated_answers(index, parameters, specification)
        say(f"people: {people.raters} simulated raters looked at every image")
        return Shown(labelled, images, name, world)
    seen = images
    if world is not None and isinstance(people, Export):
        seen = render_to_store(parameters, people.size, folder / "people" / "images.npy")
    said = said_of(specification, seen, specification.asked, folder, model, say, device=device)
    about = [said.about | {"stage": "matched images"}]
    more = {"people": about, "generator": card, "told": said.limits}
    return Shown(said.labelled(index, specification), images, name, world, more)


def open_images(specification: Specification) -> tuple[pd.DataFrame, ImageSet]:
    """The pictures on disk that an audit file names: a row per image, and the pictures.

    Their table has a column `file`, the column of units (`columns.unit`), and one for each axis and
    placebo, with its levels by name.
    """
    table = specification.beside(specification.generator.table)
    index = matched(Rows.read(table), FILE, specification).reset_index(drop=True)
    return index, pictures(specification, table, FILE)


def pictures(specification: Specification, table: Path, file: str) -> ImageSet:
    """The pictures of a table, which names their files in a column; all else is read elsewhere."""
    # What is sent over the network has the size that the file says; other models scale themselves.
    size = getattr(specification.model, "size", None)
    return ImageSet(table, {}, unit=file, file=file, size=size)


def _of_a_generator(
    specification: Specification, plan: dict, folder: Path, model: BlackBox, say: Say, device: str
) -> Shown:
    source, units = specification.generator, plan["sizes"]["units"]
    generator, calibrates = own.generator_of(specification, device), specification.calibration
    ask = partial(said_of, folder=folder, model=model, say=say, device=device)
    views = own.Views(specification, generator, folder, ask, device=device)
    codes = own.sampled_codes(generator, source.samples, specification.design.seed, own.SAMPLES)
    if source.hyperplanes:
        found, doubts = own.given_directions(codes, specification), []
        generator.card["hyperplanes_sha256"] = file_hash(specification.beside(source.hyperplanes))
        check_model(model, views.made(codes[:TRIED], "samples"))
    else:
        found, doubts = _asked_directions(views, codes, model, plan["floor"], say)
    base, steps = own.faces_and_steps(found, views, units)
    index, cells = found.transects(base, steps)
    images = views.made(cells, own.LAST)
    say(f"faces: {len(index):,} images of {units} faces, {images.shape[-1]} pixels wide")
    asked = specification.asked_of_samples if calibrates else specification.asked
    whole, seen = views.look(images, own.LAST, asked)
    gate = own.gate(found, views, steps, seen) if calibrates else None
    if gate and not gate["passed"]:
        doubts.append(("gate", told("gate_failed")[0]))
        if "gate" not in specification.accept:
            raise fault("gate_closed", gate, specification.path)
    limits = told("truncation", getattr(source, "truncation", None)) + found.limits
    limits = [*limits, *told("calibrated", calibrates, gate), *views.limits]
    more = {"people": views.about, "generator": generator.card, "told": limits, "doubts": doubts}
    more["gate"] = gate
    labelled, name = whole.labelled(index, specification), f"a generator, {source.kind}"
    return Shown(labelled, images, name, None, more)


def _asked_directions(
    views: own.Views, codes: np.ndarray, model: BlackBox, floor: float, say: Say
) -> tuple[own.Found, list[tuple[str, str]]]:
    """Directions from answers about the images of codes, and what is to be doubted of them."""
    specification, samples = views.specification, views.made(codes, "samples")
    say(f"samples: {len(samples):,} images, of which directions are found")
    if model.said in [reader.said for reader in views.readers]:
        raise fault("reads_itself", specification.path)
    check_model(model, samples)
    measures = views.measured(samples)  # before people answer: a reader may fail
    _, first = views.look(samples, "samples", specification.asked_of_samples)
    views.about[0].setdefault("readers", {one.name: one.hash for one in views.readers})
    found = own.find_directions(codes, first.scores, specification, measures)
    (listed,) = told("skills", found.skill)
    say(f"directions: held-out R² (or informedness, of two classes): {listed}")
    weak = {n: found.skill[n] for n in specification.axes if found.skill[n] < floor}
    if weak and "direction" not in specification.accept:
        raise fault("too_weak", specification.path, weak, floor)
    return found, [("direction", told("weak_directions", weak)[0])] if weak else []
