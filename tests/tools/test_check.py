"""Every rule of `make check` fires on a small bad book, and none on a good one."""

import check as rules
import jupytext
import pytest
from check import Book, check, prose, typed_numbers

WORDS = "The reader learns here what the next line does and why anybody would want it. "
METADATA = (
    'mystnb={"image": {"alt": "Four bars of different heights"}, '
    '"figure": {"caption": "Bars.", "name": "fig-bars"}}'
)
GOOD = f"""# %% [markdown]
# # A chapter
#
# ## Question
#
# {WORDS * 3}
#
# ## Design contract
#
# ## Prerequisites

# %%
import numpy as np

from helpers import figures

# %% tags=["parameters"]
profile = "laptop"
device = "cpu"
seed = 1
size = 64
rate = 0.5
n = 4

# %% [markdown]
# (a-label)=
# ## Work
#
# {WORDS * 3} See [the work](#a-label), {{term}}`Hair`, {{cite}}`paper` and [words](glossary.md).

# %% {METADATA}
figures.bars(np.arange(n))

# %% [markdown]
# ## What would change our mind
#
# {WORDS * 2}
#
# ## Exercises
#
# ```{{exercise}} Think
# :label: ex-think
#
# Think.
# ```

# %% [markdown]
# ```{{solution}} ex-think
# Done.
# ```
#
# ## Takeaways
"""


@pytest.fixture
def book(tmp_path):
    """Write a one-chapter book, with replacements in its chapter, and return its problems."""

    def problems(*changes: tuple[str, str], pair: bool = True, glossary: str = "") -> str:
        text = GOOD
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        for folder in ("notebooks", "book"):
            (tmp_path / folder).mkdir()
        source = tmp_path / "notebooks" / "01_chapter.py"
        source.write_text(text)
        if pair:
            jupytext.write(jupytext.read(source), source.with_suffix(".ipynb"))
        page = "# Glossary\n\n```{glossary}\nhair\n  What grows on a head.\n```\n"
        (tmp_path / "book" / "glossary.md").write_text(page + glossary)
        return "\n".join(map(str, check(Book(tmp_path))))

    return problems


def code(lines: int) -> str:
    return "# %%\n" + "n = 1\n" * lines


def test_a_good_book_has_no_problems(book):
    assert book() == ""


def test_missing_pair(book):
    assert "01_chapter.ipynb: is missing" in book(pair=False)


def test_pair_out_of_step(book, tmp_path):
    book()
    pair = tmp_path / "notebooks" / "01_chapter.ipynb"
    notebook = jupytext.read(pair)
    notebook.cells[2].source = "n = 5"
    jupytext.write(notebook, pair)
    assert "ipynb cell 3: differs" in str(check(Book(tmp_path))[0])


def test_committed_output(book, tmp_path):
    book()
    pair = tmp_path / "notebooks" / "01_chapter.ipynb"
    notebook = jupytext.read(pair)
    notebook.cells[1].execution_count = 1
    jupytext.write(notebook, pair)
    assert "cell 2: holds outputs" in str(check(Book(tmp_path))[0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ((' tags=["parameters"]', ""), "0 cells tagged parameters"),
        (("n = 4", "n = 2 * 2"), "`n = 2 * 2` is no `name = plain scalar`"),
        (("n = 4", "n = [4]"), "is no `name = plain scalar`"),
        (("import figures\n", "import figures\n\nx = 1\n"), "holds imports only"),
        (("# %% tags", "# %%\nn = 1\n\n# %% tags"), "must follow the one cell of imports"),
    ],
)
def test_opening_cells(book, change, words):
    assert words in book(change)


def test_negative_scalar_is_plain(book):
    assert book(("n = 4", "n = -4")) == ""


def test_cell_over_the_limit(book):
    problems = book(("n = 4\n", "n = 4\n\n" + code(31)))
    assert "31 lines of code, over 30" in problems
    assert "over a tenth of cells exceed 15 lines" in problems


def test_median_cell(book):
    assert "median cell has 6 lines" in book(("n = 4\n", "n = 4\n\n" + (code(6) + "\n") * 5))


def test_cells_that_a_reader_knows_by_their_output_are_no_part_of_the_median(book):
    hidden = code(6).replace("# %%", '# %% tags=["remove-input"]', 1)
    assert hidden != code(6)
    assert not book(("n = 4\n", "n = 4\n\n" + (hidden + "\n") * 5))


def test_too_little_and_too_much_prose(book):
    assert "words of prose per line of code, expected" in book(("n = 4\n", "n = 4\n" * 20))


def test_hidden_assertions_need_no_prose(book):
    hidden = '\n# %% tags=["hide-cell"]\n' + "assert n\n" * 15
    assert book(("n = 4\n", "n = 4\n" + hidden)) == ""


