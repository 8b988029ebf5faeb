"""The environment of a trace: the user's function rebuilt so that it meets tracers where it would meet data.

A *shadow* is what the traced code sees instead of a captured value: a tracer for an array, a copy for
a container, a function with the same code for a function. Shadows are made when the code reaches for the
value, so that a program depends on what it used and on nothing else. Writes are found afterwards.
"""

from __future__ import annotations

import builtins
import functools
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    GenericAlias,
    MappingProxyType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    UnionType,
)
from typing import Any, cast

import numpy as np

from symgrad.errors import DTypeError, SymgradError, UnsupportedError
from symgrad.ir.core import Value
from symgrad.ir.types import DType, array_type, native, supported
from symgrad.trace.capture import (
    Alias,
    Attribute,
    Captures,
    Content,
    Exactly,
    FunctionRoot,
    Identical,
    Item,
    Key,
    Keys,
    Layout,
    LeafRoot,
    Length,
    Members,
    ModuleRoot,
    ObjectRoot,
    Path,
    Step,
    TracedAs,
    TypeOf,
    hint,
    set_members,
)
from symgrad.trace.classes import ObjectShadows, bare_instance, can_be_shadowed, shadow_class
from symgrad.trace.decisions import Decisions
from symgrad.trace.functions import (
    shadow_builtin,
    shadow_cached,
    shadow_function,
    shadow_method,
    shadow_of_library,
    shadow_partial,
    shadow_wrapping,
)
from symgrad.trace.impure import Refusal, impure_value, process_environment, pure_constructor
from symgrad.trace.kinds import stand_in
from symgrad.trace.listed import listing
from symgrad.trace.modules import VIEWED, ModuleView, library_view, user_view
from symgrad.trace.origin import is_harmless, is_user_class, is_user_module
from symgrad.trace.plain import plain_copy
from symgrad.trace.refusals import FORMULA
from symgrad.trace.staging import StagedStatements
from symgrad.trace.static_leaves import dtype_cure
from symgrad.trace.tallies import Tally, is_number
from symgrad.trace.tracer import Recorder, Tracer
from symgrad.trace.trees import is_named_tuple
from symgrad.trace.wrapping import Wrapping
from symgrad.trace.writes import Writes

_CONSTANTS = (
    type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), slice, range,
)  # fmt: skip
_CONTAINERS = (list, tuple, dict, set, frozenset, deque, OrderedDict, defaultdict)
_BAGS = (("types", "SimpleNamespace"), ("argparse", "Namespace"))


