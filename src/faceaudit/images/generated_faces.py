"""Matched images of somebody's own generator, with the labels that people give them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from faceaudit.file.parts import AnnotationTool
from faceaudit.file.specification import Specification
from faceaudit.images.directions import (
    SAMPLES_DRAW,
    FittedDirections,
    calibration_gate,
    faces_and_steps,
    find_directions,
    read_directions,
    sample_codes,
)
from faceaudit.images.faces import LabelledImages
from faceaudit.images.generator_kinds import generator_of, generator_settings
from faceaudit.images.rated_images import TRANSECTS, RatedImages
from faceaudit.models.answers import BlackBox, Notify
from faceaudit.models.asking import check_model
from faceaudit.models.local import CHECKED_IMAGES
from faceaudit.people.labels import ask_for_labels
from faceaudit.utils.errors import InputError
from faceaudit.utils.files import file_hash
from faceaudit.utils.formatting import number, spaced
from faceaudit.words import render_sentences

DIRECTIONS_FILE = "directions.npz"
"""Name of the hyperplanes in the folder of what is kept. Another audit can name the file."""
BASE_CODES_FILE = "base_codes.npy"
"""Name of the codes of the neutral faces, float32 (units, D), in the same folder."""


def images_of_generator(
    specification: Specification,
    plan: dict,
    folder: Path,
    model: BlackBox,
    say: Notify,
    device: str,
) -> LabelledImages:
    """Make matched images by somebody's own generator, and get their labels.

    Directions are found or read, faces are brought to their targets where the audit file asks for a
    calibration, and people look at the images of all faces at all levels. The folder keeps the
    directions and the codes of the neutral faces (`DIRECTIONS_FILE`, `BASE_CODES_FILE`), beside
    the images and codes of every part.

    Args:
        specification: of the audit.
        plan: of the audit, with the number of faces and the floor of directions.
        folder: of the audit's artifacts.
        model: under audit.
        say: takes a sentence after every stage.
        device: "cpu" or "cuda", where networks of files compute.

    Raises:
        InputError: a fault of the generator, the model, a reader or an export, or a closed gate.
        PeopleNeeded: people have to answer first.
    """
    source = generator_settings(specification)
    units = plan["sizes"]["units"]
    generator = generator_of(specification, device)
    ask = partial(ask_for_labels, folder=folder, model=model, say=say, device=device)
    views = RatedImages(specification, generator, folder, ask, device=device)
    codes = sample_codes(generator, source.samples, specification.design.seed, SAMPLES_DRAW)
    if source.hyperplanes:
        fitted = read_directions(codes, specification)
        doubts: list[tuple[str, str]] = []
        generator.card["hyperplanes_sha256"] = file_hash(specification.beside(source.hyperplanes))
        checked = views.synthesize(codes[:CHECKED_IMAGES], "samples")
        people_follow = isinstance(specification.people, AnnotationTool)
        check_model(model, checked, folder, people_follow)
    else:
        fitted, doubts = _directions_from_answers(views, codes, model, plan["floor"], say)
    fitted.planes.save(folder / DIRECTIONS_FILE)
    base, steps = faces_and_steps(fitted, views, units)
    np.save(folder / BASE_CODES_FILE, base.astype(np.float32))
    index, transect_codes = fitted.transects(base, steps)
    images = views.synthesize(transect_codes, TRANSECTS)
    say(f"faces: {len(index):,} images of {units} faces, {images.shape[-1]} pixels wide")
    calibration = specification.calibration
    attributes = specification.rated_attributes
    if calibration:
        attributes = specification.rated_attributes_of_samples
    whole_labels, labels = views.rate(images, TRANSECTS, attributes)
    gate = calibration_gate(fitted, views, steps, labels) if calibration else None
    if gate and not gate["passed"]:
        doubts.append(("gate", render_sentences("gate_failed")[0]))
        if "gate" not in specification.accept:
            raise _gate_closed(gate, specification.place)
    truncation = getattr(source, "truncation", None)
    limits = [
        *render_sentences("truncation", truncation, truncation != 1),
        *fitted.limits,
        *render_sentences("calibrated", calibration, gate),
        *views.limits,
    ]
    report_arguments = {
        "people": views.people_records,
        "generator": generator.card,
        "input_limits": limits,
        "doubts": doubts,
        "gate": gate,
    }
    labelled = whole_labels.add_to(index, specification)
    # Beside the label, which is a majority, the mean answers that it was made from.
    others = whole_labels.scores.columns.difference(labelled.columns, sort=False)
    labelled = labelled.join(whole_labels.scores[others].set_axis(labelled.index))
    return LabelledImages(
        labelled,
        images,
        f"a generator, {specification.generator.kind}",
        report_arguments=report_arguments,
    )


def _gate_closed(gate: Mapping[str, Any], place: str) -> InputError:
    """The error of a closed gate, with a line for each leak and each spread above its limit.

    Args:
        gate: of `calibration_gate`.
        place: of the audit file, as a message begins.
    """
    leaks = [row for row in gate["leaks"] if row["upper"] > gate["most_leak"]]
    doses = [row for row in gate["doses"] if row["upper"] > gate["most_spread"]]
    lines = [
        f"{place}the gate is closed, and the model is not asked about these faces: the upper "
        f"limits of {len(leaks)} of {len(gate['leaks'])} leaks are above "
        f"{number(gate['most_leak'])} standard deviations, and of {len(doses)} of "
        f"{len(gate['doses'])} spreads within a level above {number(gate['most_spread'])} of the "
        "scale; give the calibration more rounds (with more transects or samples people have to "
        "look again), or accept: [gate]"
    ]
    for row in leaks:
        lines.append(
            f"along {spaced(row['axis'])}: {spaced(row['attribute'])} moves by "
            f"{number(row['change'])}, upper limit {number(row['upper'])}"
        )
    for row in doses:
        lines.append(
            f"{spaced(row['axis'])}, level {row['level']}: faces spread by {row['sd']:.3f}, upper "
            f"limit {row['upper']:.3f}"
        )
    return InputError(
        "\n".join(lines),
        field="calibration",
        found=f"{len(leaks)} leaks and {len(doses)} spreads above their limits",
        expected=f"leaks of at most {gate['most_leak']}, spreads of at most {gate['most_spread']}",
    )


def _directions_from_answers(
    views: RatedImages, codes: np.ndarray, model: BlackBox, floor: float, say: Notify
) -> tuple[FittedDirections, list[tuple[str, str]]]:
    """Find directions from answers about the images of sampled codes.

    Args:
        views: of the audit, which asks people and readers.
        codes: of the sampled faces (n, D).
        model: under audit, which may not be a reader.
        floor: least skill of the direction of an axis.
        say: takes a sentence after every stage.

    Returns:
        The directions, and name and sentence of each doubt about them.

    Raises:
        InputError: the model under audit is a reader, or the skill of an axis is below the floor.
        PeopleNeeded: people have to answer first.
    """
    specification = views.specification
    samples = views.synthesize(codes, "samples")
    say(f"samples: {len(samples):,} images, of which directions are found")
    if model.description in [reader.description for reader in views.readers]:
        raise InputError(
            f"{specification.place}calibration.readers has the model under audit, whose answers "
            "the calibration would then hold still; give another model",
            field="calibration.readers",
            found="the model under audit",
            expected="another model",
        )
    people_follow = isinstance(specification.people, AnnotationTool)
    check_model(model, samples, views.folder, people_follow)
    measures = views.measure(samples)  # before people answer: a reader may fail
    _, labels = views.rate(samples, "samples", specification.rated_attributes_of_samples)
    reader_hashes = {reader.name: reader.hash for reader in views.readers}
    views.people_records[0].setdefault("readers", reader_hashes)
    fitted = find_directions(codes, labels.scores, specification, measures)
    (skills,) = render_sentences("skills", fitted.skill)
    say(f"directions: held-out R² (or informedness, of two classes): {skills}")
    weak = {name: fitted.skill[name] for name in specification.axes if fitted.skill[name] < floor}
    if not weak:
        return fitted, []
    if "direction" not in specification.accept:
        (weak_skills,) = render_sentences("skills", weak)
        raise InputError(
            f"{specification.place}the first round's answers hardly tell where the axes lie in "
            f"the generator: {weak_skills}, and the plan asks for {floor:g}; people are not asked "
            "a second time; check that the answers are about these images, ask about more of them "
            "(generator.samples), or accept: [direction]",
            field="generator.samples",
            found=weak_skills,
            expected=f"a skill of at least {floor:g} for each axis",
        )
    return fitted, [("direction", render_sentences("weak_directions", weak)[0])]
