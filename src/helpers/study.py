"""The papers' whole study as an audit file, for a generator that the user brings."""

import os
import re
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from faceaudit.annotations.schema import ATTRIBUTES
from faceaudit.file.specification import Specification, read_specification
from faceaudit.generators import convert
from faceaudit.generators.checkpoints import load_checkpoint
from faceaudit.models.local import OnnxNetwork
from faceaudit.utils.errors import InputError
from faceaudit.utils.files import write_text
from helpers.artifacts.lineage import ROOT, load_profile

AUDITS = ROOT / "audits"
PATTERN = AUDITS / "study.yml"


# --- the audit file


def study_file(generator: Path, folder: Path = AUDITS) -> Path:
    """Path of the audit file of a generator's file: `<folder>/<name>.yml`."""
    return folder / f"{re.sub('[^a-z0-9]+', '-', generator.stem.lower()).strip('-')}.yml"


def write_study(
    generator: Path, model: Path | None, crowd: Path | None, profile: str, folder: Path = AUDITS
) -> Path:
    """Write the audit file of a generator's file.

    Args:
        generator: weights of a StyleGAN2 or EG3D, as of `load_checkpoint`.
        model: ONNX file of the model that is asked about the faces.
        crowd: folder for exports of people's answers, with one for each part; None for the place
            that the audit names.
        profile: whose sizes the study has.
        folder: of audit files.

    Returns:
        Path of the audit file.

    Raises:
        InputError: the model is missing, or a file cannot be used.
    """
    path = study_file(generator, folder)
    if model is None:
        raise InputError(
            "MODEL is missing; the ONNX file of a model was expected",
            field="MODEL",
            expected="the ONNX file of a model",
        )
    network = load_checkpoint(generator)
    sizes = load_profile(profile)
    content = yaml.safe_load(PATTERN.read_text(encoding="utf-8"))
    content["name"] = path.stem
    content["generator"] = {
        "kind": network.kind,
        "weights": os.path.relpath(generator, folder),
        "samples": sizes.n_directions,
        "quantiles": content["generator"]["quantiles"],
        "truncation": network.card.get("psi", convert.NO_TRUNCATION),  # of the conversion
    }
    content["people"]["raters"] = sizes.n_raters
    if crowd is not None:
        content["people"]["export"] = os.path.relpath(crowd, folder)
    content["model"] |= {"path": os.path.relpath(model, folder), "output": {"activation": "none"}}
    content["model"]["input"] = _input(model, network.resolution)
    content["design"]["transects"] = sizes.n_transects
    form = {"sort_keys": False, "allow_unicode": True, "default_flow_style": None, "width": 100}
    values = {"generator": generator.name, "profile": profile, "positive": content["classes"][1]}
    return write_text(path, study_text(yaml.safe_dump(content, **form), **values))


def study_text(content: str, **values: str) -> str:
    """The text of a study's audit file.

    Args:
        content: the file in YAML.
        values: generator (name of its file), profile, and positive (the class with the label 1),
            which the comment at the top names.
    """
    templates = Environment(loader=PackageLoader("helpers"), undefined=StrictUndefined)
    return templates.get_template("study.yml.j2").render(content=content, **values)


def require_study(path: Path, generator: Path) -> None:
    """Raise InputError where an audit file is of another generator, or leaves out a question."""
    audit = read_specification(path)
    weights = getattr(audit.generator, "weights", None)
    if weights is None or audit.beside(weights).resolve() != generator.resolve():
        other = weights or f"of the kind {audit.generator.kind}"
        raise InputError(
            f"{path} is no audit of GENERATOR={generator}: its generator is {other}; rename one of "
            "the two files",
            field="generator.weights",
            found=weights,
            expected=str(generator),
        )
    require_questions(audit)


def keywords_of(path: Path) -> dict[str, Any]:
    """What the audit file of a generator says, as keywords of `faceaudit.generator`.

    Paths are as in the file, and so count from its folder.
    """
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    del content["kind"]
    return content | content.pop("design")


def require_questions(audit: Specification) -> None:
    """Raise InputError where people are not asked all that the papers' steps need."""
    if missing := [name for name in ATTRIBUTES if name not in audit.rated_attributes]:
        raise InputError(
            f"{audit.path}: annotated lacks {', '.join(missing)}, which pruning and the regression "
            f"of the papers' study need; make audit AUDIT={audit.path} goes without",
            field="annotated",
            found=list(audit.rated_attributes),
            expected=", ".join(ATTRIBUTES),
        )


def _input(model: Path, size: int) -> dict[str, Any]:
    """The field model.input of an audit file, as an ONNX file describes its images.

    A file that takes no images is refused when the audit opens it.

    Args:
        model: the ONNX file.
        size: height and width to write where the file takes images of any size.
    """
    shape = OnnxNetwork(model).input.shape
    if shape[-1] == 3:
        layout = "nhwc"
        sides = shape[1:3]
    else:
        layout = "nchw"
        sides = shape[2:]
    fixed = [side for side in sides if isinstance(side, int)]
    image_size: int | list[int] = fixed[0] if fixed else size
    if len(set(fixed)) == 2:  # height and width differ
        image_size = fixed
    return {"size": image_size, "layout": layout, "range": [0, 1]}
