"""A parametric renderer of stylised faces with known attributes, batched in torch.

`render(parameters, size)` turns a tensor (n, P) of documented parameters into images, head masks
and landmarks. The nose is in `geometry`, the skin in `shading`, eyes and lips in `features`, the
hair in `hair`; `anatomy` says how gender, age and ancestry change the head's proportions. The world
of the book is in `populations`, `interventions` and `celeba`; `batches` renders whole sets.
"""

from helpers.faces.allocator import keep_freed_pages
from helpers.faces.landmarks import LANDMARK_NAMES
from helpers.faces.parameters import (
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
from helpers.faces.rendering import Rendering, render

keep_freed_pages()
