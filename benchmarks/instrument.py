"""How often the papers' instrument and a calibrated one hold the truth of an audit by faces.

The experiment is made anew for every seed: faces, raters, directions, transects. Counted is how
many of the 95% intervals of the effects in cells hold the effect under intervention at the doses
that the faces got (`realised`), and at the doses that were aimed at (`intended`): what the first
misses is bias, the rest is another dose. Networks are those that ship; for the seeds after
`--trained` they are trained anew. It takes minutes of one core a seed, more with training:

    python benchmarks/instrument.py --seeds 1 2 3 --trained 3

With `--costs` calibrated instruments are compared whose rounds show more or fewer transects to more
or fewer raters. Answers, hours and money are those of all that people are asked before a model is.

Finished seeds stay in `build/instrument`, to go on from after an interruption; remove it after a
change of the code.
"""

import argparse
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from joblib import delayed
from record import RESULTS, write_rows
from scipy import special
from sklearn.linear_model import Ridge

import facerender
from faceaudit import effects
from faceaudit.effects.verdicts import Z
from faceaudit.latents import calibration, directions, transects
from faceaudit.latents.directions import Hyperplanes
from faceaudit.latents.orthogonalization import dual_basis
from faceaudit.utils.parallel import cpu_count
from faceworld import counterfactuals, crowd, load_generator, populations
from faceworld.networks import SHIPPED_NETWORKS, AuditedModel, predict, train_classifier
from faceworld.raters import (
    MEASURED_PARAMETERS,
    loose_hair,
    measure_faces,
    rate_faces,
    rate_faces_with_error,
)
from faceworld.rendering import render_to_store
from faceworld.scorecard import truth
from helpers import figures
from helpers.artifacts import lineage
from helpers.parallel import processes

AXES = truth.AXES
NETWORKS = ("celeba-like", "fairface-like", "plantskin")
SIZE, N, N_TRUTH, N_DIRECTIONS = 64, 400, 3200, 5000
N_TRAIN, EPOCHS = 10_000, 7
RATERS, RATERS_OF_NEUTRAL, GAINS = 5, 30, (0.7, 0.7, 0.4, 0.3)
PANELS = (5, 10, 30)  # raters in the rounds whose costs are compared
COSTS = {f"{shown} × {n}": (shown, n) for shown, n in product((50, 100, 400), PANELS)}
ENOUGH = 0.92  # of the cells should be held
SECONDS, DOLLARS = 3.6, 0.012  # an answer of the paper's crowd: its price, at 12 dollars an hour
ADULT = 0.45
DOSES = {"skin_colour": (0.17, 0.89), "hair_length": (0.165, 0.70), "gender": (0.085, 0.845)}
HELD = {"facial_hair": 0.03, "makeup": 0.12}
# The papers' instrument, as in chapters 03 and 05.
CONTINUOUS = ("gender", "skin_colour", "age", "hair_length")
BINARY = {"facial_hair": 0.4, "makeup": 0.4, "smiling": 0.5}
DISTANCES = {"skin_colour": (-0.95, 1.25), "hair_length": (-1.0, 0.45), "gender": (-0.7, 0.7)}
HELD_DISTANCES = {"facial_hair": -0.8, "makeup": -0.6}
WORK = lineage.ROOT / "build" / "instrument"
AT_DOSES = WORK / "doses.npy"  # pictures that all seeds share
GENERATOR = load_generator("known-truth")
POPULATION = GENERATOR.parameters(GENERATOR.sample(2000, 3))
LEVELS = np.indices((2, 2, 2)).reshape(3, 8)


def parameters_of(codes: np.ndarray) -> torch.Tensor:
    return GENERATOR.parameters(torch.tensor(codes).reshape(-1, GENERATOR.latent_dim))


def rated(faces: torch.Tensor, seed: int, stage: str, raters: int = RATERS, **how) -> pd.DataFrame:
    return rate_faces(faces, raters, seed=seed, stage=stage, **how)


def measured(faces: torch.Tensor, seed: int, stage: str) -> pd.DataFrame:
    return measure_faces(faces, POPULATION, seed=seed, stage=stage)


def goals(base: torch.Tensor) -> dict[str, Any]:
    """Scores to reach, what raters say of faces that are set to the doses: by cell, and held."""
    scores = rated(counterfactuals(base, DOSES).flatten(0, 3), 0, "goals")
    cells = {
        name: scores[name].groupby(np.tile(level, len(base))).transform("mean")[:8].to_numpy()
        for name, level in zip(AXES, LEVELS, strict=True)
    }
    return cells | scores[[*HELD]].mean().to_dict()


