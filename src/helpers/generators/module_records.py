"""Networks of torch as a pickle describes them: their options, tensors and parts, without a module.

Official files describe a network by `torch_utils.persistence`: the source code of its module, which
the official loader runs and this one does not look at, the arguments that it was made with, and its
attributes. Small parts of EG3D are plain objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from helpers.utils.pickle_reading import Name
from helpers.utils.pickled_numbers import is_call, misplaced, simple

_PERSISTENT = Name("torch_utils.persistence", "_reconstruct_persistent_obj")
_VERSION = 6
_LONGEST_NAME = 1000
_DICTS = (Name("collections", "OrderedDict"), Name("dnnlib.util", "EasyDict"))
_EG3D = "training.volumetric_rendering"
_PLAIN = (
    Name("training.triplane", "OSGDecoder"),
    Name(f"{_EG3D}.renderer", "ImportanceRenderer"),
    Name(f"{_EG3D}.ray_marcher", "MipRayMarcher2"),
    Name(f"{_EG3D}.ray_sampler", "RaySampler"),
    Name("torch.nn.modules.container", "Sequential"),
    Name("torch.nn.modules.activation", "Softplus"),
)
"""Parts of EG3D that are written as plain objects."""


class Part(NamedTuple):
    """A network or a part of one.

    Attributes:
        class_name: as in its source code; "" for a plain object.
        attributes: all that the object holds.
    """

    class_name: str
    attributes: dict[str, Any]

    def children(self) -> dict[str, Any]:
        """Name → what the pickle says of a part."""
        return mapping(self.attributes["_modules"])


def mapping(value: Any) -> dict[Any, Any]:
    """The entries of a dictionary, of whichever class it is.

    Raises:
        ValueError: it is none.
    """
    if is_call(value, *_DICTS):
        return value.items or {}
    if not isinstance(value, dict):
        raise misplaced(value, "a dictionary")
    return value


def joined(prefix: str, name: Any) -> str:
    """The name of a weight within a part.

    A long name that many parts share has its place in the file once, but in their weights' names
    once each.

    Raises:
        ValueError: it is longer than any that occurs.

    Example:
        >>> joined("synthesis.b4.", "const")
        'synthesis.b4.const'
    """
    found = f"{prefix}{name}"
    if len(found) > _LONGEST_NAME:
        raise ValueError(f"a name of {len(found):,} letters ({found[:80]!r}…)")
    return found


def read_part(value: Any) -> Part:
    """A part of a network.

    Raises:
        ValueError: it is none, or of a class that is not known.
    """
    if is_call(value, _PERSISTENT):
        (content,) = value.arguments
        meta = mapping(content)
        version = simple(meta.get("version"))
        if simple(meta.get("type")) != "class" or version != _VERSION:
            raise ValueError(f"a network written in version {version!r:.20}, not {_VERSION}")
        return Part(str(simple(meta["class_name"]))[:80], mapping(meta["state"]))
    if is_call(value, *_PLAIN):
        return Part("", mapping(value.state))
    raise misplaced(value, "a part of the network")


def tensors_of(network: Part) -> dict[str, Any]:
    """Name in the state dict → what the pickle says of the tensor.

    Raises:
        ValueError: a part occurs twice, or what stands in a part's place is none.
    """
    return dict(_walk(network, "", set()))


def _walk(part: Part, prefix: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    # A part that holds another one twice, and this one the next, has billions of names.
    if id(part.attributes) in seen:
        raise ValueError(f"a part of the network twice ({prefix[:80]})")
    seen.add(id(part.attributes))
    for group in ("_parameters", "_buffers"):
        for name, value in mapping(part.attributes[group]).items():
            if value is not None:
                yield joined(prefix, name), value
    for name, child in part.children().items():
        if child is not None:
            yield from _walk(read_part(child), joined(prefix, f"{name}."), seen)
