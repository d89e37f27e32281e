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
#
# Figures and tables of {cite:t}`verification` that [](14_verification_measures) leaves out, with the same prototypes,
# pairs and networks. African, East Asian and European are directions of face shape in a stylised renderer. Female and
# male stand for perceived gender.

# %% tags=["hide-cell"]
import torch
from IPython.display import Markdown

import facerender
from helpers import annotations, verification
from helpers.claims import told
from helpers.figures import panels
from helpers.verification import figures as drawing
from helpers.verification import pairs as study
from helpers.verification.people import render_heads

# %% tags=["hide-cell"]
GROUPS = list(verification.GROUPS)
LABELS = ["AF", "AM", "EF", "EM", "WF", "WM"]
judged_pairs = stage.load("14_verification_measures", "pairs.parquet")
crossed = stage.load("14_verification_measures", "cross_pairs.parquet")
perceived = stage.load("14_verification_measures", "perceived.parquet")
made = torch.from_numpy(stage.load("14_verification_measures", "parameters.npy").copy())
pictures = stage.load("14_verification_measures", "faces.npy")
networks = stage.load("14_verification_measures", "recognisers.parquet")

# %% tags=["hide-input"] mystnb={"image": {"alt": "Six faces of one seed in two rows: above with background, neck and shoulders, below the same heads on white."}, "figure": {"name": "fig-white", "caption": "The prototypes of one seed before and after all but the head is made white (the paper's figure 8)."}}
first = slice(0, len(GROUPS) * 17, 17)
size = pictures.shape[-1]
before = facerender.render(made[first], 2 * size).image.cpu()
after = render_heads(made[first], 2 * size).image.cpu()
_ = figures.gallery([*before, *after], len(GROUPS), LABELS, ["before", "after"])

# %% tags=["hide-input"] mystnb={"image": {"alt": "Four rows of ten faces of one seed, five in each of two groups. Every row begins, in each group, with the prototype, and goes on with four poses, four lights, four expressions or four ages."}, "figure": {"name": "fig-variants-groups", "caption": "The images of one seed in two of its six groups, AF (left half) and WM (right half), after the paper's figure 2. In every row a half begins with the prototype; its four variants follow."}}
block = pictures[: 6 * 17].reshape(6, 17, *pictures.shape[1:])
halves = [[group, [0, *range(k, k + 4)]] for k in (1, 5, 9, 13) for group in (0, 5)]
rows = np.concatenate([block[group][columns] for group, columns in halves])
_ = figures.gallery(rows, 10, ["AF"] * 5 + ["WM"] * 5, verification.ATTRIBUTES)

# %% [markdown]
# ### By a classifier's planes, along the normals
#
# The paper's planes come from a classifier's labels, and it moves a prototype along the normals as they are. Chapter 14
# uses the crowd's planes and holds the other attributes. Here are both. *Angle* is the angle to the true normal in
# degrees. *Accuracy* says how often a plane agrees with its own labels. The other columns say how much an attribute
# changes on average along the normal.

# %% tags=["hide-input"]
planes = stage.load("14_verification_measures", "planes.parquet").set_index(["plane", "labels"])
named = planes.sort_index().rename(columns=lambda name: name.replace("_", " "))
named.style.format("{:z.2f}", na_rep="has no labels")

# %% [markdown]
# The next table walks the same seeds by each set of planes, to the same decision values. It gives the share of
# prototypes that *truly* have the gender and the ancestry group that were meant, the share of seeds for which all six
# do, and how much more of an attribute the men of a seed have than its women.

# %% tags=["hide-input"]
ways = stage.load("14_verification_measures", "ways.parquet").set_index(["labels", "walk"])
named = ways.rename(columns=lambda name: name.replace("_", " "))
named.style.format("{:.2f}").format("{:.0f}", subset=["as meant (%)", "all six (%)"])

