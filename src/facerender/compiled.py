"""Formulas and loops compiled by numba: in single precision, without Python's lock, vectorised.

A `formula` says what holds at one point, in plain arithmetic on numbers and named tuples; a `loop`
applies formulas to many points. Formulas are drawn into the loops that use them, and LLVM turns a
loop into vector instructions as long as it has no call and no jump: choices inside formulas are
`a if c else b`, `min` and `max`; `maths` has the functions that the processor lacks; look-ups in
tables are loops of their own. With `NUMBA_DISABLE_JIT=1` all of it runs as plain Python.
"""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
from filelock import FileLock
from numba.core import codegen, compiler, compiler_machinery, ir, untyped_passes


@compiler_machinery.register_pass(mutates_CFG=False, analysis_only=False)
class _PlainNumbers(compiler_machinery.FunctionPass):
    """Makes floats in the source float32, as NumPy 2 takes them beside a float32 (NEP 50).

    To numba 0.5 is a float64, and so is everything that it meets, at half the speed. Whole numbers
    it takes for types of their own, and compiles a function anew for each; only exponents and
    indices need that.
    """

    _name = "plain_numbers"

    def __init__(self) -> None:  # abstract in the base
        super().__init__()

    def run_pass(self, state) -> bool:
        blocks = state.func_ir.blocks.values()
        exact = {_exact(one) for block in blocks for one in block.find_exprs()}
        for block in blocks:
            for assignment in block.find_insts(ir.Assign):
                source, target = assignment.value, assignment.target
                named = isinstance(source, (ir.Const, ir.Global, ir.FreeVar))
                if named and target.name not in exact:
                    source.value = _plain(source.value)
        return True


def _exact(expression: ir.Expr) -> str | None:
    """The variable in an expression that must keep the type of its value."""
    if expression.op == "binop" and expression.fn is operator.pow:
        return expression.rhs.name
    return expression.index.name if expression.op == "getitem" else None


def _plain(value: Any) -> Any:
    """The value with its floats, and those in tuples, in single precision."""
    if type(value) is int:
        return np.int64(value)
    if type(value) is float:
        return np.float32(value)
    if not isinstance(value, tuple):
        return value
    parts = [part if type(part) is int else _plain(part) for part in value]
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


class _Ingredient(codegen.JITCodeLibrary):
    """What goes into programs, optimised; only of whole programs machine code is made.

    numba would make it of every function, most of them several times over. A process that had just
    compiled would then also run code that is not quite what it keeps for others.
    """

    def _finalize_final_module(self) -> None:
        self._finalized = True

    @property
    def codegen(self) -> SimpleNamespace:
        # A function's environment lies in its machine code.
        return SimpleNamespace(set_env=lambda *_: None)


class _SinglePrecision(compiler.CompilerBase):
    """Numba's compiler with plain numbers."""

    def define_pipelines(self) -> list[compiler_machinery.PassManager]:
        if self.state.flags.no_cpython_wrapper:
            name = self.state.func_id.func_qualname
            self.state.library = _Ingredient(self.state.targetctx.codegen(), name)
        passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_PlainNumbers, untyped_passes.TranslateByteCode)
        passes.finalize()
        return [passes]


ANNOUNCEMENT = "compiling the renderer, once for this machine and this version: a minute or two"
# What every processor rounds alike: none of LLVM's liberties that hang on which instructions there
# are (estimates of 1 / x and 1 / √x: `arcp`, `afn`) or on how many numbers a vector holds (sums in
# another order: `reassoc`). A loop over pixels, one independent of the next, is vectorised without.
EXACT = {"nnan", "ninf", "nsz", "contract"}
_OPTIONS = {
    "fastmath": EXACT,
    "error_model": "numpy",
    "nogil": True,
    # Programs fill arrays that they are given, and make none: none is counted, which would take a
    # fifth of the time to compile.
    "_nrt": False,
    "pipeline_class": _SinglePrecision,
}
# Python does not call it.
_INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

formula = numba.njit(forceinline=True, **_OPTIONS, **_INNER)
"""Decorator of a function of one point, or of one face."""

loop = numba.njit(**_OPTIONS, **_INNER)
"""Decorator of a function that goes through points, pixels or texels."""

program = numba.njit(**_OPTIONS)
"""Decorator of a function that Python calls."""


def _code() -> str:
    """One hash over the files of this package, and numba's version."""
    digest = sha256(numba.__version__.encode())
    for path in sorted(_HERE.glob("*.[pc][ys]*")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


_HERE = Path(__file__).parent
# On import: a file that is edited before the first face is drawn is not what is compiled.
_CODE = _code()


def compile_once(program: Callable[..., Any], arguments: tuple) -> None:
    """Compile a program for arguments of these types, or take what an earlier process left.

    The program is not run: numba's variable `NUMBA_CPU_NAME` may name a processor with instructions
    that this machine lacks.

    That lies in a folder for this state of the code, below `NUMBA_CACHE_DIR` or this checkout's
    `build/compiled`; numba itself notices edits of the program's own module only. Of several
    processes that want the same at once one compiles, and the others wait. Where no file can be
    written it is compiled in every process.
    """
    if numba.config.DISABLE_JIT:
        return
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or _HERE.parents[1] / "build/compiled", _CODE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "lock").open("a").close()
    except OSError:
        return
    with FileLock(folder / "lock"):
        usual, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
        try:
            program.enable_caching()
        finally:
            numba.config.CACHE_DIR = usual
        if not any(folder.rglob("*.nbc")):
            print(ANNOUNCEMENT, file=sys.stderr, flush=True)
        program.compile(tuple(program.typeof_pyval(argument) for argument in arguments))
