"""The learned generator: a small Wasserstein GAN trained on renders, with an encoder.

It is trained on images alone. Like a GAN of photographs it leaves artefacts, its codes
have no known attributes, and an image's code can only be estimated, by a network trained to do
so (sensitivity, section 4.1). `benchmarks/learned_generator.py`
trains it and says from what.

The arithmetic is that of a DCGAN (Radford et al. 2016): one strided convolution per doubling of the
size. Weights are scaled at run time, so that all layers learn at one rate, the generator normalises
every pixel's channels, and the critic sees how much a batch varies (Karras et al. 2018). The code
enters the generator at every size, as the scale and the shift of each channel (Karras et al. 2019),
which spares it to carry a colour through the layers. A mouth is a few pixels of 64, and most of a
picture is hair, clothes and wall. So critics and encoder look twice: at the whole picture, the
encoder at half its size, and at the face in it.
"""

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

import safetensors.torch
import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from faceaudit.generators.weights import fill_network, read_weights
from faceaudit.utils import seeding
from faceaudit.utils.arguments import check_whole, resolve_device
from faceworld.networks import training

TRAINED_WEIGHTS = Path(__file__).with_name("wgan.safetensors")
"""Trained weights that come with the package; `wgan.json` beside them says how they were made."""
GENERATOR_BATCH = 16  # of more, the C library gives memory back after each layer
WGAN_LATENT_DIM = 128
NATIVE_SIZE = 64
GROWN = {4: 128, 8: 112, 16: 64, 32: 48, 64: 16}
"""The generator's channels at every size."""
ENCODED = (3, 32, 64, 96)
"""Channels of both looks of the encoder."""
CELLS = (4 * 4, 4 * 5)
"""Cells of the encoder's last maps, of the whole picture and of the face."""
FACE = (slice(24, 56), slice(12, 52))
"""Rows and columns where the face is, as faces are aligned."""
SLOPE = 0.2
"""Of the leaky rectifiers."""
GAIN = math.sqrt(2)
"""He's gain of a layer."""


class WGANGenerator:
    """Turn codes z (n, 128), standard normal, into images and, approximately, back.

    Args:
        device: "cpu" or "cuda".
        size: of the images. The networks know 64 pixels; other sizes are interpolated.
        weights: `.safetensors` with its `.json`, as `save` writes them.

    Raises:
        ValueError: weights that are missing, damaged, of another shape or type, or not finite; a
            size that is no integer or too small.

    Example:
        >>> import faceworld
        >>> learned = faceworld.WGANGenerator()
        >>> images = learned.synthesize(learned.sample(2, seed=1))
        >>> tuple(images.shape), tuple(learned.encode(images).shape)
        ((2, 3, 64, 64), (2, 128))
    """

    latent_dim = WGAN_LATENT_DIM

    def __init__(
        self, device: str = "cpu", size: int = NATIVE_SIZE, weights: Path = TRAINED_WEIGHTS
    ) -> None:
        check_whole("size", size, 16)
        self.device = resolve_device(device)
        self.size = size
        with torch.random.fork_rng(devices=[]):  # the random start is replaced at once
            networks = nn.ModuleList([GeneratorNetwork(), EncoderNetwork()])
        stored, self.card = read_weights(weights, "generator")
        fill_network(networks, safetensors.torch.load(stored), weights, "generator")
        self._generator, self._encoder = networks.to(self.device).eval().requires_grad_(False)

    def sample(self, n: int, seed: int) -> Tensor:
        """Codes z, float32 (n, 128); code i depends on the seed and i alone."""
        return codes(n, seed).to(self.device)

    def synthesize(self, w: Tensor, **scene: float) -> Tensor:
        """Images, float32 (n, 3, size, size) in [0, 1].

        Raises:
            ValueError: a scene parameter, as a learned generator has none.
        """
        if scene:
            raise ValueError(f"the learned generator has no scene parameters: {sorted(scene)}")
        w = torch.as_tensor(w, dtype=torch.float32, device=self.device)
        parts = [
            self._generator(training.fill_batch(z, GENERATOR_BATCH))
            for z in w.split(GENERATOR_BATCH)
        ]
        images = (torch.cat(parts)[: len(w)].clamp(-1, 1) + 1) / 2
        return _resized(images, self.size).clamp(0, 1)

    def encode(self, images: Tensor) -> Tensor:
        """Codes z, float32 (n, 128), whose images look about like these (sensitivity, eq 2).

        Args:
            images: float (n, 3, height, width) in [0, 1].
        """
        native = _resized(torch.as_tensor(images).to(self.device).float(), NATIVE_SIZE) * 2 - 1
        parts = [
            self._encoder(training.fill_batch(part, GENERATOR_BATCH))
            for part in native.split(GENERATOR_BATCH)
        ]
        return torch.cat(parts)[: len(native)]


