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
# # Real data
#
# *This note belongs to chapter 18 and to the manual. It goes from a folder of photographs to a report. You need
# chapter [10](10_matched_pairs) (verdicts). Reading: {{minutes}} minutes.*

# %% tags=["hide-cell"]
import json
import pickle
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from PIL import Image
from sklearn.linear_model import Ridge

import faceaudit
import facerender
from faceaudit import datasets, verification
from faceaudit.designs.pairs import draw_pairs
from faceaudit.latents.directions import Hyperplanes
from faceaudit.utils import seeding
from faceworld import crowd, do, load_generator, networks, pair_crowd, populations
from faceworld import people as invented
from faceworld.rendering import render_to_store
from helpers import figures
from helpers.artifacts import Stage
from helpers.claims import claim

# %% tags=["parameters", "hide-cell"]
profile = "laptop"
device = "cpu"
seed = 20200715

# %% tags=["remove-cell"]
stage = Stage("n11_real_data", profile=profile, device=device, seed=seed)
figures.style()
random = seeding.rng(seed, "n11_real_data")

# %% [markdown]
# The book runs on drawn faces. You may have photographs of people on your own disk. `faceaudit.datasets` reads the
# tables of eight published collections, and the answers and hyperplanes that the authors of {cite:t}`transects`
# published with {cite:t}`matching`. It downloads no file and ships none: get a collection from its authors, under their terms.

# %% [markdown]
# | collection | file that is read | terms |
# |---|---|---|
# | CelebA {cite:p}`celeba` | the folder with `list_attr_celeba.txt`, and `list_eval_partition.txt` and `identity_CelebA.txt` if you have them | research |
# | FairFace {cite:p}`fairface` | one of the label files (CSV) | CC BY 4.0 |
# | Pilot Parliaments Benchmark (PPB) {cite:p}`gender-shades`, or your own portraits | a CSV file, of which you name the columns | you state them |
# | FHIBE {cite:p}`fhibe` | `fhibe_face_crop_align.csv` | registration; evaluation only |
# | Casual Conversations v2 {cite:p}`casual-conversations` | `CasualConversationsV2.json`, and a folder of frames | agreement with its publisher |
# | Balanced Faces in the Wild (BFW) {cite:p}`bfw` | the table of pairs, as CSV | a form; research |
# | Racial Faces in-the-Wild (RFW) {cite:p}`rfw` | `African_pairs.txt`, and the same of the other sets | research |
# | CausalFace {cite:p}`verification` | people's scores, a CSV file for each attribute; pairs, a CSV file of which you name the columns | research |

# %% [markdown]
# The terms are a summary, and it may be out of date. The terms that came with your copy count. A reader writes the
# summary into its result, unchecked.
#
# `make train` reads CelebA and FairFace with `read_celeba` and `read_fairface`, and trains the papers' gender
# classifier on them; [](audit-a-classifier) says how to start it. This note shows all other readers.

# %% [markdown]
# No photograph of a person can be shown here. So each folder below has the file names and the columns of a collection,
# and its pictures are heads that the book draws. Put your own folder in its place.

# %%
SIZE = 64  # pixels; the networks that ship with the book learned from pictures of this size
PEOPLE = 30  # of each group
PICTURES = 4  # of each person
people_by_group = dict.fromkeys(invented.GROUPS, PEOPLE)
drawn_people = invented.identity_set(people_by_group, PICTURES, seed=seed + 11)

# %%
parameters, person, group = drawn_people
heads = invented.store_heads(parameters, SIZE, stage.path("heads.npy"), device)

# %% tags=["sheet", "hide-input"] mystnb={"image": {"alt": "Two rows of six drawn heads on white. Each column is one invented person in two pictures, which differ in pose, light and expression."}, "figure": {"name": "fig-stand-ins", "caption": "Drawn heads stand in for photographs: six invented people, each in two pictures."}}
# Computed by faceworld.people.identity_set.
first_of_group = np.arange(len(invented.GROUPS)) * PEOPLE * PICTURES
both = np.concatenate([first_of_group, first_of_group + 1])
larger = invented.render_heads(parameters[both], 3 * SIZE).image.cpu()
_ = figures.gallery(larger, 6)


