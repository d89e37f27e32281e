"""How often the audit of a generator of one's own holds the truth, with a calibration before it.

The known-truth generator is audited as a stranger: `faceaudit` gets codes and images, tasks for
people, and models. People are simulated, and answer on whole pictures and on crops. So are the
readers: what they measure is the truth with an error as large as faces differ. Counted is how many
of the 95% intervals by cell hold the effect under intervention, at the medians of the doses that
the images got, of other faces. Finished seeds stay in `build/stranger`, to go on from after an
interruption; remove it after a change of the code.

    python benchmarks/stranger.py --seeds 1 2 3 4 5
"""

import argparse
import hashlib
import shutil
from functools import cache, partial
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import torch
import yaml
from record import write_rows

import facerender
from faceaudit import annotations, make_plan, read_specification
from faceaudit.annotations import schema
from faceaudit.designs.matched import MatchedImages
from faceaudit.effects.verdicts import Z
from faceaudit.images import faces
from faceaudit.latents import transects
from faceaudit.latents.directions import Hyperplanes
from faceaudit.matched_comparisons import effects_by_cell
from faceaudit.models.asking import model_of
from faceaudit.people import labels
from faceworld import crowd, load_generator, networks, raters
from faceworld.networks import SHIPPED_NETWORKS
from faceworld.scorecard import truth
from helpers.artifacts import lineage

NETWORKS = ("celeba-like", "fairface-like", "plantskin")
SAMPLES, TRANSECTS, N_TRUTH = 5000, 400, 1600
MEASURED = [*raters.MEASURED_PARAMETERS, *raters.BORROWED_SCALES]
ADULT = 0.45
WORK = lineage.ROOT / "build" / "stranger"
GENERATOR = load_generator("known-truth")
SHOWN: dict[str, np.ndarray] = {}  # what the images of this seed show, by their names


# --- who stands in for the world: a reader, a model, people


@cache
def population() -> pd.DataFrame:
    return seen_by_reader(GENERATOR.parameters(GENERATOR.sample(2000, 3)))


def seen_by_reader(parameters: torch.Tensor) -> pd.DataFrame:
    return pd.DataFrame({name: raters.visible_parameter(parameters, name) for name in MEASURED})


def measures(images: np.ndarray) -> np.ndarray:
    """What a reader measures of images from 0 to 255: a column each, with its error."""
    names = schema.hidden_names(images.round().astype(np.uint8))
    if not SHOWN.keys() >= {*names}:
        for path in WORK.glob("*/*_codes.npy"):
            remember(path.parent, path.stem.removesuffix("_codes"))
    true = seen_by_reader(torch.from_numpy(np.stack([SHOWN[name] for name in names])))
    seeds = [int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) for name in names]
    error = np.stack([np.random.default_rng(k).standard_normal(len(MEASURED)) for k in seeds])
    return true.to_numpy() / population().std().to_numpy() + error


def remember(folder: Path, part: str) -> torch.Tensor:
    """What a part's images show, (n, P)."""
    parameters = GENERATOR.parameters(torch.from_numpy(np.load(folder / f"{part}_codes.npy")))
    names = schema.hidden_names(np.load(folder / f"{part}.npy", mmap_mode="r"))
    SHOWN.update(zip(names, parameters.numpy(), strict=True))
    return parameters


@cache
def network(name: str) -> networks.AuditedModel:
    return networks.AuditedModel.read(SHIPPED_NETWORKS / f"{name}.safetensors")


def audited(images: np.ndarray) -> np.ndarray:
    """The first network's scores of images from 0 to 255."""
    return networks.predict(network(NETWORKS[0]), images.round().astype(np.uint8))


def answered(audit, images, attributes, *, folder, stage, **rest) -> labels.Labels:
    """Leave an export of simulated people for a part of an audit, and go on as it does."""
    parameters = remember(folder, stage.removesuffix("-crops"))
    seen_as = raters.perceived_on_crops if stage.endswith("-crops") else crowd.perceived
    shown = seen_as(facerender.visible_scores(parameters)).set_axis(schema.hidden_names(images))
    shown = shown.loc[~shown.index.duplicated(), [*attributes]]
    about = {"seed": audit.design.seed, "stage": f"stranger {stage}"}
    said = crowd.annotate(shown, audit.people.raters, **about)
    place = folder / "people" / stage / "answers"
    place.mkdir(parents=True, exist_ok=True)
    annotations.write_label_studio(said, place / "export.json")
    return labels.ask_for_labels(audit, images, attributes, folder=folder, stage=stage, **rest)


# --- one seed


