"""The networks that the book audits: a small one for laptops and the ResNet-50 of the paper.

Both take images of shape (n, 3, height, width), float32 in [0, 1], and return logits (n, classes).
"""

from functools import cache
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional


def _convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Sequential:
    """Convolution without bias followed by batch normalisation, "same" padding."""
    layer = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(outputs))


def halving(*channels: int) -> list[nn.Module]:
    """Layers: a 3×3 convolution of stride 2, batch normalised, for each pair of channel numbers."""
    layers: list[nn.Module] = []
    for before, after in pairwise(channels):
        # In place: the maps of the first layers are more than a processor's cache holds.
        layers += [_convolution(before, after, 3, stride=2), nn.ReLU(inplace=True)]
    return layers


def box_mean(image: Tensor, radius: int) -> Tensor:
    """Mean over a square window of images (…, h, w), the border repeated.

    Two products with a matrix are much faster than pooling.
    """
    down, across = (_averaging(n, radius, image.device) for n in image.shape[-2:])
    return down @ image @ across.T


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
        halved = halving(3, *self.WIDTHS)
        self.features = nn.Sequential(*halved, _convolution(width, width, 3), nn.ReLU(inplace=True))
        self.head = nn.Linear(width, classes)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.features(images - 0.5).mean((2, 3)))


class Bottleneck(nn.Module):
    """1×1, 3×3, 1×1 convolutions around a shortcut; the 3×3 one carries the stride."""

    def __init__(self, inputs: int, width: int, outputs: int, stride: int) -> None:
        super().__init__()
        first = _convolution(inputs, width, 1)
        middle = _convolution(width, width, 3, stride)
        last = _convolution(width, outputs, 1)
        self.residual = nn.Sequential(first, nn.ReLU(), middle, nn.ReLU(), last)
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else _convolution(inputs, outputs, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.residual(x) + self.shortcut(x))


class ResNet50(nn.Module):
    """ResNet-50 (He et al. 2016, table 1), the architecture audited in transects, section 5.1.

    Trained from scratch: no pretrained weights are assumed on a reader's machine.
    """

    BLOCKS = ((3, 64), (4, 128), (6, 256), (3, 512))
    """Number of blocks and their width, by stage."""

    def __init__(self, classes: int = 1) -> None:
        super().__init__()
        first = _convolution(3, 64, 7, stride=2)
        self.stem = nn.Sequential(first, nn.ReLU(), nn.MaxPool2d(3, stride=2, padding=1))
        blocks = []
        channels = 64
        for stage, (count, width) in enumerate(self.BLOCKS):
            for block in range(count):
                stride = 2 if stage > 0 and block == 0 else 1
                blocks.append(Bottleneck(channels, width, 4 * width, stride))
                channels = 4 * width
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(channels, classes)

    def forward(self, images: Tensor) -> Tensor:
        # 0.5 and 0.25 stand in for the mean and spread of natural images.
        features = self.blocks(self.stem((images - 0.5) / 0.25))
        return self.head(features.mean((2, 3)))


ARCHITECTURES = {"small": SmallNet, "resnet50": ResNet50}
"""By the names that profiles use."""
