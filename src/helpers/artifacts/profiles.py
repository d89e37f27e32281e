"""Profiles: how large a run is. Each is a file `profiles/<name>.yml` of papermill parameters.

A notebook's parameters cell declares the parameters it uses, with the laptop values; the executor
passes it those of the chosen profile. Nothing else in the code depends on a profile's name.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import yaml

from helpers.artifacts.lineage import ROOT, State, state

FOLDER = ROOT / "profiles"


@dataclass(frozen=True)
class Profile:
    """Sizes of a run; every field is required in the file, and nothing else is allowed."""

    seed: int  # of every keyed draw
    image_size: int  # pixels; what the audited models see
    figure_size: int  # pixels; faces rendered for the eye
    architecture: str  # of the audited models: "small" or "resnet50"
    n_train: int  # images in each training sample
    epochs: int  # of training
    n_heldout: int  # unseen images per audited model
    n_test: int  # images in the PPB-like test set
    n_population: int  # faces annotated to describe each population
    n_directions: int  # annotated latents to which hyperplanes are fitted
    n_transects: int  # 2×2×2 transects, eight images each
    n_truth: int  # base faces for the truth by intervention
    n_raters: int  # annotators per image
    n_boot: int  # bootstrap resamples
    n_audits: int  # repeated audits in the scorecard
    n_sweep: int  # transects at every step of the scorecard's sweeps
    n_seeds: int  # of the verification study, six prototypes each
    n_labelled: int  # latents labelled by a classifier in the verification study
    n_identities: int  # people in the training set of each recogniser
    recognition_epochs: int  # of the recognisers' training
    n_inferred: int  # codes with, and as many without, each attribute of the learned generator
    n_codes: int  # codes that walk along attribute vectors
    n_reader: int  # renders from which attributes are learnt to be read
    n_do: int  # base faces for the true score sensitivity


def names() -> list[str]:
    """The profiles there are."""
    return sorted(path.stem for path in FOLDER.glob("*.yml"))


def load(name: str, folder: Path = FOLDER) -> Profile:
    """Read and check a profile.

    Raises:
        ValueError: unknown profile, missing or unknown field, or a value of another type or
            below 1; the message names the file and the field.
    """
    path = folder / f"{name}.yml"
    known = sorted(p.stem for p in folder.glob("*.yml"))
    if name not in known:
        raise ValueError(f"unknown profile {name!r}: no file {path}; there are: {', '.join(known)}")
    return _read(path, state(path))


@cache
def _read(path: Path, _: State) -> Profile:
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected `name: value` lines, got {type(values).__name__}")
    wanted = {field.name: {"int": int, "str": str}[str(field.type)] for field in fields(Profile)}
    if missing := sorted(wanted.keys() - values.keys()):
        raise ValueError(f"{path}: missing {', '.join(missing)}")
    if unknown := sorted(values.keys() - wanted.keys()):
        raise ValueError(f"{path}: unknown {', '.join(unknown)}; known are {', '.join(wanted)}")
    for key, kind in wanted.items():
        if type(values[key]) is not kind:
            raise ValueError(f"{path}: {key} must be {kind.__name__}, got {values[key]!r}")
        if kind is int and values[key] < 1:
            raise ValueError(f"{path}: {key} must be at least 1, got {values[key]}")
    return Profile(**values)
