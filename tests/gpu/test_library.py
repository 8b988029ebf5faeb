"""The scalar library for a GPU gives the bits of the CPU's, if libdevice does what LLVM's intrinsics do."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable

import numpy as np
import pytest
from llvmlite import binding as llvm
from llvmlite import ir

from gpu.library_samples import FORMS, Array, Dtypes, operands
from gpu.twins import TWINS
from symgrad.codegen.cuda.device_library import DEVICE_FUNCTIONS, DeviceFunction
from symgrad.codegen.cuda.intrinsics import INTRINSICS
from symgrad.codegen.cuda.scalars import FUNCTIONS, TO_INT
from symgrad.codegen.llvm_values import load, memory_type, store, to_int, value_type, word
from symgrad.codegen.llvm_vmath import define
from symgrad.codegen.vmath import VMATH
from symgrad.codegen.vmath_arith import FLOAT32, FLOAT64
from symgrad.ir.types import DType
from vmath_reference import operands_for, special_operands

each_form = pytest.mark.parametrize(
    ("function", "dtypes"), FORMS, ids=lambda x: x.name if isinstance(x, DeviceFunction) else x[-1].name
)

# What the functions of libdevice that are called do, in terms of LLVM's intrinsics.
LIBDEVICE = {
    **{f"__nv_{name}": f"call {{t}} @llvm.{name}.{{s}}({{a}})" for name in (
        "fabs", "copysign", "rint", "floor", "ceil", "trunc",
    )},
    "__nv_fmax": "call {t} @llvm.maxnum.{s}({a})", "__nv_fmin": "call {t} @llvm.minnum.{s}({a})",
    "__nv_fmod": "frem {a2}", "mul_rn": "fmul {a2}", "sqrt_rn": "call {t} @llvm.sqrt.{s}({a})",
}  # fmt: skip


def libdevice(text: str) -> str:
    """A module of what a module declares of libdevice."""
    lines = list[str]()
    for declared, args in re.findall(r'declare \w+ @"?(__nv_\w+?)"?\(([^)]*)\)', text):
        kind = "double" if "double" in args else "float"
        short = re.sub("^__nv_[df](?=mul|sqrt)", "", declared)
        source = LIBDEVICE.get(short) or LIBDEVICE[short.removesuffix("f")]
        count = args.count(kind)
        names = [f"%x{k}" for k in range(count)]
        typed = ", ".join(f"{kind} {name}" for name in names)
        suffix = "f64" if kind == "double" else "f32"
        body = source.format(t=kind, s=suffix, a=typed, a2=f"{kind} {', '.join(names)}")
        lines.append(
            f'define linkonce_odr {kind} @"{declared}"({typed}) {{\n  %r = {body}\n  ret {kind} %r\n}}'
        )
        if "@llvm" in body:
            called = re.findall(r"@llvm[.\w]+", body)[0]
            lines.append(f"declare {kind} {called}({', '.join([kind] * count)})")
    return "\n".join(dict.fromkeys(lines))


def looped(module: ir.Module, symbol: str, dtypes: Dtypes, result: DType) -> None:
    """`loop(n, x, y, ..., out)` over arrays, in a module."""
    kind = ir.FunctionType(value_type(result), [value_type(d) for d in dtypes])
    called = module.globals.get(symbol) or ir.Function(module, kind, symbol)
    pointers = [memory_type(d).as_pointer() for d in (*dtypes, result)]
    loop = ir.Function(module, ir.FunctionType(ir.VoidType(), [ir.IntType(64), *pointers]), "loop")
    start, body, end = (loop.append_basic_block(name) for name in ("start", "body", "end"))
    builder = ir.IRBuilder(start)
    builder.cbranch(builder.icmp_signed(">", loop.args[0], word(0)), body, end)
    builder.position_at_end(body)
    index = builder.phi(ir.IntType(64))
    index.add_incoming(word(0), start)
    values = [load(builder, p, index, d) for p, d in zip(loop.args[1:-1], dtypes, strict=True)]
    store(builder, loop.args[-1], index, builder.call(called, values), result)
    following = builder.add(index, word(1))
    index.add_incoming(following, body)
    builder.cbranch(builder.icmp_signed("<", following, loop.args[0]), body, end)
    ir.IRBuilder(end).ret_void()


def machine() -> llvm.TargetMachine:
    """This processor; an engine takes it over, so each needs another."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=1
    )


