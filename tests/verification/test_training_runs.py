"""The record of repeated trainings: complete, and of the pairs that chapter 16 makes."""

from helpers import identities
from helpers.verification import training_runs


def test_the_record_holds_every_composition():
    pairs, accepted = training_runs.recorded()
    assert set(pairs["group"]) == set(identities.GROUPS) and pairs["match"].dtype == bool
    counts = accepted.columns.to_frame(index=False).groupby("composition").size()
    assert set(counts.index) == set(identities.COMPOSITIONS)
    assert counts.min() == counts.max() >= 7
    # Other trainings are other networks.
    assert not accepted.T.duplicated().any()
