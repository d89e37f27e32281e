"""Faces of the known-truth world for an audit: transects, simulated people, and the truth.

The recipe is that of chapters 05, 06 and 10, with the exact directions, which move nothing but the
axes: base faces of adults, projected onto the axes' hyperplanes, shown at every combination of the
doses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import facerender
from faceaudit.specification import Specification
from helpers import errors, transects
from helpers.annotations.crowd import annotate, mean_scores, perceived
from helpers.directions import Hyperplanes
from helpers.generators import KnownTruthGenerator
from helpers.scorecard import truth
from helpers.world.batches import render_to_store

DOSES = (0.2, 0.8)
"""Of an axis, on its scale from 0 to 1, unless the audit file has others."""
STAGE = "audit"


@dataclass(frozen=True)
class World:
    """The design of an audit in the face world.

    Attributes:
        generator: of the faces.
        planes: exact hyperplanes of the axes, of what is held, and of age.
        axes: all that are manipulated, placebos last, with their doses.
        recipe: arguments of `helpers.transects.base_latents`.
    """

    generator: KnownTruthGenerator
    planes: Hyperplanes
    axes: dict[str, tuple[float, float]]
    recipe: dict[str, Any]

    @classmethod
    def of(cls, specification: Specification) -> World:
        """The design that an audit file describes.

        Raises:
            ValueError: an axis that the world does not have.
        """
        source, generator = specification.generator, KnownTruthGenerator()
        axes = [*specification.axes, *specification.placebos]
        if unknown := [name for name in axes if name not in facerender.INDEX]:
            raise ValueError(
                f"{specification.path}: axes has {unknown[0]!r}, which the face world cannot "
                f"change; it has {', '.join(facerender.INDEX)}"
            )
        held = {name: dose for name, dose in source.held.items() if name not in axes}
        names = (*axes, *held, "age")
        recipe = {
            "youngest": float(generator.decision_value("age", source.adult)),
            "held": {n: float(generator.decision_value(n, dose)) for n, dose in held.items()},
            "seed": specification.design.seed,
        }
        planes = Hyperplanes(names, *generator.exact_hyperplanes(names))
        return cls(generator, planes, {n: source.doses.get(n, DOSES) for n in axes}, recipe)

    def base(self, n: int, stage: str) -> np.ndarray:
        """Latent codes of n base faces (n, D)."""
        axes = [*self.axes]
        return transects.base_latents(
            self.generator, self.planes, axes, n, stage=stage, **self.recipe
        )

    def faces(self, n: int) -> tuple[pd.DataFrame, torch.Tensor]:
        """Index (image_id, unit, levels) and parameters of all images of n transects."""
        generator, own = self.generator, self.planes.select([*self.axes])
        decisions = {
            name: generator.decision_value(name, np.array(doses))
            for name, doses in self.axes.items()
        }
        along, levels = generator.exact_directions([*self.axes]), [*decisions.values()]
        codes = transects.grid(self.base(n, STAGE), own.normals, own.intercepts, along, levels)
        flat = torch.from_numpy(codes.reshape(-1, codes.shape[-1]))
        return transect_index(n, decisions), generator.parameters(flat)

    def truth(
        self,
        score: Callable[[np.ndarray], np.ndarray],
        threshold: float,
        n: int,
        size: int,
        label: str,
        path: Path,
        axes: list[str],
    ) -> pd.DataFrame:
        """Effects by intervention on n other base faces; see `helpers.scorecard.truth`."""
        base = self.generator.parameters(torch.from_numpy(self.base(n, f"{STAGE}/truth")))
        given = []

        def answer(images: np.ndarray) -> np.ndarray:
            given.append(score(images))
            return (given[0] > threshold).astype(float)  # that function cuts at 0.5

        doses = {name: self.axes[name] for name in axes}
        wrong = truth.errors_under_do(answer, base, doses, size=size, path=path, label=label)
        # Without an answer there is neither an error nor a true rate of errors.
        wrong[np.isnan(given[0]).reshape(wrong.shape)] = np.nan
        return truth.effects(wrong, axes)


def transect_index(n: int, levels: dict[str, Any]) -> pd.DataFrame:
    """Index of n faces at all combinations of levels: image_id, unit, `<axis>_level`."""
    index = transects.index(n, levels).rename(columns={"transect": "unit"})
    keep = ["image_id", "unit", *(f"{name}_level" for name in levels)]
    return index[keep].astype({"unit": str})


def render_faces(parameters: torch.Tensor, size: int, folder: Path) -> np.ndarray:
    """Images of faces (n, P), rendered once and kept in a folder: uint8 (n, 3, size, size)."""
    folder.mkdir(parents=True, exist_ok=True)
    return render_to_store(parameters, size, folder / "images.npy")


def simulated_answers(
    index: pd.DataFrame, parameters: torch.Tensor, specification: Specification
) -> pd.DataFrame:
    """What a simulated crowd says of the images: the label, and scores of what is annotated.

    Args:
        index: with image_id.
        parameters: of the faces.
        specification: its attribute, annotated attributes and raters count.

    Returns:
        The index with label (majority of the attribute, 0 or 1) and the annotated columns.

    Raises:
        ValueError: an attribute that people are not asked about.
    """
    seen = perceived(facerender.visible_scores(parameters)).set_index(index["image_id"])
    wanted, seed = specification.asked, specification.design.seed
    if unknown := [name for name in wanted if name not in seen]:
        raise ValueError(
            f"{specification.path}: people are not asked about {unknown[0]!r}; attribute and "
            f"annotated may have {', '.join(seen)}"
        )
    answers = annotate(seen[wanted], specification.people.raters, seed=seed, stage=STAGE)
    scores = mean_scores(answers).loc[index["image_id"]].reset_index(drop=True)
    label = errors.majority(scores[specification.attribute])
    return index.assign(label=label, **scores[specification.annotated])
