"""Somebody's own generator in an audit: its file, directions from answers, and matched faces.

The steps are those of chapters 03 to 05: sampled codes and what is said of their images give a
hyperplane for every attribute, and the dual basis a direction that leaves the other attributes
where they are. `make reproduce GENERATOR=ffhq.pkl MODEL=gender.onnx` writes the audit file by the
pattern of `audits/study.yml`, and goes through it from then on.
"""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import torch
import yaml

from faceaudit.models import OnnxNetwork, imported
from faceaudit.parts import Style
from faceaudit.specification import Specification, read_specification
from faceaudit.wording import rendered, told
from helpers import directions, transects
from helpers.annotations import ATTRIBUTES
from helpers.artifacts.lineage import ROOT, file_hash, load_profile
from helpers.directions import Hyperplanes
from helpers.generators import Generator, convert, load_checkpoint, load_generator
from helpers.generators.batches import synthesize_to_store
from helpers.orthogonalization import VIF_CAP, dual_basis, variance_inflation
from helpers.utils import seeding
from helpers.utils.checks import require_shape
from helpers.utils.parallel import on_one_thread

AGE = "age"
SAMPLES, BASES = "audit/samples", "audit/bases"
"""Draws of codes: those that directions are found from, and those of the transects."""
CANDIDATES = 10
"""Codes drawn for every face, where children are left out."""
AUDITS = ROOT / "audits"
PATTERN = AUDITS / "study.yml"


# --- codes and images


def generator_of(specification: Specification, device: str = "cpu") -> Generator:
    """The generator that an audit file names, with a `card`; an object has a device of its own."""
    source = specification.generator
    if isinstance(source, Style):
        path, psi = specification.beside(source.weights), source.truncation
        found = load_generator(source.kind, device=device, weights=path, truncation=psi)
        found.card |= {"sha256": file_hash(path)}
        return found
    where = f"{specification.path}: generator.object"
    inner = imported(source.object, where)
    inner = inner() if isinstance(inner, type) else inner
    if not all(hasattr(inner, name) for name in ("sample", "synthesize", "latent_dim")):
        wanted = "an object with sample(n, seed), synthesize(w) and latent_dim"
        raise ValueError(f"{where} is {source.object}, {wanted} was expected")
    return SimpleNamespace(
        latent_dim=int(inner.latent_dim),
        device=torch.device(getattr(inner, "device", "cpu")),
        sample=lambda n, seed: torch.as_tensor(inner.sample(n, seed), dtype=torch.float32),
        synthesize=lambda w: torch.as_tensor(inner.synthesize(w), dtype=torch.float32),
        card={"object": source.object, "version": source.version},
    )


def sampled_codes(generator: Generator, n: int, seed: int, stage: str) -> np.ndarray:
    """Codes of n faces, float32 (n, D), keyed by the audit's seed and a stage."""
    codes = generator.sample(n, int(seeding.rng(seed, stage).integers(2**31)))
    codes = torch.as_tensor(codes).detach().cpu().numpy().astype(np.float32)
    require_shape(codes, f"the generator's sample({n}, seed)", (n, generator.latent_dim))
    return codes


