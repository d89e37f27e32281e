"""How often what the book found would be found with another seed.

The whole audit is run anew at a reduced size for each of twenty seeds: faces, trainings, raters and
all. Counted is how often each sentence of the page *What this book found* is true. A second table
holds the spread of skin's effects over the runs, whose networks, faces and raters all differ,
beside the standard errors that one run prints, and how often intervals hold the truth of their run.
A third one keeps the effects of every run.
It takes hours. The results of finished audits stay in `build/seeds`, for the state of the code that
they were found with: the same command goes on from there, and only counts again if nothing but the
page's sentences was edited.
"""

import json
import math
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path

import pandas as pd
import yaml
from record import write_rows

from faceaudit.effects.verdicts import Z
from faceaudit.utils.files import file_hash, hash_of_hashes
from helpers.artifacts import RESULTS, lineage, manifests
from helpers.claims import claims_of_page

PAGE, EXPERIMENT = "tour", "11_who_was_right"
FOUND, TRUTH = "found effect on transects", "true effect on transects"
SEEDS = range(1, 21)
CODE = ("src", "notebooks", "profiles", "tools", "book", "audits", "benchmarks")
REDUCED = {
    "n_heldout": 500,
    "n_population": 1500,
    "n_truth": 6400,
    "n_boot": 500,
    "n_audits": 40,
    "n_sweep": 20,
    "n_seeds": 12,
    "n_labelled": 750,
    "n_identities": 50,
    "recognition_epochs": 4,
}
"""What differs from the laptop's profile, but not in the classifiers nor in the experiment."""
SMALL = 2_000_000
"""Bytes below which a stage's file is kept: the page that is counted reads tables."""


def audited(seed: int, checkout: Path) -> Path | None:
    """The folder of what the audit with this seed found; run unless it was, None if it failed."""
    profile = f"seed-{seed}"
    kept = checkout / "kept" / profile
    if not kept.is_dir():
        values = yaml.safe_load((lineage.ROOT / "profiles" / "laptop.yml").read_text("utf-8"))
        text = yaml.safe_dump(values | REDUCED | {"seed": seed})
        (checkout / "profiles" / f"{profile}.yml").write_text(text, encoding="utf-8")
        compiled = os.environ.get("NUMBA_CACHE_DIR", str(lineage.ROOT / "build" / "compiled"))
        command = [sys.executable, "tools/run.py", profile, "--stage", PAGE, "--jobs", "1"]
        made = checkout / "artifacts"
        environment = own(checkout, made) | {"NUMBA_CACHE_DIR": compiled}
        if subprocess.run(command, cwd=checkout, env=environment).returncode:
            return None
        keep(made / profile, kept)
    return kept


def own(checkout: Path, artifacts: Path) -> dict[str, str]:
    """The environment in which the copied code is run, and reads and leaves artifacts there."""
    return os.environ | {"PYTHONPATH": str(checkout / "src"), "HELPERS_ARTIFACTS": str(artifacts)}


def keep(made: Path, kept: Path) -> None:
    """Keep the results and small tables of all stages, and none of the gigabytes of pictures."""
    part = kept.with_name(f".{kept.name}")
    shutil.rmtree(part, ignore_errors=True)
    for path in made.glob(f"*/{manifests.MANIFEST}"):
        manifest = json.loads(path.read_text(encoding="utf-8"))
        files = manifest["files"]
        small = [name for name in files if (path.parent / name).stat().st_size < SMALL]
        # A stage that made these files alone, of nothing else, is as whole as any to who reads it.
        text = manifest | {"inputs": {}, "files": {name: files[name] for name in small}}
        text = json.dumps(text, indent=1)
        folder = part / path.parent.name
        folder.mkdir(parents=True)
        (folder / manifests.MANIFEST).write_text(f"{text}\n", encoding="utf-8")
        for name in small:
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copy2(path.parent / name, folder / name)
    part.rename(kept)
    shutil.rmtree(made)


