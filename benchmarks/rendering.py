"""Rendering a set of faces in chunks against one face after the other.

Run `python benchmarks/rendering.py`. Nothing else renders these faces, so the competitor is the
same renderer in a loop.
"""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from record import seconds, write
from threadpoolctl import threadpool_limits

from helpers import faces
from helpers.faces import populations
from helpers.faces.batches import render_to_store

POPULATION, FACES, SIZE, CHUNK = "celeba-like", 512, 64, 64


def as_a_set(parameters: torch.Tensor) -> np.ndarray:
    with TemporaryDirectory() as folder:
        path = Path(folder, "faces.npy")
        return np.array(render_to_store(parameters, SIZE, path, workers=1, chunk=CHUNK))


def one_by_one(parameters: torch.Tensor) -> np.ndarray:
    made = [faces.render(face, SIZE).image for face in parameters.split(1)]
    return torch.cat(made).clamp(0, 1).mul(255).round().to(torch.uint8).numpy()


def main() -> None:
    parameters = populations.sample(POPULATION, FACES, seed=0).parameters
    runs = {
        f"render_to_store, chunks of {CHUNK}": as_a_set,
        "render, one face at a time": one_by_one,
    }
    with threadpool_limits(1):
        torch.set_num_threads(1)
        levels = [run(parameters).astype(int) for run in runs.values()]
        times = {what: seconds(partial(run, parameters)) for what, run in runs.items()}
    facts = {
        "population": POPULATION,
        "faces": FACES,
        "pixels": f"{SIZE} x {SIZE}",
        "threads": 1,
        "largest difference of a pixel": f"{np.abs(levels[0] - levels[1]).max()} of 256 levels",
    }
    write("rendering", facts, times, ["torch", "numpy"])


if __name__ == "__main__":
    main()
