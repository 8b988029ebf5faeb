"""Other libraries on the user's function: value and gradient of the same NumPy code, in a process of its own.

`python -m symgrad.cli.peers LIBRARY CHOICE` prints a line of JSON; CHOICE is what `symgrad bench` was given.
JAX and autograd get the function with their own NumPy in the place of `np` among the names of its module,
PyTorch by `torch.compile`, which takes NumPy code as it is.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from symgrad.cli.chosen import chosen
from symgrad.cli.timing import best_of, first_call
from symgrad.errors import ArgumentError
from symgrad.runtime.compiled import Compiled
from symgrad.trace.arguments import Signature
from symgrad.trace.trees import flatten, tree_map, unflatten

Call: TypeAlias = "Callable[[], Any]"  # gives (value, gradients) as NumPy has them

TIMEOUT = 180.0  # seconds that a library may take to compile and to be timed
_FIELDS = ("function", "args", "value", "grad", "argnums")  # of the options, that choose a function


def run_peer(library: str, options: Namespace) -> dict[str, Any]:
    """What a library makes of the chosen function: seconds, first, value; or `skipped`, and why."""
    if importlib.util.find_spec(library) is None:
        return {"skipped": "not installed"}
    choice = json.dumps({name: getattr(options, name) for name in _FIELDS})
    command = [sys.executable, "-m", "symgrad.cli.peers", library, choice]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return {"skipped": f"not done after {TIMEOUT:.0f} s"}
    lines = done.stdout.splitlines()
    if done.returncode != 0 or not lines:
        reason = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {"skipped": reason[-1]}
    return json.loads(lines[-1])


# ---- in the process of the library -------------------------------------------------------------------------
def measured(library: str, options: Namespace) -> dict[str, Any]:
    """The times of a library, or why there are none."""
    choice = chosen(options).with_values()
    try:
        call = LIBRARIES[library](choice.compiled, _positional(choice.compiled, choice.args, choice.kwargs))
        first = first_call(call)
        value = float(np.asarray(call()[0]))
    except Exception as error:
        # Whatever a library has against a function that was not written for it.
        text = str(error).strip().splitlines() or [""]
        return {"skipped": f"{type(error).__name__}: {text[0]}"[:200]}
    return {"first": first, "seconds": best_of(call), "value": value}


def _positional(compiled: Compiled, args: tuple[Any, ...], kwargs: Any) -> tuple[Any, ...]:
    """The arguments in the order of the parameters."""
    signature = Signature(compiled.fn)
    bound = signature.bind(args, kwargs)
    values = unflatten(bound.tree, bound.leaves)
    placed, named = signature.spread(bound.names, values)
    if named:
        raise ArgumentError(f"{', '.join(named)} can be passed by name only")
    if compiled.request.has_aux:
        raise ArgumentError("the function returns more than its loss")
    return placed


def _positions(compiled: Compiled) -> tuple[int, ...]:
    """The differentiated arguments by position."""
    names = list(inspect.signature(compiled.fn).parameters)
    return tuple(names.index(a) if isinstance(a, str) else a for a in compiled.request.wrt)


def _swapped(fn: Callable[..., Any], replacement: ModuleType) -> Callable[..., Any]:
    """The function, whose module has another NumPy from now on."""
    names: dict[str, Any] = getattr(fn, "__globals__", {})
    for name, value in list(names.items()):
        if value is np:
            names[name] = replacement
        elif not name.startswith("_") and value is getattr(np, getattr(value, "__name__", ""), None):
            names[name] = getattr(replacement, value.__name__, value)
    return fn


def _is_data(argument: Any) -> bool:
    """Whether an argument is made of arrays and floats; others are fixed in what JAX compiles."""
    return all(isinstance(leaf, np.ndarray | np.generic | float) for leaf in flatten(argument)[0])


def _with_jax(compiled: Compiled, args: tuple[Any, ...]) -> Call:
    jax: Any = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    fn = _swapped(compiled.fn, importlib.import_module("jax.numpy"))
    static = tuple(i for i, argument in enumerate(args) if not _is_data(argument))
    run = jax.jit(jax.value_and_grad(fn, argnums=_positions(compiled)), static_argnums=static)
    moved = [a if i in static else tree_map(jax.numpy.asarray, a) for i, a in enumerate(args)]
    return lambda: jax.block_until_ready(run(*moved))


def _with_autograd(compiled: Compiled, args: tuple[Any, ...]) -> Call:
    autograd: Any = importlib.import_module("autograd")
    fn = _swapped(compiled.fn, importlib.import_module("autograd.numpy"))
    run = autograd.value_and_grad(fn, argnum=_positions(compiled))
    return lambda: run(*args)


def _with_torch(compiled: Compiled, args: tuple[Any, ...]) -> Call:
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    wrt = _positions(compiled)
    varying = [i in wrt for i in range(len(args))]

    def moved(leaf: Any, varies: bool) -> Any:
        return (
            torch.tensor(leaf, requires_grad=varies)
            if isinstance(leaf, np.ndarray | np.generic | float)
            else leaf
        )

    tensors = [tree_map(lambda leaf, v=v: moved(leaf, v), a) for a, v in zip(args, varying, strict=True)]
    leaves = [leaf for i in wrt for leaf in flatten(tensors[i])[0]]
    run = torch.compile(torch.compiler.wrap_numpy(compiled.fn))

    def call() -> Any:
        value = run(*tensors)
        return value.detach(), torch.autograd.grad(value, leaves)

    return call


LIBRARIES: dict[str, Callable[[Compiled, tuple[Any, ...]], Call]] = {
    "jax": _with_jax,
    "torch": _with_torch,
    "autograd": _with_autograd,
}


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], Namespace(**json.loads(sys.argv[2])))))
