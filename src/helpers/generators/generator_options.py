"""What options a generator has, and within which limits; the options of a file are checked here.

A file's options decide how many names and numbers are expected of it, so that they are checked
before anything is computed from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from helpers.generators.module_records import mapping
from helpers.utils.pickled_numbers import simple

LARGEST = 2**20
"""Of any option that counts something."""
_LONGEST_LIST = 64
LAYERS = 64
"""The most layers."""
_STYLE = ("z_dim", "c_dim", "w_dim", "resolution", "image_channels", "channel_base", "channel_max")
_STYLE += ("conv_clamp", "mapping_layers", "lr_multiplier")
_OPTIONS = {
    "stylegan2": _STYLE,
    "stylegan3": (
        *_STYLE,
        *("num_layers", "num_critical", "first_cutoff", "first_stopband", "last_stopband_rel"),
        *("margin_size", "output_scale", "conv_kernel", "use_radial_filters", "filter_size"),
    ),
    "eg3d": (*_STYLE, "super_resolution_clamp", "neural_resolution", "rendering"),
}
_WHOLE = {
    **{"z_dim": (1, LARGEST), "c_dim": (0, LARGEST), "w_dim": (1, LARGEST)},
    **{"image_channels": (3, 3), "channel_base": (1, 64 * LARGEST), "channel_max": (1, LARGEST)},
    **{"mapping_layers": (1, LAYERS), "num_layers": (2, LAYERS), "num_critical": (0, LAYERS)},
    **{"margin_size": (0, 1024), "conv_kernel": (1, 15), "filter_size": (1, 64)},
    "neural_resolution": (4, 1024),
}
_POSITIVE = ("lr_multiplier", "first_cutoff", "first_stopband", "last_stopband_rel", "output_scale")
_CLAMPS = ("conv_clamp", "super_resolution_clamp")
_RAYS = {
    **{"depth_resolution": (2, 1024), "depth_resolution_importance": (0, 1024)},
    **dict.fromkeys(("ray_start", "ray_end", "box_warp", "decoder_lr_mul"), (1e-6, 1e6)),
    **{"avg_camera_radius": (1e-6, 1e6), "c_scale": (0, 1e6)},
}
"""How rays are followed: the least and the most."""
_SWITCHES = ("white_back", "sr_antialias", "c_gen_conditioning_zero")
_RESOLUTIONS = [2**power for power in range(2, 12)]


def checked(kind: Any, config: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a generator, none missing and none too many.

    Args:
        kind: "stylegan2", "stylegan3" or "eg3d".
        config: name → value.

    Raises:
        ValueError: no such kind, or an option that is missing, unknown or outside of its limits.

    Example:
        >>> checked("stylegan2", {"z_dim": -512})
        Traceback (most recent call last):
        ValueError: z_dim is -512, a whole number from 1 to 1048576 was expected
    """
    if kind not in list(_OPTIONS):
        raise ValueError(f"{kind!r:.40}, which is none of {', '.join(_OPTIONS)}")
    for name in config:
        if name not in _OPTIONS[kind]:
            raise ValueError(f"the option {name!r:.80}, which {kind} does not have")
    found = {name: _checked(name, config.get(name)) for name in _OPTIONS[kind]}
    if found.get("num_critical", 0) >= found.get("num_layers", 1):
        raise ValueError("num_critical that is not below num_layers")
    return found


def _checked(name: str, value: Any) -> Any:
    if name in _WHOLE:
        low, high = _WHOLE[name]
        fits = type(value) is int and low <= value <= high
        expected = f"{low}" if low == high else f"a whole number from {low} to {high}"
    elif name == "resolution":
        fits = type(value) is int and value in _RESOLUTIONS
        expected = "a power of two from 4 to 2048"
    elif name in _POSITIVE or (name in _CLAMPS and value is not None):
        fits = type(value) in (int, float) and 1e-6 < value < 1e6
        expected = "a positive number"
    elif name == "rendering":
        fits, expected = isinstance(value, dict), "a dictionary"
        for option in value if fits else ():
            _check_rendering(option, value[option])
    else:
        fits, expected = value is None or type(value) is bool, "True or False"
    if not fits:
        raise ValueError(f"{name} is {value!r:.60}, {expected} was expected")
    return value


def _check_rendering(name: Any, value: Any) -> None:
    """Refuse what rays cannot be followed by; options that are not known here are left alone."""
    fits, expected = True, ""
    if name in _RAYS:
        (low, high), kinds = _RAYS[name], (int,) if "depth" in name else (int, float)
        fits = type(value) in kinds and low <= value <= high
        expected = f"a number from {low} to {high}"
    elif name in _SWITCHES:
        fits, expected = type(value) is bool, "True or False"
    elif name == "avg_camera_pivot":
        numbers = value if isinstance(value, list) else [None]
        fits = len(numbers) == 3 and all(type(one) in (int, float) for one in numbers)
        expected = "three numbers"
    if not fits:
        raise ValueError(f"rendering: {name} is {value!r:.60}, {expected} was expected")


class Options:
    """The arguments that something was made with, taken one by one; what is left is refused.

    Args:
        values: name → what the pickle says.
        place: for messages.

    Example:
        >>> options = Options({"channel_base": 16384, "depth": 3}, "the arguments")
        >>> options.take("channel_base", 32768), options.take("channel_max", 512)
        (16384, 512)
        >>> options.finish()
        Traceback (most recent call last):
        ValueError: the option 'depth' in the arguments, which is not known
    """

    def __init__(self, values: Mapping[Any, Any], place: str) -> None:
        self.values, self.place = dict(values), place

    def take(self, name: str, default: Any = None) -> Any:
        """A plain value, or the default."""
        return simple(self.values.pop(name)) if name in self.values else default

    def only(self, name: str, *allowed: Any) -> None:
        """What can have no other value than these, if it is there at all."""
        if name in self.values and (value := plain(self.values.pop(name))) not in allowed:
            expected = " or ".join(map(repr, allowed))
            raise ValueError(f"{name} {value!r:.60} in {self.place}, {expected} was expected")

    def ignore(self, *names: str) -> None:
        """What matters for training, or for speed, alone."""
        for name in names:
            self.values.pop(name, None)

    def group(self, name: str) -> Options:
        """Options within an option."""
        return Options(mapping(self.values.pop(name, {})), name)

    def finish(self) -> None:
        """Refuse what has not been taken."""
        for name in self.values:
            raise ValueError(f"the option {name!r:.80} in {self.place}, which is not known")


def plain(value: Any) -> Any:
    """A plain value or a short list of such.

    Raises:
        ValueError: neither, or a long list; many options may share one in the file.

    Example:
        >>> plain([0, 0, 0.2])
        [0, 0, 0.2]
    """
    if not isinstance(value, list | tuple):
        return simple(value)
    if len(value) > _LONGEST_LIST:
        raise ValueError(f"an option with {len(value):,} values")
    return [simple(one) for one in value]
