"""Names and shapes of a generator's weights, from its options alone; no network is built.

A file's weights are held against them before anything is made of its size. StyleGAN2: Karras et al.
2020, sections 2 and 4; StyleGAN3: Karras et al. 2021, section 3 and appendix G; EG3D: Chan et al.
2022, section 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

Shapes = Iterator[tuple[str, tuple[int, ...]]]
PLANES = 96
"""Channels of EG3D's three planes."""
BACKBONE = 256
"""Height and width of EG3D's planes."""
SUPER_RESOLUTION = {512: ((32, 256, 256), (256, 128, 512)), 256: ((32, 128, 128), (128, 64, 256))}
"""Size of EG3D's images → (channels in, channels out, height) of both blocks."""


def shapes(kind: str, config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Name → shape of every weight.

    Args:
        kind: "stylegan2", "stylegan3" or "eg3d".
        config: as of the kind's `Config`.

    Example:
        >>> config = dict(z_dim=8, c_dim=0, w_dim=8, resolution=4, image_channels=3)
        >>> config |= dict(channel_base=16, channel_max=4, mapping_layers=1)
        >>> shapes("stylegan2", config)["synthesis.b4.torgb.weight"]
        (3, 4, 1, 1)
    """
    return dict({"stylegan2": _stylegan2, "stylegan3": _stylegan3, "eg3d": _eg3d}[kind](config))


def channels(config: Mapping[str, Any], resolution: int) -> int:
    """Channels of StyleGAN2's layers at a resolution.

    Example:
        >>> channels({"channel_base": 32768, "channel_max": 512}, 1024)
        32
    """
    return min(config["channel_base"] // resolution, config["channel_max"])


def _stylegan2(config: Mapping[str, Any], prefix: str = "") -> Shapes:
    w_dim, resolution, inside = config["w_dim"], 4, 0
    yield from _mapping(config, f"{prefix}mapping.")
    while resolution <= config["resolution"]:
        width = channels(config, resolution)
        block = f"{prefix}synthesis.b{resolution}."
        if resolution == 4:
            yield f"{block}const", (width, 4, 4)
        yield from _block(block, inside, width, resolution, w_dim, config["image_channels"])
        resolution, inside = 2 * resolution, width


def _block(
    block: str, inside: int, width: int, resolution: int, w_dim: int, image_channels: int
) -> Shapes:
    """Two convolutions, in the first block one, and the layer to colours."""
    if inside:
        yield from _convolution(f"{block}conv0.", inside, width, 3, w_dim, resolution)
    yield from _convolution(f"{block}conv1.", width, width, 3, w_dim, resolution)
    yield from _convolution(f"{block}torgb.", width, image_channels, 1, w_dim)


def _convolution(
    layer: str, inside: int, outside: int, kernel: int, w_dim: int, noise: int = 0
) -> Shapes:
    yield f"{layer}weight", (outside, inside, kernel, kernel)
    yield f"{layer}bias", (outside,)
    yield from _dense(f"{layer}affine.", w_dim, inside)
    if noise:
        yield f"{layer}noise_const", (noise, noise)
        yield f"{layer}noise_strength", ()


def _dense(layer: str, inside: int, outside: int) -> Shapes:
    yield f"{layer}weight", (outside, inside)
    yield f"{layer}bias", (outside,)


def _mapping(config: Mapping[str, Any], prefix: str) -> Shapes:
    w_dim, inside = config["w_dim"], config["z_dim"]
    yield f"{prefix}w_avg", (w_dim,)
    if config["c_dim"]:
        yield from _dense(f"{prefix}embed.", config["c_dim"], w_dim)
        inside += w_dim
    for number in range(config["mapping_layers"]):
        yield from _dense(f"{prefix}fc{number}.", inside if number == 0 else w_dim, w_dim)


def _stylegan3(config: Mapping[str, Any]) -> Shapes:
    yield from _mapping(config, "mapping.")
    w_dim, layers = config["w_dim"], config["num_layers"]
    rates, sizes, widths = layer_plan(config)
    first = "synthesis.input."
    yield f"{first}weight", (widths[0], widths[0])
    yield f"{first}transform", (3, 3)
    yield f"{first}freqs", (widths[0], 2)
    yield f"{first}phases", (widths[0],)
    yield from _dense(f"{first}affine.", w_dim, 4)
    for number in range(layers + 1):
        to_rgb, before = number == layers, max(number - 1, 0)
        layer = f"synthesis.L{number}_{sizes[number]}_{widths[number]}."
        kernel = 1 if to_rgb else config["conv_kernel"]
        yield from _convolution(layer, widths[before], widths[number], kernel, w_dim)
        yield f"{layer}magnitude_ema", ()
        if to_rgb:
            continue
        between = 2 * max(rates[before], rates[number])
        up, down = (config["filter_size"] * (between // rates[one]) for one in (before, number))
        yield f"{layer}up_filter", (up,)
        radial = config["use_radial_filters"] and number < layers - config["num_critical"]
        yield f"{layer}down_filter", (down, down) if radial else (down,)


def layer_plan(config: Mapping[str, Any]) -> tuple[list[int], list[int], list[int]]:
    """Sampling rates, sizes and channels of StyleGAN3's layers, each (num_layers + 1).

    Example:
        >>> config = dict(num_layers=14, num_critical=2, resolution=256, image_channels=3)
        >>> config |= dict(first_cutoff=2, first_stopband=2**2.1, last_stopband_rel=2**0.3)
        >>> config |= dict(margin_size=10, channel_base=32768, channel_max=512)
        >>> [plan[-3:] for plan in layer_plan(config)]
        [[256, 256, 256], [276, 256, 256], [128, 128, 3]]
    """
    size, layers = config["resolution"], config["num_layers"]
    along = np.minimum(np.arange(layers + 1) / (layers - config["num_critical"]), 1)
    last = size / 2
    cutoffs = config["first_cutoff"] * (last / config["first_cutoff"]) ** along
    first_stopband = config["first_stopband"]
    stopbands = first_stopband * (last * config["last_stopband_rel"] / first_stopband) ** along
    rates = np.exp2(np.ceil(np.log2(np.minimum(stopbands * 2, size))))
    sizes = rates + 2 * config["margin_size"]
    sizes[-2:] = size
    widths = np.rint(np.minimum(config["channel_base"] / 2 / cutoffs, config["channel_max"]))
    widths[-1] = config["image_channels"]
    if min(rates.min(), widths.min()) < 1:
        raise ValueError("options by which a layer has no pixel or no channel")
    return rates.astype(int).tolist(), sizes.astype(int).tolist(), widths.astype(int).tolist()


def _eg3d(config: Mapping[str, Any]) -> Shapes:
    if config["resolution"] not in SUPER_RESOLUTION:
        raise ValueError(f"an EG3D network of {config['resolution']} pixels, not of 256 or 512")
    backbone = {**config, "resolution": BACKBONE, "image_channels": PLANES}
    yield from _stylegan2(backbone, "backbone.")
    yield from _dense("decoder.net.0.", PLANES // 3, 64)
    yield from _dense("decoder.net.2.", 64, PLANES // 3 + 1)
    for number, (inside, width, size) in enumerate(SUPER_RESOLUTION[config["resolution"]]):
        block = f"superresolution.block{number}."
        yield from _block(block, inside, width, size, config["w_dim"], 3)
