"""Trained generators from files, whichever code wrote them; nothing in a file is run.

Official pickles of StyleGAN2-ADA and EG3D describe a network by `torch_utils.persistence`: the
source code of its module, which the official loader runs and this one does not look at, the
arguments that it was made with, and its attributes. The options of a network are spread over nested
arguments, in two layouts and with two sets of defaults. Here they become one flat list; an option
that would change images, and that the networks of this package do not have, is refused by name.
Files of rosinality and those that `helpers.generators.convert` writes are read too.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor, nn

from helpers.artifacts import weights
from helpers.generators import eg3d, stylegan2
from helpers.generators.rosinality import KERNEL, read_rosinality, translated
from helpers.utils import seeding
from helpers.utils.pickle_reading import Known, array, first_line, read_pickle

NETWORKS = {
    "stylegan2": (stylegan2.Config, stylegan2.StyleGAN2),
    "eg3d": (eg3d.Config, eg3d.EG3D),
}
"""Kind → classes of its options and of its network."""
FROM_TORCH = (b"PK\x03\x04", b"\x80\x02\x8a\x0al\xfc\x9cF\xf9\x20\x6a\xa8P\x19.")
"""How files of `torch.save` begin: today's, and those before torch 1.6."""
MEAN = "mapping.w_avg"
CODES = 10_000
"""Normal codes by which a mean style code is estimated that a file does not have."""
_NAMES = {
    **{"z_dim": "z_dim", "c_dim": "c_dim", "w_dim": "w_dim", "img_resolution": "resolution"},
    **{"img_channels": "image_channels", "channel_base": "channel_base"},
    **{"channel_max": "channel_max", "conv_clamp": "conv_clamp", "num_layers": "mapping_layers"},
    "lr_multiplier": "lr_multiplier",
}
"""Official name of an option → its name here; the first five may be given without a name."""
_DEFAULTS = {"channel_base": 32768, "channel_max": 512, "mapping_layers": 8, "lr_multiplier": 0.01}
"""Of the official code."""
_FIXED = {
    **{"architecture": "skip", "activation": "lrelu", "resample_filter": [1, 3, 3, 1]},
    "use_noise": True,
}
"""Options that have no other value in published files."""
_WITHOUT_EFFECT = ("num_fp16_res", "use_fp16", "fp16_channels_last", "fused_modconv_default")
_WITHOUT_EFFECT += ("w_avg_beta", "rendering_kwargs", "sr_kwargs", "sr_num_fp16_res")
"""Those that matter for training or for speed, or that are read elsewhere."""
_EG3D = "training.volumetric_rendering"
_PLAIN = {
    "training.triplane": "OSGDecoder",
    f"{_EG3D}.renderer": "ImportanceRenderer",
    f"{_EG3D}.ray_marcher": "MipRayMarcher2",
    f"{_EG3D}.ray_sampler": "RaySampler",
    "torch.nn.modules.container": "Sequential",
    "torch.nn.modules.activation": "Softplus",
}
"""Parts of EG3D that are written as plain objects."""


