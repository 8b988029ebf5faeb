"""What a command is about: a function of a file of the user's, and sample arguments for it."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, cast

import numpy as np

from symgrad.api import compile, grad, value_and_grad
from symgrad.errors import ArgumentError, Loc, SymgradError
from symgrad.ir import dims
from symgrad.ir.types import ArrayType, parse_type
from symgrad.runtime.compiled import Compiled
from symgrad.runtime.options import target_named
from symgrad.trace.origin import is_library_file

# One sample argument: an optional name, then a type or a Python literal without spaces.
_ARGUMENT = re.compile(r"(?:(\w+)=)?(\w+\[[^\]]*\]|\S+)")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A compiled function and sample arguments, some of which may be types."""

    compiled: Compiled
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def with_values(self) -> Chosen:
        """The same with random arrays in place of types."""
        rng = np.random.default_rng(0)
        kwargs = {name: _value(rng, argument) for name, argument in self.kwargs.items()}
        return Chosen(self.compiled, tuple(_value(rng, argument) for argument in self.args), kwargs)


def add_function(parser: ArgumentParser) -> None:
    """Add the arguments that choose a function."""
    parser.add_argument(
        "function",
        metavar="FILE.py:FUNCTION",
        help="a function of the file, plain or compiled by a decorator; the name may be left out "
        "where the file has only one compiled function",
    )
    parser.add_argument(
        "--args",
        metavar="TYPES",
        help='types or numbers in place of those that example_args() in the file returns: "f64[100,20] n=3"',
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--value", action="store_true", help="the function as it is, without its gradient")
    what.add_argument("--grad", action="store_true", help="the gradient without the value")
    parser.add_argument(
        "--argnums",
        metavar="WHICH",
        help="the differentiated arguments, by position or name: 0,1 or w,b; by default the first",
    )
    parser.add_argument("--target", metavar="NAME", help="in place of the function's own: cuda, or another")


def chosen(options: Namespace) -> Chosen:
    """The function and the sample arguments that the options choose."""
    path, name = _split(options.function)
    module = load_file(Path(path))
    found, owner = _find(module, name, path)
    args, kwargs = sample_arguments(module, found, options.args, path)
    if owner is not None:
        found, args = _bound(found, owner, args, f"{path}:{name}"), args[1:]
    return Chosen(_requested(found, options), args, kwargs)


# ---- the function ------------------------------------------------------------------------------------------
def _split(text: str) -> tuple[str, str]:
    """The file and the name in FILE.py:NAME; the name may be missing."""
    match = re.fullmatch(r"(.*?\.py)(?::(.*))?", text)
    if match is None:
        raise ArgumentError(f"{text!r} names no function of a file", cure="write FILE.py:FUNCTION")
    return match[1], match[2] or ""


def load_file(path: Path) -> ModuleType:
    """The file as a module, run as `python FILE` would run it, but under its own name."""
    if not path.is_file():
        raise ArgumentError(f"there is no file {path}", cure="write FILE.py:FUNCTION")
    path = path.resolve()
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_of_symgrad"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ArgumentError(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except SymgradError:
        raise
    except Exception as error:
        raise ArgumentError(
            f"{path.name} cannot be loaded: {type(error).__name__}: {error}",
            loc=users_place(error),
        ) from error
    return module


def users_place(error: BaseException) -> Loc | None:
    """The innermost place outside Python, libraries and symgrad that an error passed through."""
    if isinstance(error, SyntaxError) and error.filename is not None and error.lineno is not None:
        return Loc(error.filename, error.lineno)
    found: Loc | None = None
    traceback: TracebackType | None = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_library_file(code.co_filename):
            name = "" if code.co_name == "<module>" else code.co_name
            found = Loc(code.co_filename, traceback.tb_lineno, function=name)
        traceback = traceback.tb_next
    return found


def _find(module: ModuleType, name: str, path: str) -> tuple[Callable[..., Any], type | None]:
    """The function of this name, by default the only compiled one, and the class whose object it needs."""
    if not name:
        compiled = [key for key, value in vars(module).items() if isinstance(value, Compiled)]
        if len(compiled) != 1:
            listed = [f"{path}:{key}" for key in compiled or _functions(module)]
            what = f"{len(compiled)} functions that are compiled" if compiled else "no compiled function"
            cure = f"name one: {', '.join(listed)}" if listed else "there are no functions in it"
            raise ArgumentError(f"{path} has {what}", cure=cure)
        name = compiled[0]
    *outer, last = name.split(".")
    holder: Any = module
    for part in outer:
        holder = getattr(holder, part, None)
    found = getattr(holder, last, None)
    if not callable(found) or isinstance(found, type):
        listed = ", ".join(_functions(module)) or "none"
        raise ArgumentError(f"{path} has no function {name}", cure=f"functions in it: {listed}")
    own = inspect.isfunction(found) or isinstance(found, Compiled)
    static = isinstance(inspect.getattr_static(holder, last, None), staticmethod)
    return found, holder if isinstance(holder, type) and own and not static else None


def _bound(found: Callable[..., Any], owner: type, args: tuple[Any, ...], written: str) -> Callable[..., Any]:
    """A method of a class as that of the object that comes first among the sample arguments."""
    if args and isinstance(args[0], owner):
        return cast("Any", found).__get__(args[0])
    raise ArgumentError(
        f"{written} is a method: it needs an object of {owner.__name__}",
        cure="name the method of an object that the file makes, as FILE.py:object.method, "
        "or let example_args() return the object first",
    )


def _functions(module: ModuleType) -> list[str]:
    """The names of the file's own functions."""
    names = [name for name, value in vars(module).items() if _is_function(value, module)]
    return [name for name in names if not name.startswith("_") and name != "example_args"]


def _is_function(value: object, module: ModuleType) -> bool:
    return isinstance(value, Compiled) or (inspect.isfunction(value) and value.__module__ == module.__name__)


def _requested(function: Callable[..., Any], options: Namespace) -> Compiled:
    """The function compiled for what the options ask of it; by default what its decorator says."""
    made = _compiled(function, options)
    if options.target is None:
        return made
    return Compiled(made.fn, made.request, replace(made.options, target=target_named(options.target)))


def _compiled(function: Callable[..., Any], options: Namespace) -> Compiled:
    """The function compiled for what is asked of it."""
    asked = options.value or options.grad or options.argnums is not None
    if isinstance(function, Compiled):
        if not asked:
            return function
        function = function.fn
    if options.value:
        return compile(function)
    argnums = 0 if options.argnums is None else _argnums(options.argnums)
    return grad(function, argnums) if options.grad else value_and_grad(function, argnums)


def _argnums(text: str) -> int | str | tuple[int | str, ...]:
    parts = [part.strip() for part in text.split(",")]
    numbers = tuple(int(part) if re.fullmatch(r"-?\d+", part) else part for part in parts if part)
    if not numbers:
        raise ArgumentError(f"--argnums {text!r} names no argument", cure="write it as 0 or 0,1 or w,b")
    return numbers[0] if len(numbers) == 1 and "," not in text else numbers


# ---- the arguments -----------------------------------------------------------------------------------------
def sample_arguments(
    module: ModuleType, function: Callable[..., Any], text: str | None, path: str
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The positional and keyword arguments: those in `text`, else what `example_args()` returns."""
    if text is not None:
        return parse_arguments(text)
    example = getattr(module, "example_args", None)
    if example is not None:
        made = example()
        if isinstance(made, dict):
            return (), cast("dict[str, Any]", made)
        if isinstance(made, tuple):
            return cast("tuple[Any, ...]", made), {}
        raise ArgumentError(
            f"example_args() in {path} returns a {type(made).__name__}",
            cure="return a tuple of the arguments, or a dict of them by name",
        )
    if not inspect.signature(function).parameters:
        return (), {}
    raise ArgumentError(
        f"there are no sample arguments for {getattr(function, '__name__', 'the function')}",
        cure=f'define example_args() in {path}, or pass types, as --args "f64[100,20] f64[20]"',
    )


def parse_arguments(text: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments written in a line: types such as f64[3], and numbers; `name=` makes one a keyword."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for match in _ARGUMENT.finditer(text):
        name, written = match.groups()
        value = _argument(written)
        if name is not None:
            kwargs[name] = value
        elif kwargs:
            raise ArgumentError(f"--args: {written} comes after a named argument")
        else:
            args.append(value)
    return tuple(args), kwargs


def _argument(text: str) -> Any:
    if re.match(r"\w+\[", text):
        return parse_type(text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise ArgumentError(
            f"--args: {text} is neither a type nor a number", cure="write it as f64[100,20], 3 or n=3"
        ) from None


def _value(rng: np.random.Generator, argument: Any) -> Any:
    """An argument, or a random array where it is a type: standard normal, or 0 and 1."""
    if not isinstance(argument, ArrayType):
        return argument
    shape = tuple(map(dims.known, argument.shape))
    drawn: Any = rng.standard_normal(shape) if argument.has_derivatives else rng.integers(0, 2, shape)
    if argument.is_complex:
        drawn = drawn + 1j * rng.standard_normal(shape)
    return np.asarray(drawn).astype(argument.dtype)[()]
