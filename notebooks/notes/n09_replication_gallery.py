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
# # The replication gallery
#
# The chapters show each of the papers' figures once, for the model or group that says most. This note has the
# rest: the same figure for other models, groups and attributes. Each caption names the paper's figure, and
# the paper's number stands beside ours where the paper prints one.

# %% tags=["hide-cell"]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from helpers import figures
from helpers.artifacts import Stage

# %% tags=["parameters", "hide-cell"]
profile = "laptop"
device = "cpu"
seed = 20200715

# %% tags=["hide-cell"]
stage = Stage("n09_replication_gallery", profile=profile, device=device, seed=seed)
figures.style()

# %% [markdown]
# ## From chapter 1: Counting errors

# %% [markdown]
# ## From chapter 2: The face world

# %% [markdown]
# ## From chapter 3: Direction fitting

# %% [markdown]
# ## From chapter 4: Orthogonalization

# %% [markdown]
# ## From chapter 5: Transects

# %% [markdown]
# ## From chapter 6: Annotation ingestion

# %% [markdown]
# ## From chapter 7: Pruning

# %% [markdown]
# ## From chapter 8: Stratified errors

# %% [markdown]
# ## From chapter 9: Logistic ATE

# %% [markdown]
# ## From chapter 10 and 11: effects
#
# The paper's Figure 15 has one coefficient for each attribute and classifier, and prints no numbers. Here is the
# same question in points of the error rate, cell by cell, for the effects that chapter 10 leaves out: those of
# perceived gender in all models, and those of hair in the two controls.

# %% tags=["remove-input"] mystnb={"image": {"alt": "Six panels with four cells each: the effect of perceived gender on the errors of four models, and the effect of hair length on those of the two control models, with intervals around a line at zero. Each panel has its own scale."}, "figure": {"name": "fig-cells-others", "caption": "Found effects on made faces, after Figure 15 of the paper on transects, which has log odds ratios for everybody: effects of perceived gender in four models and of hair length in the two controls, in each cell, with Tango's 95 % intervals. Panels have scales of their own."}}
cells = stage.load("10_matched_pairs", "matched.parquet")
cells = cells[(cells["scope"] == "cell") & (cells["arm"] == "C crowd")]
panel = [("gender", name) for name in ("celeba-like", "fairface-like", "plantskin", "null")]
panel += [("hair_length", name) for name in ("plantskin", "null")]
figure, axes = plt.subplots(3, 2, figsize=(figures.WIDTH, 8))
for ax, (attribute, model) in zip(axes.flat, panel, strict=True):
    part = cells[(cells["attribute"] == attribute) & (cells["model"] == model)]
    part = part.assign(cell=part["cell"].str.replace(", ", ",\n")).set_index("cell")
    points = 100 * part[["estimate", "low", "high"]]
    figures.forest(points, xlabel="", ax=ax)
    contrast = {"gender": "male − female", "hair_length": "long − short hair"}[attribute]
    ax.set_title(f"{model}, {contrast}", fontsize=11)
_ = figure.supxlabel(f"change in the error rate (points), n = {cells['n'].min():,} pairs a cell")

# %% [markdown]
# ## From chapter 12: What leaked

# %% [markdown]
# ## From chapter 13: Sensitivity flips

# %% [markdown]
# ## From chapter 14: Pairs

# %% [markdown]
# ## From chapter 15: Verification curves

# %% tags=["remove-cell"]
_ = stage.finish({})
