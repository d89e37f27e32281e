"""The mean change calibrated on twins, against the t interval, a loop, and a known bias."""

import numpy as np
import pytest
from scipy import stats

from faceaudit.effects.twins import calibrated_change
from faceaudit.utils.errors import InputError


def drawn(n, seed, bias=0.3):
    """Read changes of people and of twins, and the exact ones of twins; edits add the same bias."""
    generator = np.random.default_rng(seed)
    of_person, of_twin = generator.normal(0.1, 1, (2, n))
    errors = generator.normal(bias, 0.5, (2, n))
    return of_person + errors[0], of_twin + errors[1], of_twin


def test_one_picture_a_person_is_the_t_interval():
    change, read, exact = drawn(40, seed=1)
    found = calibrated_change(change, read, exact, np.arange(40))
    calibrated = change - read + exact
    expected = stats.ttest_1samp(calibrated, 0).confidence_interval()
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert found.estimate == pytest.approx(calibrated.mean(), abs=1e-12)
    assert found.uncalibrated == pytest.approx(change.mean())
    assert found.error_on_twins == pytest.approx((read - exact).mean())
    assert (found.people, found.reason) == (40, "")


def test_people_with_several_pictures_are_the_units():
    change, read, exact = drawn(30, seed=2)
    person = np.repeat(np.arange(10), [1, 2, 3, 4, 5, 1, 2, 3, 4, 5])
    found = calibrated_change(change, read, exact, person)
    calibrated = change - read + exact
    squares = 0.0
    for one in range(10):
        own = calibrated[person == one]
        squares += (own - found.estimate).sum() ** 2
    se = np.sqrt(squares * 10 / 9) / 30
    half = (found.high - found.low) / 2
    assert half == pytest.approx(stats.t.ppf(0.975, 9) * se, rel=1e-12)


def test_the_order_of_pictures_and_the_names_of_people_do_not_matter():
    change, read, exact = drawn(30, seed=2)
    person = np.repeat(np.arange(10), 3)
    order = np.random.default_rng(3).permutation(30)
    names = np.array([f"person {one}" for one in person])
    found = calibrated_change(change, read, exact, person)
    other = calibrated_change(change[order], read[order], exact[order], names[order])
    assert (other.estimate, other.low) == pytest.approx((found.estimate, found.low), rel=1e-12)


def test_twins_take_the_bias_of_edits_away_and_intervals_hold_the_truth():
    held, held_without = 0, 0
    for seed in range(400, 800):
        change, read, exact = drawn(50, seed)
        found = calibrated_change(change, read, exact, np.arange(50))
        held += found.low <= 0.1 <= found.high
        plain = calibrated_change(change, exact, exact, np.arange(50))
        held_without += plain.low <= 0.1 <= plain.high
    assert 0.93 < held / 400 < 0.97
    assert held_without / 400 < 0.6


def test_steps_of_several_experiments_share_an_estimate_and_widen_its_interval():
    """The truth is .1; each step misses it by an error of its own, which people do not average."""
    held, held_by_one_step = 0, 0
    for seed in range(400):
        generator = np.random.default_rng(seed)
        steps = 5
        errors_of_steps = generator.normal(0, 0.1, steps)
        exact = generator.normal(0.1, 1, 200)[:, None] + errors_of_steps
        of_people = generator.normal(0.1, 1, 200)[:, None] + errors_of_steps
        found = calibrated_change(of_people, exact, exact, np.arange(200))
        held += found.low <= 0.1 <= found.high
        first = calibrated_change(of_people[:, 0], exact[:, 0], exact[:, 0], np.arange(200))
        held_by_one_step += first.low <= 0.1 <= first.high
        assert found.of_steps[0] == pytest.approx(first.estimate)
        assert found.estimate == pytest.approx(found.of_steps.mean())
    assert 0.93 < held / 400 < 0.98
    assert held_by_one_step / 400 < 0.85


def test_the_variance_of_steps_is_added_by_satterthwaite():
    generator = np.random.default_rng(5)
    change = generator.normal(0.1, 1, (30, 4)) + generator.normal(0, 1, 4)
    found = calibrated_change(change, np.zeros((30, 4)), np.zeros((30, 4)), np.arange(30))
    of_people = change.mean(axis=1).var(ddof=1) / 30
    of_steps = change.mean(axis=0).var(ddof=1) / 4
    together = of_people + of_steps
    degrees = together**2 / (of_people**2 / 29 + of_steps**2 / 3)
    expected = stats.t.ppf(0.975, degrees) * np.sqrt(together)
    assert (found.high - found.low) / 2 == pytest.approx(expected, rel=1e-12)


def test_exact_edits_leave_the_estimate_as_it_is():
    change = np.array([1.0, 0.0, 0.0, -1.0, 1.0])
    read = np.array([0.0, 1.0, 1.0, 0.0, 0.0])
    found = calibrated_change(change, read, read, np.arange(5))
    assert found.estimate == found.uncalibrated == 0.2 and found.error_on_twins == 0


@pytest.mark.parametrize(
    ("people", "change", "reason"),
    [([1, 1], [1, 0], "one person"), ([1, 2], [1, 1], "no variation")],
)
def test_without_an_interval_there_is_a_reason(people, change, reason):
    found = calibrated_change(change, [0, 0], [0, 0], people)
    assert found.reason == reason and np.isnan([found.low, found.high]).all()
    assert found.estimate == np.mean(change)


def test_unfit_arrays_are_named():
    with pytest.raises(InputError, match="exact_on_twin") as refused:
        calibrated_change([1, 0], [1, 0], [1], [1, 2])
    assert refused.value.field == "exact_on_twin"
    with pytest.raises(InputError, match="read_on_twin"):
        calibrated_change(np.ones((2, 3)), np.ones((2, 2)), np.ones((2, 3)), [1, 2])
    with pytest.raises(InputError, match="change"):
        calibrated_change([1, np.nan], [1, 0], [1, 0], [1, 2])
    with pytest.raises(InputError, match="at least one row"):
        calibrated_change([], [], [], [])
