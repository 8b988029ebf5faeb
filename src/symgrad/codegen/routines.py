"""`ROUTINES`: what the statement `CallLibrary` can name, by family."""

from __future__ import annotations

from collections.abc import Callable

from symgrad.codegen import (
    determinant_routines,
    exponential_routines,
    fft_routines,
    linalg_routines,
    pair_routines,
    paired_routines,
    scan_routines,
    sort_routines,
    spectral_routines,
)

ROUTINES: dict[str, Callable[..., int]] = {
    **fft_routines.ROUTINES,
    **linalg_routines.ROUTINES,
    **spectral_routines.ROUTINES,
    **paired_routines.ROUTINES,
    **determinant_routines.ROUTINES,
    **exponential_routines.ROUTINES,
    **pair_routines.ROUTINES,
    **scan_routines.ROUTINES,
    **sort_routines.ROUTINES,
}
