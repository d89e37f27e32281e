"""Defective and hostile files: no code runs, nothing beyond the file is allocated, one sentence."""

import hashlib
import io
import json
import os
import pickle
import struct
import tracemalloc
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import generator_files as made
import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings

from helpers.generators.checkpoint_files import LARGEST, read
from helpers.generators.torch_records import BEFORE_ZIP
from helpers.utils import pickle_reading

SLACK = 4_000_000
"""Bytes that reading may take beside four times the file: messages, caches, the stack."""


class Call:
    """Written as a call of a function, which the ordinary unpickler makes."""

    def __init__(self, function: Callable, *arguments: object) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> tuple:
        return self.call


def refused(path: Path, found: str) -> None:
    """Reading ends with one sentence that names the file, and with little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=found) as caught:
            read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    message = str(caught.value)
    assert message.startswith(str(path)) and "\n" not in message and len(message) < 700
    size = path.stat().st_size if path.is_file() else 0
    assert peak < 4 * size + SLACK, f"{peak:,} bytes for a file of {size:,}"


def write(tmp_path: Path, content: bytes, name: str = "network.pkl") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


# --- code that a file asks to be run


def in_weights(bad: object) -> dict:
    generator = made.ada()
    generator.state["_modules"]["mapping"].state["_buffers"]["w_avg"] = bad
    return made.with_others(generator)


def in_storage(content: bytes) -> Call:
    """A tensor whose storage has these bytes."""
    storage = Call(torch.storage._load_from_bytes, content)
    return Call(torch._utils._rebuild_tensor_v2, storage, 0, (6,), (1,), False, OrderedDict())


def in_part(bad: object) -> dict:
    generator = made.ada()
    generator.state["_modules"]["mapping"] = bad
    return made.with_others(generator)


def in_tensorflow(bad: object) -> tuple:
    networks = made.tensorflow(made.stylegan2_weights())
    networks[2].variables[0] = ("dlatent_avg", bad)
    return networks


SCALAR = np.float64(1).__reduce__()[0]
PLANTED = {
    "in place of the generator": lambda bad: made.with_others(bad),
    "in place of everything": lambda bad: bad,
    "in place of a weight": in_weights,
    "in place of a part": in_part,
    "in an option": lambda bad: made.with_others(made.ada(z_dim=bad)),
    "in a nested option": lambda bad: made.with_others(made.ada(mapping_kwargs=[bad])),
    "in a number of numpy": lambda bad: made.with_others(made.ada(z_dim=Call(SCALAR, bad, b""))),
    "in the storage, as all of it": lambda bad: in_weights(in_storage(pickle.dumps(bad))),
    "in the storage, after its first words": lambda bad: in_weights(
        in_storage(BEFORE_ZIP + pickle.dumps({"little_endian": True}) + pickle.dumps(bad))
    ),
    "in the networks of TensorFlow": lambda bad: (None, None, bad),
    "in a variable of TensorFlow": in_tensorflow,
}


@pytest.mark.parametrize("protocol", [2, 5])
@pytest.mark.parametrize("place", PLANTED)
def test_no_code_runs(tmp_path, place, protocol):
    ran = tmp_path / "ran"
    content = made.dumps(PLANTED[place](Call(os.mkdir, str(ran))), protocol)
    refused(write(tmp_path, content), "expected a trained generator, found")
    assert not ran.exists()
    with made.official_code():  # the ordinary unpickler runs it, and may then fail
        try:
            pickle.loads(content)
        except Exception as error:
            assert ran.exists(), error
    assert ran.exists()


@pytest.mark.parametrize("zipped", [True, False])
def test_no_code_runs_from_files_of_torch(tmp_path, zipped):
    ran = tmp_path / "ran"
    content = made.rosinality({"g_ema": Call(os.mkdir, str(ran))}, zipped)
    path = write(tmp_path, content, "network.pt")
    refused(path, "found a call of 'posix.mkdir', which is not run")
    assert not ran.exists()
    torch.load(path, weights_only=False)
    assert ran.exists()


def test_nothing_is_set_on_what_a_file_names(tmp_path):
    """BUILD would replace defaults of a function of torch for the rest of the process."""
    set_defaults = (
        b"\x80\x02}(X\x05\x00\x00\x00G_emactorch._utils\n_rebuild_tensor_v2\n"
        b"N}X\x0c\x00\x00\x00__defaults__(I1\ntsb\x86bu."
    )
    kept = torch._utils._rebuild_tensor_v2.__defaults__
    refused(write(tmp_path, set_defaults), "byte .*: .*found")
    assert torch._utils._rebuild_tensor_v2.__defaults__ == kept


# --- defects


def with_tensor(*arguments: object, content: object = None) -> dict:
    """A generator whose mean style is rebuilt from these arguments."""
    storage = content if content is not None else torch.zeros(6).untyped_storage()
    if isinstance(storage, torch.UntypedStorage):
        storage = Call(torch.storage._load_from_bytes, old_format(torch.zeros(6)))
    rebuilt = Call(torch._utils._rebuild_tensor_v2, storage, *arguments, False, OrderedDict())
    return in_weights(rebuilt)


def old_format(values: torch.Tensor) -> bytes:
    """The storage of a tensor as bytes."""
    (storage, *_), found = torch.zeros(1).__reduce_ex__(2)[1], io.BytesIO()
    storage = torch.storage.TypedStorage(
        wrap_storage=values.untyped_storage(), dtype=values.dtype, _internal=True
    )
    torch.save(storage, found, _use_new_zipfile_serialization=False)
    return found.getvalue()


def storage(content: bytes) -> dict:
    return with_tensor(0, (6,), (1,), content=Call(torch.storage._load_from_bytes, content))


def changed(name: str, values: torch.Tensor | None) -> dict:
    weights = made.stylegan2_weights()
    if values is None:
        del weights[name]
    else:
        weights[name] = values
    return made.with_others(made.ada(weights=weights))


def synthesis(**more: object) -> dict:
    options = made.EasyDict(made.CHANNELS | more)
    return made.with_others(made.ada(synthesis_kwargs=options))


def options(**more: object) -> dict:
    return made.with_others(made.ada(**more))


def shared_weights() -> dict:
    """Every weight is a view into the same, large storage."""
    shared = Call(torch.storage._load_from_bytes, old_format(torch.zeros(1000)))
    generator = made.ada()
    replaced = [(generator.state, "")]
    for state, _ in replaced:
        for group in ("_parameters", "_buffers"):
            for name, values in state[group].items():
                strides = tuple(values.stride())
                arguments = (shared, 0, tuple(values.shape), strides, False, OrderedDict())
                state[group][name] = Call(torch._utils._rebuild_tensor_v2, *arguments)
        replaced += [(child.state, "") for child in state["_modules"].values()]
    return made.with_others(generator)


def doubled_parts() -> dict:
    """Sixty parts, each of which has the next one twice: 2**60 names."""
    part = made.Part("Part", {}, made.attributes())
    for _ in range(60):
        above = made.Part("Part", {}, made.attributes())
        above.state["_modules"].update(left=part, right=part)
        part = above
    return in_part(part)


def laughs() -> list:
    value: list = ["ha"]
    for _ in range(80):
        value = [value, value]
    return value


def nested(depth: int) -> bytes:
    """An option in so many lists."""
    whole = made.dumps(made.with_others(made.ada(z_dim="HERE")), 2)
    return whole.replace(b"X\x04\x00\x00\x00HERE", b"]" * depth + b"a" * (depth - 1))


def tuple_key() -> bytes:
    """A key whose hash takes 2**60 steps."""
    return b"\x80\x02}N" + b"2\x86" * 60 + b"Ns."


def bad_meta(**more: object) -> dict:
    meta = {"type": "class", "version": 6, "module_src": "", "class_name": "G", "state": {}}
    return made.with_others(Call(made.reconstruct, meta | more))


def of_tensorflow(value: object = None, name: str = "dlatent_avg", **more: object) -> tuple:
    networks = made.tensorflow(made.stylegan2_weights(), **more)
    if value is not None:
        networks[2].variables[0] = (name, value)
    return networks


def old_tensorflow() -> tuple:
    networks = of_tensorflow()
    networks[2].version = 3
    return networks


GOOD = old_format(torch.zeros(6))
VIEW = "outside of its|size or strides are impossible|do not fit its size|without a size"
PICKLES = {
    "stride 0": (lambda: with_tensor(0, (10**6, 10**5), (0, 0)), VIEW),
    "a negative stride": (lambda: with_tensor(5, (6,), (-1,)), VIEW),
    "a negative offset": (lambda: with_tensor(-1, (6,), (1,)), VIEW),
    "an offset outside": (lambda: with_tensor(1, (6,), (1,)), VIEW),
    "a huge offset": (lambda: with_tensor(2**80, (6,), (1,)), VIEW),
    "a negative size": (lambda: with_tensor(0, (-6,), (1,)), VIEW),
    "a huge size": (lambda: with_tensor(0, (2**2000,) * 8, (1,) * 8), VIEW),
    "many dimensions": (lambda: with_tensor(0, (1,) * 5000, (1,) * 5000), VIEW),
    "a size that is no number": (lambda: with_tensor(0, ("6",), (1,)), VIEW),
    "a size that is a float": (lambda: with_tensor(0, (6.0,), (1,)), VIEW),
    "no strides": (lambda: with_tensor(0, (6,), ()), VIEW),
    "a storage that is short": (lambda: storage(GOOD[:-1]), "ends 1 bytes after the file"),
    "a storage that is long": (lambda: storage(GOOD + b"\0"), "not those that were announced"),
    "a storage with another length": (
        lambda: storage(GOOD[:-32] + struct.pack("<q", 2**40) + GOOD[-24:]),
        "a storage of 1099511627776 numbers where 6 were announced",
    ),
    "a storage of the other byte order": (
        lambda: storage(GOOD.replace(b"little_endianq\x02\x88", b"little_endianq\x02\x89")),
        "bytes are in the other order",
    ),
    "a storage of unknown type": (
        lambda: storage(GOOD.replace(b"FloatStorage", b"EvilsStorage")),
        "torch.EvilsStorage', which is not read",
    ),
    "a storage of no format": (lambda: storage(b"\0" * 1000), "not in the format of torch"),
    "no storage": (lambda: with_tensor(0, (6,), (1,), content=Call(bytes, 6)), "not run"),
    "a tensor that is a list": (lambda: in_weights([0.0] * 6), "a list in place of a tensor"),
    "one storage for all weights": (shared_weights, "together are larger than the file"),
    "parts that hold a part twice": (doubled_parts, "a part of the network twice"),
    "lists in lists": (lambda: options(z_dim=laughs()), "a list in place of a plain value"),
    "weights that are not numbers": (
        lambda: changed("mapping.fc0.bias", torch.full((6,), torch.nan)),
        "not finite",
    ),
    "weights that are infinite": (
        lambda: changed("synthesis.b16.torgb.bias", torch.full((3,), torch.inf)),
        "not finite",
    ),
    "weights too large for float32": (
        lambda: changed("mapping.w_avg", torch.full((6,), 1e300, dtype=torch.float64)),
        "not finite",
    ),
    "whole weights": (
        lambda: changed("mapping.w_avg", torch.arange(6)),
        "type int64, which are no real numbers",
    ),
    "complex weights": (
        lambda: changed("mapping.w_avg", torch.zeros(6, dtype=torch.complex64)),
        "ComplexFloatStorage', which is not read",
    ),
    "a weight that is missing": (
        lambda: changed("synthesis.b8.conv1.bias", None),
        "no weights 'synthesis.b8.conv1.bias', which its options ask for",
    ),
    "a weight too many": (
        lambda: changed("synthesis.b8.conv2.bias", torch.zeros(8)),
        "weights 'synthesis.b8.conv2.bias', which its options do not ask for",
    ),
    "a weight of another shape": (
        lambda: changed("mapping.fc0.weight", torch.zeros(5, 6)),
        r"'mapping.fc0.weight' of shape \(5, 6\), \(6, 5\) was expected",
    ),
    "another filter": (
        lambda: changed("synthesis.b8.resample_filter", torch.ones(4, 4) / 16),
        r"another filter than \[1, 3, 3, 1\]",
    ),
    "another architecture": (lambda: synthesis(architecture="resnet"), "architecture 'resnet'"),
    "an option that is unknown": (lambda: synthesis(depth=3), "the option 'depth'"),
    "no noise": (lambda: synthesis(use_noise=False), "use_noise False"),
    "more channels than weights": (lambda: synthesis(channel_max=2**19), "of shape"),
    "channels without end": (lambda: synthesis(channel_base=2**90), "channel_base is"),
    "negative channels": (lambda: synthesis(channel_max=-8), "channel_max is -8"),
    "layers without end": (
        lambda: options(mapping_kwargs={"num_layers": 10**9}),
        "mapping_layers is 1000000000",
    ),
    "wide layers of the mapping": (
        lambda: options(mapping_kwargs={"layer_features": 99}),
        "layer_features 99",
    ),
    "a resolution of 12": (lambda: options(img_resolution=12), "a power of two from 4 to 2048"),
    "a resolution of 2**40": (lambda: options(img_resolution=2**40), "a power of two"),
    "a resolution in words": (lambda: options(img_resolution="1024"), "a power of two"),
    "one colour": (lambda: options(img_channels=1), "image_channels is 1, 3 was expected"),
    "no z": (lambda: options(z_dim=0), "z_dim is 0"),
    "a true z": (lambda: options(z_dim=True), "z_dim is True"),
    "another version": (lambda: bad_meta(version=5), "written in version 5, not 6"),
    "no class": (lambda: bad_meta(type="function"), "a network written"),
    "no state": (bad_meta, "no entry '_modules'"),
    "no generator": (lambda: {"G": None}, "no entry 'G_ema'"),
    "None as generator": (lambda: made.with_others(None), "a NoneType in place of a part"),
    "a list": (lambda: [1, 2, 3], "a list in place of a dictionary"),
    "a foreign class as generator": (lambda: made.with_others(made.EasyDict()), "EasyDict"),
    "TensorFlow's first StyleGAN": (old_tensorflow, "a TensorFlow network of version 3"),
    "objects in TensorFlow": (lambda: of_tensorflow(np.array([None])), "something else than"),
    "whole numbers in TensorFlow": (lambda: of_tensorflow(np.arange(6)), "not of real numbers"),
    "TensorFlow's resnet": (lambda: of_tensorflow(architecture="resnet"), "'resnet'"),
    "a variable twice": (
        lambda: of_tensorflow(np.zeros(6, "f4"), name="lod"),
        "two variables called 'lod'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("defect", PICKLES)
def test_defects_of_pickles(tmp_path, defect):
    value, found = PICKLES[defect]
    refused(write(tmp_path, made.dumps(value(), 4)), found)


WHOLE = made.dumps(made.with_others(made.ada()), 4)
BYTES = {
    "nothing": (b"", "expected a trained generator"),
    "a web page": (b"<!DOCTYPE html><title>Too many requests</title>", "expected"),
    "a pointer of Git LFS": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "exp"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(64), "expected"),
    "half of a file": (WHOLE[: len(WHOLE) // 2], "expected"),
    "a claim of 2**60 bytes": (b"\x80\x04\x8e" + struct.pack("<Q", 2**60) + b"x.", "expected"),
    "a claim of 2**50 letters": (b"\x80\x04\x8d" + struct.pack("<Q", 2**50) + b"x.", "expected"),
    "a claim of a huge number": (b"\x80\x02\x8b\xff\xff\xff\x7fx.", "expected"),
    "a negative length": (b"\x80\x02\x8b\xff\xff\xff\xffx.", "expected"),
    "digits without end": (b"\x80\x02L" + b"9" * 100_000 + b"L\n.", "expected"),
    "deep nesting": (nested(20_000), "a list in place of a plain value"),
    "a key that cannot be hashed": (tuple_key(), "a key that is neither text nor a number"),
    "a key that is a name": (b"\x80\x02}cos\nsystem\nNs.", "a key that is neither"),
    "an extension": (b"\x80\x02\x82\x01.", "the operation EXT1"),
    "a pointer outside": (b"\x80\x02X\x01\x00\x00\x00aQ.", "the operation BINPERSID"),
    "an old instance": (b"(S'id'\nios\nsystem\n.", "the operation INST"),
    "a mark alone": (b"\x80\x02(.", "a mark in place of a value"),
    "a memory that is empty": (b"\x80\x02h\x07.", "a value that is missing or of another kind"),
    "a stack that is empty": (b"\x80\x02R.", "an operation on nothing"),
    "a number of a megabyte": (
        b"\x80\x02\x8b" + struct.pack("<I", 10**6) + b"\x7f" * 10**6 + b".",
        "a whole number of more than 2,040 bits",
    ),
    "a list of itself": (b"\x80\x02]q\x00h\x00a.", "a list in place of a dictionary"),
    "two values": (b"\x80\x02NN.", "2 values where one"),
    "a state of a number": (b"\x80\x02K\x01}b.", "a state of something that takes none"),
    "an attack by eval": (b"cbuiltins\neval\n(S'1'\ntR.", "builtins.eval', which is not run"),
}  # fmt: skip


@pytest.mark.parametrize("defect", BYTES)
def test_defects_of_bytes(tmp_path, defect):
    content, found = BYTES[defect]
    refused(write(tmp_path, content), found)


def test_empty_objects_are_limited_in_number(tmp_path, monkeypatch):
    """A byte may ask for an object of sixty; real files have some hundred operations a weight."""
    assert 1000 * len(made.stylegan2_weights()) < pickle_reading.LONGEST <= 500_000
    monkeypatch.setattr(pickle_reading, "LONGEST", 20_000)
    refused(write(tmp_path, b"\x80\x04(" + b"\x8f" * 40_000 + b"t."), "20,000 operations")


# --- small files whose contents occur many times: lists within lists, names, options


def text(words: str) -> bytes:
    content = words.encode()
    return b"X" + struct.pack("<I", len(content)) + content


def name(module: str, of: str) -> bytes:
    return text(module) + text(of) + b"\x93"


def entries(*pairs: tuple[bytes, bytes]) -> bytes:
    return b"}(" + b"".join(key + value for key, value in pairs) + b"u"


def part(state: bytes, version: bytes = b"K\x06") -> bytes:
    meta = entries(
        (text("type"), text("class")),
        (text("version"), version),
        (text("class_name"), text("Generator")),
        (text("state"), state),
    )
    return name("torch_utils.persistence", "_reconstruct_persistent_obj") + meta + b"\x85R"


def module(*children: tuple[bytes, bytes], more: bytes = b"}") -> bytes:
    return part(
        entries(
            *((text(one), b"}") for one in ("_init_kwargs", "_buffers", "rendering_kwargs")),
            *((text(one), b"N") for one in ("neural_rendering_resolution",)),
            (text("_parameters"), more),
            (text("_modules"), entries(*children)),
        )
    )


def with_synthesis(*children: tuple[bytes, bytes]) -> bytes:
    synthesis = (text("synthesis"), module((text("input"), b"N")))
    return generator(module(synthesis, *children))


def generator(value: bytes, before: bytes = b"") -> bytes:
    return b"\x80\x04" + before + entries((text("G_ema"), value)) + b"."


LAUGHS = text("ha") + b"q\x070](h\x07h\x07e" * 60
"""Sixty lists, each twice in the next: to write it out would take 2**60 words."""
SHARED = text("n" * 100_000) + b"q\x630"
NUMBERED = b"}(" + b"".join(text(str(k)) + b"K\x01" for k in range(2000)) + b"u"


def of_many_variables() -> bytes:
    """Variables of TensorFlow in a part with a long name."""
    dtype = name("numpy", "dtype") + text("f4") + b"\x89\x88\x87R"
    zero = name("numpy.core.multiarray", "scalar") + dtype + b"C\x04\0\0\0\0\x86Rq\x090"
    variables = b"](" + b"".join(text(str(k)) + b"h\x09\x86" for k in range(2000)) + b"e"
    kind = name("dnnlib.tflib.network", "Network") + b")\x81"
    inner = kind + entries((text("variables"), variables)) + b"b"
    components = entries((text("n" * 100_000), inner))
    own = (("version", b"K\x05"), ("variables", b"]"), ("components", components))
    own += (("static_kwargs", entries((text("resolution"), b"K\x10"))),)
    whole = kind + entries(*((text(key), value) for key, value in own)) + b"b"
    return b"\x80\x04" + zero + b"NN" + whole + b"\x87."


def of_many_parts(depth: int = 100) -> bytes:
    """Parts within parts, which share one long name."""
    inner = module()
    for _ in range(depth):
        inner = module((b"h\x63", inner))
    synthesis = (text("synthesis"), module((text("input"), b"N")))
    return generator(module(synthesis, (b"h\x63", inner)), SHARED)


def of_many_options() -> bytes:
    """Options of EG3D's rays, which share one long list."""
    shared = b"](" + b"N" * 5000 + b"eq\x110"
    each = b"".join(b"M" + struct.pack("<H", k) + b"h\x11" for k in range(5000))
    return generator(
        part(
            entries(
                (text("_init_kwargs"), b"}"),
                (text("_modules"), entries((text("backbone"), b"N"))),
                (text("rendering_kwargs"), b"}(" + each + b"u"),
            )
        ),
        shared,
    )


