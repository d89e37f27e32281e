"""Training of the learned generator: a Wasserstein GAN with gradient penalty, and its encoder.

The critic learns to tell renders from samples as well as a function of slope one can, the generator
to close the gap (sensitivity, section 4.1, eq 1). There are two critics, of the whole picture and
of the face, each with a slope of its own: what is wrong with a mouth counts for as much as what is
wrong with a wall. Then the encoder learns to find the code of a sample (eq 2), and for a render one
that brings it back. Every step's draws depend on (seed, step) alone and checkpoints are kept, so an
interrupted training goes on where it stopped, with the same result.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from helpers.artifacts import weights
from helpers.generators import wgan
from helpers.generators.wgan import LATENT_DIM, face
from helpers.utils import seeding

SHOWN = 448_000
"""How many renders the critics are shown."""
BATCH = 16
"""Few: at this budget many steps teach more than exact ones."""
RATE = 1.5e-3
"""Of all networks; in the second half it falls to nearly nothing."""
PENALTY = 10.0
PENALTY_EVERY = 4
"""The penalty is computed in every fourth step, four times as strongly (Karras et al. 2020)."""
DRIFT = 1e-3
"""Weight of the critic's squared answers, which keeps them near zero."""
AVERAGE = 20_000
"""The generator that is kept is an average over about as many samples."""

ENCODER_SHOWN = 128_000
ENCODER_BATCH = 64
ENCODER_RATE = 1.5e-3
LIKENESS = 5.0
"""Weight of the squared error of renders that come back; the face counts twice."""

CHECKPOINT_SECONDS = 60.0


class AdversarialTraining:
    """The generator (with its running average, which is what is kept) against the critics.

    Args:
        images: renders, uint8 (n, 3, 64, 64).
        seed: of the first weights and of every step's draws.
        device: "cpu" or "cuda".
    """

    name = "generator"
    parts = ("generator", "critics", "average", "generator_optimizer", "critic_optimizer")

    def __init__(self, images: np.ndarray, seed: int, device: torch.device | str = "cpu") -> None:
        self.images, self.seed, self.device = images, seed, device
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.generator = wgan.Generator().to(device)
            looks = zip((wgan.WHOLE, wgan.CLOSE), wgan.CELLS, strict=True)
            self.critics = nn.ModuleList(wgan.Critic(*look) for look in looks).to(device)
        self.average = copy.deepcopy(self.generator).requires_grad_(False)
        self.generator_optimizer = _adam(self.generator)
        self.critic_optimizer = _adam(self.critics)
        self.steps, self.step = SHOWN // BATCH, 0

    def advance(self) -> dict[str, float]:
        """One step of the critics, one of the generator.

        Raises:
            FloatingPointError: the losses are no longer numbers.
        """
        rate = RATE * min(1.0, 2.0 * (1 - self.step / self.steps) + 0.02)
        for optimizer in (self.generator_optimizer, self.critic_optimizer):
            optimizer.param_groups[0]["lr"] = rate
        draw = seeding.rng(self.seed, "wgan: training", self.step)
        real = _drawn(self.images, BATCH, draw, self.device)
        z = torch.from_numpy(draw.standard_normal((BATCH, LATENT_DIM), dtype=np.float32))
        fake = self.generator(z.to(self.device))
        gap = self._teach_critics(real, fake.detach(), draw)
        self.critics.requires_grad_(False)
        _descend(self.generator_optimizer, -self._judged(fake).mean())
        self.critics.requires_grad_(True)
        if not np.isfinite(gap):
            raise FloatingPointError(f"step {self.step}: the critics' gap is {gap}")
        self._update_average()
        self.step += 1
        return {"gap": gap}

    def _judged(self, images: Tensor) -> Tensor:
        """What the critics say in sum, (n,)."""
        of_picture, of_face = self.critics
        return of_picture(images) + of_face(face(images))

    def _teach_critics(self, real: Tensor, fake: Tensor, draw: np.random.Generator) -> float:
        on_real, on_fake = self._judged(real), self._judged(fake)
        gap = on_real.mean() - on_fake.mean()
        loss = DRIFT * on_real.square().mean() - gap
        if self.step % PENALTY_EVERY == 0:
            part = torch.from_numpy(draw.random((BATCH, 1, 1, 1), dtype=np.float32))
            between = torch.lerp(real, fake, part.to(self.device))
            loss = loss + PENALTY_EVERY * PENALTY * self._excess_slope(between)
        _descend(self.critic_optimizer, loss)
        return gap.item()

    def _excess_slope(self, images: Tensor) -> Tensor:
        """Mean squared difference of each critic's slope from one, in sum."""
        seen = [look.requires_grad_() for look in (images, face(images).clone())]
        answers = [critic(look).sum() for critic, look in zip(self.critics, seen, strict=True)]
        slopes = torch.autograd.grad(answers, seen, create_graph=True)
        return sum((slope.flatten(1).norm(dim=1) - 1).square().mean() for slope in slopes)

    @torch.no_grad()
    def _update_average(self) -> None:
        # Early on the average must not remember the random start.
        kept = min(1 - BATCH / AVERAGE, self.step / (self.step + 20))
        pairs = zip(self.average.parameters(), self.generator.parameters(), strict=True)
        for average, new in pairs:
            average.lerp_(new, 1 - kept)


