"""The image under construction: layers are blended over it on lists of pixels."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.faces.marching import FAR, Hit, PixelList


class Canvas:
    """Linear-light image with a head channel, (n, 4, size²), and the depth of what it shows."""

    def __init__(self, backdrop: Tensor) -> None:
        self.pixels = torch.cat([backdrop, torch.zeros_like(backdrop[:, :1])], 1)
        self.depth = torch.full_like(backdrop[:, 0], FAR)

    def over(self, listed: PixelList, colour: Tensor, opacity: Tensor, head: float) -> None:
        """Blend a layer given on a pixel list over the image; `head` goes to the head channel."""
        index = listed.index[:, None].expand(-1, 4, -1)
        layer = torch.cat([colour, torch.full_like(colour[:, :1], head)], 1)
        below = self.pixels.gather(2, index)
        opacity = (opacity * listed.valid)[:, None]
        self.pixels.scatter_(2, index, below + (layer - below) * opacity)

    def tint(self, listed: PixelList, factor: Tensor, light: Tensor) -> None:
        """Multiply listed colours by `factor` (n, k) and add `light` (n, 3, k)."""
        index = listed.index[:, None].expand(-1, 3, -1)
        below = self.pixels[:, :3].gather(2, index)
        tinted = below * factor[:, None] + light
        tinted = torch.where(listed.valid[:, None], tinted, below)
        self.pixels[:, :3].scatter_(2, index, tinted)

    def occlude(self, listed: PixelList, distance: Tensor, opacity: Tensor) -> None:
        """Record the depth of a layer where it is opaque."""
        kept = torch.where(opacity > 0.5, distance, listed.gather(self.depth))
        self.depth.scatter_(1, listed.index, kept)

    def visible(self, hit: Hit, slack: float) -> Tensor:
        """Whether a hit lies in front of what the canvas shows."""
        return hit.distance < hit.pixels.gather(self.depth) + slack
