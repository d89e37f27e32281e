"""Sentences of the book about its results, each bound to the check that makes it true.

The text commits to what the laptop run found. Another run may bear a sentence out, contradict it,
or be too small to decide. In the last two cases a box on the page takes its place, and the run ends
with the list of these sentences.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import NormalDist
from string import Formatter
from typing import Any

from IPython.display import Markdown

from faceaudit.utils.errors import InputError
from faceaudit.utils.formatting import in_points, with_minus

_Z = NormalDist().inv_cdf(0.975)  # standard errors on either side of an estimate in an interval
HOLDS = "holds"
UNDECIDED = "undecided"
CONTRADICTED = "contradicted"
STATES = (HOLDS, UNDECIDED, CONTRADICTED)
"""The states of a claim in a run."""
BOX_TITLES: Mapping[str, str] = {
    UNDECIDED: "Undecided at this size",
    CONTRADICTED: "This run says otherwise",
}
"""State → title of the box that a page shows in place of the sentence."""
_BOX_KINDS = {UNDECIDED: "note", CONTRADICTED: "warning"}
_BOX_WORDS = {
    UNDECIDED: "This run is too small to confirm it or to contradict it.",
    CONTRADICTED: "With the numbers of this run, that does not hold.",
}
_BOX = """<div class="admonition {kind}">
<p class="admonition-title">{title}</p>

The book says: “{sentence}” {words}

