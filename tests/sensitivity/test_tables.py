"""Tables of sensitivity flips against loops and least squares."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from statsmodels.stats.proportion import proportion_confint

from helpers import sensitivity
from helpers.models import sample_quality
from helpers.sensitivity import tables
from helpers.sensitivity.attribute_vectors import AttributeVector

# --- tables


def test_quality_compares_every_set_with_the_real_images(monkeypatch):
    rng = np.random.default_rng(0)
    real, good, few = (rng.integers(0, 256, (n, 3, 2, 2), np.uint8) for n in (40, 30, 5))
    asked = []

    def features(model, images):
        asked.append(model)
        return images.reshape(len(images), -1)[:, :6] / 255

    monkeypatch.setattr(sample_quality, "features", features)
    table = tables.quality_table("a model", real, {"good": good, "few": few})
    assert list(table.index) == ["good", "few"] and set(asked) == {"a model"}
    assert list(table.columns) == ["precision", "recall", "Fréchet distance"]
    for name, images in (("good", good), ("few", few)):
        seen = features("", real), features("", images)
        expected = sample_quality.precision_recall(*seen)
        assert tuple(table.loc[name, ["precision", "recall"]]) == pytest.approx(expected)
    distance = sample_quality.frechet_distance(features("", real), features("", good))
    assert table.loc["good", "Fréchet distance"] == pytest.approx(distance)
    assert np.isnan(table.loc["few", "Fréchet distance"])


def labelled(n: int = 60) -> pd.DataFrame:
    """Scores and labels; everybody with Eyeglasses smiles, nobody has Bald."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.random((n, 3)) < 0.5, columns=["Smiling", "Male", "Eyeglasses"])
    frame["Eyeglasses"] &= frame["Smiling"]
    return frame.assign(score=rng.random(n), Bald=False)


@pytest.mark.parametrize("threshold", [0.5, 0.3])
def test_disaggregated_agrees_with_a_loop(threshold):
    frame, names = labelled(), ["Male", "Eyeglasses", "Bald"]
    table = tables.disaggregated(frame, names, threshold)
    groups = [("everybody", None, None)]
    groups += [(f"{name} = {level}", name, level) for name in names for level in (0, 1)]
    assert list(table.index) == [title for title, _, _ in groups]
    for title, name, level in groups:
        right, raised, missed = [], [], []
        for face in frame.to_dict("records"):
            if name is not None and face[name] != level:
                continue
            smile = face["score"] >= threshold
            right.append(smile == face["Smiling"])
            (missed if face["Smiling"] else raised).append(smile != face["Smiling"])
        expected = [len(right), *map(in_words, (right, raised, missed))]
        row = table.loc[title, ["n", "accuracy", "false positives", "false negatives"]]
        assert row.tolist() == expected


def in_words(events: list[bool]) -> str:
    if not events:
        return "nobody"
    ends = proportion_confint(sum(events), len(events), method="wilson")
    share, low, high = (100 * value for value in (np.mean(events), *ends))
    return f"{share:.1f} [{low:.1f}, {high:.1f}]"


def test_a_rate_of_nobody_is_no_rate_of_zero():
    table = tables.disaggregated(labelled(), ["Eyeglasses", "Bald"])
    assert table.loc["Eyeglasses = 1", "false positives"] == "nobody"
    assert table.loc["Eyeglasses = 1", "false negatives"] != "nobody"
    assert table.loc["Bald = 1"].tolist() == [0, "nobody", "nobody", "nobody"]


@pytest.fixture(scope="module")
def scores() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2)
    start = rng.random((70, 1))
    slopes = {"Young": 0.1, "Long_Hair": -0.4, "Smiling": 0.2}
    lambdas = {"Young": 5, "Long_Hair": 5, "Smiling": 3}
    return {
        name: np.clip(
            start + slope * np.linspace(-1, 1, count) + rng.normal(0, 0.05, (70, count)), 0, 1
        )
        for (name, slope), count in zip(slopes.items(), lambdas.values(), strict=True)
    }


@pytest.mark.parametrize("threshold", [0.5, 0.8])
def test_all_flips_are_those_of_the_longest_steps(scores, threshold):
    table = tables.all_flips(scores, ["Smiling", "Young"], threshold)
    assert table.index.names == ["vector", "direction", "measure"]
    assert len(table) == 2 * 2 * 5
    for name, middle in (("Smiling", 1), ("Young", 2)):
        for way, end in (("−", 0), ("+", 2 * middle)):
            walk = scores[name]
            expected = sensitivity.flips(walk[:, middle], walk[:, end], threshold)
            found = table.xs((name, way), level=("vector", "direction"))
            pd.testing.assert_frame_equal(found, expected, check_names=False)


@pytest.mark.parametrize("scores_of", [{}, {"score": np.full(60, -1.5)}])
def test_disaggregated_refuses_what_is_no_score(scores_of):
    frame = labelled().drop(columns="score").assign(**scores_of)
    with pytest.raises(ValueError, match="score.*(frame has no column|a probability in)|no column"):
        tables.disaggregated(frame, ["Male"])


def test_table_one_has_the_unit_steps_towards_by_version(scores):
    flips = tables.all_flips(scores, [*scores])
    table = tables.table_one(flips)
    assert list(table.index) == [*scores]
    assert [tuple(column) for column in table] == [
        (who, name) for who, name, _ in tables.VERSIONS.values()
    ]
    for name in scores:
        for measure, (who, title, sign) in tables.VERSIONS.items():
            row = (100 * sign * flips.loc[(name, "+", measure)]).round(9) + 0.0
            ends = sorted((row["low"], row["high"]))
            expected = f"{row['estimate']:.1f} [{ends[0]:.1f}, {ends[1]:.1f}]"
            assert table.loc[name, (who, title)] == expected


