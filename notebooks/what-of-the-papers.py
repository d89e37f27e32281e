# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What of the papers is here
#
# The book grew out of four papers: {cite:t}`transects` on transects, {cite:t}`verification` on face
# recognition, and {cite:t}`sensitivity` with a workshop version, {cite:t}`sensitivity-w`, on flips. This
# page lists their systems, formulas, sizes, figures and findings, and says of each where it is here. The
# last list is about running the study at the papers' sizes. Each row has one of four states.
#
# right
# : It is here as the paper has it. Whether the result is the same does not count.
#
# differs
# : It is here, done in another way. The row says in which.
#
# part
# : A part of it is here. The row says what is not.
#
# refused
# : It was decided against. The row says why.

# %% tags=["hide-cell"]
import pandas as pd
from IPython.display import Markdown
from myst_nb import glue

from helpers.artifacts.lineage import ROOT

# %% tags=["parameters", "remove-cell"]
profile = "laptop"

# %% tags=["hide-cell"]
rows = pd.read_csv(ROOT / "book" / "papers.csv", dtype=str, keep_default_na=False)
rows["here"] = "**" + rows["state"] + "**: " + rows["where"] + " " + rows["reason"]
counts = pd.crosstab(rows["paper"].rename("list"), rows["state"], margins=True, margins_name="all")
counts = counts.loc[
    [*rows["paper"].unique(), "all"], ["right", "differs", "part", "refused", "all"]
]
glue("counts", Markdown(counts.to_markdown()), display=False)
for paper, some in rows.groupby("paper"):
    listed = some[["id", "what", "number", "place", "here"]]
    listed = listed.rename(columns={"place": "place in the paper"})
    glue(paper, Markdown(listed.to_markdown(index=False, disable_numparse=True)), display=False)

# %% [markdown]
# A row is *right* if a chapter does what the paper did, or if a script or an audit does it on the real files, and a
# test runs that on files of their form. Three things are the same in all chapters, so they never decide a row's
# state: the chapters draw their faces, simulate their raters, and train their models on drawn faces.

# %% [markdown]
# A step that is missing, or done by another method, is a reason. So is a data set or a network that
# the row names and that no code here reads. *Number* is what the paper
# prints, and sizes here are those of the paper profile. *Place in the paper* is a section, figure or table. Where a paper is printed wrong, the [errata](errata) say so.

# %% [markdown]
# ```{glue:md} counts
# :format: myst
# ```
#
# ## Transects
#
# ```{glue:md} transects
# :format: myst
# ```
#
# ## Verification
#
# ```{glue:md} verification
# :format: myst
# ```
#
# ## Sensitivity
#
# ```{glue:md} sensitivity
# :format: myst
# ```
#
# ## Running
#
# ```{glue:md} running
# :format: myst
# ```
