import numpy as np
import pytest
from scipy import stats

import facerender
from faceaudit.utils import seeding
from faceaudit.utils.errors import InputError
from faceworld import populations
from faceworld.scorecard import counted_gap
from faceworld.scorecard.counted_gap import BOTH, HAIR, ROWS, SKIN

SEED = 4


@pytest.fixture(scope="module")
def women():
    """Parameters of some women, the group of each, and who gives to whom."""
    sample = populations.sample("ppb-like", 300, SEED)
    chosen = (sample.frame["gender"] == 0).to_numpy(copy=True)
    skin = sample.frame["skin_colour"].to_numpy()[chosen]
    group = np.where(skin > 0.5, "dark", "light")
    return sample.parameters[chosen], group, counted_gap.draw_donors(group, SEED)


def test_who_gives_is_of_the_group_and_gives_as_often_as_others(women):
    _, group, donors = women
    for column, name in enumerate(counted_gap.GROUPS):
        assert (group[donors[:, column]] == name).all()
        times = np.bincount(donors[:, column], minlength=len(group))[group == name]
        assert np.ptp(times) <= 1


def test_the_draw_of_skin_is_that_of_chapter_11(women):
    _, group, donors = women
    members = np.flatnonzero(group == "dark")
    order = seeding.rng(SEED, "11_who_was_right: dark skin").permutation(len(members))
    assert (donors[:, 1] == members[np.resize(order, len(group))]).all()


@pytest.mark.parametrize("what", counted_gap.SETS)
def test_only_what_is_given_changes(women, what):
    parameters, _, donors = women
    changed = counted_gap.give(parameters, donors, what).reshape(len(parameters), 2, -1)
    given = [facerender.INDEX[counted_gap.GIVEN[one]] for one in what]
    rest = [column for column in range(parameters.shape[1]) if column not in given]
    for level in (0, 1):
        assert (changed[:, level][:, rest] == parameters[:, rest]).all()
        assert (changed[:, level][:, given] == parameters[donors[:, level]][:, given]).all()


def test_a_group_without_a_woman():
    with pytest.raises(InputError, match="no woman with dark skin") as refused:
        counted_gap.draw_donors(["light", "light"], SEED)
    assert refused.value.expected == ["light", "dark"]


@pytest.fixture(scope="module")
def apart(women):
    """A model that errs on cropped hair, and more so where skin is dark, taken apart."""
    parameters, group, donors = women

    def wrong(faces):
        skin, hair, age = (
            faces[:, facerender.INDEX[name]].numpy()
            for name in ("skin_colour", "hair_length", "age")
        )
        return ((hair < 0.2 + 0.1 * skin) | (age > 0.8)).astype(float)

    errors = wrong(parameters)
    pairs = {one: wrong(counted_gap.give(parameters, donors, one)) for one in counted_gap.SETS}
    changes = {one: np.diff(pair.reshape(-1, 2))[:, 0] for one, pair in pairs.items()}
    return errors, changes, counted_gap.take_apart(changes, errors, group, donors)


def test_the_table_by_plain_sums(women, apart):
    _, group, _ = women
    errors, changes, table = apart
    skin, hair, both = (changes[one].mean() for one in (SKIN, HAIR, BOTH))
    gap = errors[group == "dark"].mean() - errors[group == "light"].mean()
    of_skin = (skin + both - hair) / 2
    expected = [skin, hair, both, of_skin, both - of_skin, gap - both, gap]
    assert tuple(table.index) == ROWS
    np.testing.assert_allclose(table["estimate"], expected, atol=1e-12)
    np.testing.assert_allclose(table["share"], np.array(expected) / gap, atol=1e-12)
    assert hair > 0.1, "the model of this test errs on cropped hair"


def test_shares_and_other_differences_sum_to_the_gap(apart):
    estimate = apart[2]["estimate"]
    assert estimate.iloc[3:6].sum() == pytest.approx(estimate["counted gap"])
    assert estimate.iloc[3:5].sum() == pytest.approx(estimate["both"])


