"""What is checked about the measured axis: its landmarks, and what else a step along it moves."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from faceaudit.latents.directions import Hyperplanes
from published.faces import LEVELS, Faces
from published.products import NETWORKS
from published.study import Images, answers_of

POINT_OF_MESH: Mapping[int, int] = {33: 36, 133: 39, 362: 42, 263: 45, 1: 30, 61: 48, 291: 54}
"""Point of the product's face mesh → the same point of dlib's 68: eyes, tip of the nose, mouth."""
SIDE = "says male"
SAMPLED = 2000
"""Random codes whose spread along a plane is its unit."""


def landmarks_beside_mesh(images: Images, faces: Faces) -> dict[str, Any]:
    """How far the landmarks lie from those of a product that is audited, by level of skin.

    Returns:
        Level → median distance of the points, and their mean shift to the right and down, in shares
        of the distance of the outer corners of the eyes; and how many images the product found a
        face in.
    """
    at_levels = images.table["skin"].isin(LEVELS).to_numpy() & (images.table["exposure"] == "")
    table = images.table[at_levels]
    pixels = images.pixels[at_levels]
    points = faces.landmarks(pixels)[:, list(POINT_OF_MESH.values())]
    answers = answers_of(NETWORKS[0], pixels, faces.folder).answers
    mesh = np.stack(
        [
            np.stack([answers[f"{axis} of landmark {point}"] for axis in "xy"], axis=1)
            for point in POINT_OF_MESH
        ],
        axis=1,
    )
    corners = list(POINT_OF_MESH)
    left = points[:, corners.index(33)]
    right = points[:, corners.index(263)]
    eyes = np.linalg.norm(right - left, axis=1)
    shift = (mesh - points) / eyes[:, None, None]
    found = np.isfinite(shift).all(axis=(1, 2))
    distance = np.linalg.norm(shift, axis=2).mean(axis=1)
    compared = {}
    for level in LEVELS:
        rows = found & (table["skin"] == level).to_numpy()
        compared[level] = {
            "images": int(rows.sum()),
            "median distance": round(float(np.median(distance[rows])), 4),
            "shift": np.round(shift[rows].mean(axis=(0, 1)), 4).tolist(),
        }
    return compared


def sides_without_score(images: Images, faces: Faces) -> dict[str, dict[str, int]]:
    """Which networks say male or female of an image, and give no score with it.

    Returns:
        Network → in how many images, and of how many of them it says male. Networks that give a
        score wherever they say a side are left out.
    """
    without = {}
    for network in NETWORKS:
        answers = answers_of(network, images.pixels, faces.folder).answers
        if SIDE not in answers:
            continue
        silent = np.isnan(answers["P(male)"]) & np.isfinite(answers[SIDE])
        if silent.any():
            says_male = int(answers[SIDE][silent].sum())
            without[network.told["P(male)"]] = {"images": int(silent.sum()), "male": says_male}
    return without


def beside_given_planes(
    low: np.ndarray, high: np.ndarray, planes: Hyperplanes, faces: Faces
) -> dict[str, Any]:
    """The measured axis beside planes of people's answers, which are not published with it.

    Args:
        low: (n, D) codes at the low level.
        high: (n, D) codes of the same faces at the high level.
        planes: of people's answers.
        faces: whose plane of lightness is compared.

    Returns:
        Plane → its cosine with the plane of lightness, and how far the step from the low to the
        high level moves its decision value, in standard deviations of random codes.
    """
    sampled = faces.generator.sample(SAMPLED, 0).numpy()
    spread = planes.decision_values(sampled).std(axis=0)
    step = planes.decision_values(high) - planes.decision_values(low)
    names = list(faces.fitted.planes.names)
    lightness = faces.fitted.planes.normals[names.index("L")]
    lengths = np.linalg.norm(planes.normals, axis=1) * np.linalg.norm(lightness)
    cosines = planes.normals @ lightness / lengths
    return {
        name: {
            "cosine": round(float(cosine), 3),
            "step in sd": round(float(moved), 3),
        }
        for name, cosine, moved in zip(
            planes.names, cosines, step.mean(axis=0) / spread, strict=True
        )
    }
