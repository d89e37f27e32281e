"""Nothing but the head is left."""

import pytest
import torch

import facerender
from helpers import identities


def test_whitening_leaves_the_head_and_nothing_else(generator, prototypes):
    parameters = identities.neutral(generator.parameters(torch.from_numpy(prototypes[0][:4])))
    plain = facerender.render(parameters, 64)
    heads = identities.render_heads(parameters, 64).image
    mask = plain.head_mask[:, None].expand_as(plain.image)
    assert (heads[mask == 0] == 1).all() and (mask == 0).float().mean() > 0.2
    inside = mask == 1
    torch.testing.assert_close(heads[inside], plain.image[inside])
    assert (heads[:, :, :8, :8] == 1).all()  # a corner that no hair reaches
    with pytest.raises(ValueError, match="one mask"):
        identities.whiten(plain.image, plain.head_mask[:2])
    with pytest.raises(ValueError, match="float in"):
        identities.whiten((plain.image * 255).byte(), plain.head_mask)
