"""What a machine without a GPU is told, and that nothing of CUDA is loaded before it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from symgrad.codegen.cuda.toolkit import Check, looked, require
from symgrad.errors import CudaUnavailableError
from symgrad.runtime.cuda.checks import ALL, DEVICE_CHECKS


def _gone() -> str:
    raise OSError("libthing.so: cannot open shared object file\nsearched in many places")


FOUND = Check("first", lambda: "there", "never needed")
GONE = Check("second", _gone, "install thing")
UNSEEN = Check("third", lambda: pytest.fail("was looked at"), "never needed")


def test_checks_end_with_the_first_that_fails() -> None:
    results = list(looked((FOUND, GONE, UNSEEN)))
    assert [(r.check.name, r.found) for r in results] == [("first", "there"), ("second", None)]
    assert results[1].reason == "libthing.so: cannot open shared object file"


def test_the_error_names_the_check_and_its_cure() -> None:
    with pytest.raises(CudaUnavailableError) as caught:
        require((FOUND, GONE, UNSEEN))
    assert str(caught.value).splitlines() == [
        "CUDA cannot be used: second: libthing.so: cannot open shared object file",
        "  a program for a GPU needs each of what `symgrad doctor` lists under CUDA",
        "  install thing",
    ]
    assert isinstance(caught.value.__cause__, OSError)


def test_every_cure_is_one_line_and_every_name_is_there_once() -> None:
    names = [check.name for check in ALL]
    assert len(set(names)) == len(names)
    assert all(check.cure and "\n" not in check.cure for check in ALL)


@pytest.mark.gpu
def test_a_machine_with_a_gpu_has_all() -> None:
    require(ALL)


def test_modules_that_look_do_not_load() -> None:
    code = (
        "import sys, symgrad.runtime.cuda.checks, symgrad.codegen.cuda.build;"
        "sys.exit(any(name.split('.')[0] in ('cuda', 'numba', 'llvmlite') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_device_checks_begin_with_the_driver() -> None:
    assert DEVICE_CHECKS[0].name == "driver"
