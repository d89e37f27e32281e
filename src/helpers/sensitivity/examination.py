"""The gate that a learned generator has to pass before its flips of smiles can mean anything.

Three questions are asked of it, whatever it was trained on: do codes tell smiling renders from
others, have samples two eyes and a mouth, and do samples lie among renders where a classifier of
smiles looks? The answers stand on the card of the weights.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import torch
from scipy.ndimage import gaussian_filter
from statsmodels.stats.proportion import proportion_confint

from helpers import models
from helpers.generators import WGANGenerator
from helpers.generators.wgan import SIZE
from helpers.models import part_reader, sample_quality
from helpers.sensitivity.vectors import as_uint8, attribute_vector, balanced_rows
from helpers.world import celeba, populations
from helpers.world.batches import render_to_store

POPULATION = "celeba-like"
TRAINED, EPOCHS = 10_000, 7
"""Renders that the classifier of smiles and the reader of parts learn from, and how often."""
EACH = 2_000
"""Codes of smiling renders, and as many of others, for the vector of smiles."""
TRAINING_SHARE = 0.8
SAMPLES = 1_000
NEIGHBOURS = 3
BLUR = 0.02
"""Of blurred renders, as a part of their size."""
ACCURACY, ACCURACY_LOW, PARTS_FOUND = 0.65, 0.6, 0.95
"""What the vector's held-out accuracy and the lower end of its interval must exceed, and the share
of samples that must have all parts."""


def examine(generator: WGANGenerator, folder: Path, seed: int, device: str = "cpu") -> dict:
    """Measure a learned generator against its gate.

    Args:
        generator: a trained one.
        folder: where renders and networks are kept for a second examination; made if need be.
        seed: of the faces, which should be others than those that the generator saw.
        device: "cpu" or "cuda".

    Returns:
        smiling: estimate, low, high and n of the vector's held-out accuracy; parts: the same of
        samples in which all parts are found, and the shares among renders and renders without one;
        quality: precision and recall of other renders, blurred ones and samples.
    """
    folder.mkdir(parents=True, exist_ok=True)
    population = populations.sample(POPULATION, TRAINED + 2 * EACH + 2 * SAMPLES, seed)
    renders = render_to_store(population.parameters, SIZE, folder / "renders.npy", device=device)
    smiles = celeba.celeba_attributes(population.parameters)[["Smiling"]]
    taught, asked = slice(TRAINED), slice(TRAINED, None)
    settings = {"seed": seed, "epochs": EPOCHS, "device": device}
    classifier = models.train(
        renders[taught],
        smiles["Smiling"].to_numpy()[taught].astype(int),
        folder / "smiling.safetensors",
        architecture="small",
        **settings,
    )
    made = as_uint8(generator.synthesize(generator.sample(SAMPLES, seed)))
    return {
        "smiling": _smiling(generator, renders[asked], smiles[asked].reset_index(drop=True), seed),
        "parts": _parts(made, folder, settings),
        "quality": _quality(classifier, renders[-2 * SAMPLES :], made),
    }


def passes(examined: dict) -> bool:
    """Whether measures as of `examine` pass the gate."""
    smiling, parts = examined["smiling"], examined["parts"]["samples"]
    told = smiling["estimate"] > ACCURACY and smiling["low"] > ACCURACY_LOW
    return bool(told and parts["estimate"] >= PARTS_FOUND)


def _smiling(
    generator: WGANGenerator, renders: np.ndarray, smiles: pd.DataFrame, seed: int
) -> dict[str, float]:
    codes = generator.encode(torch.from_numpy(renders.copy()).float() / 255).cpu().numpy()
    each = min(EACH, *smiles["Smiling"].value_counts())
    rows = balanced_rows(smiles, "Smiling", each, (), None, seed)
    vector = attribute_vector(codes, *rows, TRAINING_SHARE, seed, "Smiling")
    names = {"estimate": "accuracy", "low": "low", "high": "high", "n": "n_test"}
    return {name: round(float(getattr(vector, of)), 4) for name, of in names.items()}


def _parts(made: np.ndarray, folder: Path, settings: dict) -> dict[str, dict[str, float]]:
    known = models.decorrelated_faces(TRAINED + SAMPLES, settings["seed"])
    renders = render_to_store(known, SIZE, folder / "known.npy", device=settings["device"])
    path = folder / "parts.safetensors"
    reader = part_reader.train_part_reader(renders[:TRAINED], known[:TRAINED], path, **settings)
    tests = part_reader.with_and_without(renders[TRAINED:], known[TRAINED:], settings["seed"])
    return {
        name: share(part_reader.all_found(reader, images))
        for name, images in (tests | {"samples": made}).items()
    }


def share(found: np.ndarray) -> dict[str, float]:
    """A share with its Wilson interval of 95 %: estimate, low, high, n."""
    low, high = proportion_confint(found.sum(), len(found), method="wilson")
    values = {"estimate": found.mean(), "low": low, "high": high, "n": len(found)}
    return {name: round(float(value), 4) for name, value in values.items()}


def _quality(
    classifier: models.AuditedModel, renders: np.ndarray, made: np.ndarray
) -> dict[str, dict[str, float]]:
    real, other = np.array_split(renders, 2)
    sets = {"other renders": other, "renders, blurred": blurred(other), "samples": made}
    reference = sample_quality.features(classifier, real)
    table = {}
    for name, images in sets.items():
        cloud = sample_quality.features(classifier, images)
        found = sample_quality.precision_recall(reference, cloud, NEIGHBOURS)
        table[name] = dict(zip(("precision", "recall"), np.round(found, 4).tolist(), strict=True))
    return table


def blurred(images: np.ndarray) -> np.ndarray:
    """Images slightly out of focus, which a measure of quality must notice."""
    size = images.shape[-1]
    return gaussian_filter(images, (0, 0, BLUR * size, BLUR * size))
