"""Files of tiny generators in the forms of the published ones, written by the ordinary pickle.

Stand-ins of the modules that such files name are there while a file is written, or read by the
ordinary unpickler, and only then. Names and shapes are written out here once more, so that the
reader's own list is held against another one.
"""

import argparse
import io
import pickle
import sys
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from unittest import mock

import numpy as np
import torch
from torch import Tensor

F = torch.outer(torch.tensor([1.0, 3, 3, 1]), torch.tensor([1.0, 3, 3, 1])) / 64
BUFFERS = ("w_avg", "noise_const", "resample_filter")
EG3D = "training.volumetric_rendering"
PLAIN = {
    "renderer": (f"{EG3D}.renderer", "ImportanceRenderer"),
    "renderer.ray_marcher": (f"{EG3D}.ray_marcher", "MipRayMarcher2"),
    "ray_sampler": (f"{EG3D}.ray_sampler", "RaySampler"),
    "decoder": ("training.triplane", "OSGDecoder"),
    "decoder.net": ("torch.nn.modules.container", "Sequential"),
    "decoder.net.1": ("torch.nn.modules.activation", "Softplus"),
}


class EasyDict(dict):
    """As in dnnlib."""


def reconstruct(meta: dict) -> object:
    """What the official loader does: it runs the source code in the file."""
    exec(meta["module_src"], {})
    return meta


def _stand_ins() -> dict[str, ModuleType]:
    kinds = {
        ("dnnlib.util", "EasyDict"): EasyDict,
        ("torch_utils.persistence", "_reconstruct_persistent_obj"): reconstruct,
    }
    for module, name in PLAIN.values():
        if not module.startswith("torch."):
            kinds[module, name] = type(name, (), {})
    modules = {}
    for (module, name), value in kinds.items():
        parts = module.split(".")
        for end in range(1, len(parts) + 1):
            full = ".".join(parts[:end])
            modules.setdefault(full, ModuleType(full))
        setattr(modules[module], name, value)
        value.__module__, value.__qualname__, value.__name__ = module, name, name
    return modules


STAND_INS = _stand_ins()


@contextmanager
def official_code() -> Iterator[None]:
    """While it lasts, the modules that official files name can be imported."""
    with mock.patch.dict(sys.modules, STAND_INS):
        yield


def dumps(value: object, protocol: int = 4) -> bytes:
    with official_code():
        return pickle.dumps(value, protocol)


class Part:
    """A part of a network, as `torch_utils.persistence` writes it."""

    def __init__(self, class_name: str, kwargs: dict, state: dict, source: str = "") -> None:
        self.class_name, self.kwargs, self.state, self.source = class_name, kwargs, state, source

    def __reduce__(self) -> tuple:
        meta = {
            "type": "class",
            "version": 6,
            "module_src": self.source,
            "class_name": self.class_name,
            "state": {"_init_args": (), "_init_kwargs": EasyDict(self.kwargs), **self.state},
        }
        return reconstruct, (meta,)


def attributes(**more: object) -> dict:
    """What every module of torch holds."""
    return {
        "training": False,
        "_parameters": OrderedDict(),
        "_buffers": OrderedDict(),
        "_non_persistent_buffers_set": set(),
        "_forward_hooks": OrderedDict(),
        "_modules": OrderedDict(),
        "weight_gain": np.float64(0.01) / np.sqrt(512),
        **more,
    }


def network(weights: dict[str, Tensor], class_name: str, kwargs: dict, **more: object) -> Part:
    """A network with its parts, from a flat list of weights."""
    parts: dict[str, dict] = {"": attributes(**more)}
    objects: dict[str, object] = {"": Part(class_name, kwargs, parts[""], "import math\n" * 20)}

    def part(path: str) -> dict:
        if path not in parts:
            above, _, name = path.rpartition(".")
            if path in PLAIN:
                module, kind = PLAIN[path]
                cls = getattr(STAND_INS.get(module) or sys.modules[module], kind)
                objects[path] = cls.__new__(cls)
                parts[path] = objects[path].__dict__
                parts[path].update(attributes())
            else:
                clamp = {"conv_clamp": None} if name in ("conv0", "conv1", "torgb") else {}
                parts[path] = attributes(**clamp)
                objects[path] = Part(name.capitalize(), {}, parts[path])
            part(above)["_modules"][name] = objects[path]
        return parts[path]

    for name, values in weights.items():
        path, _, own = name.rpartition(".")
        if own in BUFFERS:
            part(path)["_buffers"][own] = values
        else:
            part(path)["_parameters"][own] = torch.nn.Parameter(values, requires_grad=False)
    if class_name == "TriPlaneGenerator":
        for path in ("renderer.ray_marcher", "ray_sampler", "decoder.net.1"):
            part(path)
    return objects[""]


