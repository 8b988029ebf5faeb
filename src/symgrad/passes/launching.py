"""Launching: the parts of a function that was split, as steps one after another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from symgrad.ir.core import Block, Function, Value
from symgrad.ir.launch import How, Launch, Port, Step
from symgrad.passes.split import Split


def launched(function: Function, splits: Sequence[Split]) -> tuple[Launch, tuple[Function, ...]]:
    """The function as steps, and their parts; each split is one of what comes after the split before it."""
    if not splits:
        return _on_one(function), (function,)
    launching = _Launching()
    params, results = [launching.slot(v) for v in function.body.params], function.body.results
    for found in splits:
        launching.alone(found.before)
        launching.shared(found)
        stands = dict(zip(function.body.results, found.results, strict=True))
        results = tuple(stands.get(v, v) for v in results)
        function = found.after
    launching.alone(function)
    return launching.launch(results, len(params)), tuple(launching.parts)


def _on_one(function: Function) -> Launch:
    """The function as it is, in one step."""
    params, results = ([v.type for v in values] for values in (function.body.params, function.body.results))
    ports = [Port(slot, How.WHOLE) for slot in range(len(params) + len(results))]
    step = Step((0,), (0, 1), tuple(ports[: len(params)]), tuple(ports[len(params) :]))
    return Launch(len(params), (*params, *results), (step,), tuple(port.slot for port in step.results))


@dataclass(slots=True)
class _Launching:
    """The steps so far, and where they leave what they make."""

    slots: dict[Value, int] = field(default_factory=lambda: dict[Value, int]())
    parts: list[Function] = field(default_factory=lambda: list[Function]())
    steps: list[Step] = field(default_factory=lambda: list[Step]())

    def slot(self, value: Value) -> int:
        """The slot of a value."""
        return self.slots.setdefault(value, len(self.slots))

    def alone(self, function: Function) -> None:
        """Let a function run on its own, if it makes anything."""
        if function.body.results:
            self._step([function], (0, 1), _whole(function.body.params), _whole(function.body.results))

    def shared(self, found: Split) -> None:
        """Let chunks run at once."""
        chunks = found.chunks
        self._step(
            [chunks.functions[n] for n in chunks.sizes], chunks.bounds, chunks.operands, chunks.results
        )

    def launch(self, results: Sequence[Value], params: int) -> Launch:
        """The program with these results: each an array of its own, which no other result and no param is."""
        found: list[Value] = []
        copies: dict[Value, Value] = {}
        for v in results:
            copied = self.slots[v] < params or v in found
            found.append(replace(v) if copied else v)
            if copied:
                copies[found[-1]] = v
        if copies:
            given = tuple(dict.fromkeys(copies.values()))
            part = Function("copies", Block(given, (), tuple(copies.values())))
            self._step([part], (0, 1), _whole(given), _whole(copies))
        types = tuple(v.type for v in self.slots)
        return Launch(params, types, tuple(self.steps), tuple(self.slots[v] for v in found))

    def _step(
        self,
        functions: Sequence[Function],
        bounds: tuple[int, ...],
        operands: Sequence[tuple[Value, How]],
        results: Sequence[tuple[Value, How]],
    ) -> None:
        distinct = list(dict.fromkeys(functions))
        numbers = tuple(len(self.parts) + distinct.index(f) for f in functions)
        self.parts += distinct
        reads, makes = (tuple(Port(self.slot(v), how) for v, how in ports) for ports in (operands, results))
        self.steps.append(Step(numbers, bounds, reads, makes))


def _whole(values: Iterable[Value]) -> list[tuple[Value, How]]:
    """Values that a step reads or makes as they are."""
    return [(v, How.WHOLE) for v in values]
