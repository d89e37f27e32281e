"""StyleGAN2 against loops in numpy, and behind the book's protocol."""

import numpy as np
import pretended_gpu
import pytest
import slow_style_networks as slow
import torch
from small_generators import style_network

from faceaudit import generators
from faceaudit.generators import StyleGenerator, stylegan2
from faceaudit.generators.stylegan2 import StyleGAN2
from faceaudit.utils import seeding


def normal(*shape, seed=3):
    return torch.from_numpy(seeding.rng(seed, "tests: codes").standard_normal(shape)).float()


def expected(made: StyleGAN2, styles):
    """Images by loops, of styles by layer."""
    state = slow.state_of(made)
    config = made.config
    images = []
    for i in range(len(styles["b4.conv1"])):
        of_one = {name: rows[i].double().numpy() for name, rows in styles.items()}
        images.append(slow.stylegan2(state, of_one, config.resolution, config.conv_clamp))
    return torch.from_numpy(np.stack(images)).float()


def assert_close(images, wanted, atol=1e-4):
    torch.testing.assert_close(images, wanted, rtol=0, atol=atol)


@pytest.mark.parametrize(
    "options", [{}, {"conv_clamp": 0.8}, {"c_dim": 3, "mapping_layers": 2}, {"resolution": 64}]
)
def test_codes_become_the_images_of_the_formulae(options):
    made = style_network(**options)
    z = normal(2, 16)
    c = normal(2, 3, seed=4) if made.c_dim else None
    ws = made.mapping(z, c, psi=0.7)
    for i in range(2):
        own = None if c is None else c[i].double().numpy()
        one = z[i].double().numpy()
        wanted = slow.mapped(slow.state_of(made), one, made.num_ws, 0.01, own, 0.7)
        np.testing.assert_allclose(ws[i], wanted, rtol=0, atol=1e-5)
        styles = slow.styles2(slow.state_of(made), ws[i].double().numpy(), made.resolution)
        for name, values in made.styles(ws).items():
            np.testing.assert_allclose(values[i], styles[name], rtol=0, atol=1e-5)
    images = made.synthesis(ws)
    assert_close(images, expected(made, made.styles(ws)))
    if "conv_clamp" in options:
        assert (images - style_network().synthesis(ws)).abs().max() > 0.1


# --- behind the protocol


def test_the_protocol_is_kept(monkeypatch):
    made = style_network()
    generator = StyleGenerator(made, truncation=0.7)
    assert isinstance(generator, generators.Generator)
    codes = generator.sample(5, seed=4)
    assert_close(codes[:3], generator.sample(3, seed=4), 1e-5)
    images = generator.synthesize(codes)
    each = codes[:, None].repeat(1, generator.num_ws, 1)
    for same in (each, each.flatten(1)):
        assert torch.equal(generator.synthesize(same), images)
    assert torch.equal(generator.synthesize_styles(generator.styles(codes)), images)
    assert_close(images, ((expected(made, made.styles(each)) + 1) / 2).clamp(0, 1))
    monkeypatch.setattr(stylegan2, "CHUNK_BYTES", 1)
    assert_close(generator.synthesize(codes), images, 1e-5)


def test_truncation_narrows_and_is_told():
    made = style_network()
    wide = StyleGenerator(made)
    narrow = StyleGenerator(made, truncation=0.5)
    z = wide.normal_codes(3, seed=2)
    mean = made.mapping.w_avg
    assert_close(narrow.map(z) - mean, 0.5 * (wide.map(z) - mean))
    told = narrow.card
    assert (told["psi"], told["noise"], told["condition"]) == (0.5, "const", None)
    made.card = {"licence": "own", "psi": 0.5}
    as_told = StyleGenerator(made)
    assert as_told.card == narrow.card | made.card
    assert torch.equal(as_told.map(z), narrow.map(z))
    assert StyleGenerator(made, truncation=1.0).card["psi"] == 1


def test_it_draws_on_a_pretended_gpu():
    with pretended_gpu.present():
        here, there = (StyleGenerator(style_network(), one) for one in ("cpu", "cuda"))
        codes = there.sample(3, seed=1)
        styled = there.synthesize_styles(there.styles(codes))
        wanted = here.synthesize(here.sample(3, seed=1))
        for images in (there.synthesize(codes), styled):
            assert images.is_cuda
            assert_close(images.cpu(), wanted, 1e-5)


def test_the_operations_of_a_gpu_make_the_same_images(monkeypatch):
    made = style_network(conv_clamp=0.8)
    ws = normal(3, 8, 16)
    wanted = made.synthesis(ws)
    monkeypatch.setattr(stylegan2, "_on_gpu", lambda x: True)
    images = made.synthesis(ws)
    assert_close(images, wanted, 1e-5)
    assert not torch.equal(images, wanted), "the others were taken"


def test_how_far_a_coarser_precision_goes():
    fine, coarse = (
        StyleGenerator(style_network(), precision=one) for one in ("float32", "bfloat16")
    )
    assert fine.rounding() == {"largest": 0.0, "mean": 0.0}
    away = coarse.rounding(3)
    codes = coarse.sample(3, seed=0)
    apart = 255 * (coarse.synthesize(codes) - fine.synthesize(codes)).abs()
    assert away == {"largest": apart.max().item(), "mean": apart.mean().item()} and away["mean"] > 0


def give(w, **options):
    return StyleGenerator(style_network(), **options).synthesize(torch.as_tensor(w))


ONE = [[1.0] * 16]
SHAPES = r"codes must be \(n, 16\), \(n, 8, 16\) or \(n, 128\), not \(2, 15\)"
REFUSED = {
    SHAPES: lambda: give(torch.zeros(2, 15)),
    "truncation is 1.5": lambda: give(ONE, truncation=1.5),
    "no precision of half among float32": lambda: give(ONE, precision="half"),
    "a conditional network; .* kind: python": lambda: StyleGenerator(style_network(c_dim=3)),
    r"stylegan2 has no scene parameters \['yaw'\]": lambda: StyleGenerator(
        style_network()
    ).synthesize(torch.ones(1, 16), yaw=0.0),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message):
    with pytest.raises(ValueError, match=message):
        REFUSED[message]()