def test_the_later_paper_counts_flips_away_as_negative(scores):
    flips = tables.all_flips(scores, ["Long_Hair"])
    away = tables.table_one(flips)["later paper (conditional)", "1→0"].iloc[0]
    assert away.startswith("-") and flips.loc[("Long_Hair", "+", "conditional_10"), "estimate"] > 0


def test_vectors_stand_beside_the_truth_where_there_is_one():
    columns = ["estimate", "low", "high"]
    parts = pd.DataFrame([[0.1, 0.0, 0.2], [np.nan] * 3], ["total", "rest"], columns)
    truth = pd.DataFrame([[-0.3, -0.4, -0.2]] * 2, ["Young", "Eyeglasses"], columns)
    table = tables.beside_truth({"Young": parts, "Wearing_Lipstick": parts}, truth)
    assert table.to_dict("index") == {
        "Young": {
            "total": "+0.100 [+0.000, +0.200]",
            "rest": "not estimable",
            "by hand": "-0.300 [-0.400, -0.200]",
        }
    }


def test_table_one_says_where_there_are_no_codes(scores):
    flips = tables.all_flips({"Young": np.full((5, 3), 0.1)}, ["Young"])
    assert tables.table_one(flips)["later paper (conditional)", "1→0"].tolist() == ["no codes"]


def test_score_table_has_the_longest_step_and_the_codes_near_the_boundary(scores):
    lambdas = {name: np.linspace(-1, 1, one.shape[1]) for name, one in scores.items()}
    curves = {name: sensitivity.curve(one, lambdas[name]) for name, one in scores.items()}
    table = tables.score_table(curves)
    for name, one in scores.items():
        expected = sensitivity.score_sensitivity(one[:, one.shape[1] // 2], one[:, -1])
        assert table.loc[name, "codes near it"] == expected.loc["near the boundary", "n"]
        for measure, row in expected.iterrows():
            words = f"{row['estimate']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]"
            assert table.loc[name, measure] == words


def test_leaning_orders_by_the_net_in_either_direction(scores):
    flips = tables.all_flips(scores, [*scores])
    nets = {name: flips.loc[(name, "+", "net"), "estimate"] for name in scores}
    assert nets["Long_Hair"] < 0 < nets["Smiling"]
    order = tables.leaning(flips)
    assert order == sorted(nets, key=lambda name: -abs(nets[name])) and len(set(order)) == 3


def test_examples_flip_first_move_most_and_come_once():
    walks = {
        "Young": np.array([[0.0, 0.4, 0.6], [0, 0.4, 0.9], [0, 0.1, 0.45], [0, 0.6, 0.2]]),
        "Long_Hair": np.array([[0.0, 0.4, 0.5], [0, 0.4, 1.0], [0, 0.1, 0.4], [0, 0.6, 0.9]]),
    }
    found = tables.examples(walks, [*walks], each=2)
    rows = [("Young", 1), ("Young", 3), ("Long_Hair", 0), ("Long_Hair", 2)]
    assert [(one.vector, one.row) for one in found] == rows
    decided = [(one.smiles_before, one.smiles_after) for one in found]
    assert decided == [(False, True), (True, False), (False, True), (False, False)]
    later = tables.examples({"Young": walks["Young"]}, ["Young"], each=9, threshold=0.42)
    assert [one.row for one in later] == [1, 3, 2, 0]


def vector(name: str, *direction: float) -> AttributeVector:
    unit = np.array(direction) / np.linalg.norm(direction)
    return AttributeVector(name, unit, 0.9, 0.8, 0.95, 100)


def test_what_comes_along_agrees_with_least_squares():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(rng.random((200, 3)) < 0.5, columns=["Young", "Smiling", "Male"])
    codes = (
        rng.normal(size=(200, 2)) + np.outer(frame["Young"], [1, 0]) - frame[["Male"]].to_numpy()
    )
    kinds = {
        "unbalanced": {"Young": vector("Young", 1, 1)},
        "balanced": {"Young": vector("Young", 3, -4)},
    }
    table = tables.brought_along(kinds, codes, frame, {"smiling": "Smiling", "gender": "Male"})
    assert list(table.index) == ["Young"] and len(table.columns) == 4
    for title, other in (("smiling", "Smiling"), ("gender", "Male")):
        for kind, vectors in kinds.items():
            place = codes @ vectors["Young"].direction
            design = sm.add_constant(frame[["Young", other]].astype(float))
            expected = sm.OLS(place / place.std(), design).fit().params[other]
            assert table.loc["Young", (title, kind)] == pytest.approx(expected)


def test_explained_by_smile_calibrates_along_smiling():
    rng = np.random.default_rng(5)
    moves = {name: rng.normal(0.2, 0.1, 40) for name in ("Young", "Smiling", "Long_Hair")}
    smiles = {name: pd.Series(rng.normal(0.1, 0.05, 40)) for name in moves}
    found = tables.explained_by_smile(moves, smiles, n_boot=30, seed=6)
    assert list(found) == ["Young", "Long_Hair"]
    for name, table in found.items():
        expected = sensitivity.explained(
            moves[name], smiles[name], moves["Smiling"], smiles["Smiling"], None, 30, 6
        )
        pd.testing.assert_frame_equal(table, expected)
