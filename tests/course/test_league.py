"""A small league played by scripts: orders, commitment, refusals; cheating gains nothing."""

import hashlib
import json
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from course import league, scoring, sealed
from course.scoring import Refused

TEAMS = ["red", "green"]
SMALL = league.CONFIGURATION | {"transects": 4, "portraits": 300, "faces of the truth": 60}
BOOK_SEED = 20200715


@pytest.fixture(scope="module")
def spring(tmp_path_factory):
    """A league that two scripted teams have played: its folder and what they handed in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sealed, "MATCHED", (60, 15))
        patch.setattr(league.secrets, "token_bytes", lambda n: bytes(range(n)))
        folder = tmp_path_factory.mktemp("league") / "spring"
        league.new(folder, TEAMS, SMALL)
        hand_in = folder.parent / "hand in"
        league.rehearse(folder, hand_in, [(90, 5), (15, 5)])
        yield folder, hand_in


def graded(folder, hand_in):
    return league.grade(folder, hand_in).set_index("entry")


def test_more_transects_and_raters_earn_more(spring):
    standings = pd.read_csv(spring[0] / "standings.csv").set_index("entry")
    assert standings.loc["red", "S"] < standings.loc["green", "S"] < 100
    ladder = ["matched 60", "matched 15", "counting portraits"]
    assert all(
        standings.loc[one, "L"] > standings.loc[other, "L"] for one, other in pairwise(ladder)
    )
    assert standings.loc["[−1, 1]", ["S", "L", "coverage"]].tolist() == [200, 0, 1]
    assert standings.loc["red", "reaches"].startswith(("matched", "cells"))
    assert standings.loc[TEAMS, "points"].isna().all()  # memos were not read yet
    assert "| red |" in (spring[0] / "standings.md").read_text(encoding="utf-8")


def test_memos_complete_the_points(spring):
    folder, hand_in = spring
    memos = hand_in / "memos.csv"
    memos.write_text("team,memo\nred,80\n")
    red = graded(folder, hand_in).loc["red"]
    assert red["points"] == pytest.approx(0.5 * red["L"] + 0.2 * red["B"] + 24)
    for text, says, complete in (
        ("team,memo\nred,80\npink,80\n", "line 3: team 'pink'", [False, False]),
        ("team,memo\nred,80\ngreen,70\nred,90\n", "line 4: team 'red' once", [False, True]),
        ("", "no CSV table was found", [False, False]),
    ):
        memos.write_text(text)
        found = graded(folder, hand_in).loc[TEAMS]
        assert says in found.loc["red", "note"] and found["L"].gt(0).all()
        assert found["points"].notna().tolist() == complete
    memos.unlink()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda table: table.drop(index=5), "row model=A.*is missing, 72 rows were expected"),
        (lambda table: table.assign(low=1.0), "line 2 .*low is 1.0, .*low ≤ estimate ≤ high"),
        (lambda table: table.assign(high=np.nan), "line 2 .*high is '', a number from -1 to 1"),
        (lambda table: table.assign(high=5.3), "line 2 .*high is '5.3', .* 5 points are 0.05"),
        (lambda table: table.assign(p_beyond="yes"), "p_beyond is 'yes', a number from 0 to 1"),
        (lambda table: table.assign(model="G"), "line 2: model=G, .* is no row of a verdict"),
        (lambda table: pd.concat([table, table[:1]]), "line 74: .* was in line 2"),
        (lambda table: pd.DataFrame(columns=[";".join(table)]), "by a semicolon, a comma"),
        (lambda table: table.rename(columns={"low": "lower"}), "column 'low', expected were"),
    ],
)
def test_a_malformed_verdict_gets_one_sentence(tmp_path, change, says):
    path = tmp_path / "verdict.csv"
    change(scoring.template()).to_csv(path, index=False)
    with pytest.raises(Refused, match=says) as refusal:
        scoring.read_verdict(path)
    assert str(refusal.value).startswith(str(path)) and "\n" not in str(refusal.value)


def test_a_verdict_may_be_in_any_order(tmp_path):
    shuffled = scoring.template().sample(frac=1, random_state=1)
    shuffled.astype(dict.fromkeys(scoring.AXES, float)).to_csv(tmp_path / "v.csv", index=False)
    pd.testing.assert_frame_equal(scoring.read_verdict(tmp_path / "v.csv"), scoring.template())
    with pytest.raises(Refused, match="Is a directory; a verdict was expected"):
        scoring.read_verdict(tmp_path)


def test_rows_near_the_tolerance_are_dropped():
    truth = scoring.rows().assign(effect=0.0, se=0.01)
    truth.loc[0, "effect"] = 0.06  # one standard error above: nobody can say
    sure = scoring.template().assign(p_beyond=0.0)
    assert scoring.score(sure, truth)["brier"] == 0
    assert scoring.score(sure, truth.assign(se=0.001))["brier"] == pytest.approx(1 / 72)


@pytest.mark.parametrize(
    ("order", "says"),
    [
        ("transects: 400\nraters: 5\nplan: " + 64 * "a", "costs 2,560.00, at most 1,000"),
        ("transects: 4\nraters: 5\nplan: x", "plan is 'x', the SHA-256"),
        ("transects: 4.5\nraters: 5\nplan: x", "transects is 4.5, a whole number"),
        ("transects: 4\nraters: 5\nplan: x\nseed: 1", "fields are .*seed.*; expected were exactly"),
        ("transects: [", "no YAML was found"),
        (3000 * "[" + 3000 * "]", "no YAML was found"),
        ("a: &a [1]\nb: [*a, *a]", "an alias .* was found"),
    ],
)
def test_a_wrong_order_gets_one_sentence(tmp_path, order, says):
    (tmp_path / "order.yml").write_text(order)
    with pytest.raises(Refused, match=says):
        league.read_order(tmp_path / "order.yml", SMALL)


def test_an_order_and_its_plan_are_frozen(spring, tmp_path):
    folder, hand_in = spring
    form = (hand_in / "red" / "order.yml").read_text()
    shouted = form.replace(": 90", ": 15").replace(form.split()[1], form.split()[1].upper())
    for team, order in {"red": form.replace(": 90", ": 91"), "green": shouted}.items():
        (tmp_path / team).mkdir()
        (tmp_path / team / "order.yml").write_text(order)
    said = league.deliver(folder, tmp_path)
    assert "team red" in said[0] and "no other order" in said[0] and len(said) == len(TEAMS)
    assert said[1].startswith("team green: 15 transects")
    (tmp_path / "red" / "plan.json").write_text("{}")
    note = graded(folder, tmp_path).loc["red", "note"]
    assert "the plan is not the one whose hash is in the order" in note
    league.grade(folder, hand_in)


def test_the_bundle_holds_no_key_and_no_parameters(spring):
    folder, _ = spring
    key = (folder / "secret" / "key").read_text()
    assert (folder / "secret" / "key").stat().st_mode & 0o777 == 0o600
    seal, given = sealed.Seal(bytes.fromhex(key), "red"), b""
    for path in [folder / "commitment.json", *(folder / "teams").rglob("*.*")]:
        given += path.read_bytes().lower()
    secrets = [key, str(int(key, 16)), *sealed.KINDS, *map(str, seal.truth(60)["effect"].unique())]
    secrets += [str(part) for model in seal.models.values() for part in (model.base, model.size)]
    assert not [secret for secret in secrets if len(secret) > 4 and secret.encode() in given]


def test_no_seed_of_the_book_and_no_other_team_leads_to_a_teams_data(spring):
    folder, _ = spring
    given = pd.read_csv(folder / "teams" / "red" / "pilot" / "transects.csv")
    guesses = {f"key {BOOK_SEED}": sealed.Seal(str(BOOK_SEED).encode(), "red")}
    guesses["zeros"] = sealed.Seal(bytes(32), "red")
    tables = {name: seal.transects("pilot", 4, 5) for name, seal in guesses.items()}
    tables["green"] = pd.read_csv(folder / "teams" / "green" / "pilot" / "transects.csv")
    for name, table in tables.items():
        assert (table["age"] == given["age"]).mean() < 0.5, name
    delivered = pd.read_csv(folder / "teams" / "red" / "delivery" / "transects.csv")
    assert not {*delivered["image_id"]} & {*given["image_id"]}


def test_a_reveal_ends_the_grading_and_can_be_verified(spring, monkeypatch):
    folder, hand_in = spring
    first = (hand_in / "red" / "verdict.csv").read_bytes()
    known = sealed.Seal(bytes(range(32)), "red").truth(60)  # by a team that has the key
    exact = known.assign(estimate=known["effect"], low=known["effect"], high=known["effect"])
    exact.assign(p_beyond=0.5)[[*scoring.KEYS, *scoring.CLAIMS]].to_csv(
        hand_in / "red" / "verdict.csv", index=False
    )
    assert "changed after the first grading" in graded(folder, hand_in).loc["red", "note"]
    (hand_in / "red" / "verdict.csv").write_bytes(first)
    league.grade(folder, hand_in)
    league.reveal(folder)
    for late in (league.grade, league.deliver):
        with pytest.raises(Refused, match="the key is revealed"):
            late(folder, hand_in)
    assert sum("what the standings say" in told for told in league.verify(folder)) == len(TEAMS)
    for name, column in (
        ("teams/red/pilot/transects.csv", "error_A"),
        ("teams/red/delivery/verdict.csv", "p_beyond"),
        ("standings.csv", "S"),
    ):
        before, table = (folder / name).read_bytes(), pd.read_csv(folder / name)
        table.assign(**{column: 1 - table[column]}).to_csv(folder / name, index=False)
        with pytest.raises(Refused, match=f"{name}: (is not|team red has)"):
            league.verify(folder)
        (folder / name).write_bytes(before)
    (folder / "revealed.json").write_text(json.dumps({"key": hashlib.sha256(b"").hexdigest()}))
    with pytest.raises(Refused, match="not those of commitment"):
        league.verify(folder)


def test_the_effects_are_those_of_their_kinds_and_a_little_of_their_own(monkeypatch):
    null = {m.kind: m for m in sealed.Seal(bytes(32), "red").models.values()}["null"]
    assert len(set(null.by_cell)) == 8 and 0.01 < np.std(null.by_cell) < 2 * sealed.OWN
    monkeypatch.setattr(sealed, "OWN", 0)
    seal = sealed.Seal(bytes(32), "red")
    truth = seal.truth(60).set_index(["model", "attribute"])["effect"]
    names = {model.kind: name for name, model in seal.models.items()}
    for kind in ("null", "stowaway"):
        assert np.abs(truth[names[kind]]).max() < 1e-12
    skin = truth[names["cancelling by gender"], "skin_colour"].to_numpy()
    assert np.abs(skin).min() > 0.05 and skin.min() < 0 < skin.max()
    assert (np.abs(truth[names["one cell"], "skin_colour"]) > 0.05).sum() == 1
    blamed = names["hair only"]
    assert np.abs(truth[blamed, "skin_colour"]).max() < 1e-12
    portraits = sealed.with_levels(seal.portraits(1000, 5)).query("label == 0")
    by_skin = portraits.groupby("skin_colour_level")[f"error_{blamed}"].mean()
    assert abs(by_skin[1] - by_skin[0]) > 0.1  # what counting would call an effect of skin


def test_grading_needs_no_torch():
    blocked = "import sys; sys.modules |= dict.fromkeys(['torch', 'fcntl', 'msgspec'])\n"
    subprocess.run([sys.executable, "-c", blocked + "import course.league"], check=True)


def test_the_command_ends_with_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(league, "HOME", tmp_path)
    with pytest.raises(SystemExit, match="nowhere: there is no league; `new` makes one"):
        league.main(["grade", "nowhere", str(tmp_path)])
    with pytest.raises(SystemExit, match="team 'a/b': expected were different names"):
        league.main(["new", "spring", "a/b"])
