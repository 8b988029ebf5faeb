"""Functions of `scipy.fft` on traced arrays: those of `numpy.fft`, whose names and meanings they have."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from symgrad.trace import numpy_api_fft
from symgrad.trace.lifting import the_tracer, tracer_of


def _one_axis(name: str) -> Callable[..., Any]:
    traced = numpy_api_fft.NAMED[name]

    def transform(
        x: Any,
        n: Any = None,
        axis: int = -1,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
    ) -> Any:
        return traced(tracer_of(x, the_tracer((x,))), n, axis, norm)

    return transform


def _several_axes(name: str) -> Callable[..., Any]:
    traced = numpy_api_fft.NAMED[name]
    all_axes = (-2, -1) if name.endswith("2") else None

    def transform(
        x: Any,
        s: Any = None,
        axes: Any = all_axes,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
    ) -> Any:
        return traced(tracer_of(x, the_tracer((x,))), s, axes, norm)

    return transform


def _shifted(name: str, x: Any, axes: Any = None) -> Any:
    return numpy_api_fft.NAMED[name](tracer_of(x, the_tracer((x,))), axes)


TABLE: dict[str, Callable[..., Any]] = {
    **{name: _one_axis(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{
        name: _several_axes(name)
        for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
    },
    **{name: functools.partial(_shifted, name) for name in ("fftshift", "ifftshift")},
}
