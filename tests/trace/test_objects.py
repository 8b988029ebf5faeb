"""Objects and classes: methods see the object as it is, through shadows of classes of every make."""

from __future__ import annotations

# The samples are written as users write them, not as a type checker likes them.
# pyright: reportUnnecessaryComparison=false, reportUnnecessaryIsInstance=false
# pyright: reportAttributeAccessIssue=false, reportConstantRedefinition=false
import abc
import enum
import functools
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

from symgrad.errors import UnsupportedError
from symgrad.trace.session import trace_function
from tracing import Program, agree, captured

X = np.array([1.0, 2.0, 4.0])
DATA = np.array([1.0, 10.0, 100.0])
SCALE = 2.0


# ---- objects -----------------------------------------------------------------------------------------------
class Base:
    offset = 1.0
    table = DATA

    def __init__(self, scale: Any) -> None:
        self.scale = scale
        self.rng = np.random.default_rng(0)

    def shift(self, x: Any) -> Any:
        return x + self.offset + np.sum(self.table)

    @property
    def twice(self) -> Any:
        return self.scale * 2.0 * SCALE

    @functools.cached_property
    def thrice(self) -> Any:
        return self.scale * 3.0

    @staticmethod
    def square(x: Any) -> Any:
        return x * x * DATA

    @classmethod
    def make(cls, scale: Any) -> Base:
        return cls(scale)

    def __call__(self, x: Any) -> Any:
        return self.shift(x) * self.twice

    def __matmul__(self, x: Any) -> Any:
        return x @ DATA

    def __getitem__(self, i: int) -> Any:
        return self.scale * i


class Model(Base):
    def shift(self, x: Any) -> Any:
        return super().shift(x) * 2.0 + super().shift(x)

    def loss(self, x: Any) -> Any:
        return np.sum(self.scale * self.square(self(x)) * self.thrice) + (self @ x) + self[2]

    def rebuilt(self, x: Any) -> Any:
        other = type(self).make(x)
        other.extra = x * 2.0
        return np.sum(other(x) * other.extra) if isinstance(other, Base) else 0.0


def test_methods_see_the_object_as_it_is_now() -> None:
    model = Model(2.0)
    program = Program(model.loss)
    assert program(X) == model.loss(X)
    model.scale = 3.0
    model.__dict__.pop("thrice", None)
    assert program(X) == model.loss(X)
    model.scale = np.array([1.0, 2.0, 3.0])[0:1]
    model.__dict__.pop("thrice", None)
    np.testing.assert_allclose(program(X), model.loss(X))
    traces = program.traces
    model.scale = model.scale * 2.0
    model.__dict__.pop("thrice", None)
    np.testing.assert_allclose(program(X), model.loss(X))
    assert program.traces == traces
    model.offset = 5.0  # hides the attribute of the class
    np.testing.assert_allclose(program(X), model.loss(X))
    assert program.traces == traces + 1
    model.unrelated = 1.0  # type: ignore[attr-defined]
    program(X)
    assert program.traces == traces + 1


def test_a_changed_method_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model(2.0)
    program = Program(lambda x: model.square(x))
    program(X)
    monkeypatch.setattr(Base, "square", staticmethod(lambda x: x))
    np.testing.assert_allclose(program(X), X)


def test_callable_objects_and_objects_made_in_the_trace() -> None:
    agree(Base(2.0), X)
    agree(Model(X).rebuilt, X)
    agree(lambda x: Base(x)(x), X)
    agree(lambda x: Model.make(x).twice + Base.square(x), X)
    assert "Base.table" in captured(Base(2.0), X)
    assert "Base.table" in captured(lambda x: x * Base.table, X)


@dataclass(frozen=True)
class Params:
    w: Any
    b: Any = 1.0
    name: str = "params"

    def apply(self, x: Any) -> Any:
        return self.w * x + self.b * DATA


@dataclass(slots=True)
class Slotted:
    w: Any

    def apply(self, x: Any) -> Any:
        return self.w * x * DATA


T = TypeVar("T")


class Shape(abc.ABC, Generic[T]):
    @abc.abstractmethod
    def area(self, x: Any) -> Any: ...

    def twice(self, x: Any) -> Any:
        return self.area(x) * 2.0


class Square(Shape[float]):
    __slots__ = ("side",)

    def __init__(self, side: Any) -> None:
        self.side = side

    def area(self, x: Any) -> Any:
        return self.side * self.side * x * DATA


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


