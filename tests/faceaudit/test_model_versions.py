"""Two versions of a model: what they answer, how often they do not, and who closes the gate."""

import pickle

import numpy as np
import pandas as pd
import pytest

import faceaudit
from faceaudit.utils.errors import InputError

SETTINGS = {"unit": "face", "axes": {"skin": ["light", "dark"]}, "tolerance": 0.05}
ANSWERED = SETTINGS | {"label": "truth", "pred": "says"}


def matched(faces, errors=0.05, seed=1):
    """Two images of every face, and a model that errs on a share of them, on both levels alike."""
    draws = np.random.default_rng(seed)
    face = np.repeat(np.arange(faces), 2)
    truth = np.repeat(draws.integers(0, 2, faces), 2)
    wrong = draws.random(2 * faces) < errors
    skin = ["light", "dark"] * faces
    says = (truth ^ wrong).astype(float)
    return pd.DataFrame({"face": face, "skin": skin, "truth": truth, "says": says})


@pytest.fixture(scope="module")
def frame():
    return matched(400)


def audit_of(frame, **settings):
    return faceaudit.table(frame, **(ANSWERED | settings))


def refusing(frame):
    """The version that refuses a part of the dark images: those on which it would err."""
    errs = (frame["skin"] == "dark") & (np.random.default_rng(0).random(len(frame)) < 0.2)
    wrong = errs | (frame["says"] != frame["truth"])
    return frame.assign(says=frame["says"].mask(wrong))


@pytest.fixture(scope="module")
def refusal(frame):
    return faceaudit.compare(audit_of(frame), audit_of(refusing(frame)))


# --- departures from a plan


