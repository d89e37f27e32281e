from .generators import GENERATORS as GENERATORS
from .generators import load_generator as load_generator
from .interventions import Doses as Doses
from .interventions import counterfactuals as counterfactuals
from .interventions import do as do
from .wgan import WGANGenerator as WGANGenerator
