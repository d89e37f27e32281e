"""Sentences of the book that say what was found, each bound to the check that makes it true.

The text commits to what the laptop run found. Where another run contradicts a sentence, the page
says so in a box in its place, and the run ends with the list of these.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

from IPython.display import Markdown

_HYPHEN = re.compile(r"(?<![\w.)\]-])-(?=\.?\d|inf\b)")
CONTRADICTED = "This run says otherwise"
_BOX = """<div class="admonition warning">
<p class="admonition-title">{title}</p>

The book says: “{sentence}” With the numbers of this run, that does not hold.

</div>"""


@dataclass(frozen=True)
class Claim:
    """A sentence with this run's numbers in it; as a cell's last value it is shown on the page.

    Attributes:
        sentence: Markdown.
        holds: whether this run bears it out.
        title: what it is about, in a few words.

    Example:
        >>> Claim("Skin is *not* the cause.", holds=True)._repr_markdown_()
        'Skin is *not* the cause.'
    """

    sentence: str
    holds: bool
    title: str = ""

    def _repr_markdown_(self) -> str:
        told = f"**{self.title}.** {self.sentence}" if self.title else self.sentence
        return told if self.holds else _BOX.format(title=CONTRADICTED, sentence=told)

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, object]]:
        """What Jupyter shows, and what `of_page` finds in the executed notebook."""
        return {"text/markdown": self._repr_markdown_()}, {"claim": vars(self)}


class _Numbers(Formatter):
    """Formats as `str.format`, with `points` and `percent` among the formats, and a true minus."""

    def format_field(self, value: Any, form: str) -> str:
        if isinstance(value, Mapping):
            estimate, low, high = (
                self.format_field(value[key], form) for key in ("estimate", "low", "high")
            )
            return f"{estimate} ({low} to {high})"
        if form == "percent":
            value, form = 100 * value, ".1f"
        told = in_points(value) if form == "points" else format(value, form)
        return told if isinstance(value, str) else with_minus(told)


def claim(sentence: str, /, holds: bool, title: str = "", **numbers: Any) -> Claim:
    """A sentence of the book, and whether this run bears it out.

    Args:
        sentence: Markdown, with fields as in `str.format`. Besides the usual formats, `points`
            gives a difference of rates (a fraction) in percentage points, `percent` a rate in
            percent. A mapping with estimate, low and high is told with its interval.
        holds: the condition under which the sentence is true. What cannot be told (a comparison
            with NaN, say) is not true.
        title: what it is about, in a few words, if it is to be listed under that name.
        numbers: values of the fields.

    Returns:
        The claim, to be shown as a cell's last value.

    Raises:
        KeyError: a field without a number.

    Example:
        >>> gap = {"estimate": 0.074, "low": 0.053, "high": 0.096}
        >>> claim("Counted: {gap:points} points.", gap["low"] > 0, gap=gap).sentence
        'Counted: +7.4 (+5.3 to +9.6) points.'
    """
    return Claim(_Numbers().vformat(sentence, (), numbers), bool(holds), title)


def told(sentence: str, /, margin: float, error: float, **numbers: Any) -> Markdown:
    """A sentence that another seed may contradict, with what this run says of it.

    Args:
        sentence: as of `claim`. It commits to nothing, and names no model or cell as the winner.
        margin: by how much what is asked is true in this run; negative where the contrary is.
        error: standard error of the margin. Within two of them the answer is *undecided*.
        numbers: values of the fields.

    Returns:
        The sentence and *yes*, *no* or *undecided*, to be shown as a cell's last value.

    Example:
        >>> told("Is {a:.0f} above one?", margin=1.0, error=0.1, a=2.0).data
        'Is 2 above one? *In this run: yes.*'
    """
    state = "yes" if margin > 2 * error else "no" if margin < -2 * error else "undecided"
    return Markdown(f"{_Numbers().vformat(sentence, (), numbers)} *In this run: {state}.*")


def of_page(executed: Path) -> Iterator[Claim]:
    """The claims of an executed notebook, in their order.

    Args:
        executed: an .ipynb with outputs.

    Yields:
        One claim after the other.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no JSON.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = Path(folder, "page.ipynb")
        ...     shown = {"metadata": {"claim": vars(claim("True.", holds=True))}}
        ...     _ = page.write_text(json.dumps({"cells": [{"outputs": [shown]}]}))
        ...     list(of_page(page))
        [Claim(sentence='True.', holds=True, title='')]
    """
    for cell in json.loads(executed.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            if found := output.get("metadata", {}).get("claim"):
                yield Claim(**found)


def with_minus(text: str) -> str:
    """A text whose negative numbers have a minus sign (U+2212) where programs print a hyphen.

    Results keep the hyphen, which programs read. A hyphen before a figure is taken for a minus,
    unless it stands behind a letter, a figure or a closing bracket: those of words, ranges and
    dates stay.

    Args:
        text: of a page.

    Returns:
        The text with minus signs.
    """
    return _HYPHEN.sub("−", text)


def in_points(rate: float) -> str:
    """A difference of rates (a fraction) in percentage points, with its sign.

    It has one decimal; what that would round to zero has two, or the end of an interval that
    excludes zero would seem to reach it. The one number 18.75 may come as 0.1875 or as a hair less;
    it is told the same way.

    Args:
        rate: a fraction.

    Returns:
        Points, as "+5.3".

    Example:
        >>> in_points(0.0532), in_points(-0.0002), in_points(-1e-9)
        ('+5.3', '-0.02', '+0.00')
        >>> in_points(0.1875), in_points(0.18749999999999997)
        ('+18.8', '+18.8')
    """
    points = round(100 * rate, 9)
    told = f"{points:+z.1f}"
    return f"{points:+z.2f}" if points and float(told) == 0 else told