def test_short_and_long_markdown_cells(book):
    short = "\n# %% [markdown]\n# Too short.\n"
    assert "2 words of prose, expected 25 to 120" in book(("n = 4\n", "n = 4\n" + short))


def test_long_markdown_cell(book):
    long = f"\n# %% [markdown]\n# {WORDS * 9}\n"
    assert "135 words of prose, expected 25 to 120" in book(("n = 4\n", "n = 4\n" + long))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([(METADATA, "")], "a figure needs mystnb.image.alt"),
        ([("Four bars of different heights", "Bars")], "a figure needs mystnb.image.alt"),
        ([('"caption": "Bars.", ', "")], "a figure needs mystnb.figure.caption"),
        ([(METADATA, ""), ("figures.bars(np", "plt.plot(np")], "mystnb.image.alt"),
        ([(METADATA, ""), ("figures.bars(np.arange(n))", "table.plot.bar()")], "alt"),
        (
            [
                (METADATA, ""),
                ("from helpers import figures", "from helpers.figures import bars"),
                ("figures.bars(np", "bars(np"),
            ],
            "mystnb.image.alt",
        ),
    ],
)
def test_figures_need_alt_text_and_caption(book, changes, words):
    assert words in book(*changes)


def test_setting_the_style_draws_nothing(book):
    assert book((METADATA, ""), ("figures.bars(np.arange(n))", "figures.style()")) == ""


@pytest.mark.parametrize(
    "section", ["Question", "Design contract", "Prerequisites", "What would change", "Takeaways"]
)
def test_missing_section(book, section):
    assert "has no section" in book((f"## {section}", "## Something else"))


def test_order_of_sections(book):
    assert "not in the order" in book(
        ("## Question", "## X"), ("## Takeaways", "## Question"), ("## Work", "## Takeaways")
    )


def test_exercise_without_solution(book):
    assert "exercise ex-think has no solution" in book(("{solution} ex-think", "{note}"))


def test_chapter_without_exercise(book):
    assert "has no exercise" in book(("{exercise} Think", "{note}"))


@pytest.mark.parametrize(
    "text",
    [
        "It errs on 20 % of them.",
        "It errs on 20% of them.",
        "The gap is 7.5 points.",
        "There are 5,000 images here.",
        "It takes 20 minutes.",
        "That is 30× faster.",
        "That is 3 times as many.",
        "Faces of 64 px.",
        "| a | 12 per cent |",
        "## All 8 raters",
        "Wait 3 s.",
        "```{note}\nA gap of 3 points.\n```",
    ],
)
def test_typed_numbers_are_found(text):
    assert "is typed into prose" in str(*typed_numbers("here", text))


@pytest.mark.parametrize(
    "text",
    [
        "A 2×2×2 grid, and 2×2×2 transects.",
        "See section 5.2.1 and Figure 16.",
        "With its 95 % Wilson score interval and 95 % intervals.",
        "The paper used 8,000 images. <!-- paper -->",
        "The code `n = 5  # images` and $5\\%$.",
        "```python\nn = 5  # 5 images\n```\nText after.",
        "StyleGAN2 images.",
        "A threshold of 0.8.",
    ],
)
def test_other_numbers_are_fine(text):
    assert list(typed_numbers("here", text)) == []


def test_typed_numbers_in_captions_and_pages(book):
    assert "'12 images' is typed" in book(('"Bars."', '"Of 12 images."'))


def test_typed_numbers_in_pages(book):
    assert "glossary.md: '9 raters'" in book(glossary="Each of 9 raters.\n")


def test_images_in_the_text_need_an_alt_text(book):
    assert "the image x.png needs an alt text" in book(("{term}`Hair`", "![](x.png)"))


def test_prose_is_what_a_reader_reads():
    text = "# Title\n\n(x)=\nA [link](y.md), {term}`hair` and `code`, $x$.\n\n| a | b |\n"
    assert prose(text).split() == ["A", "link,", "hair", "and", ",", "."]


def test_docstrings_comments_and_blanks_are_no_code(tmp_path, monkeypatch):
    (tmp_path / "tools").mkdir()
    code = '"""Doc."""\n\n# a\nX = 1\n"""Of X."""\n\n\ndef f():\n    return X\n'
    (tmp_path / "tools" / "a.py").write_text(code)
    monkeypatch.setattr(rules, "MOST_CODE", {"tools": 3})
    assert list(rules.sizes(tmp_path)) == []
    monkeypatch.setattr(rules, "MOST_CODE", {"tools": 2})
    assert list(rules.sizes(tmp_path)) == ["tools: 3 lines of code, over 2"]
