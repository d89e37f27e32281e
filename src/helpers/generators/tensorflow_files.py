"""StyleGAN2 as TensorFlow's code wrote it (Karras et al. 2020), under the names of today.

Weights of convolutions have the axes (height, width, in, out), layers that double the resolution
turn them by half a turn, and the bias of a style lacks its 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from helpers.generators.generator_options import Options, checked
from helpers.generators.module_records import joined, mapping
from helpers.generators.torch_records import Budget
from helpers.utils.pickle_reading import Name
from helpers.utils.pickled_numbers import array, is_call, misplaced, simple

NETWORK = Name("dnnlib.tflib.network", "Network")
_VERSION = 4
_TRAINING = (
    *("func_name", "dlatent_avg_beta", "style_mixing_prob", "truncation_psi", "truncation_cutoff"),
    *("truncation_psi_val", "truncation_cutoff_val", "is_training", "is_validation", "dtype"),
    *("return_dlatents", "is_template_graph", "components", "randomize_noise", "structure"),
    *("num_fp16_res", "fp16_channels_last", "force_clean_graph", "fused_modconv"),
)
"""Options that matter for training or for speed alone, or that are chosen for each image."""


_NAMES = {
    "z_dim": ("latent_size", 512),
    "c_dim": ("label_size", 0),
    "w_dim": ("dlatent_size", 512),
    "resolution": ("resolution", 1024),
    "image_channels": ("num_channels", 3),
    "channel_base": ("fmap_base", 16384),
    "channel_max": ("fmap_max", 512),
    "conv_clamp": ("conv_clamp", None),
    "mapping_layers": ("mapping_layers", 8),
    "lr_multiplier": ("mapping_lrmul", 0.01),
}
"""Option → its name and default in TensorFlow's code; half of the channel base stands there."""


def tensorflow(value: Any, budget: Budget) -> tuple[str, dict[str, Any], dict[str, np.ndarray]]:
    """Kind, options and weights of `Gs`.

    Raises:
        ValueError: it is no such network, or one with options that are not known.
    """
    state = _state(value)
    version = simple(state["version"])
    if type(version) is not int or version < _VERSION:
        raise ValueError(f"a TensorFlow network of version {version!r:.20}, not 4 or later")
    config = _config(Options(mapping(state["static_kwargs"]), "static_kwargs"))
    found = {}
    for name, values in _variables(state):
        if name in found:
            raise ValueError(f"two variables called {name[:80]!r}")
        found[name] = array(values)
        budget.spend(found[name].nbytes)
        if found[name].dtype.kind != "f":
            raise ValueError(f"{name[:80]!r} of the type {found[name].dtype}, not of real numbers")
    return "stylegan2", config, translated(found, config)


def translated(found: dict[str, np.ndarray], config: dict[str, Any]) -> dict[str, np.ndarray]:
    """Weights under today's names and in today's order of axes; what is of no use is left out.

    Args:
        found: name in TensorFlow → array.
        config: the network's options.

    Example:
        >>> config = {"resolution": 4, "mapping_layers": 1, "c_dim": 0}
        >>> weights = translated({"mapping/Dense0/weight": np.ones((2, 3))}, config)
        >>> {name: values.shape for name, values in weights.items()}
        {'mapping.fc0.weight': (3, 2)}
    """
    rules = dict(_rules(config))
    return {name: change(found[there]) for there, (name, change) in rules.items() if there in found}


def _state(value: Any) -> dict[Any, Any]:
    if not is_call(value, NETWORK):
        raise misplaced(value, "a network of TensorFlow")
    return mapping(value.state)


def _variables(state: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    """All variables of a network and of its parts."""
    for name, values in state["variables"]:
        yield str(simple(name)), values
    for part, component in mapping(state["components"]).items():
        for name, values in _state(component)["variables"]:
            yield joined(f"{part}/", simple(name)), values


def _config(options: Options) -> dict[str, Any]:
    found = {name: options.take(there, default) for name, (there, default) in _NAMES.items()}
    options.only("mapping_fmaps", found["w_dim"])
    for name, allowed in (("architecture", "skip"), ("fmap_decay", 1.0), ("fmap_min", 1)):
        options.only(name, allowed)
    for name in ("mapping_nonlinearity", "nonlinearity"):
        options.only(name, "lrelu")
    options.only("resample_kernel", [1, 3, 3, 1])
    for name in ("normalize_latents", "use_noise"):
        options.only(name, True)
    options.ignore(*_TRAINING)
    options.finish()
    return checked("stylegan2", found | {"channel_base": 2 * found["channel_base"]})


Change = Callable[[np.ndarray], np.ndarray]


def _rules(config: dict[str, Any]) -> Iterator[tuple[str, tuple[str, Change]]]:
    """TensorFlow's name → today's name and what is done with the numbers."""
    yield "dlatent_avg", ("mapping.w_avg", _same)
    dense = {f"Dense{number}": f"fc{number}" for number in range(config["mapping_layers"])}
    for there, here in {**dense, "LabelEmbed": "embed"}.items():
        yield f"mapping/{there}/weight", (f"mapping.{here}.weight", np.transpose)
        yield f"mapping/{there}/bias", (f"mapping.{here}.bias", _same)
    yield "synthesis/4x4/Const/const", ("synthesis.b4.const", _first)
    powers = range(2, int(config["resolution"]).bit_length())
    for power in powers:
        size = 2**power
        layers = {"Conv": "conv1"} if power == 2 else {"Conv0_up": "conv0", "Conv1": "conv1"}
        for there, here in layers.items():
            yield from _layer(f"synthesis/{size}x{size}/{there}", f"synthesis.b{size}.{here}")
            noise = 2 * power - (5 if here == "conv0" else 4)
            yield f"synthesis/noise{noise}", (f"synthesis.b{size}.{here}.noise_const", _plane)
        yield from _layer(f"synthesis/{size}x{size}/ToRGB", f"synthesis.b{size}.torgb")


def _layer(there: str, here: str) -> Iterator[tuple[str, tuple[str, Change]]]:
    turned = re.search("Conv0_up$", there) is not None
    yield f"{there}/weight", (f"{here}.weight", _turned if turned else _axes)
    yield f"{there}/bias", (f"{here}.bias", _same)
    yield f"{there}/mod_weight", (f"{here}.affine.weight", np.transpose)
    yield f"{there}/mod_bias", (f"{here}.affine.bias", _plus_one)
    yield f"{there}/noise_strength", (f"{here}.noise_strength", _same)


def _same(values: np.ndarray) -> np.ndarray:
    return values


def _first(values: np.ndarray) -> np.ndarray:
    return values[0]


def _plane(values: np.ndarray) -> np.ndarray:
    return values[0, 0]


def _plus_one(values: np.ndarray) -> np.ndarray:
    return values + 1


def _axes(values: np.ndarray) -> np.ndarray:
    return values.transpose(3, 2, 0, 1)


def _turned(values: np.ndarray) -> np.ndarray:
    return _axes(values)[:, :, ::-1, ::-1]
