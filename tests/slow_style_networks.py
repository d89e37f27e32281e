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


def mapped(state: State, z, num_ws: int, rate: float, c=None, psi=1.0, prefix=""):
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
    return np.stack([mean + psi * (x - mean)] * num_ws)


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
    """Zeros around."""
    return np.pad(x, ((0, 0), (before, after), (before, after)))


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


def layer(state: State, name: str, x, style, clamp, up=False, noise="const"):
    """A convolution of StyleGAN2 on one image."""
    weight = modulated(state[f"{name}.weight"], style, demodulate=True)
    if up:
        # A transposed convolution turns the kernel round.
        x = margin(apart(x, 2)[:, :-1, :-1], 2, 2)
        x = convolved(margin(correlated(x, weight[:, :, ::-1, ::-1]), 1, 1), SMOOTH)
    else:
        x = correlated(margin(x, 1, 1), weight)
    if noise != "none":
        x = x + state[f"{name}.noise_const"] * state[f"{name}.noise_strength"]
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


def stylegan2(state, styles, resolution, clamp, prefix="synthesis."):
    """One raw image (3, resolution, resolution)."""
    x, image, size = state[f"{prefix}b4.const"], None, 4
    while size <= resolution:
        for name in ("conv0", "conv1") if size > 4 else ("conv1",):
            place = f"b{size}.{name}"
            x = layer(state, prefix + place, x, styles[place], clamp, name == "conv0")
        rgb = colours(state, f"{prefix}b{size}.torgb", x, styles[f"b{size}.torgb"], clamp)
        image = rgb if image is None else enlarged(image) + rgb
        size *= 2
    return image


def softplus(x):
    return np.logaddexp(0, x)


def looked_up(planes: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Planes (3, F, H, H) at one point in [-1, 1]³: the mean of three bilinear looks."""
    found = []
    for plane, (across, down) in zip(planes, ((0, 1), (0, 2), (2, 0)), strict=True):
        height = plane.shape[-1]
        x, y = (((point[axis] + 1) * height - 1) / 2 for axis in (across, down))
        value = np.zeros(len(plane))
        for row in (int(np.floor(y)), int(np.floor(y)) + 1):
            for column in (int(np.floor(x)), int(np.floor(x)) + 1):
                if 0 <= row < height and 0 <= column < height:
                    share = (1 - abs(x - column)) * (1 - abs(y - row))
                    value += share * plane[:, row, column]
        found.append(value)
    return np.mean(found, 0)


def seen_weights(depths, density):
    left, weights = 1.0, []
    for i in range(len(depths) - 1):
        between = softplus((density[i] + density[i + 1]) / 2 - 1)
        alpha = 1 - np.exp(-between * (depths[i + 1] - depths[i]))
        weights.append(alpha * left)
        left *= 1 - alpha + 1e-10
    return np.array(weights)


def more_depths(depths, weights, count):
    padded = np.concatenate([[-np.inf], weights, [-np.inf]])
    largest = [max(padded[i], padded[i + 1]) for i in range(len(weights) + 1)]
    smooth = [(largest[i] + largest[i + 1]) / 2 + 0.01 for i in range(len(weights))]
    share = np.array(smooth[1:-1]) + 1e-5
    reached = np.concatenate([[0], np.cumsum(share / share.sum())])
    middles = (depths[:-1] + depths[1:]) / 2
    found = []
    for i in range(count):
        u = (i + 0.5) / count
        place = int(np.sum(reached <= u))
        low, high = max(place - 1, 0), min(place, len(share))
        width = reached[high] - reached[low]
        width = 1 if width < 1e-5 else width
        part = (u - reached[low]) / width
        found.append(middles[low] + part * (middles[high] - middles[low]))
    return np.array(found)


def ray(state, planes, origin, direction, options):
    """Features (F,) of one ray."""

    def look(depth):
        x = looked_up(planes, (origin + depth * direction) * 2 / options["box_warp"])
        rate = options.get("decoder_lr_mul", 1)
        x = dense(state, "decoder.net.2", softplus(dense(state, "decoder.net.0", x, rate)), rate)
        return x[0], 1.002 / (1 + np.exp(-x[1:])) - 0.001

    start, end, n = (options[k] for k in ("ray_start", "ray_end", "depth_resolution"))
    depths = np.array([start + (i + 0.5) * (end - start) / (n - 1) for i in range(n)])
    found = [look(depth) for depth in depths]
    weights = seen_weights(depths, [density for density, _ in found])
    more = more_depths(depths, weights, options["depth_resolution_importance"])
    every = sorted(
        [*zip(depths, found, strict=True), *((d, look(d)) for d in more)], key=lambda p: p[0]
    )
    depths = np.array([depth for depth, _ in every])
    weights = seen_weights(depths, [density for _, (density, _) in every])
    colours = np.array([colour for _, (_, colour) in every])
    features = weights @ ((colours[:-1] + colours[1:]) / 2)
    features = features + (1 - weights.sum()) * options.get("white_back", False)
    return 2 * features - 1


def rays(state, planes, camera, size, options):
    """Features (F, size, size)."""
    world, pinhole = camera[:16].reshape(4, 4), camera[16:].reshape(3, 3)
    features = np.zeros((planes.shape[1], size, size))
    inverse = np.linalg.inv(pinhole)
    for row in range(size):
        for column in range(size):
            ahead = inverse @ [(column + 0.5) / size, (row + 0.5) / size, 1]
            direction = world[:3, :3] @ ahead
            direction /= np.linalg.norm(direction)
            features[:, row, column] = ray(state, planes, world[:3, 3], direction, options)
    return features


def doubled(x: np.ndarray) -> np.ndarray:
    """Bilinear, twice the height; borders are continued."""
    size = x.shape[1]
    y = np.zeros((len(x), 2 * size, 2 * size))
    for row in range(2 * size):
        for column in range(2 * size):
            for a, share in _near(row, size):
                for b, other in _near(column, size):
                    y[:, row, column] += share * other * x[:, a, b]
    return y


def _near(place: int, size: int) -> list[tuple[int, float]]:
    at = min(max((place + 0.5) / 2 - 0.5, 0), size - 1)
    low = int(at)
    return [(low, 1 - at + low), (min(low + 1, size - 1), at - low)]


def eg3d(state, ws, camera, size, enlarged_size, blocks, options, resolution, clamp):
    """Image of one code (num_ws, w_dim); `blocks` has heights of two."""
    prefix = "backbone.synthesis."
    styles = styles2(state, ws, resolution, prefix)
    planes = stylegan2(state, styles, resolution, clamp, prefix=prefix)
    planes = planes.reshape(3, -1, resolution, resolution)
    x = rays(state, planes, camera, size, options)
    image = x[:3]
    if size != enlarged_size:
        x, image = doubled(x), doubled(image)
    for i, height in enumerate(blocks):
        name, up = f"superresolution.block{i}", height > enlarged_size
        own = {k: dense(state, f"{name}.{k}.affine", ws[-1]) for k in ("conv0", "conv1", "torgb")}
        x = layer(state, f"{name}.conv0", x, own["conv0"], clamp, up, "none")
        x = layer(state, f"{name}.conv1", x, own["conv1"], clamp, noise="none")
        image = (enlarged(image) if up else image) + colours(
            state, f"{name}.torgb", x, own["torgb"], clamp
        )
    return image
