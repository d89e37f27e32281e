"""StyleGAN2 on a CPU: the package's synthesis against a straight implementation of the formulae.

Run `python benchmarks/stylegan2.py` on an idle machine. The competitor follows the formulae
operation by operation: weights modulated for every image and convolved in groups, channels first,
every filter after zeros between the pixels and a margin. Both draw the same images of the same
random network, one after the other in turn, in one process on two threads: a single image, and four
at a time, as transects are drawn.
"""

import statistics
import time
from collections.abc import Callable
from itertools import product

import torch
import torch.nn.functional as functional
from record import write_rows
from torch import Tensor

from faceaudit.generators import stylegan2

THREADS = 2
REPEATS = {256: 15, 1024: 7}
AT_A_TIME = (1, 4)
CONFIGS = {
    256: stylegan2.StyleGAN2Config(512, 0, 512, 256, channel_base=16384, conv_clamp=256),
    1024: stylegan2.StyleGAN2Config(512, 0, 512, 1024, conv_clamp=256),
}
"""Config F of the published networks of that resolution."""
FILTER = torch.outer(torch.tensor([1.0, 3, 3, 1]), torch.tensor([1.0, 3, 3, 1])) / 64


def filtered(x: Tensor, up: int, margins: tuple[int, int]) -> Tensor:
    """Zeros between the pixels, a margin, and the filter on every channel."""
    n, channels, height, width = x.shape
    if up > 1:
        apart = functional.pad(x[:, :, :, None, :, None], (0, up - 1, 0, 0, 0, up - 1))
        x = apart.reshape(n, channels, height * up, width * up)
    x = functional.pad(x, margins * 2)
    weight = (4 * FILTER).expand(channels, 1, 4, 4)
    return functional.conv2d(x, weight, groups=channels)


def modulated(x: Tensor, weight: Tensor, style: Tensor, up: bool, demodulated: bool) -> Tensor:
    """One convolution with the weights of each image, in groups."""
    n, inputs, height, width = x.shape
    outputs, size = len(weight), weight.shape[-1]
    w = weight[None] * style[:, None, :, None, None]
    if demodulated:
        w = w * (w.square().sum((2, 3, 4), keepdim=True) + 1e-8).rsqrt()
    x = x.reshape(1, n * inputs, height, width)
    if up:
        w = w.transpose(1, 2).reshape(n * inputs, outputs, size, size)
        x = functional.conv_transpose2d(x, w, stride=2, groups=n)
    else:
        w = w.reshape(n * outputs, inputs, size, size)
        x = functional.conv2d(x, w, padding=size // 2, groups=n)
    x = x.reshape(n, outputs, *x.shape[2:])
    return filtered(x, 1, (1, 1)) if up else x


def straight(
    config: stylegan2.StyleGAN2Config, parts: dict[str, Tensor], ws: Tensor, clamp: float
) -> Tensor:
    """Raw images, operation by operation."""

    def style(layer: str, w: Tensor) -> Tensor:
        weight, bias = parts[f"{layer}.affine.weight"], parts[f"{layer}.affine.bias"]
        return functional.linear(w, weight / weight.shape[1] ** 0.5, bias)

    def convolved(x: Tensor, layer: str, w: Tensor, up: bool) -> Tensor:
        x = modulated(x, parts[f"{layer}.weight"], style(layer, w), up, demodulated=True)
        x = x + parts[f"{layer}.noise_const"] * parts[f"{layer}.noise_strength"]
        x = x + parts[f"{layer}.bias"][:, None, None]
        return (functional.leaky_relu(x, 0.2) * 2**0.5).clamp(-clamp, clamp)

    x, image, place = parts["b4.const"].repeat(len(ws), 1, 1, 1), None, 0
    for resolution in config.resolutions:
        if resolution > 4:
            x = convolved(x, f"b{resolution}.conv0", ws[:, place], up=True)
            place += 1
            image = filtered(image, 2, (2, 1))
        x = convolved(x, f"b{resolution}.conv1", ws[:, place], up=False)
        place += 1
        layer = f"b{resolution}.torgb"
        s = style(layer, ws[:, place]) / x.shape[1] ** 0.5
        colours = modulated(x, parts[f"{layer}.weight"], s, up=False, demodulated=False)
        colours = (colours + parts[f"{layer}.bias"][:, None, None]).clamp(-clamp, clamp)
        image = colours if image is None else image + colours
    return image


def elapsed(run: Callable[[], Tensor]) -> float:
    """Milliseconds."""
    start = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - start)


def measure(size: int, n: int) -> list[dict[str, str | float]]:
    """Rows of the table, for n images of one resolution at a time."""
    network = stylegan2.draw_network_weights(stylegan2.StyleGAN2(CONFIGS[size]), seed=0)
    ws = network.mapping(torch.randn(n, 512, generator=torch.Generator().manual_seed(1)))

    # Its weights lie as they are read, channels first; the package's as it keeps them.
    parts = {name: one.contiguous() for name, one in network.synthesis.state_dict().items()}

    def fast(precision: torch.dtype) -> Tensor:
        network.synthesis.precision = precision
        return network.synthesis(ws)

    runs = {
        "straight, float32": lambda: straight(network.config, parts, ws, CONFIGS[size].conv_clamp),
        "package, float32": lambda: fast(torch.float32),
        "package, bfloat16": lambda: fast(torch.bfloat16),
    }
    images = [run() for run in runs.values()]  # what is made once is not counted
    wanted = images[0]
    apart = [((image - wanted).abs().max() / wanted.std()).item() for image in images]
    del images
    times = {what: [] for what in runs}
    for _ in range(REPEATS[size]):
        for what, run in runs.items():
            times[what].append(elapsed(run))
    first = times["straight, float32"]
    rows = []
    for (what, taken), difference in zip(times.items(), apart, strict=True):
        faster = [a / b for a, b in zip(first, taken, strict=True)]
        rows.append(
            {
                "what": f"{size} x {size}, {n} at a time: {what}",
                "ms an image": statistics.median(taken) / n,
                "times as fast": statistics.median(first) / statistics.median(taken),
                "least, of pairs": min(faster),
                "most": max(faster),
                "largest difference, standard deviations": difference,
            }
        )
    return rows


def main() -> None:
    torch.set_num_threads(THREADS)
    with torch.inference_mode():
        rows = [row for size, n in product(CONFIGS, AT_A_TIME) for row in measure(size, n)]
    write_rows("stylegan2", {"threads": THREADS, "weights": "random"}, rows, ["torch"])


if __name__ == "__main__":
    main()
