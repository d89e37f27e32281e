"""Sensitivity of a classifier to counterfactual faces G(z) → G(z + λ d) (Denton et al. 2019).

f(x) is the probability of smiling, y(x) = 1(f(x) ≥ c) the decision, d an attribute vector. Codes z
are the units: they are drawn independently, while several images of one code are not. Chapter 15
uses the room.
"""

from helpers.sensitivity.curves import curve, dose_response
from helpers.sensitivity.interpolation import consistency, lines
from helpers.sensitivity.measures import flips, score_sensitivity
from helpers.sensitivity.perception import explained, perception_matrix, perception_sensitivity