def compiled(texts: list[str], dtypes: Dtypes, result: DType) -> Callable[[list[Array]], Array]:
    """The `loop` of some modules, compiled for this machine."""
    first, *others = (llvm.parse_assembly(text) for text in texts)
    for other in others:
        first.link_in(other)
    first.verify()
    engine = llvm.create_mcjit_compiler(first, machine())
    engine.finalize_object()
    pointers = [ctypes.c_void_p] * (len(dtypes) + 1)
    code = ctypes.CFUNCTYPE(None, ctypes.c_int64, *pointers)(engine.get_function_address("loop"))

    def run(arrays: list[Array]) -> Array:
        held = [*map(np.ascontiguousarray, arrays), np.empty(arrays[0].size, result)]
        out = held[-1]
        code(out.size, *(array.ctypes.data for array in held))
        return out

    run.engine = engine  # type: ignore[attr-defined]  # which owns the code
    return run


def on_device(function: DeviceFunction, dtypes: Dtypes) -> Callable[[list[Array]], Array]:
    """The device's code, compiled for this machine."""
    module = function.module(dtypes)
    result = function.result(*dtypes)
    assert result is not None
    around = ir.Module("around")
    looped(around, function.symbol(dtypes), dtypes, result)
    text = str(module)
    return compiled([str(around), text, libdevice(text)], dtypes, result)


def on_processor(function: DeviceFunction, dtypes: Dtypes) -> Callable[[list[Array]], Array]:
    """The CPU's code."""
    result = function.result(*dtypes)
    assert result is not None
    module = ir.Module("processor")
    if function.name in VMATH:
        symbol = define(module, VMATH[function.name], FLOAT64 if dtypes[0].itemsize == 8 else FLOAT32).name
    else:
        kind = ir.FunctionType(value_type(result), [value_type(d) for d in dtypes])
        made = ir.Function(module, kind, "scalar")
        builder = ir.IRBuilder(made.append_basic_block())
        if function.name in TO_INT.values():
            builder.ret(to_int(builder, made.args[0], dtypes[0], result))
        else:
            builder.ret(function.emit(builder, dtypes, *made.args))
        symbol = made.name
    looped(module, symbol, dtypes, result)
    return compiled([str(module)], dtypes, result)


def bits(values: Array) -> Array:
    """The bits of numbers; one NaN is like another."""
    if values.dtype.kind != "f":
        return values
    words = values.view(f"u{values.itemsize}").copy()
    words[np.isnan(values)] = 0x7FC0
    return words


def sampled(function: DeviceFunction, dtypes: Dtypes, seed: int) -> list[Array]:
    """Operands of all bits; for vector math also those in its domain, and where its cases change."""
    given = operands(dtypes, seed=seed)
    if function.name not in VMATH:
        return given
    kind = np.float64 if dtypes[0].itemsize == 8 else np.float32
    more = operands_for(function.name, kind, 300, seed), special_operands(function.name, kind)
    return [np.concatenate(parts).astype(kind) for parts in zip(given, *more, strict=True)]


def test_the_library_has_every_name_that_kernels_call() -> None:
    assert set(DEVICE_FUNCTIONS) == FUNCTIONS | set(TO_INT.values())
    assert set(TWINS) == {*DEVICE_FUNCTIONS, *INTRINSICS}


@each_form
def test_the_code_of_the_device_gives_the_bits_of_the_processor(
    function: DeviceFunction, dtypes: Dtypes
) -> None:
    given = sampled(function, dtypes, 0)
    got, want = on_device(function, dtypes)(given), on_processor(function, dtypes)(given)
    wrong = np.flatnonzero(bits(got) != bits(want))
    shown = [(*(o[k] for o in given), got[k], want[k]) for k in wrong[:3]]
    assert not wrong.size, f"{wrong.size} of {want.size}: {shown}"


@each_form
def test_the_twin_of_a_function_agrees_with_its_code(function: DeviceFunction, dtypes: Dtypes) -> None:
    vector = function.name in VMATH
    whole = operands_for(function.name, dtypes[0].type, 300, 1) if vector else operands(dtypes, seed=1)
    some = np.random.default_rng(2).choice(whole[0].size, 300)
    given = [o[some] for o in whole]
    want = on_device(function, dtypes)(given)
    values = [TWINS[function.name](*point) for point in zip(*given, strict=True)]
    assert {np.asarray(value).dtype for value in values} == {want.dtype}
    got = np.array(values, want.dtype)
    if not vector:
        np.testing.assert_array_equal(bits(got), bits(want))
        return
    info = np.finfo(want.dtype)
    # SciPy's polygamma has fewer digits.
    limit = max(8 * float(info.eps), 1e-7 if function.name == "polygamma" else 0.0)
    near_zero = max(8 * float(info.smallest_subnormal), limit * max(1.0, VMATH[function.name].floor))
    np.testing.assert_allclose(got, want, rtol=limit, atol=near_zero)
