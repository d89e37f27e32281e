"""Trained generators from files, whichever code wrote them; nothing in a file is run.

Official pickles of StyleGAN2-ADA and EG3D describe a network by `torch_utils.persistence`: the
source code of its module (which the official loader runs, and this one ignores), the arguments of
its constructor, and its attributes. An unpickler with a short list of allowed names reads them. Any
other name, also that of a network's class, becomes a `Record`, which keeps the stored state and has
no other effect. An option that would change images, and that the networks of this package do not
have, is refused by name.

rosinality's `.pt` has the same weights under other names, in the same order and other shapes, and
no options: they follow from the shapes. Files written by `faceaudit.generators.convert` are read
too.
"""

import argparse
import hashlib
import io
import pickle
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from torch import Tensor

from faceaudit.generators import eg3d, stylegan2
from faceaudit.generators.stylegan2 import StyleBasedNetwork
from faceaudit.generators.weights import Card, fill_network, read_weights
from faceaudit.utils import seeding
from faceaudit.utils.errors import InputError

NETWORKS = {
    "stylegan2": (stylegan2.StyleGAN2Config, stylegan2.StyleGAN2),
    "eg3d": (eg3d.EG3DConfig, eg3d.EG3D),
}
"""Kind → classes of its options and of its network."""
EXPECTED_FILE = "a trained generator"
"""What `load_checkpoint` reads, as errors name it."""
FROM_TORCH = (b"PK\x03\x04", b"\x80\x02\x8a\x0al\xfc\x9cF\xf9\x20\x6a\xa8P\x19.")
"""How files of `torch.save` begin: today's, and those before torch 1.6."""
MEAN_STYLE = "mapping.w_avg"
"""Name of the weight that holds the mean style code."""
MEAN_STYLE_CODES = 10_000
"""Normal codes from which the mean style code is estimated if a file does not have it."""
IMAGE_CHANNELS = {"stylegan2": (1, 3), "eg3d": (3,)}
"""Kind → channels that images of such a network may have: 1 of grey ones, 3 of RGB."""
KERNEL = torch.outer(torch.tensor([1.0, 3, 3, 1]), torch.tensor([1.0, 3, 3, 1])) / 16
"""The filter between resolutions, with the factor 4 of a doubled one in it."""
_OPTION_NAMES = {
    "z_dim": "z_dim",
    "c_dim": "c_dim",
    "w_dim": "w_dim",
    "img_resolution": "resolution",
    "img_channels": "image_channels",
    "channel_base": "channel_base",
    "channel_max": "channel_max",
    "conv_clamp": "conv_clamp",
    "lr_multiplier": "lr_multiplier",
    "num_layers": "mapping_layers",
}
"""Official name of an option → its name in the configs of this package."""
_POSITIONAL_OPTIONS = ("z_dim", "c_dim", "w_dim", "img_resolution", "img_channels")
"""Official options that may stand among the positional arguments, in this order."""
_DEFAULTS = {"channel_base": 32768, "channel_max": 512, "mapping_layers": 8, "lr_multiplier": 0.01}
"""Default options of the official code."""
_FIXED = {"architecture": "skip", "activation": "lrelu", "resample_filter": [1, 3, 3, 1]}
"""Options that have no other value in published files."""
_WITHOUT_EFFECT = (
    "num_fp16_res",
    "use_fp16",
    "fp16_channels_last",
    "fused_modconv_default",
    "w_avg_beta",
    "rendering_kwargs",
    "sr_kwargs",
    "sr_num_fp16_res",
)
"""Options that matter for training or for speed, or that are read elsewhere."""


def load_checkpoint(path: str | Path, kind: str | None = None) -> StyleBasedNetwork:
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
        >>> generators.load_checkpoint("no.pkl")
        Traceback (most recent call last):
        faceaudit.utils.errors.InputError: no.pkl: expected a trained generator, found no such file
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(
            f"{path}: expected a trained generator, found no such file",
            field=str(path),
            found="no such file",
            expected=EXPECTED_FILE,
        )
    converted = path.suffix == ".safetensors"
    if converted:
        content, card = read_weights(path, "generator")
    else:
        content = path.read_bytes()
        card: Card = {
            "source": path.name,
            "source_sha256": hashlib.sha256(content).hexdigest(),
            "mean_w": "stored in the file",
        }
    try:
        if converted:
            stored = StoredGenerator(card["kind"], card["kwargs"], safetensors.torch.load(content))
        elif content.startswith(FROM_TORCH):
            stored = _read_rosinality(content)
        else:
            stored = _read_official(content)
        network = _empty_network(stored, kind)
        state = stored.state
        if not converted:
            state = _as_weights(state, network.state_dict())
        lacks_mean = not converted and stored.kind == "stylegan2" and MEAN_STYLE not in state
        if lacks_mean:
            state[MEAN_STYLE] = torch.zeros(network.w_dim)
            card["mean_w"] = f"estimated from {MEAN_STYLE_CODES:,} keyed normal codes"
    except Exception as error:  # a damaged file may raise anything
        raise _unusable_file(path, error) from None
    fill_network(network, state, path, "generator")
    if lacks_mean:
        assert isinstance(network, stylegan2.StyleGAN2)  # files of EG3D have their mean style code
        z = seeding.normals(0, "mean style", range(MEAN_STYLE_CODES), network.z_dim)
        w = network.mapping(torch.from_numpy(z).float())[:, 0]
        network.mapping.w_avg.copy_(w.double().mean(0))
    network.card = card
    return network.eval().requires_grad_(False)


