"""Shadows of functions: the same code over shadow globals, cells and defaults."""

from __future__ import annotations

import functools
import opcode
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from symgrad.errors import UnsupportedError
from symgrad.trace.capture import (
    Attribute,
    Content,
    Exactly,
    FunctionRoot,
    HasCode,
    Identical,
    Item,
    Path,
    TypeOf,
)
from symgrad.trace.convert import converted, lacks_source
from symgrad.trace.convert_expressions import RUNTIME
from symgrad.trace.element_by_element import Vectorize
from symgrad.trace.impure import refused_builtins
from symgrad.trace.iteration import ITERATIONS
from symgrad.trace.kinds import BUILTINS
from symgrad.trace.namespaces import Globals, names_of_class_bodies
from symgrad.trace.origin import holds_user_values, is_library_file, is_own_file, is_user_value
from symgrad.trace.sparse import FORMATS, Sparse, has_places, sparse
from symgrad.trace.tracer import Tracer
from symgrad.trace.wrapping import Wrapping
from symgrad.trace.writes import changes

if TYPE_CHECKING:
    from symgrad.trace.environment import Environment


def shadow_function(environment: Environment, fn: FunctionType, path: Path) -> Any:
    """The function as traced code sees it; its cells and defaults are filled later."""
    if hasattr(fn, "registry") and hasattr(fn, "dispatch"):
        what = f"`{path.text}` is a functools.singledispatch function, which cannot dispatch on traced arrays"
        return environment.refused(
            fn, path, lambda: UnsupportedError(what, cure="call the implementation directly")
        )
    if _matches_numbers(fn.__code__):
        what = f"`{path.text}` has a `match` on classes of numbers, which cannot tell what a traced value is"
        return environment.refused(fn, path, lambda: UnsupportedError(what, cure="use isinstance(x, float)"))
    library = is_library_file(fn.__code__.co_filename)
    if library and (is_own_file(fn.__code__.co_filename) or not holds_user_values(fn)):
        return environment.itself(fn, path)
    environment.captures.guard(path, HasCode(fn.__code__))
    space: dict[str, Any] = fn.__globals__
    if not library:
        space = _globals_of(environment, fn, path)
    code = fn.__code__ if library else converted(fn.__code__)
    if code is fn.__code__ and not library and lacks_source(code):
        environment.statements.decisions.unread.add(
            f"`{fn.__name__}` has no source: it runs as Python runs it"
        )
    known = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
    cells = tuple(environment.cell(known[name]) for name in code.co_freevars) or None
    shadow = FunctionType(code, space, fn.__name__, None, cells)
    shadow.__qualname__, shadow.__module__, shadow.__doc__ = fn.__qualname__, fn.__module__, fn.__doc__
    environment.remember(fn, shadow, path)
    environment.writes.watch_code(fn.__code__)
    environment.later(lambda: _fill(environment, fn, shadow, path, library))
    return shadow


def shadow_method(environment: Environment, value: MethodType, path: Path) -> Any:
    """The shadow of a bound method."""
    _guard_class(environment, value, path)
    function = environment.shadow(value.__func__, environment.under(path, Attribute("__func__"), path.text))
    owner = environment.shadow(value.__self__, environment.under(path, Attribute("__self__"), "self"))
    return MethodType(function, owner)


def shadow_builtin(environment: Environment, value: Any, path: Path) -> Any:
    """The shadow of a function or method written in C."""
    owner: Any = value.__self__
    if owner is None or isinstance(owner, ModuleType):
        return environment.itself(value, path)
    _guard_class(environment, value, path)
    name = environment.under(path, Attribute("__name__"), path.text)
    environment.captures.guard(name, Exactly(value.__name__))
    at = environment.under(path, Attribute("__self__"), f"{path.text}.__self__")
    shadow = environment.shadow(owner, at)
    return value if shadow is owner else getattr(shadow, value.__name__)


def shadow_partial(
    environment: Environment, value: functools.partial[Any] | functools.partialmethod[Any], path: Path
) -> Any:
    """The shadow of a function with some of its arguments."""
    _guard_class(environment, value, path)
    function, args, keywords = (
        environment.shadow(
            getattr(value, name), environment.under(path, Attribute(name), f"{path.text}.{name}")
        )
        for name in ("func", "args", "keywords")
    )
    make: Any = functools.partial if isinstance(value, functools.partial) else functools.partialmethod
    return make(function, *args, **keywords)


def shadow_of_library(environment: Environment, value: Any, path: Path) -> Any:
    """The shadow of an object of NumPy's or SciPy's that holds functions or arrays; None for most."""
    if isinstance(value, np.vectorize):
        return _vectorized(environment, value, path)
    return _sparse(environment, value, path) if has_places(value) else None


def _sparse(environment: Environment, value: Any, path: Path) -> Sparse:
    """The shadow of a sparse matrix: its elements are an input, its places are fixed."""
    _guard_class(environment, value, path)

    def under(name: str) -> Path:
        return environment.under(path, Attribute(name), f"{path.text}.{name}")

    for name in FORMATS[value.format]:
        held = np.array(getattr(value, name))
        held.flags.writeable = False
        environment.captures.guard(under(name), Content(held))
    environment.shadow(value.shape, under("shape"))
    return sparse(value, environment.shadow(value.data, under("data")))


