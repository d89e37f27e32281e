from .checkpoints import NETWORKS as NETWORKS
from .checkpoints import load_checkpoint as load_checkpoint
from .image_cache import Generator as Generator
from .stylegan2 import StyleGenerator as StyleGenerator
from .stylegan2 import draw_network_weights as draw_network_weights
