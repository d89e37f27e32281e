"""The images of an audit, from a folder or a generator, and the labels that people give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from faceaudit.file.parts import Images, KnownTruth
from faceaudit.file.specification import Specification
from faceaudit.frames import Rows, read_matched_images
from faceaudit.generators.image_cache import synthesize_to_store
from faceaudit.images import directions as own
from faceaudit.images import rated
from faceaudit.images.pictures import FILE, ImageSet, pictures_of
from faceaudit.models.answers import BlackBox, Say
from faceaudit.models.asking import check_model
from faceaudit.models.local import TRIED
from faceaudit.people.labels import ask_for_labels
from faceaudit.utils.errors import fault
from faceaudit.utils.files import file_hash
from faceaudit.words import render_sentences

Score = Callable[[np.ndarray], np.ndarray]
"""Images → a score of each, NaN where there is no answer."""


@dataclass(frozen=True)
class AuditImages:
    """Images, and what is known of them before people and the model are asked.

    Attributes:
        index: a row per image: image_id, unit and `<axis>_level` of every axis and placebo.
        images: uint8 (n, 3, height, width), in the order of the rows.
        source: of the images, for the report.
        shown: what they are, in words, such as "40 faces, 64 pixels wide".
        labelled: the index with labels and annotated columns, where they are known without asking
            people; else None.
        seen: makes the images that people see, where these are others than the model's.
        truth: gives the effects by intervention, of the scores and the threshold of a model, where
            they can be computed (`faceworld.scorecard.truth.true_effects`).
        card: of the generator, for the report.
    """

    index: pd.DataFrame
    images: np.ndarray
    source: str
    shown: str
    labelled: pd.DataFrame | None = None
    seen: Callable[[], np.ndarray] | None = None
    truth: Callable[[Score, float], pd.DataFrame] | None = None
    card: Mapping[str, Any] | None = None


Pictures = Callable[[Specification, int, Path], AuditImages]
"""Audit file, number of matched faces and a folder to keep images in → the images."""


@dataclass(frozen=True)
class LabelledImages:
    """Images of an audit with their labels.

    Attributes:
        labelled: a row per image: image_id, unit, levels, label, annotated columns.
        images: uint8 (n, 3, height, width), in the order of the rows.
        source: of the images, for the report.
        truth: as of `AuditImages`.
        more: what the report has of them, by arguments of `build_report`.
    """

    labelled: pd.DataFrame
    images: np.ndarray
    source: str
    truth: Callable[[Score, float], pd.DataFrame] | None = None
    more: dict[str, Any] = field(default_factory=dict)


def show(
    specification: Specification,
    plan: dict,
    folder: Path,
    model: BlackBox,
    say: Say,
    device: str,
    pictures: Pictures | None = None,
) -> LabelledImages:
    """Make or read the images of an audit, and get the labels of them.

    The model under audit is tried on some of the images before people are asked; `device` is where
    networks of files compute. `pictures` makes the images of the kind known-truth.

    Raises:
        ValueError: the audit file names a world of faces, and there are no `pictures` of one.
    """
    source, units = specification.generator, plan["sizes"]["units"]
    if isinstance(source, Images):
        made = _in_a_folder(specification, folder)
    elif not isinstance(source, KnownTruth):
        return _of_a_generator(specification, plan, folder, model, say, device)
    elif pictures is not None:
        made = pictures(specification, units, folder)
    else:
        raise ValueError(
            f"{specification.path}: generator.kind is known-truth, whose faces are no part of this "
            "package; in a checkout of the book `python -m faceworld.audit run FILE` has them"
        )
    say(f"faces: {len(made.index):,} images of {made.shown}")
    check_model(model, made.images)
    if made.labelled is not None:
        say(f"people: {specification.people.raters} simulated raters looked at every image")
        return LabelledImages(made.labelled, made.images, made.source, made.truth)
    seen = made.images if made.seen is None else made.seen()
    said = ask_for_labels(
        specification, seen, specification.asked, folder, model, say, device=device
    )
    about = [said.about | {"stage": "matched images"}]
    more = {"people": about, "generator": made.card, "told": said.limits}
    labelled = said.labelled(made.index, specification)
    return LabelledImages(labelled, made.images, made.source, made.truth, more)


def _in_a_folder(specification: Specification, folder: Path) -> AuditImages:
    index, found = open_images(specification)
    images = synthesize_to_store(found, found.codes, folder / "images.npy")
    shown = f"{index['unit'].nunique()} matched faces, from a folder"
    table = specification.generator.table
    return AuditImages(index, images, table.name, shown, card=found.card)


def open_images(specification: Specification) -> tuple[pd.DataFrame, ImageSet]:
    """The pictures on disk that an audit file names: a row per image, and the pictures.

    Their table has a column `file`, the column of units (`columns.unit`), and one for each axis and
    placebo, with its levels by name.
    """
    table = specification.beside(specification.generator.table)
    index = read_matched_images(Rows.read(table), FILE, specification).reset_index(drop=True)
    return index, pictures_of(specification, table, FILE)


def _of_a_generator(
    specification: Specification, plan: dict, folder: Path, model: BlackBox, say: Say, device: str
) -> LabelledImages:
    source, units = specification.generator, plan["sizes"]["units"]
    generator, calibrates = rated.generator_of(specification, device), specification.calibration
    ask = partial(ask_for_labels, folder=folder, model=model, say=say, device=device)
    views = rated.RatedImages(specification, generator, folder, ask, device=device)
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
    gate = own.calibration_gate(found, views, steps, seen) if calibrates else None
    if gate and not gate["passed"]:
        doubts.append(("gate", render_sentences("gate_failed")[0]))
        if "gate" not in specification.accept:
            raise fault("gate_closed", gate, specification.path)
    limits = render_sentences("truncation", getattr(source, "truncation", None)) + found.limits
    limits = [*limits, *render_sentences("calibrated", calibrates, gate), *views.limits]
    more = {"people": views.about, "generator": generator.card, "told": limits, "doubts": doubts}
    more["gate"] = gate
    labelled, name = whole.labelled(index, specification), f"a generator, {source.kind}"
    return LabelledImages(labelled, images, name, None, more)


def _asked_directions(
    views: rated.RatedImages, codes: np.ndarray, model: BlackBox, floor: float, say: Say
) -> tuple[own.FittedDirections, list[tuple[str, str]]]:
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
    (listed,) = render_sentences("skills", found.skill)
    say(f"directions: held-out R² (or informedness, of two classes): {listed}")
    weak = {n: found.skill[n] for n in specification.axes if found.skill[n] < floor}
    if weak and "direction" not in specification.accept:
        raise fault("too_weak", specification.path, weak, floor)
    return found, [("direction", render_sentences("weak_directions", weak)[0])] if weak else []
