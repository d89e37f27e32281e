"""Training of the learned generator: phases, penalty, and going on after an interruption."""

import numpy as np
import pytest
import torch

from helpers.generators import wgan_training
from helpers.generators.wgan_networks import Generator
from helpers.generators.wgan_training import BATCH, AdversarialTraining, EncoderTraining

PHASES = ((16, 3 * BATCH, 0), (32, 4 * BATCH, 2 * BATCH))


@pytest.fixture(scope="module")
def renders():
    return np.random.default_rng(1).integers(0, 256, (40, 3, 64, 64), dtype=np.uint8)


def test_moments_follow_the_phases():
    sizes = [wgan_training.moment(step, PHASES).size for step in range(7)]
    assert sizes == [16] * 3 + [32] * 4
    assert wgan_training.moment(0, PHASES).fade == 1
    assert wgan_training.moment(3, PHASES).fade == 0
    rates = [wgan_training.moment(step, PHASES).rate for step in range(3, 7)]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < rates[0]
    with pytest.raises(ValueError, match="after the last phase"):
        wgan_training.moment(7, PHASES)


def test_the_penalty_is_the_squared_excess_of_the_slope(renders):
    training = AdversarialTraining(renders, 1, PHASES)
    weights = torch.rand(3 * 16 * 16)
    training.critic = lambda images, fade: images.flatten(1) @ weights
    found = training._excess_slope(torch.rand(3, 3, 16, 16), 1.0)
    assert found.item() == pytest.approx((weights.norm().item() - 1) ** 2, rel=1e-4)


def test_an_interrupted_training_gives_the_same_networks(renders, tmp_path, monkeypatch):
    monkeypatch.setattr(wgan_training, "CHECKPOINT_SECONDS", -1.0)
    whole = AdversarialTraining(renders, 5, PHASES)
    wgan_training.run(whole, tmp_path / "new", lambda _: None)
    assert whole.step == whole.steps == 7

    folder = tmp_path / "broken"
    folder.mkdir()
    broken = AdversarialTraining(renders, 5, PHASES)

    def stop(line):
        if "step 4 of 7" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wgan_training.run(broken, folder, stop)
    resumed = AdversarialTraining(renders, 5, PHASES)
    lines = []
    wgan_training.run(resumed, folder, lines.append)
    assert lines[0].startswith("generator: step 5 of 7")
    for kept, again in zip(whole.average.parameters(), resumed.average.parameters(), strict=True):
        assert torch.equal(kept, again)


def test_a_damaged_checkpoint_is_named_and_the_training_begun_anew(renders, tmp_path):
    (tmp_path / "generator.checkpoint").write_bytes(b"nothing")
    training = AdversarialTraining(renders, 5, PHASES[:1])
    with pytest.warns(UserWarning, match="generator.checkpoint is damaged"):
        wgan_training.run(training, tmp_path)
    assert training.step == 3


def test_losses_that_are_no_numbers_stop_the_training(renders):
    training = AdversarialTraining(renders, 5, PHASES)
    with torch.no_grad():
        training.critic.last[2].bias.fill_(float("nan"))
    with pytest.raises(FloatingPointError, match="step 0"):
        training.advance()


def test_the_encoder_learns():
    torch.manual_seed(1)
    training = EncoderTraining(Generator(), seed=3, shown=64 * 30)
    first = training.advance()["squared error"]
    while training.step < training.steps:
        last = training.advance()["squared error"]
    assert last < first
