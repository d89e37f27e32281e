"""Images of a generator's codes, and what people and networks say of them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from faceaudit.file.parts import ON_CROPS, Crop
from faceaudit.file.specification import Specification
from faceaudit.generators.image_cache import Generator, synthesize_to_store
from faceaudit.models.answers import ask_and_keep
from faceaudit.models.local import LocalModel, local_model
from faceaudit.people.labels import Labels
from faceaudit.people.tasks import PeopleNeeded
from faceaudit.utils.pictures import box

TRANSECTS = "transects"
"""The last part of an audit, whose labels are those of its report."""
CROPS = "-crops"
"""End of the name of the stage at which people are asked about crops of a part's images."""
STAGE_NAMES = {
    "samples": "sampled images",
    f"samples{CROPS}": "crops of sampled images",
    TRANSECTS: "matched images",
    f"{TRANSECTS}{CROPS}": "crops of matched images",
}
"""Stage of an audit → its name in the report. Rounds of a calibration are called by the stage."""


@dataclass
class RatedImages:
    """Images of a generator's codes, with what people say of them and what readers measure.

    Attributes:
        specification: of the audit.
        generator: of the images.
        folder: that keeps the images of every part of the audit, and their codes.
        ask: the audit, images, attributes and `stage` → labels, see `people.labels.ask_for_labels`.
        people_records: rows of the part `people` of the report, one for each time that people were
            asked.
        limits: of the report, that people brought; keys without values, so that each is there once.
        device: on which a reader's file computes.
    """

    specification: Specification
    generator: Generator
    folder: Path
    ask: Callable[..., Labels]
    people_records: list[dict[str, Any]] = field(default_factory=list)
    limits: dict[str, None] = field(default_factory=dict)
    device: str = "cpu"

    @torch.no_grad()
    def synthesize(self, codes: np.ndarray, part: str) -> np.ndarray:
        """The images of codes (n, D), which are made once and kept under the name of a part."""
        self.folder.mkdir(parents=True, exist_ok=True)
        np.save(self.folder / f"{part}_codes.npy", codes.astype(np.float32))
        return synthesize_to_store(self.generator, codes, self.folder / f"{part}.npy")

    def rate(
        self, images: np.ndarray, part: str, attributes: list[str], raters: int | None = None
    ) -> tuple[Labels, Labels]:
        """Ask people about a part's images.

        Where the calibration has a crop, gender is asked on crops; in the last part, whose labels
        are those of the report, it is asked on whole images as well.

        Args:
            images: uint8 (n, 3, height, width), of the part.
            part: of the audit.
            attributes: that people are asked about.
            raters: people for each image, by default as many as the audit file says.

        Returns:
            Labels by whole images, and labels with those by crops in place of the same attributes
            by whole images.

        Raises:
            PeopleNeeded: people have to answer first, about whole images or crops.
        """
        labels_by_stage = self._ask_about_stages(images, part, attributes, raters)
        scores = {}
        squared_errors = {}
        for stage, labels in labels_by_stage.items():
            for name in labels.scores:
                scores[name] = labels.scores[name].to_numpy()
            for name in labels.squared_errors:
                squared_errors[name] = labels.squared_errors[name].to_numpy()
            self._keep_record(stage, labels)
        whole = next(iter(labels_by_stage.values()))
        combined = Labels(
            pd.DataFrame(scores)[attributes], squared_errors=pd.DataFrame(squared_errors)
        )
        return whole, combined

    def _ask_about_stages(
        self, images: np.ndarray, part: str, attributes: list[str], raters: int | None
    ) -> dict[str, Labels]:
        """Labels by stage, of whole images and then of crops; see `rate`.

        Both kinds of tasks are written before the audit stops for people.
        """
        audit = self.specification
        people = audit.people
        if raters:
            people = people.model_copy(update={"raters": raters})
        audit = audit.model_copy(update={"people": people})
        calibration = self.specification.calibration
        crop = calibration.crop if calibration else None
        on_crops = [ON_CROPS] if crop and ON_CROPS in attributes else []
        on_whole = [name for name in attributes if part == TRANSECTS or name not in on_crops]
        tasks = {}
        if on_whole:
            tasks[part] = (images, on_whole)
        if crop and on_crops:
            tasks[f"{part}{CROPS}"] = (crop_images(images, crop), on_crops)
        labels_by_stage = {}
        missing = []
        for stage, (shown_images, names) in tasks.items():
            try:
                labels_by_stage[stage] = self.ask(audit, shown_images, names, stage=stage)
            except PeopleNeeded as stop:
                missing.append(str(stop))
        if missing:
            raise PeopleNeeded("\n".join(missing))
        return labels_by_stage

    def _keep_record(self, stage: str, labels: Labels) -> None:
        """Add what the report says of people at a stage; rounds have no table of agreement."""
        record = labels.people_record | {"stage": STAGE_NAMES.get(stage, stage.replace("-", " "))}
        if stage not in STAGE_NAMES:
            record["agreement"] = []
        self.people_records.append(record)
        self.limits.update(dict.fromkeys(labels.limits))

    @cached_property
    def readers(self) -> list[LocalModel]:
        """The models that measure what people are not asked."""
        calibration = self.specification.calibration
        if calibration is None:
            return []
        folder = self.specification.beside(Path())
        return [local_model(part, folder, "measures", self.device) for part in calibration.readers]

    def measure(self, images: np.ndarray) -> pd.DataFrame:
        """Measures of images by the readers, a column each; NaN where a reader found no face."""
        columns = {}
        for reader, model in enumerate(self.readers, 1):
            values, _ = ask_and_keep(model, images, self.folder / "measures")
            for number, column in enumerate(values.reshape(len(images), -1).T, 1):
                columns[f"measure {reader}.{number}"] = column
        return pd.DataFrame(columns, index=range(len(images)))


def crop_images(images: np.ndarray, crop: Crop) -> np.ndarray:
    """The part of images (n, 3, height, width) that a crop shows: left, top, right and bottom."""
    height, width = images.shape[2:]
    rows, columns = box(height, width, crop)
    return images[:, :, rows, columns]
