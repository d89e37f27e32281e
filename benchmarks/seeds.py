"""How often what the book found would be found with another seed.

The whole audit is run anew at a reduced size for each of twenty seeds: faces, trainings, raters and
all. Counted is how often each sentence of the page *What this book found* is true. A second table
holds the spread of skin's effects over the runs, whose networks, faces and raters all differ,
beside the standard errors that one run prints. It takes hours; what is finished stays in
`build/seeds`, for the state of the code that it was found with, and the same command goes on from
there.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import yaml
from record import write_rows

from helpers.artifacts import lineage, pages
from helpers.claims import of_page
from helpers.effects.labels import Z

PAGE, EXPERIMENT = "findings", "10_effects_and_truth"
SEEDS = range(1, 21)
CODE = ("src", "notebooks", "profiles", "tools", "book")
REDUCED = {
    "n_train": 5000,
    "n_heldout": 500,
    "n_population": 1000,
    "n_directions": 3000,
    "n_transects": 200,
    "n_truth": 1600,
    "n_boot": 500,
    "n_coverage": 10,
    "n_audits": 50,
    "n_sweep": 20,
    "n_seeds": 16,
    "n_labelled": 750,
    "n_identities": 100,
}
"""What differs from the laptop's profile, beside the seed."""


def found(seed: int, checkout: Path) -> dict[str, dict] | None:
    """What the audit with this seed finds; run unless it was, None if it failed.

    Returns:
        claims: title → whether the page's sentence holds. effects: "model: population" → estimate
        and standard error of skin's effect on women, in points.
    """
    kept = checkout / f"{seed}.json"
    if not kept.is_file():
        profile = f"seed-{seed}"
        values = yaml.safe_load((lineage.ROOT / "profiles" / "laptop.yml").read_text("utf-8"))
        text = yaml.safe_dump(values | REDUCED | {"seed": seed})
        (checkout / "profiles" / f"{profile}.yml").write_text(text, encoding="utf-8")
        artifacts = checkout / "artifacts"
        own = {"PYTHONPATH": str(checkout / "src"), "HELPERS_ARTIFACTS": str(artifacts)}
        compiled = os.environ.get("NUMBA_CACHE_DIR", str(lineage.ROOT / "build" / "compiled"))
        command = [sys.executable, "tools/run.py", profile, "--stage", PAGE]
        environment = os.environ | own | {"NUMBA_CACHE_DIR": compiled}
        if subprocess.run(command, cwd=checkout, env=environment).returncode:
            return None
        executed = artifacts / pages.executed(PAGE, profile).relative_to(pages.manifests.root())
        experiment = artifacts / profile / EXPERIMENT / "results.json"
        read = {
            "claims": {claim.title: claim.holds for claim in of_page(executed)},
            "effects": effects(json.loads(experiment.read_text(encoding="utf-8"))),
        }
        kept.write_text(json.dumps(read, indent=1) + "\n", encoding="utf-8")
        shutil.rmtree(artifacts / profile)  # gigabytes
    return json.loads(kept.read_text(encoding="utf-8"))


def effects(experiment: dict) -> dict[str, tuple[float, float]]:
    """Skin's effects on women in a run of the chapter: estimate and standard error, in points."""
    return {
        f"{model}, {what}": (100 * row["estimate"], 100 * (row["high"] - row["low"]) / (2 * Z))
        for what, models in experiment["skin_on_women"].items()
        for model, row in models.items()
    }


def copied() -> Path:
    """A copy of the code of now, which edits of this checkout do not reach."""
    files = [
        path
        for folder in CODE
        for path in sorted((lineage.ROOT / folder).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    ]
    names = {path.relative_to(lineage.ROOT): lineage.file_hash(path) for path in files}
    code = lineage.digest({str(name): content for name, content in names.items()} | REDUCED)
    folder = lineage.ROOT / "build" / "seeds" / code[:16]
    for name in names:
        if not (folder / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(lineage.ROOT / name, folder / name)
    return folder


def main() -> None:
    checkout = copied()
    runs = {seed: found(seed, checkout) for seed in SEEDS}
    if failed := [seed for seed, run in runs.items() if run is None]:
        sys.exit(f"the audit failed with the seeds {failed}; the logs are in {checkout}/artifacts")
    claims = pd.DataFrame({seed: run["claims"] for seed, run in runs.items()})
    counts = claims.sum(axis=1)
    rows = [{"what": title, "runs": int(count)} for title, count in counts.items()]
    facts = {"seeds": len(runs)} | {name: f"{value:,}" for name, value in REDUCED.items()}
    packages = ["torch", "numpy", "statsmodels"]
    write_rows("seeds", facts, rows, packages)
    every = pd.DataFrame({seed: run["effects"] for seed, run in runs.items()}).T
    estimates, errors = every.map(lambda pair: pair[0]), every.map(lambda pair: pair[1])
    spread = {"mean": estimates.mean(), "SD of runs": estimates.std(), "SE printed": errors.mean()}
    rows = pd.DataFrame(spread).rename_axis("what").reset_index().to_dict("records")
    write_rows("seeds_effects", facts, rows, packages)


if __name__ == "__main__":
    main()
