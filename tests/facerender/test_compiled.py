"""Compiled and as plain Python, the renderer does the same; what is compiled is vectorised."""

import os
import platform
import re
import subprocess
import sys

import digest
import numpy as np
import pytest
from numba import config

import facerender
from facerender import maths
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


# Compiles for the processor that the environment names, and runs no compiled code.
EMIT_ASSEMBLY = """
import sys
from pathlib import Path
from facerender import portraits
from facerender.rendering import compile_renderer
compile_renderer()
(compiled,) = portraits.draw.overloads.values()
library = compiled.library
# numba's own `inspect_asm` knows only what this process has compiled, not what it has read.
code = library.codegen._tm.emit_assembly(library._get_module_for_linking())
Path(sys.argv[1]).write_text(code)
"""
X86 = ("x86_64", "AMD64")
# The oldest with AVX2, and the oldest server's with AVX-512; machine code for both is kept where
# `tests/digest.py --emulated` looks for it.
TARGETS = {name: digest.target(name) for name in (digest.PROCESSOR, "skylake-avx512")}


def is_target(code, target):
    """Whether the assembly has vectors of this processor: eight numbers, or masks of AVX-512."""
    return "%ymm" in code and ("{%k" in code) == ("avx512" in target)


@pytest.mark.slow
@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
@pytest.mark.skipif(platform.machine() not in X86, reason="another processor than x86")
@pytest.mark.parametrize("target", ["this machine", *TARGETS])
def test_the_arithmetic_is_vectorised(target, tmp_path):
    """A call, a jump or a double in a loop makes it several times slower."""
    assembly = tmp_path / "draw.s"
    environment = os.environ | TARGETS.get(target, {})
    command = [sys.executable, "-c", EMIT_ASSEMBLY, str(assembly)]
    subprocess.run(command, env=environment, check=True)
    code = assembly.read_text()
    assert target not in TARGETS or is_target(code, target)
    parts = re.split(r"\n(?=\w*_Z\w+:\s)", code)
    for name in VECTORISED:
        part = "".join(part for part in parts if f"{name}B" in part.split(":")[0])
        many, single = (arithmetic(part, ending) for ending in ("ps", "ss"))
        # What is left over at the end of a vectorised loop is done one by one.
        assert many > 0.5 * single, (
            f"{name}: {many} instructions for many numbers, {single} for one"
        )
    assert doubles(code) == []


ARITHMETIC = r"add|sub|mul|div|sqrt|fn?m\w*?"


def arithmetic(code, ending):
    return len(re.findall(rf"\tv?(?:{ARITHMETIC})(?:\d\d\d)?{ending}\t", code))


def doubles(code):
    """Instructions that compute or compare doubles, or turn another number into one or back.

    Whole numbers become doubles in one instruction of AVX-512, in several of AVX2. Instructions
    that only move 64 bits are named after doubles, too, and are not listed.
    """
    computes = rf"(?:{ARITHMETIC}|min|max|round|rndscale|u?comi|cmp\w*?)(?:\d\d\d)?[ps]d"
    converts = r"cvt\w*[ps]d\w*"
    return re.findall(rf"\tv?(?:{computes}|{converts})\t.*", code)


def test_doubles_are_noticed_in_every_instruction_set():
    listing = """
\tvsubpd\t(%rcx), %xmm0, %xmm0
\tvucomisd\t%xmm1, %xmm0
\tvcvtusi2sd\t%rax, %xmm0, %xmm0
\tvcvtsi2sdl\t%eax, %xmm0, %xmm0
\tvcvtuqq2pd\t%zmm0, %zmm0
\tvcvtps2pd\t%ymm0, %zmm0
\tvcvttsd2si\t%xmm0, %rax
\tvfmadd231sd\t%xmm0, %xmm1, %xmm2
\tvrndscalesd\t$9, %xmm0, %xmm0, %xmm0
"""
    moves = "\tvmovupd\t(%rcx), %ymm0\n\tvunpcklpd\t%xmm0, %xmm1, %xmm0\n"
    single = "\tvcvtdq2ps\t%ymm0, %ymm0\n\tvcvttps2dq\t%ymm0, %ymm0\n\tvpcmpeqd\t%xmm0, %xmm1\n"
    assert len(doubles(listing)) == 9
    assert doubles(moves + single) == []


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
