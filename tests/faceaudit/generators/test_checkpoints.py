"""Generators' files: weights bit for bit, no code run, one sentence for what is refused."""

import hashlib
import os
import pickle
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path

import generator_files as made
import pytest
import torch

from faceaudit.generators import load_checkpoint
from faceaudit.generators.checkpoints import rosinality_names
from faceaudit.generators.convert import main, write_converted
from faceaudit.generators.image_cache import synthesize_to_store
from faceaudit.utils.errors import InputError
from faceworld import load_generator

LICENCE = "non-commercial, of the authors"


def write(tmp_path: Path, content: bytes, name: str = "network.pkl") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


def official(generator: object, protocol: int = 4, discriminator: object = None) -> bytes:
    return made.dumps(made.with_others(generator, discriminator), protocol)


def assert_weights(network, expected) -> None:
    expected = made.persistent(expected)
    found = network.state_dict()
    assert found.keys() == expected.keys()
    for name, values in found.items():
        assert values.dtype == torch.float32
        assert torch.equal(values, expected[name]), name


# --- formats


@pytest.mark.parametrize("protocol", range(2, 6))
def test_ada(tmp_path, protocol):
    network = load_checkpoint(write(tmp_path, official(made.ada(), protocol)))
    assert (network.kind, asdict(network.config)) == ("stylegan2", made.CONFIG)
    assert_weights(network, made.stylegan2_weights())
    assert network.card["source"] == "network.pkl"
    assert network.card["mean_w"] == "stored in the file"
    assert not network.training and not any(p.requires_grad for p in network.parameters())


def test_a_file_of_the_size_that_learned_from_ffhq(tmp_path):
    sizes = {"z_dim": 512, "c_dim": 0, "w_dim": 512, "img_resolution": 1024, "img_channels": 3}
    kwargs = {"mapping_kwargs": made.EasyDict(num_layers=8), "num_fp16_res": 4, "conv_clamp": 256}
    options = {"z_dim": 512, "w_dim": 512, "resolution": 1024, "mapping_layers": 8}
    options |= {"channel_base": 32768, "channel_max": 512}
    kwargs |= {"synthesis_kwargs": made.EasyDict(channel_base=32768, channel_max=512)}
    part = made.network(made.stylegan2_weights(**options), "Generator", sizes | kwargs)
    generator = load_generator("stylegan2", weights=write(tmp_path, official(part)), truncation=0.7)
    # As the logs of the official code count the parameters of such a network's layers.
    logged = {
        "mapping.fc0": 262_656,
        "synthesis.b4.conv1": 2_622_465,
        "synthesis.b4.torgb": 264_195,
    }
    logged |= {"synthesis.b128.conv0": 1_442_561, "synthesis.b256.conv0": 426_369}
    for name, count in (logged | {"synthesis.b512.conv0": 139_457}).items():
        layer = generator.network.get_submodule(name)
        assert sum(values.numel() for values in layer.parameters()) == count, name
    image = generator.synthesize(generator.sample(1, seed=1))
    assert image.shape == (1, 3, 1024, 1024) and image.std() > 0


@pytest.mark.parametrize(("said", "clamp"), [({}, None), ({"conv_clamp": 256}, 256)])
def test_options_in_the_layout_of_stylegan3s_repository(tmp_path, said, clamp):
    kwargs = made.SIZES | made.CHANNELS | {"mapping_kwargs": made.EasyDict(num_layers=2)} | said
    kwargs |= {"fused_modconv_default": "inference_only"}
    weights = made.stylegan2_weights()
    network = load_checkpoint(write(tmp_path, official(made.network(weights, "Generator", kwargs))))
    assert asdict(network.config) == made.CONFIG | {"conv_clamp": clamp}
    assert_weights(network, weights)


def test_eg3d(tmp_path):
    part, weights = made.eg3d()
    network = load_checkpoint(write(tmp_path, official(part)))
    assert network.kind == "eg3d" and network.config.rendering == made.RENDERING
    assert network.config.neural_resolution == 128
    assert network.config.super_resolution_clamp == 256
    assert_weights(network, weights)


def square_weights():
    """rosinality's z has the length of w."""
    return made.stylegan2_weights(z_dim=6)


@pytest.mark.parametrize("zipped", [True, False])
def test_rosinality(tmp_path, zipped):
    weights = square_weights()
    state = made.rosinality_state(weights)
    content = {"g_ema": state, "latent_avg": weights["mapping.w_avg"]}
    network = load_checkpoint(write(tmp_path, made.rosinality(content, zipped), "network.pt"))
    config = asdict(network.config)
    assert (network.kind, config) == ("stylegan2", made.CONFIG | {"z_dim": 6})
    assert_weights(network, weights)
    named = {name for name in state if not name.endswith(".kernel")}
    assert {there for there, _ in rosinality_names(network.state_dict())} == named


