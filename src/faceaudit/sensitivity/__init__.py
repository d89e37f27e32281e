"""Sensitivity of a classifier to counterfactual faces G(z) → G(z + λ d) (Denton et al. 2019).

f(x) is the probability of smiling, y(x) = 1(f(x) ≥ c) the decision, d an attribute vector. Codes z
are the units: they are drawn independently, while several images of one code are not.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
