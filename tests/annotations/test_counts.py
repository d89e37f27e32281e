import numpy as np
import pandas as pd
import pytest

from helpers.annotations import counts
from helpers.annotations.schema import ATTRIBUTES


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


def test_counts_are_those_of_a_cross_table(tidy):
    image_ids, tensor = counts.count_tensor(tidy)
    assert image_ids.tolist() == ["image 1", "image 2", "image 3"]
    assert list(tensor) == list(ATTRIBUTES)
    for attribute, count in tensor.items():
        rows = tidy[tidy["attribute"] == attribute]
        table = pd.crosstab(rows["image_id"], rows["level"])
        table = table.reindex(columns=range(len(ATTRIBUTES[attribute])), fill_value=0)
        np.testing.assert_array_equal(count, table.to_numpy())


def test_categories_are_counted_as_texts_are(tidy):
    many = pd.concat([tidy.assign(image_id=f"{n} " + tidy["image_id"]) for n in range(100)])
    coded = many.assign(
        image_id=pd.Categorical(many["image_id"], ["unused", *many["image_id"].unique()]),
        attribute=many["attribute"].astype("category"),
        level=many["level"].astype(np.int8),
    )
    image_ids, tensor = counts.count_tensor(many)
    found_ids, found = counts.count_tensor(coded)
    pd.testing.assert_index_equal(found_ids, image_ids)
    assert image_ids.tolist() == sorted(many["image_id"].unique())
    for attribute, count in tensor.items():
        np.testing.assert_array_equal(found[attribute], count)


def test_scores_means_and_deviations_are_those_of_the_answers(tidy):
    scores = counts.scores(tidy)
    _, tensor = counts.count_tensor(tidy)
    for attribute, count in tensor.items():
        rows = tidy[tidy["attribute"] == attribute]
        unit = (rows["level"] / (len(ATTRIBUTES[attribute]) - 1)).groupby(rows["image_id"])
        np.testing.assert_allclose(scores[attribute], unit.mean(), atol=1e-15)
        for ddof in (0, 1):
            deviation = counts.standard_deviation(count, ddof)
            np.testing.assert_allclose(deviation, unit.std(ddof=ddof), atol=1e-12)


def test_an_image_without_answers_is_missing_not_zero():
    tidy = pd.DataFrame(
        [("a", "gender", 4), ("b", "age", 0)], columns=["image_id", "attribute", "level"]
    )
    scores = counts.scores(tidy)
    assert scores["gender"].isna().tolist() == [False, True]
    assert list(scores) == ["gender", "age"]


def test_one_answer_has_no_unbiased_deviation():
    count = np.array([[0, 1, 0], [0, 2, 0], [0, 0, 0]])
    np.testing.assert_array_equal(counts.standard_deviation(count), [np.nan, 0, np.nan])
    np.testing.assert_array_equal(counts.standard_deviation(count, ddof=0), [0, 0, np.nan])


@pytest.mark.parametrize(("attribute", "level"), [("beauty", 0), ("makeup", 4), ("makeup", -1)])
def test_what_is_off_the_scales_is_an_error(attribute, level):
    tidy = pd.DataFrame({"image_id": ["a"], "attribute": [attribute], "level": [level]})
    with pytest.raises(ValueError, match=attribute):
        counts.count_tensor(tidy)
