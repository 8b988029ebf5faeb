"""A trace of another process is used where all that it relied on is the same, and nowhere else."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from renewing import Process, module, record_of, run
from symgrad.ir.types import parse_type
from symgrad.trace.renewal import Stale, renewed
from symgrad.trace.session import trace_function
from symgrad.trace.traced_value import TracedValue
from symgrad.trace.trees import flatten

HEAD = """
import dataclasses, functools, math, operator, types
from typing import NamedTuple
import numpy as np
import helping
X = np.array([0.5, -1.0, 2.0])
args = (X,)
kwargs = {}
"""

HELPING = """
import numpy as np
SCALE = 2.0
def helper(x):
    return 3.0 * x
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    """A function that starts a process, given the texts of the user's module and of another that it uses."""
    before = {name: sys.modules.get(name) for name in ("losses", "helping")}

    def started(text: str, helping: str = HELPING) -> Process:
        module(tmp_path, "helping", helping)
        made = module(tmp_path, "losses", HEAD + text)
        return Process(made.loss, made.args, made.kwargs)

    yield started
    for name, old in before.items():
        del sys.modules[name]
        if old is not None:
            sys.modules[name] = old


def is_kept(start: Any, first: str, second: str, helping: str = HELPING) -> bool:
    """Whether a second process does without a trace; what it then computes must be right."""
    process = start(first)
    original, record = process.trace(), record_of(process)
    process = start(second, helping)
    try:
        found = renewed(record, lambda: original.function, process.loss, process.arguments)
    except Stale:
        return False
    plain, tree = flatten(process.loss(*deepcopy(process.args), **process.kwargs))
    got, found_tree = flatten(run(found, process))
    assert tree == found_tree
    for a, b in zip(got, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
    assert (found.notes, found.loops, found.written) == (original.notes, original.loops, original.written)
    assert (found.defined, found.returns, found.ops) == (original.defined, original.returns, original.ops)
    return True


# Texts that run the same in every process.
SAME = {
    "an array": "def loss(x): return np.sum(x**2)",
    "a global number": "N = 3.0\ndef loss(x): return N * np.sum(x)",
    "a global array": "A = np.arange(3.0)\ndef loss(x): return np.sum(A * x)",
    "a helper": "def f(x): return x**2\ndef loss(x): return np.sum(f(x))",
    "a module": "def loss(x): return helping.SCALE * np.sum(helping.helper(x))",
    "a closure": "def make(n):\n  def loss(x): return n * np.sum(x)\n  return loss\nloss = make(3)",
    "a default": "def loss(x, n=3.0): return n * np.sum(x)",
    "a lambda": "loss = lambda x: np.sum(np.exp(x))",
    "a partial": "def f(a, x): return a * np.sum(x)\nloss = functools.partial(f, 2.0)",
    "a method": (
        "class Model:\n  scale = 2.0\n  def __init__(self): self.w = X + 1\n"
        "  def loss(self, x): return self.scale * np.sum(self.w * x)\nloss = Model().loss"
    ),
    "a callable object": (
        "class Model:\n  def __init__(self): self.w = X + 1\n"
        "  def __call__(self, x): return np.sum(self.w * x)\nloss = Model()"
    ),
    "an object with slots": (
        "class Model:\n  __slots__ = ('w',)\n  def __init__(self): self.w = X + 1\nM = Model()\n"
        "def loss(x): return np.sum(M.w * x)"
    ),
    "a dict": "P = {'a': 2.0, 'b': [1, 2]}\ndef loss(x): return P['a'] * np.sum(x) + P['b'][0]",
    "a dict of arrays": (
        "P = {'a': X, 'b': (X, X)}\ndef loss(x): return np.sum(P['a'] * x) + np.sum(P['b'][1])"
    ),
    "a dict argument": "args = ({'w': X, 'b': 1.0},)\ndef loss(p): return np.sum(p['w']) * p['b']",
    "a named tuple argument": (
        "class P(NamedTuple):\n  w: object\n  b: float\nargs = (P(X, 2.0),)\n"
        "def loss(p): return np.sum(p.w) * p.b"
    ),
    "a dataclass argument": (
        "@dataclasses.dataclass\nclass P:\n  w: object\n  n: int = 3\n"
        "  def scaled(self): return self.n * self.w\nargs = (P(X),)\ndef loss(p): return np.sum(p.scaled())"
    ),
    "a dataclass result": (
        "@dataclasses.dataclass\nclass R:\n  a: object\n  b: object\n"
        "def loss(x): return R(np.sum(x), [x, {'k': x}])"
    ),
    "a number that is fixed": (
        "args = (X, 3)\ndef loss(x, n):\n  for _ in range(n): x = x * x\n  return np.sum(x)"
    ),
    "an array that is fixed": "M = X > 0\ndef loss(x): return np.sum(x[M])",
    "a literal": "def loss(x): return np.sum(x[0] * np.sin(np.arange(5000.0)))",
    "functions of libraries": (
        "def loss(x): return operator.mul(math.pi, functools.reduce(np.add, [np.sum(x), np.linalg.norm(x)]))"
    ),
    "names that are imported": "from numpy import exp, sum as total\ndef loss(x): return total(exp(x))",
    "a decorator": (
        "def double(f):\n  @functools.wraps(f)\n  def g(*a): return 2 * f(*a)\n  return g\n"
        "@double\ndef loss(x): return np.sum(x)"
    ),
    "a cached helper": "@functools.lru_cache\ndef n(): return 3.0\ndef loss(x): return n() * np.sum(x)",
    "a property": (
        "class M:\n  def __init__(self): self.a = 2.0\n  @property\n  def b(self): return self.a + 1\n"
        "m = M()\ndef loss(x): return m.b * np.sum(x)"
    ),
    "keyword arguments": "args, kwargs = (), {'x': X, 'k': 2.0}\ndef loss(*, x, k=1.0): return k * np.sum(x)",
    "a nested function": "def loss(x):\n  def f(y): return y * 2\n  return np.sum(f(x))",
    "an import inside": "def loss(x):\n  import helping\n  return np.sum(helping.helper(x))",
    "no source": "space = {'np': np}\nexec('def loss(x): return np.sum(x) * 2', space)\nloss = space['loss']",
    "membership": "MODE = 'a'\ndef loss(x): return np.sum(x) * (2.0 if MODE in {'a', 'b'} else 3.0)",
    "an array that is written": "def loss(x):\n  x[0] = 2.0\n  return np.sum(x)",
    "a set of numbers": "S = {1, 2}\ndef loss(x): return np.sum(x) * sum(S)",
    "a view that is written": (
        "def loss(x):\n  y = x.reshape(-1)\n  y[0] = 2.0\n  return np.sum(x * np.arange(3.0))"
    ),
    "a loop": "def loss(x):\n  s = 0.0\n  for i in range(3): s = s + x[i] ** 2\n  return s",
    "a simple namespace": "C = types.SimpleNamespace(a=2.0, w=X)\ndef loss(x): return C.a * np.sum(C.w * x)",
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_a_trace_holds_where_nothing_has_changed(start: Any, text: str) -> None:
    assert is_kept(start, text, text)


# What is edited between two processes: where, what, and what it becomes.
EDITS: dict[str, tuple[str, str, str]] = {
    "the function": ("an array", "x**2", "x**3"),
    "a constant in it": ("a nested function", "y * 2", "y * 3"),
    "a global number": ("a global number", "N = 3.0", "N = 4.0"),
    "the type of a global number": ("a global number", "N = 3.0", "N = 3"),
    "the sign of a zero": ("a global number", "N = 3.0", "N = -0.0"),
    "a global that becomes an array": ("a global number", "N = 3.0", "N = np.float64(3.0)"),
    "the shape of a global array": ("a global array", "np.arange(3.0)", "np.arange(3.0).reshape(1, 3)"),
    "the type of a global array": ("a global array", "np.arange(3.0)", "np.arange(3, dtype=np.float32)"),
    "a helper": ("a helper", "return x**2", "return x**4"),
    "a helper that becomes another": ("a helper", "def loss", "f = np.abs\ndef loss"),
    "a closure": ("a closure", "make(3)", "make(4)"),
    "a default": ("a default", "n=3.0", "n=4.0"),
    "a default that is added": ("an array", "loss(x)", "loss(x, n=2)"),
    "a partial": ("a partial", "(f, 2.0)", "(f, 3.0)"),
    "the attribute of a class": ("a method", "scale = 2.0", "scale = 3.0"),
    "an attribute that hides it": ("a method", "self.w = X + 1", "self.w = X + 1; self.scale = 5.0"),
    "a method": ("a method", "return self.scale * ", "return 2 * self.scale * "),
    "a base class": ("a method", "class Model:", "class Base:\n  pass\nclass Model(Base):"),
    "a call of an object": ("a callable object", "np.sum(self.w * x)", "np.sum(self.w + x)"),
    "an item of a dict": ("a dict", "'a': 2.0", "'a': 3.0"),
    "an item inside a list": ("a dict", "[1, 2]", "[5, 2]"),
    "the keys of a dict": ("a dict of arrays", "'a': X,", "'a': X, 'c': X,"),
    "an array that becomes two": ("a dict of arrays", "(X, X)", "(X, X + 1)"),
    "the order of a dict argument": ("a dict argument", "{'w': X, 'b': 1.0}", "{'b': 1.0, 'w': X}"),
    "a default of a dataclass": ("a dataclass argument", "n: int = 3", "n: int = 4"),
    "a method of a dataclass": ("a dataclass argument", "self.n * self.w", "self.n + self.w"),
    "the class of a result": ("a dataclass result", "b: object\n", "b: object\n  c: object = 1.0\n"),
    "a number that is fixed": ("a number that is fixed", "args = (X, 3)", "args = (X, 4)"),
    "an array that is fixed": ("an array that is fixed", "X > 0", "X < 0"),
    "a decorator": ("a decorator", "2 * f(*a)", "3 * f(*a)"),
    "a decorator that goes": ("a decorator", "@double\n", "\n"),
    "a helper that is cached": ("a cached helper", "return 3.0", "return 4.0"),
    "a cache that becomes a decorator": (
        "a cached helper",
        "@functools.lru_cache\n",
        "def twice(f): return functools.wraps(f)(lambda: 2 * f())\n@twice\n",
    ),
    "a property": ("a property", "self.a + 1", "self.a + 2"),
    "a value behind a property": ("a property", "self.a = 2.0", "self.a = 3.0"),
    "a name that hides one of numpy": ("names that are imported", "def loss", "exp = np.sin\ndef loss"),
    "a name that hides a builtin": (
        "a loop", "def loss(x)", "def range(n): return [0]\ndef loss(x)"
    ),
    "a keyword argument": ("keyword arguments", ", 'k': 2.0", ""),
    "code without source": ("no source", "np.sum(x) * 2", "np.sum(x) * 3"),
    "a text": ("membership", "MODE = 'a'", "MODE = 'c'"),
    "a field of a named tuple": ("a named tuple argument", "  b: float\n", "  b: float\n  c: int = 1\n"),
    "a set of numbers": ("a set of numbers", "{1, 2}", "{1, 3}"),
    "the layout of an argument": ("a view that is written", "def loss", "args = (X[::-1],)\ndef loss"),
    "an attribute of a namespace": ("a simple namespace", "a=2.0", "a=3.0"),
    "an argument that becomes single": ("an array", "def loss", "args = (X.astype(np.float32),)\ndef loss"),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_a_trace_is_made_anew_after_an_edit(start: Any, edit: tuple[str, str, str]) -> None:
    name, old, new = edit
    assert old in SAME[name]
    assert not is_kept(start, SAME[name], SAME[name].replace(old, new, 1))


HELPING_EDITS = [
    ("SCALE = 2.0", "SCALE = 2.5"),
    ("return 3.0 * x", "return 4.0 * x"),
    ("def helper", "def unused(): pass\ndef helper"),  # its lines are told in errors
    ("SCALE = 2.0", "SCALE = np.array(2.0)"),
]


@pytest.mark.parametrize(("old", "new"), HELPING_EDITS)
@pytest.mark.parametrize("name", ["a module", "an import inside"])
def test_a_trace_is_made_anew_after_an_edit_of_another_module(
    start: Any, name: str, old: str, new: str
) -> None:
    same = "SCALE" in old and name == "an import inside"  # which does not look at it
    assert is_kept(start, SAME[name], SAME[name], HELPING.replace(old, new)) == same


def test_a_changed_array_is_read_anew(start: Any) -> None:
    text = SAME["a global array"]
    assert is_kept(start, text, text.replace("np.arange(3.0)", "np.ones(3)"))


def test_lambdas_on_one_line_are_told_apart(start: Any) -> None:
    text = "pair = [lambda x: np.sum(x), lambda x: np.sum(x) * 2]\nloss = pair[0]"
    assert is_kept(start, text, text)
    assert not is_kept(start, text, text.replace("pair[0]", "pair[1]"))


def test_the_same_code_over_other_globals_is_told_apart(start: Any) -> None:
    text = (
        "code = compile('def loss(x): return np.sum(x) * n', 'a', 'exec')\nspace = {'np': np, 'n': 2.0}\n"
        "exec(code, space)\nloss = space['loss']"
    )
    assert is_kept(start, text, text)
    assert not is_kept(start, text, text.replace("'n': 2.0", "'n': 3.0"))


@pytest.mark.parametrize(
    ("target", "name", "value"),
    [("numpy", "exp", np.sin), ("math", "pi", 3.0), ("builtins", "abs", math.sqrt)],
)
def test_a_patched_library_is_seen(start: Any, target: str, name: str, value: Any) -> None:
    text = "def loss(x): return np.sum(np.exp(x)) * math.pi * abs(-2.0)"
    process = start(text)
    record = record_of(process)
    assert is_kept(start, text, text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[target], name, value)
        with pytest.raises(Stale, match=name):
            renewed(record, process.trace, process.loss, process.arguments)  # type: ignore[arg-type]


def test_a_name_that_a_module_gets_is_seen(start: Any) -> None:
    text = "def loss(x): return np.sum(x) * getattr(helping, 'FACTOR', 1.0)"
    assert is_kept(start, text, text)
    assert not is_kept(start, text, text, HELPING + "FACTOR = 2.0\n")


def test_two_names_of_one_object_are_told_from_two_objects(start: Any) -> None:
    text = "A = [1.0, X]\nB = A\ndef loss(x): return A[0] * np.sum(x) + np.sum(B[1] * A[1])"
    assert is_kept(start, text, text)
    assert not is_kept(start, text, text.replace("B = A", "B = [1.0, X + 1]"))


UNRECORDED = {
    "a method of a named tuple": (
        "class P(NamedTuple):\n  w: object\n  def f(self): return self.w\nargs = (P(X),)\n"
        "def loss(p): return np.sum(p.f())",
        "named tuple",
    ),
    "a set": ("S = {'a': 1.0}\ndef loss(x): return np.sum(x) * len(set(S))", "makes a set"),
    "the order of texts": (
        "def loss(x):\n  for n in {'a', 'b'}: x = x * len(n)\n  return np.sum(x)",
        "makes a set",
    ),
    "keys as a set": (
        "P, Q = {'a': 1.0}, {'a': 2.0}\n"
        "def loss(x): return sum(P[k] for k in P.keys() & Q.keys()) * np.sum(x)",
        "makes a set",
    ),
    "a captured set of texts": (
        "S, T = {'a'}, {'b'}\ndef loss(x): return np.sum(x) * {'a': 2.0, 'b': 3.0}[next(iter(S | T))]",
        "set",
    ),
    "a hash": ("def loss(x): return np.sum(x) * (hash('a') % 2)", "hash"),
    "output": ("def loss(x):\n  print('traced')\n  return np.sum(x)", "print"),
    "the interpreter's state": ("import sys\ndef loss(x): return np.sum(x) * len(sys.argv)", "sys"),
    "a library of unknown version": (
        "import json.decoder\ndef loss(x): return np.sum(x) * len(json.__name__)",
        "json",
    ),
    "an enumeration": (
        "import enum\nclass E(enum.Enum):\n  A = 2.0\ndef loss(x): return np.sum(x) * E.A.value",
        "E",
    ),
    "a count": (
        "class C: pass\nc = C()\nc.n = 0\ndef loss(x):\n  c.n += 1\n  return np.sum(x)",
        "counts",
    ),
    "a function of the user's in a library": (
        "np.patched = lambda x: 2 * x\ndef loss(x): return np.sum(np.patched(x))",
        "losses",
    ),
}


@pytest.mark.parametrize(("text", "reason"), UNRECORDED.values(), ids=UNRECORDED)
def test_what_differs_between_processes_is_not_recorded(start: Any, text: str, reason: str) -> None:
    try:
        record = start(text).trace().record
    finally:
        if hasattr(np, "patched"):
            delattr(np, "patched")
    assert isinstance(record, str)
    assert reason in record


class Standing(TracedValue):
    """A value of another trace."""

    type = parse_type("f64[3]")
    weak = None
    array = True


def test_what_is_traced_inside_another_trace_is_not_recorded() -> None:
    record = trace_function(lambda x: np.sum(x), (Standing(),)).record
    assert record == "it was traced inside another trace"
