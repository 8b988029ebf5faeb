"""Automatic differentiation: both modes from the one derivative rule of each op."""

from __future__ import annotations

from symgrad.passes.autodiff.forward import jvp
from symgrad.passes.autodiff.hold import hold
from symgrad.passes.autodiff.reverse import gradient, vjp

__all__ = ["gradient", "hold", "jvp", "vjp"]
