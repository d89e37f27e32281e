"""Outcomes besides errors: estimates and truth against loops over pairs of images."""

import itertools

import numpy as np
import pytest

from faceworld import scorecard

AXES = ("skin_colour", "hair_length", "gender")
ASKED = (*scorecard.ANSWERED, "abstention")
BAND = 0.2


@pytest.fixture
def pool() -> np.ndarray:
    """Scores of 300 faces; all three axes move them."""
    random = np.random.default_rng(5)
    own = random.normal(0, 1, (300, 1, 1, 1))
    skin, hair, gender = np.meshgrid([0, 0.7], [0.6, 0], [-1.5, 1.5], indexing="ij")
    logits = own + skin + hair + gender + random.normal(0, 0.7, (300, 2, 2, 2))
    return 1 / (1 + np.exp(-logits))


def study(*outcomes: str, band: float = 0.0) -> scorecard.OutcomeAudits:
    return scorecard.OutcomeAudits(AXES, "gender", outcomes, 0.05, 0.05, band)


def pairs(scores: np.ndarray, axis: int) -> list[tuple[tuple, tuple]]:
    """Every two images that differ in one axis alone, each as its score and its gender."""
    found = []
    for face in scores:
        for place in itertools.product((0, 1), repeat=3):
            if place[axis] == 0:
                other = tuple(1 if k == axis else level for k, level in enumerate(place))
                found.append(((face[place], place[2]), (face[other], other[2])))
    return found


def outcome(image: tuple, name: str, band: float) -> float | None:
    """What an image counts for, by the words of the definition."""
    score, gender = image
    silent = abs(score - 0.5) < band
    if name == "abstention":
        return float(silent)
    if silent or (name == "fpr" and gender == 1) or (name == "fnr" and gender == 0):
        return None
    return {"score": score, "fnr": float(score <= 0.5)}.get(name, float(score > 0.5))


def mean_change(scores: np.ndarray, axis: int, name: str, band: float) -> float:
    changes = []
    for low, high in pairs(scores, axis):
        before, after = outcome(low, name, band), outcome(high, name, band)
        if before is not None and after is not None:
            changes.append(float(before != after) if name == "flip" else after - before)
    return np.mean(changes) if changes else np.nan


@pytest.mark.parametrize("band", [0.0, BAND])
def test_estimates_and_truth_are_means_over_pairs(pool, band):
    drawn = scorecard.draw_audits(pool, 40, 2, seed=3)
    audited = study(*ASKED, band=band)
    table = audited.estimates_with_truth(pool, 40, 2, seed=3).query("audit == 1")
    assert len(table) == 18
    for row in table.to_dict("records"):
        axis = AXES.index(row["attribute"])
        expected = [mean_change(faces, axis, row["outcome"], band) for faces in (drawn[1], pool)]
        np.testing.assert_allclose([row["estimate"], row["truth"]], expected, atol=1e-12)
    no_pair = table[table["estimate"].isna()]
    assert no_pair["outcome"].tolist() == ["fpr", "fnr"]
    assert set(no_pair["attribute"]) == {"gender"}
    assert no_pair["truth"].isna().all()


def test_the_impact_ratio_is_that_of_the_rates(pool):
    audited = study("score", "selection")
    drawn = scorecard.draw_audits(pool, 40, 1, seed=3)
    table = audited.estimates_with_truth(pool, 40, 1, seed=3)
    ratios = scorecard.impact_ratios(table).set_index("attribute")
    assert list(ratios.index) == list(AXES)
    for name, faces in (("estimate", drawn[0]), ("truth", pool)):
        long_hair, short_hair = (faces[:, :, level] > 0.5 for level in (0, 1))
        assert ratios.loc["hair_length", name] == pytest.approx(
            short_hair.mean() / long_hair.mean()
        )


def test_intervals_hold_the_truth_of_every_outcome(pool):
    """The mark lies four standard errors of 120 independent intervals below 95%."""
    audited = study(*ASKED, band=BAND)
    table = audited.estimates_with_truth(pool, 100, 40, seed=1)
    known = table.dropna(subset=["estimate"])
    held = known["truth"].between(known["low"], known["high"])
    shares = held.groupby(known["outcome"]).mean()
    assert set(shares.index) == set(ASKED)
    assert (shares > 0.87).all()