def of_a_laughing_type() -> bytes:
    dtype = name("numpy", "dtype") + LAUGHS + b"\x89\x88\x87R"
    number = name("numpy.core.multiarray", "scalar") + dtype + b"C\x04\0\0\0\0\x86R"
    own = entries((text("_init_kwargs"), entries((text("z_dim"), number))))
    synthesis = entries((text("synthesis"), module((text("input"), b"N"))))
    return generator(part(own[:-1] + text("_modules") + synthesis + b"u"))


def of_a_laughing_storage() -> bytes:
    key = b"(" + text("storage") + LAUGHS + text("0") + text("cpu") + b"K\x01tQ"
    view = b"(" + key + b"K\x00K\x01\x85K\x01\x85\x89NtR"
    state = entries((text("style.1.weight"), name("torch._utils", "_rebuild_tensor_v2") + view))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a/data.pkl", b"\x80\x04" + entries((text("g_ema"), state)) + b".")
        archive.writestr("a/data/0", bytes(4))
    return stream.getvalue()


MANY = {
    "a version": (generator(part(b"}", LAUGHS)), "a list in place of a plain value"),
    "what is called": (generator(LAUGHS + b")R"), "a call of 'list', which is not run"),
    "a type of numbers": (of_a_laughing_type(), "a list in place of the name of a type"),
    "a type of a storage": (of_a_laughing_storage(), "a list in place of the type of a storage"),
    "names of parts": (of_many_parts(), "a name of 100,001 letters"),
    "names of weights": (
        with_synthesis((text("n" * 100_000), module(more=NUMBERED))),
        "a name of 100,001 letters",
    ),
    "names of variables": (of_many_variables(), "a name of 100,002 letters"),
    "values of options": (of_many_options(), "an option with 5,000 values"),
}