@torch.no_grad()
def sampled_faces(
    specification: Specification, generator: Generator, folder: Path
) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n, D) that directions are found from, and their images, made once and kept."""
    folder.mkdir(parents=True, exist_ok=True)
    n, seed = specification.generator.samples, specification.design.seed
    codes = sampled_codes(generator, n, seed, SAMPLES)
    return codes, synthesize_to_store(generator, codes, folder / "samples.npy")


# --- directions


def matched(
    base: np.ndarray, planes: Hyperplanes, along: np.ndarray, levels: dict[str, Any]
) -> tuple[pd.DataFrame, np.ndarray]:
    """Base faces at all combinations of levels of the planes' axes.

    Returns their index (image_id, unit, `<axis>_level`) and codes (images, D).
    """
    codes = transects.grid(base, planes.normals, planes.intercepts, along, [*levels.values()])
    index = transects.index(len(base), levels).rename(columns={"transect": "unit"})
    index = index[["image_id", "unit", *(f"{name}_level" for name in levels)]]
    return index.astype({"unit": str}), codes.reshape(-1, codes.shape[-1])


@dataclass(frozen=True)
class Found:
    """What was found in a generator's codes.

    Attributes:
        planes: of every attribute that was asked about, then of the placebos.
        levels: axis or placebo → decision values of its low and its high level.
        held: attribute → the decision value that all faces get.
        limits: of the report.
        skill: attribute → how well its plane tells images that it was not fitted to: R², or, of two
            classes, 2 · balanced accuracy − 1 (informedness); by chance about 0, at best 1.
    """

    planes: Hyperplanes
    levels: dict[str, tuple[float, float]]
    held: dict[str, float]
    limits: list[str]
    skill: dict[str, float] = field(default_factory=dict)

    @on_one_thread
    def transects(self, codes: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
        """Index (image_id, unit, levels) and codes (images, D) of every face at all levels."""
        dual = dual_basis(self.planes.normals, vif_cap=np.inf)
        along = dual[[self.planes.names.index(name) for name in self.levels]]
        return matched(codes, self.planes.select([*self.levels]), along, self.levels)


@on_one_thread  # codes that differ in their last bits make images of other names, without answers
def find_directions(codes: np.ndarray, scores: pd.DataFrame, specification: Specification) -> Found:
    """Hyperplanes and levels from answers about sampled images.

    A placebo is a direction at random, at right angles to the normals of all attributes: it changes
    the picture, and nothing that anybody was asked about.

    Args:
        codes: of the sampled images (n, D).
        scores: a row per image, a column per attribute, in [0, 1]; rows with NaN are left out.
        specification: of the audit, whose generator has the quantiles and the cuts.

    Returns:
        What was found.
    """
    source = specification.generator
    known = scores.notna().all(axis=1).to_numpy()
    codes, scores = codes[known].astype(np.float64), scores[known]
    for name in scores:
        if scores[name].nunique() < 2:
            raise ValueError(
                f"{specification.path}: all answers about {name} are alike, so no direction can be "
                "found; ask about more images (generator.samples), or leave it out"
            )
    binary = {name: cut for name, cut in source.binary.items() if name in scores}
    continuous = [name for name in scores if name not in binary]
    try:
        planes = directions.fit_hyperplanes(codes, scores, continuous, binary)
        inflation = variance_inflation(planes.normals)
    except ValueError as error:
        raise ValueError(f"{specification.path}: {error}") from None
    fitted = planes
    if specification.placebos:
        planes = planes.join(_placebos(codes, planes, specification))
    values = pd.DataFrame(planes.decision_values(codes), columns=list(planes.names))
    axes = [*specification.axes, *specification.placebos]
    levels = {name: tuple(values[name].quantile([*source.quantiles])) for name in axes}
    free = [name for name in source.held if name in scores and name not in specification.axes]
    held = {name: float(values[name].quantile(source.held[name])) for name in free}
    close = [n for n, value in zip(fitted.names, inflation, strict=True) if value > VIF_CAP]
    limits = told("directions", fitted.scores, len(codes), AGE in fitted.names, close, free)
    skill = {name: 2 * one - 1 if name in binary else one for name, one in fitted.scores.items()}
    return Found(planes, levels, held, limits, skill)


def _placebos(codes: np.ndarray, planes: Hyperplanes, specification: Specification) -> Hyperplanes:
    """Planes at random, whose normals are at right angles to the others' and to each other."""
    names, seed = tuple(specification.placebos), specification.design.seed
    random = [seeding.rng(seed, f"audit/placebo/{name}") for name in names]
    drawn = np.stack([one.standard_normal(codes.shape[1]) for one in random])
    basis = np.linalg.qr(np.concatenate([planes.normals, drawn]).T)[0].T
    normals = basis[len(planes.names) :]
    return Hyperplanes(names, normals, -(codes @ normals.T).mean(axis=0))


