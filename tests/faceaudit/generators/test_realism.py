"""Copies are found, and chance is no copying; codes out of range; faces that are not found."""

import warnings

import numpy as np
import pytest

from faceaudit.generators import realism
from faceaudit.latents import directions
from faceaudit.latents.directions import Hyperplanes

RANDOM = np.random.default_rng(3)
TRAINING, HELD_OUT, FRESH = (RANDOM.standard_normal((n, 6)) for n in (600, 500, 700))


def test_fresh_images_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = realism.memorised(FRESH, TRAINING, HELD_OUT)
    assert found["flagged"].mean() < 0.03
    apart = np.linalg.norm(FRESH[5] - TRAINING, axis=1)
    assert found["nearest"][5] == apart.argmin()
    assert found["distance"][5] == pytest.approx(apart.min())


def test_copies_are_named_and_warned_of():
    copies = TRAINING[[3, 77, 140, 300]] + 0.001
    made = np.concatenate([FRESH[:20], copies])
    with pytest.warns(UserWarning, match="of 24 made images are nearer .* memorised"):
        found = realism.memorised(made, TRAINING, HELD_OUT)
    assert found["flagged"][20:].all()
    assert found["nearest"][20:].tolist() == [3, 77, 140, 300]


@pytest.mark.parametrize(("held_out", "made", "share"), [(100, 2000, 0.01), (250, 400, 0.02)])
def test_a_generator_that_copies_nothing_is_rarely_warned_of(held_out, made, share):
    """The threshold is estimated too, and from few images it is often too far."""
    random = np.random.default_rng(5)
    warned = 0
    for _ in range(300):
        rows = random.standard_normal((50 + held_out + made, 2))
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            realism.memorised(rows[50 + held_out :], rows[:50], rows[50 : 50 + held_out], share)
        warned += bool(given)
    assert warned <= 9  # 3 are expected at most, and more than 9 once in a thousand times


def test_codes_out_of_range_are_named_by_what_is_out():
    sampled = RANDOM.standard_normal((4000, 3)) + 5
    planes = Hyperplanes(("age", "skin"), np.eye(3)[:2], np.array([-5.0, -5.0]))
    codes = np.array([[5, 5, 5], [5, 8.6, 5], [5, 0, 5], [5, 5, 30.0]])
    found = directions.out_of_range(codes, sampled, planes)
    assert found["outside"].tolist() == ["", "skin", "distance, skin", "distance"]
    assert found["skin"].tolist() == pytest.approx([0, 3.6, -5, 0])
    assert found["distance"][3] == pytest.approx(25, abs=0.1)
    inside = directions.out_of_range(sampled, sampled, planes)
    assert 0 < (inside["outside"] != "").mean() < 0.005


def test_what_misfits_is_refused():
    with pytest.raises(ValueError, match="50 held-out images, 100 or more"):
        realism.memorised(FRESH, TRAINING, HELD_OUT[:50])
    with pytest.raises(ValueError, match="100 sampled codes, 1000 or more"):
        directions.out_of_range(FRESH[:5], FRESH[:100])


def test_precision_and_recall_agree_with_loops():
    real = FRESH[:60]
    made = 0.8 * FRESH[:40] + 0.5

    def share(asked, balls):
        count = 0
        for point in asked:
            for i, centre in enumerate(balls):
                others = sorted(
                    np.linalg.norm(balls[j] - centre) for j in range(len(balls)) if j != i
                )
                if np.linalg.norm(point - centre) <= others[2]:
                    count += 1
                    break
        return count / len(asked)

    found = realism.precision_recall(real, made, neighbours=3)
    assert found == pytest.approx((share(made, real), share(real, made)))
