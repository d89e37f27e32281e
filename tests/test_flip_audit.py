"""Tables of sensitivity flips against loops, scipy and an audit whose truth is simple."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from helpers import flip_audit, sample_quality, sensitivity
from helpers.attribute_vectors import AttributeVector
from helpers.faces.parameters import INDEX, NAMES
from helpers.generators import load_generator
from helpers.generators.known_truth import LINKS
from helpers.sensitivity.known_truth import step_of_one

INTERVAL = ["estimate", "low", "high"]


# --- tables


def test_quality_compares_every_set_with_the_real_images(monkeypatch):
    rng = np.random.default_rng(0)
    real, good, few = (rng.integers(0, 256, (n, 3, 2, 2), np.uint8) for n in (40, 30, 5))
    asked = []

    def features(model, images):
        asked.append(model)
        return images.reshape(len(images), -1)[:, :6] / 255

    monkeypatch.setattr(sample_quality, "features", features)
    table = flip_audit.quality_table("a model", real, {"good": good, "few": few})
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
    table = flip_audit.disaggregated(frame, names, threshold)
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
    table = flip_audit.disaggregated(labelled(), ["Eyeglasses", "Bald"])
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
    table = flip_audit.all_flips(scores, ["Smiling", "Young"], threshold)
    assert table.index.names == ["vector", "direction", "measure"]
    assert len(table) == 2 * 2 * 5
    for name, middle in (("Smiling", 1), ("Young", 2)):
        for way, end in (("−", 0), ("+", 2 * middle)):
            walk = scores[name]
            expected = sensitivity.flips(walk[:, middle], walk[:, end], threshold)
            found = table.xs((name, way), level=("vector", "direction"))
            pd.testing.assert_frame_equal(found, expected, check_names=False)


def test_table_one_has_the_unit_steps_towards_by_version(scores):
    flips = flip_audit.all_flips(scores, [*scores])
    table = flip_audit.table_one(flips)
    assert list(table.index) == [*scores]
    assert list(table.columns) == [*flip_audit.VERSIONS.values()]
    for name in scores:
        for measure, title in flip_audit.VERSIONS.items():
            assert table.loc[name, title] == flips.loc[(name, "+", measure), "estimate"]


def test_movers_flip_first_and_move_most():
    before = np.array([0.1, 0.5, 0.2, 0.49, 0.9, 0.6])
    after = np.array([0.45, 0.4, 0.7, 0.5, 0.5, 0.6])
    assert flip_audit.movers(before, after, 6).tolist() == [2, 1, 3, 4, 0, 5]
    assert flip_audit.movers(before, after, 2).tolist() == [2, 1]
    assert flip_audit.movers(before, after, 3, threshold=0.45).tolist() == [2, 0, 1]


def test_leaning_orders_by_the_net_in_either_direction(scores):
    flips = flip_audit.all_flips(scores, [*scores])
    nets = {name: flips.loc[(name, "+", "net"), "estimate"] for name in scores}
    assert nets["Long_Hair"] < 0 < nets["Smiling"]
    order = flip_audit.leaning(flips)
    assert order == sorted(nets, key=lambda name: -abs(nets[name])) and len(set(order)) == 3


def test_examples_are_movers_with_their_decisions(scores):
    found = flip_audit.examples(scores, ["Smiling", "Long_Hair"], each=3, threshold=0.6)
    assert [one.vector for one in found] == ["Smiling"] * 3 + ["Long_Hair"] * 3
    for name in ("Smiling", "Long_Hair"):
        walk = scores[name]
        before, after = walk[:, walk.shape[1] // 2], walk[:, -1]
        own = [one for one in found if one.vector == name]
        assert [one.row for one in own] == flip_audit.movers(before, after, 3, 0.6).tolist()
        for one in own:
            assert one.smiles_before == (before[one.row] >= 0.6)
            assert one.smiles_after == (after[one.row] >= 0.6)
            assert one.smiles_before != one.smiles_after


def vector(name: str, *direction: float) -> AttributeVector:
    unit = np.array(direction) / np.linalg.norm(direction)
    return AttributeVector(name, unit, 0.9, 0.8, 0.95, 100)


def test_overlap_has_the_cosines_by_other_attribute_and_kind():
    kinds = {
        "unbalanced": {"Young": vector("Young", 1, 1), "Pale": vector("Pale", 0, 2)},
        "balanced": {"Young": vector("Young", 3, 4), "Pale": vector("Pale", -1, 0)},
    }
    towards = {"Smiling": vector("Smiling", 1, 0), "Male": vector("Male", 0, -1)}
    table = flip_audit.overlap(kinds, towards)
    assert list(table.index) == ["Young", "Pale"] and table.columns.nlevels == 2
    for other, along in towards.items():
        for kind, named in kinds.items():
            for name, one in named.items():
                expected = sum(np.multiply(one.direction, along.direction))
                assert table.loc[name, (other, kind)] == pytest.approx(expected)


def test_mean_changes_agree_with_a_t_test():
    changes = pd.DataFrame(np.random.default_rng(3).normal(0.1, 0.2, (25, 2)), columns=list("ab"))
    table = flip_audit.mean_changes(changes)
    assert list(table.columns) == INTERVAL
    for name, column in changes.items():
        interval = stats.ttest_1samp(column, 0).confidence_interval(0.95)
        np.testing.assert_allclose(table.loc[name], [column.mean(), *interval])


def test_repeated_audits_hold_the_mean_as_often_as_they_should():
    changes = pd.DataFrame(
        np.random.default_rng(4).normal(0.1, 0.2, (3000, 3)), columns=list("abc")
    )
    found = flip_audit.repeated_audits(changes, n=30, repeats=800, seed=1)
    assert list(found.index) == list("abc") and found.between(0.93, 0.97).all()
    again, other = (flip_audit.repeated_audits(changes, 30, 800, seed) for seed in (1, 2))
    pd.testing.assert_series_equal(found, again)
    assert not found.equals(other)


def test_repeated_audits_of_rare_changes_hold_their_mean_less_often():
    """One face in a hundred moves: an audit of 30 that misses it has no width."""
    changes = pd.DataFrame({"rare": (np.arange(500) % 100 == 0).astype(float)})
    found = flip_audit.repeated_audits(changes, n=30, repeats=400, seed=1)
    assert found["rare"] == pytest.approx(1 - 0.99**30, abs=0.08)


def test_explained_by_smile_calibrates_along_smiling():
    rng = np.random.default_rng(5)
    moves = {name: rng.normal(0.2, 0.1, 40) for name in ("Young", "Smiling", "Long_Hair")}
    smiles = {name: pd.Series(rng.normal(0.1, 0.05, 40)) for name in moves}
    found = flip_audit.explained_by_smile(moves, smiles, n_boot=30, seed=6)
    assert list(found) == ["Young", "Long_Hair"]
    for name, table in found.items():
        expected = sensitivity.explained(
            moves[name], smiles[name], moves["Smiling"], smiles["Smiling"], None, 30, 6
        )
        pd.testing.assert_frame_equal(table, expected)


# --- the known truth


PARAMETERS = {
    "Young": ("age", -1),
    "Long_Hair": ("hair_length", 1),
    "Pale_Skin": ("skin_colour", -1),
    "Smiling": ("smiling", 1),
}
WEIGHTS = {"smiling": 0.6, "hair_length": -0.3, "skin_colour": 0.4}


def by_column(faces: torch.Tensor, _: str) -> np.ndarray:
    """A score that is linear in three parameters and blind to all others."""
    return sum(weight * faces[:, INDEX[name]].double().numpy() for name, weight in WEIGHTS.items())


def by_coordinate(faces: torch.Tensor, _: str) -> np.ndarray:
    """The same of their latent coordinates, so that effects are the same for every face."""
    columns = {name: faces[:, INDEX[name]].double().numpy() for name in WEIGHTS}
    return sum(WEIGHTS[name] * LINKS[name].coordinate(value) for name, value in columns.items())


@pytest.fixture(scope="module")
def generator():
    return load_generator("known-truth", size=16)


def audit_of(generator, score, n: int = 150, n_many: int = 600) -> flip_audit.KnownTruth:
    few, many = generator.sample(n, seed=1), generator.sample(n_many, seed=2)
    return flip_audit.KnownTruth(generator, PARAMETERS, few, many, score)


def test_the_books_attributes_are_parameters():
    assert {name for name, _ in flip_audit.PARAMETERS.values()} < set(NAMES)
    assert {sign for _, sign in flip_audit.PARAMETERS.values()} == {-1, 1}


def test_exact_steps_move_one_coordinate_by_one_in_the_right_direction(generator):
    steps = audit_of(generator, by_column, 2, 2).exact_steps()
    for name, (own, sign) in PARAMETERS.items():
        ends = generator.coordinates(torch.from_numpy(steps[name])[None], NAMES)[0]
        np.testing.assert_allclose(ends, sign * (np.array(NAMES) == own), atol=1e-12)


def test_changes_by_hand_are_those_of_single_parameters(generator):
    audit = audit_of(generator, by_column, n=2, n_many=50)
    changes = audit.changes_by_hand()
    assert changes.shape == (50, 4) and list(changes.columns) == list(PARAMETERS)
    for name, (own, sign) in PARAMETERS.items():
        if own not in WEIGHTS:
            assert (changes[name] == 0).all()
            continue
        s = generator.coordinates(audit.many, [own])[:, 0]
        expected = LINKS[own].value(s + sign) - LINKS[own].value(s)
        np.testing.assert_allclose(changes[name], WEIGHTS[own] * expected, atol=1e-6)


def test_the_score_is_asked_once_for_each_set_of_images(generator):
    asked = []

    def score(faces, name):
        asked.append((tuple(faces.shape), name))
        return by_column(faces, name)

    audit = audit_of(generator, score, n=6, n_many=9)
    truth = flip_audit.mean_changes(audit.changes_by_hand())
    audit.audited(audit.exact_steps(), truth, "exact")
    assert asked == [((45, len(NAMES)), "by_hand"), ((30, len(NAMES)), "exact")]


def test_exact_steps_find_the_truth(generator):
    audit = audit_of(generator, by_column)
    truth = flip_audit.mean_changes(audit.changes_by_hand())
    table = audit.audited(audit.exact_steps(), truth, "exact")
    assert list(table.columns) == [*INTERVAL, "truth", "error", "holds"]
    np.testing.assert_allclose(table["truth"], truth["estimate"])
    np.testing.assert_allclose(table["error"], table["estimate"] - table["truth"])
    inside = (table["low"] <= table["truth"]) & (table["truth"] <= table["high"])
    assert (table["holds"] == inside).all()
    moving = table.drop(index="Young")
    assert moving["holds"].all() and (moving["estimate"].abs() > 0.05).all()
    assert table.loc["Young", "estimate"] == pytest.approx(0, abs=1e-6)


def test_on_the_same_codes_exact_steps_give_the_same_changes(generator):
    codes = generator.sample(50, seed=3)
    audit = flip_audit.KnownTruth(generator, PARAMETERS, codes, codes, by_column)
    truth = flip_audit.mean_changes(audit.changes_by_hand())
    table = audit.audited(audit.exact_steps(), truth, "exact")
    np.testing.assert_allclose(table[INTERVAL], truth, atol=1e-6)


LEAKS = {
    "Young": {"smiling": 0.1, "hair_length": -0.2},
    "Long_Hair": {"smiling": -0.15, "age": 0.3},
    "Smiling": {"skin_colour": 0.4},
}


def leaking(generator) -> dict[str, np.ndarray]:
    """Steps that move other coordinates as well, at another length before they are scaled."""
    steps = {}
    for name, others in LEAKS.items():
        own, sign = PARAMETERS[name]
        moves = np.array([sign, *others.values()])
        direction = moves @ generator.exact_directions([own, *others])
        steps[name] = step_of_one(generator, 0.3 * direction, own, sign)
    return steps


def test_leakage_predicts_the_error_where_effects_add_up(generator):
    audit, steps = audit_of(generator, by_coordinate), leaking(generator)
    truth = flip_audit.mean_changes(audit.changes_by_hand())
    brought = audit.predicted_error(steps, truth)
    assert list(brought.index) == list(LEAKS)
    assert list(brought.columns) == [own for own, _ in PARAMETERS.values()]
    for name, others in LEAKS.items():
        for own, _ in PARAMETERS.values():
            expected = others.get(own, 0) * WEIGHTS.get(own, 0)
            assert brought.loc[name, own] == pytest.approx(expected, abs=1e-3)
    found = audit.audited(steps, truth, "leaking")
    np.testing.assert_allclose(found["error"], brought.sum(axis=1), atol=1e-3)


def test_leakage_predicts_the_error_to_first_order_where_effects_bend(generator):
    codes = generator.sample(400, seed=3)
    audit = flip_audit.KnownTruth(generator, PARAMETERS, codes, codes, by_column)
    truth, steps = flip_audit.mean_changes(audit.changes_by_hand()), leaking(generator)
    predicted = audit.predicted_error(steps, truth).sum(axis=1)
    error = audit.audited(steps, truth, "leaking")["error"]
    assert (error.abs() > 0.005).all()
    np.testing.assert_allclose(error, predicted, rtol=0.3)