def test_the_gap_has_the_error_of_two_independent_means(women, apart):
    _, group, _ = women
    errors, changes, _ = apart
    alone = np.column_stack([np.arange(len(group))] * 2)  # each woman gives to herself only
    table = counted_gap.take_apart(changes, errors, group, alone)
    parts = [errors[group == name] for name in counted_gap.GROUPS]
    se = np.sqrt(sum(part.var(ddof=1) / len(part) for part in parts))
    assert table.loc["counted gap", "se"] == pytest.approx(se, rel=0.02)
    assert table.loc["hair length alone", "se"] == pytest.approx(stats.sem(changes[HAIR]))


def test_intervals_hold_what_other_draws_of_givers_find(women, apart):
    """The error over women and givers is larger than what the draw of givers alone makes."""
    parameters, group, _ = women
    _, _, table = apart
    found = []
    for seed in range(40):
        donors = counted_gap.draw_donors(group, seed)
        hair = parameters[:, facerender.INDEX["hair_length"]].numpy()
        skin = parameters[:, facerender.INDEX["skin_colour"]].numpy()
        old = parameters[:, facerender.INDEX["age"]].numpy() > 0.8
        wrong = (hair[donors] < (0.2 + 0.1 * skin)[:, None]) | old[:, None]
        found.append(np.diff(wrong.astype(float))[:, 0].mean())
    row = table.loc["hair length alone"]
    inside = (np.array(found) > row["low"]) & (np.array(found) < row["high"])
    assert inside.mean() >= 0.95
    assert 0 < np.std(found) < row["se"]


def test_a_mean_change_is_that_of_the_table(women, apart):
    _, _, donors = women
    _, changes, table = apart
    row = counted_gap.mean_change(changes[HAIR], donors)
    expected = table.loc["hair length alone", ["estimate", "se", "low", "high"]].to_dict()
    assert row == pytest.approx(expected)


def record_of(shares: dict[int, float]) -> list[dict]:
    """A record of two models, whose share of skin is given by seed; all else is the same."""
    rows = dict.fromkeys(ROWS, 5.0)
    return [
        {"what": f"seed {seed:02d}, {model}", **rows, "Shapley share of skin": share}
        for seed, share in shares.items()
        for model in ("one", "two")
    ]


def test_gaps_of_other_seeds_by_model():
    table = counted_gap.by_seed(record_of({1: 2.0, 2: 4.0}))
    assert table.loc["two", "Shapley share of skin"].tolist() == [0.02, 0.04]
    assert table.loc["one"].index.tolist() == ["seed 01", "seed 02"]
    assert list(table) == list(ROWS)


def test_shares_of_a_seed_that_was_held_out():
    seeds = record_of({1: 1.0, 2: 2.0, 3: 3.0})
    for row, other in zip(seeds, (4.0, 4.0, 5.0, 5.0, 6.0, 6.0), strict=True):
        row["Shapley share of hair length"] = other
    low, high = counted_gap.interval_of_another([1.0, 2.0, 3.0])
    held_out = record_of({21: 2.0, 22: high + 0.1, 23: low + 0.1})
    held_out[-1]["Shapley share of hair length"] = 50.0
    within = counted_gap.shares_within(counted_gap.by_seed(held_out), counted_gap.by_seed(seeds))
    assert within["one"].to_dict() == {"seed 21": True, "seed 22": False, "seed 23": True}
    assert within["two"].to_dict() == {"seed 21": True, "seed 22": False, "seed 23": False}


def test_interval_of_another_seed():
    values = np.array([1.0, 2.0, 4.0, 8.0])
    low, high = counted_gap.interval_of_another(values)
    reach = stats.t(3).ppf(0.975) * values.std(ddof=1) * np.sqrt(1.25)
    assert (low, high) == pytest.approx((values.mean() - reach, values.mean() + reach))
    assert np.isnan(counted_gap.interval_of_another([1.0])).all()


def test_another_normal_value_lies_in_it_in_19_of_20_cases():
    draws = np.random.default_rng(2).normal(size=(4000, 7))
    limits = np.array([counted_gap.interval_of_another(row[:6]) for row in draws])
    inside = (draws[:, 6] > limits[:, 0]) & (draws[:, 6] < limits[:, 1])
    assert inside.mean() == pytest.approx(0.95, abs=0.012)
