"""What trainings share: the schedule of learning rates and augmentation."""

import math

import numpy as np
import pytest
import torch

from helpers.models import training


def test_one_cycle_has_the_rates_of_torch():
    steps, weight = 50, torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.AdamW([weight])
    # torch reaches its peak one step before 30 % of the steps, and the end one step early.
    cycle = torch.optim.lr_scheduler.OneCycleLR(
        optimizer,
        max_lr=4e-3,
        total_steps=steps + 1,
        pct_start=(0.3 * steps + 1) / (steps + 1),
        div_factor=25,
        final_div_factor=math.inf,
        cycle_momentum=False,
    )
    for step in range(steps):
        expected = 4e-3 * training.one_cycle(step / steps)
        assert cycle.get_last_lr()[0] == pytest.approx(expected, rel=1e-12)
        optimizer.step()
        cycle.step()


def test_augmentation_keeps_the_picture_recognisable():
    images = np.zeros((50, 3, 40, 40), np.uint8)
    images[:, :, 10:30, 4:8] = 200
    moved = training.augment(images, np.random.default_rng(0))
    assert moved.dtype == torch.float32 and moved.shape == (50, 3, 40, 40)
    assert moved.min() >= 0 and moved.max() <= 1
    left = (moved[:, 0, :, :20].sum((1, 2)) > moved[:, 0, :, 20:].sum((1, 2))).float().mean()
    assert 0.2 < left < 0.8
    widths = (moved[:, 0, 20] > 0.3).sum(1)
    assert set(widths.tolist()) == {4}
