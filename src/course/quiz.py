"""The directive `{quiz} NN`: the questions of a session, which answer at once.

Questions stand in `course/quizzes.yml`: session → a list of

    ask: text, in which {name} is a number of `values`
    values: {name: a Python expression of `load` (tables of the course), `np` and `pd`}
    options: [{text: …, right: true}, {text: …, says: why it is wrong}, …]

The page works by keyboard, tells screen readers what it says, and asks no network.
"""

from functools import cache
from hashlib import blake2b
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from docutils import nodes
from docutils.parsers.rst import Directive
from markdown_it import MarkdownIt

from course.lab import load
from helpers.artifacts import lineage

LOOK = "body {max-width: 45rem; margin: 2rem auto; font-family: sans-serif} label {display: block}"


@cache
def questions() -> dict[str, list[dict[str, Any]]]:
    """Session → its questions, numbers filled in."""
    quizzes = yaml.safe_load((lineage.ROOT / "course" / "quizzes.yml").read_text(encoding="utf-8"))
    return {session: [filled(one) for one in asked] for session, asked in quizzes.items()}


def filled(question: dict[str, Any]) -> dict[str, Any]:
    """A question whose texts hold the numbers of its `values`."""
    known = {"load": load, "np": np, "pd": pd}
    values = {name: eval(code, known) for name, code in question.get("values", {}).items()}
    options = [
        {key: text.format(**values) if isinstance(text, str) else text for key, text in one.items()}
        for one in question["options"]
    ]
    options.sort(key=lambda one: blake2b(one["text"].encode()).digest())  # the right one anywhere
    return {"ask": question["ask"].format(**values), "options": options}


def page(session: str) -> str:
    """The questions of a session as HTML."""
    inline, parts = MarkdownIt().renderInline, []
    for number, question in enumerate(questions()[session], 1):
        name, rows = f"quiz-{session}-{number}", []
        for k, option in enumerate(question["options"]):
            says = "Right." if option.get("right") else f"Not quite. {inline(option['says'])}"
            rows.append(
                f'<label><input type="radio" name="{name}" value="{k}" data-says="{escape(says)}">'
                f" {inline(option['text'])}</label>"
            )
        legend = f"<legend>{number}. {inline(question['ask'])}</legend>"
        said = '<p class="says" role="status" aria-live="polite"></p>'
        parts.append(f"<fieldset>{legend}{''.join(rows)}{said}</fieldset>")
    return f'<form class="quiz">{"".join(parts)}</form>'


def write(folder: Path) -> None:
    """Write the quizzes as pages of their own."""
    folder.mkdir()
    script = (lineage.ROOT / "book" / "_static" / "quiz.js").read_text(encoding="utf-8")
    for session in questions():
        head = f'<meta charset="utf-8"><title>Quiz {session}</title><style>{LOOK}</style>'
        text = f'<!doctype html><html lang="en">{head}<h1>Quiz {session}</h1>{page(session)}'
        (folder / f"{session}.html").write_text(f"{text}<script>{script}</script>", "utf-8")


class Quiz(Directive):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return [nodes.raw("", page(self.arguments[0]), format="html")]


def setup(app: object) -> dict:
    app.add_directive("quiz", Quiz)  # jupyter-book finds its script in _static by itself
    return {"parallel_read_safe": True}