@dataclass(frozen=True)
class StoredGenerator:
    """A trained generator as its file describes it.

    Attributes:
        kind: a key of `NETWORKS`.
        config: options of the network's config class.
        state: name → weight, under the names of the file.
    """

    kind: str
    config: dict[str, Any]
    state: dict[str, Any]


def _unusable_file(path: Path, error: Exception) -> InputError:
    """The error of a file that is no trained generator, from the one that reading it raised."""
    lines = str(error).splitlines() or [type(error).__name__]
    fault = lines[0][:300]
    # An InputError says what the file holds; other errors come from reading a damaged file.
    if type(error) not in (ValueError, InputError):
        fault = f"a damaged file or one of another kind: {fault}"
    return InputError(
        f"{path}: expected a trained generator, found {fault}",
        field=str(path),
        found=fault,
        expected=EXPECTED_FILE,
    )


def _empty_network(stored: StoredGenerator, kind: str | None) -> StyleBasedNetwork:
    """The network of a file, on the device "meta"; `kind` is the one that it must have, if any."""
    if stored.kind not in NETWORKS or kind not in (None, stored.kind):
        expected = kind or ", ".join(NETWORKS)
        raise InputError(
            f"a network of the kind {stored.kind}, not {expected}",
            field="kind",
            found=stored.kind,
            expected=expected,
        )
    channels = stored.config.get("image_channels", 3)
    if channels not in IMAGE_CHANNELS[stored.kind]:
        expected = " or ".join(map(str, IMAGE_CHANNELS[stored.kind]))
        raise InputError(
            f"a {stored.kind} whose images have {channels} channels, not {expected}",
            field="image_channels",
            found=channels,
            expected=expected,
        )
    config_class, network_class = NETWORKS[stored.kind]
    with torch.device("meta"):
        return network_class(config_class(**stored.config))


