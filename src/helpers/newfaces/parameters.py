"""(dev) records; goes to parameters.py"""
import numpy as np, torch
from helpers.faces.parameters import *
from helpers.faces.parameters import ancestry_shift, hair_styles, PARAMETERS, NAMES, INDEX
from helpers.faces.anatomy import IDENTITY_STRENGTH, SHIFTED_LIMIT
RECORD = np.dtype([(name, np.float32) for name in NAMES])

def records(parameters):
    """Faces as records with a field per parameter, as the renderer's formulas take them.

    Identity parameters are shifted by ancestry and have the strength that is seen; the hair style
    is a whole number.
    """
    columns = parameters.detach().cpu().float().clone()
    x, y = parameters[:, INDEX["ancestry_x"]].cpu(), parameters[:, INDEX["ancestry_y"]].cpu()
    for parameter in PARAMETERS:
        if parameter.group == "identity":
            column = columns[:, INDEX[parameter.name]]
            shifted = column + ancestry_shift(x, y, parameter.name)
            column.copy_(IDENTITY_STRENGTH * shifted.clamp(-SHIFTED_LIMIT, SHIFTED_LIMIT))
    columns[:, INDEX["hair_style"]] = hair_styles(parameters).float()
    return np.ascontiguousarray(columns.numpy()).view(RECORD)[:, 0].view(np.recarray)
