"""The faces of the study: who takes part, and the images that differ in one thing alone."""

from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

from faceaudit.generators.image_cache import synthesize_to_store
from faceaudit.generators.openvino_ir import OpenVinoGenerator
from faceaudit.images.skin_colour import linear_light, monk_tones, srgb_of_light
from faceaudit.latents.directions import Hyperplanes
from faceaudit.latents.measured_axis import Steered, fit_measures, steer
from faceaudit.latents.orthogonalization import dual_basis
from faceaudit.latents.transects import project
from faceaudit.utils import seeding
from faceaudit.utils.errors import InputError
from published.measures import MEASURES, SKIN, Landmarks, measure, skin_pixels
from published.places import FITTED_PLANES, GENERATOR, LANDMARKS

TRUNCATION = 0.7
PIXELS = 512
FITTED = 1500
"""Images by which the measures' planes are fitted."""
SEED_OF_FIT = 1
LEVELS = {"low": 5, "middle": 6, "high": 7}
"""Level of the measured axis → the tone of the Monk scale whose lightness it has."""
ROUNDS = 5
"""Of measuring; the first one is that of the face itself."""
NEAR = 2.0
"""L* at most beside its target in every image of a transect; others are left out."""


@dataclass(frozen=True)
class Faces:
    """The generator, the landmarks, and planes of measures, in a folder that keeps the images.

    Args:
        folder: of sets of images.
        fits: whether the planes of measures are fitted anew, and not those of the record.
    """

    folder: Path
    fits: bool = False

    @cached_property
    def generator(self) -> OpenVinoGenerator:
        return OpenVinoGenerator(GENERATOR, TRUNCATION, PIXELS)

    @cached_property
    def landmarks(self) -> Landmarks:
        return Landmarks(LANDMARKS)

    def images(self, codes: np.ndarray, name: str) -> np.ndarray:
        """Images (n, 3, 512, 512), uint8, of codes; a set of this name that is finished is kept."""
        return synthesize_to_store(self.generator, codes, self.folder / f"{name}.npy")

    def measured(self, images: np.ndarray) -> pd.DataFrame:
        return measure(images, self.landmarks(images))

    @cached_property
    def fitted(self) -> "Fitted":
        """The planes of all measures: of the record, or fitted to images of random codes."""
        if not self.fits:
            return Fitted.read(FITTED_PLANES)
        codes = self.generator.sample(FITTED, SEED_OF_FIT).numpy().astype(float)
        measures = self.measured(self.images(codes, "fitted"))
        by_lightness = LinearRegression().fit(measures[["L"]], measures[["a", "b"]])
        lightness = monk_tones().loc[list(LEVELS.values()), ["L"]]
        targets = np.column_stack([lightness, by_lightness.predict(lightness)])
        return Fitted(fit_measures(codes, measures), measures.std(), targets)

    def steered(self, codes: np.ndarray, start: pd.DataFrame, name: str) -> Steered:
        """Every face at every level of the measured axis, its images in a row.

        What is no skin keeps the value that it has in the image of the code itself.

        Args:
            codes: (n, D) of the base faces.
            start: (n, measures) of their images.
            name: of the sets of images.
        """
        targets = start.loc[start.index.repeat(len(LEVELS)), list(MEASURES)]
        targets = targets.reset_index(drop=True)
        targets[list(SKIN)] = np.tile(self.fitted.skin_targets, (len(codes), 1))
        rounds = count()

        def measure_codes(moved: np.ndarray) -> pd.DataFrame:
            number = next(rounds)
            if number == 0:  # no face has moved
                return start.loc[start.index.repeat(len(LEVELS))].reset_index(drop=True)
            return self.measured(self.images(moved, f"{name}-round-{number}"))

        repeated = codes.repeat(len(LEVELS), axis=0).astype(float)
        fitted = self.fitted
        return steer(measure_codes, repeated, targets, fitted.planes, fitted.scale, ROUNDS)

    def moved(self, codes: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Codes (n, D) after steps (n, measures) along the directions of the measures."""
        return codes + steps @ dual_basis(self.fitted.planes.normals)

    def along_random_axes(
        self, numbers: np.ndarray, low: np.ndarray, high: np.ndarray, seed: int
    ) -> np.ndarray:
        """Codes as far from the low level as the high one is, along axes that move no measure.

        Args:
            numbers: (n,) of the faces; a face has the same axis whoever else takes part.
            low: (n, D) codes at the low level.
            high: (n, D) codes at the high level.
            seed: of the axes.
        """
        normals = self.fitted.planes.normals
        drawn = seeding.normals(seed, "published: random axes", numbers, low.shape[1])
        inside = project(drawn, normals, np.zeros(len(normals)))
        length = np.linalg.norm(high - low, axis=1) / np.linalg.norm(inside, axis=1)
        return low + inside * length[:, None]

    def darkened(self, images: np.ndarray, twins: np.ndarray) -> np.ndarray:
        """Images whose light is dimmed until their skin reflects as much as that of their twins."""
        dimmed = np.empty_like(images)
        points = self.landmarks(images)
        points_of_twins = self.landmarks(twins)
        for row, (image, twin) in enumerate(zip(images, twins, strict=True)):
            light = linear_light(skin_pixels(image, points[row]) / 255).mean()
            light_of_twin = linear_light(skin_pixels(twin, points_of_twins[row]) / 255).mean()
            share = min(light_of_twin / light, 1.0)
            dimmed[row] = np.round(255 * srgb_of_light(share * linear_light(image / 255)))
        return dimmed


@dataclass(frozen=True)
class Fitted:
    """How codes and measures go together.

    Attributes:
        planes: of `MEASURES`.
        scale: standard deviation of each measure.
        skin_targets: L*, a* and b* (levels, 3). The lightness is that of the Monk scale. With the
            hue of the scale too, the whole picture turned yellow or the hair changed (tried), so
            the hue is what the generator's faces of that lightness have on average.
    """

    planes: Hyperplanes
    scale: pd.Series
    skin_targets: np.ndarray

    def correlations(self, codes: np.ndarray, measured: pd.DataFrame) -> pd.Series:
        """Of the planes' decision values of codes (n, D) with what is measured (n, measures)."""
        values = self.planes.decision_values(codes)
        expected = pd.DataFrame(values, measured.index, self.planes.names)
        return expected.corrwith(measured)

    def save(self, path: Path) -> None:
        """Write an `.npz` of plain arrays, which `read` reads."""
        np.savez(
            path,
            names=np.array(self.planes.names),
            normals=self.planes.normals,
            intercepts=self.planes.intercepts,
            scores=np.array([self.planes.scores[name] for name in self.planes.names]),
            scale=self.scale[list(self.planes.names)].to_numpy(),
            skin_targets=self.skin_targets,
        )

    @classmethod
    def read(cls, path: Path) -> "Fitted":
        """Read what `save` wrote.

        Raises:
            InputError: there is no such file.
        """
        if not path.is_file():
            raise InputError(
                f"{path} is missing; python -m published --write makes it",
                field=str(path),
                expected="the planes of measures of the record",
            )
        with np.load(path) as arrays:
            planes = Hyperplanes.from_arrays(arrays)
            scale = pd.Series(arrays["scale"], planes.names)
            return cls(planes, scale, arrays["skin_targets"])

    def card(self) -> dict[str, Any]:
        """For the manifest: cross-validated R² of the planes, and the targets."""
        return {
            "codes": FITTED,
            "seed": SEED_OF_FIT,
            "R²": {name: round(score, 3) for name, score in self.planes.scores.items()},
            "targets": dict(zip(LEVELS, self.skin_targets.round(2).tolist(), strict=True)),
        }