@on_one_thread
def base_codes(
    generator: Generator, found: Found, units: int, specification: Specification
) -> np.ndarray:
    """Codes of the faces of the transects, float64 (units, D).

    They are neutral in every axis, and what is held has one value in all of them (transects 4.1.4).
    Where people were asked about age and it is no axis, every face keeps its own, and only those
    count whose age is at least `generator.adult` by the plane that was fitted to the answers.
    """
    axes, seed, source = [*found.levels], specification.design.seed, specification.generator
    keeps_age = AGE in found.planes.names and AGE not in [*axes, *found.held]
    codes = sampled_codes(generator, units * CANDIDATES**keeps_age, seed, BASES)
    fixed = found.planes.select([*axes, *found.held, *[AGE] * keeps_age])
    values = np.tile([*[0.0] * len(axes), *found.held.values(), *[0.0] * keeps_age], (units, 1))
    if keeps_age:
        ages = found.planes.select([AGE]).decision_values(codes)[:, 0]
        # The middle of the scale has the value zero; an attribute cut in two has its cut there.
        adults = np.flatnonzero(ages >= (0.0 if AGE in source.binary else source.adult - 0.5))
        if len(adults) < units:
            raise ValueError(
                f"{specification.path}: only {len(adults)} of {len(codes)} faces of the generator "
                f"are at least as old as generator.adult ({source.adult:g}), {units} are needed; "
                "lower it, or take fewer transects"
            )
        codes = codes[adults[:units]]
        values[:, -1] = fixed.decision_values(codes)[:, -1]
    return transects.project(codes, fixed.normals, fixed.intercepts, values)


# --- the audit file


def study_file(generator: Path, folder: Path = AUDITS) -> Path:
    """Where the audit file of a generator's file is: `<folder>/<name>.yml`."""
    return folder / f"{re.sub('[^a-z0-9]+', '-', generator.stem.lower()).strip('-')}.yml"


def write_study(
    generator: Path, model: Path | None, crowd: Path | None, profile: str, folder: Path = AUDITS
) -> Path:
    """Write the audit file of a generator's file.

    Args:
        generator: weights of a StyleGAN2 or EG3D, as of `load_checkpoint`.
        model: ONNX file of the model that is asked about the faces.
        crowd: folder for exports of people's answers, in `samples` and `transects`; None for the
            place that the audit names.
        profile: whose sizes the study has.
        folder: of audit files.
    """
    path = study_file(generator, folder)
    if model is None:
        raise ValueError("MODEL is missing; the ONNX file of a model was expected")
    network, sizes = load_checkpoint(generator), load_profile(profile)
    content = yaml.safe_load(PATTERN.read_text(encoding="utf-8"))
    content["name"] = path.stem
    chosen = network.card.get("psi", convert.PSI)  # where somebody did, at the conversion
    default = Style.model_fields["truncation"].default
    content["generator"] = {
        "kind": network.kind,
        "weights": os.path.relpath(generator, folder),
        "samples": sizes.n_directions,
        "quantiles": content["generator"]["quantiles"],
        "truncation": default if chosen == convert.PSI else chosen,
    }
    content["people"]["raters"] = sizes.n_raters
    if crowd is not None:
        content["people"]["export"] = os.path.relpath(crowd, folder)
    content["model"] |= {"path": os.path.relpath(model, folder), "output": {"activation": "none"}}
    content["model"]["input"] = _input(model, network.resolution)
    content["design"]["transects"] = sizes.n_transects
    form = {"sort_keys": False, "allow_unicode": True, "default_flow_style": None, "width": 100}
    values = {"generator": generator.name, "profile": profile, "positive": content["classes"][1]}
    text = rendered("study.yml.j2", content=yaml.safe_dump(content, **form), **values)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def require_study(path: Path, generator: Path) -> None:
    """Raise ValueError where an audit file is about another generator, or leaves out a question."""
    audit = read_specification(path)
    weights = getattr(audit.generator, "weights", None)
    if weights is None or audit.beside(weights).resolve() != generator.resolve():
        raise ValueError(
            f"{path} is no audit of GENERATOR={generator}: its generator is "
            f"{weights or f'of the kind {audit.generator.kind}'}; rename one of the two files"
        )
    require_questions(audit)


def require_questions(audit: Specification) -> None:
    """Raise ValueError where people are not asked all that the papers' steps need."""
    if lacking := [name for name in ATTRIBUTES if name not in audit.asked]:
        raise ValueError(
            f"{audit.path}: annotated lacks {', '.join(lacking)}, which pruning and the regression "
            f"of the papers' study need; make audit AUDIT={audit.path} goes without"
        )


def _input(model: Path, size: int) -> dict[str, Any]:
    """What an ONNX file says of the images that it takes; this size, where it takes any.

    A file that takes no images is refused when the audit opens it.
    """
    shape = OnnxNetwork(model).input.shape
    layout, sides = ("nhwc", shape[1:3]) if shape[-1] == 3 else ("nchw", shape[2:])
    size = next((side for side in sides if isinstance(side, int)), size)
    return {"size": size, "layout": layout, "range": [0, 1]}
