from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from faceaudit.effects import betting_sequence, share_of_release
from faceaudit.utils import seeding
from faceaudit.utils.errors import InputError

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results"
GRID = 20_000
"""Values of the grid on which the recorded ends were looked for, from -1 to 1."""
LOOKS = [10, 40, 120, 240]


def draw(seed: int, faces: int = 60, audits: int = 1) -> np.ndarray:
    """Differences (audits, faces) of two pairs of each face, in [-1, 1]."""
    random = seeding.rng(seed, "confidence sequences")
    return random.choice([-1.0, 0.0, 1.0], (audits, faces, 2), p=[0.1, 0.6, 0.3]).mean(axis=-1)


@pytest.mark.parametrize("case", ["errors", "averages", "none"])
@pytest.mark.parametrize(("bets", "sought"), [("paper", None), ("seeking", 0.05)])
def test_games_and_intervals_are_those_of_the_authors_package(
    case: str, bets: str, sought: float | None
) -> None:
    """Recorded by `benchmarks/confidence_sequence_references.py`."""
    differences = pd.read_csv(RESULTS / "confidence_sequence_differences.csv")[case].to_numpy()
    record = pd.read_csv(RESULTS / "confidence_sequence_references.csv")
    record = record[(record["case"] == case) & (record["bets"] == bets)]
    recorded = record.set_index(["quantity", "at"])["value"]
    games = betting_sequence(differences, 0.05, sought)
    low, high = games.interval(0.05, LOOKS)
    # Their ends lie up to one step of the grid outside of ours, and within the largest range.
    step = 2 / GRID + 1e-9
    for ends, name, sign in ((low, "low", 1), (high, "high", -1)):
        theirs = recorded[name][LOOKS].to_numpy()
        outside = sign * (ends - theirs)
        assert (outside >= -1e-9).all(), name
        assert (outside <= step).all(), name
    for mean, coins in recorded["above"].items():
        assert games.p_of_at_most(mean) == pytest.approx(1 / max(coins, 1), rel=1e-9)
    for mean, coins in recorded["below"].items():
        assert games.p_of_at_least(mean) == pytest.approx(1 / max(coins, 1), rel=1e-9)


@pytest.mark.parametrize("sought", [None, 0.1])
def test_a_loop_over_faces_and_values_finds_the_same(sought: float | None) -> None:
    alpha = 0.1
    values = draw(1)[0]
    grid = np.linspace(-1, 1, 801)
    coins = {side: np.ones(len(grid)) for side in (1, -1)}
    possible = np.ones(len(grid), bool)
    seen: list[float] = []
    means: list[float] = []
    for t, value in enumerate(values, start=1):
        spread = 1 + sum((one - mean) ** 2 for one, mean in zip(seen, means, strict=True))
        variance = spread / t
        bet = np.sqrt(2 * np.log(2 / alpha) / (variance * t * np.log(1 + t)))
        if sought is not None:
            bet = min(sought / variance, np.sqrt(2 * np.log(2 / alpha) / (variance * t)))
        for side in (1, -1):
            for place, mean in enumerate(grid):
                room = 1 + side * mean
                limited = bet if room == 0 else min(bet, 0.5 / room)
                coins[side][place] *= 1 + limited * side * (value - mean)
            possible &= coins[side] < 2 / alpha
        seen.append(value)
        means.append(sum(seen) / (t + 1))
    low, high = betting_sequence(values, alpha, sought).interval(alpha)
    assert grid[possible].min() - low[0] == pytest.approx(0, abs=grid[1] - grid[0])
    assert grid[possible].max() - high[0] == pytest.approx(0, abs=grid[1] - grid[0])


