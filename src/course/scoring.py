"""Verdicts that teams hand in, read and scored against the truth; needs numpy and pandas alone.

A verdict has a row for every model and every cell of every attribute, all as fractions: an
estimate, a 95% interval, and the probability that the effect is beyond the tolerance.

- S is the interval score (Gneiting & Raftery, Journal of the American Statistical Association 102
  (2007) 359-378) in points, averaged over the rows: the width, and 40 times the distance of the
  truth from an interval that misses it. On average it is least for the interval that says what is
  known; a narrower one pays for misses, a wider one for its width.
- L puts S on a logarithmic scale: 0 for the interval from -1 to 1, 100 at 8 points.
- The Brier score judges the probabilities. A row whose truth is within two of its standard errors
  of the tolerance is left out, because nobody can say on which side it lies.

A team is placed by the reference entries that it reaches on its own models, and not by its rank:
less than five points of L apart is a tie.
"""

import hashlib
from collections.abc import Mapping, Sequence
from io import StringIO
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

AXES = ("skin_colour", "hair_length", "gender")
MODELS = ("A", "B", "C", "D", "E", "F")
KEYS = ["model", "attribute", *AXES]
CLAIMS = ["estimate", "low", "high", "p_beyond"]
TOLERANCE = 0.05
"""As the book's plan has it: change of an error rate up to which an effect does not matter."""
PER_MISS = 40
"""2 / α of the interval score, for 95%."""
WORST = 200.0
"""S, in points, that earns an L of 0."""
BEST = 8.0
"""S, in points, that earns an L of 100."""
TIE = 5.0
SHARES = {"L": 0.5, "B": 0.2, "memo": 0.3}
"""Shares of the points: intervals, probabilities (1 - 4 Brier, in per cent), memo."""


class Refused(ValueError):
    """One sentence that names the file, the row and what was expected."""


def rows() -> pd.DataFrame:
    """The rows of a verdict: the levels at which the other attributes are held, <NA> for its own.

    Returns:
        Columns `KEYS`, 72 rows.

    Example:
        >>> rows().shape
        (72, 5)
    """
    levels_of_rows = [
        (model, attribute, *levels[:k], pd.NA, *levels[k:])
        for model in MODELS
        for k, attribute in enumerate(AXES)
        for levels in product((0, 1), repeat=2)
    ]
    return pd.DataFrame(levels_of_rows, columns=KEYS).astype(dict.fromkeys(AXES, "Int64"))


def template() -> pd.DataFrame:
    """A verdict that says nothing: every effect may lie anywhere."""
    return rows().assign(estimate=0.0, low=-1.0, high=1.0, p_beyond=0.5)


def read_verdict(path: Path) -> pd.DataFrame:
    """A team's verdict, rows in the order of `rows`.

    Args:
        path: a CSV file with the columns `KEYS` and `CLAIMS`.

    Raises:
        Refused: the first thing that is not as expected.
    """
    table = _read_csv(path, "a verdict")
    columns = [*KEYS, *CLAIMS]
    if sorted(table.columns) != sorted(columns):
        odd = sorted({*table.columns} ^ {*columns}) or ["a repeated one"]
        raise Refused(f"{path}: column {odd[0]!r}, expected were exactly {', '.join(columns)}")
    expected = {_key(row): k for k, row in enumerate(rows().to_dict("records"))}
    places = {}
    for line, row in enumerate(table.to_dict("records"), 2):
        if (key := _key(row)) not in expected:
            raise Refused(f"{path}, line {line}: {_words(key)} is no row of a verdict; {_EXPECTED}")
        if key in places:
            repeated = f"{_words(key)} was in line {places[key]}"
            raise Refused(f"{path}, line {line}: {repeated}; one such row was expected")
        places[key] = line
        _check(row, f"{path}, line {line} ({_words(key)})")
    if missing := [key for key in expected if key not in places]:
        raise Refused(
            f"{path}: the row {_words(missing[0])} is missing, {len(expected)} rows were expected"
            f" and {len(places)} found"
        )
    table = table.iloc[[places[key] - 2 for key in expected]]
    return rows().assign(**{name: table[name].map(float).to_numpy() for name in CLAIMS})


