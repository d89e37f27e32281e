"""StyleGAN3, T and R, against loops in numpy."""

import numpy as np
import pytest
import slow_style_networks as slow
import torch
from scipy.signal import firwin

from helpers.generators import style_layers
from helpers.generators.stylegan3 import Config, StyleGAN3
from helpers.utils import seeding

SMALL = {"num_layers": 5, "channel_base": 256, "channel_max": 12, "margin_size": 4}
R = {"conv_kernel": 1, "use_radial_filters": True}


def network(**options) -> StyleGAN3:
    given = {"z_dim": 16, "c_dim": 0, "w_dim": 16, "resolution": 16} | SMALL
    made = style_layers.draw_weights(StyleGAN3(Config(**given | options)), seed=1)
    state = made.state_dict()
    for name, value in state.items():
        if name.endswith("_filter"):
            # Not quite symmetric, so that a filter that is turned round is noticed.
            line = firwin(len(value), 0.3) * np.linspace(0.8, 1.2, len(value))
            line = torch.from_numpy(line).float()
            state[name] = line if value.ndim == 1 else torch.outer(line, line.roll(1))
        elif name.endswith("magnitude_ema"):
            state[name] = torch.tensor(1.7)
        elif name.endswith("input.affine.bias"):
            state[name] = torch.tensor([1.0, 0.2, 0.1, -0.05])
    made.load_state_dict(state)
    return made


def normal(*shape, seed=3):
    return torch.from_numpy(seeding.rng(seed, "tests: codes").standard_normal(shape)).float()


def assert_right(made, ws):
    state, config = slow.state_of(made), made.config
    grids = [(plan.rate, plan.size, plan.channels, plan.cutoff) for plan in config.layers()]
    images = made.synthesis(ws)
    for image, one in zip(images, ws.double().numpy(), strict=True):
        wanted = slow.stylegan3(state, one, grids, config.conv_clamp, config.output_scale)
        np.testing.assert_allclose(image, wanted, rtol=0, atol=1e-4)
    assert images.std() > 1e-3
    return images


@pytest.mark.parametrize(
    "options",
    [{}, R, {"resolution": 32, "num_layers": 6}, R | {"resolution": 32}, {"conv_clamp": 0.5}],
    ids=str,
)
def test_codes_become_the_images_of_the_formulae(options):
    made = network(**options)
    assert_right(made, normal(2, made.num_ws, 16))


@pytest.mark.parametrize("kind", [{}, R], ids=str)
def test_a_transform_of_the_user_and_a_condition(kind):
    made = network(c_dim=3, **kind)
    z, c = normal(2, 16), normal(2, 3, seed=4)
    ws = made.mapping(z, c, psi=0.5, cutoff=4)
    for i in range(2):
        own = z[i].double().numpy(), made.num_ws, 0.01, c[i].double().numpy(), 0.5, 4
        np.testing.assert_allclose(ws[i], slow.mapped(slow.state_of(made), *own), atol=1e-5)
    before = assert_right(made, ws)
    angle = 0.3
    turned = [[np.cos(angle), np.sin(angle), 0.1], [-np.sin(angle), np.cos(angle), -0.2], [0, 0, 1]]
    made.synthesis.input.transform.copy_(torch.tensor(turned))
    assert (assert_right(made, ws) - before).abs().max() > 0.01


def test_an_image_does_not_depend_on_its_batch():
    made = network()
    ws = normal(3, made.num_ws, 16)
    torch.testing.assert_close(made.synthesis(ws)[2:], made.synthesis(ws[2:]), rtol=0, atol=1e-6)


def test_styles():
    made = network()
    ws = normal(2, made.num_ws, 16)
    styles = made.styles(ws)
    assert styles["input"].shape == (2, 4)
    assert torch.equal(made.synthesis_from_styles(styles), made.synthesis(ws))
    name = list(styles)[2]
    edited = styles | {name: styles[name] + torch.linspace(0, 1, styles[name].shape[1])}
    assert not torch.equal(made.synthesis_from_styles(edited), made.synthesis(ws))
    with pytest.raises(ValueError, match="styles of input must be \\(n, 4\\), not missing"):
        made.synthesis_from_styles({k: v for k, v in styles.items() if k != "input"})


def test_sizes_and_names_of_a_published_network():
    with torch.device("meta"):
        made = StyleGAN3(Config(512, 0, 512, 1024))
    assert made.num_ws == 16
    layers = [name for name, _ in made.synthesis.layers()]
    assert layers[:4] == ["input", "L0_36_512", "L1_36_512", "L2_52_512"]
    names = ["L10_1044_81", "L11_1044_51", "L12_1044_32", "L13_1024_32", "L14_1024_3"]
    assert layers[-5:] == names
    state = made.state_dict()
    assert state["synthesis.L0_36_512.up_filter"].shape == (12,)
    assert state["synthesis.L2_52_512.up_filter"].shape == (24,)
    assert "synthesis.L14_1024_3.up_filter" not in state