# %%
def write_pictures(images, names, folder):
    """Write images (n, 3, height, width) under the names that a collection gives its files."""
    for image, name in zip(images, names, strict=True):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image.transpose(1, 2, 0)).save(path)


# %% [markdown]
# ## A table of portraits
#
# The Pilot Parliaments Benchmark has a portrait a row, with perceived gender and skin type. Your own table may look
# like it. Here the portraits are drawn from a population that imitates it ([](02_face_world)). The table gets three
# faults, as real tables have them, and one picture is missing.

# %%
PORTRAITS = 1000
drawn = populations.sample("ppb-like", PORTRAITS, seed + 12)
pictures = render_to_store(drawn.parameters, SIZE, stage.path("portraits.npy"), device=device)
skin_type = np.clip(6 * drawn.frame["skin_colour"], 0, 5).astype(int)

# %%
table = pd.DataFrame({"file": [f"{number:04}.png" for number in range(PORTRAITS)]})
table["gender"] = np.where(drawn.frame["gender"] == 1, "Male", "Female")
table["fitzpatrick"] = np.array(["I", "II", "III", "IV", "V", "VI"])[skin_type]
table["country"] = "nowhere"

# %%
ppb_folder = stage.folder / "ppb"
write_pictures(pictures[:-1], table["file"][:-1], ppb_folder)  # one picture is missing

# %%
table.loc[7, "fitzpatrick"] = "NA"
table.loc[8, "gender"] = ""
table.loc[9, "file"] = table.loc[6, "file"]
table.to_csv(stage.path("ppb.csv"), index=False)

# %% [markdown]
# You name the columns, the collection and its terms. You also name the folder that the paths count from. The reader
# returns three things: `frame`, `card` and `dropped`.

# %%
ppb = datasets.read_portraits(
    stage.folder / "ppb.csv",
    image="file",
    gender="gender",
    skin="fitzpatrick",
    source="PPB",
    terms="on request",
    images=ppb_folder,
    version="drawn",
)
ppb.frame.head(3)

# %% [markdown]
# `frame` has one row an image. `image` is its path from the folder that you give as `images`, and `identity` says which
# images show one person, where the collection knows it. All other columns have the names and the labels of the source.
# If you leave out `images`, the reader skips the pictures, and paths stay as the file has them.

# %%
ppb.dropped

# %% [markdown]
# An unusable row is dropped and counted. `dropped` has a row for each reason, with the first example. `card` is for your
# manifest and your report. It has the source, the version, the terms, and how many rows were kept and dropped.

# %%
ppb.card

# %% [markdown]
# A file of another form is refused as a whole, with one sentence. It names the file, the row and what was expected. A
# cell such as `NA` or `nan` is missing. Names of images are compared after Unicode's NFC.
#
# A spreadsheet changes a file that it saves. Some changes are harmless: empty columns and rows at the end are left out,
# and TRUE, T and True mean the same. Others lose data: an age of 3-9 becomes the date 9-Mar, which no reader takes
# for an age. A text in an unnamed column refuses the file, because the cells of that row may have moved.

# %%
try:
    datasets.read_fairface(stage.folder / "ppb.csv")
except ValueError as error:
    print(fill(str(error).replace(f"{stage.folder}/", ""), 80))

# %% [markdown]
# ## People who agreed: FHIBE
#
# FHIBE's labels stand behind code numbers, and these differ between versions. Several labels stand in a list. In the
# drawn copy each person has four pictures. Pronouns are drawn at random, because a head does not show them.

# %%
some = np.flatnonzero(person % PEOPLE < 3)  # three people of each group
world = facerender.to_frame(parameters[some])
subject = [f"s{number:03}" for number in person[some]]
image_id = [f"i{number:04}" for number in some]

# %%
TONES = ["[224, 188, 163]", "[203, 160, 130]", "[164, 131, 103]", "[120, 84, 60]", "[75, 52, 42]"]
PRONOUNS = [
    "['0. She/her/hers']",
    "['1. He/him/his']",
    "['0. She/her/hers', '2. They/them/theirs']",
]
pronoun = random.choice(PRONOUNS, person.max() + 1)

# %%
tone = np.clip(5 * world["skin_colour"], 0, 4).astype(int)
apparent_tone = np.clip(tone + (world["light_power"] < 0.35), 0, 4)  # darker in dim light

