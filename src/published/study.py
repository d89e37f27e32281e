"""The study: images of transects, the answers of all models, and the rows of the record."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from faceaudit.images.skin_colour import typology_angle
from faceaudit.latents.directions import Hyperplanes
from faceaudit.latents.transects import transects_at
from faceaudit.models.answers import ask_and_keep
from published.faces import LEVELS, NEAR, Faces
from published.products import NETWORKS, opened

