"""A forked process compiles and calls, whatever the threads of its parent were about."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os, sys, threading, warnings
import numpy as np
import symgrad
from symgrad.runtime import loading, program

warnings.simplefilter("ignore")
loss = symgrad.compile_grad(lambda x: np.sum(x ** 2), target=sys.argv[2])
loss(np.ones(2))
inside, leave = threading.Event(), threading.Event()

def held(*locks):
    if locks:
        with locks[0]:
            held(*locks[1:])
    else:
        inside.set()
        leave.wait(60)

locks = {
    "function": [loss._lock],
    "property": [getattr(program.Program.__dict__["optimized"], "lock", threading.RLock())],
    "compiler": [loading._compiling],
}[sys.argv[1]]
thread = threading.Thread(target=held, args=locks)
thread.start()
inside.wait()
if sys.argv[1] == "compiler":  # the fork waits for it
    threading.Timer(0.2, leave.set).start()
child = os.fork()
if child == 0:
    value, gradient = loss(np.ones(3))
    assert value == 3 and gradient.tolist() == [2, 2, 2]
    assert symgrad.grad(lambda x: np.sum(np.sin(x)), target=sys.argv[2])(np.zeros(3)).tolist() == [1, 1, 1]
    os._exit(7)
leave.set()
thread.join()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert loss(np.ones(4))[0] == 4
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.parametrize(
    ("held", "target"),
    [("function", "interpreter"), ("property", "interpreter"), ("compiler", "numba_cpu")],
)
def test_what_another_thread_held_is_free_in_the_child(held: str, target: str) -> None:
    subprocess.run([sys.executable, "-c", SCRIPT, held, target], check=True, timeout=60)
