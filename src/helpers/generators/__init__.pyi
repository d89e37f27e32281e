from .batches import Generator as Generator
from .checkpoints import NETWORKS as NETWORKS
from .checkpoints import load_checkpoint as load_checkpoint
from .image_set import ImageSet as ImageSet
from .stylegan2 import StyleGenerator as StyleGenerator
from .stylegan2 import draw_weights as draw_weights
