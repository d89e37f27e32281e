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

from helpers import directions, figures
from helpers.artifacts import Stage
from helpers.claims import claim
from helpers.generators import load_generator

# %% tags=["parameters", "hide-cell"]
profile = "laptop"
device = "cpu"
seed = 20200715

# %% tags=["hide-cell"]
stage = Stage("n09_replication_gallery", profile=profile, device=device, seed=seed)
figures.style()

# %% [markdown]
# ## From chapter 1: Counting errors
#
# Fig. 1 of {cite:t}`transects` shows the errors of two classifiers by perceived gender and skin colour, as
# {numref}`fig-trap-strata` does. Here are the two controls of the book on the same portraits: the model with a
# planted bias, and the null control that errs at random.

# %% tags=["remove-input"] mystnb={"image": {"alt": "Two panels of bars, one for the model with a planted bias and one for the null control: error rates of light- and dark-skinned faces, for women at the left and men at the right, with intervals and the number of portraits under each bar."}, "figure": {"name": "fig-gallery-strata", "caption": "After the transects paper, Fig. 1: error rates of the two controls by perceived gender and skin colour on the PPB-like test set, with 95 % Wilson intervals. The paper shows no such controls."}}
strata = stage.load("01_observational_audit", "strata.parquet")
figure, axes = plt.subplots(1, 2, figsize=(figures.WIDTH, 4.2), sharey=True)
for axis, name in zip(axes, ("plantskin", "null"), strict=True):
    one = strata[strata["model"] == name].set_index(["gender", "skin"])
    figures.bars(one, ax=axis, ylabel="").get_legend().remove()
    axis.set(title=name, xlabel="perceived gender")
axes[0].set_ylabel("error rate")
_ = figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=2)

# %% [markdown]
# Fig. 12 of the same paper shows hair length by perceived gender and skin colour, in the benchmark among others. Here is
# our imitation, on which chapter 1 counts. {numref}`fig-hair-skin` compares it with the other sets.

# %% tags=["remove-input"] mystnb={"image": {"alt": "Split violins of perceived hair length by perceived gender. Among women the half for light skin is centred on long hair and the half for dark skin on short hair; among men both halves are short."}, "figure": {"name": "fig-trap-hair", "caption": "After the transects paper, Fig. 12: perceived hair length by perceived gender and skin colour in the PPB-like test set. Zero is very short, one is very long; lines are quartiles."}}
portraits = stage.load("01_observational_audit", "ppb.parquet")
_ = figures.violins(portraits, "hair_length", by="group", hue="skin")

# %% [markdown]
# ## From chapter 2: A world with a known answer
#
# Fig. 2 of {cite:t}`transects` is a grid of one face with a classifier's answers. {numref}`fig-world-synopsis` has
# the answers of the CelebA-like model. The same face gets these answers from the FairFace-like one.

# %% tags=["remove-input"] mystnb={"image": {"alt": "Four rows and four columns of one woman's face. Hair grows from left to right, skin darkens from top to bottom. Above each face stands the probability of male that the FairFace-like model gives."}, "figure": {"name": "fig-gallery-synopsis", "caption": "After the transects paper, Fig. 2: one face at four hair lengths (columns) and four skin colours (rows). Above each, the answer of the FairFace-like model: its probability of male."}}
asked = stage.load("02_face_world", "synopsis.parquet")["fairface-like"]
pictures = stage.load("02_face_world", "figures/synopsis.npy")
_ = figures.gallery(pictures, 4, [f"male: {p:.2f}" for p in asked], ["light", "", "", "dark"])

# %% [markdown]
# ## From chapter 3: Direction fitting
#
# A style-based generator {cite:p}`stylegan2` draws a normal code $z$ and maps it to a style code $w$. Directions could be
# fitted to either. The transects paper found style codes better suited (its section 5.2). The face world's mapping from $z$ to $w$ is
# bent on purpose, so that attributes are closer to linear in $w$. Does a fit notice? We fit the same scores to both codes.

# %%
scores = stage.load("03_direction_fitting", "scores.parquet")
generator = load_generator("known-truth", device=device)
spaces = {
    "style code w": generator.sample(len(scores), seed).cpu(),
    "normal code z": generator.normal_codes(len(scores), seed).cpu(),
}

# %%
in_both = pd.DataFrame(
    {
        name: [
            directions.fit_ridge(codes, scores["hair_length"]).score,
            directions.fit_svm(codes, scores["smiling"], 0.5).score,
        ]
        for name, codes in spaces.items()
    },
    ["hair_length", "smiling"],
)

# %% tags=["remove-input"]
claim(
    "Both attributes are fitted less well in *z*: for hair length R² falls from {w[0]:.2f} to {z[0]:.2f}, for "
    "smiling the balanced accuracy from {w[1]:.2f} to {z[1]:.2f}.",
    holds=(in_both["style code w"] > in_both["normal code z"]).all(),
    w=in_both["style code w"].tolist(),
    z=in_both["normal code z"].tolist(),
)

# %% [markdown]
# With many more annotations, a more flexible model could make up for it. But a straight walk in $z$ would
# still look bent. In the book, "latent code" therefore means the style code $w$.

# %% [markdown]
# ## From chapter 4: Orthogonalization
#
# The figure shows the maps of {numref}`fig-leakage` once more for the dual basis, now with all numbers. {cite:t}`transects` print no such
# matrix. Their Fig. 5 shows single faces, and {numref}`fig-raw-and-dual` shows ours.

# %% tags=["remove-input"] mystnb={"image": {"alt": "A matrix of moved against measured attributes along the dual basis, with numbers: ones on the diagonal, small numbers elsewhere, and larger ones in the columns of hair colour and earrings."}, "figure": {"name": "fig-gallery-leakage", "caption": "True change of every attribute (columns) per unit of intended change (rows) along the dual basis, mean over held-out faces. Hair colour and earrings are not among the paper's questions."}}
ratios = stage.load("04_orthogonalization", "leakage.parquet").query("basis == 'dual'")
order = {"index": ratios["moved"].unique(), "columns": ratios["measured"].unique()}
_ = figures.heatmap(ratios.pivot_table("ratio", "moved", "measured").reindex(**order))

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
