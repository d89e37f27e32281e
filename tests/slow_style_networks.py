"""Style-based networks as loops in numpy, float64: what the package's networks are held to.

Nothing is shared with the package. Every formula is written as it stands in the papers: weights are
modulated explicitly, zeros are put between pixels, filters run over their taps.
"""

import numpy as np

State = dict[str, np.ndarray]


def state_of(network) -> State:
    return {name: value.double().numpy() for name, value in network.state_dict().items()}


def dense(state: State, name: str, x: np.ndarray, rate: float = 1.0) -> np.ndarray:
    """x (inputs,) → (outputs,)."""
    weight, bias = state[f"{name}.weight"], state[f"{name}.bias"]
    return weight * rate / np.sqrt(weight.shape[1]) @ x + rate * bias


def leaky(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x, 0.2 * x) * np.sqrt(2)


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt(np.mean(x**2) + 1e-8)


def mapped(state: State, z, num_ws: int, rate: float, c=None, psi=1.0, cutoff=None, prefix=""):
    """One code z (z_dim,) → (num_ws, w_dim)."""
    name = f"{prefix}mapping"
    x = unit(z)
    if c is not None:
        x = np.concatenate([x, unit(dense(state, f"{name}.embed", c))])
    layer = 0
    while f"{name}.fc{layer}.weight" in state:
        x = leaky(dense(state, f"{name}.fc{layer}", x, rate))
        layer += 1
    mean = state[f"{name}.w_avg"]
    limit = num_ws if cutoff is None else cutoff
    return np.stack([mean + psi * (x - mean) if i < limit else x for i in range(num_ws)])


def correlated(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """x (I, H, W), weight (O, I, h, w) → (O, H - h + 1, W - w + 1), tap by tap."""
    rows, columns = weight.shape[2:]
    height, width = x.shape[1] - rows + 1, x.shape[2] - columns + 1
    y = np.zeros((len(weight), height, width))
    for row in range(rows):
        for column in range(columns):
            seen = x[:, row : row + height, column : column + width]
            y += np.tensordot(weight[:, :, row, column], seen, 1)
    return y


def apart(x: np.ndarray, up: int) -> np.ndarray:
    """Zeros between the pixels and behind them: up times the size."""
    wide = np.zeros((len(x), up * x.shape[1], up * x.shape[2]))
    wide[:, ::up, ::up] = x
    return wide


def margin(x: np.ndarray, before: int, after: int) -> np.ndarray:
    """Zeros around; what a negative margin takes away is gone."""
    x = np.pad(x, ((0, 0), (max(before, 0), max(after, 0)), (max(before, 0), max(after, 0))))
    low, high = max(-before, 0), max(-after, 0)
    return x[:, low : x.shape[1] - high, low : x.shape[2] - high]


def convolved(x: np.ndarray, taps: np.ndarray) -> np.ndarray:
    """Every channel with the same filter (h, w), turned round as in a convolution."""
    taps = taps[::-1, ::-1]
    height, width = x.shape[1] - taps.shape[0] + 1, x.shape[2] - taps.shape[1] + 1
    y = np.zeros((len(x), height, width))
    for (row, column), tap in np.ndenumerate(taps):
        y += tap * x[:, row : row + height, column : column + width]
    return y


SMOOTH = np.outer([1, 3, 3, 1], [1, 3, 3, 1]) / 16


def modulated(weight: np.ndarray, style: np.ndarray, demodulate: bool) -> np.ndarray:
    weight = weight * style[None, :, None, None]
    if demodulate:
        weight = weight / np.sqrt((weight**2).sum((1, 2, 3), keepdims=True) + 1e-8)
    return weight


def clamped(x: np.ndarray, clamp: float | None) -> np.ndarray:
    return x if clamp is None else np.clip(x, -clamp, clamp)


def layer(state: State, name: str, x, style, clamp, up=False, noise="const", drawn=None):
    """A convolution of StyleGAN2 on one image."""
    weight = modulated(state[f"{name}.weight"], style, demodulate=True)
    if up:
        # A transposed convolution turns the kernel round.
        x = margin(apart(x, 2)[:, :-1, :-1], 2, 2)
        x = convolved(margin(correlated(x, weight[:, :, ::-1, ::-1]), 1, 1), SMOOTH)
    else:
        x = correlated(margin(x, 1, 1), weight)
    if noise != "none":
        values = state[f"{name}.noise_const"] if drawn is None else drawn
        x = x + values * state[f"{name}.noise_strength"]
    return clamped(leaky(x + state[f"{name}.bias"][:, None, None]), clamp)


def colours(state: State, name: str, x, style, clamp):
    weight = modulated(state[f"{name}.weight"], style / np.sqrt(len(x)), demodulate=False)
    return clamped(correlated(x, weight) + state[f"{name}.bias"][:, None, None], clamp)


def enlarged(image: np.ndarray) -> np.ndarray:
    return convolved(margin(apart(image, 2)[:, :-1, :-1], 2, 2), SMOOTH)


def styles2(state: State, ws: np.ndarray, resolution: int, prefix="synthesis.") -> State:
    """Styles of a StyleGAN2 network, from one code a layer (num_ws, w_dim)."""
    found, place, size = {}, 0, 4
    while size <= resolution:
        for name in ("conv0", "conv1", "torgb") if size > 4 else ("conv1", "torgb"):
            found[f"b{size}.{name}"] = dense(state, f"{prefix}b{size}.{name}.affine", ws[place])
            place += name != "torgb"
        size *= 2
    return found


def stylegan2(state, styles, resolution, clamp, noise="const", drawn=None, prefix="synthesis."):
    """One raw image (3, resolution, resolution); `drawn` has random noise by layer."""
    drawn = drawn or {}
    x, image, size = state[f"{prefix}b4.const"], None, 4
    while size <= resolution:
        for name in ("conv0", "conv1") if size > 4 else ("conv1",):
            place = f"b{size}.{name}"
            up, own = name == "conv0", drawn.get(place)
            x = layer(state, prefix + place, x, styles[place], clamp, up, noise, own)
        rgb = colours(state, f"{prefix}b{size}.torgb", x, styles[f"b{size}.torgb"], clamp)
        image = rgb if image is None else enlarged(image) + rgb
        size *= 2
    return image