def test_the_tolerance_is_that_of_the_audits_not_of_their_plan(frame):
    """Eleven of a hundred faces are answered wrongly now; the plan would allow twenty."""
    turned = np.repeat(np.random.default_rng(5).random(len(frame) // 2) < 0.11, 2)
    worse = frame.assign(says=np.where(turned, 1 - frame["truth"], frame["says"]))
    wide = ANSWERED | {"tolerance": 0.2}
    plan = faceaudit.plan(400, **wide)
    old, new = (audit_of(one, plan=plan) for one in (frame, worse))
    changed = faceaudit.compare(old, new, allow_departures=True)
    assert changed.tolerance == 0.05
    assert changed.changes["estimate"].iloc[0] > 0.09
    assert changed.code_of_comparison == changed.gate() == 1
    with pytest.raises(InputError, match=r"tolerance of old is 0.05, that of new is 0.2"):
        faceaudit.compare(old, audit_of(worse, **wide))


def test_departures_close_the_gate_unless_they_are_allowed(frame):
    plan = faceaudit.plan(300, **ANSWERED)
    audits = [audit_of(frame, plan=plan) for _ in range(2)]
    assert faceaudit.compare(*audits).gate() == 1
    assert faceaudit.compare(*audits, allow_departures=True).gate() == 0


def test_an_audit_with_other_contrasts_than_planned_is_refused():
    levels = {"skin": ["light", "brown", "dark"]}
    face = np.repeat(np.arange(40), 3)
    frame = pd.DataFrame({"face": face, "skin": levels["skin"] * 40, "truth": 0, "says": face % 2})
    settings = ANSWERED | {"axes": levels}
    plan = faceaudit.plan(40, **settings)
    moved = faceaudit.table(frame, **settings, contrasts="trend", plan=plan)
    with pytest.raises(InputError, match="old compares dark instead of light, by the trend, and"):
        faceaudit.compare(moved, moved)


# --- what has no answer


def test_a_version_that_refuses_the_images_it_errs_on_does_not_pass(frame, refusal):
    """The share without an answer is paired by image: a loop over the images says the same."""
    assert refusal.changes["verdict"].tolist() == ["within"] * 3
    refused = refusing(frame)["says"].isna().astype(float)
    by_level = refused.groupby(frame["skin"], sort=False).mean()
    of_faces = refused.groupby(frame["face"]).mean()
    missing = refusal.missing.set_index("cell")
    assert missing.index.tolist() == ["all faces", "light", "dark"]
    expected = [of_faces.mean(), *by_level]
    assert missing["estimate"].tolist() == pytest.approx(expected)
    se = of_faces.std(ddof=1) / np.sqrt(len(of_faces))
    width = (missing["high"] - missing["low"])["all faces"]
    assert width == pytest.approx(2 * 1.96 * se, rel=0.05)
    assert missing["verdict"].tolist() == ["exceeds", "inconclusive", "exceeds"]
    assert refusal.code_of_comparison == refusal.gate() == 1


def test_a_version_that_answers_more_passes_if_enough_images_are_left(frame):
    refused = refusing(frame)["says"].mask(frame["face"] % 2 == 0, frame["says"])
    fewer = frame.assign(says=refused)  # by one half, so that the policy's share is kept
    changed = faceaudit.compare(audit_of(fewer), audit_of(frame))
    assert changed.missing["estimate"].max() < 0
    assert changed.gate() == changed.code_of_comparison == 0
    assert faceaudit.compare(audit_of(frame), audit_of(fewer)).gate() == 1


def test_images_without_an_answer_in_both_are_no_change(frame):
    half = frame.assign(says=frame["says"].mask(frame["face"] < 20))
    changed = faceaudit.compare(audit_of(half), audit_of(half))
    assert changed.missing.empty and list(changed.missing) == list(changed.changes)
    assert changed.gate() == 0
    assert (changed.counted.images, changed.counted.both) == (800, 760)


def test_both_outcomes_share_the_level():
    """Faces that the new version refuses leave the pairs of the others as they are."""
    faces = 420
    old = matched(faces, errors=0.0)
    errs = old["face"] % 12 == 0  # 35 of 420 faces: 8.3 points
    alone, with_missing = [], []
    for frame, found in ((old[old["face"] < faces - 1], alone), (old, with_missing)):
        new = frame.assign(says=(1 - frame["says"]).where(errs, frame["says"]))
        refused = new.assign(says=new["says"].mask(new["face"] == faces - 1))
        found.append(faceaudit.compare(audit_of(frame), audit_of(refused)))
    (alone,), (with_missing,) = alone, with_missing
    assert alone.missing.empty and len(with_missing.missing) == 3
    p, p_shared = (one.changes["p_beyond_holm"].iloc[0] for one in (alone, with_missing))
    assert 0 < p < 0.05
    assert p_shared == pytest.approx(2 * p, rel=1e-12)


def test_missing_answers_are_held_against_points_where_a_number_is_compared(frame):
    years = frame.assign(years=np.random.default_rng(3).normal(0, 3, len(frame)))
    settings = SETTINGS | {"outcome": "years", "tolerance": 2.0}
    later = years["years"] + np.random.default_rng(4).normal(0, 1, len(frame))
    refused = years.assign(years=later.mask(years["face"] < 40))
    changed = faceaudit.compare(
        faceaudit.table(years, **settings), faceaudit.table(refused, **settings)
    )
    assert changed.missing["estimate"].tolist() == pytest.approx([0.1] * 3)
    assert changed.missing["verdict"].iloc[0] == "exceeds" and changed.gate() == 1
    assert (
        "the share of missing images rises by more than the tolerance of 5 points"
        in (changed.obstacles[0])
    )


def test_a_monitored_comparison_has_missing_answers_at_every_look(frame):
    monitored = {"policy": {"monitor": True}}
    old = audit_of(frame, **monitored)
    new = audit_of(refusing(frame), **monitored, previous=old)
    changed = faceaudit.compare(old, new)
    once = faceaudit.compare(audit_of(frame), audit_of(refusing(frame)))
    assert changed.missing["estimate"].tolist() == pytest.approx(once.missing["estimate"].tolist())
    width, width_once = (table["high"] - table["low"] for table in (changed.missing, once.missing))
    assert (width > width_once).all()
    assert changed.gate() == 1 and changed.monitored.sentence in changed.answer


# --- who closes the gate


def test_too_few_images_that_both_versions_answer_are_undecided(frame):
    right = frame.assign(says=frame["truth"].astype(float))
    asked = {"policy": {"faces": 380}}
    old, new = (
        audit_of(right.assign(says=right["says"].mask(right["face"].isin(range(*faces)))), **asked)
        for faces in ((0, 15), (15, 30))
    )
    assert old.gate() == new.gate() == 0
    changed = faceaudit.compare(old, new)
    assert [row.demand for row in changed.coverage if not row.met] == ["faces"]
    assert changed.gate() == changed.code_of_comparison == 2
    assert changed.obstacles == [
        "the comparison: coverage: The smallest cell has 370 faces that count (light); "
        "380 are asked for."
    ]
    counted = changed.counted
    assert (counted.images, counted.old, counted.new, counted.both) == (800, 770, 770, 740)
    assert (
        "Of 800 images, 770 count in the old version, 770 in the new one, and 740 in both; the "
        "change of the error rate is that of these 740."
    ) in changed.answer


@pytest.mark.parametrize("old", ["always wrong", "constant"])
def test_a_version_does_not_pass_that_its_own_audit_fails(frame, old):
    """Neither with fewer errors than the other version, nor with a failing that both have."""
    constant = frame.assign(says=1.0)
    versions = {"always wrong": frame.assign(says=1.0 - frame["truth"]), "constant": constant}
    new = audit_of(constant)
    changed = faceaudit.compare(audit_of(versions[old]), new)
    assert changed.code_of_comparison == 0
    assert changed.gate() == changed.gate_of_new.code == new.gate() == 1
    assert (
        "The comparison passes. The new version's own audit does not pass (gate: 1)."
        in (changed.answer[0])
    )
    (line,) = changed.obstacles
    assert line.startswith("the new version's own audit: doubt, constant: ")


def test_a_contradictory_report_says_less_than_one_that_fails(frame, refusal):
    damaged = audit_of(refusing(frame))
    damaged = type(damaged)(
        damaged.report.model_copy(update={"verdict": "within"}), damaged.frame, damaged.images
    )
    assert damaged.gate() == 3
    changed = faceaudit.compare(audit_of(frame), damaged)
    assert (changed.code_of_comparison, changed.gate()) == (1, 3)
    assert changed.answer[0].startswith("The report of the new version contradicts itself")


# --- what is shown


def test_the_text_has_the_verdict_and_the_answer_in_ten_lines(frame, refusal):
    lines = repr(refusal).splitlines()
    assert len(lines) <= 10
    assert lines[0] == "new version against old: exceeds (tolerance 0.05)"
    assert lines[1].startswith("The new version may not take the place of the old one (gate: 1).")
    assert "Of 800 images, 800 count in the old version" in repr(refusal)
    changed = faceaudit.compare(audit_of(frame), audit_of(frame))
    assert changed.verdict == "within" and changed.obstacles == []
    assert repr(changed).splitlines()[1:] == [
        "The new version may take the place of the old one (gate: 0).",
        "The error rate changes by +0.0 points over all faces (95% interval −1.0 to +1.0): within "
        "the tolerance; the tolerance is 5 points.",
        "The error rate by groups: 2 within the tolerance.",
        "All 800 images count in both versions.",
    ]


def test_a_notebook_has_the_answer_first_and_every_change(refusal):
    html = refusal._repr_html_()
    first = html.index("The new version may not take the place of the old one")
    own = html.index("The new version&#39;s own audit: exceeds: Skin")
    assert first < own < html.index("The error rate changes by") < html.index("<table>")
    assert html.count("<tr>") == 1 + len(refusal.changes) + len(refusal.missing)
    dark = 100 * refusal.missing.set_index("cell")["estimate"]["dark"]
    assert f"<td>share of missing images</td><td>dark</td><td>+{dark:.1f} points</td>" in html


def test_a_comparison_is_pickled(refusal):
    again = pickle.loads(pickle.dumps(refusal))
    assert again.gate() == refusal.gate() and repr(again) == repr(refusal)
    pd.testing.assert_frame_equal(again.missing, refusal.missing)


# --- names of images


def test_rows_in_another_order_need_names_of_images(frame):
    shuffled = frame.sample(frac=1, random_state=0)
    with pytest.raises(InputError, match="name the column of the images' names by image="):
        faceaudit.compare(audit_of(frame), audit_of(shuffled))
    named = frame.assign(photo=[f"{row.face}-{row.skin}" for row in frame.itertuples()])
    old, new = (
        audit_of(one, image="photo") for one in (named, named.sample(frac=1, random_state=0))
    )
    assert faceaudit.compare(old, new).changes["estimate"].tolist() == [0, 0, 0]
    swapped = named["photo"].replace({"0-light": "0-dark", "0-dark": "0-light"})
    with pytest.raises(InputError, match="the same was expected$"):
        faceaudit.compare(old, audit_of(named.assign(photo=swapped), image="photo"))
