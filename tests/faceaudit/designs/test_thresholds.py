"""Effects at other thresholds: against counted pairs, and how often they alarm by chance."""

import numpy as np
import pandas as pd
from pretended_audits import OF_TABLE, pretended_table
from statsmodels.stats.proportion import confint_proportions_2indep

import faceaudit
from faceaudit.checks import find_threshold_doubts
from faceaudit.designs.matched import MatchedImages, other_thresholds
from faceaudit.designs.portraits import _difference_within_label
from faceaudit.file.specification import Specification
from faceaudit.outcomes import errors_at
from faceaudit.utils import seeding

OF_SKIN = OF_TABLE | {"axes": {"skin": ("light", "dark")}}


def test_only_pairs_of_one_label_enter_and_all_pairs_count():
    table = pretended_table(60, 0.2, seed=4)
    random = seeding.rng(4, "labels")
    table["label"] = table["label"].where(random.random(len(table)) < 0.8, 1 - table["label"])
    table["score"] = table["score"].where(random.random(len(table)) < 0.9)
    own = Specification(**OF_TABLE)
    plan = faceaudit.make_plan(own, 60)
    found = other_thresholds(MatchedImages.from_table(table, own).frame, plan)
    found = found.set_index(["threshold", "axis"])["same_label"]
    for threshold in (0.3, 0.5, 0.7):
        changes = []
        for _, pair in table.groupby(["unit", "gender"]):
            light, dark = (pair[pair["skin"] == skin].iloc[0] for skin in ("light", "dark"))
            if pair["score"].notna().all():
                wrong = [
                    int((image["score"] > threshold) != image["label"]) for image in (light, dark)
                ]
                changes.append((wrong[1] - wrong[0]) * (light["label"] == dark["label"]))
        assert np.isclose(found[threshold, "skin"], np.mean(changes))


def test_the_distance_of_scores_is_the_error_rate_averaged_over_all_thresholds():
    """What the report says of its table of scores."""
    images = pretended_table(50, 0.2, seed=1)
    averaged = np.mean([errors_at(images, (k + 0.5) / 2000) for k in range(2000)], axis=0)
    np.testing.assert_allclose(averaged, (images["score"] - images["label"]).abs(), atol=1e-3)


def test_a_difference_within_labels_is_newcombe_s_of_each_label():
    random = seeding.rng(2, "portraits and thresholds")
    table = pd.DataFrame({"image_id": range(600), "skin": random.choice(["light", "dark"], 600)})
    is_dark = table["skin"] == "dark"
    table["label"] = (random.random(600) < np.where(is_dark, 0.7, 0.3)).astype(float)
    table["error"] = (random.random(600) < 0.2 + 0.2 * is_dark).astype(float)
    levels = pd.CategoricalDtype(["light", "dark"], ordered=True)
    known = table.astype({"skin": levels}).assign(identity=table["image_id"])
    groups = table.groupby(["label", "skin"])["error"].agg(["sum", "size"]).astype(int)
    sizes = table["skin"].value_counts()
    estimate = below = above = 0.0
    for label in (0, 1):
        dark, light = groups.loc[(label, "dark")], groups.loc[(label, "light")]
        weight = min(dark["size"] / sizes["dark"], light["size"] / sizes["light"])
        low, high = confint_proportions_2indep(*dark, *light, method="newcomb")
        difference = dark["sum"] / dark["size"] - light["sum"] / light["size"]
        estimate += weight * difference
        below += (weight * (difference - low)) ** 2
        above += (weight * (high - difference)) ** 2
    expected = [estimate, estimate - below**0.5, estimate + above**0.5]
    np.testing.assert_allclose(list(_difference_within_label(known, "skin").values()), expected)


def alarms(shifted: float, repetitions: int) -> int:
    """How many of so many audits doubt their thresholds.

    Args:
        shifted: share of the dark images whose scores are near the threshold. Half of them have the
            label 1, so that the effect at each other threshold is half of this share.
        repetitions: audits, of 150 faces each and with a tolerance of 5 points.
    """
    own = Specification(**OF_SKIN)
    plan = faceaudit.make_plan(own, 150) | {"other thresholds": [0.4, 0.6]}
    count = 0
    for repetition in range(repetitions):
        random = seeding.rng(7, "null thresholds", repetition)
        frame = pd.DataFrame({"unit": np.repeat(range(150), 2), "skin_level": [0, 1] * 150})
        frame["label"] = (frame["unit"] % 2).astype(float)
        near = (frame["skin_level"] == 1) & (random.random(300) < shifted)
        distance = np.where(near, 0.05, 0.45) * np.where(random.random(300) < 0.1, -1, 1)
        frame["score"] = 0.5 + distance * (2 * frame["label"] - 1)
        rows = other_thresholds(frame, plan).itertuples()
        count += any(find_threshold_doubts(rows, (), plan["threshold"], plan["level"]))
    return count


def test_a_null_model_alarms_in_five_of_a_hundred_audits_at_most():
    assert alarms(shifted=0.0, repetitions=10) == 0
    # The hardest null: at every other threshold the effect is as large as the tolerance.
    assert alarms(shifted=0.1, repetitions=40) <= 2
    assert alarms(shifted=0.6, repetitions=3) == 3
