"""The public functions: compile, differentiate, trace and check plain NumPy functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from symgrad.errors import ArgumentError
from symgrad.ir.core import Function
from symgrad.ir.ops import elementwise
from symgrad.ir.types import ArrayType, parse_type
from symgrad.runtime.compiled import Compiled, Options
from symgrad.runtime.late import CHECKS, COMPILER, late
from symgrad.runtime.program import DEFAULT_TARGET, INTERPRETER
from symgrad.runtime.request import Argnum, Mode, Request
from symgrad.trace.session import trace_function
from symgrad.trace.trees import tree_map

if TYPE_CHECKING:
    from symgrad.runtime.check_report import CheckReport

Fn: TypeAlias = Callable[..., Any]
Argnums: TypeAlias = "Argnum | Sequence[Argnum]"


def _options(target: str | None, static: Argnums) -> Options:
    chosen = target if target is not None else os.environ.get("SYMGRAD_TARGET") or DEFAULT_TARGET
    if chosen not in (DEFAULT_TARGET, INTERPRETER):
        targets = (*late(COMPILER).TARGETS, INTERPRETER)
        if chosen not in targets:
            raise ArgumentError(f"no target {chosen!r}", cure="targets: " + ", ".join(targets))
    return Options(chosen, _numbers(static))


def _numbers(argnums: Argnums) -> tuple[Argnum, ...]:
    return (argnums,) if isinstance(argnums, int | str) else tuple(argnums)


def _request(mode: Mode, argnums: Argnums, has_aux: bool) -> Request:
    for number in _numbers(argnums):
        if not isinstance(number, int | str) or isinstance(number, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"argnums: {number!r} is neither a position nor a name")
    return Request(mode, _numbers(argnums), isinstance(argnums, int | str), has_aux)


def compile(fn: Fn, *, static_argnums: Argnums = (), target: str | None = None) -> Compiled:
    """The function compiled as it is: same arguments, same results.

    `target` is "numba_cpu" (default) or "interpreter", which needs no compilation and is slow. Results of
    rank 0 are NumPy scalars; arrays are fresh at each call.
    """
    return Compiled(fn, Request(Mode.VALUE), _options(target, static_argnums))


def value_and_grad(
    fn: Fn,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    static_argnums: Argnums = (),
    target: str | None = None,
) -> Compiled:
    """A function that returns (value, gradients) of a scalar loss, computed by one compiled program.

    `argnums` names the differentiated arguments by position or name: one gives its gradient, a sequence a
    tuple of gradients. A gradient has the structure, shapes and dtypes of its argument. With `has_aux`, `fn`
    returns (loss, anything else) and the result is ((loss, anything else), gradients).

    Raises NonScalarError if the loss is not one real number, NotDifferentiableError for integer arguments.
    """
    return Compiled(fn, _request(Mode.VALUE_AND_GRADIENT, argnums, has_aux), _options(target, static_argnums))


@overload
def compile_grad(fn: Fn) -> Compiled: ...
@overload
def compile_grad(
    fn: None = None,
    *,
    argnums: Argnums = 0,
    has_aux: bool = False,
    static_argnums: Argnums = (),
    target: str | None = None,
) -> Callable[[Fn], Compiled]: ...
@overload
def compile_grad(
    fn: Fn,
    *,
    argnums: Argnums = 0,
    has_aux: bool = False,
    static_argnums: Argnums = (),
    target: str | None = None,
) -> Compiled: ...
def compile_grad(
    fn: Fn | None = None,
    *,
    argnums: Argnums = 0,
    has_aux: bool = False,
    static_argnums: Argnums = (),
    target: str | None = None,
) -> Compiled | Callable[[Fn], Compiled]:
    """Decorator: a plain NumPy loss becomes a function that returns (value, gradients); see `value_and_grad`.

    >>> import numpy as np
    >>> @compile_grad(target="interpreter")
    ... def loss(x):
    ...     return np.sum(x**2)
    >>> loss(np.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    """

    def decorate(wrapped: Fn) -> Compiled:
        return value_and_grad(wrapped, argnums, has_aux, static_argnums=static_argnums, target=target)

    return decorate if fn is None else decorate(fn)


def grad(
    fn: Fn,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    static_argnums: Argnums = (),
    target: str | None = None,
) -> Compiled:
    """A function that returns the gradients of a scalar loss; with `has_aux`, (gradients, anything else).

    Gradients are functions like any other: `grad(grad(f))` is the second derivative.
    """
    return Compiled(fn, _request(Mode.GRADIENT, argnums, has_aux), _options(target, static_argnums))


def jvp(
    fn: Fn, primals: Sequence[Any], tangents: Sequence[Any], *, target: str | None = None
) -> tuple[Any, Any]:
    """(fn(*primals), its derivative along the tangents), by forward mode.

    Each tangent has the structure, shapes and dtypes of its primal.
    """
    primals = tuple(primals)
    if len(primals) != len(tangents):
        raise ArgumentError(f"jvp: {len(primals)} primals and {len(tangents)} tangents")
    request = Request(Mode.PUSH_FORWARD, tuple(range(len(primals))))
    return _kept(fn, request, target).seeded(primals, tuple(tangents))


def vjp(fn: Fn, *primals: Any, target: str | None = None) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """(fn(*primals), pull), where pull(cotangent of the result) is the tuple of cotangents of the primals.

    The cotangent has the structure, shapes and dtypes of the result. `pull` runs the forward program again.
    """
    value = _kept(fn, Request(Mode.VALUE), target)(*primals)
    request = Request(Mode.PULL_BACK, tuple(range(len(primals))))

    def pull(cotangent: Any) -> tuple[Any, ...]:
        """The cotangents of the primals, given that of the result."""
        return _kept(fn, request, target).seeded(primals, cotangent)

    return value, pull


@dataclass(frozen=True, slots=True)
class _Kept:
    """What was compiled of one function."""

    fn: Fn
    found: dict[tuple[Request, Options], Compiled]


def _kept(fn: Fn, request: Request, target: str | None) -> Compiled:
    """The compiled function for a request, kept with the function so that it is dropped with it."""
    options = _options(target, ())
    kept: object = getattr(fn, "__dict__", {}).get("__symgrad__")
    # Attributes wander: `functools.wraps` and `copy.copy` give those of one function to another.
    if not isinstance(kept, _Kept) or kept.fn is not fn:
        kept = _Kept(fn, {})
        # Bound methods and builtins take no attributes: they are traced anew.
        with suppress(AttributeError, TypeError):
            setattr(fn, "__symgrad__", kept)  # noqa: B010 - not a name to write as an attribute
    found = kept.found.get((request, options))
    if found is None:
        found = kept.found[request, options] = Compiled(fn, request, options)
    return found


def check_grads(
    fn: Fn,
    args: Sequence[Any],
    order: int = 1,
    modes: Sequence[str] = ("fwd", "rev"),
    *,
    argnums: Argnums | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    eps: float | None = None,
    target: str = INTERPRETER,
) -> CheckReport:
    """How far the derivatives of a function up to some order are from difference quotients; print the report.

    Forward mode gives the tangent of every result, reverse mode the gradient of the results in random
    proportions. Both are compared with central differences of the plain function, extrapolated to a step of 0
    in float64, or with the complex step where the function allows it: for every entry of the arguments if
    there are few, else for a sample and along random directions. Order 2 checks both modes of both
    derivatives, and so on.

    `argnums` names the differentiated arguments; by default all that are made of floating-point numbers. An
    entry is right up to `rtol` times its size: 1e-6, with float32 anywhere in arguments or results 2e-3;
    `atol` is an error that is right at any size, by default a hundredth of `rtol` times the largest entry.
    `eps` is the first step of the quotients in place of those that are tried until they settle.

    Raises GradientCheckError, which names the worst entry and the line that makes it wrong.

    >>> import numpy as np
    >>> check_grads(np.sin, (np.ones(3),), order=2).max_error < 1e-9
    True
    """
    if not isinstance(args, tuple | list):
        raise ArgumentError(
            f"args is {type(args).__name__}, not a tuple of arguments", cure="write (x,) for one"
        )
    if order < 1:
        raise ArgumentError(f"order is {order}: the first derivative is of order 1")
    return (
        late(CHECKS)
        .check_function(
            fn,
            tuple(args),
            {},
            argnums=None if argnums is None else _numbers(argnums),
            order=order,
            modes=modes,
            target=_options(target, ()).target,
            rtol=rtol,
            atol=atol,
            eps=eps,
        )
        .demand()
    )


def stop_gradient(x: Any) -> Any:
    """x, a constant to differentiation; for a dict, list, tuple or dataclass, each array of it."""
    return tree_map(elementwise.stop_gradient, x)


def spec(text: str) -> ArrayType:
    """The type of an array, such as `spec("f64[100,20]")`; it can stand for one in `trace` and `.ir`."""
    return parse_type(text)


def trace(fn: Fn, *args: Any, **kwargs: Any) -> Function:
    """The IR of a function for arguments like these; types (`spec("f64[3]")`) may stand for arrays.

    Print it with `print(symgrad.format_function(...))`, run it with `symgrad.interpret(...)`.
    """
    return trace_function(fn, args, kwargs).function
