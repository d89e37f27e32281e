"""Trained generators from files, whichever code wrote them; nothing in a file is run.

Official pickles of StyleGAN2-ADA and EG3D describe a network by `torch_utils.persistence`: the
source code of its module, which the official loader runs and this one does not look at, the
arguments that it was made with, and its attributes. They are read by an unpickler that knows a
short list of names; any other name, those of networks too, gives an object without effect, which
keeps the state that was written. An option that would change images, and that the
networks of this package do not have, is refused by name.

rosinality's `.pt` has the same weights under other names, in the same order and other shapes, and
no options: they follow from the shapes. What `faceaudit.generators.convert` writes is read too.
"""

import argparse
import hashlib
import io
import pickle
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from torch import Tensor, nn

from faceaudit.generators import eg3d, stylegan2
from faceaudit.generators.weights import fill_network, read_weights
from faceaudit.utils import seeding

NETWORKS = {"stylegan2": (stylegan2.Config, stylegan2.StyleGAN2), "eg3d": (eg3d.Config, eg3d.EG3D)}
"""Kind → classes of its options and of its network."""
FROM_TORCH = (b"PK\x03\x04", b"\x80\x02\x8a\x0al\xfc\x9cF\xf9\x20\x6a\xa8P\x19.")
"""How files of `torch.save` begin: today's, and those before torch 1.6."""
MEAN, CODES = "mapping.w_avg", 10_000
"""The mean style code, and by how many normal codes it is estimated if a file does not have it."""
IMAGE_CHANNELS = {"stylegan2": (1, 3), "eg3d": (3,)}
"""Kind → channels that images of such a network may have: 1 of grey ones, 3 of RGB."""
KERNEL = torch.outer(torch.tensor([1.0, 3, 3, 1]), torch.tensor([1.0, 3, 3, 1])) / 16
"""The filter between resolutions, with the factor 4 of a doubled one in it."""
_NAMES = {name: name for name in ("z_dim", "c_dim", "w_dim")}
_NAMES |= {"img_resolution": "resolution", "img_channels": "image_channels"}
_NAMES |= {name: name for name in ("channel_base", "channel_max", "conv_clamp", "lr_multiplier")}
_NAMES |= {"num_layers": "mapping_layers"}
"""Official name of an option → its name here; the first five may be given without a name."""
_DEFAULTS = {"channel_base": 32768, "channel_max": 512, "mapping_layers": 8, "lr_multiplier": 0.01}
"""Of the official code."""
_FIXED = {"architecture": "skip", "activation": "lrelu", "resample_filter": [1, 3, 3, 1]}
"""Options that have no other value in published files."""
_WITHOUT_EFFECT = ("num_fp16_res", "use_fp16", "fp16_channels_last", "fused_modconv_default")
_WITHOUT_EFFECT += ("w_avg_beta", "rendering_kwargs", "sr_kwargs", "sr_num_fp16_res")
"""Those that matter for training or for speed, or that are read elsewhere."""


