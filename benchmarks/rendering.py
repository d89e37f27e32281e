"""The compiled renderer against the one that it replaced, which drew batches with torch.

Run `python benchmarks/rendering.py` in a clone with its history: the competitor is taken out of it.
Every measurement runs in a process of its own, on the same faces.
"""

import importlib
import io
import json
import os
import resource
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from record import REPEATS, curve, write_rows
from threadpoolctl import threadpool_limits

import helpers

ROOT = Path(__file__).resolve().parent.parent
BEFORE = "eb51f5f"
"""A commit with the renderer of before."""
POPULATION, SIZES, PIXELS = "celeba-like", (32, 64, 128, 256), 2**20
"""Faces of so many pixels in all are drawn at every size, the faces of all sizes among the same."""
BATCH = 2**18
"""Pixels in a batch, which suits the renderer of before best."""


def measure(size: int, threads: int, old: bool) -> dict[str, float]:
    """CPU and elapsed milliseconds a face, least of some runs, and the most memory (MB)."""
    # In the history faces are a room of helpers.
    names = (
        ("helpers.faces", "helpers.faces.populations")
        if old
        else ("facerender", "faceworld.populations")
    )
    facerender, populations = map(importlib.import_module, names)
    number = PIXELS // size**2
    batches = populations.sample(POPULATION, number, seed=0).parameters.split(BATCH // size**2)
    torch.set_num_threads(threads)
    times = []
    with threadpool_limits(threads):
        facerender.render(batches[0][:1], size)  # what is compiled, or made once, is not counted
        for _ in range(REPEATS):
            before = time.process_time(), time.perf_counter()
            for some in batches:
                facerender.render(some, size)
            after = time.process_time(), time.perf_counter()
            times.append([1e3 * (b - a) / number for a, b in zip(before, after, strict=True)])
    processor, elapsed = (min(each) for each in zip(*times, strict=True))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"CPU ms a face": processor, "elapsed ms a face": elapsed, "MB": peak}


def measured(source: Path, size: int, threads: int) -> dict[str, float]:
    """The same in a process of its own, with the package of this source."""
    environment = {"PYTHONPATH": str(source), "NUMBA_NUM_THREADS": str(threads)}
    command = [sys.executable, __file__, str(source), str(size), str(threads)]
    done = subprocess.run(command, env=os.environ | environment, check=True, capture_output=True)
    return json.loads(done.stdout)


def before(folder: Path) -> Path:
    """The source of the renderer of before, put into the folder."""
    history = ["git", "-C", str(ROOT), "archive", BEFORE, "src"]
    packed = subprocess.run(history, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def main() -> None:
    with TemporaryDirectory() as folder:
        runs = {
            f"compiled, {threads} thread{'s'[: threads > 1]}": (ROOT / "src", threads)
            for threads in sorted({1, 2, os.cpu_count() or 1})
        }
        runs["batches in torch, 1 thread"] = (before(Path(folder)), 1)
        found = {
            what: {size: measured(source, size, threads) for size in SIZES}
            for what, (source, threads) in runs.items()
        }
    first = next(iter(found.values()))
    rows = [
        {
            "what": f"{size} x {size}: {what}",
            **times[size],
            "elapsed, times the first": times[size]["elapsed ms a face"]
            / first[size]["elapsed ms a face"],
        }
        for size in SIZES
        for what, times in found.items()
    ]
    facts = {"population": POPULATION, "torch's renderer": f"commit {BEFORE}"}
    write_rows("rendering", facts, rows, ["torch", "numpy", "numba"])
    lines = {
        what: {size: time["elapsed ms a face"] for size, time in times.items()}
        for what, times in found.items()
    }
    curve("rendering", lines, "side of the image in pixels", "ms a face")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        source, size, threads = sys.argv[1:]
        if not Path(helpers.__file__).is_relative_to(source):
            raise SystemExit(f"expected the package in {source}, got {helpers.__file__}")
        old = Path(source, "helpers", "faces").is_dir()
        print(json.dumps(measure(int(size), int(threads), old)))
    else:
        main()
