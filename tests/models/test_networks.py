"""Networks: the sizes that are published."""

import torch

from helpers import models
from helpers.models import networks


def test_architectures_have_the_known_numbers_of_weights():
    assert models.count_parameters(networks.SmallNet()) == 188_041
    # The count that is published for ResNet-50 with 1,000 classes.
    assert models.count_parameters(networks.ResNet50(classes=1000)) == 25_557_032


def test_resnet_halves_five_times_and_has_one_logit():
    network = networks.ResNet50().eval()
    images = torch.rand(1, 3, 64, 64)
    with torch.no_grad():
        assert network.stem(images).shape == (1, 64, 16, 16)
        assert network.blocks(network.stem(images)).shape == (1, 2048, 2, 2)
        assert network(images).shape == (1, 1)


def test_box_mean_is_pooling_with_the_border_repeated():
    image = torch.rand(2, 3, 9, 14, generator=torch.Generator().manual_seed(0))
    padded = torch.nn.functional.pad(image, (2, 2, 2, 2), mode="replicate")
    expected = torch.nn.functional.avg_pool2d(padded, 5, stride=1)
    torch.testing.assert_close(networks.box_mean(image, 2), expected)