# %%
fhibe_table = pd.DataFrame({"image_id": image_id, "subject_id": subject})
fhibe_table["filepath"] = (
    "raw/" + fhibe_table["subject_id"] + "/" + fhibe_table["image_id"] + ".png"
)
fhibe_table["age"] = (18 + 60 * world["age"]).round()
fhibe_table["pronoun"] = pronoun[person[some]]
fhibe_table[["ancestry", "nationality"]] = "['3. Invented']"
fhibe_table["natural_skin_color"] = [f"{level}. {TONES[level]}" for level in tone]
fhibe_table["apparent_skin_color"] = [f"{level}. {TONES[level]}" for level in apparent_tone]

# %% [markdown]
# The last person has withdrawn. The new version of the table lacks these rows, and the pictures still lie on the disk.
# One age is a band, and one list is cut.

# %%
fhibe_folder = stage.folder / "fhibe"
write_pictures(heads[some], fhibe_table["filepath"], fhibe_folder)
withdrawn = fhibe_table["subject_id"].iloc[-1]

# %%
fhibe_table = fhibe_table[fhibe_table["subject_id"] != withdrawn].astype({"age": str})
fhibe_table.loc[0, "age"] = "30-39"
fhibe_table.loc[5, "pronoun"] = "['0. She/her"
fhibe_table.to_csv(stage.path("fhibe_face_crop_align.csv"), index=False)

# %%
fhibe = datasets.read_fhibe(
    stage.folder / "fhibe_face_crop_align.csv", images=fhibe_folder, version="drawn"
)
fhibe.frame[["image", "identity", "age", "pronoun", "natural_skin_color"]].iloc[[0, 10, 20]]

# %%
fhibe.dropped[["reason", "field", "count", "place", "found"]]

# %% [markdown]
# The reading function drops the code number before each label. Labels of a list are joined: *She/her/hers; They/them/theirs* is a
# group of its own, until you decide otherwise and say so. Count people rather than images:

# %%
fhibe.frame.groupby("pronoun")["identity"].nunique().to_frame("people")

# %% tags=["hide-input"]
on_disk = len(list((fhibe_folder / "raw" / withdrawn).glob("*.png")))
claim(
    "The {n} pictures of the person who withdrew still lie in the folder, and the reader leaves out all of them.",
    holds=on_disk == PICTURES and not (fhibe.frame["identity"] == withdrawn).any(),
    n=on_disk,
)

# %% [markdown]
# ## Frames of videos: Casual Conversations
#
# The annotations of Casual Conversations v2 are a list of records, one for each video. You extract frames from the
# videos, into a folder for each person. The drawn copy has two videos of each of four people. One record lacks a skin
# tone, one person lacks frames, and one person stated two genders.

# %%
records = []
for number in range(4):
    for video in ("a", "b"):
        record = {"subject_id": f"{number:04}", "video_name": f"{video}.mp4"}
        record |= {"age": str(30 + number), "gender": "cis woman"}
        record["monk_skin_tone"] = {"scale": f"scale {3 + number}", "confidence": "high"}
        record["fitzpatrick_skin_tone"] = {"type": "type iii", "confidence": "medium"}
        records.append(record)

# %%
records[1]["gender"] = "non-binary"
del records[2]["monk_skin_tone"]
annotations = stage.path("CasualConversationsV2.json")
_ = annotations.write_text(json.dumps(records))

# %%
frame_names = [f"{number:04}/{video}/1.jpg" for number in range(3) for video in ("a", "b")]
write_pictures(heads[: len(frame_names)], frame_names, stage.folder / "frames")

# %%
conversations = datasets.read_casual_conversations(annotations, stage.folder / "frames")
conversations.frame[["image", "identity", "age", "gender", "monk_skin_tone.scale"]]

# %% [markdown]
# The table has a row for each frame. A value on which a person's records differ is missing: the reader cannot know
# which of them is right. What is counted as dropped are records.

# %%
conversations.dropped[["reason", "field", "count", "place"]]

# %% [markdown]
# ## Pairs: BFW and RFW
#
# A set of pairs has one row a pair. The pictures are `first_image` and `second_image`, the people are `first_identity` and
# `second_identity`, and `same` says whether they are one person. BFW's table also has similarities of four recognisers.
# In the drawn copy the column `resnet50` holds those of a small network of [](14_verification_measures), which saw mostly
# one group in training. The names of BFW's groups stand for shapes of drawn heads.