@lru_cache(maxsize=1)
def calibrated_directions(seed: int) -> tuple[Hyperplanes, pd.DataFrame]:
    """Planes of all that is rated or measured, and their dual basis, a row an attribute."""
    sampled = GENERATOR.sample(N_DIRECTIONS, seed).numpy().astype(np.float64)
    faces = parameters_of(sampled)
    planes = directions.fit_fractional(sampled, rated(faces, seed, "directions"))
    ridge = Ridge(100).fit(sampled, measured(faces, seed, "directions"))
    planes = planes.join(Hyperplanes((*MEASURED_PARAMETERS,), ridge.coef_, ridge.intercept_))
    return planes, pd.DataFrame(dual_basis(planes.normals, vif_cap=np.inf), planes.names)


def calibrated(
    seed: int, aims: dict[str, Any], a_round: int = N, raters: int = RATERS
) -> np.ndarray:
    """Codes (N, 8, D) of transects whose directions, neutral faces and cells are calibrated."""
    planes, dual = calibrated_directions(seed)
    axes = dual.loc[AXES].to_numpy()
    held = {name: special.logit(aims[name]) for name in HELD}
    recipe = {"youngest": special.logit(ADULT), "held": held, "seed": seed, "stage": "instrument"}
    base = transects.base_latents(GENERATOR, planes, AXES, N * 5 // 4, **recipe)
    base = base[loose_hair(parameters_of(base))]
    scores, error = of_neutral(base, seed, "neutral")
    first = np.flatnonzero(calibration.is_inlier(scores))[:N]
    base = base[first] + calibration.center_neutral(scores.iloc[first], error).to_numpy() @ axes
    base = base + calibration.center_neutral(*of_neutral(base, seed, "again")).to_numpy() @ axes
    steps = np.stack([special.logit(aims[name]) for name in AXES], axis=1) @ axes
    # Every round shows the raters the next transects, of which no model has been asked yet.
    for turn, gain in enumerate(GAINS):
        rows = np.arange(turn * a_round, (turn + 1) * a_round) % N
        some, stage = parameters_of(base[rows, None] + steps), f"round {turn}"
        seen = rated(some, seed, stage, raters).join(measured(some, seed, stage))
        seen = seen[np.repeat(calibration.is_inlier(seen[AXES], 8), 8)]
        more = calibration.step_to_targets(seen, 8, aims, gain, MEASURED_PARAMETERS)
        steps = steps + more.to_numpy() @ dual.loc[[*more]].to_numpy()
    return base[:, None] + steps


def of_neutral(base: np.ndarray, seed: int, stage: str) -> tuple[pd.DataFrame, pd.Series]:
    faces = parameters_of(base)
    return rate_faces_with_error(faces, AXES, RATERS_OF_NEUTRAL, seed=seed, stage=stage)


def papers(seed: int) -> np.ndarray:
    """Codes (N, 8, D) of the papers' transects, with the dual basis instead of Algorithm 2."""
    sampled = GENERATOR.sample(N_DIRECTIONS, seed).numpy().astype(np.float64)
    scores = rated(parameters_of(sampled), seed, "directions", seen_as=crowd.perceived)
    planes = directions.fit_hyperplanes(sampled, scores, CONTINUOUS, BINARY)
    lengths = dict(zip(planes.names, np.linalg.norm(planes.normals, axis=1), strict=True))
    held = {name: distance * lengths[name] for name, distance in HELD_DISTANCES.items()}
    recipe = {"youngest": ADULT - 0.5, "held": held, "seed": seed, "stage": "instrument"}
    base = transects.base_latents(GENERATOR, planes, AXES, N, **recipe)
    axes = planes.unit().select(AXES)
    dual = pd.DataFrame(dual_basis(planes.unit().normals), planes.names).loc[AXES]
    steps = axes.normals, axes.intercepts, dual, [*DISTANCES.values()]
    return transects.grid(base, *steps).reshape(N, 8, -1)


def true_base() -> torch.Tensor:
    """Faces of the population that transects speak about, made with exact directions."""
    names = (*AXES, *HELD, "age")
    exact = Hyperplanes(names, *GENERATOR.exact_hyperplanes(names))
    held = {name: float(GENERATOR.decision_value(name, dose)) for name, dose in HELD.items()}
    youngest = float(GENERATOR.decision_value("age", ADULT))
    recipe = {"youngest": youngest, "held": held, "seed": 0, "stage": "instrument: truth"}
    faces = parameters_of(transects.base_latents(GENERATOR, exact, AXES, 4000, **recipe))
    return faces[torch.from_numpy(loose_hair(faces))][:N_TRUTH]


def errors_on(faces: torch.Tensor, network: AuditedModel, path: Path) -> np.ndarray:
    """Errors (n, 2, 2, 2) on the pictures of transects, (n * 8, P)."""
    male = truth.as_grid(predict(network, render_to_store(faces, SIZE, path)) > 0.5)
    return (male != (np.indices((2, 2, 2))[2] == 1)).astype(float)


def cell_changes(errors: np.ndarray) -> np.ndarray:
    """Differences of errors along each axis in each cell of the others, (n, 12)."""
    along = [np.diff(errors, axis=axis).reshape(len(errors), -1) for axis in (1, 2, 3)]
    return np.concatenate(along, axis=1)


def with_realised_doses(base: torch.Tensor, faces: torch.Tensor) -> torch.Tensor:
    """The true population's faces, each with the doses that all images of one transect got."""
    columns = [facerender.INDEX[name] for name in AXES]
    changed = base.repeat_interleave(8, 0)
    # Transect after transect, and from the first again.
    doses = np.resize(faces[:, columns].numpy(), (len(changed), len(columns)))
    changed[:, columns] = torch.from_numpy(doses)
    return changed


def judged(
    codes: np.ndarray, networks: dict, intended: dict, base: torch.Tensor, seed: int
) -> pd.DataFrame:
    """Every cell's estimate and interval beside its truths."""
    faces, rows = parameters_of(codes), []
    realised = with_realised_doses(base, faces)
    for name, network in networks.items():
        found = cell_changes(errors_on(faces, network, WORK / f"{seed}.npy"))
        at_realised = cell_changes(errors_on(realised, network, WORK / f"{seed}_truth.npy"))
        for cell, change in enumerate(found.T):
            counts = (change > 0).sum(), (change < 0).sum(), len(change)
            low, high = effects.paired_interval(*counts, Z)
            row = {"network": name, "estimate": change.mean(), "low": low, "high": high}
            row |= {
                "realised": at_realised[:, cell].mean(),
                "intended": intended[name][:, cell].mean(),
            }
            rows.append(row | {"se": at_realised[:, cell].std(ddof=1) / N_TRUTH**0.5})
    return pd.DataFrame(rows)


def networks_of(seed: int, anew: bool) -> dict[str, AuditedModel]:
    if not anew:
        paths = {name: SHIPPED_NETWORKS / f"{name}.safetensors" for name in NETWORKS}
        return {name: AuditedModel.read(path) for name, path in paths.items()}
    made = {}
    for name in NETWORKS:
        people, path = populations.sample(name, N_TRAIN, seed), WORK / f"{seed}_{name}.safetensors"
        images = render_to_store(people.parameters, SIZE, WORK / f"{seed}_people.npy")
        labels = people.frame["gender"].to_numpy()
        made[name] = train_classifier(images, labels, path, seed=seed, epochs=EPOCHS)
    return made


def instruments(aims: dict[str, Any]) -> dict[str, Callable[[int], np.ndarray]]:
    made = {"papers": papers, "calibrated": partial(calibrated, aims=aims)}
    for name, (a_round, raters) in COSTS.items():
        made[name] = partial(calibrated, aims=aims, a_round=a_round, raters=raters)
    return made


def of_seed(
    seed: int, anew: bool, names: list[str], base: torch.Tensor, aims: dict[str, Any]
) -> pd.DataFrame:
    """Some instruments' cells; kept one by one, so that an interrupted run goes on."""
    networks, made = networks_of(seed, anew), instruments(aims)
    kept = {n: WORK / f"{seed}{'_trained' * anew}_{n.replace(' ', '_')}.csv" for n in names}
    if missing := [name for name, path in kept.items() if not path.is_file()]:
        doses = counterfactuals(base, DOSES).flatten(0, 3)
        intended = {n: cell_changes(errors_on(doses, one, AT_DOSES)) for n, one in networks.items()}
    for name in missing:
        judged(made[name](seed), networks, intended, base, seed).to_csv(kept[name], index=False)
        for pictures in WORK.glob(f"{seed}_*.npy*"):
            pictures.unlink()
    tables = {name: pd.read_csv(path) for name, path in kept.items()}
    return pd.concat(tables, names=["instrument"]).reset_index("instrument")


def price(a_round: int, raters: int) -> dict[str, int]:
    """How much people are asked, and what it takes."""
    asked = len(rated(POPULATION[:1], 0, "price").columns)
    answers = N_DIRECTIONS * RATERS * asked  # of faces that planes are fitted to
    answers += (N * 5 // 4 + N) * RATERS_OF_NEUTRAL * len(AXES)
    answers += len(GAINS) * a_round * 8 * raters * asked
    hours, dollars = round(answers * SECONDS / 3600), round(answers * DOLLARS)
    return {"answers": answers, "hours": hours, "dollars": dollars}


def summary(cells: pd.DataFrame) -> dict[str, str | float]:
    """Of an instrument, in percentage points: coverage, errors, widths."""
    half, off = (cells["high"] - cells["low"]) / 2, (cells["estimate"] - cells["realised"]).abs()
    held = cells["realised"].between(cells["low"], cells["high"])
    by_network = cells["network"]
    return {
        "cells held": f"{held.sum()} of {len(cells)}",
        "with the truth's error": int((off <= np.hypot(half, Z * cells["se"])).sum()),
        "at 1.5 widths": int((off <= 1.5 * half).sum()),
        "intended doses": int(cells["intended"].between(cells["low"], cells["high"]).sum()),
        "least of a network": held.groupby(by_network).mean().min(),
        "RMSE c/f/p": "/".join(
            f"{100 * (one**2).mean() ** 0.5:.1f}" for _, one in off.groupby(by_network)
        ),
        "half-width c/f/p": "/".join(
            f"{100 * one.mean():.1f}" for _, one in half.groupby(by_network)
        ),
    }


def draw_costs(rows: list[dict[str, Any]], cells: int) -> None:
    """Share of cells held against answers, a line for each number of raters."""
    figures.style()
    size = (figures.WIDTH, 3.8)
    figure, axes = plt.subplots(1, 2, figsize=size, sharey=True, layout="constrained")
    titles = {"cells held": "at doses that faces got", "intended doses": "at doses aimed at"}
    for ax, (column, title) in zip(axes, titles.items(), strict=True):
        for raters, look in zip(PANELS, figures.SPARE, strict=False):
            own = [row for row in rows if COSTS[row["what"]][1] == raters]
            held = [100 * int(str(row[column]).split()[0]) / cells for row in own]
            answers = [row["answers"] for row in own]
            ax.plot(answers, held, look.marker, color=look.colour, ls="-", label=f"{raters} raters")
        ax.axhline(100 * ENOUGH, color=figures.BLACK, linewidth=1, linestyle=":")
        ax.set(title=title, xscale="log", xlabel="answers")
        ax.set_xticks([500_000, 1_000_000, 2_000_000, 4_000_000], ["0.5 M", "1 M", "2 M", "4 M"])
        ax.minorticks_off()
    axes[0].set_ylabel("cells held (%)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncol=3)
    plt.savefig(RESULTS / "instrument_costs.svg", bbox_inches="tight", metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--trained", type=int, nargs="*", default=[])
    parser.add_argument("--costs", action="store_true")
    asked = parser.parse_args()
    names = [*COSTS] if asked.costs else ["papers", "calibrated"]
    WORK.mkdir(parents=True, exist_ok=True)
    base = true_base()
    aims = goals(base)
    render_to_store(counterfactuals(base, DOSES).flatten(0, 3), SIZE, AT_DOSES)
    jobs = [
        delayed(of_seed)(seed, seed in asked.trained, names, base, aims) for seed in asked.seeds
    ]
    cells = pd.concat(processes(cpu_count())(jobs))
    rows = [
        {"what": name} | (price(*COSTS[name]) if asked.costs else {}) | summary(part)
        for name, part in cells.groupby("instrument", sort=False)
    ]
    facts = {
        "seeds": ", ".join(map(str, asked.seeds)),
        "with networks trained anew": ", ".join(map(str, asked.trained)) or "none",
        "transects": N,
        "faces of a truth": N_TRUTH,
    }
    if asked.costs:
        least = ENOUGH * len(cells) / len(COSTS)
        enough = [row for row in rows if int(row["cells held"].split()[0]) >= least]
        cheapest = min(enough, key=lambda row: row["dollars"], default={"what": "none"})
        facts[f"cheapest that holds {ENOUGH:.0%} of cells"] = cheapest["what"]
        draw_costs(rows, len(cells) // len(COSTS))
    record = "instrument_costs" if asked.costs else "instrument"
    write_rows(record, facts, rows, ["torch", "numpy", "scikit-learn"])


if __name__ == "__main__":
    main()
