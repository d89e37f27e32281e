"""Images, masks and landmarks: what must hold for every face, and what each parameter does."""

import numpy as np
import pytest
import torch

import facerender
from facerender.textures import textures

SIZE = 48


def faces_with(n: int, **values) -> torch.Tensor:
    parameters = facerender.defaults(n)
    for name, value in values.items():
        parameters[:, facerender.INDEX[name]] = torch.as_tensor(value, dtype=torch.float32)
    return parameters


def random_faces(n: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    low = torch.tensor([p.low for p in facerender.PARAMETERS])
    high = torch.tensor([p.high for p in facerender.PARAMETERS])
    middle = torch.tensor([p.default for p in facerender.PARAMETERS])
    drawn = low + (high - low) * torch.rand(n, len(low), generator=generator)
    drawn = 0.3 * middle + 0.7 * drawn
    for name in ("artefacts", "glasses", "earrings"):
        drawn[: n // 2, facerender.INDEX[name]] = 0
    drawn[:, facerender.INDEX["hair_style"]] = torch.arange(n) % len(facerender.HAIR_STYLES)
    return drawn


def style(name: str) -> int:
    return facerender.HAIR_STYLES.index(name)


@pytest.fixture(scope="module")
def batch():
    parameters = random_faces(16)
    return parameters, facerender.render(parameters, SIZE)


def test_shapes_and_ranges(batch):
    _, rendering = batch
    assert rendering.image.shape == (16, 3, SIZE, SIZE)
    assert rendering.image.dtype == torch.float32
    assert rendering.head_mask.shape == (16, SIZE, SIZE)
    assert rendering.landmarks.shape == (16, len(facerender.LANDMARK_NAMES), 2)
    assert len(facerender.LANDMARK_NAMES) >= 20
    for values in (rendering.image, rendering.head_mask):
        assert values.isfinite().all()
        assert values.min() >= 0
        assert values.max() <= 1


def test_same_parameters_same_image(batch):
    parameters, rendering = batch
    state = torch.get_rng_state()
    assert torch.equal(facerender.render(parameters, SIZE).image, rendering.image)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_no_image_depends_on_its_batch_or_on_threads(batch, threads, monkeypatch):
    parameters, rendering = batch
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    for rows in ([0], [1, 2, 3], [15, 6], list(range(16))):
        alone = facerender.render(parameters[rows], SIZE)
        for part in ("image", "head_mask", "landmarks"):
            assert torch.equal(getattr(alone, part), getattr(rendering, part)[rows]), (rows, part)


def test_textures_are_the_same_whenever_they_are_made():
    for _ in range(5):
        again = textures.__wrapped__(1)
        assert all(map(np.array_equal, again, textures(1)))


def test_odd_sizes_and_supersampling_agree_with_the_plain_image(batch):
    parameters, _ = batch
    fine = facerender.render(parameters[:4], 33, supersampling=3)
    plain = facerender.render(parameters[:4], 33)
    assert fine.image.shape == plain.image.shape == (4, 3, 33, 33)
    assert (fine.image - plain.image).abs().mean() < 0.03
    assert (fine.landmarks - plain.landmarks).abs().max() < 1e-3


def test_every_tensor_follows_the_parameters_device(batch):
    """With another default device, any tensor made without naming one would clash."""
    parameters, rendering = batch
    with torch.device("meta"):
        again = facerender.render(parameters, SIZE)
    assert torch.equal(again.image, rendering.image)


@pytest.mark.parametrize("parameter", facerender.PARAMETERS, ids=lambda p: p.name)
def test_each_parameter_changes_the_image(parameter):
    extremes = faces_with(2, hair_length=0.6)
    # Hues come back to where they started after a whole turn.
    high = 0.5 if parameter.unit == "turn" else parameter.high
    extremes[:, facerender.INDEX[parameter.name]] = torch.tensor([parameter.low, high])
    low, high = facerender.render(extremes, 32).image
    assert (low - high).abs().max() > 0.02


def test_bad_arguments_are_refused():
    parameters = facerender.defaults()
    with pytest.raises(ValueError, match="size is 8, expected a whole number of at least 16"):
        facerender.render(parameters, 8)
    with pytest.raises(ValueError, match="supersampling is 0.5, expected a whole number"):
        facerender.render(parameters, 32, supersampling=0.5)
    with pytest.raises(ValueError, match="at least one row"):
        facerender.render(parameters[:0], 32)
    parameters[0, facerender.INDEX["yaw"]] = 120
    with pytest.raises(ValueError, match="'yaw', row 0: 120"):
        facerender.render(parameters, 32)


def test_darker_skin_darkens_the_head():
    rendering = facerender.render(faces_with(6, skin_colour=torch.linspace(0, 1, 6)), SIZE)
    luminance = rendering.image.mean(1)
    means = (luminance * rendering.head_mask).sum((1, 2)) / rendering.head_mask.sum((1, 2))
    assert (means.diff() < -0.02).all()


@pytest.mark.parametrize("name", ["straight", "wavy", "curly", "fringe", "braids", "afro"])
def test_longer_hair_covers_more(name):
    lengths = torch.linspace(0.15, 1, 6)
    rendering = facerender.render(faces_with(6, hair_length=lengths, hair_style=style(name)), SIZE)
    areas = rendering.head_mask.sum((1, 2))
    assert (areas.diff() > 0).all()
    assert areas[-1] > 1.15 * areas[0]


def test_tied_hair_grows_a_bun_and_a_covering_hides_all_hair():
    tied = facerender.render(
        faces_with(2, hair_length=[0.2, 1.0], hair_style=style("tied back")), SIZE
    )
    assert tied.head_mask[1].sum() > tied.head_mask[0].sum()
    covered = faces_with(3, hair_style=style("covered"), hair_length=[0.0, 0.5, 1.0])
    covered[:, facerender.INDEX["hair_colour"]] = torch.tensor([0.0, 0.5, 1.0])
    images = facerender.render(covered, SIZE).image
    # Brows keep the hair's colour; nothing else may change.
    changed = ((images[0] - images[2]).abs().amax(0) > 0.02).float().mean()
    assert changed < 0.02


def test_gender_changes_geometry_not_only_paint():
    rendering = facerender.render(faces_with(2, gender=[0.0, 1.0], hair_length=0.0), SIZE)
    assert (rendering.head_mask[1] - rendering.head_mask[0]).abs().sum() > 10


def test_ancestry_leaves_skin_colour_alone():
    references = torch.tensor(list(facerender.ANCESTRY_REFERENCES.values()))
    parameters = faces_with(3, ancestry_x=references[:, 0], ancestry_y=references[:, 1])
    rendering = facerender.render(parameters, SIZE)
    row, column = int(SIZE * 0.28), SIZE // 2  # forehead
    forehead = rendering.image[:, :, row - 2 : row + 2, column - 3 : column + 3].mean((2, 3))
    assert (forehead - forehead[0]).abs().max() < 0.03
    assert (rendering.image[0] - rendering.image[1]).abs().max() > 0.1


def test_children_have_larger_eyes_and_shorter_lower_faces():
    ages = torch.tensor([0.0, 0.15, 0.3, 0.45])
    points = facerender.render(faces_with(4, age=ages), SIZE).landmarks
    at = facerender.LANDMARK_NAMES.index
    eye = points[:, at("eye_outer_right"), 0] - points[:, at("eye_inner_right"), 0]
    lower = points[:, at("chin"), 1] - points[:, at("eye_centre_right"), 1]
    assert (eye.diff() < 0).all()
    assert (lower.diff() > 0).all()


def test_landmarks_turn_with_the_head():
    points = facerender.render(faces_with(3, yaw=[-25.0, 0.0, 25.0]), SIZE).landmarks
    nose = points[:, facerender.LANDMARK_NAMES.index("nose_tip")]
    assert nose[1, 0] == pytest.approx(SIZE / 2, abs=0.1)
    assert nose[0, 0] < nose[1, 0] - 3
    assert nose[2, 0] > nose[1, 0] + 3
    up = facerender.render(faces_with(2, pitch=[0.0, 20.0]), SIZE).landmarks
    assert up[1, facerender.LANDMARK_NAMES.index("nose_tip"), 1] < nose[1, 1] - 1


def test_mirrored_heads_have_mirrored_landmarks():
    points = facerender.render(faces_with(2, yaw=[-20.0, 20.0]), SIZE).landmarks
    mirrored = {"left": "right", "right": "left"}
    for i, name in enumerate(facerender.LANDMARK_NAMES):
        stem, _, side = name.rpartition("_")
        other = f"{stem}_{mirrored[side]}" if side in mirrored else name
        x, y = points[1, facerender.LANDMARK_NAMES.index(other)]
        assert points[0, i, 0].item() == pytest.approx(SIZE - x.item(), abs=0.05), name
        assert points[0, i, 1].item() == pytest.approx(y.item(), abs=0.05), name


def test_landmarks_alone_are_those_of_a_portrait(batch):
    parameters, rendered = batch
    found = facerender.landmarks_of(parameters, SIZE, batch=3)
    np.testing.assert_allclose(found, rendered.landmarks, atol=1e-3)


def test_landmarks_lie_on_the_head(batch):
    parameters, rendering = batch
    place = rendering.landmarks.floor().long().clamp(0, SIZE - 1)
    rows = torch.arange(len(parameters))[:, None]
    assert rendering.head_mask[rows, place[..., 1], place[..., 0]].gt(0.5).float().mean() > 0.93


def test_head_mask_excludes_background_and_torso(batch):
    _, rendering = batch
    mask = rendering.head_mask
    assert mask[:, 2, :3].max() == 0
    assert (mask.mean((1, 2)) > 0.15).all()
    bald = facerender.render(faces_with(1, hair_length=0.0), SIZE).head_mask[0]
    assert bald[-3:].max() == 0
    assert bald[SIZE // 2, SIZE // 2] == 1


def test_artefacts_spare_clean_images():
    parameters = faces_with(2, artefacts=[0.0, 0.8])
    rendering = facerender.render(parameters, SIZE)
    clean = facerender.render(faces_with(1), SIZE)
    assert (rendering.image[0] - clean.image[0]).abs().max() < 1e-4
    assert (rendering.image[1] - clean.image[0]).abs().max() > 0.1
    assert torch.equal(rendering.head_mask[0], rendering.head_mask[1])