# %%
recogniser = networks.Recogniser.read(networks.SHIPPED_NETWORKS / "arcface-a.safetensors")
images = pd.DataFrame({"image": np.arange(len(heads)).astype(str)})
images = images.assign(identity=person.astype(str), group=group)
chosen = draw_pairs(images, impostors=1500, seed=seed)[["first", "second"]].to_numpy()
similarity = verification.similarity(recogniser(heads), chosen)

# %%
RACE = {"african": "black", "east asian": "asian", "european": "white"}
ancestry, male = invented.split_groups(group)
gender = np.where(male, "males", "females")
subgroup = pd.Series(ancestry).map(RACE) + "_" + gender
picture = np.arange(len(heads)) % PICTURES
names = [f"{s}/n{p:06}/{k:04}_01.jpg" for s, p, k in zip(subgroup, person, picture, strict=True)]

# %%
sides = {1: chosen[:, 0], 2: chosen[:, 1]}
bfw_table = pd.DataFrame({"fold": np.arange(len(chosen)) % 5 + 1, "resnet50": similarity})
bfw_table["label"] = (person[sides[1]] == person[sides[2]]).astype(int)
for side, rows in sides.items():
    bfw_table[f"p{side}"] = np.array(names)[rows]
    bfw_table[f"id{side}"] = person[rows]
    bfw_table[f"att{side}"] = subgroup.to_numpy()[rows]
    bfw_table[f"g{side}"] = np.where(male[rows], "M", "F")
    bfw_table[f"e{side}"] = bfw_table[f"att{side}"].str[0].str.upper()
    bfw_table[f"a{side}"] = bfw_table[f"e{side}"] + bfw_table[f"g{side}"]

# %% [markdown]
# In the copy one pair of one person has the label of two, one pair is a picture with itself, and one picture is
# missing. The release holds its table as a pickle. Opening a pickle runs what is in it, so the reader takes CSV only.

# %%
bfw_folder = stage.folder / "bfw"
write_pictures(heads[:-1], names[:-1], bfw_folder)

# %%
bfw_table.loc[0, "label"] = 1 - bfw_table.loc[0, "label"]
bfw_table.loc[1, "p2"] = bfw_table.loc[1, "p1"]
bfw_table.to_csv(stage.path("bfw.csv"), index=False)

# %%
bfw = datasets.read_bfw(stage.folder / "bfw.csv", images=bfw_folder, version="drawn")
bfw.frame[["first_identity", "second_identity", "same", "att1", "att2", "resnet50"]].head(3)

# %%
bfw.dropped[["reason", "field", "count", "place", "found"]]

# %% [markdown]
# RFW has four sets, each a text file of pairs in ten folds. A fold has first the pairs of one person, then those of two,
# and the cells are parted by tabs. A file with fewer lines was cut, so it is refused. The names of RFW's folders
# belong to real people. The reader uses them to tell that two images show one person. Do not look them up.


# %%
def line_of_one_person():
    """A person and two of their pictures."""
    who = random.integers(PEOPLE)
    n, m = random.choice(PICTURES, 2, replace=False) + 1
    return f"m.{who}\t{n}\t{m}"


def line_of_two_people():
    """A person and a picture, twice."""
    who, other = random.choice(PEOPLE, 2, replace=False)
    n, m = random.integers(PICTURES, size=2) + 1
    return f"m.{who}\t{n}\tm.{other}\t{m}"


# %%
lines = []
for _ in range(10):  # folds
    lines += [line_of_one_person() for _ in range(300)]
    lines += [line_of_two_people() for _ in range(300)]

# %%
rfw_folder = stage.folder / "rfw"
rfw_names = [f"African/m.{p}/m.{p}_{k + 1:04}.jpg" for p in range(PEOPLE) for k in range(PICTURES)]
write_pictures(heads[: len(rfw_names)], rfw_names, rfw_folder)

# %%
lines[0] = lines[0].replace("\t", " ")
lines[1] = lines[-1]
path = stage.path("African_pairs.txt")
_ = path.write_text("\n".join(lines) + "\n")
print(lines[2], lines[302], sep="\n")