# %% tags=["remove-input"]
true = stage.load("14_verification_measures", "as_meant.parquet")
CROWD, PAPER = "crowd, all samples", "classifier"
reached, WALKS = true.mean(), ("along normals", "the rest held")
more = true[f"{CROWD}, along normals"] - true[f"{PAPER}, along normals"]
told(
    "Along normals {paper[0]:.0%} of the prototypes are as meant with the classifier's labels, and "
    "{crowd[0]:.0%} with the crowd's labels of all samples. With the rest held it is {paper[1]:.0%} and "
    "{crowd[1]:.0%}. Do the crowd's labels bring more prototypes to the group that was meant? To hold the rest "
    "serves another end: along normals of the crowd's planes a seed's men have {plain:+.2f} of the scale "
    "of hair length more than its women, and {held:+.2f} with the rest held.",
    margin=more.mean(),
    error=more.sem(),
    paper=[reached[f"{PAPER}, {walk}"] for walk in WALKS],
    crowd=[reached[f"{CROWD}, {walk}"] for walk in WALKS],
    plain=ways.loc[(CROWD, "along normals"), "hair_length"],
    held=ways.loc[(CROWD, "the rest held"), "hair_length"],
)

# %% [markdown]
# ### How people see single images
#
# Nine raters of the crowd rate every image. If people see what was meant, scores rise from step to step, and by as
# much in every group.


# %% tags=["hide-input"]
def draw_perceived(frame: pd.DataFrame) -> None:
    """Perceived scores by what was to be shown, with their median: a panel per attribute."""
    # Means of nine ratings lie on a grid; a bar holds a ninth of the scale, and no value is on an edge.
    edges = (np.arange(11) - 0.5) / 9 - 1e-9
    parts = list(frame.groupby("attribute", sort=False))
    _, axes = plt.subplots(1, len(parts), figsize=(figures.WIDTH, 3.15))
    for ax, (name, part) in zip(axes, parts, strict=True):
        scores = dict(list(part.groupby("shown")["score"]))
        order = GROUPS if GROUPS[0] in scores else ("-2", "-1", "0", "1", "2")
        for place, shown in enumerate(order):
            look, base = figures.look(shown, 6), place + 0.42
            counts, _ = np.histogram(scores[shown], edges)
            bars = {"values": base - 0.82 * counts / counts.max(), "edges": edges, "baseline": base}
            if look.filled:
                ax.stairs(**bars, color=look.colour, fill=True, alpha=0.45)
            ax.stairs(**bars, color=look.colour, linewidth=1.2, linestyle=look.mark["linestyle"])
            ax.plot([scores[shown].median()] * 2, [place - 0.1, base], color="black", linewidth=2)
        panels.name_rows(ax, [shown.replace("-", "−") for shown in order])
        low, *_, high = (word.lower() for word in annotations.ATTRIBUTES[name])
        ax.set(xlim=(-0.06, 1.06), xticks=(0, 0.5, 1), xticklabels=[f"0\n{low}", "", f"1\n{high}"])
        for label, side in zip(ax.get_xticklabels(), ("left", "center", "right"), strict=True):
            label.set(ha=side, size=10)
        sizes = sorted({f"{len(one):,}" for one in scores.values()}, key=len)
        title = "perceived gender" if name == "gender" else name.replace("_", " ")
        n = " to ".join(dict.fromkeys(sizes[:: len(sizes) - 1 or 1]))
        ax.set_title(f"{title}\nn = {n}", fontsize=12)


# %% tags=["hide-input"] mystnb={"image": {"alt": "Histograms of perceived age by age step, perceived expression by expression step and perceived gender by group. If people see what was meant, scores rise from step to step, and from groups meant as female to those meant as male."}, "figure": {"name": "fig-perceived", "caption": "Do people see what was meant (the paper's figure 3)? Perceived score by step or group; black lines are medians."}}
whole = perceived.rename(columns={"group": "shown"}).drop(columns="attribute")
seen = [whole.melt("shown", ["gender"], "attribute", "score")]
for name, column in {"expression": "smiling", "age": "age"}.items():
    rows = perceived[perceived["attribute"].isin([name, "prototype"])]
    seen.insert(0, rows.assign(attribute=column, shown=rows["step"], score=rows[column]))
_ = draw_perceived(pd.concat(seen))

