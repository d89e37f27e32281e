"""Style-based networks behind the book's protocol, and by name from a file."""

import generator_files as files
import pretended_gpu
import pytest
import torch

from helpers import generators
from helpers.generators import (
    convert,
    eg3d,
    style_generator,
    style_layers,
    stylegan2,
)
from helpers.generators.style_generator import StyleGenerator

CODES = {"z_dim": 12, "w_dim": 16}
KINDS = ("stylegan2", "eg3d")


def network(kind="stylegan2", **options):
    """A small network with weights drawn at random; EG3D wants the sizes of `small`."""
    common = CODES | {"c_dim": 0, "resolution": 16, "channel_base": 128} | options
    if kind == "stylegan2":
        made = stylegan2.StyleGAN2(stylegan2.Config(**common))
    else:
        rendering = {"depth_resolution": 6, "depth_resolution_importance": 5, "c_scale": 1.0}
        sizes = {"c_dim": 25, "neural_resolution": 4, "rendering": rendering}
        made = eg3d.EG3D(eg3d.Config(**common | sizes))
    return style_layers.draw_weights(made, seed=1)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(eg3d, "BACKBONE", 16)
    monkeypatch.setattr(eg3d, "ENLARGED", 8)
    monkeypatch.setattr(eg3d, "SUPER_RESOLUTION", {16: ((8, 8), (6, 16))})


@pytest.mark.parametrize("kind", KINDS)
def test_the_protocol_is_kept(small, monkeypatch, kind):
    generator = StyleGenerator(network(kind), truncation=0.7)
    assert isinstance(generator, generators.Generator)
    codes = generator.sample(5, seed=4)
    assert codes.shape == (5, 16)
    torch.testing.assert_close(codes[:3], generator.sample(3, seed=4), rtol=0, atol=1e-6)
    images = generator.synthesize(codes)
    assert images.shape == (5, 3, 16, 16)
    assert 0 <= images.min() < images.max() <= 1
    assert not torch.equal(images[0], images[1])
    monkeypatch.setattr(style_generator, "CHUNK_BYTES", 1)
    torch.testing.assert_close(generator.synthesize(codes), images, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_one_code_a_layer_and_styles(small, kind):
    generator = StyleGenerator(network(kind))
    w = generator.sample(2, seed=1)
    images = generator.synthesize(w)
    each = w[:, None].repeat(1, generator.num_ws, 1)
    assert torch.equal(generator.synthesize(each), images)
    assert torch.equal(generator.synthesize(each.flatten(1)), images)
    assert torch.equal(generator.synthesize_styles(generator.styles(w)), images)
    each[:, -1] += 1
    assert not torch.equal(generator.synthesize(each), images)


def test_truncation_narrows_and_is_told():
    made = network()
    wide, narrow = StyleGenerator(made), StyleGenerator(made, truncation=0.5)
    z = wide.normal_codes(3, seed=2)
    mean = made.mapping.w_avg
    torch.testing.assert_close(narrow.map(z) - mean, 0.5 * (wide.map(z) - mean))
    assert torch.equal(wide.map(z), wide.sample(3, seed=2))
    assert narrow.card == {
        **{"kind": "stylegan2", "psi": 0.5, "noise": "const", "precision": "float32"},
        "condition": None,
    }
    made.card = {"licence": "own", "psi": 0.5, "noise": "none"}
    as_told = StyleGenerator(made)
    assert as_told.card == narrow.card | made.card
    assert torch.equal(as_told.map(z), narrow.map(z))
    assert StyleGenerator(made, truncation=1.0).card["psi"] == 1


def test_random_noise_belongs_to_the_number_of_an_image(monkeypatch):
    generator = StyleGenerator(network(), noise="random")
    w = generator.sample(1, seed=1).repeat(3, 1)
    images = generator.synthesize(w)
    assert not torch.equal(images[0], images[1])
    monkeypatch.setattr(style_generator, "CHUNK_BYTES", 1)
    torch.testing.assert_close(generator.synthesize(w), images, rtol=0, atol=1e-5)


def test_conditions():
    made = network(c_dim=2)
    one, other = (StyleGenerator(made, condition=c) for c in ([1.0, 0.0], [0.0, 1.0]))
    assert one.card["condition"] == [1, 0]
    assert not torch.equal(one.sample(2, seed=1), other.sample(2, seed=1))
    with pytest.raises(ValueError, match="condition: \\(2,\\) was expected, found none"):
        StyleGenerator(made)
    with pytest.raises(ValueError, match="the network takes no condition"):
        StyleGenerator(network(), condition=[1.0])


def test_the_pose_of_eg3d_leaves_the_code_alone(small):
    generator = StyleGenerator(network("eg3d"))
    w = generator.sample(2, seed=1)
    front, side = generator.synthesize(w), generator.synthesize(w, yaw=20.0, pitch=-5.0)
    assert torch.equal(front, generator.synthesize(w, yaw=0.0))
    assert not torch.equal(front, side)
    cameras = generator.network.camera(20, -5)[None]
    ws = w[:, None].expand(-1, generator.num_ws, -1)
    wanted = ((generator.network.view(ws, cameras).image + 1) / 2).clamp(0, 1)
    torch.testing.assert_close(side, wanted)
    with pytest.raises(ValueError, match="no scene parameters: \\['light'\\]; there are"):
        generator.synthesize(w, light=1.0)


def test_bfloat16_is_for_stylegan2(small):
    made = network()
    exact = StyleGenerator(made).synthesize(made.mapping(torch.ones(1, 12))[:, 0])
    coarse = StyleGenerator(made, precision="bfloat16")
    images = coarse.synthesize(made.mapping(torch.ones(1, 12))[:, 0])
    assert coarse.card["precision"] == "bfloat16"
    assert 0 < (images - exact).abs().max() < 0.1
    with pytest.raises(ValueError, match="eg3d computes in float32 only"):
        StyleGenerator(network("eg3d"), precision="bfloat16")


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (torch.zeros(2, 15), r"codes must be \(n, 16\), \(n, 6, 16\) or \(n, 96\), not \(2, 15\)"),
        (torch.zeros(16), "codes: at least one row was expected"),
        (torch.zeros(0, 16), "codes: at least one row was expected"),
        (torch.full((1, 16), torch.nan), "codes must be finite"),
    ],
)
def test_wrong_codes_are_refused(codes, message):
    with pytest.raises(ValueError, match=message):
        StyleGenerator(network()).synthesize(codes)


