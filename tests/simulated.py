"""Data that several tests share."""

from itertools import product

import numpy as np
import pandas as pd

from faceaudit.annotations import ATTRIBUTES

PER_PAIR, OTHERS, SHIFT = 4, 3, 2.5
"""Images of each pair of identities, others that one is compared with, mean of positives."""
AXES = ["skin_level", "hair_level", "gender_level"]
_NAMES = """5_o_Clock_Shadow Arched_Eyebrows Attractive Bags_Under_Eyes Bald Bangs Big_Lips
Big_Nose Black_Hair Blond_Hair Blurry Brown_Hair Bushy_Eyebrows Chubby Double_Chin Eyeglasses
Goatee Gray_Hair Heavy_Makeup High_Cheekbones Male Mouth_Slightly_Open Mustache Narrow_Eyes No_Beard
Oval_Face Pale_Skin Pointy_Nose Receding_Hairline Rosy_Cheeks Sideburns Smiling Straight_Hair
Wavy_Hair Wearing_Earrings Wearing_Hat Wearing_Lipstick Wearing_Necklace Wearing_Necktie Young
"""
CELEBA_NAMES = _NAMES.split()


def perceived_scores(n: int = 800) -> pd.DataFrame:
    """Scores of n images, uniform over every scale; index image id, columns attributes."""
    scores = np.random.default_rng(0).random((n, len(ATTRIBUTES)))
    image_ids = [f"image {number}" for number in range(n)]
    return pd.DataFrame(scores, index=image_ids, columns=list(ATTRIBUTES))


def counts(report: pd.DataFrame) -> dict[str, int]:
    """What a report of annotations counts."""
    found = report[report["count"] > 0]
    return dict(zip(found["reason"], found["count"], strict=True))


def transect_frame(n: int, risk, seed: int, dependence: float = 0.0) -> pd.DataFrame:
    """n transects of 2 x 2 x 2 images; `risk(skin, hair, gender)` is the chance of an error."""
    cells = np.array(list(product((0, 1), repeat=3)))
    frame = pd.DataFrame(np.tile(cells, (n, 1)), columns=AXES)
    rng = np.random.default_rng(seed)
    shared = np.repeat(rng.random(n), 8)
    common = rng.random(8 * n) < dependence
    chance = np.where(common, shared, rng.random(8 * n))
    error = chance < risk(*(frame[axis] for axis in AXES))
    return frame.assign(transect=np.repeat(np.arange(n), 8), error=error.astype(int))


def verification_pairs(n, rng, own=0.5, shared=0.2, dyad=0.2):
    """Pairs of `n` identities: similarity, is_match and vertices, each rate known in closed form.

    Positives are normal about SHIFT and negatives about 0, both of variance 1, of which `own` is an
    identity's among positives, `shared` that of either identity, and `dyad` their pair's.
    """
    first = np.repeat(np.arange(n), OTHERS)
    steps = np.stack([rng.permutation(np.arange(1, n))[:OTHERS] for _ in range(n)])
    second = (first + steps.ravel()) % n
    ease, confusable = rng.normal(size=(2, n)) * np.sqrt([[own], [shared]])
    common = confusable[first] + confusable[second] + rng.normal(0, np.sqrt(dyad), n * OTHERS)
    rest = 1 - own, 1 - 2 * shared - dyad
    positive, negative = (
        np.repeat(mean, PER_PAIR) + rng.normal(0, np.sqrt(left), len(mean) * PER_PAIR)
        for mean, left in ((SHIFT + ease, rest[0]), (common, rest[1]))
    )
    ids = np.arange(n)
    vertices = np.concatenate([np.column_stack([ids, ids]), np.column_stack([first, second])])
    scores = np.concatenate([positive, negative])
    return scores, np.arange(len(scores)) < len(positive), np.repeat(vertices, PER_PAIR, axis=0)


def random_normals(seed: int, count: int, dimensions: int) -> np.ndarray:
    """Rows of very different lengths that share a common component."""
    rng = np.random.default_rng(seed)
    normals = rng.standard_normal((count, dimensions)) + rng.standard_normal(dimensions)
    return normals * 10 ** rng.uniform(-2, 2, (count, 1))


def at_cosine(cosine: float, count: int = 2, dimensions: int = 16) -> np.ndarray:
    """Unit rows with the same cosine between any two."""
    gram = np.full((count, count), cosine) + (1 - cosine) * np.eye(count)
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((dimensions, count)))[0]
    return np.linalg.cholesky(gram) @ basis.T
