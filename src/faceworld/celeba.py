"""CelebA's binary attributes, as far as the face world can show them.

CelebA's annotators answered yes or no to 40 questions about a face (Liu et al., ICCV 2015); the
sensitivity papers separate latent codes by those answers (sensitivity, section 4.2). Here a rule
on the renderer's parameters answers. Thresholds are where a rendered face begins to read as the
attribute's name; some are the middle between two of the renderer's own anchors (hair and skin
colours, ages), so that the rule says "nearest to this anchor".

Attributes that cannot be shown are left out, such as Goatee: the renderer has one amount of facial
hair, which grows on cheeks, lip and chin together.
"""

from pathlib import Path

import pandas as pd
from torch import Tensor

from facerender.parameters import (
    HAIR_STYLES,
    INDEX,
    ancestry_shift,
    hair_styles,
    to_frame,
    validate,
    visible_scores,
)

STUBBLE = 0.3
"""Amount of facial hair below which none is seen."""
BEARD = 0.55
"""Amount of facial hair from which no skin is seen through it."""
GREY = 0.7
"""Age from which greying outweighs any colour of the hair."""

RULES = pd.read_csv(Path(__file__).with_suffix(".csv"), index_col="attribute")["rule"].to_dict()
"""Attribute → its rule in words, in the order of `celeba_attributes`."""
ADDED_ATTRIBUTES = ("Long_Hair",)
"""Attributes that CelebA lacks."""


def celeba_attributes(parameters: Tensor) -> pd.DataFrame:
    """Which faces have which attribute: bool (n, K), one column per rule of `RULES`.

    Attributes are coded as *perceived*: hair under a covering has no length and no colour, and Male
    is perceived gender. It is there to balance samples by (sensitivity, section 4.2); the authors
    decline to manipulate it (section 5), and so does the book.

    Args:
        parameters: the renderer's, float (n, P).

    Raises:
        ValueError: a wrong shape or type, or a value out of range; it names parameter and row.

    Example:
        >>> import torch
        >>> import facerender
        >>> from faceworld import do
        >>> from faceworld import celeba
        >>> parameters = do(facerender.defaults(2), smiling=torch.tensor([0.4, 0.9]))
        >>> celeba.celeba_attributes(parameters)["Smiling"].tolist()
        [False, True]
    """
    validate(parameters)
    face = to_frame(parameters)
    covered = hair_styles(parameters).cpu().numpy() == HAIR_STYLES.index("covered")
    # Below a tenth of the scale the scalp shows through: stubble has no colour to speak of.
    hair = ~covered & (face["hair_length"] >= 0.1)
    coloured = hair & (face["age"] < GREY)
    x = parameters[:, INDEX["ancestry_x"]]
    y = parameters[:, INDEX["ancestry_y"]]
    cheekbones = face["cheekbones"] + ancestry_shift(x, y, "cheekbones").cpu().numpy()
    answers = {
        "Young": face["age"] < 0.5,
        "No_Beard": face["facial_hair"] < STUBBLE,
        "5_o_Clock_Shadow": face["facial_hair"].between(STUBBLE, BEARD, inclusive="left"),
        "Heavy_Makeup": face["makeup"] >= 0.55,
        "Wearing_Lipstick": face["makeup"] >= 0.3,
        "Blond_Hair": coloured & (face["hair_colour"] >= 0.7),
        "Black_Hair": coloured & (face["hair_colour"] < 0.1),
        "Gray_Hair": hair & (face["age"] >= GREY),
        "Pale_Skin": face["skin_colour"] < 0.1,
        "Eyeglasses": face["glasses"] > 0.5,
        "Wearing_Earrings": (face["earrings"] > 0.5) & ~covered,
        "High_Cheekbones": cheekbones >= 0.75,
        "Long_Hair": visible_scores(parameters)["hair_length"] >= 0.55,
        "Smiling": face["smiling"] >= 0.625,
        "Male": face["gender"] >= 0.5,
    }
    return pd.DataFrame(answers)[list(RULES)]
