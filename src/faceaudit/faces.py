"""The images of an audit and what people say of them, from every kind of generator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from faceaudit.answers import BlackBox
from faceaudit.models import LocalModel, check_model
from faceaudit.own_generator import base_codes, find_directions, generator_of, sampled_faces
from faceaudit.parts import Http, Images, KnownTruth, Reader, Simulated, Style
from faceaudit.people import Said, said_of
from faceaudit.specification import Specification
from faceaudit.tables import Rows, require_complete
from faceaudit.wording import spaced
from faceaudit.world import World, render_faces, simulated_answers
from helpers.claims import with_minus
from helpers.generators.batches import synthesize_to_store
from helpers.generators.image_set import FILE, ImageSet

Say = Callable[[str], None]
Ask = Callable[..., Said]
"""`said_of` an audit: images, attributes and stage → what people say."""


@dataclass(frozen=True)
class Shown:
    """Images, and what is known of them before the model is asked.

    Attributes:
        labelled: a row per image: image_id, unit, levels, label, annotated columns.
        images: uint8 (n, 3, height, width), in the order of the rows.
        source: of the images, for the report.
        world: whose truth can be computed, of the face world.
        people: of `Said.about`, with the key `stage`.
        generator: the card of somebody's own.
        told: limits for the report.
        doubts: name and sentence of each, for the report.
    """

    labelled: pd.DataFrame
    images: np.ndarray
    source: str
    world: World | None = None
    people: list[dict[str, Any]] = field(default_factory=list)
    generator: Mapping[str, Any] | None = None
    told: list[str] = field(default_factory=list)
    doubts: list[tuple[str, str]] = field(default_factory=list)


def show(
    specification: Specification,
    plan: Mapping[str, Any],
    folder: Path,
    model: BlackBox,
    say: Say,
    device: str = "cpu",
) -> Shown:
    """Make or read the images of an audit, and get the labels of them.

    Args:
        specification: of the audit.
        plan: of the audit; its sizes count.
        folder: of the audit's artifacts.
        model: under audit, tried on some of the images before people are asked.
        say: takes a sentence after every stage.
        device: "cpu" or "cuda", where a network's images are made.

    Raises:
        PeopleNeeded: people have to answer before the audit can go on.
        ValueError: a fault of the generator, a table, an export or the model.
    """
    source, ask = specification.generator, partial(said_of, specification)
    ask = partial(ask, folder=folder, model=model, say=say)

    def tried(images: np.ndarray, told: str) -> np.ndarray:
        """Refuse what is no model before people are asked to work for it."""
        say(told)
        if isinstance(model, LocalModel):
            check_model(model, images)
        return images

    if isinstance(source, KnownTruth):
        return _of_the_world(specification, plan["sizes"]["units"], folder, ask, tried, say)
    if isinstance(source, Images):
        return _of_a_set(specification, folder, ask, tried)
    return _of_a_generator(specification, plan, folder, ask, tried, say, device)


def _of_the_world(
    specification: Specification, units: int, folder: Path, ask: Ask, tried: Callable, say: Say
) -> Shown:
    size, people, source = specification.size, specification.people, "the known-truth face world"
    world = World.of(specification)
    index, parameters = world.faces(units)
    told = f"faces: {len(index):,} images of {units} faces, {size} pixels wide"
    images = tried(render_faces(parameters, size, folder), told)
    if isinstance(people, Simulated):
        labelled = simulated_answers(index, parameters, specification)
        say(f"people: {people.raters} simulated raters looked at every image")
        return Shown(labelled, images, source, world)
    seen = images
    if not isinstance(people, Reader):
        seen = render_faces(parameters, people.size, folder / "people")
    said = ask(seen, specification.asked)
    about = [said.about | {"stage": "matched images"}]
    labelled = said.labelled(index, specification)
    return Shown(labelled, images, source, world, about, told=said.limits)


def _of_a_set(specification: Specification, folder: Path, ask: Ask, tried: Callable) -> Shown:
    index, found = open_images(specification)
    folder.mkdir(parents=True, exist_ok=True)
    images = synthesize_to_store(found, found.codes, folder / "images.npy")
    units = index["unit"].nunique()
    tried(images, f"faces: {len(index):,} images of {units} matched faces, from a folder")
    said = ask(images, specification.asked)
    labelled, source = said.labelled(index, specification), specification.generator.table.name
    about = [said.about | {"stage": "matched images"}]
    return Shown(labelled, images, source, None, about, found.card, said.limits)


def open_images(specification: Specification) -> tuple[pd.DataFrame, ImageSet]:
    """The pictures on disk that an audit file names.

    Their table has a column `file`, the column of units (`columns.unit`), and one for each axis and
    placebo, with its levels by name or as 0 and 1.

    Returns:
        A row per image (image_id, which is the file; unit; levels), and the pictures.

    Raises:
        ValueError: a fault of the table or an image, in one sentence.
    """
    table, unit = specification.beside(specification.generator.table), specification.columns.unit
    rows, axes = Rows.read(table), {**specification.axes, **specification.placebos}
    rows.require([FILE, unit, *axes])
    units = rows.texts(unit, "the name of a matched face")
    index = {"image_id": rows.frame[FILE].astype(str), "unit": units} | rows.levels(axes)
    # What is sent over the network has the size that the file says; other models scale themselves.
    size = specification.size if isinstance(specification.model, Http) else None
    # The set brings the pictures alone: levels and faults are read as those of any other table.
    found = ImageSet(table, {}, unit=FILE, size=size)
    index = pd.DataFrame(index).reset_index(drop=True)
    require_complete(index, axes, specification.design.incomplete, rows.source)
    return index, found


def _of_a_generator(
    specification: Specification,
    plan: Mapping[str, Any],
    folder: Path,
    ask: Ask,
    tried: Callable,
    say: Say,
    device: str,
) -> Shown:
    source, units = specification.generator, plan["sizes"]["units"]
    generator = generator_of(specification, device)
    codes, samples = sampled_faces(specification, generator, folder)
    tried(samples, f"samples: {len(samples):,} images, of which directions are found")
    first = ask(samples, specification.asked_of_samples, stage="samples")
    found = find_directions(codes, first.scores, specification)
    say(f"directions: held-out R² (or informedness, of two classes): {_listed(found.skill)}")
    skill = {axis: found.skill[axis] for axis in specification.axes}
    weak = _listed({axis: value for axis, value in skill.items() if value < plan["floor"]})
    if weak and "direction" not in specification.accept:
        raise ValueError(
            f"{specification.path}: the first round's answers hardly tell where the axes lie in "
            f"the generator: {weak}, and the plan asks for {plan['floor']:g}; people are "
            "not asked a second time; check that the answers are about these images, ask about "
            "more of them (generator.samples), or accept: [direction]"
        )
    weakness = f"The answers hardly tell where the axes lie in the generator: {weak}."
    with torch.no_grad():
        index, cells = found.transects(base_codes(generator, found, units, specification))
        images = synthesize_to_store(generator, cells, folder / "images.npy")
    say(f"faces: {len(index):,} images of {units} faces, {images.shape[-1]} pixels wide")
    second = ask(images, specification.asked, stage="transects")
    stages = {"sampled images": first, "matched images": second}
    told = [*found.limits, *dict.fromkeys([*first.limits, *second.limits])]
    if isinstance(source, Style):
        told.insert(0, _of_truncation(source.truncation))
    return Shown(
        second.labelled(index, specification),
        images,
        f"a generator, {source.kind}",
        None,
        [said.about | {"stage": stage} for stage, said in stages.items()],
        getattr(generator, "card", None),
        told,
        [("direction", weakness)] if weak else [],
    )


def _listed(skill: Mapping[str, float]) -> str:
    return with_minus(", ".join(f"{spaced(name)} {value:.2f}" for name, value in skill.items()))


def _of_truncation(psi: float) -> str:
    if psi == 1:
        return "The generator's codes were not truncated, so that some faces look odd."
    return (
        f"The faces were made with a truncation of {psi:g}: they are nearer to the generator's "
        "mean face than those it was trained on, and unusual faces are missing."
    )
