"""Where the study's files lie, and which they are."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "published"
"""What is fetched and made; it can be deleted."""
RECORD = ROOT / "audits" / "published"
"""The plan, the answers, and what they were made with."""
LOCK = RECORD / "requirements.lock"
"""Packages of PyPI that are unpacked and not installed: their versions and the hashes of files."""
FITTED_PLANES = RECORD / "measures.npz"
"""Planes of what is measured on pictures, in the generator's codes."""
UNPACKED = BUILD / "packages"
GENERATOR = UNPACKED / "random_face" / "data"
LANDMARKS = (
    UNPACKED
    / "face_recognition_models-0.3.0"
    / "face_recognition_models"
    / "models"
    / "shape_predictor_68_face_landmarks.dat"
)
NODE = BUILD / "node"


def make_importable() -> None:
    """Let Python find the packages that were unpacked, after those of the environment."""
    if str(UNPACKED) not in sys.path:
        sys.path.append(str(UNPACKED))
