"""EG3D against loops in numpy, with the cameras of its own."""

import numpy as np
import pretended_gpu
import pytest
import slow_style_networks as slow
import torch

from faceaudit.generators import StyleGenerator, eg3d, stylegan2
from faceaudit.generators.eg3d import EG3D, EG3DConfig
from faceaudit.utils import seeding

OPTIONS = {
    **{"ray_start": 2.25, "ray_end": 3.3, "depth_resolution": 9, "depth_resolution_importance": 7},
    **{"box_warp": 1.0, "clamp_mode": "softplus", "disparity_space_sampling": False},
    **{"superresolution_noise_mode": "none", "c_scale": 1.0, "decoder_lr_mul": 0.5},
    **{"avg_camera_radius": 2.7, "avg_camera_pivot": [0, 0, 0.2], "sr_antialias": True},
}


@pytest.fixture(params=["both blocks double", "the last block doubles"])
def blocks(request, monkeypatch):
    """Small planes and blocks, in the place of the published sizes."""
    sizes = (16, 32) if request.param == "both blocks double" else (8, 16)
    monkeypatch.setattr(eg3d, "PLANE_SIZE", 16)
    monkeypatch.setattr(eg3d, "ENLARGED", 8)
    monkeypatch.setattr(eg3d, "RAYS_AT_ONCE", 7)
    monkeypatch.setattr(eg3d, "SUPER_RESOLUTION", {sizes[1]: ((8, sizes[0]), (6, sizes[1]))})
    return sizes


def network(blocks, rays=4, **options) -> EG3D:
    config = EG3DConfig(
        16, 25, 16, blocks[1], 3, 128, 12, neural_resolution=rays, rendering=OPTIONS | options
    )
    return stylegan2.draw_network_weights(EG3D(config), seed=1)


def normal(*shape, seed=3):
    return torch.from_numpy(seeding.rng(seed, "tests: codes").standard_normal(shape)).float()


def assert_right(made, blocks, ws, **angles):
    images = made.render(made.styles(ws), **angles)
    state = slow.state_of(made)
    assert images.shape == (len(ws), 3, blocks[1], blocks[1])
    seen = made.camera(**angles).double().numpy(), made.config.neural_resolution
    for image, one in zip(images, ws.double().numpy(), strict=True):
        wanted = slow.eg3d(state, one, *seen, 8, blocks, made.config.rendering, 16, 256)
        np.testing.assert_allclose(image, wanted, rtol=0, atol=1e-4)


def test_images_are_those_of_the_formulae(blocks):
    made = network(blocks)
    ws = made.mapping(normal(2, 16), made.camera()[None], psi=0.7)
    assert_right(made, blocks, ws, yaw=20, pitch=5)
    assert_right(made, blocks, ws[:1], yaw=-15, pitch=-10)


def test_white_behind_and_rays_without_enlarging(blocks):
    made = network(blocks, rays=8, white_back=True)
    assert_right(made, blocks, normal(1, made.num_ws, 16), yaw=10)


def test_the_pose_leaves_the_code_alone(blocks):
    generator = StyleGenerator(network(blocks))
    w = generator.sample(2, seed=1)
    front = generator.synthesize(w)
    side = generator.synthesize(w, yaw=20.0, pitch=-5.0)
    assert torch.equal(front, generator.synthesize(w, yaw=0.0))
    assert torch.equal(front, generator.synthesize_styles(generator.styles(w)))
    raw = generator.network.render(generator.styles(w), yaw=20, pitch=-5)
    torch.testing.assert_close(side, ((raw + 1) / 2).clamp(0, 1))
    assert not torch.equal(front, side)


def test_it_draws_on_a_pretended_gpu(blocks):
    with pretended_gpu.present():
        here, there = (StyleGenerator(network(blocks), device) for device in ("cpu", "cuda"))
        images = there.synthesize(there.sample(3, seed=1))
        wanted = here.synthesize(here.sample(3, seed=1))
        assert images.is_cuda
        torch.testing.assert_close(images.cpu(), wanted, rtol=0, atol=1e-5)


def test_the_condition_is_scaled_as_the_file_says(blocks):
    z = normal(1, 16)
    c = normal(1, 25, seed=4)
    for options, scale in (({"c_scale": 0.5}, 0.5), ({"c_gen_conditioning_zero": True}, 0.0)):
        made = network(blocks, **options)
        state = slow.state_of(made)
        own = z[0].double().numpy(), 6, 0.01, scale * c[0].double().numpy()
        wanted = slow.mapped(state, *own, psi=0.6, prefix="backbone.")
        np.testing.assert_allclose(made.mapping(z, c, 0.6)[0], wanted, atol=1e-5)


def test_cameras_are_where_their_angles_say(blocks):
    made = network(blocks)
    camera = made.camera(30, 10)
    world = camera[:16].reshape(4, 4).double().numpy()
    place = 2.7 * np.array([np.sin(np.pi / 6), 0, np.cos(np.pi / 6)]) * np.cos(np.radians(10))
    place[1] = 2.7 * np.sin(np.radians(10))
    np.testing.assert_allclose(world[:3, 3], place, atol=1e-6)
    ahead = np.array([0, 0, 0.2]) - place
    np.testing.assert_allclose(world[:3, 2], ahead / np.linalg.norm(ahead), atol=1e-6)
    np.testing.assert_allclose(world[:3, :3].T @ world[:3, :3], np.eye(3), atol=1e-6)
    assert np.linalg.det(world[:3, :3]) == pytest.approx(1)
    assert world[1, 1] < 0  # rows of the image go down
    half = np.radians(eg3d.FIELD_OF_VIEW / 2)
    assert camera[16].item() == pytest.approx(1 / (np.sqrt(2) * np.tan(half)), abs=1e-3)


REFUSED = {
    "clamp_mode is 'relu', 'softplus' was": lambda blocks: network(blocks, clamp_mode="relu"),
    "degrees were expected, pitch within 90": lambda blocks: network(blocks).camera(0, 90),
    "no precision of bfloat16 among float32": lambda blocks: StyleGenerator(
        network(blocks), precision="bfloat16"
    ),
    r"no scene parameters \['light'\]; there are \['yaw', 'pitch'\]": lambda blocks: StyleGenerator(
        network(blocks)
    ).synthesize(torch.ones(1, 16), light=1.0),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(blocks, message):
    with pytest.raises(ValueError, match=message):
        REFUSED[message](blocks)
