from .interventions import Doses as Doses
from .interventions import counterfactuals as counterfactuals
from .interventions import do as do
