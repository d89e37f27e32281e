"""Every rule of `make check` fires on a small bad book, and none on a good one."""

import jupytext
import pytest
from check import arrows, check, core_imports, floors, hidden_names, percents, typed_numbers

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
            (tmp_path / folder).mkdir(exist_ok=True)
        source = tmp_path / "notebooks" / "01_chapter.py"
        source.write_text(text)
        if pair:
            jupytext.write(jupytext.read(source), source.with_suffix(".ipynb"))
        page = "# Glossary\n\n```{glossary}\nhair\n  What grows on a head.\n```\n"
        (tmp_path / "book" / "glossary.md").write_text(page + glossary)
        return "\n".join(map(str, check(tmp_path)))

    return problems


def test_an_import_against_the_order_of_the_packages_is_named(tmp_path):
    for name, text in {
        "faceaudit/run.py": "def late():\n    from faceworld.audit import World\n",
        "faceworld/audit.py": "import numpy\nfrom faceaudit import run\nimport helpers.figures\n",
        "helpers/figures/charts.py": "import faceworld.audit\n",
    }.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert list(arrows(tmp_path)) == [
        "src/faceaudit/run.py, line 2: imports faceworld.audit, and faceaudit may import no other "
        "package of ours",
        "src/helpers/figures/charts.py, line 1: imports faceworld.audit, and helpers may import "
        "faceaudit",
    ]


def test_an_import_of_a_higher_floor_is_named(tmp_path):
    for name, text in {
        "utils/files.py": "from faceaudit import words\n",
        "effects/risks.py": "from faceaudit.utils.files import atomic\n",
        "designs/pairs.py": "from faceaudit.report.build import Tables\n",
        "report/build.py": "def late():\n    from faceaudit.designs.pairs import Pairs\n",
        "attic/box.py": "",
    }.items():
        path = tmp_path / "src" / "faceaudit" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert list(floors(tmp_path)) == [
        "src/faceaudit/attic/box.py: attic has no floor in tools/check.py",
        "src/faceaudit/report/build.py, line 2: report imports designs, which does not stand on a "
        "lower floor",
        "src/faceaudit/utils/files.py, line 1: utils imports words, which does not stand on a "
        "lower floor",
    ]


def test_an_exported_name_that_a_module_has_is_named(tmp_path):
    package = tmp_path / "src" / "faceaudit" / "effects"
    package.mkdir(parents=True)
    for module in ("__init__.py", "power.py", "risks.py"):
        (package / module).write_text("")
    stub = package / "__init__.pyi"
    stub.write_text("from . import risks\nfrom .power import mde\nfrom .power import power\n")
    assert list(hidden_names(tmp_path)) == [
        "src/faceaudit/effects/__init__.pyi, line 3: power is the name of a module here as well"
    ]


def test_a_library_at_the_top_of_a_core_module_is_named(tmp_path):
    for name, text in {
        "frames.py": "import pyarrow.csv\n",
        "effects/risks.py": "import numpy\n\n\ndef late():\n    import sklearn\n",
        "models/local.py": "import onnxruntime\n",
    }.items():
        path = tmp_path / "src" / "faceaudit" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert list(core_imports(tmp_path)) == [
        "src/faceaudit/frames.py, line 1: imports pyarrow.csv at its top"
    ]


def code(lines: int, tag: str = "") -> str:
    return f"\n# %%{tag}\n" + "n = 1\n" * lines


def after_parameters(*text: str) -> tuple[str, str]:
    return "n = 4\n", "n = 4\n" + "\n".join(text)


HAIR_BESIDES_PROSE = """# ## Design contract of hair
#
# | Unit | a hair |
#
# ```{figure} hair.png
# :alt: Hair that is long enough to be described
#
# Long hair.
# ```
"""