def load_checkpoint(path: str | Path, kind: str | None = None) -> nn.Module:
    """Load a trained generator; nothing in the file is run, nothing is compiled.

    Args:
        path: the `.pkl` of StyleGAN2-ADA or EG3D, rosinality's `.pt`, or a `.safetensors` with
            its card beside it, as `faceaudit.generators.convert` writes it.
        kind: "stylegan2" or "eg3d"; None for either.

    Returns:
        The network on the CPU in float32, with `mapping`, `styles`, `render`, the attributes z_dim,
        c_dim, w_dim, num_ws and resolution, and `card`, which says where it comes from.

    Raises:
        ValueError: the file is none of these, damaged, of another kind, or has options or weights
            that are not known; names the file and what was found.

    Example:
        >>> from faceaudit import generators
        >>> generators.load_checkpoint("missing.pkl")
        Traceback (most recent call last):
        ValueError: missing.pkl: expected a trained generator, found no such file
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path}: expected a trained generator, found no such file")
    if converted := path.suffix == ".safetensors":
        content, card = read_weights(path, "generator")
    else:
        content = path.read_bytes()
        card = {"source": path.name, "source_sha256": hashlib.sha256(content).hexdigest()}
        card["mean_w"] = "stored in the file"
    try:
        if converted:
            found, config, state = card["kind"], card["kwargs"], safetensors.torch.load(content)
        elif content.startswith(FROM_TORCH):
            found, config, state = "stylegan2", *_rosinality(content)
        else:
            found, config, state = _official(content)
        if found not in NETWORKS or kind not in (None, found):
            raise ValueError(f"a network of the kind {found}, not {kind or ', '.join(NETWORKS)}")
        options, network_of = NETWORKS[found]
        channels = config.get("image_channels", 3)
        if channels not in IMAGE_CHANNELS[found]:
            known = " or ".join(map(str, IMAGE_CHANNELS[found]))
            raise ValueError(f"a {found} whose images have {channels} channels, not {known}")
        with torch.device("meta"):
            network = network_of(options(**config))
        if not converted:
            state = _as_weights(state, network.state_dict())
        if estimated := not converted and found == "stylegan2" and MEAN not in state:
            state[MEAN] = torch.zeros(network.w_dim)
            card["mean_w"] = f"estimated from {CODES:,} keyed normal codes"
    except Exception as error:  # a damaged file may raise anything
        of_others = "" if type(error) is ValueError else "a damaged file or one of another kind: "
        words = (str(error).splitlines() or [type(error).__name__])[0][:300]
        words = f"expected a trained generator, found {of_others}{words}"
        raise ValueError(f"{path}: {words}") from None
    fill_network(network, state, path, "generator")
    if estimated:
        z = seeding.normals(0, "mean style", range(CODES), network.z_dim)
        w = network.mapping(torch.from_numpy(z).float())[:, 0]
        network.mapping.w_avg.copy_(w.double().mean(0))
    network.card = card
    return network.eval().requires_grad_(False)


def _as_weights(found: Mapping, wanted: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights in float32 under official names, without the filters, which all networks share."""
    names, kept = dict(rosinality_names(wanted)), {}
    for name, value in found.items():
        if name.endswith(("resample_filter", ".kernel")):
            if not torch.equal(value.float(), KERNEL if name.endswith(".kernel") else KERNEL / 4):
                raise ValueError(f"another filter than [1, 3, 3, 1] ({name[:80]})")
            continue
        here = names.get(name, name)
        fits = here in wanted and value.numel() == wanted[here].numel()
        kept[here] = value.reshape(wanted[here].shape) if fits and here != name else value
    return {name: value.float().contiguous() for name, value in kept.items()}


# --- official pickles


class Record:
    """What any other name becomes: it keeps its state, as numbers and words, and does nothing."""

    def __init__(self, meta: Any = None, *_: Any, **__: Any) -> None:
        self.__setstate__(meta.get("state") if isinstance(meta, dict) else None)

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state if isinstance(state, dict) else {})

    append = extend = add = __setitem__ = lambda self, *_: None


class _Reader(pickle.Unpickler):
    """Knows the names below; all are new for every file, as a pickle may set attributes of them."""

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content))
        self._known, self._other = _known(), type("Record", (Record,), {})

    def find_class(self, module: str, name: str) -> Any:
        return self._known.get((module, name), self._other)


def _known() -> dict[tuple[str, str], Any]:
    class Type:
        """A type of numpy; numpy itself would take it, and raw bytes, on trust."""

        def __init__(self, code: str = "", *_: Any) -> None:
            self.code, self.order = code, "="

        def __setstate__(self, state: tuple) -> None:
            self.order = state[1]

    def scalar(kind: Type, content: bytes = b"") -> float | None:
        kind = np.dtype(f"{kind.order}{kind.code}")
        return np.frombuffer(content, kind)[0].item() if kind.kind in "biuf" else None

    def storage(content: bytes) -> Any:
        return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)

    def tensor(storage: Any, offset: int, size: tuple, stride: tuple, *_: Any) -> Tensor:
        whole = torch.empty(0, dtype=storage.dtype).set_(storage._untyped_storage)
        return whole.as_strided(size, stride, offset)

    return {
        ("torch._utils", "_rebuild_parameter"): lambda data, *_: data,
        ("torch._utils", "_rebuild_tensor_v2"): tensor,
        ("torch.storage", "_load_from_bytes"): storage,
        ("dnnlib.util", "EasyDict"): type("EasyDict", (dict,), {}),
        ("collections", "OrderedDict"): OrderedDict,
        **{(f"numpy.{core}.multiarray", "scalar"): scalar for core in ("core", "_core")},
        ("numpy", "dtype"): Type,
        # Before protocol 3, bytes are written as text.
        ("_codecs", "encode"): lambda text, _="latin1": text.encode("latin1"),
    }


