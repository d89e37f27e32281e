from .measures import curve as curve
from .measures import decompose_score_change as decompose_score_change
from .measures import flips as flips
from .measures import score_sensitivity as score_sensitivity
from .vectors import lines as lines
