"""What it costs that all processors round alike: each pin alone, all together, and the renderer.

Run `python benchmarks/pins.py`. Every measurement runs in a process of its own, on one thread.
"""

import json
import os
import subprocess
import sys
from tempfile import TemporaryDirectory

from record import REPEATS, seconds, write_rows

from helpers import PINS

TASKS = {
    "training": "50 steps of the book's small network",
    "asking": "answers of ResNet-50 about 32 images of 64 px",
    "products": "products of matrices in torch",
    "softmax": "exp and softmax in torch",
    "algebra": "linear algebra of numpy: products, QR, eigenvalues",
    "arrays": "exp, log and sums of numpy",
    "drawing": "256 faces of 64 px",
}
MATTERS = {
    "ONEDNN_MAX_CPU_ISA": ("training", "asking"),
    "MKL_CBWR": ("training", "products"),
    "ATEN_CPU_CAPABILITY": ("training", "softmax"),
    "OPENBLAS_CORETYPE": ("algebra",),
    "NPY_DISABLE_CPU_FEATURES": ("arrays",),
}
"""Pin → what it may slow down."""


def training():
    import torch

    from faceworld.networks.architectures import SmallNet

    images, labels = torch.rand(100, 3, 64, 64), torch.arange(100) % 2
    network = SmallNet()
    optimizer = torch.optim.AdamW(network.parameters(), fused=True)

    def run():
        for _ in range(50):
            optimizer.zero_grad()
            logits = network(images)[:, 0]
            torch.nn.functional.binary_cross_entropy_with_logits(logits, labels.float()).backward()
            optimizer.step()

    return run


def asking():
    import torch

    from faceworld.networks.architectures import ResNet50

    network, images = ResNet50().eval(), torch.rand(32, 3, 64, 64)
    return torch.no_grad()(lambda: network(images))


def products():
    import torch

    a, b = torch.rand(800, 800), torch.rand(800, 800)
    return lambda: [a @ b for _ in range(20)]


def softmax():
    import torch

    a = torch.rand(2000, 1000)
    return lambda: [(a.softmax(1), a.exp()) for _ in range(20)]


def algebra():
    import numpy as np

    a = np.random.default_rng(0).standard_normal((600, 600))
    return lambda: (a @ a, np.linalg.qr(a), np.linalg.eigh(a @ a.T))


def arrays():
    import numpy as np

    a = np.random.default_rng(0).random(1_000_000)
    return lambda: [(np.exp(a), np.log(a), a.sum()) for _ in range(20)]


def drawing():
    import facerender
    from faceworld import populations

    shown = populations.sample("celeba-like", 256, seed=0).parameters
    facerender.render(shown[:1], 64)  # what is compiled is not counted
    return lambda: facerender.render(shown, 64)


def alone(task: str, pins: list[str], liberties: bool) -> float:
    """Seconds of a task in this process, before numpy is imported, with these pins alone."""
    for name in PINS.keys() - pins:
        os.environ.pop(name, None)
    import numba
    import torch

    torch.set_num_threads(1)
    if liberties:  # the renderer as LLVM would have it
        usual = numba.njit
        free = {"fastmath": True}
        numba.njit = lambda *given, **o: usual(*given, **(o | free if "fastmath" in o else o))
    return seconds(globals()[task]())


def measured(task: str, pins: list[str], liberties: str = "") -> float:
    """The same in a process of its own."""
    threads = ("OMP", "MKL", "OPENBLAS", "NUMBA")
    environment = os.environ | {f"{name}_NUM_THREADS": "1" for name in threads}
    command = [sys.executable, __file__, task, json.dumps(pins)]
    with TemporaryDirectory() as folder:
        if liberties:
            environment["NUMBA_CACHE_DIR"] = folder
            command.append(liberties)
        done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
        return float(done.stdout)


def row(what: str, task: str, before: float, after: float) -> dict[str, str | float]:
    return {
        "what": f"{what}: {TASKS[task]}",
        "seconds without": before,
        "seconds with": after,
        "with / without": after / before,
    }


def main() -> None:
    without = {task: measured(task, []) for task in TASKS if task != "drawing"}
    rows = [
        row(pin, task, without[task], measured(task, [pin]))
        for pin, tasks in MATTERS.items()
        for task in tasks
    ]
    for task, before in without.items():
        rows.append(row("all pins", task, before, measured(task, [*PINS])))
    free, exact = measured("drawing", [*PINS], "liberties"), measured("drawing", [*PINS])
    rows.append(row("exact arithmetic", "drawing", free, exact))
    facts = {"times": f"CPU seconds, the least of {REPEATS} runs in a process of its own"}
    write_rows("pins", facts, rows, ["torch", "numpy", "scipy", "numba"])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        task, pins, *liberties = sys.argv[1:]
        print(alone(task, json.loads(pins), bool(liberties)))
    else:
        main()
