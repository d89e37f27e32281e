"""A parametric renderer of stylised faces with known attributes.

`render(parameters, size)` turns a tensor (n, P) of documented parameters into images, head masks
and landmarks. `portraits` draws a face layer by layer. Skull and nose are in `skull`, the skin in
`skin`, eyes and lips in `features`, their light in `heads`, hair in `hair`, neck, shoulders and
glasses in `dress`, camera and rays in `rays`; `anatomy` says how gender, age and ancestry change
the head's proportions. All of these are formulas for one point, which `compiled` makes fast;
`parameters.csv`, `parameters.ancestry.csv` and `hair.csv` are their tables.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