def test_a_mean_style_that_is_missing_is_estimated(tmp_path):
    weights = square_weights()
    content = made.rosinality(made.training_file(weights), True)
    network = load_checkpoint(write(tmp_path, content, "010000.pt"))
    assert network.card["mean_w"] == "estimated from 10,000 keyed normal codes"
    mean = network.mapping.w_avg
    assert_weights(network, weights | {"mapping.w_avg": mean})
    # The mapping network once more, layer by layer and with other normal codes.
    x = torch.randn(40_000, 6, generator=torch.Generator().manual_seed(1)).double()
    x = x / (x**2).mean(1, keepdim=True).add(1e-8).sqrt()
    for layer in range(2):
        weight, bias = (weights[f"mapping.fc{layer}.{part}"] for part in ("weight", "bias"))
        y = x @ weight.double().T * 0.01 / 6**0.5 + 0.01 * bias.double()
        x = torch.where(y > 0, y, 0.2 * y) * 2**0.5
    assert torch.allclose(mean.double(), x.mean(0), atol=4 * float(x.std()) / 100)


FILES = {
    "ada.pkl": lambda: official(made.ada()),
    "conditional.pkl": lambda: official(made.ada(c_dim=3)),
    "rosinality.pt": lambda: made.rosinality(made.training_file(square_weights()), True),
    "eg3d.pkl": lambda: official(made.eg3d()[0]),
}


@pytest.mark.parametrize("name", FILES)
def test_conversion_is_equal_bit_for_bit(tmp_path, name):
    path = write(tmp_path, FILES[name](), name)
    converted = tmp_path / "converted.safetensors"
    card = write_converted(path, converted, LICENCE, psi=0.7)
    found = load_checkpoint(path)
    again = load_checkpoint(converted)
    assert (again.kind, again.config) == (found.kind, found.config)
    for weight, values in found.state_dict().items():
        assert torch.equal(again.state_dict()[weight], values)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    told = {"source": name, "source_sha256": sha256, "licence": LICENCE, "psi": 0.7}
    assert (card | told | found.card).items() <= again.card.items()


# --- code that a file asks to be run


class Call:
    """Written as a call of a function, which the ordinary unpickler makes."""

    def __init__(self, function: Callable, *arguments: object) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> tuple:
        return self.call


def in_buffer(value: object) -> object:
    """A generator whose mean style is this."""
    generator = made.ada()
    generator.state["_modules"]["mapping"].state["_buffers"]["w_avg"] = value
    return generator


def in_part(value: object) -> object:
    generator = made.ada()
    generator.state["_modules"]["mapping"] = value
    return generator


def in_storage(content: bytes) -> Call:
    """A tensor whose storage has these bytes."""
    storage = Call(torch.storage._load_from_bytes, content)
    return Call(torch._utils._rebuild_tensor_v2, storage, 0, (6,), (1,), False, OrderedDict())


PLANTED = {
    "in place of everything": lambda bad: pickle.dumps(bad),
    "in place of the generator": lambda bad: official(bad),
    "in place of a part": lambda bad: official(in_part(bad)),
    "in place of a weight": lambda bad: official(in_buffer(bad)),
    "in an option": lambda bad: official(made.ada(z_dim=bad)),
    "in a storage": lambda bad: official(in_buffer(in_storage(pickle.dumps(bad)))),
    "in a storage of torch": lambda bad: official(
        in_buffer(in_storage(made.rosinality({"x": bad}, True)))
    ),
    "in a file of torch": lambda bad: made.rosinality({"g_ema": bad}, True),
    "in a file of torch before 1.6": lambda bad: made.rosinality({"g_ema": bad}, False),
}


@pytest.mark.parametrize("place", PLANTED)
def test_no_code_runs(tmp_path, place):
    ran = tmp_path / "ran"
    content = PLANTED[place](Call(os.mkdir, str(ran)))
    path = write(tmp_path, content)
    with pytest.raises(ValueError, match="network.pkl: expected a trained generator, found"):
        load_checkpoint(path)
    assert not ran.exists()
    for ordinary in (pickle.load, partial(torch.load, weights_only=False)):
        # One of them is for such files, runs what is planted, and may then fail.
        with made.official_code(), suppress(Exception), path.open("rb") as file:
            ordinary(file)
    assert ran.exists()


def test_the_source_code_in_a_file_is_not_run(tmp_path):
    ran = tmp_path / "ran"
    generator = made.ada()
    generator.source = f"import os; os.mkdir({str(ran)!r})"
    content = official(generator)
    assert_weights(load_checkpoint(write(tmp_path, content)), made.stylegan2_weights())
    assert not ran.exists()
    with made.official_code():
        pickle.loads(content)
    assert ran.exists()


