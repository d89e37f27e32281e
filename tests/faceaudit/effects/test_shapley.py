import re
from itertools import permutations

import numpy as np
import pytest

from faceaudit.effects import sets_of, shapley_shares
from faceaudit.utils.errors import InputError


def effects_of(names, seed):
    """An effect on 5 units of every set of interventions, drawn at random."""
    random = np.random.default_rng(seed)
    return {one: random.normal(size=5) for one in sets_of(names)}


def by_all_orders(effects, names):
    """Shares by their definition: what each adds, averaged over all orders."""
    shares = {name: [] for name in names}
    for order in permutations(names):
        before = frozenset()
        for name in order:
            after = before | {name}
            shares[name].append(effects[after] - (effects[before] if before else 0))
            before = after
    return {name: np.mean(added, axis=0) for name, added in shares.items()}


@pytest.mark.parametrize("names", ["a", "ab", "abc", "abcde"])
def test_shares_are_the_mean_over_all_orders(names):
    effects = effects_of(names, len(names))
    shares, reference = shapley_shares(effects), by_all_orders(effects, names)
    assert [*shares] == [*names]
    for name in names:
        np.testing.assert_allclose(shares[name], reference[name], atol=1e-12)


def test_shares_sum_to_the_joint_effect_and_not_to_the_sum_of_the_single_ones():
    effects = effects_of("abcd", 3)
    shares = sum(shapley_shares(effects).values())
    np.testing.assert_allclose(shares, effects[frozenset("abcd")], atol=1e-12)
    single = sum(effects[frozenset(name)] for name in "abcd")
    assert not np.allclose(shares, single)


def test_who_adds_up_has_its_own_effect_and_who_changes_no_effect_has_no_share():
    own = {"a": 2.0, "b": 5.0, "idle": 0.0}
    effects = {one: sum(own[name] for name in one) for one in sets_of(own)}
    assert shapley_shares(effects) == pytest.approx(own)


def test_names_are_in_the_order_of_the_sets():
    assert [*shapley_shares({frozenset({one}): 1.0 for one in ["z"]})] == ["z"]
    assert [*shapley_shares(dict.fromkeys(sets_of(["skin", "hair"]), 1.0))] == ["skin", "hair"]


def test_a_set_is_missing():
    effects = {frozenset("a"): 1.0, frozenset("ab"): 2.0}
    with pytest.raises(InputError, match="effects has none of b, but a share needs") as refused:
        shapley_shares(effects)
    assert (refused.value.field, refused.value.expected) == ("effects", "3 sets")


def test_the_joint_effect_is_missing():
    effects = {frozenset("a"): 1.0, frozenset("b"): 2.0}
    with pytest.raises(InputError, match="effects has none of a and b together"):
        shapley_shares(effects)


def test_no_intervention_has_no_effect():
    with pytest.raises(InputError, match=re.escape("is 0 and is not given")):
        shapley_shares({frozenset(): 0.0, frozenset("a"): 1.0})
    with pytest.raises(InputError, match="effects is empty"):
        shapley_shares({})


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("skin", "the key 'skin', a set of names such as frozenset({'skin'}) was expected"),
        (("skin",), "the key ('skin',), a set of names such as frozenset({'skin'}) was expected"),
        (frozenset({1}), "the key frozenset({1}), a set of names such as"),
    ],
)
def test_a_key_is_a_set_of_names(key, expected):
    with pytest.raises(InputError, match=re.escape(expected)):
        shapley_shares({key: 2.0})


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        (np.nan, "the effect of b holds nan, finite numbers were expected"),
        (None, "the effect of b holds None, finite numbers were expected"),
        ("1.0", "the effect of b holds '1.0', finite numbers were expected"),
        ([1.0, np.inf], "the effect of b holds inf, finite numbers were expected"),
        ([1.0, 2.0, 3.0], "the effect of b: shape (3,), expected (2,) as of the effect of a"),
        (1.0, "the effect of b: shape (), expected (2,) as of the effect of a"),
    ],
)
def test_effects_are_finite_numbers_of_one_shape(effect, expected):
    effects = {frozenset("a"): [1.0, 2.0], frozenset("b"): effect, frozenset("ab"): [1.0, 3.0]}
    with pytest.raises(InputError, match=re.escape(expected)):
        shapley_shares(effects)
