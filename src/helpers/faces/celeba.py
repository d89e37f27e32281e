"""CelebA's binary attributes, as far as the face world can show them.

CelebA's annotators answered yes or no to 40 questions about a face (Liu et al., ICCV 2015); the
sensitivity papers separate latent codes by those answers (sensitivity, section 4.2). Here a rule
on the renderer's parameters answers. Thresholds are where a rendered face begins to read as the
attribute's name; some are the middle between two of the renderer's own anchors (hair and skin
colours, ages), so that the rule says "nearest to this anchor".

What cannot be shown is left out. Goatee is: the renderer has one amount of facial hair, which
grows on cheeks, lip and chin together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
from torch import Tensor

from helpers.faces.parameters import (
    HAIR_STYLES,
    INDEX,
    ancestry_shift,
    hair_styles,
    to_frame,
    validate,
    visible_scores,
)

STUBBLE, BEARD = 0.3, 0.55
"""Facial hair: nothing is seen below the first, and no skin through it from the second on."""
GREY = 0.7
"""Age from which greying outweighs any colour of the hair."""

CELEBA, OWN = "CelebA", "this world"


@dataclass(frozen=True)
class Rule:
    """When a face has an attribute.

    Attributes:
        words: what it takes, for the book.
        holds: faces (n rows, see `_seen`) → bool (n,).
        origin: CELEBA, or OWN for an attribute that CelebA lacks.
    """

    words: str
    holds: Callable[[pd.DataFrame], pd.Series]
    origin: str = CELEBA


RULES: dict[str, Rule] = {
    "Young": Rule(
        "apparent age below 0.5: nearer to a young adult than to an adult",
        lambda face: face["age"] < 0.5,
    ),
    "No_Beard": Rule(
        f"facial hair below {STUBBLE}, where none is seen",
        lambda face: face["facial_hair"] < STUBBLE,
    ),
    "5_o_Clock_Shadow": Rule(
        f"facial hair from {STUBBLE} to {BEARD}: stubble through which the skin is seen",
        lambda face: face["facial_hair"].between(STUBBLE, BEARD, inclusive="left"),
    ),
    "Heavy_Makeup": Rule(
        "makeup from 0.55: red lips, blusher and shadow around the eyes",
        lambda face: face["makeup"] >= 0.55,
    ),
    "Wearing_Lipstick": Rule(
        "makeup from 0.3, where the lips begin to differ from bare ones",
        lambda face: face["makeup"] >= 0.3,
    ),
    "Blond_Hair": Rule(
        f"hair colour from 0.7, nearest to blond; hair is seen, age below {GREY}",
        lambda face: face["coloured"] & (face["hair_colour"] >= 0.7),
    ),
    "Black_Hair": Rule(
        f"hair colour below 0.1, nearest to black; hair is seen, age below {GREY}",
        lambda face: face["coloured"] & (face["hair_colour"] < 0.1),
    ),
    "Gray_Hair": Rule(
        f"age from {GREY}, where hair is more grey than coloured; hair is seen",
        lambda face: face["hair"] & (face["age"] >= GREY),
    ),
    "Pale_Skin": Rule(
        "skin colour below 0.1, nearest to Fitzpatrick type I",
        lambda face: face["skin_colour"] < 0.1,
    ),
    "Eyeglasses": Rule("glasses are present", lambda face: face["glasses"] > 0.5),
    "Wearing_Earrings": Rule(
        "earrings are present and no covering hides them",
        lambda face: (face["earrings"] > 0.5) & ~face["covered"],
    ),
    "High_Cheekbones": Rule(
        "cheekbones, ancestry included, at least 0.75 SD more prominent than average",
        lambda face: face["cheekbones"] >= 0.75,
    ),
    "Long_Hair": Rule(
        "visible hair length from 0.55, down to the shoulders",
        lambda face: face["hair_length"] >= 0.55,
        OWN,
    ),
    "Smiling": Rule(
        "expression from 0.625: nearer to a slight smile than to neutral",
        lambda face: face["smiling"] >= 0.625,
    ),
    "Male": Rule(
        "perceived gender from 0.5; serves to balance and to compare, never as a direction",
        lambda face: face["gender"] >= 0.5,
    ),
}
"""Attribute → rule."""


def celeba_attributes(parameters: Tensor) -> pd.DataFrame:
    """Which faces have which attribute: bool (n, K), one column per rule of `RULES`.

    What is *perceived* is coded: hair under a covering has no length and no colour, and Male is
    perceived gender. It is there to balance samples by (sensitivity, section 4.2); the authors
    decline to manipulate it (section 5), and so does the book.

    Args:
        parameters: the renderer's, float (n, P).

    Raises:
        ValueError: a wrong shape or type, or a value out of range; it names parameter and row.
    """
    validate(parameters)
    faces = _seen(parameters)
    return pd.DataFrame({name: rule.holds(faces) for name, rule in RULES.items()})


def rules_table() -> pd.DataFrame:
    """The rules in words, for the book: index attribute, columns rule and origin."""
    rows = {name: {"rule": rule.words, "origin": rule.origin} for name, rule in RULES.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("attribute")


def _seen(parameters: Tensor) -> pd.DataFrame:
    """The renderer's columns as they look, with covered, hair (is seen), coloured (is not grey)."""
    x, y = parameters[:, INDEX["ancestry_x"]], parameters[:, INDEX["ancestry_y"]]
    covered = hair_styles(parameters).cpu().numpy() == HAIR_STYLES.index("covered")
    faces = to_frame(parameters)
    faces["covered"] = covered
    # Below a tenth of the scale the scalp shows through: stubble has no colour to speak of.
    faces["hair"] = ~covered & (faces["hair_length"] >= 0.1)
    faces["coloured"] = faces["hair"] & (faces["age"] < GREY)
    faces["hair_length"] = visible_scores(parameters)["hair_length"]
    faces["cheekbones"] += ancestry_shift(x, y, "cheekbones").cpu().numpy()
    return faces
