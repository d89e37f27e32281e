"""Helpers of the book *Auditing face-analysis models causally*.

The notebooks keep every step a reader must be able to defend; this package takes input and
output, batching, seeding, rendering, numerics and plot style.

Importing it makes a processor compute with the instructions that all have, so that results are
equal. Libraries choose their code by the processor that they find: a sum over vectors of sixteen
numbers is rounded otherwise than one over vectors of eight, and a training makes that difference
large. Every pin is read when its library is imported or first computes, so they are set here,
before any module imports numpy, torch or numba; the kernels that readers open get them with their
environment (`tools/kernelspec.py`). The page *Same numbers* says what is equal where.

It also gives a home folder to a user who has none that can be written, for example in a container.
"""

import os
from contextlib import suppress
from pathlib import Path

__version__ = "0.1.0"

# Variable → value. The renderer needs none: see `EXACT` in `facerender.compiled`.
PINS = {
    # Convolutions of torch; without it AVX-512 has kernels of its own.
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    # Products of matrices in torch; "AVX2" would hold on Intel's processors only.
    "MKL_CBWR": "COMPATIBLE",
    # torch's own kernels: exp, softmax, gelu.
    "ATEN_CPU_CAPABILITY": "avx2",
    # Linear algebra of numpy, scipy and scikit-learn.
    "OPENBLAS_CORETYPE": "Haswell",
    # numpy's own kernels: exp, log, sums. It warns of none that a processor lacks.
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
}
_PROCESSOR = Path("/proc/cpuinfo")


def pins() -> dict[str, str]:
    """Give the pins, or none where they have no effect (arm64) or would crash (no AVX2).

    Returns:
        Variable → value.
    """
    known = _PROCESSOR.is_file() and " avx2 " in _PROCESSOR.read_text()
    return PINS if known else {}


def spare_home() -> Path | None:
    """Give a home folder below this checkout, or None where the user's own can be written.

    matplotlib, IPython, Jupyter, npm and Chromium keep files in the home folder. They fail, or
    complain in the pages, where the variable HOME is not set and the system does not know the user,
    or where the folder does not exist or cannot be written.

    Returns:
        The folder, which may not exist yet.
    """
    try:
        home = Path.home()
    except RuntimeError:  # there is no HOME, and the system does not know the user
        home = None
    # `Path.is_dir` fails where a folder above it cannot be read.
    if home and os.path.isdir(home) and os.access(home, os.W_OK | os.X_OK):
        return None
    return Path(__file__).resolve().parents[2] / "build" / "home"


os.environ.update(pins())  # whatever was set before
if _spare_home := spare_home():
    with suppress(OSError):  # the checkout cannot be written, either
        _spare_home.mkdir(parents=True, exist_ok=True)
        os.environ["HOME"] = str(_spare_home)