FOLDED = ' tags=["hide-input"]'
REMOVED = ' tags=["remove-cell"]'


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([], ""),
        ([("n = 4", "n = -4")], ""),
        ([after_parameters(code(16, FOLDED) * 5)], ""),
        ([after_parameters(code(5) * 2, code(1, REMOVED))], ""),
        ([(' tags=["parameters"]', "")], "one cell tagged parameters must follow"),
        ([("# %% tags", "# %%\nn = 1\n\n# %% tags")], "parameters must follow the one of imports"),
        ([("n = 4", "n = 2 * 2")], "`n = 2 * 2` is no `name = plain scalar`"),
        ([("import figures\n", "import figures\n\nx = 1\n")], "holds imports only"),
        ([after_parameters(code(31))], "31 lines of code, over 30"),
        ([after_parameters(code(31))], "over a tenth of cells exceed 15 lines"),
        ([after_parameters(code(6) * 5)], "median cell has 6 lines"),
        ([after_parameters(code(5, REMOVED))], "of the code is removed, over 15%"),
        ([(f"# %% {METADATA}", f'# %% tags=["remove-input"] {METADATA}')], "fold it (hide-input)"),
        ([after_parameters("\n# %% [markdown]\n# Too short.\n")], "2 words of prose, expected 25"),
        ([after_parameters(f"\n# %% [markdown]\n# {WORDS * 9}\n")], "135 words of prose, expected"),
        ([after_parameters(f"\n# %% [markdown]\n# {WORDS * 7}\n" * 21)], "words of prose, over"),
        ([("{solution} ex-think\n# Done.", f"{{solution}} ex-think\n# {WORDS * 200}")], ""),
        ([("## Question", "## Something else")], "has no section 'question'"),
        ([("## Takeaways", "## Something else")], "has no section 'takeaways'"),
        (
            [("## Question", "## X"), ("## Takeaways", "## Question"), ("## Work", "## Takeaways")],
            "not in the order",
        ),
        ([("{solution} ex-think", "{note}")], "exercise ex-think has no solution"),
        ([("{exercise} Think", "{note}")], "has no exercise"),
        ([('"Bars."', '"Of 12 images."')], "'12 images' is typed"),
        ([("{term}`Hair`", "![](x.png)")], "the image x.png needs an alt text"),
        ([("{term}`Hair`", "hair")], "no page links 'hair'"),
        ([("## Question", "## Question\n#\n# Two hairs.")], "first use of 'hair' does not link"),
        ([("## Question", "## Question\n#\n# {term}`Locks <hair>` and hairs.")], ""),
        ([("# ## Design contract\n", HAIR_BESIDES_PROSE)], ""),
    ],
)
def test_every_rule_fires_on_its_fault_and_none_on_a_good_book(book, changes, words):
    found = book(*changes)
    assert words in found and bool(words) == bool(found)


def test_a_pair_that_is_missing_out_of_step_or_with_outputs(book, tmp_path):
    assert "01_chapter.ipynb: is missing" in book(pair=False)
    source = tmp_path / "notebooks" / "01_chapter.py"
    notebook, pair = jupytext.read(source), source.with_suffix(".ipynb")
    notebook.cells[1].execution_count = 1
    jupytext.write(notebook, pair)
    assert "01_chapter.ipynb cell 2: differs from its .py or has outputs" in str(check(tmp_path)[0])
    notebook.cells[1].execution_count, notebook.cells[2].source = None, "n = 5"
    jupytext.write(notebook, pair)
    assert "ipynb cell 3: differs" in str(check(tmp_path)[0])


TYPED = [
    *("It errs on 20 % of them.", "It errs on 20% of them.", "The gap is 7.5 points."),
    *("There are 5,000 images here.", "It takes 20 minutes.", "That is 30× faster."),
    *("That is 3 times as many.", "Faces of 64 px.", "| a | 12 per cent |", "## All 8 raters"),
    "```{note}\nA gap of 3 points.\n```",
]
NOT_TYPED = [
    *("A 2×2×2 grid.", "See section 5.2.1 and Figure 16.", "With its 95% Wilson score interval."),
    *("The paper used 8,000 images. <!-- paper -->", "The code `n = 5  # images` and $5\\%$."),
    *("```python\nn = 5  # 5 images\n```\nText after.", "StyleGAN2 images.", "A threshold of 0.8."),
]


@pytest.mark.parametrize("text", TYPED + NOT_TYPED)
def test_typed_numbers_are_found_and_others_are_fine(text):
    assert any(typed_numbers("here", text)) == (text in TYPED)


@pytest.mark.parametrize(
    ("text", "has_space"),
    [("95 % intervals", True), ("95% intervals", False)],
)
def test_percents_have_no_space(text, has_space):
    assert any(percents("here", text)) == has_space


def test_a_headword_with_an_ordinary_sense_is_linked_by_some_page(book):
    glossary = "\n```{glossary}\nlook\n  One reading.\n```\n"
    look = ("## Question", "## Question\n#\n# Look at it.")
    assert book(look, glossary=glossary) == "glossary.md: no page links 'look'"
    link = ("## Exercises", "## Exercises\n#\n# A {term}`look`.")
    assert not book(look, link, glossary=glossary)


def test_typed_numbers_in_pages(book):
    assert "glossary.md: '9 raters'" in book(glossary="Each of 9 raters.\n")
