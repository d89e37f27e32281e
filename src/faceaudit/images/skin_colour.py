"""Colour of skin as it is measured on pictures: CIELAB, typology angle, and the Monk scale.

A measured colour is that of light which left the skin: exposure and lamps change it as pigment
does. So an audit that moves it holds the background's lightness, and has a control for exposure.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

MONK_TONES = (
    "#f6ede4",
    "#f3e7db",
    "#f7ead0",
    "#eadaba",
    "#d7bd96",
    "#a07e56",
    "#825c43",
    "#604134",
    "#3a312a",
    "#292420",
)
"""The ten tones of the Monk Skin Tone scale, the lightest first (Monk 2019)."""
_TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
"""From linear sRGB (IEC 61966-2-1)."""
_WHITE = np.array([0.95047, 1.0, 1.08883])
"""D65, the white of sRGB."""
_LINEAR_UP_TO = (6 / 29) ** 3
_SLOPE_BELOW = (29 / 3) ** 3 / 116
"""Of the cube root's replacement near black (CIE 15)."""


def linear_light(srgb: ArrayLike) -> np.ndarray:
    """Amounts of light, from 0 to 1, of sRGB values from 0 to 1, in any shape."""
    srgb = np.asarray(srgb, np.float64)
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def srgb_of_light(light: ArrayLike) -> np.ndarray:
    """The inverse of `linear_light`."""
    light = np.asarray(light, np.float64)
    curved = 1.055 * np.maximum(light, 0) ** (1 / 2.4) - 0.055
    return np.where(light <= 0.0031308, 12.92 * light, curved)


def lab_of_srgb(srgb: ArrayLike) -> np.ndarray:
    """CIELAB of colours.

    Args:
        srgb: (…, 3), from 0 to 1.

    Returns:
        (…, 3) float64: L* from 0 to 100, a* (green to red) and b* (blue to yellow).

    Example:
        >>> lab_of_srgb([0.0, 0.0, 1.0]).round(1).tolist()
        [32.3, 79.2, -107.9]
    """
    relative = linear_light(srgb) @ _TO_XYZ.T / _WHITE
    curved = np.where(
        relative > _LINEAR_UP_TO, np.cbrt(relative), _SLOPE_BELOW * relative + 16 / 116
    )
    x, y, z = np.moveaxis(curved, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def typology_angle(lab: ArrayLike) -> np.ndarray:
    """Individual typology angle in degrees, arctan((L* − 50) / b*): lighter skin has a larger one.

    It turns quickly where L* is near 50 and b* is small, so that faces are not steered by it
    (Chardon et al. 1991; Del Bino and Bernerd 2013).

    Args:
        lab: (…, 3) of `lab_of_srgb`.

    Returns:
        (…) from −90 to 90, where b* is positive, as it is on skin.

    Example:
        >>> typology_angle([[70.0, 10.0, 20.0], [30.0, 10.0, 20.0]]).tolist()
        [45.0, -45.0]
    """
    lab = np.asarray(lab, np.float64)
    return np.degrees(np.arctan2(lab[..., 0] - 50, lab[..., 2]))


def monk_tones() -> pd.DataFrame:
    """CIELAB of the ten tones: rows 1 (the lightest) to 10, columns L, a and b."""
    numbers = [[int(tone[i : i + 2], 16) for i in (1, 3, 5)] for tone in MONK_TONES]
    lab = lab_of_srgb(np.array(numbers) / 255)
    return pd.DataFrame(lab, pd.RangeIndex(1, 11, name="tone"), ["L", "a", "b"])


def nearest_monk_tone(lab: ArrayLike) -> np.ndarray:
    """Number of the tone, 1 to 10, that is nearest to each colour in CIELAB (…, 3)."""
    distance = np.asarray(lab, np.float64)[..., None, :] - monk_tones().to_numpy()
    return 1 + (distance**2).sum(axis=-1).argmin(axis=-1)