def _official(content: bytes) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Kind, options and weights of an official network."""
    networks = _Reader(content).load()
    if not isinstance(networks, dict) or "G_ema" not in networks:
        raise ValueError("no entry 'G_ema', in which official PyTorch files keep the generator")
    network = networks["G_ema"]
    tensors, parts = dict(_tensors(network)), network._modules
    if "backbone" in parts:
        config = _config(network, 256)
        half = network._init_kwargs.get("sr_num_fp16_res", 0)
        config["super_resolution_clamp"] = 256 if half else None
        # Training changes both after the network was made.
        config["neural_resolution"] = network.neural_rendering_resolution
        config["rendering"] = dict(network.rendering_kwargs)
        return "eg3d", config, tensors
    if "input" in parts["synthesis"]._modules:
        raise ValueError("a StyleGAN3 network; it can be audited as kind: python, by code of yours")
    # The defaults differ between the layouts. The layer itself knows; what a layer does not say
    # is as in its layout: stylegan2-ada nests the synthesis's options, stylegan3's copy not.
    layer = vars(parts["synthesis"]._modules["b4"]._modules["conv1"])
    clamp = None if "synthesis_kwargs" in network._init_kwargs else 256
    return "stylegan2", _config(network, layer.get("conv_clamp", clamp)), tensors


def _tensors(part: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Name in the state dict → tensor."""
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
    widths = dict.fromkeys(("embed_features", "layer_features"), given.get("w_dim"))
    fixed, found = _FIXED | {"use_noise": True} | widths, {"conv_clamp": clamp, **_DEFAULTS}
    for name, value in given.items():
        if name in _NAMES:
            found[_NAMES[name]] = value
        elif name in fixed and value not in (None, fixed[name]):
            raise ValueError(f"the option {name} {value!r:.60}, {fixed[name]} was expected")
        elif name not in fixed and name not in _WITHOUT_EFFECT:
            raise ValueError(f"the option {name!r:.80}, which is not known")
    return found


# --- rosinality's files


def _rosinality(content: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options, and weights under rosinality's names."""
    # Files of a training have its options in them, as the command line gave them.
    with torch.serialization.safe_globals([argparse.Namespace]):
        found = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    if not isinstance(found, Mapping) or "g_ema" not in found:
        raise ValueError("no entry 'g_ema', in which rosinality keeps the generator")
    state = dict(found["g_ema"])
    layers = sum(re.fullmatch(r"style\.\d+\.weight", name) is not None for name in state)
    convolutions = sum(re.fullmatch(r"convs\.\d+\.conv\.weight", one) is not None for one in state)
    resolution = 4 * 2 ** (convolutions // 2)
    w_dim, z_dim = state["style.1.weight"].shape
    last = f"convs.{convolutions - 1}.conv.weight" if convolutions else "conv1.conv.weight"
    config = {"z_dim": z_dim, "c_dim": 0, "w_dim": w_dim, "resolution": resolution}
    config |= {"mapping_layers": layers, "channel_base": state[last].shape[1] * resolution}
    config["channel_max"] = state["conv1.conv.weight"].shape[1]
    config["image_channels"] = state["to_rgb1.conv.weight"].shape[1]
    return config, state | ({MEAN: found["latent_avg"]} if "latent_avg" in found else {})


def rosinality_names(official: Mapping[str, Tensor]) -> Iterator[tuple[str, str]]:
    """Name in rosinality's files → official name, of all weights of a StyleGAN2."""
    for name in official:
        part, _, own = name.removeprefix("synthesis.").partition(".")
        if part == "mapping" and own.startswith("fc"):
            layer, _, own = own.removeprefix("fc").partition(".")
            yield f"style.{int(layer) + 1}.{own}", name
        elif name == "synthesis.b4.const":
            yield "input.input", name
        elif name.startswith("synthesis."):
            layer, _, own = own.partition(".")
            block, second = int(part[1:]).bit_length() - 4, layer == "conv1"
            there, number = f"convs.{2 * block + second}", 2 * block + 1 + second
            if layer == "torgb":
                there = "to_rgb1" if block < 0 else f"to_rgbs.{block}"
            elif block < 0:
                there, number = "conv1", 0
            own_there = {
                "weight": f"{there}.conv.weight",
                "bias": f"{there}.bias" if layer == "torgb" else f"{there}.activate.bias",
                "affine.weight": f"{there}.conv.modulation.weight",
                "affine.bias": f"{there}.conv.modulation.bias",
                "noise_strength": f"{there}.noise.weight",
                "noise_const": f"noises.noise_{number}",
            }
            yield own_there[own], name
