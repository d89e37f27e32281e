from .measures import curve as curve
from .measures import explained as explained
from .measures import flips as flips
from .measures import score_sensitivity as score_sensitivity
from .vectors import lines as lines
