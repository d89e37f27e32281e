"""Training of the learned generator: rate, penalty, and going on after an interruption."""

import numpy as np
import pytest
import torch

from helpers.generators import wgan_training
from helpers.generators.wgan_networks import Generator, face
from helpers.generators.wgan_training import BATCH, AdversarialTraining, EncoderTraining

SHOWN = 7 * BATCH


@pytest.fixture(scope="module")
def renders():
    return np.random.default_rng(1).integers(0, 256, (40, 3, 64, 64), dtype=np.uint8)


def test_the_rate_falls_in_the_second_half(renders):
    training = AdversarialTraining(renders, 1, shown=SHOWN)
    rates = []
    while training.step < training.steps:
        training.advance()
        rates.append(training.generator_optimizer.param_groups[0]["lr"])
    assert rates[:4] == [wgan_training.RATE] * 4
    assert rates[3:] == sorted(rates[3:], reverse=True)
    assert rates[-1] < rates[0] / 3


def test_the_penalty_is_the_squared_excess_of_both_slopes(renders):
    training = AdversarialTraining(renders, 1)
    images = torch.rand(3, 3, 64, 64)
    weights = [torch.rand(look[0].numel()) / 50 for look in (images, face(images))]
    training.critics = [lambda look, w=w: look.flatten(1) @ w for w in weights]
    expected = sum((w.norm().item() - 1) ** 2 for w in weights)
    assert training._excess_slope(images).item() == pytest.approx(expected, rel=1e-4)


def test_an_interrupted_training_gives_the_same_networks(renders, tmp_path, monkeypatch):
    monkeypatch.setattr(wgan_training, "CHECKPOINT_SECONDS", -1.0)
    whole = AdversarialTraining(renders, 5, SHOWN)
    wgan_training.run(whole, tmp_path / "new", lambda _: None)
    assert whole.step == whole.steps == 7

    folder = tmp_path / "broken"
    folder.mkdir()
    broken = AdversarialTraining(renders, 5, SHOWN)

    def stop(line):
        if "step 4 of 7" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wgan_training.run(broken, folder, stop)
    resumed = AdversarialTraining(renders, 5, SHOWN)
    lines = []
    wgan_training.run(resumed, folder, lines.append)
    assert lines[0].startswith("generator: step 5 of 7")
    for kept, again in zip(whole.average.parameters(), resumed.average.parameters(), strict=True):
        assert torch.equal(kept, again)


def test_a_damaged_checkpoint_is_named_and_the_training_begun_anew(renders, tmp_path):
    (tmp_path / "generator.checkpoint").write_bytes(b"nothing")
    training = AdversarialTraining(renders, 5, 3 * BATCH)
    with pytest.warns(UserWarning, match="generator.checkpoint is damaged"):
        wgan_training.run(training, tmp_path)
    assert training.step == 3


def test_losses_that_are_no_numbers_stop_the_training(renders):
    training = AdversarialTraining(renders, 5, SHOWN)
    with torch.no_grad():
        training.critics[0].answer[2].bias.fill_(float("nan"))
    with pytest.raises(FloatingPointError, match="step 0"):
        training.advance()


def test_the_encoder_learns(renders):
    torch.manual_seed(1)
    training = EncoderTraining(Generator(), renders, seed=3, shown=64 * 30)
    first = training.advance()
    while training.step < training.steps:
        last = training.advance()
    assert all(last[name] < first[name] for name in first)