def test_intervals_never_widen_and_tests_agree_with_them() -> None:
    games = betting_sequence(draw(2, audits=5), sought=0.05)
    looks = [1, 2, 7, 20, 59, 60]
    ends = {alpha: games.interval(alpha, looks) for alpha in (0.2, 0.05, 0.001)}
    for low, high in ends.values():
        assert (np.diff(low, axis=-1) >= 0).all()
        assert (np.diff(high, axis=-1) <= 0).all()
    for (low, high), (wider_low, wider_high) in pairwise(ends.values()):
        assert (low >= wider_low).all()
        assert (high <= wider_high).all()
    for alpha, (low, high) in ends.items():
        for audit in range(5):
            edge = low[audit, -1]
            assert games.p_of_at_most(edge - 1e-6)[audit] <= alpha / 2 or edge == -1
            assert games.p_of_at_most(edge + 1e-6)[audit] > alpha / 2
            edge = high[audit, -1]
            assert games.p_of_at_least(edge + 1e-6)[audit] <= alpha / 2 or edge == 1
            assert games.p_of_at_least(edge - 1e-6)[audit] > alpha / 2


def test_what_comes_later_changes_no_earlier_interval() -> None:
    values = draw(3)[0]
    looks = [5, 30, 40]
    other = values.copy()
    other[40:] = -1
    for ends, others in zip(
        betting_sequence(values).interval(0.05, looks),
        betting_sequence(other).interval(0.05, looks),
        strict=True,
    ):
        assert ends.tolist() == others.tolist()


def test_the_other_sign_mirrors_all() -> None:
    values = draw(4)[0]
    low, high = betting_sequence(values, sought=0.05).interval(0.05)
    mirrored_low, mirrored_high = betting_sequence(-values, sought=0.05).interval(0.05)
    assert (-mirrored_high, -mirrored_low) == (low, high)


def test_faces_that_turn_over_leave_no_mean() -> None:
    low, high = betting_sequence([1.0] * 60 + [-1.0] * 400).interval(0.05)
    assert low[0] > high[0]


def test_all_looks_hold_at_once() -> None:
    """Of 400 audits, the truth is given up at any of 300 looks in at most 5%, up to chance."""
    truth = 0.2
    values = draw(5, faces=300, audits=400)
    games = betting_sequence(values, sought=0.05)
    p = 2 * np.minimum(games.p_of_at_most(truth), games.p_of_at_least(truth))
    assert (p < 0.05).sum() <= 31  # no more in 99 of 100 draws of 400 at 5%


def test_releases_share_the_level() -> None:
    shares = [share_of_release(release) for release in range(1, 20_000)]
    assert 0.9999 < sum(shares) < 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: betting_sequence([]), "differences: there is none"),
        (lambda: betting_sequence([0, 1.5]), "differences: numbers from -1 to 1 were expected"),
        (lambda: betting_sequence([0, np.nan]), "differences: numbers from -1 to 1"),
        (lambda: betting_sequence([0], alpha=0), "alpha is 0"),
        (lambda: betting_sequence([0], sought=0), "sought is 0"),
        (lambda: betting_sequence([0]).interval(1), "alpha is 1"),
        (lambda: betting_sequence(["a"]), "differences: row 0 is 'a', a finite number was exp"),
        (lambda: betting_sequence([0, None]), "differences: row 1 is None, a finite number"),
        (lambda: betting_sequence(0.5), r"differences: shape \(\), expected 1 axes"),
        (lambda: betting_sequence([0]).interval(0.05, []), "looks is empty, at least one number"),
        (lambda: betting_sequence([0]).interval(0.05, [0]), "a number of looks is 0, a whole num"),
        (lambda: betting_sequence([0, 1]).interval(0.05, [1.5]), "a number of looks is 1.5, a wh"),
        (
            lambda: betting_sequence([0, 1]).interval(0.05, [1, 3]),
            "a number of looks is 3, a whole number of at most 2 was expected",
        ),
        (lambda: share_of_release(0), "release is 0, a whole number of at least 1 was expected"),
        (lambda: share_of_release(-1), "release is -1, a whole number of at least 1"),
        (lambda: share_of_release(1.5), "release is 1.5, a whole number of at least 1"),
        (lambda: share_of_release(np.nan), "release is nan, a whole number of at least 1"),
    ],
)
def test_refusals(call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
