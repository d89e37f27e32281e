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

from faceaudit.generators import StyleGenerator, stylegan2
from faceworld import networks, populations
from faceworld.networks.recognisers import LOSSES, train_recogniser
from faceworld.rendering import render_to_store
from helpers.artifacts import lineage

REPEATS = 5
CODES = {256: (8, 256), 1024: (4, 64)}
"""Images a repeat by resolution: on the processor, on the GPU."""
SHOWN = {("small", 64): 16384, ("resnet50", 128): 8192, ("recogniser", 128): 8192}
"""Network and size of images → images a repeat on the GPU."""
PAPER = lineage.load_profile("paper")
TRAININGS = {
    "resnet50": ("four classifiers", 4 * PAPER.n_train * PAPER.epochs),
    "recogniser": ("four recognisers", 4 * 8 * PAPER.n_identities * PAPER.recognition_epochs),
}
"""Network → those of it that the paper's profile trains, and images that they are shown.
Chapter 15's reader, which is shown fewer, is not among them."""
DRAWN = 4096  # faces


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
        network = stylegan2.draw_network_weights(stylegan2.StyleGAN2(CONFIGS[size]), seed=0)
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


def network_rows(kind: str, size: int, n: int) -> list[dict]:
    """Rows of a network that is trained and asked."""
    images = np.random.default_rng(0).integers(0, 256, (n, 3, size, size), dtype=np.uint8)
    rows, wanted = [], None
    for device in ("cpu", "cuda"):
        # The processor gets fewer: its answers are slow and steady.
        few = images[: n if device == "cuda" else n // 32]
        torch.cuda.reset_peak_memory_stats()
        for _ in range(2):  # what is made once is not counted
            start = time.perf_counter()
            model = trained(kind, few, device)
            took = time.perf_counter() - start
        if wanted is not None:  # the same weights on both
            model.network.load_state_dict(wanted[1])
        found = answers(model, images[: n // 32])
        wanted = wanted or (found, model.network.state_dict())
        more = {"GiB on the GPU": torch.cuda.max_memory_allocated() / 2**30}
        asked = a_second(len(few), lambda model=model, few=few: answers(model, few))
        apart = {"largest difference": float(np.abs(found - wanted[0]).max())}
        name = f"{kind}, {size} x {size}, {device}"
        none = {"largest difference": "–"}
        rows.append({"what": f"{name}: trained", "a second": len(few) / took} | more | none)
        rows.append({"what": f"{name}: asked", "a second": asked} | more | apart)
    return rows


def trained(
    kind: str, images: np.ndarray, device: str
) -> networks.AuditedModel | networks.Recogniser:
    how = {"seed": 0, "epochs": 1, "device": device}
    with tempfile.TemporaryDirectory() as folder:
        path, people = Path(folder, "model.safetensors"), np.arange(len(images)) % 32
        if kind == "recogniser":
            return train_recogniser(images, people, path, loss=next(iter(LOSSES)), **how)
        return networks.train_classifier(images, people % 2, path, architecture=kind, **how)


def answers(model: networks.AuditedModel | networks.Recogniser, images: np.ndarray) -> np.ndarray:
    recognises = isinstance(model, networks.Recogniser)
    return model(images) if recognises else networks.predict(model, images)


def drawn() -> dict:
    """The row of faces that the processor's cores draw."""
    faces = populations.sample("celeba-like", DRAWN, seed=0).parameters
    size, times = PAPER.image_size, []
    for _ in range(2):  # what is made once is not counted
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            render_to_store(faces, size, Path(folder, "faces.npy"))
            times.append(time.perf_counter() - start)
    return {
        "what": f"faces of the world, {size} x {size}, cpu: drawn",
        "a second": DRAWN / times[1],
        "GiB on the GPU": "–",
        "largest difference": "–",
    }


def paper_profile(rows: list[dict]) -> list[dict]:
    """Minutes that the paper profile's trainings take at the speeds of these rows."""
    speeds, told = {row["what"]: row["a second"] for row in rows}, []
    size = f"{PAPER.image_size} x {PAPER.image_size}"
    for kind, (those, images) in TRAININGS.items():
        minutes = {
            f"minutes, {device}": images / speeds[f"{kind}, {size}, {device}: trained"] / 60
            for device in ("cpu", "cuda")
        }
        told.append({"what": f"{those}, {kind}", "images": images} | minutes)
    return told


def main() -> None:
    rows = [drawn()] + [row for size in CODES for row in generation(size)]
    rows += [row for (kind, size), n in SHOWN.items() for row in network_rows(kind, size, n)]
    facts = {"GPU": torch.cuda.get_device_name(), "weights of StyleGAN2": "random"}
    facts["convolutions in float32"] = "TF32" if torch.backends.cudnn.allow_tf32 else "exact"
    write_rows("gpu", facts, rows, ["torch", "numpy"])
    write_rows("gpu_paper", {"GPU": facts["GPU"]}, paper_profile(rows), ["torch"])


if __name__ == "__main__":
    main()
