"""The example of lab 11: a simulated class, and a simulated network, for those without pictures.

    python -m course.class_example

**No person gave these answers, and no published network said this.** The tables have the columns of
those that `python -m published.class_labels` writes for a real class. How they are drawn:

- Each of 134 faces has a look between female (0) and male (1), and an age. Six looks in ten are
  clear.
- Each face has a picture with light, medium and dark skin. To the class, dark skin moves the look
  by `SEEN_IN_DARK` towards male, and to the network by `TOLD_IN_DARK`; medium skin by half of that.
  These numbers are invented, so that there is an effect to find.
- 18 raters see 67 pictures each, three raters a picture, and no rater a face twice. An answer is
  the level nearest to what the picture shows, plus the rater's bias, plus noise. How large they are
  is calibrated on published ratings (`faceworld.crowd.DISAGREEMENT`).
"""

import numpy as np
import pandas as pd
from scipy.special import expit

from course import editions
from faceaudit.utils import seeding
from faceworld.crowd import BIAS_SHARE, DISAGREEMENT

FACES = 134
RATERS = 18
PAGES = 6
SKIN = ("light", "medium", "dark")
NETWORK = "simulated network"
SEED = 11
UNCLEAR = 0.4
"""Share of faces whose look is anywhere between female and male."""
SEEN_IN_DARK = 0.2
TOLD_IN_DARK = 0.3
"""How far dark skin moves the look, to people and to the network."""
STEEP = 9.0
"""How fast the network's score grows with the look."""
SPREAD_OF_SCORE = 1.3
SPREAD_OF_AGE = 5.0
YEARS_IN_DARK = 3.0
"""What the network adds to the age of a face with dark skin."""
AGE_GROUPS = (20, 30, 40, 50, 60)
LEVELS = {"gender": 5, "age": 6}
SECONDS = 3.0


def faces() -> pd.DataFrame:
    """Columns look (0 female to 1 male) and age, a row per face."""
    draws = seeding.uniforms(SEED, "class example: faces", range(FACES), 4)
    unclear = draws[:, 0] < UNCLEAR
    male = draws[:, 1] < 0.5
    clear = np.where(male, 1 - 0.2 * draws[:, 2], 0.2 * draws[:, 2])
    look = np.where(unclear, 0.2 + 0.6 * draws[:, 2], clear)
    return pd.DataFrame({"look": look, "age": 25 + 40 * draws[:, 3] ** 1.5})


def images() -> pd.DataFrame:
    """What the network says: a row per picture, columns as in the report of a class."""
    looks = faces()
    parts = []
    for place, skin in enumerate(SKIN):
        drawn = seeding.normals(SEED, f"class example: network, {skin}", range(FACES), 2)
        dark = place / 2
        look = looks["look"] + TOLD_IN_DARK * dark - 0.5
        table = pd.DataFrame({"face": looks.index, "skin": skin, "network": NETWORK})
        table["P(male)"] = expit(STEEP * look + SPREAD_OF_SCORE * drawn[:, 0]).round(4)
        age = looks["age"] + YEARS_IN_DARK * dark + SPREAD_OF_AGE * drawn[:, 1]
        table["age"] = age.round(1)
        parts.append(table)
    table = pd.concat(parts, ignore_index=True)
    table.insert(0, "image", names(table))
    return table


def names(table: pd.DataFrame) -> pd.Series:
    """The names of pictures, from columns face and skin."""
    return "simulated-" + table["face"].astype(str).str.zfill(3) + "-" + table["skin"]


def answers() -> pd.DataFrame:
    """What the raters say: a row per answer, columns as in the report of a class."""
    looks = faces()
    age_level = np.interp(looks["age"], [15, *AGE_GROUPS, 70], np.arange(-0.5, 6))
    parts = []
    for rater in range(RATERS):
        page = rater % PAGES
        of_set, turn = divmod(page, len(SKIN))
        seen = np.arange(of_set, FACES, PAGES // len(SKIN))
        dark = (np.arange(len(seen)) + turn) % len(SKIN)
        skin = np.array(SKIN)[dark]
        look = np.clip(looks["look"].to_numpy()[seen] + SEEN_IN_DARK * dark / 2, 0, 1)
        random = seeding.rng(SEED, "class example: raters", rater)
        pace = SECONDS * np.exp(random.normal(0, 0.3))
        for question, levels in LEVELS.items():
            how = DISAGREEMENT[question]
            latent = age_level[seen]
            if question == "gender":
                latent = look * (levels - 1 + 2 * how.margin) - how.margin
            bias = random.normal(0, how.noise * np.sqrt(BIAS_SHARE))
            noise = random.normal(0, how.noise * np.sqrt(1 - BIAS_SHARE), len(seen))
            level = np.clip(np.rint(latent + bias + noise), 0, levels - 1).astype(int)
            table = pd.DataFrame({"face": seen, "skin": skin})
            table["image"] = names(table)
            table["rater"] = f"simulated rater {rater + 1:02d}"
            table["question"] = question
            table["level"] = level
            table["seconds"] = (pace * np.exp(random.normal(0, 0.45, len(seen)))).round(1)
            parts.append(table)
    columns = ["image", "rater", "question", "level", "seconds"]
    return pd.concat(parts, ignore_index=True)[columns]


def write() -> None:
    """Write the tables that lab 11 loads."""
    for name, table in (("class_answers", answers()), ("class_images", images())):
        table.to_parquet(editions.COURSE / "tables" / f"{name}.parquet", index=False)


if __name__ == "__main__":
    write()
