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
#
# Table 1 of {cite:t}`sensitivity` has the accuracy of the audited classifier, its false positives and its false negatives, by
# attribute. The table below has our rates on held-out faces of the CelebA-like population, with Wilson intervals, beside the
# printed ones. Large differences are associations: groups differ in more than their name, as [](01_observational_audit) shows.

# %% [markdown]
# The second column checks the printed rows. Rates are ratios of whole numbers, and we know the size of the paper's test set. So we ask
# which counts of faces and errors would print as its rows. The total
# allows exactly one answer. Then every pair of rows must split that total, and we count in how many
# ways it can.


# %%
FACES, PRINTED = 19_962, (89.330, 14.416, 6.929)  # accuracy, false positives, false negatives
PRINTED_PAIRS = {
    "Young": [(87.170, 17.727, 8.193), (90.022, 13.391, 6.509)],
    "Male": [(89.962, 16.548, 4.984), (88.356, 11.948, 11.190)],
    "Heavy Makeup": [(88.735, 12.346, 9.769), (90.203, 19.046, 4.098)],
    "Wearing Lipstick": [(88.254, 12.071, 11.267), (90.315, 17.521, 4.195)],
    "No Beard": [(88.942, 10.683, 11.699), (89.396, 15.263, 6.352)],
    "5 o Clock Shadow": [(89.303, 14.739, 6.823), (89.569, 12.014, 8.128)],
    "Goatee": [(89.363, 14.667, 6.731), (88.634, 10.500, 13.016)],
}


# %% tags=["hide-cell"]
def prints_as(rate, printed):
    """Whether a rate in per cent rounds to the printed one of three decimals."""
    return np.abs(rate - printed) <= 0.0005 + 1e-9


def errors_behind(printed, faces):
    """The number of errors that is nearest to a printed rate, and whether it prints as that."""
    # Among fewer than a hundred thousand faces no second number rounds to the same rate.
    nearest = np.rint(printed / 100 * faces)
    return nearest, prints_as(100 * nearest / faces, printed)


def splits(faces, wrong, first, second):
    """Sizes of a first group, and its errors, that leave fitting numbers for the second."""
    size = np.arange(1, faces)
    own, fits = errors_behind(first, size)
    fits &= prints_as(100 * (wrong - own) / (faces - size), second)
    return size[fits], own[fits]


# %% tags=["hide-cell"]
smiles = np.arange(1, FACES)
missed, fits = errors_behind(PRINTED[2], smiles)
raised, fits_too = errors_behind(PRINTED[1], FACES - smiles)
fits &= fits_too & prints_as(100 * (1 - (missed + raised) / FACES), PRINTED[0])
(smiles,), (missed,), (raised,) = smiles[fits], missed[fits], raised[fits]


def ways_to_split(first, second):
    """In how many ways two groups with these printed rates make up the whole."""
    size, own = splits(smiles, missed, first[2], second[2])
    others, own_raised = splits(FACES - smiles, raised, first[1], second[1])
    # Every split of the smiling with every split of the others.
    n, wrong = size[:, None] + others, own[:, None] + own_raised
    left, left_wrong = FACES - n, missed + raised - wrong
    fits = prints_as(100 * (1 - wrong / n), first[0])
    return (fits & prints_as(100 * (1 - left_wrong / left), second[0])).sum()


# %% tags=["remove-cell"]
flip_kinds = ["accuracy", "false positives", "false negatives"]
ways = {name: ways_to_split(*pair) for name, pair in PRINTED_PAIRS.items()}
printed = {f"{name} = {has}": pair[has] for name, pair in PRINTED_PAIRS.items() for has in (0, 1)}
printed = pd.DataFrame({"everybody": PRINTED} | printed, index=flip_kinds).T

# %% tags=["remove-cell"]
flip_errors = stage.load("13_sensitivity_flips", "errors_by_group.parquet")
flip_errors["faces"] = flip_errors["faces"].str.replace("_", " ")
flip_errors = flip_errors.set_index(["kind", "faces"])

# %% tags=["hide-input"]
columns = {("", "n"): flip_errors.loc["accuracy", "n"].map("{:,}".format)}
columns["paper", "ways to split"] = {
    f"{name} = {has}": f"{n}" for name, n in ways.items() for has in (0, 1)
}
for kind in flip_kinds:
    rates = 100 * flip_errors.loc[kind]
    ends = rates["rate"].map("{:.1f}".format), rates["low"].map("{:.1f}".format)
    columns[kind, "here"] = (
        ends[0] + " [" + ends[1] + ", " + rates["high"].map("{:.1f}".format) + "]"
    )
    columns[kind, "paper"] = printed[kind].map("{:.3f}".format)
pd.DataFrame(columns, index=printed.index).astype(object).fillna("")

# %% tags=["remove-cell"]
assert ways.pop("Male") == 0 and set(ways.values()) == {1}

# %% [markdown]
# (erratum-male)=
# **A table that cannot be.** No whole numbers give the two rows of *Male*, and every other pair has its one solution. So at least one
# of the rates printed there must be wrong. The disparity that these rows show should not be quoted. Goatees are missing
# here, because no face of this population has one.

# %% [markdown]
# ## From chapter 14: Pairs

# %% [markdown]
# ## From chapter 15: Verification curves

# %% tags=["remove-cell"]
_ = stage.finish({})