# %%
rfw = datasets.read_rfw(path, images=rfw_folder)
rfw.frame[["first_image", "second_image", "same", "fold"]].iloc[[0, 300, 600]]

# %%
rfw.dropped[["reason", "count", "place", "found"]]

# %% [markdown]
# ## Synthetic faces: CausalFace
#
# CausalFace are faces that a generator made for {cite:t}`verification`. A name says what the authors meant to make: a seed, a race and
# a gender. Together they are the *prototype*, which stands for an identity here. Each row of a table of scores has an
# image, then a worker and a score, as many times as there were workers. Here the heads of a seed differ in shape alone,
# and a simulated crowd answers.

# %%
SEEDS = 4
base, _, _ = invented.identity_set({"european female": SEEDS}, 1, seed=seed + 13)
base = invented.neutral(base)  # one pose and one light


# %%
def prototype(group):
    """The faces of all seeds as a group: parameters (seeds, P)."""
    ancestry, is_male = invented.split_groups([group])
    x, y = invented.ancestry_point(ancestry)[0]
    return do(base, ancestry_x=x, ancestry_y=y, gender=0.85 if is_male[0] else 0.15)


prototypes = {group: prototype(group) for group in invented.GROUPS}

# %%
scores = []
causalface_names = []
for group_name, faces in prototypes.items():
    ancestry_name, gender_name = group_name.rsplit(" ", 1)
    race = RACE[ancestry_name]
    ending = f"race_{race}_gender_{gender_name}_age_0.png"
    visible = crowd.perceived(facerender.visible_scores(faces))[["gender"]]
    visible.index = [f"seed_{number}_{ending}" for number in range(SEEDS)]
    scores.append(crowd.annotate(visible, 5, seed=seed, stage=f"n11_real_data/{group_name}"))
    causalface_names += [f"seed_{k}/{race}_{gender_name}_age_0.png" for k in range(SEEDS)]

# %%
answers = pd.concat(scores)
answers = answers[(answers["status"] == "accepted") & (answers["visit"] == 0)]

# %%
rows = ["image," + ",".join(["worker,score"] * 5)]
for name, of_image in answers.groupby("image_id", sort=False):
    cells = of_image[["worker_id", "gender"]].astype(str).to_numpy().ravel()
    rows.append(",".join([name, *cells]))

# %%
rows[1] = rows[1].rsplit(",", 1)[0] + ",9"  # a level that the scale lacks
path = stage.path("causalface_gender.csv")
_ = path.write_text("\n".join(rows) + "\n")
print(rows[0][:60], rows[2][:74], sep="\n")

# %%
causalface_folder = stage.folder / "causalface"
every_prototype = torch.cat(list(prototypes.values()))
faces = invented.store_heads(every_prototype, SIZE, stage.path("prototypes.npy"), device)
write_pictures(faces, causalface_names, causalface_folder)

# %%
causalface = datasets.read_causalface({"gender": path}, images=causalface_folder)
causalface.frame.head(3)

# %% [markdown]
# Scores are levels counted from 0. The reader returns means from zero to one, and hashes the workers as it reads them.
# The pairs of CausalFace come with ratings, from *likely same* to *likely different*. You name the columns,
# because the layout of the release is unpublished. A pair that lacks a rating is dropped: a trimmed mean of nine and one of
# eight have different meanings. The function `hcic` gives the consensus of the people who were asked, from
# 0 (likely same) to 1 (likely different).

# %%
left = prototypes["european male"]
right = {
    "white_male_y_-22.5_rest": do(left, yaw=-22.5),
    "black_male_y_0": prototypes["african male"],
}
pose_difference = {"white_male_y_-22.5_rest": 22.5, "black_male_y_0": 0.0}


# %%
def rated(name):
    """What nine people say of each seed's pair: a row per pair."""
    apart = pd.Series(pair_crowd.identity_distance(left, right[name]), range(SEEDS))
    pose = pd.Series(pose_difference[name], range(SEEDS))
    answers = pair_crowd.annotate_pairs(apart, pose, seed=seed, stage=f"n11_real_data/{name}")
    answers = answers[(answers["status"] == "accepted") & (answers["visit"] == 0)]
    return np.array(answers["identity"]).reshape(SEEDS, 9)


