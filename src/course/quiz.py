"""What pages of the book show of the course: quizzes, and marks at what a session reads.

The directive `{quiz} NN` has the questions of a session, which answer at once.

Questions stand in `course/quizzes.yml`: session → a list of

    ask: text, in which {name} is a number of `values`
    values: {name: a Python expression of `load` (tables of the course), `np` and `pd`}
    options: [{text: …, right: true}, {text: …, says: why it is wrong}, …]

The page works by keyboard, tells screen readers what it says, and asks no network.

A page `session-NN` of the book says what to read before: a line `- [](page): *title*, *title*` for
each page. A section ends at the next heading, of whatever level. A line without titles means all
of its page.
"""

import re
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
from sphinx.application import Sphinx

from course.lab import load
from helpers.artifacts import lineage

READ = re.compile(r"^- \[\]\((\S+)\): (.+)$", re.MULTILINE)
HEAD = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
LOOK = "body {max-width: 45rem; margin: 1rem auto; padding: 0 1rem; font-family: sans-serif} "
LOOK += "label {display: block; padding: 0.2rem 0}"


@cache
def questions() -> dict[str, list[dict[str, Any]]]:
    """Session → its questions, numbers filled in."""
    quizzes = yaml.safe_load((lineage.ROOT / "course" / "quizzes.yml").read_text(encoding="utf-8"))
    return {session: [*map(filled, entries)] for session, entries in quizzes.items()}


def filled(question: dict[str, Any]) -> dict[str, Any]:
    """A question whose texts hold the numbers of its `values`."""
    known = {"load": load, "np": np, "pd": pd}
    values = {name: eval(code, known) for name, code in question.get("values", {}).items()}
    options = [filled_option(option, values) for option in question["options"]]
    # The right option stands anywhere.
    options.sort(key=lambda option: blake2b(option["text"].encode()).digest())
    return {"ask": question["ask"].format(**values), "options": options}


def filled_option(option: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """An option whose texts hold these numbers."""
    return {
        key: text.format(**values) if isinstance(text, str) else text
        for key, text in option.items()
    }


def page(session: str) -> str:
    """The questions of a session as HTML."""
    inline = MarkdownIt().renderInline
    parts = []
    for number, question in enumerate(questions()[session], 1):
        name = f"quiz-{session}-{number}"
        rows = []
        for k, option in enumerate(question["options"]):
            says = "Right." if option.get("right") else f"Not quite. {inline(option['says'])}"
            rows.append(
                f'<label><input type="radio" name="{name}" value="{k}" data-says="{escape(says)}">'
                f" {inline(option['text'])}</label>"
            )
        legend = f"<legend>{number}. {inline(question['ask'])}</legend>"
        reply = '<p class="says" role="status" aria-live="polite"></p>'
        parts.append(f"<fieldset>{legend}{''.join(rows)}{reply}</fieldset>")
    return f'<form class="quiz">{"".join(parts)}</form>'


def write(folder: Path) -> None:
    """Write the quizzes as pages of their own."""
    folder.mkdir()
    script = (lineage.ROOT / "book" / "_static" / "quiz.js").read_text(encoding="utf-8")
    for session in questions():
        title = f"<title>Quiz {session}</title><style>{LOOK}</style>"
        main = f"<main><h1>Quiz {session}</h1>{page(session)}</main>"
        text = f'<!doctype html><html lang="en">{HEAD}{title}{main}'
        (folder / f"{session}.html").write_text(f"{text}<script>{script}</script>", "utf-8")


@cache
def reading() -> dict[str, dict[str, list[str]]]:
    """Page of a session → pages that it says to read → titles of their sections."""
    sections = {}
    for path in sorted((lineage.ROOT / "book").glob("session-[0-9]*.md")):
        lines = READ.findall(path.read_text(encoding="utf-8"))
        sections[path.stem] = {page: re.findall(r"\*([^*]+)\*", titles) for page, titles in lines}
    return sections


def mark(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Mark the sections that a session reads; on the session's page, link to them."""
    for session, read in reading().items():
        if page in read and session in app.env.found_docs:
            link = app.builder.get_relative_uri(page, session)
            reference = f'<a href="{link}">Course: session {int(session[-2:])}</a>'
            for title in [*doctree.findall(nodes.title)]:
                named = _title(title) in read[page]
                if named or (not read[page] and title.parent.parent is doctree):
                    html = f'<p class="session">{reference}</p>'
                    title.parent.insert(0, nodes.raw("", html, format="html"))
    # A book of some pages may lack those that are read.
    items = zip(doctree.findall(nodes.list_item), reading().get(page, {}), strict=False)
    for item, read_page in items:
        heads = app.env.tocs.get(read_page, nodes.bullet_list()).findall(nodes.reference)
        places = {_title(head): head["anchorname"] for head in heads}
        for name in [*item.findall(nodes.emphasis)] if places else []:
            link = app.builder.get_relative_uri(page, read_page) + places[_title(name)]
            name.replace_self(nodes.reference("", name.astext(), refuri=link, internal=True))


def _title(node: nodes.Element) -> str:
    return node.astext().replace("’", "'")


class Quiz(Directive):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return [nodes.raw("", page(self.arguments[0]), format="html")]


def setup(app: Sphinx) -> dict:
    app.add_directive("quiz", Quiz)  # jupyter-book finds its script in _static by itself
    app.connect("doctree-resolved", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