def test_wrong_arguments_are_refused():
    made = network()
    with pytest.raises(ValueError, match="truncation is 1.5"):
        StyleGenerator(made, truncation=1.5)
    with pytest.raises(ValueError, match="noise 'white' is not one of"):
        StyleGenerator(made, noise="white")
    with pytest.raises(ValueError, match="precision 'half' is not one of"):
        StyleGenerator(made, precision="half")
    generator = StyleGenerator(made)
    with pytest.raises(ValueError, match="stylegan2 has no scene parameters: \\['yaw'\\]"):
        generator.synthesize(generator.sample(1, 1), yaw=0.0)
    styles = generator.styles(generator.sample(2, 1))
    with pytest.raises(ValueError, match="of the same number of images in all layers"):
        generator.synthesize_styles(styles | {"b8.conv1": styles["b8.conv1"][:1]})


@pytest.mark.parametrize("kind", KINDS)
def test_it_draws_on_a_pretended_gpu(small, kind):
    with pretended_gpu.present():
        here, there = (StyleGenerator(network(kind), device) for device in ("cpu", "cuda"))
        codes = there.sample(3, seed=1)
        images = there.synthesize(codes)
        styled = there.synthesize_styles(there.styles(codes))
        assert codes.is_cuda and images.is_cuda and styled.is_cuda
        wanted = here.synthesize(here.sample(3, seed=1))
        torch.testing.assert_close(images.cpu(), wanted, rtol=0, atol=1e-5)
        torch.testing.assert_close(styled.cpu(), wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("noise", ["const", "none", "random"])
def test_strips_and_noise_on_a_pretended_gpu(monkeypatch, noise):
    monkeypatch.setattr(stylegan2, "SMALL", 4)
    with pretended_gpu.present():
        here, there = (StyleGenerator(network(), one, noise=noise) for one in ("cpu", "cuda"))
        wanted = here.synthesize(here.sample(3, seed=1))
        images = there.synthesize(there.sample(3, seed=1))
        torch.testing.assert_close(images.cpu(), wanted, rtol=0, atol=1e-5)


def test_generators_from_a_file(tmp_path):
    path, converted = tmp_path / "ada.pkl", tmp_path / "ada.safetensors"
    path.write_bytes(files.dumps(files.with_others(files.ada())))
    convert.write_converted(path, converted, "of its authors", psi=0.7)
    generator = generators.load_generator("stylegan2", weights=converted)
    assert generator.card["licence"] == "of its authors"
    assert generator.card["psi"] == 0.7
    codes = generator.sample(2, seed=1)
    images = generator.synthesize(codes)
    assert images.shape == (2, 3, generator.size, generator.size)
    same = generators.load_generator("stylegan2", weights=path, truncation=0.7)
    assert torch.equal(same.synthesize(same.sample(2, seed=1)), images)
    with pytest.raises(ValueError, match="ada.pkl: .* of the kind stylegan2, not eg3d"):
        generators.load_generator("eg3d", weights=path)


def test_generators_by_name():
    with pytest.raises(ValueError, match="stylegan2 is read from a file: weights=path is missing"):
        generators.load_generator("stylegan2")
    with pytest.raises(ValueError, match=r"wgan comes with the book; it takes no \['truncation'\]"):
        generators.load_generator("wgan", truncation=0.5)
    with pytest.raises(ValueError, match="generator 'dcgan' is not one of"):
        generators.load_generator("dcgan")