class Weights:
    """Random weights by name, the same in every run."""

    def __init__(self, seed: int = 0) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self.found: dict[str, Tensor] = {}

    def add(self, name: str, *shape: int) -> None:
        # Quarters, so that adding and taking away 1 changes no bit.
        self.found[name] = torch.randint(-40, 40, shape, generator=self.generator) / 4

    def dense(self, name: str, inside: int, outside: int) -> None:
        self.add(f"{name}.weight", outside, inside)
        self.add(f"{name}.bias", outside)

    def layer(self, name: str, inside: int, outside: int, kernel: int, w_dim: int) -> None:
        self.add(f"{name}.weight", outside, inside, kernel, kernel)
        self.add(f"{name}.bias", outside)
        self.dense(f"{name}.affine", w_dim, inside)

    def noise(self, name: str, size: int) -> None:
        self.add(f"{name}.noise_const", size, size)
        self.add(f"{name}.noise_strength")

    def mapping(self, name: str, z_dim: int, c_dim: int, w_dim: int, layers: int) -> None:
        self.add(f"{name}.w_avg", w_dim)
        if c_dim:
            self.dense(f"{name}.embed", c_dim, w_dim)
        for number in range(layers):
            first = z_dim + (w_dim if c_dim else 0)
            self.dense(f"{name}.fc{number}", w_dim if number else first, w_dim)

    def block(self, name: str, inside: int, outside: int, size: int, w_dim: int, rgb: int) -> None:
        for conv, width in (("conv0", inside), ("conv1", outside)):
            if width:
                self.layer(f"{name}.{conv}", width, outside, 3, w_dim)
                self.noise(f"{name}.{conv}", size)
                self.found[f"{name}.{conv}.resample_filter"] = F.clone()
        self.layer(f"{name}.torgb", outside, rgb, 1, w_dim)
        self.found[f"{name}.resample_filter"] = F.clone()

    def synthesis(self, name: str, widths: dict[int, int], w_dim: int, rgb: int = 3) -> None:
        inside = 0
        for size, width in widths.items():
            if size == 4:
                self.add(f"{name}.b4.const", width, 4, 4)
            self.block(f"{name}.b{size}", inside, width, size, w_dim, rgb)
            inside = width


WIDTHS = {4: 8, 8: 8, 16: 4}
SIZES = {"z_dim": 5, "c_dim": 0, "w_dim": 6, "img_resolution": 16, "img_channels": 3}
CHANNELS = {"channel_base": 64, "channel_max": 8}
CONFIG = {
    **{"z_dim": 5, "c_dim": 0, "w_dim": 6, "resolution": 16, "image_channels": 3},
    **{"channel_base": 64, "channel_max": 8, "conv_clamp": None},
    **{"mapping_layers": 2, "lr_multiplier": 0.01},
}
"""The options of the tiny StyleGAN2."""


def constants(name: str) -> bool:
    return name.endswith("resample_filter")


