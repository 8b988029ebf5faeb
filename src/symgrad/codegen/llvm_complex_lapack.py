# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportAttributeAccessIssue=false
"""LAPACK on complex and on general matrices as LLVM code: one function a call of `complex_lapack.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symgrad.codegen import complex_lapack as lapack
from symgrad.codegen.llvm_blas import BlasCaller
from symgrad.codegen.llvm_frame import Frame
from symgrad.codegen.llvm_values import NARROW, VOID, WORD, external, word
from symgrad.ir.types import DType


def _checked(frame: Frame, prefix: str, routine: str, args: list[Any]) -> Any:
    """What a routine of LAPACK says at its end: 0 if all went well."""
    info = frame.slot(NARROW)
    external(frame.builder, f"symgrad_{prefix}{routine}", VOID, [*args, info])
    return frame.builder.sext(frame.builder.load(info), WORD)


def _complex(frame: Frame, dtype: DType, routine: str, args: list[Any]) -> Any:
    return _checked(frame, "z" if dtype.itemsize == 8 else "c", routine, args)


def _letters(blas: BlasCaller, frame: Frame, flag: Any, letters: str) -> Any:
    """The address of the first letter where a flag, a word, is not 0, else of the second."""
    return blas.either(frame.builder.icmp_signed("!=", flag, word(0)), letters)


def _integers(frame: Frame, buffer: Any) -> Any:
    """The memory of a buffer, for integers of 32 bits."""
    return frame.builder.bitcast(buffer, NARROW.as_pointer())


def heevd(
    frame: Frame, dtype: DType, n: Any, vectors: Any, lower: Any, a: Any, values: Any,
    work: Any, size: Any, real: Any, reals: Any, whole: Any, count: Any,
) -> Any:  # fmt: skip
    """a[n,n], a triangle of a Hermitian matrix, becomes the eigenvectors if wanted; not 0 if it fails."""
    blas = BlasCaller(frame.builder, dtype)
    return _complex(frame, dtype, "heevd", [
        _letters(blas, frame, vectors, "VN"), _letters(blas, frame, lower, "LU"),
        blas.size(n), a, blas.leading(n), values, work, blas.size(size), real, blas.size(reals),
        _integers(frame, whole), blas.size(count),
    ])  # fmt: skip


def gesdd(
    frame: Frame, dtype: DType, m: Any, n: Any, vectors: Any, a: Any, values: Any, u: Any, v: Any,
    work: Any, size: Any, real: Any, whole: Any,
) -> Any:  # fmt: skip
    """The singular values of a[m,n] and, if wanted, u[m,k] and vᴴ[k,n] by columns; not 0 if it fails."""
    builder, blas = frame.builder, BlasCaller(frame.builder, dtype)
    least = builder.select(builder.icmp_signed("<", m, n), m, n)
    return _complex(frame, dtype, "gesdd", [
        _letters(blas, frame, vectors, "SN"), blas.size(m), blas.size(n), a, blas.leading(m), values,
        u, blas.leading(m), v, blas.leading(least), work, blas.size(size), real, _integers(frame, whole),
    ])  # fmt: skip


def geqrf(frame: Frame, dtype: DType, m: Any, n: Any, a: Any, factors: Any, work: Any, size: Any) -> None:
    """a[m,n] becomes R, and below it the reflections whose product is Q."""
    blas = BlasCaller(frame.builder, dtype)
    sizes = [blas.size(m), blas.size(n), a, blas.leading(m)]
    _complex(frame, dtype, "geqrf", [*sizes, factors, work, blas.size(size)])


def ungqr(frame: Frame, dtype: DType, m: Any, k: Any, a: Any, factors: Any, work: Any, size: Any) -> None:
    """a[m,k], the reflections of geqrf, becomes Q."""
    blas = BlasCaller(frame.builder, dtype)
    sizes = [blas.size(m), blas.size(k), blas.size(k), a, blas.leading(m)]
    _complex(frame, dtype, "ungqr", [*sizes, factors, work, blas.size(size)])


def gesv(frame: Frame, dtype: DType, n: Any, a: Any, b: Any, whole: Any) -> Any:
    """b[n,n] becomes a⁻¹ b; not 0 if there is none."""
    blas = BlasCaller(frame.builder, dtype)
    pivots = _integers(frame, whole)
    args = [blas.size(n), blas.size(n), a, blas.leading(n), pivots, b, blas.leading(n)]
    return _complex(frame, dtype, "gesv", args)


def geev_complex(
    frame: Frame, dtype: DType, n: Any, vectors: Any, a: Any, values: Any, v: Any,
    work: Any, size: Any, real: Any,
) -> Any:  # fmt: skip
    """The eigenvalues of a[n,n] and, if wanted, the eigenvectors v[n,n]; not 0 if it fails."""
    blas = BlasCaller(frame.builder, dtype)
    return _complex(frame, dtype, "geev", [
        blas.letter("N"), _letters(blas, frame, vectors, "VN"), blas.size(n), a, blas.leading(n), values,
        v, blas.leading(n), v, blas.leading(n), work, blas.size(size), real,
    ])  # fmt: skip


def geev(
    frame: Frame, dtype: DType, n: Any, vectors: Any, a: Any, real: Any, imag: Any, v: Any,
    work: Any, size: Any,
) -> Any:  # fmt: skip
    """The eigenvalues of the real a[n,n] and, if wanted, the eigenvectors v[n,n]; not 0 if it fails."""
    blas = BlasCaller(frame.builder, dtype)
    return _checked(frame, "d" if dtype.itemsize == 8 else "s", "geev", [
        blas.letter("N"), _letters(blas, frame, vectors, "VN"), blas.size(n), a, blas.leading(n), real, imag,
        v, blas.leading(n), v, blas.leading(n), work, blas.size(size),
    ])  # fmt: skip


# What a routine may call, and the code in its place.
CALLS: dict[Callable[..., Any], Callable[..., Any]] = {
    lapack.heevd: heevd, lapack.gesdd_complex: gesdd, lapack.geqrf_complex: geqrf, lapack.ungqr: ungqr,
    lapack.gesv_complex: gesv, lapack.geev_complex: geev_complex, lapack.geev: geev,
}  # fmt: skip
