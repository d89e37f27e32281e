import re

import numpy as np
import pandas as pd
import pytest
from simulated import perceived_scores

from helpers.annotations import ATTRIBUTES, crowd
from helpers.annotations.agreement import krippendorff_alpha


@pytest.fixture
def perceived() -> pd.DataFrame:
    return perceived_scores()


def annotate(perceived, n_raters=5, **kwargs):
    return crowd.annotate(perceived, n_raters, seed=1, stage="test", **kwargs)


def test_every_image_has_the_wanted_number_of_accepted_assignments(perceived):
    answers = annotate(perceived)
    first = answers[(answers["status"] == "accepted") & (answers["visit"] == 0)]
    assert (first.groupby("image_id").size() == 5).all()
    assert answers["image_id"].nunique() == len(perceived)
    assert not answers.duplicated(["image_id", "rater", "visit"]).any()


def test_levels_are_on_the_scales(perceived):
    answers = annotate(perceived)
    for attribute, levels in ATTRIBUTES.items():
        assert answers[attribute].dtype == np.int8
        assert set(answers[attribute]) == set(range(len(levels)))


def test_answers_do_not_depend_on_the_other_images(perceived):
    everything = annotate(perceived)
    some = perceived.sample(frac=0.3, random_state=0)
    alone = annotate(some)
    order = ["image_id", "rater", "visit"]
    expected = everything[everything["image_id"].isin(some.index)].sort_values(order)
    pd.testing.assert_frame_equal(
        alone.sort_values(order).reset_index(drop=True), expected.reset_index(drop=True)
    )


def test_answers_do_not_depend_on_how_many_images_are_drawn_together(perceived, monkeypatch):
    together = annotate(perceived, spread=np.linspace(0.5, 2, len(perceived)))
    monkeypatch.setattr(crowd, "_IMAGES", 7)
    apart = annotate(perceived, spread=np.linspace(0.5, 2, len(perceived)))
    pd.testing.assert_frame_equal(apart, together)


def test_answers_do_not_depend_on_the_other_attributes(perceived):
    some = annotate(perceived[["age", "makeup"]])
    pd.testing.assert_frame_equal(some, annotate(perceived)[some.columns])


def test_more_raters_add_to_the_answers_of_fewer(perceived):
    few, many = annotate(perceived, 3), annotate(perceived, 9)
    key = ["image_id", "rater", "visit"]
    both = few.merge(many, on=key, suffixes=("", "_many"))
    assert len(both) == len(few)
    for attribute in ATTRIBUTES:
        assert (both[attribute] == both[f"{attribute}_many"]).all()


@pytest.mark.parametrize("change", [{"seed": 2}, {"stage": "other"}])
def test_seed_and_stage_change_the_answers(perceived, change):
    pool = crowd.rater_pool(0)
    changed = crowd.annotate(perceived, 5, **({"seed": 1, "stage": "test"} | change), pool=pool)
    assert not changed["age"].equals(annotate(perceived, pool=pool)["age"])


def test_the_pool_has_exactly_the_calibrated_disagreement():
    for n_raters in (5, 60):
        pool = crowd.rater_pool(3, n_raters)
        variance = (pool.bias**2 + pool.noise**2).mean(axis=0)
        noise = [crowd.DISAGREEMENT[attribute].noise for attribute in ATTRIBUTES]
        np.testing.assert_allclose(np.sqrt(variance), noise)
        np.testing.assert_allclose(pool.bias.mean(axis=0), 0, atol=1e-12)
        assert len(set(pool.worker_ids)) == n_raters


def test_careless_raters_give_the_calibrated_share_of_random_answers():
    pool = crowd.rater_pool(0)
    careless = pool.random > 0
    assert careless.sum() == 4
    accepted = 1 - pool.rejected
    share = (pool.random * accepted).sum() / accepted.sum()
    assert share == pytest.approx(crowd.RANDOM_ANSWERS, abs=0.002)
    assert pool.seconds[careless].mean() < pool.seconds[~careless].mean()


def test_rejected_assignments_are_those_of_careless_raters(perceived):
    answers = annotate(perceived)
    careless = np.flatnonzero(crowd.rater_pool(1).random) + 1
    rejected = answers[answers["status"] == "rejected"]
    assert len(rejected) > 0
    assert set(rejected["rater"]) <= set(careless)


def test_the_noise_of_skin_colour_gives_more_agreement_over_a_wide_range(perceived):
    narrow = perceived.assign(skin_colour=0.1 + 0.25 * perceived["skin_colour"])
    alpha = []
    for scores in (narrow, perceived):
        answers = annotate(scores)
        counts = pd.crosstab(answers["image_id"], answers["skin_colour"]).to_numpy()
        alpha.append(krippendorff_alpha(counts))
    assert alpha[0] < 0.3
    assert alpha[1] > 0.6


def test_gender_is_perceived_nearer_the_ends_than_it_is():
    perceived = pd.DataFrame({"gender": 0.75}, index=[f"{image}" for image in range(500)])
    assert 0.82 < annotate(perceived)["gender"].mean() / 4 < 0.88


def test_times_are_plausible(perceived):
    answers = annotate(perceived)
    assert 15 < answers["seconds"].median() < 45
    assert answers["seconds"].min() > 1
    window = pd.Timedelta(days=crowd.DAYS, minutes=1)
    assert answers["submitted_at"].between(crowd.START, crowd.START + window).all()


def test_the_first_rater_signs_with_an_email_address():
    first, *others = crowd.rater_pool(0).worker_ids
    assert "@" in first
    assert all(re.fullmatch(r"A[0-9A-F]{13}", other) for other in others)


def test_every_attribute_has_its_disagreement():
    assert tuple(crowd.DISAGREEMENT) == tuple(ATTRIBUTES)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.rename(columns={"age": "beauty"}), "unknown attribute 'beauty'"),
        (lambda frame: pd.concat([frame, frame.iloc[:1]]), "image id 'image 0' occurs twice"),
        (
            lambda frame: frame.replace({"age": {frame["age"].iloc[2]: 1.5}}),
            "column 'age', row 'image 2' is 1.5, a score",
        ),
        (
            lambda frame: frame.replace({"age": {frame["age"].iloc[2]: np.nan}}),
            "'age', row 'image 2' is nan",
        ),
    ],
)
def test_bad_scores_are_an_error_naming_image_and_attribute(perceived, change, message):
    with pytest.raises(ValueError, match=message):
        annotate(change(perceived))


@pytest.mark.parametrize("n_raters", [0, 61])
def test_more_raters_than_the_pool_has_is_an_error(perceived, n_raters):
    with pytest.raises(ValueError, match="60 raters of the pool"):
        annotate(perceived, n_raters)


def test_a_crowd_of_one_is_an_error():
    with pytest.raises(ValueError, match="n_raters is .*, a whole number of at least 2"):
        crowd.rater_pool(0, 1)
