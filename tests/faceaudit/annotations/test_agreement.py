import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from faceaudit.annotations import ATTRIBUTES, agreement_table, count_tensor, standard_deviation
from faceaudit.annotations import scores as scores_of
from faceaudit.annotations.agreement import icc, krippendorff_alpha, mean_sd

# Krippendorff (2011), section C: 4 observers, 12 units, levels 1 ... 5, 0 = missing.
TEXTBOOK = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
        [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
    ]
)


def counts_of(ratings: np.ndarray, levels: int) -> np.ndarray:
    return (ratings[:, :, None] == np.arange(levels)).sum(axis=1)


@pytest.fixture
def ratings() -> np.ndarray:
    rng = np.random.default_rng(1)
    centre = rng.integers(5, size=(60, 1))
    return np.clip(centre + rng.integers(-1, 2, size=(60, 6)), 0, 4)


@pytest.mark.parametrize(
    ("metric", "alpha"), [("nominal", 0.7434), ("ordinal", 0.8154), ("interval", 0.8491)]
)
def test_alpha_of_the_textbook_example(metric, alpha):
    counts = counts_of(TEXTBOOK.T - 1, 5)
    assert krippendorff_alpha(counts, metric=metric) == pytest.approx(alpha, abs=5e-5)


def anova_icc(ratings: np.ndarray) -> float:
    image, rater = np.nonzero(ratings >= 0)
    frame = pd.DataFrame({"level": ratings[image, rater], "image": image})
    table = anova_lm(ols("level ~ C(image)", frame).fit())
    return 1 - table.loc["Residual", "mean_sq"] / table.loc["C(image)", "mean_sq"]


def test_icc_is_that_of_the_analysis_of_variance(ratings):
    assert icc(counts_of(ratings, 5)) == pytest.approx(anova_icc(ratings), abs=1e-10)
    ratings[::3, :2] = -1
    assert icc(counts_of(ratings, 5)) == pytest.approx(anova_icc(ratings), abs=1e-10)


def test_the_table_holds_the_values_and_intervals_of_a_loop(ratings):
    counts = counts_of(ratings, 5)
    row = agreement_table({"gender": counts}, n_boot=1500, seed=3).loc["gender"]
    assert row["images"] == 60
    assert row["raters"] == 6
    rng = np.random.default_rng(0)
    resamples = [counts[rng.integers(60, size=60)] for _ in range(1500)]
    for name, statistic in {"sd": mean_sd, "alpha": krippendorff_alpha, "icc": icc}.items():
        assert row[name] == pytest.approx(statistic(counts), abs=1e-12)
        values = [statistic(resample)[0] for resample in resamples]
        low, high = np.quantile(values, [0.025, 0.975])
        tolerance = 0.2 * (high - low)
        assert row[f"{name}_low"] == pytest.approx(low, abs=tolerance)
        assert row[f"{name}_high"] == pytest.approx(high, abs=tolerance)


@pytest.mark.parametrize(
    ("counts", "reason", "sd"),
    [
        (np.zeros((3, 4)), "no answers", np.nan),
        (np.eye(4)[[0, 1, 1, 3]], "no image has two answers", np.nan),
        ([[1, 0]], "no image has two answers", np.nan),
        ([[2, 1]], "one image has two answers", np.sqrt(1 / 3)),
        ([[2, 1], [1, 0], [0, 1]], "one image has two answers", np.sqrt(1 / 3)),
        ([[0, 3], [0, 2]], "all answers are equal", 0.0),
        ([[3], [2]], "all answers are equal", 0.0),
    ],
    ids=["nobody", "one rater", "one answer", "one image", "one pair", "one level", "short scale"],
)
def test_what_cannot_be_estimated_is_nan_and_says_why(counts, reason, sd):
    row = agreement_table({"age": np.asarray(counts, int)}, n_boot=20).loc["age"]
    assert row["reason"] == reason
    measures = ["alpha", "icc"]
    assert row[[f"{m}{end}" for m in measures for end in ("", "_low", "_high")]].isna().all()
    assert row["sd"] == pytest.approx(sd, nan_ok=True)
    ends = [0.0, 0.0] if sd == 0 else [np.nan, np.nan]
    assert row[["sd_low", "sd_high"]].tolist() == pytest.approx(ends, nan_ok=True)


PUBLISHED = {
    "gender": ("gender", 0.867, 0.986),
    "hair_length": ("hair_length", 0.571, 0.901),
    "age": ("age", 0.562, 0.925),
    "skin_colour": ("skin_color", 0.213, 0.686),
}


@pytest.mark.parametrize("attribute", PUBLISHED)
@pytest.mark.skipif("HELPERS_REAL_DATA" not in os.environ, reason="HELPERS_REAL_DATA is not set")
def test_agreement_of_the_real_annotations(attribute):
    """As published, and as the raters' own answers give it, pair by pair of raters."""
    name, alpha, reliability = PUBLISHED[attribute]
    file = Path(os.environ["HELPERS_REAL_DATA"]) / "stylegan2_ffhq_annotations.npz"
    answers = np.load(file)[name]
    levels = len(ATTRIBUTES[attribute])
    counts = counts_of(answers, levels)
    total = counts.sum(axis=0)
    raters = answers.shape[1]
    apart = np.subtract.outer(*[total.cumsum() - total / 2] * 2) ** 2
    observed = sum(apart[answers[:, [k]], answers].sum() for k in range(raters)) / (raters - 1)
    slow = 1 - observed * (answers.size - 1) / (total @ apart @ total)
    assert krippendorff_alpha(counts) == pytest.approx(slow, abs=1e-14)
    assert slow == pytest.approx(alpha, abs=6e-4)
    within = answers.var(axis=1, ddof=1).mean()
    between = raters * answers.mean(axis=1).var(ddof=1)
    assert icc(counts) == pytest.approx(1 - within / between, abs=1e-14)
    assert 1 - within / between == pytest.approx(reliability, abs=6e-4)


@pytest.fixture
def tidy() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        (f"image {image}", attribute, int(rng.integers(len(levels))))
        for image in (3, 1, 2)
        for attribute, levels in ATTRIBUTES.items()
        for _ in range(4)
    ]
    return pd.DataFrame(rows, columns=["image_id", "attribute", "level"]).sample(
        frac=1, random_state=0
    )


def test_scores_means_and_deviations_are_those_of_the_answers(tidy):
    scores = scores_of(tidy)
    _, tensor = count_tensor(tidy)
    for attribute, count in tensor.items():
        rows = tidy[tidy["attribute"] == attribute]
        unit = (rows["level"] / (len(ATTRIBUTES[attribute]) - 1)).groupby(rows["image_id"])
        np.testing.assert_allclose(scores[attribute], unit.mean(), atol=1e-15)
        np.testing.assert_allclose(standard_deviation(count), unit.std(), atol=1e-12)


def test_answers_about_many_images_are_counted_where_they_were_given():
    """A code takes one byte where there are few images, and a place in the counts takes more."""
    images = np.repeat([f"{number:03d}.png" for number in range(120)], 3)
    levels = np.random.default_rng(3).integers(0, 4, len(images))
    tidy = pd.DataFrame({"image_id": images, "attribute": "makeup", "level": levels})
    _, counts = count_tensor(tidy)
    expected = [np.bincount(three, minlength=4) for three in levels.reshape(120, 3)]
    np.testing.assert_array_equal(counts["makeup"], expected)
