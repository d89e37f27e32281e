"""Generators' files in every format and protocol: the weights come out bit for bit."""

import os
import pickle

import generator_files as made
import pytest
import torch

from helpers.generators import checkpoint_files
from helpers.generators.checkpoint_files import read
from helpers.generators.rosinality_files import for_rosinality

PROTOCOLS = range(2, 6)


def write(tmp_path, content: bytes, name: str = "network.pkl"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def assert_weights(checkpoint, expected) -> None:
    expected = made.persistent(expected)
    assert checkpoint.tensors.keys() == expected.keys()
    for name, values in checkpoint.tensors.items():
        assert values.dtype == torch.float32
        assert torch.equal(values, expected[name]), name


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_ada(tmp_path, protocol):
    content = made.dumps(made.with_others(made.ada()), protocol)
    checkpoint = read(write(tmp_path, content))
    assert (checkpoint.kind, checkpoint.config) == ("stylegan2", made.CONFIG)
    assert_weights(checkpoint, made.stylegan2_weights())
    assert checkpoint.card["source"] == "network.pkl"
    assert checkpoint.card["mean_w"] == "stored in the file"


def test_options_of_a_conditional_network(tmp_path):
    more = made.EasyDict(made.CHANNELS | {"conv_clamp": 0.8, "architecture": "skip"})
    content = made.dumps(made.with_others(made.ada(c_dim=3, synthesis_kwargs=more)))
    checkpoint = read(write(tmp_path, content))
    assert checkpoint.config == made.CONFIG | {"c_dim": 3, "conv_clamp": 0.8}
    assert_weights(checkpoint, made.stylegan2_weights(c_dim=3))


@pytest.mark.parametrize(("said", "clamp"), [({}, None), ({"conv_clamp": 256}, 256)])
def test_options_in_the_layout_of_stylegan3(tmp_path, said, clamp):
    kwargs = made.SIZES | made.CHANNELS | {"mapping_kwargs": made.EasyDict(num_layers=2)} | said
    kwargs |= {"fused_modconv_default": "inference_only"}
    weights = made.stylegan2_weights()
    content = made.dumps(made.with_others(made.network(weights, "Generator", kwargs)))
    checkpoint = read(write(tmp_path, content))
    assert checkpoint.config == made.CONFIG | {"conv_clamp": clamp}
    assert_weights(checkpoint, weights)


@pytest.mark.parametrize("letter", ["t", "r"])
@pytest.mark.parametrize("protocol", [2, 4])
def test_stylegan3(tmp_path, letter, protocol):
    network, weights = made.stylegan3(letter)
    checkpoint = read(write(tmp_path, made.dumps(made.with_others(network), protocol)))
    assert checkpoint.kind == "stylegan3"
    given = {key: value for key, value in made.STYLEGAN3[letter].items() if "ema" not in key}
    assert given.items() <= checkpoint.config.items()
    assert checkpoint.config["first_stopband"] == 2**2.1
    assert_weights(checkpoint, weights)


@pytest.mark.parametrize("protocol", [2, 4])
def test_eg3d(tmp_path, protocol):
    network, weights = made.eg3d()
    checkpoint = read(write(tmp_path, made.dumps(made.with_others(network), protocol)))
    assert checkpoint.kind == "eg3d"
    assert checkpoint.config["rendering"] == made.RENDERING
    assert checkpoint.config["neural_resolution"] == 128
    assert_weights(checkpoint, weights)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tensorflow(tmp_path, protocol):
    weights = made.stylegan2_weights()
    checkpoint = read(write(tmp_path, made.dumps(made.tensorflow(weights), protocol)))
    assert (checkpoint.kind, checkpoint.config) == ("stylegan2", made.CONFIG)
    assert_weights(checkpoint, weights)


def square_weights():
    """rosinality's z has the length of w."""
    weights = made.Weights()
    weights.mapping("mapping", 6, 0, 6, layers=2)
    weights.synthesis("synthesis", made.WIDTHS, w_dim=6)
    return weights.found


@pytest.mark.parametrize("zipped", [True, False])
def test_rosinality_there_and_back(tmp_path, zipped):
    weights = square_weights()
    state = made.rosinality_state(weights)
    content = {"g_ema": state, "latent_avg": weights["mapping.w_avg"]}
    checkpoint = read(write(tmp_path, made.rosinality(content, zipped), "network.pt"))
    assert (checkpoint.kind, checkpoint.config) == ("stylegan2", made.CONFIG | {"z_dim": 6})
    assert_weights(checkpoint, weights)
    back = for_rosinality(checkpoint.tensors, checkpoint.config)
    assert back.keys() == state.keys()
    for name, values in state.items():
        assert torch.equal(back[name], values) and back[name].shape == values.shape


@pytest.mark.parametrize("zipped", [True, False])
def test_a_mean_style_that_is_missing_is_estimated(tmp_path, zipped):
    weights = square_weights()
    content = made.rosinality(made.training_file(weights), zipped)
    checkpoint = read(write(tmp_path, content, "010000.pt"))
    assert checkpoint.card["mean_w"] == "estimated from 10,000 keyed normal codes"
    mean = checkpoint.tensors.pop("mapping.w_avg")
    del weights["mapping.w_avg"]
    assert_weights(checkpoint, weights)
    # The mapping network once more, layer by layer and with other normal codes.
    x = torch.randn(40_000, 6, generator=torch.Generator().manual_seed(1)).double()
    x = x / (x**2).mean(1, keepdim=True).add(1e-8).sqrt()
    for layer in range(2):
        weight, bias = (weights[f"mapping.fc{layer}.{part}"] for part in ("weight", "bias"))
        y = x @ weight.double().T * 0.01 / 6**0.5 + 0.01 * bias.double()
        x = torch.where(y > 0, y, 0.2 * y) * 2**0.5
    assert torch.allclose(mean.double(), x.mean(0), atol=4 * float(x.std()) / 100)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64])