def load_checkpoint(path: str | Path, kind: str | None = None) -> nn.Module:
    """Load a trained generator; nothing in the file is run, nothing is compiled.

    Args:
        path: official `.pkl` of stylegan2-ada or EG3D, rosinality's `.pt`, or `.safetensors` with
            its card beside it, as `helpers.generators.convert` writes it.
        kind: what is expected, "stylegan2" or "eg3d"; by default either is taken.

    Returns:
        The network on the CPU in float32, with `mapping`, `styles`, `render`, the attributes z_dim,
        c_dim, w_dim, num_ws and resolution, and `card`, which says where it comes from.

    Raises:
        ValueError: the file is none of these, damaged, of another kind, or has options or weights
            that are not known; names the file and what was found.

    Example:
        >>> from helpers import generators
        >>> generators.load_checkpoint("missing.pkl")
        Traceback (most recent call last):
        ValueError: missing.pkl: expected a trained generator, found no such file
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path}: expected a trained generator, found no such file")
    converted = path.suffix == ".safetensors"
    content, card = weights.read(path, "generator") if converted else (path.read_bytes(), {})
    of_torch = content.startswith(FROM_TORCH)
    try:
        if converted:
            found, config = card["kind"], card["kwargs"]
            state = safetensors.torch.load(content)
        elif of_torch:
            found, (config, state) = "stylegan2", read_rosinality(content)
        else:
            found, config, state = _official(content)
        if kind not in (None, found):
            raise ValueError(f"a network of the kind {found}, not {kind}")
        if found not in NETWORKS:
            raise ValueError(f"{found!r:.40}, which is none of {', '.join(NETWORKS)}")
        options, network_of = NETWORKS[found]
        with torch.device("meta"):
            network = network_of(options(**config))
        if not converted:
            state = _as_weights(state, len(content))
            card = {"source": path.name, "source_sha256": hashlib.sha256(content).hexdigest()}
            card["mean_w"] = "stored in the file"
        if of_torch:
            state = translated(state, network.state_dict())
        if estimated := of_torch and MEAN not in state:
            state[MEAN] = torch.zeros(network.w_dim)
            card["mean_w"] = f"estimated from {CODES:,} keyed normal codes"
    except Exception as error:  # a damaged file may raise anything
        of_others = "" if type(error) is ValueError else "a damaged file or one of another kind: "
        words = f"found {of_others}{first_line(error)}"
        raise ValueError(f"{path}: expected a trained generator, {words}") from None
    weights.fill_state(network, state, path, "generator")
    if estimated:
        z = seeding.normals(0, "mean style", range(CODES), network.z_dim)
        w = network.mapping(torch.from_numpy(z).float())[:, 0]
        network.mapping.w_avg.copy_(w.double().mean(0))
    network.card = card
    return network.eval().requires_grad_(False)


def _as_weights(found: Mapping[str, Any], size: int) -> dict[str, Tensor]:
    """Weights in float32, without the filters, which are the same in all networks.

    Args:
        found: name → tensor; several may be views into the same numbers.
        size: of the file in bytes.
    """
    for name, value in found.items():
        if not isinstance(value, Tensor) or not value.is_floating_point():
            raise ValueError(f"weights {name!r:.80} that are no real numbers")
    if sum(value.numel() for value in found.values()) > size:  # so that they fit into memory
        raise ValueError("weights that together are far larger than the file")
    kept = {name: value.float().contiguous() for name, value in found.items()}
    for name in [name for name in kept if name.endswith(("resample_filter", ".kernel"))]:
        wanted = KERNEL if name.endswith(".kernel") else KERNEL / 4
        if kept[name].shape != (4, 4) or not torch.allclose(kept.pop(name), wanted):
            raise ValueError(f"another filter than [1, 3, 3, 1] ({name[:80]})")
    return kept


def _known() -> Known:
    """The names of official files, with new objects for every file."""

    class Part:
        """A network or a part of one, with all attributes that it was written with."""

        def __init__(self, meta: Mapping[str, Any]) -> None:
            self.__dict__.update(meta["state"])

    def tensor(storage: Any, offset: int, size: tuple, stride: tuple, *_: Any) -> Tensor:
        whole = torch.empty(0, dtype=storage.dtype).set_(storage._untyped_storage)
        return whole.as_strided(size, stride, offset)

    def storage(content: bytes) -> Any:
        return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)

    return {
        ("torch_utils.persistence", "_reconstruct_persistent_obj"): Part,
        **dict.fromkeys(_PLAIN.items(), Part),
        ("torch._utils", "_rebuild_parameter"): lambda data, *_: data,
        ("torch._utils", "_rebuild_tensor_v2"): tensor,
        ("torch.storage", "_load_from_bytes"): storage,
        ("dnnlib.util", "EasyDict"): type("EasyDict", (dict,), {}),
    }


def _official(content: bytes) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Kind, options and weights of an official network."""
    networks = read_pickle(content, _known())
    if isinstance(networks, tuple) and len(networks) == 3:
        raise ValueError("networks of TensorFlow; NVIDIA publishes the same ones for PyTorch")
    if not isinstance(networks, dict) or "G_ema" not in networks:
        raise ValueError("no entry 'G_ema', in which official files keep the generator")
    network = networks["G_ema"]
    tensors, parts = dict(_tensors(network)), network._modules
    if "backbone" in parts:
        return "eg3d", _eg3d(network), tensors
    if "input" in parts["synthesis"]._modules:
        raise ValueError("a StyleGAN3 network; it can be audited as kind: python, by code of yours")
    # The defaults differ between the layouts. The layer itself knows; what a layer does not say
    # is as in its layout: stylegan2-ada nests the synthesis's options, stylegan3's copy not.
    layer = vars(parts["synthesis"]._modules["b4"]._modules["conv1"])
    clamp = None if "synthesis_kwargs" in network._init_kwargs else 256
    return "stylegan2", _config(network, layer.get("conv_clamp", clamp)), tensors


def _tensors(part: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Name in the state dict → tensor."""
    if not hasattr(part, "_modules"):
        raise ValueError(f"{prefix[:80] or 'G_ema'!r} of a class that is not known")
    for name, value in {**part._parameters, **part._buffers}.items():
        if value is not None:
            yield f"{prefix}{name}", value
    for name, child in part._modules.items():
        if child is not None:
            yield from _tensors(child, f"{prefix}{name}.")


def _config(network: Any, clamp: float | None) -> dict[str, Any]:
    """Options of a network that is StyleGAN2, or has one in it; `clamp` is the default."""
    first = zip(list(_NAMES)[:5], vars(network).get("_init_args", ()), strict=False)
    given = {**dict(first), **network._init_kwargs}
    for group in ("mapping_kwargs", "synthesis_kwargs"):
        given |= given.pop(group, {})
    found = {"conv_clamp": clamp, **_DEFAULTS}
    widths = dict.fromkeys(("embed_features", "layer_features"), (None, given.get("w_dim")))
    fixed = {**{name: (value,) for name, value in _FIXED.items()}, **widths}
    for name, value in given.items():
        if name in _NAMES:
            found[_NAMES[name]] = _plain(value)
        elif name in fixed:
            if _plain(value) not in fixed[name]:
                raise ValueError(f"the option {name} {value!r:.60}, {fixed[name][0]} was expected")
        elif name not in _WITHOUT_EFFECT:
            raise ValueError(f"the option {name!r:.80}, which is not known")
    return found


def _eg3d(network: Any) -> dict[str, Any]:
    found = _config(network, 256)
    half = network._init_kwargs.get("sr_num_fp16_res", 0)
    found["super_resolution_clamp"] = 256 if half else None
    # Training changes both after the network was made.
    found["neural_resolution"] = _plain(network.neural_rendering_resolution)
    rendering = network.rendering_kwargs.items()
    return found | {"rendering": {str(name): _plain(value) for name, value in rendering}}


def _plain(value: Any) -> Any:
    """A value, also if it was one of numpy's numbers, or a list of such."""
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if isinstance(value, bool | int | float | str | None) else array(value).item()
