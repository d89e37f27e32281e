"""How often what the book found would be found with another seed.

The whole audit is run anew at a reduced size for each of twenty seeds: faces, trainings, raters and
all. Counted is how often each sentence of the page *What this book found* is true. It takes hours;
what is finished stays in `build/seeds`, for the state of the code that it was found with, and the
same command goes on from there.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from record import write_rows

from helpers.artifacts import lineage, pages
from helpers.claims import of_page

PAGE = "findings"
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


def claims_of(seed: int, checkout: Path) -> dict[str, bool]:
    """Title → whether it holds with this seed, of every claim; run unless it was."""
    found = checkout / f"{seed}.json"
    if not found.is_file():
        profile = f"seed-{seed}"
        values = yaml.safe_load((lineage.ROOT / "profiles" / "laptop.yml").read_text("utf-8"))
        text = yaml.safe_dump(values | REDUCED | {"seed": seed})
        (checkout / "profiles" / f"{profile}.yml").write_text(text, encoding="utf-8")
        artifacts = checkout / "artifacts"
        own = {"PYTHONPATH": str(checkout / "src"), "HELPERS_ARTIFACTS": str(artifacts)}
        compiled = os.environ.get("NUMBA_CACHE_DIR", str(lineage.ROOT / "build" / "compiled"))
        command = [sys.executable, "tools/run.py", profile, "--stage", PAGE]
        environment = os.environ | own | {"NUMBA_CACHE_DIR": compiled}
        subprocess.run(command, cwd=checkout, env=environment, check=True)
        executed = artifacts / pages.executed(PAGE, profile).relative_to(pages.manifests.root())
        held = {claim.title: claim.holds for claim in of_page(executed)}
        found.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")
        shutil.rmtree(artifacts / profile)  # gigabytes
    return json.loads(found.read_text(encoding="utf-8"))


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
    found = {seed: claims_of(seed, checkout) for seed in SEEDS}
    first = next(iter(found.values()))
    rows = [
        {"what": title, f"true, of {len(found)}": sum(held[title] for held in found.values())}
        for title in first
    ]
    facts = {"seeds": len(found)} | {name: f"{value:,}" for name, value in REDUCED.items()}
    write_rows("seeds", facts, rows, ["torch", "numpy", "statsmodels"])


if __name__ == "__main__":
    main()