class EncoderTraining:
    """Regression of the code on the image that a finished generator makes of it.

    Renders teach it, too: what the generator makes of their codes shall be like them. An encoder
    that has seen samples alone finds in a render what samples have, and smiles are what they have
    least of.

    Args:
        generator: a finished one.
        images: renders, uint8 (n, 3, 64, 64).
        seed: of the first weights and of every step's draws.
        device: "cpu" or "cuda".
    """

    name = "encoder"
    parts = ("encoder", "optimizer")

    def __init__(
        self,
        generator: nn.Module,
        images: np.ndarray,
        seed: int,
        device: torch.device | str = "cpu",
    ) -> None:
        self.generator, self.images = generator.eval(), images
        self.seed, self.device = seed, device
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.encoder = wgan.Encoder().to(device)
        self.optimizer = _adam(self.encoder, betas=(0.9, 0.999))
        self.steps, self.step = ENCODER_SHOWN // ENCODER_BATCH, 0

    def advance(self) -> dict[str, float]:
        """One step down the squared errors of the codes and of the renders that come back."""
        self.optimizer.param_groups[0]["lr"] = ENCODER_RATE * (1.01 - self.step / self.steps)
        draw = seeding.rng(self.seed, "wgan: encoder", self.step)
        codes = draw.standard_normal((ENCODER_BATCH, LATENT_DIM), dtype=np.float32)
        z = torch.from_numpy(codes).to(self.device)
        renders = _drawn(self.images, ENCODER_BATCH, draw, self.device)
        with torch.no_grad():
            samples = self.generator(z).clamp(-1, 1)
        found, read = self.encoder.train()(torch.cat([samples, renders])).chunk(2)
        again = self.generator(read)
        unlike = functional.mse_loss(again, renders)
        unlike = unlike + functional.mse_loss(face(again), face(renders))
        missed = functional.mse_loss(found, z)
        _descend(self.optimizer, missed + LIKENESS * unlike)
        self.step += 1
        return {"squared error": missed.item(), "of renders": unlike.item()}


Training = AdversarialTraining | EncoderTraining


def run(training: Training, folder: Path, report: Callable[[str], None] = print) -> None:
    """Take all steps that are left; a checkpoint a minute, and a line of progress with it.

    Args:
        training: it is changed in place.
        folder: where `<name>.checkpoint` lies; made if need be.
        report: what is done with a line.
    """
    path = folder / f"{training.name}.checkpoint"
    if saved := weights.read_checkpoint(path):
        for name in training.parts:
            getattr(training, name).load_state_dict(saved["states"][name])
        training.step = saved["step"]
    then, first = time.monotonic(), training.step
    while training.step < training.steps:
        told = training.advance()
        if (now := time.monotonic()) - then > CHECKPOINT_SECONDS:
            # Larger sizes are slower, so only the last minute tells what is to come.
            left = (now - then) / (training.step - first) * (training.steps - training.step)
            then, first = now, training.step
            _save(training, path)
            numbers = ", ".join(f"{name} {value:.3g}" for name, value in told.items())
            report(
                f"{training.name}: step {training.step} of {training.steps}, {numbers}, "
                f"about {left / 60:.0f} minutes left at this pace"
            )
    _save(training, path)


def _save(training: Training, path: Path) -> None:
    states = {name: getattr(training, name).state_dict() for name in training.parts}
    weights.write_checkpoint(path, {"step": training.step, "states": states})


def _drawn(
    images: np.ndarray, count: int, draw: np.random.Generator, device: torch.device | str
) -> Tensor:
    """A batch of renders in [-1, 1], half of them mirrored."""
    rows = draw.integers(len(images), size=count)
    x = torch.from_numpy(images[rows]).to(device).float() / 127.5 - 1
    mirrored = torch.from_numpy(draw.random(count) < 0.5).to(device)
    x = torch.where(mirrored[:, None, None, None], x.flip(3), x)
    return x.contiguous(memory_format=torch.channels_last)


def _adam(network: nn.Module, betas: tuple[float, float] = (0.0, 0.99)) -> torch.optim.Adam:
    # Fused: its square roots are rounded alike on all processors, those of the default are not.
    return torch.optim.Adam(network.parameters(), betas=betas, fused=True)


def _descend(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