def codes(n: int, seed: int) -> Tensor:
    """Standard normal codes, float32 (n, 128)."""
    return torch.from_numpy(seeding.normals(seed, "wgan: z", range(n), WGAN_LATENT_DIM)).float()


class Scaled(nn.Module):
    """A layer whose standard normal weights are multiplied by He's constant when they are used."""

    def __init__(self, operation: Callable, shape: tuple, fan_in: int, outputs: int, gain=GAIN):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(shape))
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.operation = operation
        self.scale = gain / math.sqrt(fan_in)

    def forward(self, x: Tensor) -> Tensor:
        return self.operation(x, self.weight * self.scale, self.bias)


def linear(inputs: int, outputs: int, gain: float = GAIN) -> Scaled:
    """(n, inputs) → (n, outputs)."""
    return Scaled(functional.linear, (outputs, inputs), inputs, outputs, gain)


def double(inputs: int, outputs: int) -> Scaled:
    """A 4×4 transposed convolution that doubles height and width."""
    # Every output pixel is reached by 2×2 of the 4×4 taps.
    operation = partial(functional.conv_transpose2d, stride=2, padding=1)
    return Scaled(operation, (inputs, outputs, 4, 4), inputs * 4, outputs)


class Grow(nn.Module):
    """Doubles the size; the code then scales and shifts each channel."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.enlarge = double(inputs, outputs)
        self.style = linear(WGAN_LATENT_DIM, 2 * outputs, gain=0.5)

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        scale, shift = self.style(z)[:, :, None, None].chunk(2, dim=1)
        return torch.addcmul(shift, _rectified(self.enlarge(x)), 1 + scale)


class GeneratorNetwork(nn.Module):
    """Codes z (n, 128) → images (n, 3, 64, 64) in about [-1, 1]."""

    def __init__(self) -> None:
        super().__init__()
        self.first = linear(WGAN_LATENT_DIM, GROWN[4] * 16)
        self.grow = nn.ModuleList(Grow(*pair) for pair in pairwise(GROWN.values()))
        last = GROWN[NATIVE_SIZE]
        to_colours = partial(functional.conv2d, padding=1)
        self.colour = Scaled(to_colours, (3, last, 3, 3), last * 9, 3, gain=1.0)
        self.to(memory_format=torch.channels_last)

    def forward(self, z: Tensor) -> Tensor:
        x = _rectified(self.first(z).reshape(len(z), GROWN[4], 4, 4))
        for grow in self.grow:
            x = grow(x, z)
        return self.colour(x)


class EncoderNetwork(nn.Module):
    """Images (n, 3, 64, 64) in [-1, 1] → codes z (n, 128)."""

    def __init__(self) -> None:
        super().__init__()
        self.whole, self.close = (nn.Sequential(*self._layers()) for _ in range(2))
        self.code = nn.Sequential(
            nn.Linear(ENCODED[-1] * sum(CELLS), 3 * WGAN_LATENT_DIM, bias=False),
            nn.BatchNorm1d(3 * WGAN_LATENT_DIM),
            nn.LeakyReLU(SLOPE),
            nn.Linear(3 * WGAN_LATENT_DIM, WGAN_LATENT_DIM),
        )
        self.to(memory_format=torch.channels_last)

    def _layers(self) -> list[nn.Module]:
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(ENCODED):
            convolution = nn.Conv2d(inputs, outputs, 4, 2, 1, bias=False)
            layers += [convolution, nn.BatchNorm2d(outputs), nn.LeakyReLU(SLOPE)]
        return [*layers, nn.Flatten()]

    def forward(self, image: Tensor) -> Tensor:
        small = functional.avg_pool2d(image, 2)
        return self.code(torch.cat([self.whole(small), self.close(face(image))], 1))


def face(images: Tensor) -> Tensor:
    """The face in images (n, 3, 64, 64): (n, 3, 32, 40)."""
    return images[(..., *FACE)]


def _rectified(x: Tensor) -> Tensor:
    """After a leaky rectifier, every pixel's channels at mean zero and unit mean square."""
    # Channels lie last in memory, where this is one pass; the root mean square alone takes five.
    x = functional.leaky_relu(x, SLOPE).movedim(1, -1)
    return functional.layer_norm(x, x.shape[-1:]).movedim(-1, 1)


def _resized(images: Tensor, size: int) -> Tensor:
    if images.shape[-2:] == (size, size):
        return images
    return functional.interpolate(images, (size, size), mode="bilinear", antialias=True)
