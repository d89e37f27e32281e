"""What raters take perceived gender from beside the shape of a face: beard, makeup and hair.

Of photographs without hair, beard and makeup people name the gender of nearly all (Burton, Bruce
and Dench 1993), but hair alone calls up a gender too (Macrae and Martin 2007). How strong each cue
is among raters of portraits was not measured by anybody, so the strengths here are assumptions;
chapter 11 multiplies them.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from helpers.utils.checks import require_columns


@dataclass(frozen=True)
class Cue:
    """How a visible attribute moves perceived gender.

    Attributes:
        strength: on gender's scale, from zero (female) to one (male), if the attribute goes from
            one end of its scale to the other.
        neutral: score of the attribute that speaks for neither.
        origin: what the strength rests on.

    Example:
        >>> from helpers.annotations.cues import CUES
        >>> CUES["facial_hair"].strength
        1.0
    """

    strength: float
    neutral: float
    origin: str


# Of the 5,000 annotated StyleGAN2 images (see `crowd.DISAGREEMENT`) that most raters call female,
# none is rated .4 or more for facial hair, and of those they call male one in a thousand is so for
# makeup. In the face world 4.7 % of the faces of feminine shape have such a beard; with a full
# beard that outweighs the most feminine shape .5 % of those that are perceived as female do.
CUES: dict[str, Cue] = {
    "facial_hair": Cue(1.0, 0.0, "assumed: a full beard outweighs the most feminine shape"),
    "makeup": Cue(-0.2, 0.0, "assumed: as strong as hair"),
    "hair_length": Cue(-0.2, 0.5, "assumed: about one of the five levels, from short to long"),
}
"""What moves perceived gender beside the shape of the face."""


def perceived(visible: pd.DataFrame, strength: float = 1.0) -> pd.DataFrame:
    """What raters perceive where the shape of a face is not all that they look at.

    Gender becomes the sum of the shape's score and of what every cue adds to it, within the scale;
    the other scores stay.

    Args:
        visible: scores of `faces.visible_scores`, in [0, 1]; at least gender and the `CUES`.
        strength: factor of all cues; zero for raters who look at the shape alone.

    Returns:
        The same table with the gender that raters perceive.

    Raises:
        ValueError: a cue or gender is not among the columns.

    Example:
        >>> import pandas as pd
        >>> from helpers.annotations import cues
        >>> shown = pd.DataFrame({"gender": [0.3, 0.3], "facial_hair": [0, 0.5]})
        >>> cues.perceived(shown.assign(makeup=0, hair_length=0.5))["gender"].tolist()
        [0.3, 0.8]
    """
    require_columns(visible, ["gender", *CUES])
    added = sum(cue.strength * (visible[name] - cue.neutral) for name, cue in CUES.items())
    return visible.assign(gender=(visible["gender"] + strength * added).clip(0, 1))
