"""A crowd that looks through a reader: noise in quadrature, answers of its own to every image."""

import math

import numpy as np
import pandas as pd
import pytest

from helpers.annotations import crowd, crowd_by_reader
from helpers.annotations.schema import ATTRIBUTES

ASKED = ["gender", "skin_colour", "smiling"]


def errors(**rmse):
    return pd.DataFrame({"rmse": rmse})


ERROR = errors(smiling=0.1, gender=0.2, skin_colour=0.05, glasses=0.3)
PLAIN = {name: crowd.DISAGREEMENT[name] for name in ASKED}


def shown(scores):
    """Images that hold the scores of `ASKED`, to the nearest of 256, as one colour each."""
    images = np.round(np.asarray(scores) * 255).astype(np.uint8)
    return np.broadcast_to(images[:, :, None, None], (*images.shape, 4, 4))


def linear(images):
    return pd.DataFrame(images.mean((2, 3)) / 255, columns=ASKED).assign(glasses=0.0)


def perceive(images, ids, n_raters=5, **change):
    settings = {"seed": 1, "stage": "test"} | change
    settings.setdefault("disagreement", crowd_by_reader.widened(crowd.DISAGREEMENT, ERROR))
    return crowd_by_reader.perceived_through(linear, images, ids, n_raters, **settings)


# Widening


def test_noise_and_error_add_in_quadrature():
    wide = crowd_by_reader.widened(crowd.DISAGREEMENT, ERROR)
    assert list(wide) == ASKED  # in the order of the disagreement, and nothing that is not asked
    for name, spec in wide.items():
        before = crowd.DISAGREEMENT[name]
        levels = ERROR.loc[name, "rmse"] * (len(ATTRIBUTES[name]) - 1 + 2 * before.margin)
        assert spec.noise == pytest.approx(math.sqrt(before.noise**2 + levels**2))
        assert spec.margin == before.margin
        assert spec.origin.startswith(before.origin) and "reader's error of 0." in spec.origin
    exact = crowd_by_reader.widened(crowd.DISAGREEMENT, errors(age=0.0))
    assert exact["age"].noise == crowd.DISAGREEMENT["age"].noise


@pytest.mark.parametrize("attribute", ["gender", "skin_colour"])
def test_a_widened_crowd_spreads_like_one_that_misreads(attribute):
    """Every rater reading with an error of their own spreads as the widened noise does."""
    generator = np.random.default_rng(0)
    n, rmse = 4000, 0.15
    error = errors(**{attribute: rmse})
    careful = {attribute: crowd.DISAGREEMENT[attribute]}

    def answers(scores, disagreement):
        perceived = pd.DataFrame({attribute: scores}, index=range(n))
        scales = {attribute: ATTRIBUTES[attribute]}
        pool = crowd.rater_pool(0, disagreement=disagreement)
        settings = {"seed": 2, "stage": "test", "pool": pool, "scales": scales}
        given = crowd.annotate(perceived, 1, **settings)
        return given.loc[given["status"] == "accepted", attribute]

    misread = (0.5 + generator.normal(0, rmse, n)).clip(0, 1)
    apart = answers(misread, careful)
    wide = answers(np.full(n, 0.5), crowd_by_reader.widened(careful, error))
    narrow = answers(np.full(n, 0.5), careful)
    assert wide.std() == pytest.approx(apart.std(), rel=0.03)
    assert wide.std() > 1.08 * narrow.std()


def test_errors_that_cannot_widen_are_named():
    with pytest.raises(ValueError, match="reads \\['glasses'\\], none of \\['gender'"):
        crowd_by_reader.widened(crowd.DISAGREEMENT, errors(glasses=0.1))
    with pytest.raises(ValueError, match="no column \\['rmse'\\]"):
        crowd_by_reader.widened(crowd.DISAGREEMENT, errors(age=0.1).rename(columns={"rmse": "r"}))
    for bad in (-0.1, math.nan, math.inf):
        with pytest.raises(ValueError, match=f"rmse of 'age' is {bad}, expected"):
            crowd_by_reader.widened(crowd.DISAGREEMENT, errors(age=bad))


# Perceiving


def test_mean_scores_are_those_that_ingest_keeps():
    scores = pd.DataFrame(np.random.default_rng(1).random((300, 3)), columns=ASKED)
    answers = crowd.annotate(scores, 5, seed=1, stage="test")
    assert (answers["status"] != "accepted").any()  # so that something is left out
    found = crowd.mean_scores(answers)
    assert list(found) == ASKED
    for image_id in ("0", "17", "299"):
        for name in ASKED:
            kept = [
                row[name] / (len(ATTRIBUTES[name]) - 1)
                for _, row in answers.iterrows()
                if row["image_id"] == image_id and row["status"] == "accepted" and not row["visit"]
            ]
            assert len(kept) == 5
            assert found.loc[image_id, name] == pytest.approx(sum(kept) / 5)


def test_the_crowd_sees_what_the_reader_reads():
    images = shown(np.random.default_rng(2).random((60, 3)))
    ids = [f"{number:03d}" for number in range(60)][::-1]
    found = perceive(images, ids, n_raters=40, disagreement=PLAIN)
    assert found.index.tolist() == ids and list(found) == ASKED
    read = linear(images).set_axis(ids)
    assert np.corrcoef(found["skin_colour"], read["skin_colour"])[0, 1] > 0.98
    assert (found["skin_colour"] - read["skin_colour"]).abs().max() < 0.15


def test_answers_about_an_image_do_not_depend_on_the_others():
    images = shown(np.random.default_rng(3).random((50, 3)))
    everything = perceive(images, range(50))
    some = np.array([41, 3, 17])
    pd.testing.assert_frame_equal(perceive(images[some], some), everything.loc[["41", "3", "17"]])
    assert not perceive(images, range(50), stage="other").equals(everything)
    assert not perceive(images, range(50), seed=2).equals(everything)


def test_what_does_not_fit_together_is_named():
    images = shown(np.full((3, 3), 0.5))
    with pytest.raises(ValueError, match="(?i)length mismatch: .* 3 elements.* 2 elements"):
        perceive(images, ["a", "b"])
    with pytest.raises(ValueError, match="image id '1' occurs twice"):
        perceive(images, [1, 2, 1])
    with pytest.raises(ValueError, match="no column .*'facial_hair'.*it has \\['gender'"):
        perceive(images, [1, 2, 3], disagreement=crowd.DISAGREEMENT)
