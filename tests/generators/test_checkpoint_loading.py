"""Every kind of file becomes a network that makes images; before and after conversion the same."""

import generator_files as made
import pytest
import torch

from helpers import generators
from helpers.generators.convert import write_converted


def square():
    weights = made.Weights()
    weights.mapping("mapping", 6, 0, 6, layers=2)
    weights.synthesis("synthesis", made.WIDTHS, w_dim=6)
    return weights.found


FILES = {
    "ada.pkl": lambda: made.dumps(made.with_others(made.ada())),
    "conditional.pkl": lambda: made.dumps(made.with_others(made.ada(c_dim=3))),
    "tensorflow.pkl": lambda: made.dumps(made.tensorflow(made.stylegan2_weights())),
    "rosinality.pt": lambda: made.rosinality(made.training_file(square()), True),
    "t.pkl": lambda: made.dumps(made.with_others(made.stylegan3("t")[0])),
    "r.pkl": lambda: made.dumps(made.with_others(made.stylegan3("r")[0])),
    "eg3d.pkl": lambda: made.dumps(made.with_others(made.eg3d()[0])),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_becomes_a_network(tmp_path, name):
    path, converted = tmp_path / name, tmp_path / "converted.safetensors"
    path.write_bytes(FILES[name]())
    write_converted(path, converted, "of the authors")
    random_state = torch.get_rng_state()
    found, again = generators.load_checkpoint(path), generators.load_checkpoint(converted)
    assert torch.equal(torch.get_rng_state(), random_state)  # nothing is drawn from it
    assert found.card["source"] == again.card["source"] == name
    assert not found.training and not any(p.requires_grad for p in found.parameters())
    z = torch.randn(2, found.z_dim, generator=torch.Generator().manual_seed(1))
    c = torch.eye(found.c_dim)[:2] if found.c_dim else None
    ws, same = (network.mapping(z, c, psi=0.7) for network in (found, again))
    assert ws.shape == (2, found.num_ws, found.w_dim) and torch.equal(ws, same)
    if found.kind != "eg3d":
        images = found.synthesis(ws)
        assert images.shape == (2, 3, found.resolution, found.resolution)
        assert images.isfinite().all() and torch.equal(images, again.synthesis(ws))
    styles, same = found.styles(ws), again.styles(ws)
    assert styles.keys() == same.keys() and len(styles) > 4
    assert all(torch.equal(values, same[layer]) for layer, values in styles.items())


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"depth_resolution": 10**9}, "depth_resolution is 1000000000"),
        ({"depth_resolution": "48"}, "depth_resolution is '48'"),
        ({"depth_resolution": 1}, "depth_resolution is 1"),
        ({"avg_camera_radius": 0}, "avg_camera_radius is 0"),
        ({"ray_end": float("nan")}, "ray_end is nan"),
        ({"ray_start": "auto"}, "ray_start is 'auto'"),
        ({"avg_camera_pivot": [0, 0]}, "three numbers"),
        ({"avg_camera_pivot": 0}, "three numbers"),
        ({"white_back": 2}, "white_back is 2"),
    ],
)
def test_options_of_rendering(tmp_path, change, found):
    path = tmp_path / "eg3d.pkl"
    network, _ = made.eg3d()
    network.state["rendering_kwargs"] = made.EasyDict(made.RENDERING | change)
    path.write_bytes(made.dumps(made.with_others(network)))
    with pytest.raises(ValueError, match=f"eg3d.pkl: .*rendering: .*{found}"):
        generators.load_checkpoint(path)


def test_options_that_only_the_network_knows_name_the_file(tmp_path):
    path = tmp_path / "eg3d.pkl"
    network, _ = made.eg3d()
    network.state["rendering_kwargs"] = made.EasyDict(made.RENDERING | {"clamp_mode": "relu"})
    path.write_bytes(made.dumps(made.with_others(network)))
    with pytest.raises(ValueError, match="eg3d.pkl: .*relu"):
        generators.load_checkpoint(path)


def test_a_mean_of_squares_that_is_negative(tmp_path):
    network, weights = made.stylegan3("t")
    name = next(name for name in weights if name.endswith("magnitude_ema"))
    weights[name].neg_()
    path = tmp_path / "t.pkl"
    path.write_bytes(made.dumps(made.with_others(network)))
    with pytest.raises(ValueError, match="t.pkl: .*magnitude_ema', a mean of squares, that is not"):
        generators.load_checkpoint(path)


def test_load_generator_takes_a_file(tmp_path):
    path = tmp_path / "ada.pkl"
    path.write_bytes(FILES["ada.pkl"]())
    generator = generators.load_generator("stylegan2", weights=path)
    images = generator.synthesize(generator.sample(2, seed=1))
    assert images.shape == (2, 3, 16, 16) and 0 <= images.min() <= images.max() <= 1
    assert generator.truncation == 1.0
    write_converted(path, tmp_path / "ada.safetensors", "of the authors", psi=0.7)
    path = tmp_path / "ada.safetensors"
    assert generators.load_generator("stylegan2", weights=path).truncation == 0.7
    chosen = generators.load_generator("stylegan2", weights=path, truncation=0.5)
    assert chosen.truncation == 0.5
    with pytest.raises(ValueError, match="ada.safetensors: a stylegan3 network was expected"):
        generators.load_generator("stylegan3", weights=path)