def persistent(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights without what is the same in every network."""
    return {name: values for name, values in weights.items() if not constants(name)}


def stylegan2_weights(c_dim: int = 0) -> dict[str, Tensor]:
    weights = Weights()
    weights.mapping("mapping", 5, c_dim, 6, layers=2)
    weights.synthesis("synthesis", WIDTHS, w_dim=6)
    return weights.found


def ada(c_dim: int = 0, weights: dict | None = None, **more: object) -> Part:
    """stylegan2-ada's generator: options of the synthesis are nested."""
    kwargs = SIZES | {"c_dim": c_dim, "mapping_kwargs": EasyDict(num_layers=2)}
    kwargs |= {"synthesis_kwargs": EasyDict(CHANNELS | {"num_fp16_res": 4}), **more}
    return network(weights or stylegan2_weights(c_dim), "Generator", kwargs)


def with_others(generator: object, discriminator: object = None) -> dict:
    """All that an official file holds."""
    return {
        "G": None,
        "D": discriminator,
        "G_ema": generator,
        "training_set_kwargs": EasyDict(path="faces.zip", use_labels=False),
        "augment_pipe": None,
    }


RENDERING = {
    **{"image_resolution": 512, "disparity_space_sampling": False, "clamp_mode": "softplus"},
    **{"superresolution_module": "training.superresolution.SuperresolutionHybrid8XDC"},
    **{"depth_resolution": 48, "depth_resolution_importance": 48, "ray_start": 2.25},
    **{"ray_end": 3.3, "box_warp": 1, "avg_camera_radius": 2.7, "avg_camera_pivot": [0, 0, 0.2]},
    **{"superresolution_noise_mode": "none", "sr_antialias": True, "decoder_lr_mul": 1},
    **{"c_gen_conditioning_zero": False, "c_scale": 1, "white_back": False},
}


def eg3d() -> tuple[Part, dict[str, Tensor]]:
    """EG3D at 512 pixels, with a tiny backbone."""
    weights = Weights()
    weights.mapping("backbone.mapping", 5, 25, 6, layers=2)
    widths = {2**k: min(64 // 2**k, 8) or 1 for k in range(2, 9)}
    widths = {size: min(512 // size, 8) for size in widths}
    weights.synthesis("backbone.synthesis", widths, 6, rgb=96)
    weights.dense("decoder.net.0", 32, 64)
    weights.dense("decoder.net.2", 64, 33)
    weights.block("superresolution.block0", 32, 256, 256, 6, 3)
    weights.block("superresolution.block1", 256, 128, 512, 6, 3)
    weights.found["superresolution.resample_filter"] = F.clone()
    kwargs = SIZES | {"c_dim": 25, "img_resolution": 512, "channel_base": 512, "channel_max": 8}
    kwargs |= {"mapping_kwargs": EasyDict(num_layers=2), "sr_num_fp16_res": 4}
    kwargs |= {"sr_kwargs": EasyDict(channel_base=512, channel_max=8), "num_fp16_res": 0}
    kwargs |= {"rendering_kwargs": EasyDict(RENDERING), "conv_clamp": None}
    more = {"neural_rendering_resolution": 128, "rendering_kwargs": EasyDict(RENDERING)}
    return network(weights.found, "TriPlaneGenerator", kwargs, **more), weights.found


def rosinality_state(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """`g_ema` with the weights of an official network."""
    state = {}
    for name, values in weights.items():
        if name == "mapping.w_avg" or constants(name):
            continue
        part, block, *rest = name.split(".")
        if part == "mapping":
            state[f"style.{int(block[2:]) + 1}.{rest[0]}"] = values
            continue
        if rest == ["const"]:
            state["input.input"] = values[None]
            continue
        (layer, *own), power = rest, int(block[1:]).bit_length() - 1
        number = 2 * (power - 3) + (layer == "conv1")
        there = f"convs.{number}" if power > 2 else "conv1"
        if layer == "torgb":
            there = f"to_rgbs.{power - 3}" if power > 2 else "to_rgb1"
        match own:
            case ["weight"]:
                state[f"{there}.conv.weight"] = values[None]
            case ["affine", own_name]:
                state[f"{there}.conv.modulation.{own_name}"] = values
            case ["noise_const"]:
                state[f"noises.noise_{number + 1 if power > 2 else 0}"] = values[None, None]
            case ["noise_strength"]:
                state[f"{there}.noise.weight"] = values.reshape(1)
            case ["bias"] if layer == "torgb":
                state[f"{there}.bias"] = values.reshape(1, 3, 1, 1)
            case ["bias"]:
                state[f"{there}.activate.bias"] = values
        if layer == "conv0" and own == ["weight"]:
            state[f"{there}.conv.blur.kernel"] = 4 * F
        if layer == "torgb" and own == ["weight"] and power > 2:
            state[f"{there}.upsample.kernel"] = 4 * F
    return state


def rosinality(content: dict, zipped: bool) -> bytes:
    stream = io.BytesIO()
    torch.save(content, stream, _use_new_zipfile_serialization=zipped)
    return stream.getvalue()


def training_file(weights: dict[str, Tensor]) -> dict:
    """What rosinality's training writes: options, an optimiser and no mean style."""
    state = OrderedDict(rosinality_state(weights))
    state._metadata = {"": {"version": 1}}
    optimiser = {"state": {0: {"step": torch.tensor(3), "exp_avg": torch.ones(4)}}}
    return {"g_ema": state, "g_optim": optimiser, "args": argparse.Namespace(size=16, lr=0.002)}