def _as_weights(stored: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights in float32 under official names, without the filters, which all networks share.

    Args:
        stored: weights under the names of the file, official ones or rosinality's.
        expected: the network's weights, of which only the names and the shapes count.
    """
    official_names = dict(rosinality_names(expected))
    weights = {}
    for name, value in stored.items():
        if name.endswith(("resample_filter", ".kernel")):
            if not torch.equal(value.float(), KERNEL if name.endswith(".kernel") else KERNEL / 4):
                raise InputError(
                    f"another filter than [1, 3, 3, 1] ({name[:80]})",
                    field=name,
                    expected="the filter [1, 3, 3, 1]",
                )
            continue
        if name in official_names:
            name = official_names[name]
            # A weight of another size stays as it is; `fill_network` refuses it by name.
            if value.numel() == expected[name].numel():
                value = value.reshape(expected[name].shape)
        weights[name] = value.float().contiguous()
    return weights


# --- official pickles


class Record:
    """Object of a class that is not allowed: it keeps its stored state and has no other effect."""

    def __init__(self, meta: Any = None, *_: Any, **__: Any) -> None:
        self.__setstate__(meta.get("state") if isinstance(meta, dict) else None)

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state if isinstance(state, dict) else {})

    def _ignore(self, *_: Any) -> None:
        """Take the place of methods by which a pickle fills lists, sets and dictionaries."""

    append = _ignore
    extend = _ignore
    add = _ignore
    __setitem__ = _ignore


class _Reader(pickle.Unpickler):
    """Unpickler of allowed names; any other name gives a `Record`.

    The allowed objects are new for every file, as a pickle may set attributes of them.
    """

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content))
        self._allowed = _allowed_names()
        self._record = type("Record", (Record,), {})

    def find_class(self, module: str, name: str) -> Any:
        return self._allowed.get((module, name), self._record)


def _allowed_names() -> dict[tuple[str, str], Any]:
    """Module and name in a pickle → what stands for it: containers, tensors and numbers."""

    class Type:
        """A type of numpy; numpy itself would accept any type, and raw bytes, without a check."""

        def __init__(self, code: str = "", *_: Any) -> None:
            self.code = code
            self.order = "="

        def __setstate__(self, state: tuple) -> None:
            self.order = state[1]

    def scalar(kind: Type, content: bytes = b"") -> float | None:
        number_type = np.dtype(f"{kind.order}{kind.code}")
        if number_type.kind not in "biuf":
            return None
        return np.frombuffer(content, number_type)[0].item()

    def storage(content: bytes) -> Any:
        return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)

    def tensor(storage: Any, offset: int, size: tuple, stride: tuple, *_: Any) -> Tensor:
        whole = torch.empty(0, dtype=storage.dtype).set_(storage._untyped_storage)
        return whole.as_strided(size, stride, offset)

    def encode(text: str, _: str = "latin1") -> bytes:
        return text.encode("latin1")

    return {
        ("torch._utils", "_rebuild_parameter"): lambda data, *_: data,
        ("torch._utils", "_rebuild_tensor_v2"): tensor,
        ("torch.storage", "_load_from_bytes"): storage,
        ("dnnlib.util", "EasyDict"): type("EasyDict", (dict,), {}),
        ("collections", "OrderedDict"): OrderedDict,
        ("numpy.core.multiarray", "scalar"): scalar,
        ("numpy._core.multiarray", "scalar"): scalar,
        ("numpy", "dtype"): Type,
        # Before protocol 3, bytes are written as text.
        ("_codecs", "encode"): encode,
    }


def _read_official(content: bytes) -> StoredGenerator:
    """Kind, options and weights of an official network."""
    networks = _Reader(content).load()
    if not isinstance(networks, dict) or "G_ema" not in networks:
        raise InputError(
            "no entry 'G_ema', in which official PyTorch files keep the generator",
            field="G_ema",
            expected="the generator",
        )
    network = networks["G_ema"]
    tensors = dict(_named_tensors(network))
    parts = network._modules
    if "backbone" in parts:
        config = _network_options(network, 256)
        half_precision = network._init_kwargs.get("sr_num_fp16_res", 0)
        config["super_resolution_clamp"] = 256 if half_precision else None
        # Training changes both after the network was made.
        config["neural_resolution"] = network.neural_rendering_resolution
        config["rendering"] = dict(network.rendering_kwargs)
        return StoredGenerator("eg3d", config, tensors)
    if "input" in parts["synthesis"]._modules:
        raise InputError(
            "a StyleGAN3 network; it can be audited as kind: python, by code of yours",
            field="G_ema",
            found="a StyleGAN3 network",
            expected="StyleGAN2 or EG3D",
        )
    # The default clamp differs between the layouts of official files. A layer may store its clamp;
    # otherwise it is the default of the layout: stylegan2-ada nests the synthesis's options, and
    # stylegan3's copy of StyleGAN2 does not.
    layer = vars(parts["synthesis"]._modules["b4"]._modules["conv1"])
    clamp = None if "synthesis_kwargs" in network._init_kwargs else 256
    config = _network_options(network, layer.get("conv_clamp", clamp))
    return StoredGenerator("stylegan2", config, tensors)


def _named_tensors(part: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Name in the state dict → tensor, of a part of a network and of all parts in it."""
    for name, value in {**part._parameters, **part._buffers}.items():
        if value is not None:
            yield f"{prefix}{name}", value
    for name, child in part._modules.items():
        if child is not None:
            yield from _named_tensors(child, f"{prefix}{name}.")


def _network_options(network: Any, clamp: float | None) -> dict[str, Any]:
    """Options of a network that is StyleGAN2, or has one in it.

    Args:
        network: as it was read.
        clamp: the default of the option conv_clamp.

    Raises:
        InputError: an option that is not known, or that has another value than in published files.
    """
    positional = vars(network).get("_init_args", ())
    stored = {**dict(zip(_POSITIONAL_OPTIONS, positional, strict=False)), **network._init_kwargs}
    for group in ("mapping_kwargs", "synthesis_kwargs"):
        stored |= stored.pop(group, {})
    fixed = {
        **_FIXED,
        "use_noise": True,
        "embed_features": stored.get("w_dim"),
        "layer_features": stored.get("w_dim"),
    }
    options = {"conv_clamp": clamp, **_DEFAULTS}
    for name, value in stored.items():
        if name in _OPTION_NAMES:
            options[_OPTION_NAMES[name]] = value
        elif name in fixed and value not in (None, fixed[name]):
            raise InputError(
                f"the option {name} {value!r:.60}, {fixed[name]} was expected",
                field=name,
                found=value,
                expected=str(fixed[name]),
            )
        elif name not in fixed and name not in _WITHOUT_EFFECT:
            raise InputError(
                f"the option {name!r:.80}, which is not known", field=name, found=value
            )
    return options


# --- rosinality's files


def _read_rosinality(content: bytes) -> StoredGenerator:
    """Options of a rosinality network, and weights under rosinality's names."""
    # Files of a training have its options in them, as the command line gave them: an
    # argparse.Namespace, which is therefore allowed besides tensors, and not read.
    with torch.serialization.safe_globals([argparse.Namespace]):
        networks = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    if not isinstance(networks, Mapping) or "g_ema" not in networks:
        raise InputError(
            "no entry 'g_ema', in which rosinality keeps the generator",
            field="g_ema",
            expected="the generator",
        )
    state = dict(networks["g_ema"])
    # The file has no sizes of the network. They follow from the number and the shapes of weights.
    # The mapping network is style.1, style.2, …: style.0 normalises, and has no weight.
    mapping_layers = 0
    convolutions = 0
    for name in state:
        if re.fullmatch(r"style\.\d+\.weight", name):
            mapping_layers += 1
        elif re.fullmatch(r"convs\.\d+\.conv\.weight", name):
            convolutions += 1
    # After 4 × 4 pixels, which have the layer conv1, each resolution has two convolutions in convs,
    # of which the first one doubles the size.
    resolution = 4 * 2 ** (convolutions // 2)
    w_dim, z_dim = state["style.1.weight"].shape
    # Weights of a modulated convolution are (1, outputs, inputs, height, width). The first one has
    # the most channels, channel_max, and the last one the fewest, channel_base / resolution; those
    # between follow from these two (`StyleGAN2Config.channels`).
    last = f"convs.{convolutions - 1}.conv.weight" if convolutions else "conv1.conv.weight"
    config = {
        "z_dim": z_dim,
        "c_dim": 0,
        "w_dim": w_dim,
        "resolution": resolution,
        "mapping_layers": mapping_layers,
        "channel_base": state[last].shape[1] * resolution,
        "channel_max": state["conv1.conv.weight"].shape[1],
        "image_channels": state["to_rgb1.conv.weight"].shape[1],
    }
    # The mean style code stands beside the network, and not in all files: `load_checkpoint`
    # estimates it where it is missing.
    if "latent_avg" in networks:
        state[MEAN_STYLE] = networks["latent_avg"]
    return StoredGenerator("stylegan2", config, state)


def rosinality_names(official: Mapping[str, Tensor]) -> Iterator[tuple[str, str]]:
    """Pair the names of weights in rosinality's files with their official names.

    Args:
        official: weights of a StyleGAN2 under official names; only the names count.

    Yields:
        rosinality's name and the official name of every weight that has both.
    """
    for name in official:
        part, _, rest = name.removeprefix("synthesis.").partition(".")
        if part == "mapping" and rest.startswith("fc"):
            layer, _, weight = rest.removeprefix("fc").partition(".")
            yield f"style.{int(layer) + 1}.{weight}", name
        elif name == "synthesis.b4.const":
            yield "input.input", name
        elif name.startswith("synthesis."):
            layer, _, weight = rest.partition(".")
            yield _rosinality_layer_name(int(part.removeprefix("b")), layer, weight), name


def _rosinality_layer_name(resolution: int, layer: str, weight: str) -> str:
    """rosinality's name of a weight of the synthesis network.

    Args:
        resolution: of the block.
        layer: "conv0", "conv1" or "torgb".
        weight: name of the weight in its layer.
    """
    block = resolution.bit_length() - 4  # -1 for the first block, which has one convolution
    convolution = 2 * block + (layer == "conv1")
    noise = convolution + 1
    prefix = f"convs.{convolution}"
    if layer == "torgb":
        prefix = "to_rgb1" if block < 0 else f"to_rgbs.{block}"
    elif block < 0:
        prefix = "conv1"
        noise = 0
    names = {
        "weight": f"{prefix}.conv.weight",
        "bias": f"{prefix}.bias" if layer == "torgb" else f"{prefix}.activate.bias",
        "affine.weight": f"{prefix}.conv.modulation.weight",
        "affine.bias": f"{prefix}.conv.modulation.bias",
        "noise_strength": f"{prefix}.noise.weight",
        "noise_const": f"noises.noise_{noise}",
    }
    return names[weight]