def _read_csv(path: Path, content: str) -> pd.DataFrame:
    """A table of texts, as a team or an instructor left it."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise Refused(f"{path}: the file is missing, {content} was expected there") from None
    except OSError as error:
        raise Refused(
            f"{path}: {error.strerror}; {content} was expected there, as a file"
        ) from None
    except UnicodeDecodeError:
        raise Refused(f"{path}: no text in UTF-8 was found, {content} was expected") from None
    head = text.partition("\n")[0]
    for separator, name in ((";", "semicolon"), ("\t", "tab")):
        if separator in head and "," not in head:
            raise Refused(f"{path}: columns are separated by a {name}, a comma was expected")
    try:
        return pd.read_csv(StringIO(text), dtype=str, keep_default_na=False)
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise Refused(f"{path}: no CSV table was found, {reason}") from None


_EXPECTED = (
    f"expected were a model of {MODELS[0]} to {MODELS[-1]}, an attribute of {', '.join(AXES)}, "
    "nothing at its own level, and 0 or 1 at the two others"
)


def _key(row: Mapping[str, object]) -> tuple[str, ...]:
    levels = ("" if pd.isna(row[name]) else str(row[name]).strip() for name in AXES)
    # Levels beside empty ones are written as 0.0 and 1.0 by pandas.
    return row["model"], row["attribute"], *(level.removesuffix(".0") for level in levels)


def _words(key: Sequence[str]) -> str:
    model, attribute, *levels = key
    held = (f"{name}={level or 'empty'}" for name, level in zip(AXES, levels, strict=True))
    return f"model={model}, attribute={attribute}, {', '.join(held)}"


def _check(row: Mapping[str, str], place: str) -> None:
    """Refuse a row whose numbers are none, out of range or out of order."""
    for name in CLAIMS:
        low, high = (0, 1) if name == "p_beyond" else (-1, 1)
        try:
            inside = low <= float(row[name]) <= high  # never of NaN
        except ValueError:
            inside = False
        if not inside:
            hint = "" if name == "p_beyond" else " (a fraction: 5 points are 0.05)"
            value = f"{name} is {row[name]!r}"
            bounds = f"from {low} to {high} was expected{hint}"
            raise Refused(f"{place}: {value}, a number {bounds}")
    if not float(row["low"]) <= float(row["estimate"]) <= float(row["high"]):
        values = ", ".join(f"{name} is {row[name]}" for name in ("low", "estimate", "high"))
        raise Refused(f"{place}: {values}; low ≤ estimate ≤ high was expected")


def score(verdict: pd.DataFrame, truth: pd.DataFrame) -> dict[str, float]:
    """What a verdict is worth.

    Args:
        verdict: as `read_verdict` returns it.
        truth: `KEYS`, effect and its standard error se, in the same order.

    Returns:
        S (points), L (0 to 100), coverage, brier, B (0 to 100).

    Example:
        >>> truth = rows().assign(effect=0.0, se=0.0)
        >>> {name: round(value, 2) for name, value in score(template(), truth).items()}
        {'S': 200.0, 'L': 0.0, 'coverage': 1.0, 'brier': 0.25, 'B': 0.0}
    """
    effect = truth["effect"]
    low = verdict["low"]
    high = verdict["high"]
    miss = (low - effect).clip(lower=0) + (effect - high).clip(lower=0)
    interval = float(100 * (high - low + PER_MISS * miss).mean())
    logarithm = np.log(WORST / max(interval, BEST)) / np.log(WORST / BEST)
    clear = (effect.abs() - TOLERANCE).abs() >= 2 * truth["se"]
    brier = float(((verdict["p_beyond"] - (effect.abs() > TOLERANCE)) ** 2)[clear].mean())
    return {
        "S": interval,
        "L": float(100 * max(logarithm, 0)),
        "coverage": float((miss == 0).mean()),
        "brier": brier,
        "B": 100 * max(1 - 4 * brier, 0),
    }


def read_memos(path: Path, teams: Sequence[str]) -> tuple[dict[str, float], dict[str, str]]:
    """Points of the memos by team, from 0 to 100; none where the file is missing.

    Returns:
        Points of teams, and a sentence for each of them that has two lines and so no points.

    Raises:
        Refused: no table, a team that there is not, or no number from 0 to 100.
    """
    if not path.exists():
        return {}, {}
    table = _read_csv(path, "a table of memos")
    if list(table.columns) != ["team", "memo"]:
        raise Refused(f"{path}: columns are {list(table.columns)}, expected were team and memo")
    memos = {}
    twice = {}
    for line, (team, memo) in enumerate(table.to_numpy(), 2):
        points = pd.to_numeric(memo, errors="coerce")
        if team not in teams or not 0 <= points <= 100:
            entry = f"team {team!r} with {memo!r}"
            expected = "a team of the league was expected, and points from 0 to 100"
            raise Refused(f"{path}, line {line}: {entry}, {expected}")
        if team in memos:
            twice[team] = f"{path}, line {line}: team {team!r} once more, one line was expected"
        memos[team] = float(points)
    return {team: points for team, points in memos.items() if team not in twice}, twice


def grade(
    submissions: Path,
    truth: pd.DataFrame,
    references: pd.DataFrame,
    plans: Mapping[str, str],
    hashes: Mapping[str, str],
) -> pd.DataFrame:
    """Standings of all teams; a team whose files are refused has a note instead of points.

    Memos that cannot be read leave a note with every team, and no memo's points.

    Args:
        submissions: folder with `TEAM/verdict.csv`, `TEAM/plan.json` and perhaps `memos.csv`.
        truth: of all teams, as `score` takes it, with a column team.
        references: scores of reference entries, with columns team and entry.
        plans: team → hash of its plan, frozen with its order; empty without one.
        hashes: team → SHA-256 of its verdict, of teams that were scored before.

    Returns:
        A row per team, the highest L first, then one per reference entry, means over the teams:
        entry, S, L, coverage, brier, B, memo, points, reaches, tied with, note.
    """
    graded = []
    try:
        memos, notes = read_memos(submissions / "memos.csv", [*plans])
    except Refused as refusal:
        memos = {}
        notes = dict.fromkeys(plans, str(refusal))
    for team, plan in plans.items():
        row = {"entry": team, "note": notes.get(team, "")}
        try:
            _check_plan(submissions / team / "plan.json", plan)
            verdict = read_verdict(path := submissions / team / "verdict.csv")
            if hashes.get(team, fingerprint(path)) != fingerprint(path):
                change = f"changed after the first grading, {hashes[team][:12]}… was expected"
                copy = "a copy is in the league's folder"
                raise Refused(f"{path}: the verdict was {change} ({copy})")
            truth_of_team = truth[truth["team"] == team].reset_index(drop=True)
            row |= score(verdict, truth_of_team) | {"memo": memos.get(team, np.nan)}
            row["points"] = sum(share * row[part] for part, share in SHARES.items())
            known = references[references["team"] == team]
            reached = known[known["L"] < row["L"] + TIE].sort_values("L")
            row["reaches"] = "" if reached.empty else reached["entry"].iloc[-1]
        except Refused as refusal:
            row["note"] = str(refusal)
        graded.append(row)
    table = pd.DataFrame(graded).reindex(columns=STANDINGS)
    near = np.abs(np.subtract.outer(table["L"].to_numpy(), table["L"].to_numpy())) < TIE
    np.fill_diagonal(near, False)
    table["tied with"] = [", ".join(table["entry"][tied]) for tied in near]
    table = table.sort_values("L", ascending=False, kind="stable")
    means = references.groupby("entry", sort=False)[[*_SCORES]].mean().reset_index()
    return pd.concat([table, means.sort_values("L", ascending=False)], ignore_index=True)


_SCORES = ("S", "L", "coverage", "brier", "B")
STANDINGS = ["entry", *_SCORES, "memo", "points", "reaches", "tied with", "note"]


def fingerprint(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _check_plan(path: Path, frozen: str) -> None:
    if not frozen:
        raise Refused(f"{path.parent}: nothing was delivered to this team, an order was expected")
    if not path.is_file():
        raise Refused(f"{path}: the file is missing, the plan of the order was expected there")
    if fingerprint(path) != frozen:
        raise Refused(
            f"{path}: the plan is not the one whose hash is in the order ({frozen[:12]}…)"
        )


def write_standings(table: pd.DataFrame, folder: Path) -> None:
    """Leave standings as `standings.csv` and, for people, as `standings.md`."""
    table.to_csv(folder / "standings.csv", index=False)
    digits = dict.fromkeys(["coverage", "brier"], 2) | dict.fromkeys(["S", "L", "B", "points"], 1)
    texts = table.astype(object).where(table.notna(), "")
    for name, places in digits.items():
        texts[name] = [f"{v:.{places}f}" if v != "" else "" for v in texts[name]]
    lines = [texts.columns, ["---"] * texts.shape[1], *texts.astype(str).to_numpy()]
    text = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    (folder / "standings.md").write_text(f"# Standings\n\n{text}\n", encoding="utf-8")
