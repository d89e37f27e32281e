"""The networks that the book audits: a small one for laptops and the ResNet-50 of the paper.

Both take images of shape (n, 3, height, width), float32 in [0, 1], and return logits (n, classes).
"""

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional


def _convolution(
    channels_in: int, channels_out: int, kernel: int, stride: int = 1
) -> nn.Sequential:
    """Convolution without bias followed by batch normalisation, "same" padding."""
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, kernel, stride, padding=kernel // 2, bias=False),
        nn.BatchNorm2d(channels_out),
    )


def halving(*channels: int) -> list[nn.Module]:
    """Layers: 3×3 convolutions of stride 2 between so many channels, batch normalised."""
    layers: list[nn.Module] = []
    for before, after in pairwise(channels):
        # In place: the maps of the first layers are more than a processor's cache holds.
        layers += [_convolution(before, after, 3, stride=2), nn.ReLU(inplace=True)]
    return layers


def box_mean(image: Tensor, radius: int) -> Tensor:
    """Mean over a square window of images (…, h, w), the border repeated.

    Two products with a matrix are much faster than pooling.
    """
    rows, columns = image.shape[-2:]
    return (
        _averaging(rows, radius, image.device) @ image @ _averaging(columns, radius, image.device).T
    )


@cache
def _averaging(length: int, radius: int, device: torch.device) -> Tensor:
    """The mean over a window as a matrix (length, length)."""
    places = torch.arange(length, device=device)
    window = torch.arange(-radius, radius + 1, device=device)
    reached = (places[:, None] + window).clamp(0, length - 1)
    return functional.one_hot(reached, length).float().mean(1)


class SmallNet(nn.Module):
    """Five 3×3 convolutions (four with stride 2), global average pooling, one linear layer.

    188,041 weights; one pass over 10,000 images of 64 px takes seconds on one CPU core.
    """

    WIDTHS = (24, 48, 72, 96)

    def __init__(self, classes: int = 1) -> None:
        super().__init__()
        width = self.WIDTHS[-1]
        self.features = nn.Sequential(
            *halving(3, *self.WIDTHS), _convolution(width, width, 3), nn.ReLU(inplace=True)
        )
        self.head = nn.Linear(width, classes)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.features(images - 0.5).mean((2, 3)))


class Bottleneck(nn.Module):
    """1×1, 3×3, 1×1 convolutions around a shortcut; the 3×3 one carries the stride."""

    EXPANSION = 4

    def __init__(self, channels_in: int, width: int, stride: int) -> None:
        super().__init__()
        channels_out = width * self.EXPANSION
        self.residual = nn.Sequential(
            _convolution(channels_in, width, 1),
            nn.ReLU(),
            _convolution(width, width, 3, stride),
            nn.ReLU(),
            _convolution(width, channels_out, 1),
        )
        same_shape = stride == 1 and channels_in == channels_out
        self.shortcut = (
            nn.Identity() if same_shape else _convolution(channels_in, channels_out, 1, stride)
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.residual(x) + self.shortcut(x))


class ResNet50(nn.Module):
    """ResNet-50 (He et al. 2016, table 1), the architecture audited in transects, section 5.1.

    Trained from scratch: no pretrained weights are assumed on a reader's machine.
    """

    BLOCKS = (3, 4, 6, 3)
    WIDTHS = (64, 128, 256, 512)

    def __init__(self, classes: int = 1) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            _convolution(3, 64, 7, stride=2), nn.ReLU(), nn.MaxPool2d(3, stride=2, padding=1)
        )
        blocks: list[nn.Module] = []
        channels = 64
        for stage, (count, width) in enumerate(zip(self.BLOCKS, self.WIDTHS, strict=True)):
            for block in range(count):
                stride = 2 if stage > 0 and block == 0 else 1
                blocks.append(Bottleneck(channels, width, stride))
                channels = width * Bottleneck.EXPANSION
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(channels, classes)

    def forward(self, images: Tensor) -> Tensor:
        # 0.5 and 0.25 stand in for the mean and spread of natural images.
        features = self.blocks(self.stem((images - 0.5) / 0.25))
        return self.head(features.mean((2, 3)))


ARCHITECTURES: dict[str, Callable[[], nn.Module]] = {"small": SmallNet, "resnet50": ResNet50}
"""By the names that profiles use."""


def count_parameters(network: nn.Module) -> int:
    """Count the trained weights of a network.

    Args:
        network: any torch module, for example `AuditedModel.network`.

    Returns:
        How many numbers training sets.

    Example:
        >>> from helpers import models
        >>> from helpers.models.networks import SmallNet
        >>> models.count_parameters(SmallNet())
        188041
    """
    return sum(weight.numel() for weight in network.parameters())