# %%
RATINGS = [f"rating_{number}" for number in range(1, 10)]
parts = []
for name in right:
    part = pd.DataFrame(rated(name), columns=RATINGS).astype(object)
    part["left"] = [f"pose/seed_{number}/white_male_y_0.png" for number in range(SEEDS)]
    part["right"] = [f"pose/seed_{number}/{name}.png" for number in range(SEEDS)]
    parts.append(part)

# %%
pair_table = pd.concat(parts, ignore_index=True)
pair_table.loc[3, "rating_9"] = ""
path = stage.path("causalface_pairs.csv")
pair_table.to_csv(path, index=False)

# %%
pairs = datasets.read_causalface_pairs(path, first="left", second="right", ratings=RATINGS)
consensus = verification.hcic(pairs.frame[RATINGS])
pairs.frame[["first_identity", "second_identity", "same"]].assign(consensus=consensus)

# %% [markdown]
# ## What the transects paper published
#
# The answers that {cite:t}`transects` collected are a pickle of arrays, images by raters. Their hyperplanes are
# pickled models. Both are read without running anything in the files. An image is called by its row, and a rater
# is a column of one attribute.

# %%
generator = load_generator("known-truth", size=SIZE)
codes = generator.sample(200, seed + 14)
visible = crowd.perceived(facerender.visible_scores(generator.parameters(codes)))
ATTRIBUTE_OF_ARRAY = {"gender": "gender", "skin-color": "skin_colour", "age": "age"}

# %%
answers = crowd.annotate(
    visible[list(ATTRIBUTE_OF_ARRAY.values())], 5, seed=seed, stage="n11_real_data/published"
)
answers = answers[(answers["status"] == "accepted") & (answers["visit"] == 0)]

# %%
levels = {
    name: np.array(answers[column]).reshape(-1, 5) for name, column in ATTRIBUTE_OF_ARRAY.items()
}
levels["age"][0, 0] = -1  # a level that the scale lacks
path = stage.path("annotations.pkl")
_ = path.write_bytes(pickle.dumps(levels))

# %%
published = datasets.read_published(path)
published.frame[["image_id", "attribute", "level"]].groupby("attribute", observed=True).head(1)

# %%
dropped = published.report["dropped"] & (published.report["count"] > 0)
published.report.loc[dropped, ["reason", "count", "place"]]

# %%
numbers = codes.cpu().numpy().astype(float)
for letter, attribute in {"A": "age", "C": "skin_colour"}.items():
    model = Ridge(10.0).fit(numbers, visible[attribute])
    stage.path(f"planes/{letter}_W.pkl").write_bytes(pickle.dumps(model))

# %%
planes = Hyperplanes.from_arrays(datasets.read_published_planes(stage.folder / "planes"))
pd.DataFrame({"attribute": planes.names, "numbers of the normal": planes.normals.shape[1]})

# %% tags=["hide-input"]
value = planes.decision_values(numbers)[:, list(planes.names).index("skin_colour")]
claim(
    "The plane of skin colour, read without running the file, gives all {n} codes the value that the model gives them.",
    holds=np.allclose(value, model.predict(numbers), rtol=0, atol=1e-9),
    n=len(numbers),
)

# %% [markdown]
# ## From portraits to a report
#
# An [audit of found portraits](audit-portraits) takes a set of images: its table `frame`, with a column of the
# model's answers. So first the model answers. It reads the pictures that `frame` names, in its order. The
# classifier is one of the book's.

# %%
opened = [np.asarray(Image.open(ppb_folder / name)) for name in ppb.frame["image"]]
images = np.stack(opened).transpose(0, 3, 1, 2)
classifier = networks.AuditedModel.read(networks.SHIPPED_NETWORKS / "celeba-like.safetensors")

# %%
scored = ppb.frame.assign(p_male=networks.predict(classifier, images))
scored["skin"] = np.where(scored["fitzpatrick"].isin(["I", "II", "III"]), "lighter", "darker")

# %% [markdown]
# One call makes the report. With `unit=None` the images are portraits that were found. An audit file with the same
# settings and the command `python -m faceaudit run portraits.yml` give the same ([](audit-portraits)).

