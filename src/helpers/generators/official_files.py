"""Official networks: StyleGAN2, StyleGAN3 and EG3D, from the arguments that they were made with.

The options of a network are spread over nested arguments, in two layouts and with two sets of
defaults. Here they become one flat list without defaults, and every option that would change the
images and that the networks of this package do not have is refused by name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.generators.generator_options import Options, plain
from helpers.generators.module_records import Part, mapping, read_part, tensors_of
from helpers.generators.torch_records import Budget, as_float32, tensor
from helpers.utils.pickled_numbers import simple

FILTER = np.outer([1, 3, 3, 1], [1, 3, 3, 1]) / 64
"""The only filter between resolutions that occurs."""
_ARGUMENTS = ("z_dim", "c_dim", "w_dim", "img_resolution", "img_channels")
_SPEED = ("num_fp16_res", "use_fp16", "fp16_channels_last", "fused_modconv_default")
_STYLEGAN3 = {
    **{"num_layers": 14, "num_critical": 2, "first_cutoff": 2, "first_stopband": 2**2.1},
    **{"last_stopband_rel": 2**0.3, "margin_size": 10, "output_scale": 0.25, "conv_kernel": 3},
    **{"use_radial_filters": False, "filter_size": 6, "conv_clamp": 256},
}
"""Options of StyleGAN3 and their defaults."""


def official(value: Any, budget: Budget) -> tuple[str, dict[str, Any], dict[str, np.ndarray]]:
    """Kind, options and weights of an official network.

    Args:
        value: what the pickle says of `G_ema`.
        budget: of bytes.

    Raises:
        ValueError: it is no such network, or one with options that are not known.
    """
    network = read_part(value)
    parts = network.children()
    options = _options(network)
    if "backbone" in parts:
        kind, config = "eg3d", _eg3d(options, network)
    else:
        synthesis = read_part(parts["synthesis"])
        inside = synthesis.children()
        if "input" in inside:
            kind, config = "stylegan3", _stylegan3(options)
        else:
            clamp = read_part(read_part(inside["b4"]).children()["conv1"])
            kind, config = "stylegan2", _stylegan2(options, clamp)
    weights = {name: tensor(found, budget) for name, found in tensors_of(network).items()}
    return kind, config, without_filters(weights) if kind != "stylegan3" else weights


def without_filters(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The weights without the constant filter, after it has been found to be the one that occurs.

    Raises:
        ValueError: another filter.
    """
    kept = {}
    for name, values in weights.items():
        if name.rpartition(".")[2] != "resample_filter":
            kept[name] = values
        elif values.shape != (4, 4) or not np.allclose(as_float32(values), FILTER):
            raise ValueError(f"another filter than [1, 3, 3, 1] ({name[:80]})")
    return kept


def _options(network: Part) -> Options:
    """All arguments by their names."""
    given = network.attributes.get("_init_args", ())
    if type(given) is not tuple or len(given) > len(_ARGUMENTS):
        raise ValueError("a network made with unknown arguments")
    named = dict(zip(_ARGUMENTS, given, strict=False))
    return Options(named | mapping(network.attributes["_init_kwargs"]), "the network's arguments")


def _common(options: Options, layers: int) -> dict[str, Any]:
    """What all kinds have; `layers` is the default of the mapping network."""
    found = {"z_dim": options.take("z_dim"), "c_dim": options.take("c_dim")}
    found["w_dim"] = options.take("w_dim")
    found["resolution"] = options.take("img_resolution")
    found["image_channels"] = options.take("img_channels")
    group = options.group("mapping_kwargs")
    found["mapping_layers"] = group.take("num_layers", layers)
    found["lr_multiplier"] = group.take("lr_multiplier", 0.01)
    group.only("activation", "lrelu")
    for name in ("embed_features", "layer_features"):
        group.only(name, None, found["w_dim"])
    group.ignore("w_avg_beta")
    group.finish()
    return found


def _synthesis(options: Options, clamp: float | None) -> dict[str, Any]:
    """What a synthesis network of StyleGAN2 says; `clamp` is its default."""
    options.only("architecture", "skip")
    options.only("activation", "lrelu")
    options.only("resample_filter", [1, 3, 3, 1])
    options.only("use_noise", True)
    options.ignore(*_SPEED)
    found = _channels(options) | {"conv_clamp": options.take("conv_clamp", clamp)}
    options.finish()
    return found


def _channels(options: Options) -> dict[str, Any]:
    return {
        "channel_base": options.take("channel_base", 32768),
        "channel_max": options.take("channel_max", 512),
    }


def _stylegan2(options: Options, layer: Part) -> dict[str, Any]:
    found = _common(options, layers=8)
    # stylegan2-ada nests the options of the synthesis, stylegan3's copy has them on top.
    nested = "synthesis_kwargs" in options.values
    # The defaults differ. The layer itself knows; what a layer does not say is as in its layout.
    clamp = simple(layer.attributes.get("conv_clamp", None if nested else 256))
    if not nested:
        return found | _synthesis(options, clamp)
    found |= _synthesis(options.group("synthesis_kwargs"), clamp)
    options.finish()
    return found


def _stylegan3(options: Options) -> dict[str, Any]:
    found = _common(options, layers=2) | _channels(options)
    for name, default in _STYLEGAN3.items():
        found[name] = options.take(name, default)
    options.only("lrelu_upsampling", 2)
    options.ignore(*_SPEED, "magnitude_ema_beta")
    options.finish()
    return found


def _eg3d(options: Options, network: Part) -> dict[str, Any]:
    found = _common(options, layers=8)
    half = options.take("sr_num_fp16_res", 0)
    found["super_resolution_clamp"] = 256 if half else None
    super_resolution = options.group("sr_kwargs")
    super_resolution.ignore("channel_base", "channel_max", *_SPEED)
    super_resolution.finish()
    options.ignore("rendering_kwargs")
    # Training changes both after the network was made.
    rendering = mapping(network.attributes["rendering_kwargs"])
    found["rendering"] = {str(name): plain(value) for name, value in rendering.items()}
    found["neural_resolution"] = simple(network.attributes["neural_rendering_resolution"])
    return found | _synthesis(options, 256)
