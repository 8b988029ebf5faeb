"""Numbers as people read them."""

from __future__ import annotations


def ratio_text(x: float) -> str:
    """A ratio with two digits after the point."""
    return f"{x:.2f}"


def bytes_text(x: float) -> str:
    """A number of bytes."""
    return f"{x:,.0f} bytes"


def seconds_text(x: float) -> str:
    """Three digits, in seconds or parts of them."""
    scale, unit = (1, "s") if x >= 1 else (1e3, "ms") if x >= 1e-3 else (1e6, "µs")
    return f"{scale * x:.3g} {unit}"