def _vectorized(environment: Environment, value: np.vectorize, path: Path) -> Any:
    """The shadow of a function that is called with each element of arrays."""
    _guard_class(environment, value, path)
    function, otypes, excluded, signature = (
        environment.shadow(
            getattr(value, name), environment.under(path, Attribute(name), f"{path.text}.{name}")
        )
        for name in ("pyfunc", "otypes", "excluded", "signature")
    )
    return Vectorize(function, otypes, excluded=excluded, signature=signature)


def shadow_cached(environment: Environment, value: Any, path: Path) -> Any:
    """The shadow of a function that keeps its results: each trace computes them."""
    _guard_class(environment, value, path)
    return environment.shadow(value.__wrapped__, environment.under(path, Attribute("__wrapped__"), path.text))


def _guard_class(environment: Environment, value: object, path: Path) -> None:
    """Rely on the class of an object that stands for the function inside it.

    The traced function itself is the same object at every call.
    """
    if not isinstance(path.step, FunctionRoot):
        at = environment.under(path, TypeOf(), path.text)
        environment.captures.guard(at, Identical(type(value)))


def _taken(environment: Environment, content: Any, path: Path) -> Any:
    """What a function of a library holds besides the user's own, as it is."""
    plain = type(content) in (bool, int, float, complex, str, bytes)
    environment.captures.guard(path, Exactly(content) if plain else Identical(content))
    return content


def shadow_wrapping(environment: Environment, value: Wrapping, path: Path) -> Any:
    """The same asked of the shadow of a function, with the attributes that the user gave it."""
    environment.itself(value, path)
    made = value.around(environment.shadow(value.fn, environment.under(path, Attribute("fn"), path.text)))
    own = set(vars(made))
    space = environment.under(path, Attribute("__dict__"), path.text)
    for name, item in vars(value).items():
        if name not in own:
            at = environment.under(space, Item(name), f"{path.text}.{name}")
            setattr(made, name, environment.shadow(item, at))

    def given() -> dict[str, Any]:
        return {name: item for name, item in vars(made).items() if name not in own}

    environment.writes.watch(path.text, functools.partial(changes, given(), given, space))
    return made


_NUMBERS = frozenset(
    {"float", "int", "bool", "complex", "ndarray", "generic", "number", "floating", "integer"}
    | {"float64", "float32", "int64", "int32", "Number", "Real", "Rational", "Integral"}
)


def _matches_numbers(code: CodeType) -> bool:
    """Whether the code has class patterns that a traced value should match, and would not."""
    if opcode.opmap["MATCH_CLASS"] in code.co_code[::2] and not _NUMBERS.isdisjoint(code.co_names):
        return True
    return any(isinstance(constant, CodeType) and _matches_numbers(constant) for constant in code.co_consts)


def _fill(
    environment: Environment, fn: FunctionType, shadow: FunctionType, path: Path, library: bool
) -> None:
    """Give a shadow function its cells, defaults and attributes."""
    closure = environment.under(path, Attribute("__closure__"), path.text)
    for i, (name, cell) in enumerate(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)):
        made = environment.cell(cell)
        cell_path = environment.under(closure, Item(i), name)
        try:
            content = cell.cell_contents
        except ValueError:
            continue  # not assigned yet
        contents = environment.under(cell_path, Attribute("cell_contents"), name)
        kept = library and not isinstance(content, Tracer) and not is_user_value(content)
        if environment.known(cell, cell_path) is not None:
            continue  # another function has it too
        environment.remember(cell, made, cell_path)
        take = functools.partial(_taken, environment) if kept else environment.shadow
        made.cell_contents = take(content, contents)
        environment.writes.watch_cell(made, contents)
    if fn.__defaults__:
        defaults = environment.under(path, Attribute("__defaults__"), path.text)
        names = fn.__code__.co_varnames[: fn.__code__.co_argcount][-len(fn.__defaults__) :]
        shadow.__defaults__ = tuple(
            environment.shadow(value, environment.under(defaults, Item(i), name))
            for i, (name, value) in enumerate(zip(names, fn.__defaults__, strict=True))
        )
    if fn.__kwdefaults__:
        defaults = environment.under(path, Attribute("__kwdefaults__"), path.text)
        shadow.__kwdefaults__ = {
            name: environment.shadow(value, environment.under(defaults, Item(name), name))
            for name, value in fn.__kwdefaults__.items()
        }
    space = environment.under(path, Attribute("__dict__"), path.text)
    for name, value in vars(fn).items():
        if name != "__wrapped__":
            found = environment.shadow(value, environment.under(space, Item(name), f"{path.text}.{name}"))
            setattr(shadow, name, found)
    environment.writes.watch_mapping(vars(shadow), space)


def _globals_of(environment: Environment, fn: FunctionType, path: Path) -> dict[str, Any]:
    """The globals that the code of a function sees."""
    real = fn.__globals__
    space_path = environment.under(path, Attribute("__globals__"), path.text)
    known = environment.known(real, space_path)
    if known is None:
        space = Globals(environment, real, space_path)
        space.provide("__builtins__", _builtins(environment, fn))
        space.provide(RUNTIME, environment.statements)
        environment.remember(real, space, space_path)
        environment.writes.watch_globals(space)
    else:
        space = cast(Globals, known[0])
    names = tuple(names_of_class_bodies(fn.__code__))
    if names:
        environment.later(lambda: space.load(names))
    return space


def _builtins(environment: Environment, fn: FunctionType) -> dict[str, Any]:
    return {
        **fn.__builtins__,
        **refused_builtins(),
        **BUILTINS,
        **ITERATIONS,
        "__import__": environment.imported,
    }
