"""What audits cost against the paper's prices, and their power against audits image by image."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from helpers.effects import Design, cost, design_table, label_noise, power


def test_cost_of_the_papers_audit():
    # 1.2 cents an answer at 12.5 dollars an hour (transects, section 4.3).
    seconds = 3600 * 0.012 / 12.5
    spent = cost(1000, 5, price=0.012, seconds=seconds)
    assert spent["images"] == 8000
    assert spent["judgements"] == 320_000
    assert spent["money"] == pytest.approx(3840)
    assert spent["money"] / spent["hours"] == pytest.approx(12.5)


def test_design_table_trades_transects_for_raters():
    table = design_table([100, 400], [1, 5], Design(0.03, 0.05), 0.1, price=0.012, seconds=4)
    assert table.index.tolist() == [(100, 1), (100, 5), (400, 1), (400, 5)]
    few, many = (table["power"].xs(raters, level="raters") for raters in (1, 5))
    assert (many > few).all()
    assert table.loc[(400, 5), "label_noise"] == label_noise(0.1, 5)
    assert table.loc[(400, 5), "judgements"] == 400 * 8 * 8 * 5
    # Labels flipped one by one: image by image, this is the same power.
    rng, noise = np.random.default_rng(0), 0.1
    rejected = [noisy_audit(rng, 400, 0.05, 0.03, noise) for _ in range(2000)]
    assert table.loc[(400, 1), "power"] == pytest.approx(np.mean(rejected), abs=0.04)


def test_design_table_plans_with_the_measured_pair_correlation():
    costs = {"price": 0.02, "seconds": 4}
    design = Design(0.08, 0.05, within=0.08, retention=0.83, pair_correlation=0.18)
    table = design_table([741, 1010], [1], design, 0.0, **costs)
    for size in (741, 1010):
        assert table.loc[(size, 1), "power"] == power(size, design)
    # Without it, the power is an upper bound; with more raters, less of it is lost to noise.
    bound, measured = (
        design_table([100], [1, 3, 5], replace(design, pair_correlation=rho), 0.1, **costs)["power"]
        for rho in (None, 0.3)
    )
    assert (measured < bound - 0.01).all() and (np.diff(measured) > 0).all()


def noisy_audit(rng, n, base, difference, noise):
    """Does a t-test of the transects' mean differences find it, with flipped labels?"""
    shared, own = rng.standard_normal((n, 1)), rng.standard_normal((n, 8))
    latent = np.sqrt(0.16) * shared + np.sqrt(0.84) * own
    error = latent < norm.ppf([base] * 4 + [base + difference] * 4)
    seen = error ^ (rng.random((n, 8)) < noise)
    mean = seen[:, 4:].mean(axis=1) - seen[:, :4].mean(axis=1)
    return abs(mean.mean()) > 1.966 * mean.std(ddof=1) / np.sqrt(n)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cost(100, 0, price=0.01, seconds=4), "raters is 0, a whole number"),
        (lambda: cost(100, 5, price=-1, seconds=4), "price is -1, a positive number"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
