"""Images of a generator, and what people and networks say of them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import torch

from faceaudit.file.parts import ON_CROPS, Crop, StyleNetwork
from faceaudit.file.specification import Specification
from faceaudit.generators.checkpoints import load_checkpoint
from faceaudit.generators.image_cache import Generator, synthesize_to_store
from faceaudit.generators.stylegan2 import StyleGenerator
from faceaudit.models.answers import ask_and_keep
from faceaudit.models.local import LocalModel, imported, local_model
from faceaudit.people.labels import Labels
from faceaudit.people.tasks import PeopleNeeded
from faceaudit.utils import seeding
from faceaudit.utils.arguments import require_shape
from faceaudit.utils.errors import fault
from faceaudit.utils.files import file_hash

SAMPLES = "audit/samples"
"""Key of the draw of the codes of which directions are found."""
LAST = "transects"
STAGES = {"samples": "sampled images", LAST: "matched images"}
STAGES |= {f"{part}-crops": f"crops of {name}" for part, name in STAGES.items()}
"""Part of an audit → how the report calls it, if not by its name."""


# --- codes and images


def generator_of(specification: Specification, device: str = "cpu") -> Generator:
    """The generator that an audit file names, with a `card`; an object has a device of its own."""
    source = specification.generator
    if isinstance(source, StyleNetwork):
        path = specification.beside(source.weights)
        network = load_checkpoint(path, kind=source.kind)
        found = StyleGenerator(
            network, device, truncation=source.truncation, precision=source.precision
        )
        found.card |= {"sha256": file_hash(path)}
        if source.precision != "float32":
            found.card["grey_levels_from_float32"] = found.rounding()
        return found
    where = f"{specification.path}: generator.object"
    inner = imported(source.object, where)
    inner = inner() if isinstance(inner, type) else inner
    if not all(hasattr(inner, name) for name in ("sample", "synthesize", "latent_dim")):
        raise fault("no_generator", where, source.object)

    def synthesize(w: torch.Tensor) -> torch.Tensor:
        images = torch.as_tensor(inner.synthesize(w), dtype=torch.float32)
        if images.ndim != 4 or images.shape[1] not in (1, 3):
            raise ValueError(
                f"{where} {source.object}: synthesize gave images of the shape "
                f"{tuple(images.shape)}, (n, 3, height, width) was expected, or (n, 1, height, "
                "width) of grey ones"
            )
        return images.expand(-1, 3, -1, -1)  # of grey images, three equal channels

    return SimpleNamespace(
        latent_dim=int(inner.latent_dim),
        device=torch.device(getattr(inner, "device", "cpu")),
        sample=lambda n, seed: torch.as_tensor(inner.sample(n, seed), dtype=torch.float32),
        synthesize=synthesize,
        card={"object": source.object, "version": source.version},
    )


def sampled_codes(generator: Generator, n: int, seed: int, stage: str) -> np.ndarray:
    """Codes of n faces, float32 (n, D), keyed by the audit's seed and a stage."""
    codes = generator.sample(n, int(seeding.rng(seed, stage).integers(2**31)))
    codes = torch.as_tensor(codes).detach().cpu().numpy().astype(np.float32)
    require_shape(codes, f"the generator's sample({n}, seed)", (n, generator.latent_dim))
    return codes


@dataclass
class RatedImages:
    """Images of a generator's codes, with what people say of them and what readers measure.

    Attributes:
        specification: of the audit.
        generator: of the images.
        folder: that keeps the images of every part of the audit, and their codes.
        ask: the audit, images, attributes and `stage` → labels, see `people.ask_for_labels`.
        about: of the part `people` of the report, a row for each time that people were asked.
        limits: of the report, that people brought.
        device: on which a reader's file computes.
    """

    specification: Specification
    generator: Generator
    folder: Path
    ask: Callable[..., Labels]
    about: list[dict[str, Any]] = field(default_factory=list)
    limits: dict[str, None] = field(default_factory=dict)
    device: str = "cpu"

    @torch.no_grad()
    def made(self, codes: np.ndarray, part: str) -> np.ndarray:
        """The images of codes (n, D), made once and kept under the name of a part."""
        self.folder.mkdir(parents=True, exist_ok=True)
        np.save(self.folder / f"{part}_codes.npy", codes.astype(np.float32))
        return synthesize_to_store(self.generator, codes, self.folder / f"{part}.npy")

    def look(
        self, images: np.ndarray, part: str, names: list[str], raters: int | None = None
    ) -> tuple[Labels, Labels]:
        """What people say of a part's images: of whole pictures, and with crops where there are.

        Gender is asked on crops alone, but in the last part, whose labels are of whole pictures.
        """
        own, crop = self.specification, getattr(self.specification.calibration, "crop", None)
        people = own.people.model_copy(update={"raters": raters} if raters else {})
        own = own.model_copy(update={"people": people})
        on_crops = [ON_CROPS] if crop and ON_CROPS in names else []
        tasks = {part: (images, [n for n in names if part == LAST or n not in on_crops])}
        tasks[f"{part}-crops"] = cropped(images, crop or (0, 0, 1, 1)), on_crops
        found, scores, error, waiting = [], {}, {}, []
        for stage, task in tasks.items():
            try:
                found += [(stage, self.ask(own, *task, stage=stage))] if task[1] else []
            except PeopleNeeded as stop:
                waiting.append(str(stop))
        if waiting:
            raise PeopleNeeded("\n".join(waiting))
        for stage, said in found:
            scores |= {name: said.scores[name].to_numpy() for name in said.scores}
            error |= {name: said.error[name].to_numpy() for name in said.error}
            called = {"stage": STAGES.get(stage, stage.replace("-", " "))}
            self.about.append(said.about | called | ({} if stage in STAGES else {"agreement": []}))
            self.limits |= dict.fromkeys(said.limits)
        return found[0][1], Labels(pd.DataFrame(scores)[names], error=pd.DataFrame(error))

    @cached_property
    def readers(self) -> list[LocalModel]:
        """The models that measure what people are not asked."""
        folder, given = self.specification.beside(Path()), self.specification.calibration
        readers = given.readers if given else []
        return [local_model(one, folder, "measures", self.device) for one in readers]

    def measured(self, images: np.ndarray) -> pd.DataFrame:
        """Measures of images, a column each; NaN where a reader found no face."""
        columns = {}
        for reader, model in enumerate(self.readers, 1):
            values, _ = ask_and_keep(model, images, self.folder / "measures")
            for number, column in enumerate(values.reshape(len(images), -1).T, 1):
                columns[f"measure {reader}.{number}"] = column
        return pd.DataFrame(columns, index=range(len(images)))


def cropped(images: np.ndarray, crop: Crop) -> np.ndarray:
    """The part of images (n, 3, height, width) that a crop shows."""
    sides = images.shape[:1:-1] * 2
    left, top, right, bottom = (round(end * n) for end, n in zip(crop, sides, strict=True))
    return images[:, :, top:bottom, left:right]
