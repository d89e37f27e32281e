"""The face world whose true effects are known: its populations, interventions and generators.

`populations` draws faces, `do` sets some of their attributes and leaves all others, `celeba` labels
them as that data set does, `known_truth` puts a latent space in front of them, and `rendering`
makes whole sets in a folder.
"""

import lazy_loader

import helpers  # sets the pins of the processor before numpy is imported

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
