"""The generated module: its text, what it accepts and refuses, and what becomes of its loops."""

from __future__ import annotations

import ast
import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from golden_files import Golden
from running import Kernel, agree, alone, compiled, generated, plain
from sample_losses import network, rosenbrock
from symgrad.codegen.llvm_machine import Processor, optimized
from symgrad.codegen.llvm_program import llvm_text
from symgrad.codegen.llvm_vmath import INLINED
from symgrad.codegen.loops_text import format_module
from symgrad.codegen.steps import STACK_LIMIT
from symgrad.codegen.target import TARGETS
from symgrad.ir import dims
from symgrad.ir.builder import Builder
from symgrad.ir.core import Function, Value
from symgrad.ir.opdef import Example
from symgrad.ir.ops import OPS
from symgrad.ir.types import ArrayType, array_type
from symgrad.passes import optimize, schedule
from symgrad.passes.autodiff import gradient
from symgrad.runtime.devices import processor
from symgrad.trace.session import trace_function

X = array_type("f64", 10)
NETWORK = (
    array_type("f64", 64, 32), array_type("f64", 32), array_type("f64", 32, 10), array_type("f64", 10),
    array_type("f64", 300, 64), array_type("i64", 300),
)  # fmt: skip


def joint(fn: Callable[..., Any], types: tuple[ArrayType, ...], *wrt: int) -> tuple[Function, Function]:
    """Value and gradient of a loss as traced, and scheduled."""
    made = gradient(trace_function(fn, types, differentiated=wrt).function, wrt)
    return made, schedule(optimize(made))


def sizes(t: ArrayType) -> tuple[int, ...]:
    return tuple(map(dims.known, t.shape))


def numbers(types: tuple[ArrayType, ...], high: int = 10) -> list[Any]:
    rng = np.random.default_rng(0)
    return [
        rng.uniform(-1, 1, sizes(t)) if t.is_real else rng.integers(0, high, sizes(t)).astype(t.dtype)
        for t in types
    ]


@pytest.mark.parametrize(
    ("name", "fn", "types", "wrt"),
    [("rosenbrock", rosenbrock, (X,), (0,)), ("network", network, NETWORK, (0, 1, 2, 3))],
)
def test_the_whole_text(
    name: str, fn: Callable[..., Any], types: tuple[ArrayType, ...], wrt: tuple[int, ...], golden: Golden
) -> None:
    made, scheduled = joint(fn, types, *wrt)
    source = generated(scheduled)
    golden(f"source/{name}.py.txt", source.text)
    golden(f"source/{name}.loops", format_module(TARGETS["numba_cpu"].lower(scheduled)))
    args = [a[:, :] if a.ndim == 2 else a for a in numbers(types)]
    agree(made, plain(source), args, rtol=1e-12)


@pytest.mark.slow
def test_the_network_compiled() -> None:
    made, scheduled = joint(network, NETWORK, 0, 1, 2, 3)
    agree(made, compiled(generated(scheduled)), numbers(NETWORK), rtol=1e-12)


def test_the_text_is_the_same_every_time() -> None:
    first, second = (generated(joint(rosenbrock, (X,), 0)[1]).text for _ in range(2))
    assert first == second


def exp_of(t: ArrayType) -> Function:
    k = Kernel(t)
    return k.function(k(OPS["exp"], k.params[0]))


def test_names_of_the_user_never_hide_ours() -> None:
    t = array_type("f64", 3)
    k = Kernel(t, t, t, t, names=["np", "for", "exp", "i"])
    total = k(OPS["exp"], k.params[0])
    for param in k.params[1:]:
        total = k(OPS["add"], total, param)
    function = k.function(total, k(OPS["sum"], total, axes=(0,)))
    source = generated(function)
    ast.parse(source.text)
    agree(function, plain(source), numbers((t, t, t, t)))


def test_a_small_arena_is_on_the_stack_and_a_large_one_is_lent() -> None:
    for size, lent in ((8, False), (STACK_LIMIT, True)):
        k = Kernel(array_type("f64", size))
        value = k.params[0]
        for name in ("exp", "neg", "tanh"):
            value = k(OPS[name], value)
        source = generated(Function("chain", k.builder.block(k.params, (value,))))
        assert ("pool" in source.text) == lent
        assert source.arena_bytes >= 8 * size


@pytest.mark.slow
def test_what_the_entry_refuses() -> None:
    call = compiled(generated(exp_of(array_type("f64", 3, 4))))
    x = np.ones((3, 4))
    read_only = x.copy()
    read_only.flags.writeable = False
    np.testing.assert_allclose(call(read_only)[0], np.e)
    with pytest.raises(ValueError, match="the shape that this is compiled for"):
        call(np.ones((4, 3)))
    for other in (x.T.copy().T, np.ones((6, 4))[::2], x.astype(np.float32), np.ones(12), [1.0]):
        with pytest.raises(TypeError):
            call(other)


