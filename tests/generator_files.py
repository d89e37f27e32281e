"""Files of tiny generators in the forms of the published ones, written by the ordinary pickle.

Stand-ins of the modules that such files name are there while a file is written, or read by the
ordinary unpickler, and only then.
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

from faceaudit.generators import stylegan2
from faceaudit.generators.eg3d import EG3D, EG3DConfig

F = torch.outer(torch.tensor([1.0, 3, 3, 1]), torch.tensor([1.0, 3, 3, 1])) / 64
BUFFERS = ("w_avg", "noise_const", "resample_filter")
RAYS = "training.volumetric_rendering"
PLAIN = {
    "renderer": (f"{RAYS}.renderer", "ImportanceRenderer"),
    "renderer.ray_marcher": (f"{RAYS}.ray_marcher", "MipRayMarcher2"),
    "ray_sampler": (f"{RAYS}.ray_sampler", "RaySampler"),
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


SIZES = {"z_dim": 5, "c_dim": 0, "w_dim": 6, "img_resolution": 16, "img_channels": 3}
CHANNELS = {"channel_base": 64, "channel_max": 8}
CONFIG = {
    **{"z_dim": 5, "c_dim": 0, "w_dim": 6, "resolution": 16, "image_channels": 3},
    **{"channel_base": 64, "channel_max": 8, "conv_clamp": None},
    **{"mapping_layers": 2, "lr_multiplier": 0.01},
}
"""The options of the tiny StyleGAN2."""


def persistent(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights without what is the same in every network."""
    return {name: v for name, v in weights.items() if not name.endswith("resample_filter")}


def drawn(network: torch.nn.Module) -> dict[str, Tensor]:
    """Random weights, in quarters, which half precision has as well, and the filters of a file."""
    state = stylegan2.draw_network_weights(network, seed=0).state_dict()
    weights = {name: (4 * values).round() / 4 for name, values in state.items()}
    for name in state:
        layer = name.removesuffix(".noise_const").removesuffix(".torgb.weight")
        if layer != name:
            weights[f"{layer}.resample_filter"] = F.clone()
    return weights


def stylegan2_weights(**options: int) -> dict[str, Tensor]:
    return drawn(stylegan2.StyleGAN2(stylegan2.StyleGAN2Config(**CONFIG | options)))


def ada(c_dim: int = 0, weights: dict | None = None, **more: object) -> Part:
    """stylegan2-ada's generator: options of the synthesis are nested."""
    kwargs = SIZES | {"c_dim": c_dim, "mapping_kwargs": EasyDict(num_layers=2)}
    kwargs |= {"synthesis_kwargs": EasyDict(CHANNELS | {"num_fp16_res": 4}), **more}
    return network(weights or stylegan2_weights(c_dim=c_dim), "Generator", kwargs)


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


def eg3d(
    resolution: int = 512, w_dim: int = 6, rays: int = 128, **rendering: object
) -> tuple[Part, dict[str, Tensor]]:
    """EG3D with a tiny backbone."""
    rendering = RENDERING | rendering
    sizes = CONFIG | {"c_dim": 25, "resolution": resolution, "channel_base": 512, "w_dim": w_dim}
    weights = drawn(EG3D(EG3DConfig(**sizes, neural_resolution=rays, rendering=rendering)))
    kwargs = SIZES | {"c_dim": 25, "img_resolution": resolution, "w_dim": w_dim}
    kwargs |= {"channel_base": 512, "channel_max": 8, "sr_num_fp16_res": 4}
    kwargs |= {"mapping_kwargs": EasyDict(num_layers=2), "num_fp16_res": 0, "conv_clamp": None}
    kwargs |= {"sr_kwargs": EasyDict(channel_base=512, channel_max=8)}
    kwargs |= {"rendering_kwargs": EasyDict(rendering)}
    more = {"neural_rendering_resolution": rays, "rendering_kwargs": EasyDict(rendering)}
    return network(weights, "TriPlaneGenerator", kwargs, **more), weights


def rosinality_state(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """`g_ema` with the weights of an official network, by names written out once more."""
    state = {}
    for name, values in persistent(weights).items():
        part, block, *rest = name.split(".")
        if part == "mapping" and rest:
            state[f"style.{int(block[2:]) + 1}.{rest[0]}"] = values
        elif rest == ["const"]:
            state["input.input"] = values[None]
        elif rest:
            layer, own = rest[0], ".".join(rest[1:])
            number = {"b4": 0, "b8": 1, "b16": 3}[block] + (layer == "conv1" and block != "b4")
            rgb = {"b4": "to_rgb1", "b8": "to_rgbs.0", "b16": "to_rgbs.1"}[block]
            there = "conv1" if block == "b4" else f"convs.{number - 1}"
            there = rgb if layer == "torgb" else there
            own_there, shape = {
                "weight": (f"{there}.conv.weight", (1, *values.shape)),
                "affine.weight": (f"{there}.conv.modulation.weight", values.shape),
                "affine.bias": (f"{there}.conv.modulation.bias", values.shape),
                "noise_const": (f"noises.noise_{number}", (1, 1, *values.shape)),
                "noise_strength": (f"{there}.noise.weight", (1,)),
                "bias": (f"{there}.activate.bias", values.shape),
            }[own]
            if layer == "torgb" and own == "bias":
                own_there, shape = f"{there}.bias", (1, len(values), 1, 1)
            state[own_there] = values.reshape(shape)
    return state | {"convs.0.conv.blur.kernel": 4 * F, "to_rgbs.0.upsample.kernel": 4 * F}


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
