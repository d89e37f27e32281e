"""Sensitivity of a classifier to counterfactual faces G(z) → G(z + λ d) (Denton et al. 2019).

f(x) is the probability of smiling, y(x) = 1(f(x) ≥ c) the decision, d an attribute vector. Codes z
are the units: they are drawn independently, while several images of one code are not.
"""

from helpers.sensitivity.measures import curve, explained, flips, score_sensitivity
from helpers.sensitivity.vectors import lines