def audit_file(seed: int, folder: Path) -> Path:
    """The book's study with its readers, in a folder of its own."""
    content = yaml.safe_load((lineage.ROOT / "audits" / "study.yml").read_text(encoding="utf-8"))
    content["generator"]["samples"] = SAMPLES
    content["design"] |= {"transects": TRANSECTS, "seed": seed}
    content["accept"] = ["gate"]  # closed ones are counted apart
    python = {"kind": "python", "version": "1", "input": {"size": 64, "range": [0, 255]}}
    content["model"] = python | {"function": "stranger:audited"}
    content["calibration"]["readers"] = [python | {"function": "stranger:measures"}]
    path = folder / "stranger.yml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def of_seed(seed: int) -> pd.DataFrame:
    """Every cell's interval beside its truth, by network; kept."""
    folder, path = WORK / str(seed), WORK / f"{seed}.csv"
    if not path.is_file():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        SHOWN.clear()
        audit = read_specification(audit_file(seed, folder))
        plan, model = make_plan(audit), model_of(audit)
        with mock.patch.object(faces, "ask_for_labels", answered):
            shown = faces.make_labelled_images(audit, plan, folder, model, print, "cpu")
        rows = cells_of(shown, plan, folder)
        rows.assign(passed=shown.report_arguments["gate"]["passed"]).to_csv(path, index=False)
        shutil.rmtree(folder)
    return pd.read_csv(path)


def cells_of(shown: faces.LabelledImages, plan: dict, folder: Path) -> pd.DataFrame:
    """What each network's audit finds in each cell, and the truth at the medians of the doses."""
    codes = torch.from_numpy(np.load(folder / "transects_codes.npy"))
    real = facerender.to_frame(GENERATOR.parameters(codes)).astype(float)
    axes, found = [*plan["axes"]], []
    level = {name: shown.labelled[f"{name}_level"] for name in axes}
    doses = {n: [real.loc[level[n] == k, n].median() for k in (0, 1)] for n in axes}
    base = true_base(axes, real[["facial_hair", "makeup"]].median().to_dict())
    for name in NETWORKS:
        asked = partial(networks.predict, network(name))
        data = MatchedImages.from_answers(
            shown.labelled.assign(score=asked(shown.images)), 0.5, True, name
        ).frame
        wrong = truth.errors_under_do(asked, base, doses, size=64, path=folder / "truth.npy")
        for _, row in effects_by_cell(data, plan).iterrows():
            held = [row["held"].get(axis, slice(None)) for axis in axes]
            change = np.diff(wrong[(slice(None), *held)], axis=1)  # along the axis that is left
            found.append(
                {"network": name, "cell": f"{row['axis']}, {row['cell']}"}
                | row[["estimate", "low", "high"]].to_dict()
                | {"truth": change.mean(), "se": change.std() / len(change) ** 0.5}
            )
    return pd.DataFrame(found)


def true_base(axes: list[str], held: dict[str, float]) -> torch.Tensor:
    """Other faces of the population, made with exact directions."""
    names = (*axes, *held, "age")
    exact = Hyperplanes(names, *GENERATOR.exact_hyperplanes(names))
    values = {name: float(GENERATOR.decision_value(name, dose)) for name, dose in held.items()}
    youngest = float(GENERATOR.decision_value("age", ADULT))
    recipe = {"youngest": youngest, "held": values, "seed": 0, "stage": "stranger: truth"}
    base = transects.base_latents(GENERATOR, exact, axes, N_TRUTH * 5 // 4, **recipe)
    parameters = GENERATOR.parameters(torch.from_numpy(base))
    return parameters[torch.from_numpy(raters.loose_hair(parameters))][:N_TRUTH]


def summary(cells: pd.DataFrame) -> dict[str, str | float]:
    """Coverage, and in percentage points errors and widths."""
    half, off = (cells["high"] - cells["low"]) / 2, (cells["estimate"] - cells["truth"]).abs()
    held = cells["truth"].between(cells["low"], cells["high"])
    passed = cells.groupby("seed")["passed"].first()
    return {
        "cells held": f"{held.sum()} of {len(cells)}",
        "share": held.mean(),
        "with the truth's error": int((off <= np.hypot(half, Z * cells["se"])).sum()),
        "gates open": f"{passed.sum()} of {len(passed)}",
        "RMSE": 100 * (off**2).mean() ** 0.5,
        "half-width": 100 * half.mean(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    asked = parser.parse_args()
    torch.set_num_threads(1)
    WORK.mkdir(parents=True, exist_ok=True)
    cells = pd.concat({seed: of_seed(seed) for seed in asked.seeds}, names=["seed"])
    parts = dict([*cells.groupby("network", sort=False)])
    rows = [{"what": name} | summary(one) for name, one in {"all": cells, **parts}.items()]
    facts = {
        "seeds": ", ".join(map(str, asked.seeds)),
        "sampled faces": SAMPLES,
        "transects": TRANSECTS,
        "people": "simulated, 5 an image and 30 a neutral face",
        "readers": f"simulated: {len(MEASURED)} measures, with an error as large as faces differ",
        "faces of a truth": N_TRUTH,
    }
    write_rows("stranger", facts, rows, ["torch", "numpy", "scikit-learn"])


if __name__ == "__main__":
    import stranger  # whose functions the audit file names

    stranger.main()
