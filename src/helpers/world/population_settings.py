"""What is correlated with what in each data set of the book's world: the settings, no draws.

`helpers.world.populations` says why they are what they are and draws faces from them. Chapter 2
shows them.
"""

from dataclasses import dataclass, replace

Normal = tuple[float, float]
"""Mean and standard deviation."""

WOMEN_LOOK: Normal = (0.24, 0.12)
MEN_LOOK: Normal = (0.76, 0.12)
"""Perceived gender, 0 female to 1 male."""

LIGHT_STYLES = {"straight": 0.38, "wavy": 0.28, "curly": 0.13, "fringe": 0.13, "tied back": 0.06}
LIGHT_STYLES |= {"braids": 0.01, "covered": 0.01}
DARK_STYLES = {"straight": 0.28, "wavy": 0.24, "curly": 0.20, "fringe": 0.10, "tied back": 0.06}
DARK_STYLES |= {"afro": 0.06, "braids": 0.05, "covered": 0.01}
"""Shares of hair styles at the lightest and the darkest skin; between them, mixed in proportion."""

LIGHT_ANCESTRY = {"african": 0.15, "east asian": 0.35, "european": 0.50}
DARK_ANCESTRY = {"african": 0.45, "east asian": 0.30, "european": 0.25}
"""Shares of the nearest ancestry reference, likewise: a mild link, as skin is no ancestry."""

ADULT = 0.28
"""Age from which facial hair, makeup and earrings occur."""


@dataclass(frozen=True)
class Population:
    """One joint distribution; pairs hold (women, men) unless a comment says otherwise.

    Example:
        >>> from helpers.world import populations
        >>> populations.POPULATIONS["ppb-like"].women_short
        (0.04, 0.78)
    """

    description: str
    links: str
    men: float
    dark: tuple[float, float] | None  # share of dark skin; None: uniform over the whole scale
    age: tuple[Normal, Normal] | None  # None: uniform, children to seniors
    age_range: tuple[float, float]
    women_short: tuple[float, float]  # share of short-haired women: (light, dark) skin
    women_length: tuple[Normal, Normal]  # hair length of the others: (light, dark) skin
    men_long: float
    men_length: Normal  # hair length of the other men
    makeup: tuple[float, Normal]  # share of women, amount
    facial_hair: tuple[float, Normal]  # share of men, amount
    earrings: float  # share of women
    glasses: float
    smiling: Normal
    light_skin: Normal = (0.22, 0.12)
    dark_skin: Normal = (0.78, 0.12)
    short_length: Normal = (0.24, 0.07)
    yaw: float = 12.0  # standard deviation, degrees
    light_power: tuple[float, float] = (0.2, 1.0)


FAIRFACE_LIKE = Population(
    description="Balanced by design over gender and skin colour, all ages.",
    links=(
        "Hair length still goes with gender, as balancing skin and gender does not undo it. "
        "Skin is linked to nothing that is linked to gender."
    ),
    men=0.50,
    dark=None,
    age=None,
    age_range=(0.05, 0.95),
    women_short=(0.16, 0.16),
    women_length=((0.62, 0.16), (0.62, 0.16)),
    men_long=0.10,
    men_length=(0.17, 0.09),
    makeup=(0.40, (0.50, 0.20)),
    facial_hair=(0.40, (0.60, 0.25)),
    earrings=0.25,
    glasses=0.06,
    smiling=(0.55, 0.22),
)

POPULATIONS: dict[str, Population] = {
    "ffhq-like": Population(
        description="Portraits of all ages from a photo-sharing site: the generator's origin.",
        links="Mostly light skin; women younger, smiling, with long hair. For comparison only.",
        men=0.45,
        dark=(0.15, 0.15),
        age=((0.40, 0.18), (0.48, 0.18)),
        age_range=(0.05, 0.95),
        women_short=(0.12, 0.15),
        women_length=((0.64, 0.15), (0.58, 0.15)),
        men_long=0.08,
        men_length=(0.17, 0.08),
        makeup=(0.45, (0.50, 0.20)),
        facial_hair=(0.40, (0.60, 0.25)),
        earrings=0.25,
        glasses=0.15,
        smiling=(0.68, 0.22),
    ),
    "celeba-like": Population(
        description="Celebrities: more women, light-skewed, made up and long-haired.",
        links=(
            "Short hair nearly always means a man, so a model may read gender off the hair. "
            "Women are younger than men. Few dark faces: a model may do worse on them (a real "
            "effect of skin, by lack of data)."
        ),
        men=0.42,
        dark=(0.22, 0.22),
        age=((0.40, 0.12), (0.50, 0.15)),
        age_range=(0.05, 0.95),
        women_short=(0.08, 0.08),
        women_length=((0.68, 0.14), (0.68, 0.14)),
        men_long=0.16,
        men_length=(0.17, 0.07),
        makeup=(0.65, (0.60, 0.20)),
        facial_hair=(0.40, (0.60, 0.25)),
        earrings=0.30,
        glasses=0.06,
        smiling=(0.68, 0.22),
        dark_skin=(0.75, 0.12),
    ),
    "fairface-like": FAIRFACE_LIKE,
    "plantskin": replace(
        FAIRFACE_LIKE,
        description="FairFace-like, but dark skin predicts men: a planted bias, not a data set.",
        links=(
            "85 % of men and 15 % of women have dark skin, so a model learns dark = male. It helps "
            "dark men and hurts dark women, and an average over both does not show the harm. The "
            "audit's positive control."
        ),
        dark=(0.15, 0.85),
    ),
    "ppb-like": Population(
        description="Members of parliaments: adult, frontal, evenly lit, half light half dark.",
        links=(
            "Dark-skinned women mostly wear their hair short, light-skinned women long. This is "
            "the confounder: skin and hair cannot be told apart by errors on these faces."
        ),
        men=0.55,
        dark=(0.50, 0.50),
        age=((0.55, 0.12), (0.55, 0.12)),
        age_range=(0.38, 0.90),
        women_short=(0.04, 0.78),
        women_length=((0.63, 0.10), (0.52, 0.14)),
        men_long=0.0,
        men_length=(0.14, 0.07),
        makeup=(0.45, (0.40, 0.20)),
        facial_hair=(0.20, (0.50, 0.25)),
        earrings=0.40,
        glasses=0.20,
        smiling=(0.68, 0.22),
        light_skin=(0.17, 0.08),
        dark_skin=(0.82, 0.09),
        short_length=(0.16, 0.06),
        yaw=5.0,
        light_power=(0.4, 0.9),
    ),
}
"""The data sets of the book's world, by name."""
