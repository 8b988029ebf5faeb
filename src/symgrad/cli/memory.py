"""`symgrad memory`: what memory a call needs."""

from __future__ import annotations

from argparse import Namespace

from symgrad.cli.chosen import add_function, chosen
from symgrad.cli.command import Command, Result
from symgrad.runtime.explain import memory_record, memory_text


def _run(options: Namespace) -> Result:
    choice = chosen(options)
    report = choice.compiled.memory(*choice.args, **choice.kwargs)
    return Result(memory_text(report), memory_record(report))


COMMAND = Command("memory", "Say what memory a call needs, and what is alive at the peak", add_function, _run)
