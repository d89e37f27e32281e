"""Names of StyleGAN3's layers as in the published files, and what a file's sizes cannot do."""

import pytest

from helpers.generators.parameter_shapes import layer_plan, shapes

PLAN = {"num_layers": 14, "num_critical": 2, "first_cutoff": 2, "first_stopband": 2**2.1}
PLAN |= {"last_stopband_rel": 2**0.3, "margin_size": 10, "image_channels": 3, "resolution": 256}
PUBLISHED = {
    "t": "L0_36_512 L1_36_512 L2_36_512 L3_52_512 L4_52_512 L5_84_512 L6_84_512 L7_148_512 "
    "L8_148_512 L9_148_362 L10_276_256 L11_276_181 L12_276_128 L13_256_128 L14_256_3",
    "r": "L0_36_1024 L1_36_1024 L2_36_1024 L3_52_1024 L4_52_1024 L5_84_1024 L6_84_1024 L7_148_724 "
    "L8_148_512 L9_148_362 L10_276_256 L11_276_181 L12_276_128 L13_256_128 L14_256_3",
}
"""Layers of the models at 256 pixels."""


@pytest.mark.parametrize(("letter", "most"), [("t", 512), ("r", 1024)])
def test_layers_are_called_as_in_published_files(letter, most):
    _, sizes, widths = layer_plan(PLAN | {"channel_base": 32768, "channel_max": most})
    names = [
        f"L{i}_{size}_{width}" for i, (size, width) in enumerate(zip(sizes, widths, strict=True))
    ]
    assert " ".join(names) == PUBLISHED[letter]


def test_a_full_network_has_the_published_number_of_weights():
    """Config F at 1024 pixels: 30,370,060 with its biases (Karras et al. 2020), without noise."""
    config = {"z_dim": 512, "c_dim": 0, "w_dim": 512, "resolution": 1024, "image_channels": 3}
    config |= {"channel_base": 32768, "channel_max": 512, "mapping_layers": 8}
    found = shapes("stylegan2", config)
    total = 0
    for name, shape in found.items():
        if "noise" not in name and not name.endswith("w_avg"):
            count = 1
            for side in shape:
                count *= side
            total += count
    strengths = 17  # of noise, one for each convolution, are counted there
    assert total + strengths == 30_370_060
    assert sum(name.endswith("affine.bias") for name in found) == 26


def test_options_that_leave_nothing():
    with pytest.raises(ValueError, match="no pixel or no channel"):
        layer_plan(PLAN | {"channel_base": 1, "channel_max": 1, "first_cutoff": 900.0})