# %%
of_portraits = faceaudit.table(
    scored,
    unit=None,
    image="image",
    label="gender",
    score="p_male",
    axes={"skin": ["lighter", "darker"], "gender": ["Female", "Male"]},
    classes=["Female", "Male"],
    tolerance=0.05,
    question="Does the model err more often on portraits of darker skin?",
)
Markdown(of_portraits.report.answer.replace("\n", "\n\n"))

# %%
gaps = pd.concat([of_portraits.averages, of_portraits.effects])
gaps.index = gaps["group"] + " minus " + gaps["reference"] + ", " + gaps["cell"]
tolerance = 100 * of_portraits.report.tolerance
beyond = (gaps["verdict"] == "exceeds").sum()

# %% tags=["hide-input"] mystnb={"image": {"alt": "Differences of error rates between darker and lighter skin and between men and women, over all portraits and by cell, each with an interval around a line at zero. The difference of skin is large among women and near zero among men."}, "figure": {"name": "fig-portraits-gaps", "caption": "Differences of error rates between groups of drawn portraits, with 95% intervals and the number of portraits. Grey: the tolerance. The differences are associations."}}
# Computed by faceaudit.designs.portraits.Portraits.analyse.
points = (100 * gaps[["estimate", "low", "high"]]).assign(n=gaps["n"])
points = points.rename(lambda name: name.replace(", ", ",\n"))
axis = figures.forest(points, None, "difference of error rates (points)")
axis.figure.set_size_inches(figures.WIDTH, 5.6)  # for three lines in each label
axis.axvspan(-tolerance, tolerance, color="#DDDDDD", zorder=0)
_ = axis.set_title(f"{beyond} of {len(gaps)} differences are shown to be\nbeyond the tolerance")

# %% [markdown]
# Photographs of different people differ in more than the group: in light, camera, pose, age, hair and clothing. A difference in
# error rates between groups of photographs is an association. [](01_observational_audit) shows how far it can lie from
# the effect. The report says so in its first box. It takes people as units if you name the column of identities, and it
# can hold a difference against the effects that you found on matched images. The [audit of a table](audit-a-table)
# asks for matched units, which of these collections only CausalFace has.

# %% [markdown]
# ## From pairs to a report
#
# BFW's table has similarities in it, so it can be audited as a table of pairs. Like is compared with like: only pairs
# within a group are kept. Then the call names the columns and the group that others are compared with. The table
# after the answer counts the verdicts on the differences from that group.

# %%
alike = bfw.frame[bfw.frame["att1"] == bfw.frame["att2"]]
of_pairs = faceaudit.pairs(
    alike,
    group="att1",
    first="first_identity",
    second="second_identity",
    same="same",
    similarity="resnet50",
    reference="white_males",
    fmr=0.05,
    tolerance=0.05,
    question="Whom does this recogniser fail more often?",
).report
Markdown(of_pairs.answer.replace("\n", "\n\n"))

# %%
rates = pd.DataFrame([dict(row) for row in of_pairs.match_rates]).set_index("group")
rates = rates.rename(lambda name: name.replace("_", " "))
verdicts = pd.Series([row.verdict for row in of_pairs.disparities], name="verdict")
verdicts.replace("inconclusive", "undecided").value_counts().to_frame("differences")

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels of error rates with intervals for six groups of drawn people: false non-matches on the left, false matches on the right, all at one threshold. All intervals are wide and overlap."}, "figure": {"name": "fig-real-pairs", "caption": "Error rates by group at one threshold: the one at which the reference has the false match rate of the call; 95% intervals with people as units. The names of groups are those of BFW's table, and the people are drawn."}}
# Computed by faceaudit.designs.pairs.Pairs.analyse.
figure, axes = plt.subplots(1, 2, figsize=(figures.WIDTH, 3.6), sharey=True)
for ax, rate, name in zip(axes, ("fnmr", "fmr"), ("false non-match", "false match"), strict=True):
    columns = {rate: "estimate", f"{rate}_low": "low", f"{rate}_high": "high"}
    part = 100 * rates[list(columns)].rename(columns=columns)
    figures.forest(part, None, f"{name} rate (%)", ax)
exceeding = f"{(verdicts == 'exceeds').sum()} of {len(verdicts)} differences from white males"
_ = figure.suptitle(f"{exceeding}\nare shown to be beyond the tolerance")