# %% tags=["hide-input"] mystnb={"image": {"alt": "Histograms of perceived skin colour and of fakeness of all images in six groups."}, "figure": {"name": "fig-perceived-groups", "caption": "Perceived skin colour and fakeness by group (the paper's figure 9); black lines are medians."}}
_ = draw_perceived(whole.melt("shown", ["skin_colour", "fakeness"], "attribute", "score"))

# %% tags=["hide-input"] mystnb={"image": {"alt": "A row of the faces that were rated most fake."}, "figure": {"name": "fig-uncanny", "caption": "The images with the highest rated fakeness, one of each prototype (the paper's figure 18); from the paper's limit upwards they are left out."}}
worst = perceived.sort_values("fakeness").drop_duplicates("prototype", keep="last")
worst = worst["fakeness"].nlargest(6)
_ = figures.gallery(pictures[worst.index], 6, [f"{value:.2f}" for value in worst])

# %% [markdown]
# Few images look uncanny in this world, because its artefacts are strong only far from the centre of latent space. With a
# real generator this step takes out a few in a hundred. Look at the images that it takes out: a rule that removes more
# images of one group changes the question.

# %% [markdown]
# (erratum-annotations)=
# ### Sizes of the study
#
# The table counts images, pairs and answers, then the pairs that are left without uncanny images. The paper's pairs
# are those that it prints, with pictures paired with themselves. Its answers to images are its total for all
# attributes. That total is no multiple of its images times the nine answers that each is said to get.

# %% tags=["hide-input"]
left = judged_pairs["kind"].value_counts()
asked_for = pd.Series(stage.load("14_verification_measures", "results.json")["asked"])
RATERS, RATED = 9, 5  # raters of an image or a pair, and attributes of an image
sizes = {  # of the paper, of this run
    "images": (10_200, len(perceived)),
    "answers to images": (123_000, RATERS * RATED * len(perceived)),
    "pairs": (48_000, asked_for.sum()),
    "answers to pairs": (432_000, RATERS * asked_for.sum()),
    "positives left": (11_682, left["positive"]),
    "negatives left": (35_406, left["negative"]),
}
sizes = pd.DataFrame(sizes, ["the paper", "this run"]).T
sizes.style.format("{:,}")

# %% tags=["remove-input"]
share = left / asked_for
Markdown(
    f"Left are {11_682 / 12_000:.1%} of the paper's positives and {35_406 / 36_000:.1%} of its "
    f"negatives, and {share['positive']:.1%} and {share['negative']:.1%} of this run's."
)

