"""StyleGAN2 against loops in numpy, in every option."""

import numpy as np
import pytest
import slow_style_networks as slow
import torch

from helpers.generators import style_layers, stylegan2
from helpers.generators.stylegan2 import Config, StyleGAN2
from helpers.utils import seeding

TOLERANCE = 1e-4


def network(seed=1, **options) -> StyleGAN2:
    given = {"z_dim": 16, "c_dim": 0, "w_dim": 16, "resolution": 32}
    given |= {"channel_base": 256, "channel_max": 24}
    return style_layers.draw_weights(StyleGAN2(Config(**given | options)), seed)


def normal(*shape, seed=3):
    return torch.from_numpy(seeding.rng(seed, "tests: codes").standard_normal(shape)).float()


def expected(made: StyleGAN2, ws, noise="const", drawn=None):
    """Images by loops, of codes (n, num_ws, w_dim)."""
    state, config = slow.state_of(made), made.config
    images = []
    for i, one in enumerate(ws.double().numpy()):
        styles = slow.styles2(state, one, config.resolution)
        own = {name: values[i] for name, values in (drawn or {}).items()}
        images.append(
            slow.stylegan2(state, styles, config.resolution, config.conv_clamp, noise, own)
        )
    return np.stack(images)


def assert_equal(images, wanted):
    np.testing.assert_allclose(images.double().numpy(), wanted, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize(
    "options",
    [{}, {"conv_clamp": 256.0}, {"c_dim": 3, "mapping_layers": 2}, {"resolution": 64}],
    ids=str,
)
def test_codes_become_the_images_of_the_formulae(options):
    made = network(**options)
    z, c = normal(2, 16), normal(2, 3, seed=4) if made.c_dim else None
    ws = made.mapping(z, c, psi=0.7, cutoff=3)
    for i in range(2):
        own = None if c is None else c[i].double().numpy()
        wanted = slow.mapped(
            slow.state_of(made), z[i].double().numpy(), made.num_ws, 0.01, own, 0.7, 3
        )
        np.testing.assert_allclose(ws[i], wanted, rtol=0, atol=1e-5)
    assert not torch.equal(ws[:, 2], ws[:, 3])
    assert_equal(made.synthesis(ws), expected(made, ws))


@pytest.mark.parametrize("rows", [8, 12, 64])
def test_large_layers_come_in_strips(monkeypatch, rows):
    made, ws = network(conv_clamp=2.0), normal(2, 8, 16)
    wanted = expected(made, ws)
    monkeypatch.setattr(stylegan2, "SMALL", 4)
    monkeypatch.setattr(stylegan2, "ROWS", rows)
    assert_equal(made.synthesis(ws), wanted)


def test_the_clamp_is_active():
    made, ws = network(conv_clamp=0.8), normal(1, 8, 16)
    free = network()
    assert (made.synthesis(ws) - free.synthesis(ws)).abs().max() > 0.1
    assert_equal(made.synthesis(ws), expected(made, ws))


@pytest.mark.parametrize("small", [4, 64])
def test_noise(monkeypatch, small):
    monkeypatch.setattr(stylegan2, "SMALL", small)
    made, ws = network(), normal(2, 8, 16)
    assert_equal(made.synthesis(ws, "none"), expected(made, ws, "none"))
    drawn = {}
    for name, layer in made.synthesis.named_modules():
        if isinstance(layer, stylegan2.Convolution):
            size = len(layer.noise_const)
            values = seeding.normals(5, f"noise: {name}", [7, 8], size**2)
            drawn[name] = values.reshape(2, size, size)
    random = made.synthesis(ws, "random", seed=5, first=7)
    assert_equal(random, expected(made, ws, "random", drawn))
    alone = made.synthesis(ws[1:], "random", seed=5, first=8)
    torch.testing.assert_close(alone, random[1:], rtol=0, atol=1e-5)
    const = made.synthesis(ws)
    assert (const - random).abs().max() > 0.01
    with pytest.raises(ValueError, match="noise 'white' is not one of const, none, random"):
        made.synthesis(ws, "white")


def test_styles():
    made, ws = network(), normal(2, 8, 16)
    styles = made.styles(ws)
    for i in range(2):
        wanted = slow.styles2(slow.state_of(made), ws[i].double().numpy(), 32)
        assert styles.keys() == wanted.keys()
        for name, values in wanted.items():
            np.testing.assert_allclose(styles[name][i], values, rtol=0, atol=1e-5)
    assert torch.equal(made.synthesis_from_styles(styles), made.synthesis(ws))
    edited = styles | {"b8.conv1": styles["b8.conv1"] + 1.0}
    state = slow.state_of(made)
    wanted = [
        slow.stylegan2(state, {k: v[i].double().numpy() for k, v in edited.items()}, 32, None)
        for i in range(2)
    ]
    assert_equal(made.synthesis_from_styles(edited), np.stack(wanted))
    with pytest.raises(ValueError, match="styles of b8.conv0 must be .*, not missing"):
        made.synthesis_from_styles({k: v for k, v in styles.items() if k != "b8.conv0"})


def test_names_and_shapes_are_those_of_the_published_files():
    state = network(resolution=8, c_dim=2).state_dict()
    expected = {"mapping.w_avg", "mapping.embed.weight", "mapping.embed.bias", "synthesis.b4.const"}
    expected |= {f"mapping.fc{i}.{one}" for i in range(8) for one in ("weight", "bias")}
    for layer in ("b4.conv1", "b4.torgb", "b8.conv0", "b8.conv1", "b8.torgb"):
        names = ["weight", "bias", "affine.weight", "affine.bias"]
        names += ["noise_const", "noise_strength"] if "conv" in layer else []
        expected |= {f"synthesis.{layer}.{name}" for name in names}
    assert state.keys() == expected
    assert state["mapping.fc0.weight"].shape == (16, 32)
    assert state["synthesis.b8.conv0.noise_strength"].shape == ()


def test_styles_of_a_large_network_are_as_many_as_in_stylespace():
    config = Config(512, 0, 512, 1024)
    with torch.device("meta"):
        made = StyleGAN2(config)
    assert made.num_ws == 18
    wide = {
        name: layer.weight.shape[1]
        for name, layer in made.synthesis.named_modules()
        if isinstance(layer, stylegan2.Convolution | stylegan2.ToRGB)
    }
    assert sum(wide.values()) == 9088
    assert sum(n for name, n in wide.items() if "conv" in name) == 6048
    assert made.image_bytes == 2**27


def test_bfloat16_is_close():
    made, ws = network(), normal(2, 8, 16)
    exact = made.synthesis(ws)
    made.synthesis.precision = torch.bfloat16
    images = made.synthesis(ws)
    assert images.dtype == torch.float32
    assert 0 < (images - exact).std() < 0.03 * exact.std()


@pytest.mark.parametrize(
    ("give", "message"),
    [
        (lambda n: n.mapping(torch.zeros(2, 8)), "codes z must be \\(n, 16\\), not \\(2, 8\\)"),
        (lambda n: n.mapping(torch.zeros(2, 16), torch.zeros(2, 3)), "takes no condition"),
        (lambda n: n.synthesis(torch.zeros(2, 16)), "must be \\(n, 8, 16\\), not \\(2, 16\\)"),
        (lambda n: network(c_dim=2).mapping(torch.zeros(2, 16)), "wants conditions .*, not none"),
        (lambda n: network(resolution=48), "resolution is 48, a power of two"),
    ],
)
def test_bad_input_is_refused(give, message):
    with pytest.raises(ValueError, match=message):
        give(network(resolution=32))