</div>"""


@dataclass(frozen=True)
class Margin:
    """By how much a condition is met in a run, and how far chance moves that number.

    Attributes:
        value: positive where the condition is met, in the unit of the quantity; NaN, or None as in
            a stage's results, where it cannot be estimated at this size.
        error: standard error of the value at this run's size; zero where chance has no part in it.

    Example:
        >>> Margin(0.3, 0.1).state, Margin(0.1, 0.1).state, Margin(-0.3, 0.1).state
        ('holds', 'undecided', 'contradicted')
    """

    value: float | None
    error: float | None

    def __post_init__(self) -> None:
        for name in ("value", "error"):
            number = getattr(self, name)
            object.__setattr__(self, name, math.nan if number is None else float(number))
        if self.error < 0:
            raise ValueError(f"a standard error is zero or above, found {self.error}")

    @property
    def state(self) -> str:
        """One of `STATES`: undecided within two standard errors of zero, or with NaN."""
        if self.value > 2 * self.error:
            return HOLDS
        if self.value < -2 * self.error:
            return CONTRADICTED
        return UNDECIDED


def margin_above(interval: Mapping[str, float], limit: float) -> Margin:
    """By how much an estimate with a 95% interval lies above a limit.

    Args:
        interval: estimate, low and high.
        limit: a number that chance does not move.

    Returns:
        The distance. Its standard error is that of the side of the interval that faces the limit.

    Example:
        >>> margin = margin_above({"estimate": 0.3, "low": 0.104, "high": 0.9}, 0.1)
        >>> round(margin.value, 3), round(margin.error, 3)
        (0.2, 0.1)
    """
    estimate, low, high = (
        math.nan if interval[key] is None else float(interval[key])
        for key in ("estimate", "low", "high")
    )
    half_width = estimate - low if estimate > limit else high - estimate
    return Margin(estimate - limit, half_width / _Z)


def margin_below(interval: Mapping[str, float], limit: float) -> Margin:
    """By how much an estimate with a 95% interval lies below a limit; see `margin_above`.

    Args:
        interval: estimate, low and high.
        limit: a number that chance does not move.

    Returns:
        The distance, and its standard error.

    Example:
        >>> margin = margin_below({"estimate": 0.3, "low": 0.1, "high": 0.496}, 0.5)
        >>> round(margin.value, 3), round(margin.error, 3)
        (0.2, 0.1)
    """
    ends = {"estimate": "estimate", "low": "high", "high": "low"}
    mirrored = {
        key: None if interval[end] is None else -interval[end]  # results.json has null for NaN
        for key, end in ends.items()
    }
    return margin_above(mirrored, -limit)


@dataclass(frozen=True)
class Claim:
    """A sentence with this run's numbers in it; as a cell's last value it is shown on the page.

    Attributes:
        sentence: Markdown.
        state: in this run, one of `STATES`.
        title: what it is about, in a few words.
        met: whether the estimates alone meet its conditions, with chance left aside.
        standard_errors: by how many standard errors its smallest margin is above zero; None for a
            fact without chance, and where a margin cannot be estimated.

    Example:
        >>> Claim("Skin is *not* the cause.", "holds", met=True)._repr_markdown_()
        'Skin is *not* the cause.'
    """

    sentence: str
    state: str
    met: bool
    title: str = ""
    standard_errors: float | None = None

    def __post_init__(self) -> None:
        if self.state not in STATES:
            raise ValueError(f"a claim's state is one of {', '.join(STATES)}, found {self.state}")

    @property
    def holds(self) -> bool:
        """Whether this run bears it out."""
        return self.state == HOLDS

    @property
    def contradicted(self) -> bool:
        """Whether this run contradicts it; a run that is too small to decide does not."""
        return self.state == CONTRADICTED

    def _repr_markdown_(self) -> str:
        sentence = f"**{self.title}.** {self.sentence}" if self.title else self.sentence
        if self.holds:
            return sentence
        return _BOX.format(
            kind=_BOX_KINDS[self.state],
            title=BOX_TITLES[self.state],
            sentence=sentence,
            words=_BOX_WORDS[self.state],
        )

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, object]]:
        """Markdown that Jupyter shows, and metadata that `claims_of_page` reads."""
        return {"text/markdown": self._repr_markdown_()}, {"claim": asdict(self)}


class _Numbers(Formatter):
    """Formats as `str.format`, with `points` and `percent` among the formats, and a true minus."""

    def format_field(self, value: Any, form: str) -> str:
        if isinstance(value, Mapping):
            estimate, low, high = (
                self.format_field(value[key], form) for key in ("estimate", "low", "high")
            )
            return f"{estimate} ({low} to {high})"
        if form == "points":
            text = in_points(value)
        elif form == "percent":
            text = format(100 * value, ".1f")
        else:
            text = format(value, form)
        return text if isinstance(value, str) else with_minus(text)


def claim(
    sentence: str,
    /,
    holds: bool | None = None,
    margins: Sequence[Margin] | None = None,
    title: str = "",
    **numbers: Any,
) -> Claim:
    """A sentence of the book, and whether this run supports it.

    It rests either on a fact without chance or on margins. It holds where every margin is more than
    two standard errors above zero. It is contradicted where any margin is more than two below zero.
    Else the run is too small to decide it.

    Args:
        sentence: Markdown, with fields as in `str.format`. Besides the usual formats, `points`
            gives a difference of rates (a fraction) in percentage points, `percent` a rate in
            percent. A mapping with estimate, low and high is printed with its interval.
        holds: whether the sentence is true, where chance has no part in it: an identity, or a fact
            of the design.
        margins: by how much each condition is met, where chance has a part in it.
        title: what it is about, in a few words, if it is to be listed under that name.
        numbers: values of the fields.

    Returns:
        The claim, to be shown as a cell's last value.

    Raises:
        KeyError: a field without a number.
        ValueError: both holds and margins are given, or neither; no margin at all.

    Example:
        >>> gap = {"estimate": 0.074, "low": 0.053, "high": 0.096}
        >>> counted = claim(
        ...     "Counted: {gap:points} points.",
        ...     margins=[margin_above(gap, 0)],
        ...     gap=gap,
        ... )
        >>> counted.sentence, counted.state
        ('Counted: +7.4 (+5.3 to +9.6) points.', 'holds')
    """
    if (holds is None) == (margins is None):
        raise ValueError(
            "a claim rests either on a fact (holds) or on margins: exactly one is to be given"
        )
    text = _Numbers().vformat(sentence, (), numbers)
    if margins is None:
        return Claim(text, HOLDS if holds else CONTRADICTED, bool(holds), title)
    if not margins:
        raise ValueError("a claim that rests on margins needs at least one")
    states = {margin.state for margin in margins}
    if CONTRADICTED in states:
        state = CONTRADICTED
    elif UNDECIDED in states:
        state = UNDECIDED
    else:
        state = HOLDS
    met = all(margin.value > 0 for margin in margins)
    return Claim(text, state, met, title, _smallest(margins))


def _smallest(margins: Sequence[Margin]) -> float | None:
    """The smallest margin in its standard errors; None where that is no finite number."""
    in_errors = [
        margin.value / margin.error if margin.error > 0 else math.nan for margin in margins
    ]
    return float(min(in_errors)) if all(map(math.isfinite, in_errors)) else None


def question(sentence: str, /, margin: float, error: float, **numbers: Any) -> Markdown:
    """A question that another seed may answer otherwise, with the answer of this run.

    Args:
        sentence: the question, as of `claim`. It names no model or cell as the winner.
        margin: positive where this run answers yes, negative where it answers no.
        error: standard error of the margin. Within two of them the answer is *undecided*.
        numbers: values of the fields.

    Returns:
        The question and *yes*, *no* or *undecided*, to be shown as a cell's last value.

    Example:
        >>> question("Is {a:.0f} above one?", margin=1.0, error=0.1, a=2.0).data
        'Is 2 above one? *In this run: yes.*'
    """
    answers = {HOLDS: "yes", UNDECIDED: "undecided", CONTRADICTED: "no"}
    state = answers[Margin(margin, error).state]
    return Markdown(f"{_Numbers().vformat(sentence, (), numbers)} *In this run: {state}.*")


def claims_of_page(executed: Path) -> Iterator[Claim]:
    """The claims of an executed notebook, in their order.

    Args:
        executed: an .ipynb with outputs.

    Yields:
        One claim after the other.

    Raises:
        OSError: the file cannot be read.
        InputError: another version of the code left its claims.
        ValueError: the file is no JSON.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = Path(folder, "page.ipynb")
        ...     shown = {"metadata": {"claim": asdict(claim("True.", holds=True))}}
        ...     _ = page.write_text(json.dumps({"cells": [{"outputs": [shown]}]}))
        ...     list(claims_of_page(page))
        [Claim(sentence='True.', state='holds', met=True, title='', standard_errors=None)]
    """
    for cell in json.loads(executed.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            fields = output.get("metadata", {}).get("claim")
            if not fields:
                continue
            if different := sorted(fields.keys() ^ Claim.__dataclass_fields__.keys()):
                raise InputError(
                    f"{executed}: a claim of another version of the code; fields that differ: "
                    f"{', '.join(different)}",
                    field="claim",
                    found=sorted(fields),
                    expected=f"the fields {', '.join(Claim.__dataclass_fields__)}",
                )
            yield Claim(**fields)
