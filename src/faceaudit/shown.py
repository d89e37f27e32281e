"""The images of an audit and what people say of them, from every kind of generator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from faceaudit.answers import BlackBox
from faceaudit.crowd_answers import Said, people_said
from faceaudit.found_directions import find_directions
from faceaudit.image_sets import open_image_set, said_in_table, set_index, set_pixels
from faceaudit.models import LocalModel, check_model
from faceaudit.own_generator import generator_of, sampled_faces, transect_faces
from faceaudit.parts import Images, InTable, KnownTruth, Reader, Simulated, Style
from faceaudit.reader import reader_said
from faceaudit.specification import Specification
from faceaudit.words import spaced
from faceaudit.world import World, render_faces, simulated_answers
from helpers.utils.numbers import with_minus

Say = Callable[[str], None]


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

    Example:
        >>> Shown(pd.DataFrame({"label": [1]}), np.zeros((1, 3, 8, 8), np.uint8), "faces").told
        []
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

    Returns:
        Images and labels.

    Raises:
        PeopleNeeded: people have to answer before the audit can go on.
        ValueError: a fault of the generator, a table, an export or the model.
    """
    source = specification.generator
    if isinstance(source, KnownTruth):
        return _of_the_world(specification, plan["sizes"]["units"], folder, model, say)
    if isinstance(source, Images):
        return _of_a_set(specification, folder, model, say)
    return _of_a_generator(specification, plan, folder, model, say, device)


def _of_the_world(
    specification: Specification, units: int, folder: Path, model: BlackBox, say: Say
) -> Shown:
    size, people = specification.size, specification.people
    world = World.of(specification)
    index, parameters = world.faces(units)
    images = render_faces(parameters, size, folder)
    say(f"faces: {len(index):,} images of {units} faces, {size} pixels wide")
    _try(model, images)
    source = "the known-truth face world"
    if isinstance(people, Simulated):
        labelled = simulated_answers(index, parameters, specification)
        say(f"people: {people.raters} simulated raters looked at every image")
        return Shown(labelled, images, source, world)
    seen = images
    if not isinstance(people, Reader):
        seen = render_faces(parameters, people.size, folder / "people")
    said = said_of(specification, seen, specification.asked, folder, model, say)
    return Shown(
        said.labelled(index, specification),
        images,
        source,
        world,
        [said.about | {"stage": "matched images"}],
        None,
        said.limits,
    )


def _of_a_set(specification: Specification, folder: Path, model: BlackBox, say: Say) -> Shown:
    found = open_image_set(specification)
    index = set_index(found)
    images = set_pixels(found, folder)
    say(f"faces: {len(index):,} images of {index['unit'].nunique()} matched faces, from a folder")
    _try(model, images)
    said = said_of(specification, images, specification.asked, folder, model, say)
    return Shown(
        said.labelled(index, specification),
        images,
        specification.generator.table.name,
        None,
        [said.about | {"stage": "matched images"}],
        found.card,
        said.limits,
    )


def _of_a_generator(
    specification: Specification,
    plan: Mapping[str, Any],
    folder: Path,
    model: BlackBox,
    say: Say,
    device: str,
) -> Shown:
    source, units = specification.generator, plan["sizes"]["units"]
    generator = generator_of(specification, device)
    codes, samples = sampled_faces(specification, generator, folder)
    say(f"samples: {len(samples):,} images, of which directions are found")
    _try(model, samples)
    asked = specification.asked_of_samples
    first = said_of(specification, samples, asked, folder, model, say, "samples")
    found = find_directions(codes, first.scores, specification)
    say(f"directions: held-out R² (or informedness, of two classes): {_listed(found.skill)}")
    weak = {axis: found.skill[axis] for axis in specification.axes}
    weak = {axis: value for axis, value in weak.items() if value < plan["floor"]}
    weakness = f"The answers hardly tell where the axes lie in the generator: {_listed(weak)}."
    if weak and "direction" not in specification.accept:
        raise ValueError(
            f"{specification.path}: the first round's answers hardly tell where the axes lie in "
            f"the generator: {_listed(weak)}, and the plan asks for {plan['floor']:g}; people are "
            "not asked a second time; check that the answers are about these images, ask about "
            "more of them (generator.samples), or accept: [direction]"
        )
    index, images = transect_faces(specification, generator, found, units, folder)
    say(f"faces: {len(index):,} images of {units} faces, {images.shape[-1]} pixels wide")
    second = said_of(specification, images, specification.asked, folder, model, say, "transects")
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


def said_of(
    specification: Specification,
    images: np.ndarray,
    attributes: Sequence[str],
    folder: Path,
    model: BlackBox,
    say: Say,
    stage: str = "",
) -> Said:
    """What people, a reader or the table say of images.

    Args:
        specification: of the audit.
        images: uint8 (n, 3, height, width).
        attributes: that are asked about.
        folder: of the audit's artifacts.
        model: under audit, which may not be its own judge.
        say: takes a sentence on who it was.
        stage: "samples" or "transects", of an audit that asks twice.

    Returns:
        Scores, and what the report says of the people.

    Raises:
        PeopleNeeded: people have to answer first.
        ValueError: a fault of the table, an export or a reader.
    """
    people = specification.people
    if isinstance(people, InTable):
        said, who = said_in_table(specification), "labels stand in the table"
    elif isinstance(people, Reader):
        said = reader_said(images, attributes, specification, folder / "answers", model)
        who = "a classifier read the images in their place"
    else:
        said = people_said(images, attributes, specification, folder, stage)
        who = f"{said.about['people']} people gave {said.about['answers']:,} answers"
    say(f"people: {who}")
    return said


def _try(model: BlackBox, images: np.ndarray) -> None:
    """Refuse what is no model before people are asked to work for it."""
    if isinstance(model, LocalModel):
        check_model(model, images)


def _listed(skill: Mapping[str, float]) -> str:
    return with_minus(", ".join(f"{spaced(name)} {value:.2f}" for name, value in skill.items()))


def _of_truncation(psi: float) -> str:
    if psi == 1:
        return "The generator's codes were not truncated, so that some faces look odd."
    return (
        f"The faces were made with a truncation of {psi:g}: they are nearer to the generator's "
        "mean face than those it was trained on, and unusual faces are missing."
    )
