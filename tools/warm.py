"""Libraries that chapters need, imported once in the process that they are forked from (`run.py`).

Every chapter needs torch, pandas, matplotlib and statsmodels: five seconds of imports each.
"""

import gc
import importlib
import os

# A kernel chooses this before matplotlib is imported.
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"

for library in (
    "matplotlib.pyplot",
    "pandas",
    "torch",
    "seaborn",
    "sklearn.linear_model",
    "sklearn.model_selection",
    "sklearn.svm",
    "statsmodels.api",
    "statsmodels.formula.api",
    "ipywidgets",
    "ipykernel.kernelapp",
    "execute",
):
    importlib.import_module(library)
gc.freeze()  # what is shared now stays shared
