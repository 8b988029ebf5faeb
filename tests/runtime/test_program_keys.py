"""Programs that differ have different names in the cache, however little they differ; equal ones have one."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad.runtime.compiled import Compiled
from symgrad.runtime.keeping import program_key

F8, F4 = np.linspace(0.1, 0.9, 6), np.linspace(0.1, 0.9, 6).astype("f4")
TABLE = np.arange(6)


def key(made: Compiled, *args: Any) -> str:
    """The name of what is compiled for these arguments."""
    program = made.program(*args)
    return program_key(program.traced.function, program.answer.transform, program.asked)


def made_with(number: Any) -> Compiled:
    """A program with a constant."""
    return symgrad.compile_grad(lambda x: np.sum(x * number))


DIFFERENT: list[tuple[Callable[[], Compiled], tuple[Any, ...]]] = [
    (lambda: made_with(0.1), (F8,)),
    (lambda: made_with(np.nextafter(0.1, 1)), (F8,)),
    (lambda: made_with(0.0), (F8,)),
    (lambda: made_with(-0.0), (F8,)),
    (lambda: made_with(np.inf), (F8,)),
    (lambda: made_with(-np.inf), (F8,)),
    (lambda: made_with(np.nan), (F8,)),
    (lambda: made_with(3), (F8,)),
    (lambda: made_with(0.1), (F4,)),
    (lambda: made_with(0.1), (F8[:5],)),
    (lambda: made_with(0.1), (F8.reshape(2, 3),)),
    (lambda: made_with(0.1), (F8.reshape(3, 2),)),
    (lambda: symgrad.compile(lambda x: np.sum(x * 0.1)), (F8,)),
    (lambda: symgrad.compile_grad(lambda x: np.sum(x * 0.1), parallel=2), (F8,)),
    (lambda: symgrad.compile_grad(lambda x: np.sum(x * 0.1), memory_budget=9000), (F8,)),
    (lambda: symgrad.compile_grad(lambda x, y: np.sum(x * y)), (F8, F8)),
    (lambda: symgrad.compile_grad(lambda x, y: np.sum(x * y), 1), (F8, F8)),
    (lambda: symgrad.compile_grad(lambda x, y: np.sum(x * y), (0, 1)), (F8, F8)),
    (lambda: symgrad.compile_grad(lambda x, y: np.sum(x * y), (1, 0)), (F8, F8)),
    (lambda: symgrad.compile_grad(lambda x, y: np.sum(x * y)), (F8, F4)),
    (lambda: symgrad.compile_grad(lambda x: np.sum(x[[0, 1]])), (F8,)),
    (lambda: symgrad.compile_grad(lambda x: np.sum(x[[1, 0]])), (F8,)),
    (lambda: symgrad.compile_grad(lambda x: np.sum(x[1:])), (F8,)),
    (lambda: symgrad.compile_grad(lambda x: np.sum(x[:-1])), (F8,)),
    (lambda: symgrad.compile_grad(lambda x: np.sum(x, dtype=np.float32)), (F8,)),
    (lambda: symgrad.compile_grad(lambda x: np.max(x)), (F8,)),
    (lambda: symgrad.compile_grad(lambda x: np.min(x)), (F8,)),
    (lambda: symgrad.compile_grad(lambda x, y: np.sum(x - y)), (F8, F8)),
    (lambda: symgrad.compile_grad(lambda x, y: np.sum(y - x)), (F8, F8)),
]


def test_programs_that_differ_have_different_keys() -> None:
    keys = [key(make(), *args) for make, args in DIFFERENT]
    equal = [(i, j) for i, a in enumerate(keys) for j, b in enumerate(keys[:i]) if a == b]
    assert equal == []
    assert keys == [key(make(), *args) for make, args in DIFFERENT]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names processors of this kind")
def test_so_have_programs_for_different_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    make, args = DIFFERENT[0]
    keys = [key(make(), *args)]
    for name, features in (("x86-64", ""), ("x86-64-v3", ""), ("x86-64", "+avx2"), ("x86-64", "+avx2,+fma")):
        monkeypatch.setenv("SYMGRAD_CPU", name)
        monkeypatch.setenv("SYMGRAD_CPU_FEATURES", features)
        keys.append(key(make(), *args))
    assert len(set(keys)) == len(keys)


def test_errors_name_their_own_lines() -> None:
    """Two functions that are alike but for the place in the source where they may fail share no program."""

    def first(x: Any, i: Any) -> Any:
        return np.sum(x[i])

    def second(x: Any, i: Any) -> Any:
        return np.sum(x[i])

    for fn in (first, second):
        made = symgrad.compile(fn, target="numba_cpu")
        assert made(F8, TABLE) == pytest.approx(F8.sum())
        with pytest.raises(IndexError) as caught:
            made(F8, TABLE + 1)
        assert f":{fn.__code__.co_firstlineno + 1}" in str(caught.value)
