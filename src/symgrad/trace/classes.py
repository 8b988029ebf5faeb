"""Shadows of the user's classes and objects.

A shadow class has the name, bases and attributes of the user's, each found when it is first used, so that
methods see tracers where the user's see data. A shadow object gets its attributes in the same way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import TYPE_CHECKING, Any, cast

from symgrad.errors import ImpureError
from symgrad.trace.capture import Attribute, Item, Path
from symgrad.trace.origin import is_user_class
from symgrad.trace.places import caller
from symgrad.trace.raised import raised
from symgrad.trace.tallies import may_be_counted
from symgrad.trace.trees import is_named_tuple
from symgrad.trace.writes import Change

if TYPE_CHECKING:
    from symgrad.trace.environment import Environment

# Made anew by Python for every class, or run when a subclass is made.
_LEFT_OUT = {
    "__dict__",
    "__weakref__",
    "__init_subclass__",
    "__abstractmethods__",
    "_abc_impl",
    "__getattribute__",
}
_MISSING = object()


def shadow_class(environment: Environment, cls: type[Any], path: Path) -> type[Any]:
    """A class like the user's whose methods see what the traced function sees, or the user's own."""
    if not can_be_shadowed(cls) or _plain_tuple(cls):
        return cls
    bases_path = environment.under(path, Attribute("__bases__"), path.text)
    bases = tuple(
        environment.resolve(base, environment.under(bases_path, Item(i), base.__name__))
        if is_user_class(base)
        else base
        for i, base in enumerate(cls.__bases__)
    )
    space = environment.under(path, Attribute("__dict__"), path.text)
    namespace: dict[str, Any] = {}
    for name, attr in vars(cls).items():
        if name in _LEFT_OUT or isinstance(attr, MemberDescriptorType | GetSetDescriptorType):
            continue
        namespace[name] = _class_attribute(environment, cls, name, attr, space)
    itself: list[type[Any]] = []
    _add_hooks(environment.objects, namespace, itself)
    meta: Any = type(cls)
    made: type[Any] = meta(cls.__name__, bases, namespace)
    made.__qualname__ = cls.__qualname__
    itself.append(made)
    environment.writes.watch(path.text, functools.partial(_class_changes, dict(vars(made)), made, space))
    return made


def _class_changes(first: dict[str, Any], cls: type[Any], space: Path) -> Iterator[Change]:
    """How the attributes of a shadow class changed."""
    now = dict(vars(cls))
    if first.keys() != now.keys():
        yield Change(None)
        return
    for name, attr in first.items():
        if now[name] is not attr:
            found = attr.find() if isinstance(attr, _Lazy) else attr
            yield Change(Path(Item(name), space, f"{cls.__name__}.{name}"), found, now[name])


def can_be_shadowed(cls: type[Any]) -> bool:
    """Whether a class like the user's can be made: metaclasses may do anything when one is."""
    return type(cls).__module__ in ("builtins", "abc", "typing") and "__getattribute__" not in vars(cls)


def _plain_tuple(cls: type[Any]) -> bool:
    """Whether a class is a named tuple without methods of the user's own."""
    generated = (name for name in vars(cls) if name.startswith("_") or name in cls._fields)
    return is_named_tuple(cls) and cls.__bases__ == (tuple,) and len(list(generated)) == len(vars(cls))


def _class_attribute(environment: Environment, cls: type[Any], name: str, attr: Any, space: Path) -> Any:
    """An attribute of a class, to be found when it is used."""
    path = functools.partial(environment.under, space, Item(name), f"{cls.__name__}.{name}")
    if isinstance(attr, property):
        return _shadow_property(environment, attr, path)
    if isinstance(attr, functools.cached_property):
        function = functools.partial(_function_of, environment, attr.func, path, "func")
        return _Computed(_once(function))
    dunder = name.startswith("__") and name.endswith("__")
    if dunder and type(attr) not in (FunctionType, staticmethod, classmethod):
        return attr  # what Python and dataclasses note about a class
    if type(attr).__name__ == "_tuplegetter":
        return attr
    lazy = _LazyData if hasattr(type(attr), "__set__") else _Lazy
    return lazy(_once(lambda: _shadow_attribute(environment, name, vars(cls)[name], path())))


def _shadow_attribute(environment: Environment, name: str, attr: Any, path: Path) -> Any:
    cls = cast("type[Any]", type(attr))
    if cls not in (staticmethod, classmethod):
        return environment.resolve(attr, path)
    function = environment.resolve(attr.__func__, environment.under(path, Attribute("__func__"), name))
    return cast(Any, cls)(function)


def _shadow_property(environment: Environment, attr: property, path: Callable[[], Path]) -> property:
    def accessor(name: str) -> Any:
        original = getattr(attr, name)
        if original is None:
            return None
        function = _once(functools.partial(_function_of, environment, original, path, name))
        return lambda *args: function()(*args)  # pyright: ignore[reportUnknownVariableType]

    return property(accessor("fget"), accessor("fset"), accessor("fdel"), attr.__doc__)


def _function_of(environment: Environment, fn: Any, path: Callable[[], Path], name: str) -> Any:
    """The shadow of a function that a descriptor holds as its attribute."""
    at = path()
    return environment.resolve(fn, environment.under(at, Attribute(name), at.text))


def _once(make: Callable[[], Any]) -> Callable[[], Any]:
    return functools.cache(make)


class _Lazy:
    """A class attribute that is found when it is first used."""

    def __init__(self, find: Callable[[], Any]) -> None:
        self.find = find

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
        value = self.find()
        get = getattr(type(value), "__get__", None)
        return value if get is None else get(value, instance, owner)


