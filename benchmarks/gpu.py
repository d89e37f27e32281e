"""A GPU against the processor beside it: images made, answers given, images trained on, a second.

Run `python benchmarks/gpu.py` on a machine with a GPU. StyleGAN2 has the size of the published
networks and random weights. Every row is the median of repeats after one that is not counted; the
clock is read when the GPU has finished. Differences are from float32 on the processor.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import torch
from record import write_rows
from stylegan2 import CONFIGS

from helpers import models
from helpers.generators import StyleGenerator, stylegan2

REPEATS = 5
CODES = {256: (8, 256), 1024: (4, 64)}
"""Images a repeat by resolution: on the processor, on the GPU."""
ASKED = {("small", 64): 4096, ("resnet50", 128): 1024}
"""Architecture and size of images → images a repeat."""


def a_second(n: int, run: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS + 1):
        torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return n / statistics.median(times[1:])


def generation(size: int) -> list[dict]:
    """Rows of one resolution."""
    rows, wanted = [], None
    for device, precision in (("cpu", "float32"), *product(["cuda"], stylegan2.PRECISIONS)):
        network = stylegan2.draw_weights(stylegan2.StyleGAN2(CONFIGS[size]), seed=0)
        made = StyleGenerator(network, device, precision=precision)
        n = CODES[size][device == "cuda"]
        codes = made.sample(n, seed=1)
        torch.cuda.reset_peak_memory_stats()
        found = made.synthesize(codes)[: CODES[size][0]].cpu()
        wanted = found if wanted is None else wanted
        rows.append(
            {
                "what": f"StyleGAN2, {size} x {size}, {device}, {precision}",
                "a second": a_second(n, lambda made=made, codes=codes: made.synthesize(codes)),
                "GiB on the GPU": torch.cuda.max_memory_allocated() / 2**30,
                "largest difference": (found - wanted).abs().max().item(),
            }
        )
    return rows


def networks(architecture: str, size: int, n: int) -> list[dict]:
    """Rows of a classifier that is trained and asked."""
    images = np.random.default_rng(0).integers(0, 256, (n, 3, size, size), dtype=np.uint8)
    rows, wanted = [], None
    for device in ("cpu", "cuda"):
        # The processor gets fewer: its answers are slow and steady.
        few = images[: n if device == "cuda" else n // 8]
        torch.cuda.reset_peak_memory_stats()
        how = {"architecture": architecture, "seed": 0, "epochs": 1, "device": device}
        for _ in range(2):  # what is made once is not counted
            with tempfile.TemporaryDirectory() as folder:
                start = time.perf_counter()
                model = models.train(few, np.arange(len(few)) % 2, Path(folder, "model"), **how)
                took = time.perf_counter() - start
            if wanted is not None:  # the same weights on both
                model.network.load_state_dict(wanted[1])
        found = models.predict(model, images[: n // 8])
        wanted = wanted or (found, model.network.state_dict())
        name = f"{architecture}, {size} x {size}, {device}"
        more = {"GiB on the GPU": torch.cuda.max_memory_allocated() / 2**30}
        more["largest difference"] = "–"
        answers = a_second(len(few), lambda model=model, few=few: models.predict(model, few))
        apart = {"largest difference": float(np.abs(found - wanted[0]).max())}
        rows.append({"what": f"{name}: trained", "a second": len(few) / took} | more)
        rows.append({"what": f"{name}: asked", "a second": answers} | more | apart)
    return rows


def main() -> None:
    rows = [row for size in CODES for row in generation(size)]
    rows += [row for (kind, size), n in ASKED.items() for row in networks(kind, size, n)]
    facts = {"GPU": torch.cuda.get_device_name(), "weights of StyleGAN2": "random"}
    facts["convolutions in float32"] = "TF32" if torch.backends.cudnn.allow_tf32 else "exact"
    write_rows("gpu", facts, rows, ["torch", "numpy"])


if __name__ == "__main__":
    main()