# %% [markdown]
# ### How people see pairs
#
# In the next figures a mark is the median of a group at a step, and the bar spans the middle seventy per cent of its
# pairs, as in the paper. The bar says how pairs differ. It does not say how well the median is known. Below the dashed
# line a pair counts as one person.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Consensus of raters by pose step and group in two panels: for pairs of one seed, near same, and of two seeds, near different."}, "figure": {"name": "fig-ratings-pose", "caption": "What raters say of pairs that differ in pose (the paper's figure 4): median of HCIC, and the range from its 15th to its 85th percentile. Step zero is the prototype."}}
LIMIT = 0.3  # the paper's
rated = judged_pairs.assign(rating=judged_pairs["hcic"])
_ = drawing.draw_pairs(rated, ["pose"], "rating", LIMIT)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Consensus of raters by step and group, a row each for light, expression and age, a column each for pairs of one seed and of two seeds."}, "figure": {"name": "fig-ratings", "caption": "The same for the other attributes (the paper's figure 14)."}}
_ = drawing.draw_pairs(rated, ["light", "expression", "age"], "rating", LIMIT)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Spread of nine ratings of a pair by attribute, medians with ranges."}, "figure": {"name": "fig-pair-spread", "caption": "Standard deviation of the nine ratings of a pair, as a share of the scale: medians, and ranges from the 15th to the 85th percentile of pairs; the line is the median that the paper found (figure 13)."}}
spread = judged_pairs.groupby("attribute", sort=False)["spread"]
ends = {"low": 0.15, "estimate": 0.5, "high": 0.85}
middle = pd.DataFrame({name: spread.quantile(share) for name, share in ends.items()})
middle["n"] = spread.size()
ax = figures.forest(middle, xlabel="standard deviation of a pair's ratings (scale = 1)")
ax.axvline(0.3, color=figures.BLACK, linestyle="--")
_ = ax.set_title(f"median {judged_pairs['spread'].median():.2f}, the paper's 0.30", size=12)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Pairs of pictures of one prototype, a row each for pose, light, expression and age; from left to right raters found the pairs more and more different."}, "figure": {"name": "fig-fooled", "caption": "Pairs of one prototype by HCIC (the paper's figure 17): in each row the lowest, the middle and the highest of an attribute."}}
intended = judged_pairs[judged_pairs["kind"] == "positive"].sort_values("hcic")
sorted_pairs = [intended[intended["attribute"] == name] for name in verification.ATTRIBUTES]
places = np.linspace(0, 1, 3)
examples = pd.concat([rows.iloc[(places * (len(rows) - 1)).astype(int)] for rows in sorted_pairs])
both = np.concatenate([pictures[examples["first"]], pictures[examples["second"]]], axis=3)
scores = [f"{value:.2f}" for value in examples["hcic"]]
_ = figures.gallery(both, len(places), scores, row_labels=verification.ATTRIBUTES)

# %% [markdown]
# (erratum-distance)=
# ### Similarity by step, group and network
#
# The paper calls the bars of these figures *confidence intervals of cosine distance*. They are something else. They span
# the middle seventy per cent of the pairs, and the quantity that grows with likeness is a similarity. Pairs of
# different seeds *and* groups are added for comparison. If a network finds them clearly less alike than pairs
# within a group, it has learned the group along with the person.


# %% tags=["hide-cell"]
def seen_by(name: str) -> pd.DataFrame:
    """All pairs, those across groups too, with the similarity that a network gives them."""
    every = pd.concat([judged_pairs, crossed])
    return every.assign(similarity=every[f"similarity_{name}"])


LINES, OTHERS = networks["threshold"], ["light", "expression", "age"]

# %% tags=["hide-input"] mystnb={"image": {"alt": "Similarity by pose step and group in three panels: pairs of one seed, of two seeds, and of two seeds and two groups."}, "figure": {"name": "fig-similarity-pose", "caption": "Similarity by pose, first ArcFace network (the paper's figure 5): median, and the range from the 15th to the 85th percentile of pairs; the dashed line is its threshold, the dotted one that of the paper, step zero the prototype."}}
FIXED = 0.6  # of similarity, the paper's
figure = drawing.draw_pairs(seen_by("arcface-a"), ["pose"], "similarity", LINES["arcface-a"])
for ax in figure.axes:
    ax.axhline(FIXED, color=figures.BLACK, linestyle=":")

# %% [markdown]
# The paper draws one line at a fixed similarity, for one of its networks. A similarity means something else in every
# network, and so does such a line. The table holds both thresholds against the consensus of the raters: *held* is the
# one that was set on other people, *fixed* the paper's.

# %% tags=["hide-input"]
same_person = verification.is_match(stage.load("14_verification_measures", "ratings.npy"), LIMIT)
everybody, at = np.full(len(judged_pairs), "all"), {}
for name, line in LINES.items():
    for label, threshold in {"held": line, "fixed": FIXED}.items():
        some = judged_pairs[f"similarity_{name}"], same_person, everybody, threshold
        at[name, label] = verification.fixed_threshold(*some).loc[0, ["threshold", "fnmr", "fmr"]]
at = pd.DataFrame(at).T.rename(columns={"fnmr": "FNMR", "fmr": "FMR"})
at.style.format("{:.1%}").format("{:.4f}", subset=["threshold"])

# %% tags=["hide-input"] mystnb={"image": {"alt": "Similarity by step and group for the first ArcFace network: a row each for light, expression and age, a column each for the three kinds of pair."}, "figure": {"name": "fig-similarity-arcface-a", "caption": "Similarity by the other attributes, first ArcFace network (the paper's figure 10)."}}
_ = drawing.draw_pairs(seen_by("arcface-a"), OTHERS, "similarity", LINES["arcface-a"])

# %% tags=["hide-input"] mystnb={"image": {"alt": "Similarity by step and group for the second ArcFace network: a row for each of the four attributes, a column each for the three kinds of pair."}, "figure": {"name": "fig-similarity-arcface-b", "caption": "Similarity by all attributes, second ArcFace network (the paper's figure 11)."}}
_ = drawing.draw_pairs(
    seen_by("arcface-b"), verification.ATTRIBUTES, "similarity", LINES["arcface-b"]
)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Similarity by step and group for the SphereFace network: a row for each of the four attributes, a column each for the three kinds of pair."}, "figure": {"name": "fig-similarity-sphereface", "caption": "Similarity by all attributes, SphereFace network (the paper's figure 12)."}}
_ = drawing.draw_pairs(
    seen_by("sphereface"), verification.ATTRIBUTES, "similarity", LINES["sphereface"]
)

# %% [markdown]
# The paper puts images into steps of expression and age by the scores that people give them: five equal parts of the
# scale. The steps above are those that were taken. The table counts which step of the walk ended in which part, and the
# next figure draws the same pairs by the parts.

# %% tags=["hide-input"]
PARTS = ["to 0.2", "to 0.4", "to 0.6", "to 0.8", "to 1"]
SCORE = {"expression": "smiling", "age": "age"}
part = np.ceil(5 * perceived[[*SCORE.values()]] - 1e-9).clip(lower=1).astype(int) - 1
where = {}
for name, column in SCORE.items():
    rows = perceived[perceived["attribute"].isin([name, "prototype"])]
    where[name] = pd.crosstab(rows["step"].astype(int), part.loc[rows.index, column])
where = pd.concat(where, names=["attribute", "step"]).fillna(0).astype(int)
where.rename_axis(columns="perceived").rename(columns=dict(enumerate(PARTS)))

# %% tags=["hide-input"] mystnb={"image": {"alt": "Similarity by perceived expression and perceived age, in five parts of the scale, and group for the first ArcFace network: a row for each of the two, a column each for the three kinds of pair."}, "figure": {"name": "fig-similarity-perceived", "caption": "Similarity by perceived expression and age of the second picture, first ArcFace network (supplement E of the paper)."}}
parts = []
for name, column in SCORE.items():
    rows = seen_by("arcface-a")
    rows = rows[rows["attribute"].isin([name, "prototype"])]
    step = part.loc[rows["second"], column].to_numpy() - 2
    parts.append(rows.assign(attribute=name, step=step))
figure = drawing.draw_pairs(pd.concat(parts), [*SCORE], "similarity", LINES["arcface-a"])
for ax in figure.axes:
    ax.set_xticks(range(5), [name.replace("to ", "≤ ") for name in PARTS])
    ax.set_xlabel(ax.get_xlabel().replace(" (steps)", ", as people see it"))

# %% tags=["hide-input"] mystnb={"image": {"alt": "Effect of each step of pose, light, expression and age on the similarity, by group, with intervals."}, "figure": {"name": "fig-steps-groups", "caption": "Effect of a step on similarity by group, against the next step towards the prototype (section 4.1.1 of the paper); first recogniser, 95 % intervals over seeds."}}
_ = drawing.draw_step_effects(stage.load("14_verification_measures", "steps.parquet"))

# %% [markdown]
# ### Heads without hair
#
# Hair covers a large part of a head, and a network may use it. The paper removes it by segmentation and finds similar
# trends. The renderer can shave a head: the same faces of some seeds are drawn once more, with hair of length zero. The
# table sets the effects of the steps side by side, over all groups of these seeds. *Low* and *high* hold those without
# hair, over seeds.

# %% tags=["hide-input"]
hairless, cell = (
    stage.load("14_verification_measures", "hairless.parquet"),
    ["group", "attribute", "step"],
)
by_hair = {"with hair": hairless, "without": hairless.assign(similarity=hairless["without"])}
by_hair = {name: study.step_effects(rows).set_index(cell) for name, rows in by_hair.items()}
trend = pd.DataFrame({name: table["estimate"] for name, table in by_hair.items()})
trend = trend.join(by_hair["without"][["low", "high", "seeds"]])
trend.loc["all"].style.format("{:+.4f}").format("{:.0f}", subset=["seeds"])

# %% tags=["remove-input"]
each = trend.drop(index="all", level="group")[["with hair", "without"]]
closer = (hairless["without"] - hairless["similarity"]).groupby(hairless["seed_first"]).mean()
told(
    "Over groups and steps, the effects with and without hair have a rank correlation of {alike:.2f}, "
    "and {sign:.0%} have the same sign. Without hair a picture is {closer:+.3f} more similar to its "
    "prototype. Are pictures of one person more alike without it?",
    margin=closer.mean(),
    error=closer.sem(),
    alike=each.corr("spearman").iloc[0, 1],
    sign=np.sign(each).diff(axis=1)["without"].eq(0).mean(),
    closer=closer.mean(),
)

# %% tags=["remove-input"]
costs = trend.loc["all"].sort_index()
last, lights = costs.loc[("age", "2")], costs.loc["light"]
dearer = lights["without"].lt(lights["with hair"]).sum()
Markdown(
    f"In this run {dearer} of {len(lights)} lights cost more on a shaved head. The last step of age "
    f"costs {-last['without']:.3f} without hair and {-last['with hair']:.3f} with it."
)

# %% [markdown]
# ## From chapter 15: Verification curves
#
# Chapter [15](15_verification_curves) draws one curve for each group and network, over all attributes. The paper has a
# panel for each attribute, and repeats all of it with two other limits of consensus. Pairs of two prototypes belong to
# the negatives of every attribute. Where a line reaches zero its band is wide, because a few seeds without a failure
# prove little. A curve ends where a single negative pair is left.

# %% tags=["hide-cell"]
curves = stage.load("15_verification_curves", "curves.parquet")


def draw_limit(limit: float) -> None:
    """Curves and rates at the threshold for one limit of consensus."""
    own = curves[np.isclose(curves["limit"], limit)]
    drawing.draw_curves(own[~own["at_threshold"]], own[own["at_threshold"]])


# %% tags=["hide-input"] mystnb={"image": {"alt": "Sixteen panels, a row per attribute and a column per recogniser, with false non-match rate against false match rate for six groups; bands around each line."}, "figure": {"name": "fig-curves", "caption": "Error curves by attribute and recogniser (the paper's figure 6), with bands. Triangles are the fixed threshold; those that point left have too few false matches to count."}}
draw_limit(0.3)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Sixteen panels with error curves for six groups, a row per attribute and a column per recogniser, lenient limit of consensus."}, "figure": {"name": "fig-curves-lenient", "caption": "The same with more lenient consensus (the paper's figure 15)."}}
draw_limit(0.4)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Sixteen panels with error curves for six groups, a row per attribute and a column per recogniser, strict limit of consensus."}, "figure": {"name": "fig-curves-strict", "caption": "The same with stricter consensus (the paper's figure 16)."}}
draw_limit(0.2)

# %% [markdown]
# ### Each group at its own threshold
#
# The next figures hold each group's own false match rate. This compares the *ability* of networks. The group is
# unknown at the door, so no system works like that. A rate that cannot be estimated is named: one in a thousand cannot be
# held with less than a thousand negative pairs.


# %% tags=["hide-cell"]
def draw_rates(strict: bool) -> None:
    """FNMR of every group at one FMR."""
    every = stage.load("15_verification_curves", "at_fmr.parquet")
    table = every[(every["fmr"] == every["fmr"].min()) == strict]
    label = f"FNMR (%) at an FMR of {100 * table['fmr'].iloc[0]:g} % (n = positive pairs)"
    shown = table.assign(estimate=table["fnmr"], row=drawing.counted(table, "positives"))
    tall = 1.8 + 0.76 * shown["row"].nunique()
    figure = panels.intervals(shown, "row", "row", "recogniser", label, across=2, height=tall)
    if table["fnmr"].isna().all():
        figure.axes[0].set_xlim(0, 100)


# %% tags=["hide-input"] mystnb={"image": {"alt": "False non-match rate of six groups and four recognisers at a fixed false match rate, with intervals; rates that cannot be estimated are named."}, "figure": {"name": "fig-rates", "caption": "FNMR where each group's FMR is held at one in a hundred; intervals from the bootstrap of seeds."}}
draw_rates(strict=False)

# %% tags=["hide-input"] mystnb={"image": {"alt": "False non-match rate of six groups and four recognisers at a false match rate ten times lower, with wider intervals, or named as not estimable."}, "figure": {"name": "fig-rates-strict", "caption": "The same at one in a thousand, where the negatives of a group suffice."}}
draw_rates(strict=True)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Differences in false non-match rate, each group at its own threshold, of five groups to European male faces for four recognisers, with intervals and a band of tolerance."}, "figure": {"name": "fig-gaps-held", "caption": "Differences in FNMR to European-looking men, each group at its own threshold for one FMR; tolerance shaded. Thin lines are 95 % intervals, which decide on *exceeds*; thick lines are intervals of ninety per cent, which decide on *within*."}}
gaps = stage.load("15_verification_curves", "gaps.parquet")
tolerance = 100 * stage.load("audit_plan", "plan.json")["tolerance"]
own = gaps[gaps["measure"] == "FNMR at FMR"]
shown = own.assign(row=drawing.counted(own, "n"), told=own["verdict"].astype(str))
label = "FNMR minus that of European-looking men (points)"
figure = panels.intervals(shown, "row", "told", "recogniser", label, across=2, height=5.6)
for ax, (_, part) in zip(figure.axes, shown.groupby("recogniser", sort=False), strict=True):
    ax.axvspan(-tolerance, tolerance, color="#DDDDDD", linewidth=0, zorder=0)
    ends = 100 * part[["low90", "high90"]]
    colours = [figures.look(told).colour for told in part["told"]]
    ax.hlines(range(len(part)), ends["low90"], ends["high90"], colours, linewidth=4, zorder=1.5)

# %% [markdown]
# The table adjusts the p-values of all differences by Holm's method, over a family that the plan names: all groups and
# measures of the three skewed networks. The control is adjusted by itself. A small value says that a group differs from
# the reference, for better or for worse.

# %% tags=["hide-input"]
adjusted = gaps.pivot_table("p_holm", ["measure", "group"], "recogniser", sort=False)
adjusted.style.format("{:.3f}", na_rep="not estimable")

# %% [markdown]
# ### How good are the raters?
#
# The paper takes annotators to be equally accurate in all groups. The table tests it in the simulated crowd. An answer is
# right if it falls on the true side of *not sure*. Intervals are between seeds. In this crowd no group is harder by
# design. A real crowd may well see faces of its own group better.

# %% tags=["hide-input"]
raters = stage.load("15_verification_curves", "raters.parquet")
raters = raters.astype({"group": str}).set_index(["kind", "group"])[["estimate", "low", "high"]]
(100 * raters).style.format("{:.1f}", na_rep="not estimable")

# %% [markdown]
# ### The audit with known identity
#
# The crowd's consensus and the known identity give each group's false non-match rate at one threshold and its
# difference to European-looking men, in points. The interval is that of the consensus.

# %% tags=["hide-input"]
by_truth = stage.load("15_verification_curves", "gaps_known.parquet")
both = gaps.assign(truth=by_truth["estimate"], truth_rate=by_truth["rate"])
both = both[both["measure"] == "FNMR at threshold"].set_index(["recogniser", "group"])
columns = {"truth_rate": "truth of the rate", "truth": "truth of the estimate"}
table = 100 * both[["rate", "truth_rate", "estimate", "low", "high", "truth"]]
table.rename(columns=columns).style.format("{:z.1f}", na_rep="not estimable")

# %% tags=["remove-cell"]
_ = stage.finish({})