@pytest.mark.slow
def test_results_are_fresh_and_calls_in_threads_are_apart() -> None:
    t = array_type("f64", STACK_LIMIT)
    k = Kernel(t)
    value = k.params[0]
    for name in ("exp", "neg", "tanh", "neg"):
        value = k(OPS[name], value)
    call = compiled(generated(Function("chain", k.builder.block(k.params, (value,)))))
    wrong: list[int] = []

    def work(seed: int) -> None:
        x = np.random.default_rng(seed).uniform(-1, 1, sizes(t))
        for _ in range(20):
            if np.max(np.abs(call(x)[0] - np.tanh(np.exp(x)))) > 1e-15:
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.slow
def test_an_index_out_of_range_stops_compiled_code() -> None:
    example = Example((array_type("f64", 5), array_type("i64", 3)), (("axes", (0,)),))
    call = compiled(generated(alone(OPS["gather"], example)))
    x = np.arange(5.0)
    np.testing.assert_array_equal(call(x, np.array([4, -5, -1]))[0], [4.0, 0.0, 4.0])
    for bad in (5, -6, 2**62, -(2**63)):
        with pytest.raises(IndexError, match="axis 0 with size 5"):
            call(x, np.array([0, bad, 0]))


def mixed() -> tuple[Function, tuple[ArrayType, ...]]:
    """Maps, sums, and sums of columns in one kernel, with a function of our own in the middle."""
    t = array_type("f64", 1000, 64)
    k = Kernel(t, t, array_type("f64", 64))
    x, y, z = k.params
    row = k(OPS["broadcast"], z, type=t, axes=(0,))
    value = k(OPS["mul"], k(OPS["tanh"], k(OPS["add"], x, row)), y)
    function = k.function(value, k(OPS["sum"], value, axes=(0,)), k(OPS["sum"], value, axes=(0, 1)))
    return function, tuple(p.type for p in k.params)


@pytest.mark.slow
def test_loops_are_vectorised_by_numba() -> None:
    function, types = mixed()
    call = compiled(generated(function))
    agree(function, call, numbers(types), rtol=1e-12)
    kernel = call.__globals__["kernel_0"]
    (text,) = kernel.inspect_llvm().values()
    assert len(re.findall(r"fmul <\d+ x double>", text)) > 2
    assert len(re.findall(r"fadd reassoc nsz contract <\d+ x double>", text)) > 0
    assert "fmul double" not in text


PROCESSORS = (
    processor(),
    Processor("x86-64-v3", "+avx,+avx2,+fma"),
    Processor("skylake-avx512", "+avx,+avx2,+fma,+avx512f,+avx512vl"),
    Processor("emeraldrapids", "+avx,+avx2,+fma,+avx512f,+avx512vl"),
    Processor("znver4", "+avx,+avx2,+fma,+avx512f,+avx512vl"),
)


def llvm_text_of(function: Function, processor: Processor) -> str:
    """The optimised LLVM module of a program."""
    module = llvm_text(TARGETS["numba_cpu"].lower(function), processor.register_bits)
    return str(optimized(module, processor.machine()))


@pytest.mark.parametrize("processor", PROCESSORS, ids=lambda processor: processor.name)
def test_loops_are_vectorised(processor: Processor) -> None:
    """The function of our own too: its body is in the loop, on registers as wide as the processor has."""
    text = llvm_text_of(mixed()[0], processor)
    lanes = processor.register_bits // 64
    assert len(re.findall(rf"fmul <{lanes} x double>", text)) > 4
    assert len(re.findall(rf"fadd reassoc nsz contract <{lanes} x double>", text)) > 0
    assert "symgrad.variants" not in text
    assert not re.findall(r"call <\d+ x double> @symgrad", text)


def test_long_kernels_share_vector_functions() -> None:
    """The first calls have the body in the loop, the others are calls of one vector function."""
    k = Kernel(array_type("f64", 1000))
    value = k.params[0]
    for _ in range(INLINED + 4):
        value = k(OPS["exp"], value)
    text = llvm_text_of(k.function(value), processor())
    calls = re.findall(r"call <\d+ x double> @symgrad\.exp\.float64\.x\d+\.shared", text)
    assert len(calls) % 4 == 0
    assert 0 < len(calls) <= 4 * 4


def test_temporaries_without_elements() -> None:
    """They have places in an arena of no bytes."""
    builder = Builder()
    x, i = Value(array_type("f64", 3), "x"), Value(array_type("i64", 0), "i")
    doubled = builder.emit(OPS["add"], (i, i))
    picked = builder.emit(OPS["gather"], (x, doubled), {"axes": (0,)})
    function = Function(
        "nothing", builder.block((x, i), (builder.emit(OPS["sum"], (picked,), {"axes": (0,)}),))
    )
    source = generated(function)
    assert source.arena_bytes == 0
    agree(function, plain(source), (np.ones(3), np.zeros(0, np.int64)))


def test_one_way_out_for_all_shapes() -> None:
    """Each place where a function raises costs numba code for every array in it."""
    k = Kernel(*[array_type("f64", n) for n in range(2, 8)])
    source = generated(k.function(*[k(OPS["neg"], x) for x in k.params]))
    assert source.text.count("raise ") == 1
    for number, param in enumerate(k.params):
        args = [np.ones(n) for n in range(2, 8)]
        args[number] = np.ones(9)
        with pytest.raises(ValueError, match="the shape that this is compiled for"):
            plain(source)(*args)
        assert param.hint in source.text
