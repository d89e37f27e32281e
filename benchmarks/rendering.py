"""The compiled renderer against the one that it replaced, which drew batches with torch.

Run `python benchmarks/rendering.py` in a clone with its history: the competitor is taken out of it,
and runs in a process of its own, on the same faces.
"""

import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from record import seconds, write_rows
from threadpoolctl import threadpool_limits

from helpers import faces
from helpers.faces import populations

ROOT = Path(__file__).resolve().parent.parent
BEFORE = "32ca4d8"
"""A commit with the renderer of before."""
POPULATION, SIZES, CHUNK = "celeba-like", {64: 512, 256: 64}, 64
"""Side of the images → how many faces; drawn so many at a time, which suits the old renderer."""


def draw_all(parameters: torch.Tensor, size: int) -> np.ndarray:
    chunk = max(1, CHUNK * 64**2 // size**2)
    return torch.cat([faces.render(some, size).image for some in parameters.split(chunk)]).numpy()


def measure(parameters: torch.Tensor, size: int) -> tuple[float, np.ndarray]:
    """CPU seconds with one thread, and the images."""
    with threadpool_limits(1):
        torch.set_num_threads(1)
        images = draw_all(parameters, size)
        return seconds(lambda: draw_all(parameters, size)), images


def measure_before(parameters: torch.Tensor, size: int) -> tuple[float, np.ndarray]:
    """The same with the renderer of before."""
    with TemporaryDirectory() as scratch:
        history = ["git", "-C", str(ROOT), "archive", BEFORE, "src"]
        packed = subprocess.run(history, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(scratch, filter="data")
        np.save(Path(scratch, "parameters.npy"), parameters.numpy())
        environment = os.environ | {"PYTHONPATH": str(Path(scratch, "src"))}
        command = [sys.executable, __file__, scratch, str(size)]
        subprocess.run(command, env=environment, check=True)
        found = np.load(Path(scratch, "found.npz"))
        return float(found["seconds"]), found["images"]


def be_the_one_before(scratch: Path, size: int) -> None:
    """In a process that imports the package of before."""
    if not Path(faces.__file__).is_relative_to(scratch):
        raise SystemExit(f"expected the package in {scratch}, got {faces.__file__}")
    taken, images = measure(torch.from_numpy(np.load(scratch / "parameters.npy")), size)
    np.savez(scratch / "found.npz", seconds=taken, images=images)


def compare(size: int, number: int) -> tuple[list[dict[str, str | float]], float]:
    """A row for each renderer, and the share of values that differ by at most two levels."""
    parameters = populations.sample(POPULATION, number, seed=0).parameters
    runs: dict[str, Callable] = {"compiled": measure, "batches in torch": measure_before}
    found = {what: run(parameters, size) for what, run in runs.items()}
    rows = [
        {
            "what": f"{what}, {size} x {size} pixels",
            "ms a face": 1e3 * taken / number,
            "ratio": taken / found["compiled"][0],
        }
        for what, (taken, _) in found.items()
    ]
    apart = np.abs(found["compiled"][1] - found["batches in torch"][1])
    return rows, float(np.mean(apart <= 2 / 255))


def main() -> None:
    compared = [compare(size, number) for size, number in SIZES.items()]
    facts = {
        "population": POPULATION,
        "faces": " and ".join(map(str, SIZES.values())),
        "threads": 1,
        "values within two of 255 levels": f"{min(close for _, close in compared):.4%}",
    }
    rows = [row for rows, _ in compared for row in rows]
    write_rows("rendering", facts, rows, ["torch", "numpy", "numba"])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        be_the_one_before(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        main()
