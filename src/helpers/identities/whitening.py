"""Nothing but the head: background, neck and shoulders made white (Liang et al. 2023, 3.3)."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

import facerender


def whiten(images: Tensor, masks: Tensor) -> Tensor:
    """Images in which everything but the head is white.

    The paper uses a segmentation network; the face world knows which pixels are head. A mask
    between 0 and 1, at the outline, mixes.

    Args:
        images: (n, 3, height, width) in [0, 1], tensors or arrays.
        masks: (n, height, width), 1 on the head, 0 elsewhere.

    Returns:
        The images, (n, 3, height, width).

    Raises:
        ValueError: masks of another shape than the images, or integer images.

    Example:
        >>> import torch
        >>> from helpers import identities
        >>> mask = torch.tensor([[[1.0, 0.0]]])
        >>> identities.whiten(torch.full((1, 3, 1, 2), 0.25), mask)[0, 0].tolist()
        [[0.25, 1.0]]
    """
    if tuple(masks.shape) != (images.shape[0], *images.shape[2:]):
        raise ValueError(
            f"masks {tuple(masks.shape)} for images {tuple(images.shape)}: expected one mask "
            "(height, width) an image"
        )
    if "float" not in str(images.dtype):
        raise ValueError(f"images must be float in [0, 1], not {images.dtype}")
    return 1 - (1 - images) * masks[:, None]


def render_heads(parameters: Tensor, size: int, supersampling: int = 1) -> facerender.Rendering:
    """`facerender.render` with all but the heads whitened; stands in for it in `render_to_store`.

    Args:
        parameters: (n, P) of the renderer.
        size: height and width in pixels.
        supersampling: rays per pixel and axis.

    Returns:
        Images with white backgrounds, masks and landmarks, as of `facerender.render`.

    Raises:
        ValueError: as `facerender.render`.

    Example:
        >>> import facerender
        >>> from helpers import identities
        >>> identities.render_heads(facerender.defaults(1), 16).image[0, :, 0, 0].tolist()
        [1.0, 1.0, 1.0]
    """
    rendering = facerender.render(parameters, size, supersampling)
    return replace(rendering, image=whiten(rendering.image, rendering.head_mask))
