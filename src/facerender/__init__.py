"""A parametric renderer of stylised faces with known attributes.

`render(parameters, size)` turns a tensor (n, P) of documented parameters into images, head masks
and landmarks. `portraits` draws a face layer by layer. The nose is in `relief`, the skull in
`geometry`, the skin in `skin`, eyes and lips in `features`, hair in `hair` and `hair_shading`, neck
and shoulders in `torsos`, light in `shading`; `anatomy` says how gender, age and ancestry change
the head's proportions. All of these are formulas for one point, which `compiled` makes fast. The
world of the book is in `helpers.world`, which renders whole sets, too.
"""

from facerender.landmarks import LANDMARK_NAMES
from facerender.parameters import (
    ANCESTRY_REFERENCES,
    HAIR_STYLES,
    INDEX,
    NAMES,
    PARAMETERS,
    Parameter,
    defaults,
    to_frame,
    validate,
    visible_scores,
)
from facerender.rendering import Rendering, landmarks_of, render
