"""(dev) entry"""
import numpy as np, torch, os
from helpers.newfaces import parameters as P, hair_styles, textures as T, hair_tiles
from helpers.newfaces.lookups import Textures
from helpers.newfaces.rendering import draw
from helpers.newfaces.camera import HALF_EXTENT
from helpers.newfaces.landmarks import LANDMARK_NAMES
CPU = torch.device("cpu")
_cache = {}
def textures(fine):
    level = hair_tiles.atlas_level(2*HALF_EXTENT/fine)
    if level not in _cache:
        _cache[level] = Textures(*(np.ascontiguousarray(t.numpy()) for t in (T.mottle(CPU)[0,0], T.clouds(CPU)[0,0], T.strands(CPU)[0,0], hair_tiles.hair_atlas(CPU, level)[0])))
    return _cache[level]
STYLES = hair_styles.table()
def render(p, size, ss=1):
    n = len(p)
    out = np.empty((n,3,size,size),'f4'), np.empty((n,size,size),'f4'), np.empty((n,len(LANDMARK_NAMES),2),'f4')
    draw(P.records(p), STYLES, textures(size*ss), size, ss, *out)
    return out