class Environment:
    """All shadows of one trace, and what was relied on to make them."""

    def __init__(
        self, recorder: Recorder, fixed: Mapping[Key, str], counted: Collection[Key], decisions: Decisions
    ) -> None:
        self.recorder = recorder
        self.statements = StagedStatements(recorder, decisions)
        self.fixed = fixed  # captured arrays whose elements the trace needs, and why
        self.counted = counted  # numbers that the function counts
        self.captures = Captures()
        self.writes = Writes()
        recorder.check_outside = self.writes.check
        self.notes: list[str] = []  # what is fixed in the program, and why
        self.objects = ObjectShadows(self)
        self.arrays: dict[Value, Path] = {}
        self._known: dict[
            int, tuple[object, object, Path]
        ] = {}  # by id: the value (kept alive), its shadow, its path
        self._cells: dict[int, tuple[CellType, CellType]] = {}  # by id: the cell (kept alive), its shadow
        self._modules: dict[str, Path] = {}
        self._originals: dict[type[Any], type[Any]] = {}
        self._pending: list[Callable[[], None]] = []
        self._filling = False

    # ---- roots ----
    def function_root(self, fn: object) -> Any:
        """The shadow of the traced function."""
        return self.resolve(fn, self.captures.root(FunctionRoot(), getattr(fn, "__name__", "the function")))

    def leaf_root(self, index: int, value: object, text: str) -> Any:
        """The shadow of a leaf of the arguments that is not an array."""
        return self.resolve(value, self.captures.root(LeafRoot(index), text))

    def object_root(self, value: Any, text: str) -> Any:
        """The shadow of a class or function that the structure of the arguments names."""
        return self.resolve(value, self.captures.root(ObjectRoot(value), text))

    def imported(self, name: str, *args: Any) -> Any:
        """What an import statement in traced code gives."""
        found: ModuleType = builtins.__import__(name, *args)
        if found.__name__ not in self._modules:
            self._modules[found.__name__] = self.captures.root(ModuleRoot(found.__name__), found.__name__)
        return self.resolve(found, self._modules[found.__name__])

    # ---- bookkeeping ----
    def under(self, path: Path, step: Step, text: str) -> Path:
        """The path one step further."""
        return self.captures.under(path, step, text)

    def known(self, value: object, path: Path) -> tuple[Any] | None:
        """The shadow of an object met before; that it is the same object becomes a guard."""
        found = self._known.get(id(value))
        if found is None:
            return None
        if found[2] is not path:
            self.captures.guard(path, Alias(found[2]))
        return (found[1],)

    def remember(self, value: object, shadow: object, path: Path) -> None:
        """Give this shadow wherever the object is met again."""
        self._known[id(value)] = (value, shadow, path)

    def cell(self, real: CellType) -> CellType:
        """The shadow of a cell: one, whichever functions share it."""
        return self._cells.setdefault(id(real), (real, CellType()))[1]

    def has_met(self, identity: int) -> bool:
        """Whether an object with this id has a shadow."""
        return identity in self._known

    def later(self, step: Callable[[], None]) -> None:
        """Fill a shadow once the one being made is done, so that chains of functions need no recursion."""
        self._pending.append(step)

    def original(self, cls: type[Any]) -> type[Any]:
        """The user's class that a class of the trace stands for."""
        return self._originals.get(cls, cls)

    # ---- any value ----
    def resolve(self, value: Any, path: Path) -> Any:
        """What the traced code sees instead of a captured value."""
        shadow = self.shadow(value, path)
        if not self._filling:
            self._filling = True
            try:
                while self._pending:
                    self._pending.pop()()
            finally:
                self._filling = False
        return shadow

    def shadow(self, value: Any, path: Path) -> Any:
        """The same, while another shadow is being made: what is left for later stays for later."""
        cls = cast("type[Any]", type(value))
        if cls is Tally:  # of an enclosing trace
            return value
        if self.counted and is_number(value) and path.key in self.counted:
            self.notes.append(f"`{path.text}` is counted once a trace, not once a call")
            return Tally(path)
        if cls in _CONSTANTS or isinstance(value, np.generic | np.dtype):
            self.captures.guard(path, Exactly(value))
            return cast(Any, value)
        if isinstance(value, Enum | Refusal):
            return self.itself(value, path)
        known = self.known(value, path)
        if known is not None:
            return known[0]
        shadow = self._fresh(value, path)
        self.remember(value, shadow, path)
        return shadow

    def _fresh(self, value: Any, path: Path) -> Any:
        match value:
            case np.ndarray() | Tracer():
                return self._array(value, path)
            case _ if type(value) in _CONTAINERS or is_named_tuple(type(value)):
                return self._container(value, path)
            case MappingProxyType():
                self.captures.guard(path, Keys(MappingProxyType, tuple(value)))
                return MappingProxyType(self._filled({}, value, path))
            case ModuleType():
                return self._module(value, path)
            case _:
                return self._callable_or_object(value, path)

    def _callable_or_object(self, value: Any, path: Path) -> Any:
        for found in (
            stand_in(value),
            pure_constructor(value),
            impure_value(value),
            process_environment(value),
        ):
            if found is not None:
                self.captures.guard(path, Identical(value))
                return found
        match value:
            case Wrapping():
                return shadow_wrapping(self, value, path)
            case FunctionType():
                return shadow_function(self, value, path)
            case MethodType():
                return shadow_method(self, value, path)
            case BuiltinFunctionType() | MethodWrapperType():
                return shadow_builtin(self, value, path)
            case functools.partial() | functools.partialmethod():
                return shadow_partial(self, value, path)
            case functools._lru_cache_wrapper():  # pyright: ignore[reportPrivateUsage]
                return shadow_cached(self, value, path)
            case type():
                return self.class_(value, path)
            case GenericAlias() | UnionType() | np.ufunc():
                return listing(self.itself(value, path))
            case _ if type(value) is type(np.sum):
                return listing(self.itself(value, path))
            case _:
                return self._object(value, path)

    def itself(self, value: Any, path: Path) -> Any:
        """The value, as the very object that it must be again."""
        self.captures.guard(path, Identical(value))
        return value

    def refused(self, value: Any, path: Path, error: Callable[[], SymgradError]) -> Any:
        """A stand-in for a value that is refused where it is used, and not before."""
        self.captures.guard(path, Identical(value))
        return Refusal(error)

    # ---- arrays ----
    def _array(self, value: Any, path: Path) -> Any:
        if isinstance(value, Tracer):
            self.captures.guard(path, TracedAs(value.type, value.weak))
            return self._input(Value(value.type, hint(path.text)), path, value.weak, value.array)
        cls = cast("type[Any]", type(value))
        dtype: DType = value.dtype
        if cls not in (np.ndarray, np.memmap):
            what = f"`{path.text}` is a {cls.__name__}, not a plain array"
            return self.refused(value, path, lambda: DTypeError(what, cure="use np.asarray(...) of it"))
        if not supported(native(dtype)):
            what = f"`{path.text}` is an array of {dtype}, which is not supported"
            return self.refused(value, path, lambda: DTypeError(what, cure=dtype_cure(dtype)))
        if path.key in self.fixed:
            held = value.copy()
            held.flags.writeable = False
            self.captures.guard(path, Content(held))
            self.notes.append(f"`{path.text}` is fixed in the program: {self.fixed[path.key]}")
            return held
        self.captures.guard(path, Layout(cls, dtype, value.shape))
        param = Value(array_type(native(dtype), *value.shape), hint(path.text))
        self.recorder.static.add(param)
        return self._input(param, path, None, array=True)

    def _input(self, param: Value, path: Path, weak: Any, array: bool) -> Tracer:
        tracer = Tracer(param, self.recorder, weak, array=array)
        self.captures.arrays.append((path, param))
        self.arrays[param] = path
        self.writes.watch_tracer(tracer, path.text)
        return tracer

    # ---- containers ----
    def _container(self, value: Any, path: Path) -> Any:
        plain = plain_copy(self, value, path)
        if plain is not None:
            return plain
        cls = cast("type[Any]", type(value))
        if issubclass(cls, set | frozenset):
            self.captures.guard(path, Members(cls, set_members(value)))
            return self.writes.watch_set(cls(value), path.text)
        if issubclass(cls, dict):
            return self._dict(value, path)
        self.captures.guard(path, Length(cls, len(value)))
        if issubclass(cls, tuple):
            items = self._items(value, path)
            return self.class_of(value, path)(*items) if is_named_tuple(cls) else tuple(items)
        shadow = cls(*(((), value.maxlen) if issubclass(cls, deque) else ()))
        self.remember(value, shadow, path)
        shadow.extend(self._items(value, path))
        return self.writes.watch_items(shadow, path)

    def holds_counts(self, path: Path) -> bool:
        """Whether a number somewhere inside a value is counted."""
        key = path.key if self.counted else ()
        return any(counted[: len(key)] == key for counted in self.counted)

    def _items(self, value: Any, path: Path) -> list[Any]:
        return [self.shadow(x, self.under(path, Item(i), f"{path.text}[{i}]")) for i, x in enumerate(value)]

    def _dict(self, value: Any, path: Path) -> Any:
        cls = cast("type[Any]", type(value))
        self.captures.guard(path, Keys(cls, tuple(value)))
        shadow: dict[Any, Any] = cls()
        if isinstance(shadow, defaultdict):
            factory = self.under(path, Attribute("default_factory"), path.text)
            shadow.default_factory = self.shadow(value.default_factory, factory)
        self.remember(value, shadow, path)
        return self.writes.watch_mapping(self._filled(shadow, value, path), path)

    def _filled(self, shadow: dict[Any, Any], value: Any, path: Path) -> dict[Any, Any]:
        for key, item in value.items():
            dict[Any, Any].__setitem__(
                shadow, key, self.shadow(item, self.under(path, Item(key), f"{path.text}[{key!r}]"))
            )
        return shadow

    def _bag(self, value: Any, path: Path) -> Any:
        """An object that is nothing but its attributes."""
        space = self.under(path, Attribute("__dict__"), path.text)
        self.captures.guard(self.under(path, TypeOf(), path.text), Identical(type(value)))
        shadow = type(value)()
        self.remember(value, shadow, path)
        self.captures.guard(space, Keys(dict, tuple(vars(value))))
        for name, item in cast("dict[str, Any]", vars(value)).items():
            setattr(shadow, name, self.shadow(item, self.under(space, Item(name), f"{path.text}.{name}")))
        self.writes.watch_mapping(vars(shadow), space)
        return shadow

    # ---- modules, classes, objects ----
    def _module(self, value: ModuleType, path: Path) -> Any:
        self.captures.guard(path, Identical(value))
        if is_user_module(value):
            return user_view(self, value, path)
        viewed = value.__name__ in VIEWED and not isinstance(value, ModuleView)
        return library_view(value) if viewed else value

    def class_of(self, value: object, path: Path) -> Any:
        """The shadow of the class of a captured object."""
        return self.shadow(type(value), self.under(path, TypeOf(), type(value).__name__))

    def class_(self, cls: type[Any], path: Path) -> Any:
        """The shadow of a class: its methods see what the function sees."""
        self.captures.guard(path, Identical(cls))
        if not is_user_class(cls) or issubclass(cls, Enum | BaseException):
            return cls
        if not can_be_shadowed(cls):
            what = f"the class `{path.text}` has a metaclass or its own __getattribute__"
            return Refusal(lambda: UnsupportedError(what, cure="use a plain class inside the function"))
        made = shadow_class(self, cls, path)
        self._originals[made] = cls
        return made

    def _object(self, value: Any, path: Path) -> Any:
        cls = cast("type[Any]", type(value))
        if (cls.__module__, cls.__name__) in _BAGS:
            return self._bag(value, path)
        if not is_user_class(cls):
            if is_harmless(cls):
                return self.itself(value, path)
            if (found := shadow_of_library(self, value, path)) is not None:
                return found
            name = f"{cls.__module__}.{cls.__qualname__}"
            what = f"`{path.text}` is a {name}, whose contents a trace cannot see"
            cure = FORMULA if cls.__module__.startswith("scipy.") else "pass the arrays that it holds"
            return self.refused(value, path, lambda: UnsupportedError(what, cure=cure))
        made = self.class_of(value, path)
        shadow = bare_instance(made) if isinstance(made, type) else None
        if shadow is None or made is cls:
            what = f"`{path.text}` is a {cls.__qualname__}, which is not a plain Python object"
            return self.refused(
                value, path, lambda: UnsupportedError(what, cure="pass the arrays that it holds")
            )
        self.objects.add(value, shadow, path)
        self.remember(value, shadow, path)
        if isinstance(value, dict):
            self.captures.guard(path, Keys(cls, tuple(cast("dict[Any, Any]", value))))
            self.writes.watch_mapping(self._filled(shadow, value, path), path)
        if isinstance(value, list):
            self.captures.guard(path, Length(cls, len(cast("list[Any]", value))))
            list[Any].extend(shadow, self._items(value, path))
            self.writes.watch_items(shadow, path)
        return shadow
