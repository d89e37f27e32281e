"""The images of an audit and what people say of them, from every kind of generator.

The recipe of the face world is that of chapters 05, 06 and 10, with the exact directions, which
move nothing but the axes: base faces of adults, projected onto the axes' hyperplanes, shown at
every combination of the doses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from faceaudit.file.parts import Export, Images, KnownTruth, Simulated
from faceaudit.file.specification import Specification
from faceaudit.frames import Rows, matched
from faceaudit.generators.image_cache import synthesize_to_store
from faceaudit.images import directions as own
from faceaudit.images import rated
from faceaudit.images.pictures import FILE, ImageSet, pictures_of
from faceaudit.models.answers import BlackBox, Say
from faceaudit.models.asking import check_model
from faceaudit.models.local import TRIED
from faceaudit.people.labels import said_of
from faceaudit.utils.errors import fault
from faceaudit.utils.files import file_hash
from faceaudit.words import told
from faceworld.audit import World, simulated_answers
from faceworld.rendering import render_to_store

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
    return index, pictures_of(specification, table, FILE)


def _of_a_generator(
    specification: Specification, plan: dict, folder: Path, model: BlackBox, say: Say, device: str
) -> Shown:
    source, units = specification.generator, plan["sizes"]["units"]
    generator, calibrates = rated.generator_of(specification, device), specification.calibration
    ask = partial(said_of, folder=folder, model=model, say=say, device=device)
    views = rated.Views(specification, generator, folder, ask, device=device)
    codes = rated.sampled_codes(generator, source.samples, specification.design.seed, rated.SAMPLES)
    if source.hyperplanes:
        found, doubts = own.given_directions(codes, specification), []
        generator.card["hyperplanes_sha256"] = file_hash(specification.beside(source.hyperplanes))
        check_model(model, views.made(codes[:TRIED], "samples"))
    else:
        found, doubts = _asked_directions(views, codes, model, plan["floor"], say)
    base, steps = own.faces_and_steps(found, views, units)
    index, cells = found.transects(base, steps)
    images = views.made(cells, rated.LAST)
    say(f"faces: {len(index):,} images of {units} faces, {images.shape[-1]} pixels wide")
    asked = specification.asked_of_samples if calibrates else specification.asked
    whole, seen = views.look(images, rated.LAST, asked)
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
    views: rated.Views, codes: np.ndarray, model: BlackBox, floor: float, say: Say
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
