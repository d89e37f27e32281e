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
import torch

import facerender
from helpers import figures
from helpers.artifacts import Stage
from helpers.errors import stratified_errors

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

# %% [markdown]
# ## From chapter 12: What leaked
#
# Figure 19 of {cite:t}`transects` shows earrings that come along where a dark-skinned face is made to look
# female. The paper shows pictures and prints no count. Here we count, in the transects of the paper's recipe,
# the images in which earrings can be seen. They were not annotated, so the dual basis leaves them free.

# %% tags=["hide-cell"]
leaked = stage.load("05_transect_generation", "papers_index.parquet")
of_faces = torch.from_numpy(stage.load("05_transect_generation", "papers_parameters.npy").copy())
leaked["worn"] = (facerender.to_frame(of_faces)["earrings"].to_numpy() > 0.35).astype(int)  # seen
leaked["skin"] = np.where(leaked["skin_colour_level"] == 1, "dark", "light")
leaked["gender"] = np.where(leaked["gender_level"] == 1, "male", "female")

# %% tags=["remove-input"] mystnb={"image": {"alt": "Four bars with intervals: the share of images with visible earrings for made faces that were meant to look female or male, with light and with dark skin."}, "figure": {"name": "fig-earrings-transects", "caption": "Transects paper, Figure 19: earrings come along. Share of the images of the paper's recipe in which earrings can be seen, by the level of gender and of skin colour that was set (95 % intervals, images as units). The paper prints no number."}}
worn = stratified_errors(leaked, ["gender", "skin"], "worn")
dark = [worn.loc[(gender, "dark"), "rate"] for gender in ("male", "female")]
ax = figures.bars(worn, ylabel="images with earrings")
ax.set_xlabel("gender that was set")
_ = ax.figure.suptitle(f"Dark skin: earrings on {dark[0]:.0%} as male, {dark[1]:.0%} as female\n")

# %% [markdown]
# ## From chapter 13: Sensitivity flips

# %% [markdown]
# ## From chapter 14: Pairs

# %% [markdown]
# ## From chapter 15: Verification curves

# %% tags=["remove-cell"]
_ = stage.finish({})