def claims(kept: Path, checkout: Path) -> dict[str, bool]:
    """Title → whether the estimates of these results meet the sentence, as it is worded now."""
    page = kept / f"{PAGE}.ipynb"
    command = [sys.executable, "-m", "papermill", lineage.ROOT / "notebooks" / page.name, page]
    options = ["-p", "profile", kept.name, "--no-progress-bar"]
    subprocess.run(command + options, cwd=checkout, env=own(checkout, kept.parent), check=True)
    return {claim.title: claim.met for claim in claims_of_page(page)}


def effects(kept: Path) -> pd.DataFrame:
    """Skin's effects on women in one run, in points, and cells whose interval holds their truth.

    Returns:
        Index "model, what"; columns estimate, error (standard error) and held (1 if the interval
        holds the truth, 0 if not), NaN where there is none.
    """
    experiment = json.loads((kept / EXPERIMENT / RESULTS).read_text(encoding="utf-8"))
    rows = {}
    for what, models in experiment["skin_on_women"].items():
        for model, row in models.items():
            error = (row["high"] - row["low"]) / (2 * Z)
            rows[f"{model}, {what}"] = 100 * row["estimate"], 100 * error, math.nan
    for model, truth in experiment["skin_on_women"][TRUTH].items():
        row = experiment["skin_on_women"][FOUND][model]
        held = float(row["low"] <= truth["estimate"] <= row["high"])
        rows[f"{model}, {FOUND}"] = *rows[f"{model}, {FOUND}"][:2], held
    for model, causes in experiment["misses"].items():
        cells = sum(causes.values())
        held = causes.get("contained", 0)
        rows[f"{model}, cells of {cells} that hold their truth"] = held, math.nan, math.nan
    return pd.DataFrame.from_dict(rows, "index", columns=["estimate", "error", "held"])


def copied(into: str, settings: dict) -> Path:
    """A copy of the code of now, which edits of this checkout do not reach, for these settings."""
    files = [
        path
        for folder in CODE
        for path in sorted((lineage.ROOT / folder).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    ]
    names = {path.relative_to(lineage.ROOT): file_hash(path) for path in files}
    told = {name for name in names if name.stem == PAGE or name.parts[0] == "benchmarks"}
    audits = {str(name): content for name, content in names.items() if name not in told}
    folder = lineage.ROOT / "build" / into / hash_of_hashes(audits | settings)[:16]
    for name in names:
        if not (folder / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(lineage.ROOT / name, folder / name)
    return folder


def main() -> None:
    checkout = copied("seeds", REDUCED)
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # an audit a core
        runs = dict(zip(SEEDS, pool.map(audited, SEEDS, repeat(checkout)), strict=True))
    if failed := [seed for seed, kept in runs.items() if kept is None]:
        sys.exit(f"the audit failed with the seeds {failed}; the logs are in {checkout}/artifacts")
    held = pd.DataFrame({seed: claims(kept, checkout) for seed, kept in runs.items()})
    held = held.sum(axis=1).sort_values(ascending=False, kind="stable")
    rows = [{"what": title, "runs": int(count)} for title, count in held.items()]
    facts = {"seeds": len(runs)} | {name: f"{value:,}" for name, value in REDUCED.items()}
    packages = ["torch", "numpy", "statsmodels"]
    write_rows("seeds", facts, rows, packages)
    every = pd.concat({seed: effects(kept) for seed, kept in runs.items()})
    each = every["estimate"].groupby(level=0)  # the tour draws them
    rows = [{"what": f"seed {seed}"} | run.droplevel(0).to_dict() for seed, run in each]
    write_rows("seeds_runs", {"seeds": len(rows)}, rows, packages)
    found = every.groupby(level=1, sort=False)
    spread = pd.DataFrame(
        {
            "mean": found["estimate"].mean(),
            "SD over seeds": found["estimate"].std(),
            "SE of one run": found["error"].mean(),
            "runs that hold their truth": found["held"].sum(min_count=1),
        }
    )
    spread = spread.astype("object").where(spread.notna(), "").rename_axis("what")
    rows = spread.reset_index().to_dict("records")
    write_rows("seeds_effects", {"seeds": len(runs)}, rows, packages)


if __name__ == "__main__":
    main()
