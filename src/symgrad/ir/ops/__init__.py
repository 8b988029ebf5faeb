"""The op table: `OPS` lists every op by name."""

from __future__ import annotations

import numpy as np

from symgrad.ir.opdef import OpDef
from symgrad.ir.ops import (
    bessel,
    beta,
    checks,
    complex_lu,
    complex_singular,
    complexes,
    constants,
    contraction,
    control,
    determinants,
    distributions,
    eigen,
    elementwise,
    exponential,
    fourier,
    gamma,
    general_eigen,
    hermitian,
    indexing,
    linalg,
    marks,
    normal,
    packing,
    paired,
    reductions,
    scans,
    shapes,
    singular,
    sorting,
    special,
    triangular,
)
from symgrad.ir.ops.constants import DENSE_LIMIT, constant, dim, iota, measure
from symgrad.ir.ops.contraction import accumulate, axis_sizes, einsum, factors, join_spec, split_spec
from symgrad.ir.ops.control import checkpoint, cond, for_loop, kernel, while_loop

FAMILIES: dict[str, tuple[OpDef, ...]] = {
    "elementwise": elementwise.OPS,
    "complexes": complexes.OPS,
    "special": special.OPS,
    "gamma": gamma.OPS,
    "normal": normal.OPS,
    "beta": beta.OPS,
    "distributions": distributions.OPS,
    "bessel": bessel.OPS,
    "reductions": reductions.OPS,
    "shapes": shapes.OPS,
    "contraction": contraction.OPS,
    "indexing": indexing.OPS,
    "checks": checks.OPS,
    "packing": packing.OPS,
    "scans": scans.OPS,
    "sorting": sorting.OPS,
    "triangular": triangular.OPS,
    "fourier": fourier.OPS,
    "linalg": linalg.OPS,
    "eigen": eigen.OPS,
    "singular": singular.OPS,
    "paired": paired.OPS,
    "hermitian": hermitian.OPS,
    "complex_singular": complex_singular.OPS,
    "general_eigen": general_eigen.OPS,
    "determinants": determinants.OPS,
    "exponential": exponential.OPS,
    "complex_lu": complex_lu.OPS,
    "constants": constants.OPS,
    "control": control.OPS,
    "marks": marks.OPS,
}

OPS: dict[str, OpDef] = {op.name: op for family in FAMILIES.values() for op in family}

BY_UFUNC: dict[np.ufunc, OpDef] = {op.ufunc: op for op in OPS.values() if op.ufunc is not None}

__all__ = [
    "BY_UFUNC", "DENSE_LIMIT", "FAMILIES", "OPS", "accumulate", "axis_sizes", "checkpoint", "complex_lu",
    "complex_singular", "complexes", "cond", "constant", "constants", "contraction", "control",
    "determinants", "dim", "eigen", "einsum", "elementwise", "exponential", "factors", "for_loop",
    "fourier", "gamma", "general_eigen", "hermitian", "indexing", "iota", "join_spec", "kernel",
    "linalg", "marks", "measure", "packing", "paired", "reductions", "scans", "shapes", "singular",
    "sorting", "special", "split_spec", "triangular", "while_loop",
]  # fmt: skip