def test_nothing_is_set_on_what_a_file_names(tmp_path):
    """BUILD would replace defaults of a function of torch for the rest of the process."""
    set_defaults = (
        b"\x80\x02}(X\x05\x00\x00\x00G_emactorch._utils\n_rebuild_tensor_v2\n"
        b"N}X\x0c\x00\x00\x00__defaults__(I1\ntsb\x86bu."
    )
    kept = torch._utils._rebuild_tensor_v2.__defaults__
    with pytest.raises(ValueError, match="network.pkl: "):
        load_checkpoint(write(tmp_path, set_defaults))
    assert torch._utils._rebuild_tensor_v2.__defaults__ == kept
    assert_weights(load_checkpoint(write(tmp_path, official(made.ada()))), made.stylegan2_weights())


# --- grey pictures


def test_a_network_of_grey_pictures_gives_three_equal_channels(tmp_path):
    weights = made.stylegan2_weights(image_channels=1)
    grey = official(made.ada(weights=weights, img_channels=1))
    state = made.rosinality_state(weights)
    of_rosinality = made.rosinality({"g_ema": state, "latent_avg": weights[MEAN]}, True)
    source = write(tmp_path, grey)
    write_converted(source, tmp_path / "grey.safetensors", LICENCE)
    images = []
    for path in (source, tmp_path / "grey.safetensors", write(tmp_path, of_rosinality, "grey.pt")):
        generator = load_generator("stylegan2", weights=path)
        codes = generator.sample(3, seed=1)
        shown = generator.synthesize(codes)
        assert shown.shape == (3, 3, 16, 16) and shown.std() > 0.01
        assert torch.equal(shown[:, 0], shown[:, 1]) and torch.equal(shown[:, 0], shown[:, 2])
        raw = generator.network.render(generator.styles(codes))
        assert raw.shape == (3, 1, 16, 16)
        torch.testing.assert_close(shown[:, :1], ((raw + 1) / 2).clamp(0, 1))
        stored = synthesize_to_store(generator, codes, tmp_path / "grey.npy")
        assert stored.shape == (3, 3, 16, 16)
        images.append(shown)
    assert torch.equal(images[0], images[1])
    torch.testing.assert_close(images[0], images[2])


# --- refusals


def with_weight(name: str, values: torch.Tensor) -> bytes:
    return official(made.ada(weights=made.stylegan2_weights() | {name: values}))


MEAN = "mapping.w_avg"
REFUSED = {
    "pickle data was truncated|invalid load key": lambda: b"<html>",
    "no entry 'G_ema'": lambda: pickle.dumps([1]),
    "the option 'depth'": lambda: official(made.ada(depth=4)),
    "another filter than": lambda: with_weight("synthesis.b8.resample_filter", torch.ones(4, 4)),
    "Unexpected key.*mapping.fc7.bias": lambda: with_weight("mapping.fc7.bias", torch.ones(6)),
    "size mismatch for mapping.w_avg": lambda: with_weight(MEAN, torch.ones(7)),
    "w_avg holds values that are not finite": lambda: with_weight(MEAN, torch.ones(6) / 0),
    "no entry 'g_ema'": lambda: made.rosinality({"g": 1}, True),
    "a stylegan2 whose images have 4 channels, not 1 or 3": lambda: official(
        made.ada(weights=made.stylegan2_weights(image_channels=4), img_channels=4)
    ),
}


@pytest.mark.parametrize("found", REFUSED)
def test_what_is_refused(tmp_path, found):
    path = write(tmp_path, REFUSED[found]())
    with pytest.raises(ValueError, match=found) as caught:
        load_checkpoint(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and "\n" not in message and len(message) < 700


def test_the_command_converts_and_says_what_it_cannot(tmp_path, capsys):
    source = tmp_path / "ada.pkl"
    target = tmp_path / "ada.safetensors"
    with pytest.raises(SystemExit, match="ada.pkl: expected a trained generator, found no such"):
        main([str(source), str(target), "--licence", LICENCE])
    write(tmp_path, FILES["ada.pkl"](), "ada.pkl")
    main([str(source), str(target), "--licence", LICENCE])
    assert capsys.readouterr().out == f"{target}: stylegan2 of 16 × 16 pixels, {LICENCE}\n"
    with pytest.raises(ValueError, match="ada.pkl: .* of the kind stylegan2, not eg3d"):
        load_generator("eg3d", weights=source)
    for other, licence, psi in (("a.onnx", "x", 1), ("a.safetensors", " ", 1), (source, "x", 1)):
        with pytest.raises(ValueError):
            write_converted(source, tmp_path / other, licence, psi)


def test_errors_hold_the_file_and_what_it_was_found_to_be(tmp_path):
    path = write(tmp_path, official(made.ada()))
    with pytest.raises(InputError) as caught:
        load_checkpoint(path, "eg3d")
    error = caught.value
    assert error.field == str(path)
    assert error.found == "a network of the kind stylegan2, not eg3d"
    assert error.expected == "a trained generator"