# %% [markdown]
# An *undecided* difference may be beyond the tolerance or within it. Intervals take people as units, so
# more people in a group help, and more pictures of the same people help little.
#
# If you have the pictures and the recogniser in place of similarities, [](audit-a-recogniser) says what its table needs:
# a row per picture, with the identity and the group.

# %% [markdown]
# ## What was left out
#
# Say in your report which version you had, and how many rows you lost. The table has the cards of this note, one in
# each row. Where the version was left out, it shows the beginning of the hash of the file.

# %%
sets = [ppb, fhibe, conversations, bfw, rfw, causalface, pairs]
cards = pd.DataFrame([one.card for one in sets]).set_index("source")
cards["dropped"] = [sum(counts.values()) for counts in cards["dropped"]]
cards["version"] = cards["version"].str.slice(0, 14)
cards

# %% [markdown]
# ## Terms of use
#
# - *Research* leaves open whether an audit for sale is research. Ask the authors before you sell one.
# - *Evaluation only* means: test a model on the set, and do not train on it. Fitting directions is training.
# - *Registration*, *form* and *agreement* bind the person who signed. Colleagues sign for themselves, and the file is
#   not passed on.
# - *CC BY* asks you to name the authors wherever you use the set. The licence is not the consent of the people in the
#   photographs.

# %% [markdown]
# ## Consent
#
# Consent means that a person was told what a set is for, agreed, and can take it back. People in FHIBE and in Casual
# Conversations v2 agreed to be in a set that tests models, and people in FHIBE may withdraw at any time. CelebA, FairFace,
# PPB, BFW and RFW are photographs that others found on the web. The people in them were not asked, whatever the licence
# says. The faces of CausalFace are synthetic, but the generator behind them learned from photographs.

# %% [markdown]
# So prefer a set whose people agreed, where it can answer your question. Publish numbers by group, and no image. Keep
# embeddings to yourself: they are biometric data. The columns of identities are there to tell that two images show one
# person, and to count people rather than images. Do not look up who a person is. RFW's folders and CelebA's numbers
# belong to real people, many of them famous.

# %% [markdown]
# ## Who said the labels
#
# A label can be what a person said of themselves, what others saw, or what somebody meant to make. An audit of errors by
# group has another meaning in each case, so say which one it is.
#
# | collection | said by the person | seen by others | meant |
# |---|---|---|---|
# | CelebA | | the attributes, among them `Male` and `Young` | |
# | FairFace | | `age`, `gender`, `race` | |
# | PPB | | gender, skin type | |
# | FHIBE | `pronoun`, `age`, `ancestry`, `nationality`, `natural_skin_color` | `apparent_skin_color`: as it looks in the image; the documentation of your version says who judged it | |
# | Casual Conversations v2 | `age`, `gender` | `monk_skin_tone`, `fitzpatrick_skin_tone`, with the raters' confidence | |
# | BFW, RFW | | `att1`, `g1`, `e1` and so on; `race` | |
# | CausalFace | | `<attribute>_score` and the ratings of pairs | `seed`, `race`, `gender` |

# %% [markdown]
# A model is given only pixels. Perceived labels ask how it treats people who are *seen* in a certain way;
# [](data-and-ethics) says why the book uses these. What people say of themselves asks how it treats those who *are* so.
# A pronoun is no gender that can be seen, and no reader turns one into the other.

# %% [markdown]
# ## Withdrawals and versions
#
# FHIBE is updated every month, because people may withdraw. Before each study, get the newest version and delete the old
# one, with its images and their embeddings. Name the version in your report. If you leave it out, the card has the hash of
# the file, which tells two versions apart but leaves open which came first. Results of two versions come from
# different people, so a change between them may be one of people rather than of the model.

# %% [markdown]
# ## Takeaways
#
# - A reader makes one table of a collection, and counts every row that it drops. Put the card into your report.
# - A table of portraits and a table of pairs are each one call away from a report.
# - Differences between groups of photographs are associations. Matched images tell how much of them is an effect.

# %% tags=["remove-cell"]
_ = stage.finish(
    {
        "kept": cards["kept"].to_dict(),
        "dropped": cards["dropped"].to_dict(),
        "portraits": gaps[["estimate", "low", "high", "verdict"]].to_dict("index"),
        "pairs": rates[["fnmr", "fmr"]].to_dict("index"),
        "consensus": consensus.tolist(),
    }
)
