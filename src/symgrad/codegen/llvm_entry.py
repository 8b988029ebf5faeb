# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false
"""The function of a program that Python calls, in the program's own LLVM module.

It takes the params, arrays for the results of rank > 0, and the arena where that is too large for the stack.
It gives the results of rank 0: None, the only one, or a tuple. What is not of the type that the program was
compiled for is a TypeError, before anything is computed; while the program runs, other threads may.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from symgrad.codegen.llvm_frame import Frame
from symgrad.codegen.llvm_python import (
    NONE,
    NULL,
    OBJECT,
    Objects,
    data_of,
    fits,
    is_array,
    number_from,
    number_to,
    raised,
    sizes_are,
)
from symgrad.codegen.llvm_values import NARROW, VOID, WORD, external, load, pointer_type, store, word
from symgrad.codegen.program_names import ARENA, ENTRY
from symgrad.codegen.steps import (
    Argument,
    Cell,
    Fresh,
    Module,
    handed,
    refusals,
)
from symgrad.ir import dims
from symgrad.ir.types import U8, DType

_MISFIT = "an argument is not of the type that this is compiled for"


class Entry:
    """The entry of a program whose steps are a function of the module."""

    def __init__(self, module: Module, made: ir.Module, steps: ir.Function) -> None:
        self._module = module
        self._steps = steps
        # The convention METH_FASTCALL: self, the arguments, their number.
        kind = ir.FunctionType(OBJECT, [OBJECT, OBJECT.as_pointer(), WORD])
        self._frame = Frame(ir.Function(made, kind, ENTRY))
        errors = (refusal.error for refusal in refusals(module))
        self._objects = Objects(made, [np.ndarray, TypeError, *errors])
        self._misfit = self._frame.function.append_basic_block("misfit")
        self._failed = self._frame.function.append_basic_block("failed")

    def emit(self) -> None:
        """Write the function."""
        frame, module = self._frame, self._module
        results = [a for a in module.results if a.type.rank]
        lent = module.lent_bytes
        self._unless(
            frame.builder.icmp_signed("==", frame.function.args[2], word(self._count(results, lent)))
        )
        given = list(enumerate((*module.params, *results)))
        # Numbers first: a conversion may run Python code, which could move what an array holds.
        for place, argument in given:
            if not argument.type.rank:
                self._number(place, argument)
        for place, argument in given:
            if argument.type.rank:
                shape = tuple(map(dims.known, argument.type.shape))
                writeable = place >= len(module.params)
                self._array(place, argument.name, argument.type.dtype, shape, writeable=writeable)
        if lent:
            self._array(len(module.params) + len(results), ARENA, U8, (lent,), writeable=True)
        elif ARENA in dict(handed(module)):
            frame.buffers[ARENA] = frame.stack(module.arena_bytes, U8)
        self._cells()
        self._run()
        self._return()
        self._misfits()
        frame.close()

    def _count(self, results: list[Argument], lent: int) -> int:
        return len(self._module.params) + len(results) + bool(lent)

    # ---- arguments ----
    def _unless(self, condition: Any) -> None:
        """Refuse the arguments unless a condition holds."""
        builder = self._frame.builder
        on = self._frame.function.append_basic_block("fits")
        builder.cbranch(condition, on, self._misfit)
        builder.position_at_end(on)

    def _given(self, place: int) -> Any:
        builder = self._frame.builder
        return builder.load(builder.gep(self._frame.function.args[1], [word(place)], inbounds=True))

    def _number(self, place: int, argument: Argument) -> None:
        builder = self._frame.builder
        value, is_such = number_from(builder, self._objects, self._given(place), argument.type.dtype)
        self._unless(is_such)
        self._frame.scalars[argument.name] = value

    def _array(self, place: int, name: str, dtype: DType, shape: tuple[int, ...], *, writeable: bool) -> None:
        builder, given = self._frame.builder, self._given(place)
        self._unless(is_array(builder, self._objects, given))
        self._unless(fits(builder, given, dtype, len(shape), writeable=writeable))
        self._unless(sizes_are(builder, given, shape))
        self._frame.buffers[name] = data_of(builder, given, pointer_type(dtype))

    def _cells(self) -> None:
        """The call's own memory of one element each."""
        frame = self._frame
        for step in self._module.steps:
            if isinstance(step, Cell | Fresh):
                frame.buffers[step.name] = frame.stack(1, step.dtype)
            if isinstance(step, Cell):
                value = frame.scalars[step.param]
                store(frame.builder, frame.buffers[step.name], word(0), value, step.dtype)

    # ---- the call ----
    def _run(self) -> None:
        """Run the steps; a refusal of theirs is raised."""
        frame, builder = self._frame, self._frame.builder
        thread = external(builder, "PyEval_SaveThread", OBJECT, [])
        status = builder.call(self._steps, [frame.buffers[name] for name, _ in handed(self._module)])
        external(builder, "PyEval_RestoreThread", VOID, [thread])
        found = refusals(self._module)
        if not found:
            return
        on = frame.function.append_basic_block("done")
        switch = builder.switch(status, on)
        for number, refusal in enumerate(found, 1):
            block = frame.function.append_basic_block("refused")
            switch.add_case(word(number), block)
            builder.position_at_end(block)
            raised(builder, self._objects, refusal.error, refusal.text)
            builder.branch(self._failed)
        builder.position_at_end(on)

    def _return(self) -> None:
        builder = self._frame.builder
        numbers = [a for a in self._module.results if not a.type.rank]
        if not numbers:
            none = self._objects.named(builder, NONE)
            external(builder, "Py_IncRef", VOID, [none])
            builder.ret(none)
            return
        if len(numbers) == 1:
            builder.ret(self._result(numbers[0]))
            return
        made = external(builder, "PyTuple_New", OBJECT, [word(len(numbers))])
        self._leave_if(builder.icmp_unsigned("==", made, NULL))
        for place, argument in enumerate(numbers):
            value = self._result(argument)
            self._leave_if(builder.icmp_unsigned("==", value, NULL), made)
            external(builder, "PyTuple_SetItem", NARROW, [made, word(place), value])
        builder.ret(made)

    def _result(self, argument: Argument) -> Any:
        """A new object of a number; NULL if there is no memory for it."""
        builder, dtype = self._frame.builder, argument.type.dtype
        return number_to(builder, load(builder, self._frame.buffers[argument.name], word(0), dtype), dtype)

    def _leave_if(self, condition: Any, *made: Any) -> None:
        """The call fails, with the error that Python has set, if a condition holds."""
        builder = self._frame.builder
        leave, on = (self._frame.function.append_basic_block(name) for name in ("leave", "on"))
        builder.cbranch(condition, leave, on)
        builder.position_at_end(leave)
        for value in made:
            external(builder, "Py_DecRef", VOID, [value])
        builder.branch(self._failed)
        builder.position_at_end(on)

    def _misfits(self) -> None:
        builder = self._frame.builder
        builder.position_at_end(self._misfit)
        external(builder, "PyErr_Clear", VOID, [])
        raised(builder, self._objects, TypeError, _MISFIT)
        builder.branch(self._failed)
        builder.position_at_end(self._failed)
        builder.ret(NULL)