def test_weights_of_other_precision(tmp_path, kind):
    weights = {name: values.to(kind) for name, values in made.stylegan2_weights().items()}
    content = made.dumps(made.with_others(made.ada(weights=weights)))
    assert_weights(read(write(tmp_path, content)), made.stylegan2_weights())


def test_views_into_one_storage(tmp_path):
    weights = made.stylegan2_weights()
    weights["mapping.fc1.weight"] = weights["mapping.fc1.weight"].T.contiguous().T
    weights["mapping.fc1.bias"] = torch.cat([torch.zeros(3), weights["mapping.fc1.bias"]])[3:]
    content = made.dumps(made.with_others(made.ada(weights=weights)))
    assert_weights(read(write(tmp_path, content)), weights)


class Foreign:
    """A discriminator of classes that nobody knows."""


def test_what_is_not_needed_may_be_anything(tmp_path):
    for discriminator in (Foreign(), {"deep": [Foreign, os.getcwd]}, frozenset({1}), 1 + 2j):
        content = made.dumps(made.with_others(made.ada(), discriminator))
        assert_weights(read(write(tmp_path, content)), made.stylegan2_weights())


def test_links_are_followed(tmp_path):
    path = write(tmp_path, made.dumps(made.with_others(made.ada())), "blob")
    (tmp_path / "link.pkl").symlink_to(path)
    assert_weights(read(tmp_path / "link.pkl"), made.stylegan2_weights())


def test_the_ordinary_unpickler_would_run_it(tmp_path):
    """The control of all tests of hostile files: what is planted is live."""
    ran = tmp_path / "ran"
    generator = made.ada()
    generator.source = f"import os; os.mkdir({str(ran)!r})"
    content = made.dumps(made.with_others(generator))
    assert_weights(read(write(tmp_path, content)), made.stylegan2_weights())
    assert not ran.exists()
    with made.official_code():
        pickle.loads(content)
    assert ran.exists()


def test_limits_are_far_from_real_files():
    assert checkpoint_files.LARGEST > 20 * 364e6  # the largest published pickle of faces