class _LazyData(_Lazy):
    """A descriptor of the user's that also takes assignments."""

    def __set__(self, instance: Any, value: Any) -> None:
        self.find().__set__(instance, value)

    def __delete__(self, instance: Any) -> None:
        self.find().__delete__(instance)


class _Computed:
    """A cached property: computed in each trace, for the object must not be changed."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
        return self if instance is None else self.function()(instance)


def _add_hooks(objects: ObjectShadows, namespace: dict[str, Any], itself: list[type[Any]]) -> None:
    """Let objects that stand for the user's find their attributes, and refuse to have them changed.

    `itself` will hold the class that is made of the namespace.
    """
    own_set, own_delete = namespace.get("__setattr__"), namespace.get("__delattr__")

    def __getattribute__(self: Any, name: str) -> Any:  # noqa: N807
        return objects.attribute(self, name)

    def __setattr__(self: Any, name: str, value: object) -> None:  # noqa: N807
        objects.check_change(self, name, value)
        above = super(itself[0], self).__setattr__ if own_set is None else own_set.__get__(self)
        above(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        objects.check_change(self, name, _MISSING)
        above = super(itself[0], self).__delattr__ if own_delete is None else own_delete.__get__(self)
        above(name)

    namespace.update(__getattribute__=__getattribute__, __setattr__=__setattr__, __delattr__=__delattr__)


def bare_instance(cls: type[Any]) -> Any:
    """An object of a class without its constructor having run; None where Python does not allow that."""
    for base in (dict, list):
        if issubclass(cls, base):
            plain = all(
                getattr(cls, name) is getattr(base, name) for name in ("__getitem__", "__iter__", "__len__")
            )
            return cast(Any, base).__new__(cls) if plain else None
    try:
        return object.__new__(cls)
    except TypeError:
        return None


class ObjectShadows:
    """The shadow objects of a trace, and the user's objects behind them."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._backing: dict[int, tuple[Any, Any, Path]] = {}  # by id of the shadow: shadow, object, path
        self._found: dict[
            int, dict[str, tuple[Path, Any] | None]
        ] = {}  # what was looked for; where, and what it was

    def add(self, real: Any, shadow: Any, path: Path) -> None:
        """Let a shadow stand for an object."""
        self._backing[id(shadow)] = (shadow, real, path)
        self._found[id(shadow)] = {}
        self._environment.writes.watch(path.text, lambda: self._changes(shadow))

    def attribute(self, shadow: Any, name: str) -> Any:
        """What `shadow.name` is."""
        backing = self._backing.get(id(shadow))
        if backing is None or name == "__class__":
            return object.__getattribute__(shadow, name)
        _, real, path = backing
        if name == "__dict__":
            for each in list(getattr(real, "__dict__", ())):
                self._bring(shadow, real, path, each)
        else:
            self._bring(shadow, real, path, name)
        return object.__getattribute__(shadow, name)

    def _bring(self, shadow: Any, real: Any, path: Path, name: str) -> None:
        """Give the shadow an attribute of the object, if the object itself has it."""
        found = self._found[id(shadow)]
        if name in found:
            return
        found[name] = None
        environment = self._environment
        text = f"{path.text}.{name}"
        space: dict[str, Any] | None = getattr(real, "__dict__", None)
        if space is not None and name in space:
            self._give(shadow, name, space[name], environment.under(self._space(path), Item(name), text))
            return
        slot = next((vars(k)[name] for k in type(real).__mro__ if name in vars(k)), None)
        if isinstance(slot, MemberDescriptorType):
            value = getattr(real, name, _MISSING)
            if value is not _MISSING:
                self._give(shadow, name, value, environment.under(path, Attribute(name), text))
        elif space is not None and not (isinstance(slot, property) or name.startswith("__")):
            # Found on the class, or nowhere: either way an attribute of the object would take its place.
            environment.captures.absent.setdefault(self._space(path), set()).add(name)

    def _give(self, shadow: Any, name: str, value: Any, path: Path) -> None:
        """Give the shadow an attribute."""
        made = self._environment.resolve(value, path)
        self._found[id(shadow)][name] = (path, made)
        object.__setattr__(shadow, name, made)

    @functools.cache  # noqa: B019 - dropped with the trace
    def _space(self, path: Path) -> Path:
        return self._environment.under(path, Attribute("__dict__"), path.text)

    def check_change(self, shadow: Any, name: str, value: object) -> None:
        """Raise if the shadow stands for an object of the user's, whose attribute does more than count."""
        backing = self._backing.get(id(shadow))
        if backing is None:
            return
        self._bring(shadow, *backing[1:], name)
        found = self._found[id(shadow)][name]
        if found is None or not may_be_counted(found[1], value):
            error = ImpureError(
                f"the function assigns `{backing[2].text}.{name}`, of an object that lives outside it",
                loc=caller(),
                why="a trace runs once: the assignment would happen once, not at each call",
                cure="return the value instead, and assign it where the function is called",
            )
            raise raised(error)

    def _changes(self, shadow: Any) -> Iterator[Change]:
        """How the attributes of a shadow changed, by whatever way."""
        given = {name: found for name, found in self._found[id(shadow)].items() if found is not None}
        if not given.keys() >= set(_own(shadow)):
            yield Change(None)
        for name, (path, first) in given.items():
            now = _own(shadow).get(name, _MISSING) if isinstance(path.step, Item) else _slot(shadow, name)
            if now is not first:
                yield Change(path, first, now)


def _own(shadow: Any) -> dict[str, Any]:
    """An object's own namespace; empty if it has none."""
    found: dict[str, Any] = _slot(shadow, "__dict__")
    return {} if found is _MISSING else found


def _slot(shadow: Any, name: str) -> Any:
    try:
        return object.__getattribute__(shadow, name)
    except AttributeError:
        return _MISSING
