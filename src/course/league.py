"""The audit league: teams order data about sealed models, hand in verdicts, and meet the truth.

    python -m course.league new NAME TEAM…
    python -m course.league deliver NAME ORDERS
    python -m course.league grade NAME SUBMISSIONS
    python -m course.league reveal NAME
    python -m course.league verify FOLDER

Files are under build/league/NAME. `secret/` has the key, the truth and the reference entries, and
is the instructor's alone. `commitment.json` is published first: it has the configuration and the
SHA-256 of key and configuration. `teams/TEAM/` is handed to the team. The data of an order do not
exist before the order is frozen, with the hash of the team's plan. A verdict is frozen when it is
first scored. Nothing is graded any more once the key is revealed; everybody can then compute all
files anew and compare.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import reprlib
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import yaml

from course import scoring
from course.scoring import Refused

if TYPE_CHECKING:
    from course.sealed import Seal

HOME = Path(__file__).parents[2] / "build" / "league"
CONFIGURATION = {
    "transects": 50,
    "portraits": 2000,
    "raters": 5,
    "faces of the truth": 2000,
    "budget": 1000,
    "price of an answer": 0.02,
}
"""What a pilot has, of how many faces the truth is the mean, and what an order may cost."""
QUESTIONS = 8
KEPT = ("truth.csv", "references.csv")
"""What grading compares with; secret until the reveal."""
ORDER = """\
# Whole numbers: how many transects, and how many raters judge each of their images. An order may
# cost {budget}, and costs 8 images x transects x {questions} questions x raters x {price}.
transects: {transects}
raters: {raters}
# The SHA-256 of your file plan.json, 64 digits and letters.
plan: ""
"""


def cost(transects: int, raters: int, configuration: dict) -> float:
    """Price of an order, as chapter 16 computes it: raters judge every attribute of every image.

    Example:
        >>> cost(400, 5, CONFIGURATION)
        2560.0
    """
    return 8 * transects * QUESTIONS * raters * configuration["price of an answer"]


def new(folder: Path, teams: Sequence[str], configuration: dict = CONFIGURATION) -> None:
    """Draw the key, publish the commitment, and make every team's pilot.

    Args:
        folder: of the league; its name is the league's.
        teams: their names.
        configuration: see `CONFIGURATION`.

    Raises:
        Refused: a league of this name, or a team's name that is no plain word or occurs twice.
    """
    if folder.exists():
        raise Refused(f"{folder}: there is a league of this name; another name was expected")
    for team in teams:
        if not re.fullmatch(r"[A-Za-z0-9_-]+", team) or teams.count(team) > 1:
            raise Refused(f"team {team!r}: expected were different names of letters and digits")
    key = secrets.token_bytes(32)
    secret = folder / "secret"
    secret.mkdir(parents=True, mode=0o700)
    (secret / "key").touch(mode=0o600)
    (secret / "key").write_text(key.hex(), encoding="ascii")
    public = {"league": folder.name, "teams": list(teams)} | configuration
    _write_json(
        folder / "commitment.json", {"configuration": public, "sha256": _fingerprint(key, public)}
    )
    tables = []
    for team in teams:
        home = folder / "teams" / team
        seal = _seal_of(key, team)
        pilot = _pilot(seal, public)
        for name, table in pilot.items():
            _write(table, home / name)
        tables.append(_graded_by(seal, public, pilot["pilot/portraits.csv"]))
        (home / "order.yml").write_text(_order_form(public), encoding="utf-8")
        _write(scoring.template(), home / "verdict.csv")
        _write_json(home / "commitment.json", _read_json(folder / "commitment.json"))
    for name, parts in zip(KEPT, zip(*tables, strict=True), strict=True):
        _write(pd.concat(parts), secret / name)


def _seal_of(key: bytes, team: str) -> Seal:
    from course.sealed import Seal  # with torch, which grading does without

    return Seal(key, team)


def _pilot(seal: Seal, public: dict) -> dict[str, pd.DataFrame]:
    """Tables of a team's pilot by the names of their files."""
    return {
        "pilot/transects.csv": seal.transects("pilot", public["transects"], public["raters"]),
        "pilot/portraits.csv": seal.portraits(public["portraits"], public["raters"]),
    }


