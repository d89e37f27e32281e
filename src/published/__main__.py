"""The study of published models.

    python -m published              make all images, ask all models, and compare with the record
    python -m published --live 6     the same of the first six faces of the record
    python -m published --write      make the record; with --part measured, that part of it alone

`--planes` names an `.npz` of hyperplanes in the generator's codes, or the folder of the published
pickles; without it the part that takes people's planes is left out. What is compared with the
record is drawn by its steps. What is finished is kept, so that a run that was interrupted goes on.
The planes of measures are kept as well; they are fitted anew where their file in the record is
deleted.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from faceaudit.latents.directions import Hyperplanes
from faceaudit.utils.errors import InputError
from published import checks, record, sheet, study
from published.faces import Faces
from published.fetch import fetch
from published.places import BUILD, FITTED_PLANES
from published.plan import SEEDS, TRANSECTS
from published.planes import read_planes
from published.products import NETWORKS, opened, summary


def main(arguments: Sequence[str]) -> int:
    """Make the study, or a part of it.

    Returns:
        0: it agrees with the record, or made it; 1: it differs, or could not be made; 130: it was
        interrupted.
    """
    command = parser()
    given = command.parse_args(arguments)
    if study.PLANES in (given.part or []) and given.planes is None:
        command.error("--part planes needs --planes")
    if given.live is not None and (given.live < 1 or given.write or given.part or given.planes):
        command.error("--live takes a number of faces from 1 on, and goes without other options")
    try:
        return _run(given)
    except (InputError, ChildProcessError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "interrupted; what is finished is kept, run the same command to go on", file=sys.stderr
        )
        sys.stderr.flush()
        os._exit(130)  # threads of the generator would end Python with an abort


def _run(given: argparse.Namespace) -> int:
    """Make what the command names, and write it or compare it with the record."""
    if not given.write:
        record.require_whole()
    print("fetching what is missing, and making images: some minutes at first", flush=True)
    fetch()
    wanted = _parts(given)
    fits = given.write and not FITTED_PLANES.is_file()
    faces = Faces(BUILD / ("live" if given.live else "images"), fits)
    planes = None
    if given.planes is not None:
        length = faces.generator.latent_dim
        planes = read_planes(given.planes, list(study.AXES_OF_PLANES), length)
    steps: dict[str, pd.DataFrame] = {}
    parts = {name: _part(faces, name, given, planes, steps) for name in wanted}
    rows = pd.concat(
        [table for part in parts.values() for table in study.record_of(part.images, faces)],
        ignore_index=True,
    )
    if given.write:
        if fits:
            faces.fitted.save(FITTED_PLANES)
        for part in parts.values():
            part.card["sides without a score"] = checks.sides_without_score(part.images, faces)
        if study.MEASURED in parts:
            measured = parts[study.MEASURED]
            measured.card.update(_checked(faces, measured, planes))
            measured.card["sheet"] = sheet.write(measured.images)
        record.write(rows, steps, _made_with(faces, parts))
        return 0
    comparison = record.compare(rows, record.read())
    print(comparison)
    return int(len(comparison.differing) > 0 or comparison.unknown > 0)


def parser() -> argparse.ArgumentParser:
    command = argparse.ArgumentParser(
        prog="python -m published",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("--live", type=int, metavar="N", help="faces, in place of all")
    command.add_argument("--planes", type=Path, metavar="FILE", help="of people's answers")
    command.add_argument(
        "--part", action="append", choices=list(study.STUDIES), help="of the study, in place of all"
    )
    command.add_argument("--write", action="store_true", help="make the record")
    return command


def _parts(given: argparse.Namespace) -> Sequence[str]:
    """The parts that are made: those that are named, or all that can be."""
    if given.live is not None:
        return [study.MEASURED]
    if given.part:
        return given.part
    return [name for name in study.STUDIES if name != study.PLANES or given.planes is not None]


def _part(
    faces: Faces,
    name: str,
    given: argparse.Namespace,
    planes: Hyperplanes | None,
    steps: dict[str, pd.DataFrame],
) -> study.Part:
    """A part of the study; the steps of faces that are steered are added to `steps`.

    What is compared with the record has its faces, moved by its steps: who is steered anew, or
    asked to take part, can turn with the machine.
    """
    seed = SEEDS[name]
    if given.write:
        chosen = study.adults(faces, TRANSECTS[name], seed, name)
    else:
        chosen = record.recorded_faces(name, given.live)
    if name == study.PLANES:
        return study.part_by_planes(faces, planes, chosen, seed)
    if not given.write:
        return study.measured_part(faces, record.steps_of(name, chosen), seed, name)
    steered = study.steer_faces(faces, chosen, seed, name)
    steps[name] = steered.steps
    part = study.measured_part(faces, steered.steps, seed, name)
    part.card.update(steered.card)
    return part


def _checked(faces: Faces, part: study.Part, planes: Hyperplanes | None) -> dict[str, Any]:
    """What the manifest says of the measured axis besides its own measures."""
    card = {"landmarks beside the mesh": checks.landmarks_beside_mesh(part.images, faces)}
    if planes is not None:
        low, high = part.codes[:, 0], part.codes[:, -1]
        card["beside given planes"] = checks.beside_given_planes(low, high, planes, faces)
    return card


def _made_with(faces: Faces, parts: dict[str, study.Part]) -> dict[str, Any]:
    return {
        "generator": faces.generator.card,
        "models": [
            {"told": network.told, "summary": summary(network), **opened(network).card()}
            for network in NETWORKS
        ],
        "fitted": faces.fitted.card(),
        "parts": {name: part.card for name, part in parts.items()},
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