def test_dataclasses_slots_abstract_and_generic_classes() -> None:
    params, slotted, square = Params(X), Slotted(X), Square(X)
    agree(lambda x: params.apply(x), X)
    agree(lambda x: replace(params, w=x).apply(x) if isinstance(params, Params) else x, X)
    agree(lambda x: slotted.apply(x), X)
    agree(lambda x: square.twice(x), X)
    agree(lambda x: Square(x).twice(x), X)
    agree(lambda x: {"p": Slotted(x * params.w)}, X)
    program = Program(lambda x: slotted.apply(x))
    program(X)
    slotted.w = X * 2.0
    np.testing.assert_allclose(program(X), slotted.apply(X))
    assert program.traces == 1


def test_enums_and_types_are_guarded() -> None:
    colour = Colour.RED

    def f(x: Any) -> Any:
        return x * 2.0 if colour is Colour.RED else x * 3.0

    def change() -> None:
        nonlocal colour
        colour = Colour.BLUE

    program = Program(f)
    assert program(1.0) == 2.0
    change()
    assert program(1.0) == 3.0


def test_attributes_by_computed_names() -> None:
    model = Model(1.0)
    model.w0, model.w1 = X, X * 2.0  # type: ignore[attr-defined]
    agree(lambda x: sum(getattr(model, f"w{i}") * x for i in range(2)), X)
    agree(lambda x: sum(v * x for k, v in vars(model).items() if k.startswith("w")), X)


# ---- classes of every make ---------------------------------------------------------------------------------
REGISTRY: dict[str, type] = {}


class Registered:
    def __init_subclass__(cls) -> None:
        REGISTRY[cls.__name__] = cls

    def step(self, x: Any) -> Any:
        return x * DATA


class Child(Registered):
    def step(self, x: Any) -> Any:
        return super().step(x) * 2.0


class Doubled:
    def __get__(self, instance: Any, owner: type) -> Any:
        return instance.hidden * 2.0

    def __set__(self, instance: Any, value: Any) -> None:
        instance.hidden = value * SCALE


class WithDescriptor:
    w = Doubled()

    def __init__(self, w: Any) -> None:
        self.w = w


class AttributeDict(dict[str, Any]):
    __getattr__ = dict.__getitem__  # type: ignore[assignment]


class Meta(type):
    pass


class WithMeta(metaclass=Meta):
    w = DATA

    def apply(self, x: Any) -> Any:
        return x * self.w


class Lazy:
    def __init__(self) -> None:
        self.store = {"w": X}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.store:
            raise AttributeError(name)
        return self.store[name]


class Partial:
    def scaled(self, k: Any, x: Any) -> Any:
        return x * k * DATA

    tripled = functools.partialmethod(scaled, 3.0)


def test_classes_of_every_make() -> None:
    child, described, attributes, lazy = Child(), WithDescriptor(X), AttributeDict(w=X), Lazy()
    agree(lambda x: child.step(x), X)
    agree(lambda x: Child().step(x), X)
    assert {"Child": Child} == REGISTRY
    agree(lambda x: described.w * x, X)
    agree(lambda x: WithDescriptor(x).w, X)
    agree(lambda x: attributes.w * attributes["w"] * x, X)
    agree(lambda x: AttributeDict(q=x).q * 2.0, X)
    agree(lambda x: lazy.w * x, X)
    agree(lambda x: Partial().tripled(x), X)
    program = Program(lambda x: attributes.w * x)
    program(X)
    attributes["w"] = X * 2.0
    np.testing.assert_allclose(program(X), X * X * 2.0)
    assert program.traces == 1
    model = WithMeta()
    for fn in (lambda x: model.apply(x), lambda x: WithMeta().apply(x)):
        with pytest.raises(UnsupportedError, match=r"plain Python object|has a metaclass"):
            trace_function(fn, (X,))


def test_the_type_of_a_traced_value() -> None:
    def f(x: Any, s: Any) -> Any:
        kind = type("Kind", (object,), {"factor": 2.0})
        known = type(x) is np.ndarray, type(s) is float, isinstance(kind, type), type(kind()) is kind
        return x * s * sum(known) * kind.factor

    agree(f, X, 2.0)
    agree(f, np.float64(1.0), 2)


def matches(x: Any) -> Any:
    match x:
        case float():
            return x * 2.0
        case _:
            return x


def matches_user_class(x: Any) -> Any:
    match Child():
        case Child():
            return x * 2.0
        case _:
            return x


def test_class_patterns_are_refused_where_they_cannot_work() -> None:
    agree(matches_user_class, X)
    agree(lambda x: x if matches is not None else x * 2.0, X)
    with pytest.raises(UnsupportedError, match="`matches` has a `match` on classes of numbers"):
        trace_function(matches, (1.0,))