@pytest.mark.parametrize("what", MANY)
def test_what_a_file_says_once_is_not_written_out_many_times(tmp_path, what):
    content, found = MANY[what]
    refused(write(tmp_path, content), found)


def test_zip_files_that_torch_does_not_write(tmp_path):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for folder in "ab":
            archive.writestr(f"{folder}/data.pkl", b"\x80\x02N.")
    refused(write(tmp_path, stream.getvalue()), "2 parts called data.pkl")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a/data.pkl", b"\x80\x02N.")
    secret = bytearray(stream.getvalue())
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        secret[secret.index(header) + flags] |= 1
    refused(write(tmp_path, bytes(secret)), "a damaged zip file .*encrypted")


# --- files of torch


def zipped(parts: dict[str, bytes], kind: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", kind) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return stream.getvalue()


def torch_file(**more: torch.Tensor) -> dict:
    weights = made.Weights()
    weights.mapping("mapping", 6, 0, 6, layers=2)
    weights.synthesis("synthesis", made.WIDTHS, w_dim=6)
    state = made.rosinality_state(weights.found) | more
    return {"g_ema": state, "latent_avg": weights.found["mapping.w_avg"]}


def parts(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


TORCH = made.rosinality(torch_file(), zipped=True)


def with_parts(**changes: bytes) -> bytes:
    """The file with some parts replaced, by the ends of their names."""
    found = parts(TORCH)
    for end, content in changes.items():
        (name,) = (name for name in found if name.endswith("/" + end.replace("__", "/")))
        found[name] = content
    return zipped(found)


def overlapping() -> bytes:
    """A thousand entries of the directory point to the same bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("archive/data.pkl", bytes(1_000_000))
        (first,) = archive.filelist
        for number in range(1000):
            again = zipfile.ZipInfo(f"archive/data/{number}")
            for name in ("file_size", "compress_size", "header_offset", "CRC"):
                setattr(again, name, getattr(first, name))
            archive.filelist.append(again)
        archive._didModify = True
    return stream.getvalue()


def directory(count: int) -> bytes:
    """A zip file of nothing but lines of its directory."""
    start = b"PK\3\4" + bytes(26)
    line = struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, *[0] * 7, 1, *[0] * 6) + b"a"
    size = len(line) * count
    end = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, len(start))
    end += struct.pack("<4sIQI", b"PK\6\7", 0, len(start) + size, 1)
    last = [0, 0, 2**16 - 1, 2**16 - 1, 2**32 - 1, 2**32 - 1, 0]
    return start + line * count + end + struct.pack("<4s4H2IH", b"PK\5\6", *last)


ZIPS = {
    "a long directory": (directory(60_000), "a zip file of more than 8,000 parts"),
    "lines of a directory": (directory(8000), "a zip file with 0 parts called data.pkl"),
    "compressed parts": (zipped(parts(TORCH), zipfile.ZIP_DEFLATED), "compressed parts"),
    "a bomb": (zipped({"a/data.pkl": bytes(10**8)}, zipfile.ZIP_DEFLATED), "compressed parts"),
    "parts that overlap": (overlapping(), "parts that together are larger than the file"),
    "no pickle": (zipped({"a/b": b"x"}), "expected"),
    "half a zip": (TORCH[: len(TORCH) // 2], "a damaged zip file"),
    "damaged numbers": (TORCH.replace(bytes(4), b"\1\1\1\1"), "expected"),
    "the other byte order": (with_parts(byteorder=b"big"), "in the other order"),
    "a short storage": (with_parts(data__0=b"1234"), "a storage of 4 bytes"),
    "no generator": (made.rosinality({"d": {}}, True), "no entry 'g_ema'"),
    "no weights": (made.rosinality({"g_ema": {}}, True), "0 layers of the mapping network"),
    "half of the blocks": (
        made.rosinality(torch_file(**{"convs.4.conv.weight": torch.zeros(1)}), True),
        "5 convolutions",
    ),
    "another kernel": (
        made.rosinality(torch_file(**{"convs.0.conv.blur.kernel": torch.ones(4, 4)}), True),
        "another filter",
    ),
    "a flat bias": (
        made.rosinality(torch_file(**{"to_rgb1.bias": torch.zeros(3)}), True),
        r"to_rgb1.bias of shape \(3,\), \(1, 3, 1, 1\) was expected",
    ),
    "a name too many": (
        made.rosinality(torch_file(**{"encoder.0.weight": torch.zeros(3)}), False),
        "weights 'encoder.0.weight', which its options do not ask for",
    ),
    "half of an old file": (
        made.rosinality(torch_file(), False)[:-9],
        "ends 9 bytes after the file",
    ),
}


@pytest.mark.parametrize("defect", ZIPS)
def test_defects_of_files_of_torch(tmp_path, defect):
    content, found = ZIPS[defect]
    refused(write(tmp_path, content, "network.pt"), found)


@pytest.mark.parametrize("zipped", [True, False])
def test_a_storage_that_all_weights_share_is_read_once(tmp_path, zipped):
    large = torch.zeros(300_000)
    state = torch_file()["g_ema"]
    for name, values in state.items():
        if "kernel" not in name:
            state[name] = large[: values.numel()].reshape(values.shape)
    content = {"g_ema": state, "latent_avg": large[:6]}
    path = write(tmp_path, made.rosinality(content, zipped), "network.pt")
    tracemalloc.start()
    try:
        assert not read(path).tensors["mapping.fc0.bias"].any()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * path.stat().st_size + SLACK


def test_what_is_no_file(tmp_path):
    refused(tmp_path / "missing.pkl", "no such file")
    refused(tmp_path, "no regular file")
    (tmp_path / "loop.pkl").symlink_to(tmp_path / "loop.pkl")
    refused(tmp_path / "loop.pkl", "expected a trained generator")


@pytest.mark.parametrize("part", ["weights.safetensors", "weights.json"])
def test_what_has_no_end_is_not_read(tmp_path, part):
    """Neither of weights that were converted nor of their card."""
    for name in ("weights.safetensors", "weights.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / part).unlink()
    os.mkfifo(tmp_path / part)  # whoever opens it waits for ever
    refused(tmp_path / "weights.safetensors", rf"no regular file \({part}\)")
    (tmp_path / part).unlink()
    with open(tmp_path / part, "wb") as large:
        large.truncate(LARGEST + 1)  # takes no space on the disk
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=rf"weights.safetensors: .*bytes \({part}\)"):
            read(tmp_path / "weights.safetensors")
        assert tracemalloc.get_traced_memory()[1] < SLACK
    finally:
        tracemalloc.stop()


def lying(**changes: object) -> bytes:
    """Safetensors whose first weight is described as it is not."""
    header = {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | changes}
    words = json.dumps(header).encode()
    return struct.pack("<Q", len(words)) + words + bytes(8)


LYING = {
    "a header of 2^62 bytes": (struct.pack("<Q", 2**62) + b"{}", "a list of weights of 4,611"),
    "a header longer than the file": (struct.pack("<Q", 99) + b"{}", "damaged safetensors"),
    "weights behind the end": (lying(data_offsets=[0, 2**40]), "damaged safetensors"),
    "an absurd shape": (lying(shape=[2**40]), "damaged safetensors"),
    "a header that is none": (struct.pack("<Q", 4) + b"{{{{", "damaged safetensors"),
    "no header": (b"", "damaged safetensors"),
    "a list of empty weights": (
        (words := json.dumps({f"{i}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
                              for i in range(20_000)}).encode()) and
        struct.pack("<Q", len(words)) + words, "a list of weights of 1,"
    ),
}  # fmt: skip


@pytest.mark.parametrize("defect", LYING)
def test_defects_of_converted_weights(tmp_path, defect):
    content, found = LYING[defect]
    path = write(tmp_path, content, "weights.safetensors")
    card = {"kind": "stylegan2", "kwargs": {}, "sha256": hashlib.sha256(content).hexdigest()}
    path.with_suffix(".json").write_text(json.dumps(card))
    refused(path, found)


# --- damage of any kind


def mutations(whole: bytes) -> st.SearchStrategy[bytes]:
    place = st.integers(0, len(whole) - 1)
    cut = place.map(lambda at: whole[:at])
    byte = st.tuples(place, st.binary(min_size=1, max_size=8)).map(
        lambda found: whole[: found[0]] + found[1] + whole[found[0] + len(found[1]) :]
    )
    moved = st.tuples(place, place, st.integers(1, 64)).map(
        lambda found: whole[: found[0]] + whole[found[1] : found[1] + found[2]] + whole[found[0] :]
    )
    return st.one_of(byte, cut, moved)


FUZZED = {
    "ada": WHOLE,
    "protocol 2": made.dumps(made.with_others(made.ada()), 2),
    "tensorflow": made.dumps(made.tensorflow(made.stylegan2_weights()), 4),
    "zip": TORCH,
    "before zip": made.rosinality(torch_file(), False),
}


@pytest.mark.parametrize("kind", FUZZED)
def test_damage_is_refused_or_harmless(tmp_path, kind):
    path = tmp_path / "network.pkl"

    @settings(max_examples=40, deadline=None, database=None, derandomize=True,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(mutations(FUZZED[kind]))
    def damaged(content: bytes) -> None:
        path.write_bytes(content)
        try:
            checkpoint = read(path)
        except ValueError as error:
            assert str(error).startswith(str(path))
        else:  # a weight or a name that nobody needs was hit
            assert all(values.isfinite().all() for values in checkpoint.tensors.values())

    damaged()
