"""The audit file of somebody's own generator, written by the pattern of `audits/study.yml`.

`make reproduce GENERATOR=ffhq.pkl MODEL=gender.onnx` writes it, and goes through it from then on.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from faceaudit.onnx_files import OnnxNetwork, open_session
from faceaudit.parts import Style
from faceaudit.specification import Specification, in_words, read_specification
from helpers.annotations import ATTRIBUTES
from helpers.artifacts.lineage import ROOT, load_profile
from helpers.generators import convert, load_checkpoint

AUDITS = ROOT / "audits"
PATTERN = AUDITS / "study.yml"
HEADER = """\
# The papers' study on {generator}, by the pattern of audits/study.yml and with the sizes of the
# profile {profile}. To be read, and changed where it does not fit, before anybody is asked:
#
# - generator.truncation: with less than 1 the faces are nearer to the mean face, and more alike;
# - axes, attribute, classes: what is varied, and what the model tells; annotated: what people are
#   asked besides; people: who they are, and how many answer about an image;
# - model.input: size and layout are those of the ONNX file (the size of the generator's images,
#   where the model takes any); range, mean, std and channels are for you to say;
# - model.output: "none" is right for probabilities; activation: sigmoid or softmax is for logits,
#   index for the column of the class {positive} where there are several.
"""


def study_file(generator: Path, folder: Path = AUDITS) -> Path:
    """Where the audit file of a generator's file is: `<folder>/<name>.yml`.

    Raises:
        ValueError: no letter or digit of the name can be kept.
    """
    name = re.sub(r"[^a-z0-9]+", "-", generator.stem.lower()).strip("-")
    if not name:
        raise ValueError(
            f"GENERATOR={generator}: no letter from a to z and no digit is in its name, of which "
            "the audit gets its own; rename the file"
        )
    return folder / f"{name}.yml"


def write_study(
    generator: Path, model: Path | None, crowd: Path | None, profile: str, folder: Path = AUDITS
) -> Path:
    """Write the audit file of a generator's file; one that is there stays as it is.

    Args:
        generator: weights of a StyleGAN2 or EG3D, as of `load_checkpoint`.
        model: ONNX file of the model that is asked about the faces.
        crowd: folder for exports of people's answers, in `samples` and `transects`; None for the
            place that the audit names.
        profile: whose sizes the study has.
        folder: of audit files.

    Returns:
        The path of the file.

    Raises:
        ValueError: a file that is missing, or another than was expected; one sentence names it.
    """
    path = study_file(generator, folder)
    if path.exists():
        return path
    if model is None:
        raise ValueError("MODEL is missing; MODEL=gender.onnx, for example, names an ONNX file")
    if not model.is_file():
        raise ValueError(f"MODEL={model}: no such file; the ONNX file of a model was expected")
    if crowd is not None and not crowd.is_dir():
        raise ValueError(f"CROWD={crowd}: no such folder; one for people's exports was expected")
    network, sizes = load_checkpoint(generator), load_profile(profile)
    content = yaml.safe_load(PATTERN.read_text(encoding="utf-8"))
    content["name"] = path.stem
    content["generator"] = {
        "kind": network.kind,
        "weights": _from(folder, generator),
        "samples": sizes.n_directions,
        "quantiles": content["generator"]["quantiles"],
    }
    chosen = network.card.get("psi", convert.PSI)  # where somebody did, at the conversion
    default = Style.model_fields["truncation"].default
    content["generator"]["truncation"] = default if chosen == convert.PSI else chosen
    content["people"]["raters"] = sizes.n_raters
    if crowd is not None:
        content["people"]["export"] = _from(folder, crowd)
    content["model"]["path"] = _from(folder, model)
    content["model"]["input"] = _input(model, network.resolution)
    content["model"]["output"] = {"activation": "none"}
    content["design"]["transects"] = sizes.n_transects
    try:
        Specification.model_validate(content)
    except ValidationError as error:
        raise ValueError(f"{path} cannot be written: {in_words(error)}") from None
    header = HEADER.format(
        generator=generator.name, profile=profile, positive=content["classes"][1]
    )
    form = {"sort_keys": False, "allow_unicode": True, "default_flow_style": None, "width": 100}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(header + yaml.safe_dump(content, **form), encoding="utf-8", newline="\n")
    return path


def left_out(
    path: Path, generator: Path, model: Path | None, crowd: Path | None, profile: str
) -> list[str]:
    """What an audit file that is there says otherwise than the command; the file counts.

    Args:
        path: of the audit file.
        generator, model, crowd, profile: that the command names, as of `write_study`.

    Returns:
        A sentence for each of them that is another.

    Raises:
        ValueError: the file has a fault, is about another generator, or leaves out a question.
    """
    audit = read_specification(path)
    source = audit.generator
    weights = getattr(source, "weights", None)
    if weights is None or audit.beside(weights).resolve() != generator.resolve():
        raise ValueError(
            f"{path} is no audit of GENERATOR={generator}: its generator is "
            f"{weights or f'of the kind {source.kind}'}; rename one of the two files"
        )
    require_questions(audit)
    others = []
    for name, asked, field in (("MODEL", model, "model.path"), ("CROWD", crowd, "people.export")):
        part, key = field.split(".")
        own = getattr(getattr(audit, part), key, None)
        if asked is not None and not (own and audit.beside(own).resolve() == asked.resolve()):
            told = f"{path} counts, whose {field} is {own or 'not given'}"
            others.append(f"{name}={asked} is left out: {told}")
    wanted, transects = load_profile(profile), audit.design.transects
    if (source.samples, transects) != (wanted.n_directions, wanted.n_transects):
        others.append(
            f"the sizes of PROFILE={profile} are left out: {path} counts, with {source.samples} "
            f"samples and {transects or 'as many as needed'} transects"
        )
    return others


def require_questions(audit: Specification) -> None:
    """Raise ValueError where people are not asked all that the papers' steps need."""
    if lacking := [name for name in ATTRIBUTES if name not in audit.asked]:
        raise ValueError(
            f"{audit.path}: annotated lacks {', '.join(lacking)}, which pruning and the regression "
            f"of the papers' study need; make audit AUDIT={audit.path} goes without"
        )


def _input(model: Path, size: int) -> dict[str, Any]:
    """What an ONNX file says of the images that it takes; this size, where it takes any."""
    session = open_session(model)
    OnnxNetwork(session, 0, str(model))  # which refuses several inputs, and inputs of other types
    shape = session.get_inputs()[0].shape
    layouts = {1: ("nchw", shape[2:4]), 3: ("nhwc", shape[1:3])} if len(shape) == 4 else {}
    for place, (layout, sides) in layouts.items():
        fixed = {side for side in sides if isinstance(side, int)}
        if shape[place] == 3 and len(fixed) < 2:
            return {"size": min(fixed, default=size), "layout": layout, "range": [0, 1]}
    raise ValueError(
        f"MODEL={model}: its input has the shape {shape}, square images (n, 3, size, size) or "
        "(n, size, size, 3) were expected"
    )


def _from(folder: Path, path: Path) -> str:
    """A path as an audit file says it: from its folder, or whole outside of the repository."""
    whole, above = Path(os.path.abspath(path)), Path(os.path.abspath(folder)).parent
    return os.path.relpath(whole, folder) if whole.is_relative_to(above) else str(whole)