def _delivery(seal: Seal, public: dict, order: dict) -> dict[str, pd.DataFrame]:
    """The table of an order by the name of its file; it counts on from the pilot's transects."""
    table = seal.transects(
        "delivery", order["transects"], order["raters"], first=public["transects"]
    )
    return {"delivery/transects.csv": table}


def _graded_by(
    seal: Seal, public: dict, portraits: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A team's truth, and the scores of the reference entries on its models."""
    truth = seal.truth(public["faces of the truth"])
    entries = seal.references(portraits, public["raters"])
    scores = [{"entry": name} | scoring.score(verdict, truth) for name, verdict in entries.items()]
    return truth.assign(team=seal.team), pd.DataFrame(scores).assign(team=seal.team)


def deliver(folder: Path, orders: Path) -> list[str]:
    """Freeze the orders in `ORDERS/TEAM/order.yml` and make their data.

    Args:
        folder: of the league.
        orders: folder of the teams' folders.

    Returns:
        One sentence per team: what was delivered, or why nothing was.
    """
    public = _public(folder)
    key = _key(folder)
    _refuse_after_reveal(folder, "delivered")
    sentences = []
    for team in public["teams"]:
        frozen = folder / "teams" / team / "delivery" / "order.json"
        try:
            order = read_order(orders / team / "order.yml", public)
            if frozen.exists() and _read_json(frozen) != order:
                raise Refused(
                    f"team {team}: {_read_json(frozen)} was delivered; expected was no other order"
                )
            frozen.parent.mkdir(exist_ok=True)
            _write_json(frozen, order)
            for name, table in _delivery(_seal_of(key, team), public, order).items():
                _write(table, folder / "teams" / team / name)
            price = cost(order["transects"], order["raters"], public)
            size = f"{order['transects']} transects, {order['raters']} raters"
            sentences.append(f"team {team}: {size}, for {price:,.2f} of {public['budget']:,}")
        except Refused as refusal:
            sentences.append(str(refusal))
    return sentences


def read_order(path: Path, public: dict) -> dict:
    """A team's order: transects, raters, and the hash of its plan.

    Raises:
        Refused: a missing file, other fields, another kind of value, or more than the budget.
    """
    try:
        return _order(path, public)
    except Refused:
        raise
    except (yaml.YAMLError, OSError, ValueError, RecursionError):  # of whatever a team may send
        raise Refused(
            f"{path}: no YAML was found, lines like `transects: 200` were expected"
        ) from None


def _order(path: Path, public: dict) -> dict:
    if not path.is_file():
        raise Refused(f"{path}: the file is missing, an order was expected there")
    text = path.read_text(encoding="utf-8")
    if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
        raise Refused(f"{path}: an alias (*) was found, three plain lines were expected")
    order = yaml.safe_load(text)
    fields = ["transects", "raters", "plan"]
    if not isinstance(order, dict) or {*order} != {*fields}:
        content = reprlib.repr([*order] if isinstance(order, dict) else order)
        raise Refused(f"{path}: fields are {content}; expected were exactly {', '.join(fields)}")
    for name, least, most in (("transects", 2, 10_000), ("raters", 1, 50)):
        if type(order[name]) is not int or not least <= order[name] <= most:
            value = f"{name} is {reprlib.repr(order[name])}"
            bounds = f"from {least} to {most:,}"
            raise Refused(f"{path}: {value}, a whole number {bounds} was expected")
    plan = order["plan"]
    order["plan"] = str(plan).lower()
    if not re.fullmatch("[0-9a-f]{64}", order["plan"]):
        value = f"plan is {reprlib.repr(plan)}"
        raise Refused(f"{path}: {value}, the SHA-256 of plan.json was expected")
    price = cost(order["transects"], order["raters"], public)
    if price > public["budget"]:
        price_and_budget = f"{price:,.2f}, at most {public['budget']:,} was expected"
        raise Refused(f"{path}: the order costs {price_and_budget}")
    return order


def grade(folder: Path, submissions: Path) -> pd.DataFrame:
    """Score the verdicts in `SUBMISSIONS/TEAM`, and write the standings.

    A verdict that is scored for the first time is kept, and its hash; no other one is scored later.

    Raises:
        Refused: after the reveal.
    """
    _refuse_after_reveal(folder, "graded")
    plans = {}
    for team in _public(folder)["teams"]:
        frozen = folder / "teams" / team / "delivery" / "order.json"
        plans[team] = _read_json(frozen)["plan"] if frozen.exists() else ""
    truth, references = (pd.read_csv(folder / "secret" / name) for name in KEPT)
    hashes = _hashes_of_verdicts(folder)
    standings = scoring.grade(submissions, truth, references, plans, hashes)
    scored = standings[: len(plans)].dropna(subset="S")
    for team in scored["entry"]:
        if team not in hashes:
            copy = folder / "teams" / team / "delivery" / "verdict.csv"
            copy.write_bytes((submissions / team / "verdict.csv").read_bytes())
            _write_json(copy.with_suffix(".json"), {"sha256": scoring.fingerprint(copy)})
    scoring.write_standings(standings, folder)
    return standings


def _hashes_of_verdicts(folder: Path) -> dict[str, str]:
    """Team → SHA-256 of the verdict for which it was first scored."""
    hashes = {}
    for team in _public(folder)["teams"]:
        path = folder / "teams" / team / "delivery" / "verdict.json"
        if path.exists():
            hashes[team] = _read_json(path)["sha256"]
    return hashes


def reveal(folder: Path) -> None:
    """Publish the key, the truth, the reference entries and the hashes of all verdicts.

    Nothing is graded afterwards.

    Raises:
        Refused: nothing was graded yet.
    """
    if not (folder / "standings.csv").exists():
        raise Refused(f"{folder}: nothing is graded yet; after the reveal nothing can be graded")
    for name in KEPT:
        (folder / name).write_bytes((folder / "secret" / name).read_bytes())
    _write_json(folder / "verdicts.json", _hashes_of_verdicts(folder))
    _write_json(folder / "revealed.json", {"key": _key(folder).hex()})


def verify(folder: Path) -> list[str]:
    """Compute a revealed league anew from its key.

    Args:
        folder: with commitment.json, revealed.json and what was published; teams may be missing.

    Returns:
        What was compared, a line each.

    Raises:
        Refused: the first thing that is not what was committed to.
    """
    public = _public(folder)
    revealed = folder / "revealed.json"
    if not revealed.exists():
        raise Refused(f"{revealed}: the file is missing; the league was not revealed yet")
    key = bytes.fromhex(_read_json(revealed)["key"])
    if _fingerprint(key, public) != _read_json(folder / "commitment.json")["sha256"]:
        raise Refused(f"{folder}: key and configuration are not those of commitment.json")
    lines = ["commitment: key and configuration fit"]
    tables = []
    for team in public["teams"]:
        home = folder / "teams" / team
        seal = _seal_of(key, team)
        frozen = home / "delivery" / "order.json"
        pilot = _pilot(seal, public)
        published = pilot if home.exists() else {}
        if frozen.exists():
            published = published | _delivery(seal, public, _read_json(frozen))
        for name, table in published.items():
            _compare(table, home / name)
        tables.append(_graded_by(seal, public, pilot["pilot/portraits.csv"]))
        points = _graded_again(folder, team, tables[-1][0])
        lines.append(f"team {team}: {len(published)} tables are as the key makes them{points}")
    for name, parts in zip(KEPT, zip(*tables, strict=True), strict=True):
        _compare(pd.concat(parts), folder / name)
        lines.append(f"{name}: is as the key makes it")
    return lines


def _graded_again(folder: Path, team: str, truth: pd.DataFrame) -> str:
    """Refuse a kept verdict that was changed or does not earn what the standings say."""
    copy = folder / "teams" / team / "delivery" / "verdict.csv"
    hashes = folder / "verdicts.json"
    standings = folder / "standings.csv"
    if not all(path.exists() for path in (copy, hashes, standings)):
        return ""
    if scoring.fingerprint(copy) != _read_json(hashes).get(team):
        raise Refused(f"{copy}: is not the verdict whose hash is in verdicts.json")
    earned = scoring.score(scoring.read_verdict(copy), truth)
    table = pd.read_csv(standings)[: len(_public(folder)["teams"])].set_index("entry")
    points = table.reindex([team])[[*earned]].iloc[0]
    if points.isna().all():
        return "; its verdict has no points in the standings"
    if (points.fillna(-1) - pd.Series(earned).fillna(-1)).abs().max() > 1e-4:
        raise Refused(f"{standings}: team {team} has {dict(points)}, its verdict earns {earned}")
    return "; its verdict earns what the standings say"


def rehearse(folder: Path, hand_in: Path, orders: Sequence[tuple[int, int]]) -> pd.DataFrame:
    """Play a league by scripted teams, which order as they are told and analyse matched pairs.

    Args:
        folder: of the league, after `new`.
        hand_in: folder for what the teams hand in.
        orders: transects and raters of every team.

    Returns:
        The standings.
    """
    from course.sealed import matched

    teams = _public(folder)["teams"]
    for team, (transects, raters) in zip(teams, orders, strict=True):
        home = hand_in / team
        plan = json.dumps({"analysis": "matched pairs, cell by cell"})
        home.mkdir(parents=True)
        (home / "plan.json").write_text(plan, encoding="utf-8")
        order = {"transects": transects, "raters": raters}
        order["plan"] = hashlib.sha256(plan.encode()).hexdigest()
        (home / "order.yml").write_text(yaml.safe_dump(order), encoding="utf-8")
    deliver(folder, hand_in)
    for team in teams:
        delivered = pd.read_csv(folder / "teams" / team / "delivery" / "transects.csv")
        _write(matched(delivered), hand_in / team / "verdict.csv")
    return grade(folder, hand_in)


def _compare(table: pd.DataFrame, path: Path) -> None:
    """Refuse a file that is not this table, but for rounding."""
    try:
        published = pd.read_csv(path)
        expected = table.reset_index(drop=True).astype(published.dtypes)
        pd.testing.assert_frame_equal(published, expected, rtol=1e-6)
    except (OSError, AssertionError, ValueError, KeyError):
        raise Refused(f"{path}: is not what the key makes, expected was the same table") from None


def _fingerprint(key: bytes, public: dict) -> str:
    return hashlib.sha256(key + json.dumps(public, sort_keys=True).encode()).hexdigest()


def _public(folder: Path) -> dict:
    if not (folder / "commitment.json").exists():
        raise Refused(f"{folder}: there is no league; `new` makes one")
    return _read_json(folder / "commitment.json")["configuration"]


def _key(folder: Path) -> bytes:
    return bytes.fromhex((folder / "secret" / "key").read_text(encoding="ascii"))


def _refuse_after_reveal(folder: Path, done: str) -> None:
    if (folder / "revealed.json").exists():
        raise Refused(f"{folder}: the key is revealed, nothing is {done} any more")


def _order_form(public: dict) -> str:
    affordable = int(public["budget"] // cost(1, public["raters"], public))
    prices = {"price": public["price of an answer"], "budget": public["budget"]}
    return ORDER.format(
        questions=QUESTIONS, transects=affordable, raters=public["raters"], **prices
    )


def _write(table: pd.DataFrame, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False)


def _write_json(path: Path, content: dict) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _read_json(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="course.league", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for command, more in (
        ("new", {"teams": "+"}),
        ("deliver", {"orders": None}),
        ("grade", {"submissions": None}),
        ("reveal", {}),
    ):
        subparser = commands.add_parser(command)
        subparser.add_argument("name")
        for name, count in more.items():
            subparser.add_argument(name, nargs=count)
    commands.add_parser("verify").add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    try:
        if options.command == "verify":
            print(*verify(options.folder), sep="\n")
            return
        folder = HOME / options.name
        if options.command == "new":
            new(folder, options.teams)
            print(f"{folder}: publish commitment.json, hand out teams/, keep secret/ to yourself")
        elif options.command == "deliver":
            print(*deliver(folder, Path(options.orders)), sep="\n")
        elif options.command == "grade":
            grade(folder, Path(options.submissions))
            print((folder / "standings.md").read_text(encoding="utf-8"))
        else:
            reveal(folder)
            print(f"{folder}: publish all its files and none of its folders")
    except Refused as refusal:
        raise SystemExit(str(refusal)) from None


if __name__ == "__main__":
    main(sys.argv[1:])
