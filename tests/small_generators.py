"""A small StyleGAN2 network with drawn weights."""

from faceaudit.generators import stylegan2
from faceaudit.generators.stylegan2 import StyleGAN2, StyleGAN2Config


def style_network(seed: int = 1, **options) -> StyleGAN2:
    """A network whose codes have 16 numbers, and whose images have 32 × 32 pixels."""
    given = {"z_dim": 16, "c_dim": 0, "w_dim": 16, "resolution": 32}
    given |= {"channel_base": 256, "channel_max": 24}
    return stylegan2.draw_network_weights(StyleGAN2(StyleGAN2Config(**given | options)), seed)
