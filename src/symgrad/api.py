"""The public functions: compile, differentiate, trace and check plain NumPy functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast, overload

from symgrad.errors import ArgumentError
from symgrad.ir.types import ArrayType, parse_type
from symgrad.runtime.compiled import Compiled
from symgrad.runtime.late import CHECKS, ELEMENTWISE, TRACER, late
from symgrad.runtime.options import Argnums, Bytes, Options, Residuals, numbers, options
from symgrad.runtime.program import INTERPRETER
from symgrad.runtime.request import Mode, Request
from symgrad.trace.trees import tree_map

if TYPE_CHECKING:
    from symgrad.ir.core import Function
    from symgrad.runtime.check_report import CheckReport

Fn: TypeAlias = Callable[..., Any]


def _request(mode: Mode, argnums: Argnums, has_aux: object) -> Request:
    chosen = numbers(argnums)
    if not isinstance(has_aux, bool):
        raise ArgumentError(
            f"has_aux is {has_aux!r}, neither True nor False",
            cure="to differentiate several arguments, write argnums=(0, 1)",
        )
    return Request(mode, chosen, isinstance(argnums, int | str), has_aux)


def _check_callable(fn: object, name: str) -> None:
    if not callable(fn):
        raise ArgumentError(
            f"{name} is given an object of type {type(fn).__name__}, not a function",
            cure=f"pass the function itself, not its result, and options by name: {name}(loss, ...)",
        )


def _tuple_of(given: object, name: str) -> tuple[Any, ...]:
    """The primals or tangents of `jvp`; anything but a tuple or list is refused."""
    if type(given) not in (tuple, list):
        raise ArgumentError(
            f"jvp: {name} is of type {type(given).__name__}, and must be a tuple with one entry an argument",
            cure="for one argument write jvp(f, (x,), (x_dot,))",
        )
    return tuple(cast("Sequence[Any]", given))


def compile(
    fn: Fn,
    *,
    static_argnums: Argnums = (),
    target: str | None = None,
    parallel: bool | int = False,
    memory_budget: Bytes = None,
    plan: str | None = None,
) -> Compiled:
    """The function compiled as it is: same arguments, same results.

    `fn` takes and returns arrays, numbers, and containers of them. It is traced at the first call with
    arguments of new types, shapes or structure; the object that is returned keeps what was compiled.

    `static_argnums` names arguments, by position or name, whose values are fixed in the program: another
    value is traced anew. Numbers of which the code needs the value, as in `range(n)`, are fixed without it;
    arrays of which it does, such as masks, are not.

    `target` is "numba_cpu" (default), "cuda" for an NVIDIA GPU, "auto" for the GPU where one can be used, or
    "interpreter", which needs no compilation and is slow; the environment variable SYMGRAD_TARGET names
    another default. CudaUnavailableError says at the first call what a GPU lacks.

    `parallel` says how many threads may run it: one by default, with True as many as pay, up to the
    processors that the process may use, or a number of them. Sums are then added up in another order, the
    same at each call.

    `memory_budget` bounds the bytes of the arena, in which all lies but arguments and results: a number, or
    a size such as "64MiB". What does not fit is made again where it is read, or rows are worked on in blocks.
    MemoryBudgetError is raised, before anything runs, if that is not enough. The interpreter plans no memory:
    where SYMGRAD_TARGET names it, no budget counts. `plan="optimal"` looks for the fastest way to keep the
    budget by integer programming, for programs of up to 60 kernels and contractions, and up to a minute.

    Results of rank 0 are NumPy scalars, also where `fn` returns a Python number; arrays are fresh at each
    call.
    """
    _check_callable(fn, "compile")
    return Compiled(fn, Request(Mode.VALUE), options(target, static_argnums, parallel, memory_budget, plan))


def value_and_grad(
    fn: Fn,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    static_argnums: Argnums = (),
    target: str | None = None,
    parallel: bool | int = False,
    memory_budget: Bytes = None,
    plan: str | None = None,
    residuals: Residuals = None,
) -> Compiled:
    """A function that returns (value, gradients) of a scalar loss, computed by one compiled program.

    `fn` is the loss: a function of arrays, numbers, and containers of them that returns one real number.

    `argnums` names the differentiated arguments by position or name: one gives its gradient, a sequence a
    tuple of gradients. A gradient has the structure, shapes and dtypes of its argument.

    With `has_aux`, `fn` returns (loss, aux) and the result is ((loss, aux), gradients). `aux` is any array,
    number, or container of them; integers and booleans in it come back as NumPy scalars, and strings are
    refused.

    `static_argnums`, `target`, `parallel`, `memory_budget` and `plan` are those of `compile`: arguments whose
    values are fixed in the program, which is traced anew when they change, where it runs, on how many
    threads, and in how many bytes.

    `residuals` is a smaller type in which what the backward part needs is kept until then: "float32" for
    float64, "float16" or "bfloat16" for float32. The value keeps its bits, gradients are rounded, and
    `check` says how much. A number too large for the type makes a gradient NaN.

    Raises NonScalarError if the loss is not one real number, NotDifferentiableError for integer arguments.
    """
    _check_callable(fn, "value_and_grad")
    return Compiled(
        fn,
        _request(Mode.VALUE_AND_GRADIENT, argnums, has_aux),
        options(target, static_argnums, parallel, memory_budget, plan, residuals),
    )


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
    parallel: bool | int = False,
    memory_budget: Bytes = None,
    plan: str | None = None,
    residuals: Residuals = None,
) -> Callable[[Fn], Compiled]: ...
@overload
def compile_grad(
    fn: Fn,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    static_argnums: Argnums = (),
    target: str | None = None,
    parallel: bool | int = False,
    memory_budget: Bytes = None,
    plan: str | None = None,
    residuals: Residuals = None,
) -> Compiled: ...
def compile_grad(
    fn: Fn | None = None,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    static_argnums: Argnums = (),
    target: str | None = None,
    parallel: bool | int = False,
    memory_budget: Bytes = None,
    plan: str | None = None,
    residuals: Residuals = None,
) -> Compiled | Callable[[Fn], Compiled]:
    """Decorator: a plain NumPy loss becomes a function that returns (value, gradients).

    It is `value_and_grad`, with or without options: `@compile_grad`, `@compile_grad(argnums="w")`.

    `argnums` names the differentiated arguments by position or name (by default the first); a sequence gives
    a tuple of gradients. With `has_aux` the function returns (loss, aux), aux being arrays, numbers, or
    containers of them (no strings; integers and booleans come back as NumPy scalars), and the result is
    ((loss, aux), gradients). `static_argnums` names arguments whose values are fixed in the program, which is
    traced anew when they change: masks, flags, sizes. `target` is "numba_cpu", "cuda", "auto" or
    "interpreter". With `parallel=True` as many threads run it as pay, with a number so many.
    `memory_budget="64MiB"` bounds the memory that it borrows; `plan="optimal"` looks longer for the fastest
    way to keep it. `residuals="float32"` halves what it keeps for the gradient.

    >>> import numpy as np
    >>> @compile_grad(target="interpreter")
    ... def loss(x):
    ...     return np.sum(x**2)
    >>> loss(np.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    """

    if fn is not None:
        _check_callable(fn, "compile_grad")

    def decorate(wrapped: Fn) -> Compiled:
        return value_and_grad(
            wrapped,
            argnums,
            has_aux,
            static_argnums=static_argnums,
            target=target,
            parallel=parallel,
            memory_budget=memory_budget,
            plan=plan,
            residuals=residuals,
        )

    return decorate if fn is None else decorate(fn)


def grad(
    fn: Fn,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    static_argnums: Argnums = (),
    target: str | None = None,
    parallel: bool | int = False,
    memory_budget: Bytes = None,
    plan: str | None = None,
    residuals: Residuals = None,
) -> Compiled:
    """A function that returns the gradients of a scalar loss; with `has_aux`, (gradients, aux).

    The arguments are those of `value_and_grad`: `argnums` names the differentiated arguments; with `has_aux`
    the loss returns (loss, aux); the values of `static_argnums` are fixed in the program; `target` is where
    it runs, `parallel` on how many threads, `memory_budget` in how many bytes, `plan` how that is kept, and
    `residuals` the type of what is kept for the backward part.

    Gradients are functions like any other: `grad(grad(f))` is the second derivative. Keep the result: each
    `grad(f)` is an object of its own, which traces anew.
    """
    _check_callable(fn, "grad")
    return Compiled(
        fn,
        _request(Mode.GRADIENT, argnums, has_aux),
        options(target, static_argnums, parallel, memory_budget, plan, residuals),
    )


def jvp(
    fn: Fn,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    target: str | None = None,
    parallel: bool | int = False,
    memory_budget: Bytes = None,
    plan: str | None = None,
) -> tuple[Any, Any]:
    """(fn(*primals), its derivative along the tangents), by forward mode.

    Both are tuples with one entry an argument. Each tangent has the structure, shapes and dtypes of its
    primal. `target`, `parallel`, `memory_budget` and `plan` are those of `compile`.
    """
    _check_callable(fn, "jvp")
    primals, tangents = _tuple_of(primals, "primals"), _tuple_of(tangents, "tangents")
    if len(primals) != len(tangents):
        raise ArgumentError(
            f"jvp: {len(primals)} primals and {len(tangents)} tangents",
            cure="pass one tangent an argument; zeros where there is no change",
        )
    chosen = options(target, (), parallel, memory_budget, plan)
    request = Request(Mode.PUSH_FORWARD, tuple(range(len(primals))))
    return _kept(fn, request, chosen).seeded(primals, tangents)


def vjp(
    fn: Fn,
    *primals: Any,
    target: str | None = None,
    parallel: bool | int = False,
    residuals: Residuals = None,
) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """(fn(*primals), pull), where pull(cotangent of the result) is the tuple of cotangents of the primals.

    The cotangent has the structure, shapes and dtypes of the result. `pull` runs the forward program again.
    `target` and `parallel` are those of `compile`, `residuals` that of `value_and_grad`.
    """
    _check_callable(fn, "vjp")
    chosen = options(target, (), parallel)
    value = _kept(fn, Request(Mode.VALUE), chosen)(*primals)
    request = Request(Mode.PULL_BACK, tuple(range(len(primals))))
    pulling = options(target, (), parallel, residuals=residuals)

    def pull(cotangent: Any) -> tuple[Any, ...]:
        """The cotangents of the primals, given that of the result."""
        return _kept(fn, request, pulling).seeded(primals, cotangent)

    return value, pull


@dataclass(frozen=True, slots=True)
class _Kept:
    """What was compiled of one function."""

    fn: Fn
    found: dict[tuple[Request, Options], Compiled]


def _kept(fn: Fn, request: Request, options: Options) -> Compiled:
    """The compiled function for a request, kept with the function so that it is dropped with it."""
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
    _check_callable(fn, "check_grads")
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
            argnums=None if argnums is None else numbers(argnums),
            order=order,
            modes=modes,
            target=options(target, (), False).target,
            rtol=rtol,
            atol=atol,
            eps=eps,
        )
        .demand()
    )


def stop_gradient(x: Any) -> Any:
    """x, a constant to differentiation; for a dict, list, tuple or dataclass, each array of it."""
    return tree_map(late(ELEMENTWISE).stop_gradient, x)


def spec(text: str) -> ArrayType:
    """The type of an array, such as `spec("f64[100,20]")`; it can stand for one in `trace` and `.ir`."""
    return parse_type(text)


def trace(fn: Fn, *args: Any, **kwargs: Any) -> Function:
    """The IR of a function for arguments like these; types (`spec("f64[3]")`) may stand for arrays.

    Print it with `print(symgrad.format_function(...))`, run it with `symgrad.interpret(...)`.
    """
    _check_callable(fn, "trace")
    return late(TRACER).trace_function(fn, args, kwargs).function
