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
