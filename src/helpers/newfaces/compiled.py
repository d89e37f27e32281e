"""Formulas and loops compiled by numba: in single precision, without Python's lock, vectorised.

A `formula` says what holds at one point, in plain arithmetic on numbers and named tuples; a `loop`
applies formulas to many points. Formulas are drawn into the loops that use them, and LLVM turns a
loop into vector instructions as long as it has no call and no jump: choices inside formulas are
`a if c else b`, `min` and `max`; `maths` has the functions that the processor lacks; look-ups in
tables are loops of their own. With `NUMBA_DISABLE_JIT=1` all of it runs as plain Python.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core import compiler, compiler_machinery, ir, untyped_passes


@compiler_machinery.register_pass(mutates_CFG=False, analysis_only=False)
class _WeakLiterals(compiler_machinery.FunctionPass):
    """Makes literals and constants float32, as they are in NumPy 2 beside a float32 (NEP 50).

    To numba 0.5 is a float64, and so is everything that it meets, at half the speed.
    """

    _name = "weak_literals"

    def __init__(self) -> None:  # abstract in the base
        super().__init__()

    def run_pass(self, state) -> bool:
        changed = False
        for block in state.func_ir.blocks.values():
            for assignment in block.find_insts(ir.Assign):
                source = assignment.value
                if not isinstance(source, (ir.Const, ir.Global, ir.FreeVar)):
                    continue
                single = _single(source.value)
                if single is not source.value:
                    source.value, changed = single, True
        return changed


def _single(value: Any) -> Any:
    """The value with its floats, and those in tuples, in single precision."""
    if type(value) is float:
        return np.float32(value)
    if not isinstance(value, tuple):
        return value
    parts = [_single(part) for part in value]
    if all(part is before for part, before in zip(parts, value, strict=True)):
        return value
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


class _SinglePrecision(compiler.CompilerBase):
    """Numba's compiler with weak literals."""

    def define_pipelines(self) -> list[compiler_machinery.PassManager]:
        passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_WeakLiterals, untyped_passes.TranslateByteCode)
        passes.finalize()
        return [passes]


_OPTIONS = {
    "fastmath": True,
    "error_model": "numpy",
    "nogil": True,
    "pipeline_class": _SinglePrecision,
}
_INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # Python does not call it

formula = numba.njit(forceinline=True, **_OPTIONS, **_INNER)
"""Decorator of a function of one point, or of one face."""

loop = numba.njit(**_OPTIONS, **_INNER)
"""Decorator of a function that goes through points, pixels or texels."""

program = numba.njit(**_OPTIONS)
"""Decorator of a function that Python calls."""
