"""Compiled and as plain Python, the renderer does the same; what is compiled is vectorised."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from numba import config

import facerender
from facerender import maths, portraits
from facerender.compiled import program

VECTORISED = (
    "head_distances",  # also the cautious ones, which call these
    "hair_distances",
    "fill_relief",
    "paint_skin",
    "paint_features",
    "paint_head",
    "shade_near_hair",
    "develop",
)
PLAIN = """
import sys
import numpy as np
import torch
import facerender
parameters = torch.from_numpy(np.load(sys.argv[1]))
drawn = facerender.render(parameters, 16)
np.savez(sys.argv[2], **{name: value.numpy() for name, value in vars(drawn).items()})
"""


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_plain_python_draws_the_same(tmp_path):
    parameters = facerender.defaults()
    for name in ("facial_hair", "age", "makeup", "hair_length", "artefacts", "earrings", "glasses"):
        parameters[0, facerender.INDEX[name]] = 0.7
    np.save(tmp_path / "parameters.npy", parameters.numpy())
    places = [str(tmp_path / name) for name in ("parameters.npy", "drawn.npz")]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-c", PLAIN, *places], env=environment, check=True)
    plain, compiled = np.load(places[1]), facerender.render(parameters, 16)
    for name, value in vars(compiled).items():
        np.testing.assert_allclose(value.numpy(), plain[name], rtol=0, atol=3e-5, err_msg=name)


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_the_arithmetic_is_vectorised():
    """A call, a jump or a double in a loop makes it several times slower."""
    facerender.render(facerender.defaults(), 16)
    (compiled,) = portraits.draw.overloads.values()
    library = compiled.library
    # numba's own `inspect_asm` knows only what this process has compiled, not what it has read.
    code = library.codegen._tm.emit_assembly(library._get_module_for_linking())
    if "ps\t" not in code:
        pytest.skip("another processor than x86")
    parts = re.split(r"\n(?=\w*_Z\w+:\s)", code)
    for name in VECTORISED:
        part = "".join(part for part in parts if f"{name}B" in part.split(":")[0])
        many, single = (arithmetic(part, ending) for ending in ("ps", "ss"))
        # What is left over at the end of a vectorised loop is done one by one.
        assert many > 0.5 * single, (
            f"{name}: {many} instructions for many numbers, {single} for one"
        )
    assert not arithmetic(code, "[ps]d"), "double precision"


def arithmetic(code, ending):
    return len(re.findall(rf"\tv?(?:add|sub|mul|div|sqrt|fn?m\w*?)(?:\d\d\d)?{ending}\t", code))


@program
def _functions(x, y, out):
    for i in range(len(x)):
        out[0, i] = maths.exp(x[i])
        out[1, i] = maths.log(abs(x[i]) + 0.5)
        out[2, i] = maths.power(abs(y[i]) + 0.01, 0.4)
        out[3, i] = maths.sin(x[i])
        out[4, i] = maths.cos(x[i])
        out[5, i] = maths.atan2(y[i], x[i])
        out[6, i] = maths.floor(x[i])


def test_polynomials_are_those_functions():
    x, y = np.random.default_rng(0).uniform(-9, 9, (2, 5000)).astype(np.float32)
    out = np.empty((7, len(x)), np.float32)
    _functions(x, y, out)
    wide, high = x.astype(float), y.astype(float)
    expected = [
        np.exp(wide),
        np.log(np.abs(wide) + 0.5),
        (np.abs(high) + 0.01) ** 0.4,
        np.sin(wide),
        np.cos(wide),
        np.arctan2(high, wide),
        np.floor(wide),
    ]
    np.testing.assert_allclose(out, expected, rtol=2e-6, atol=2e-6)
