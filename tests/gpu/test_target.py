"""`target="cuda"` on a machine without a GPU: what it says, and what needs none."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad import spec
from symgrad.codegen.cuda import toolkit
from symgrad.errors import ArgumentError, CudaUnavailableError, UnsupportedError
from symgrad.runtime.cuda import loading
from symgrad.runtime.options import target_named


def loss(x: Any) -> Any:
    return np.sum(np.tanh(x) ** 2)


@pytest.fixture
def without_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which everything is there but the driver."""

    def missing() -> str:
        raise RuntimeError("no driver")

    monkeypatch.setattr(loading, "DEVICE_CHECKS", (toolkit.Check("driver", missing, "install it"),))


@pytest.mark.usefixtures("without_driver")
def test_a_call_names_the_first_thing_that_is_missing() -> None:
    with pytest.raises(CudaUnavailableError, match="driver: no driver") as caught:
        symgrad.grad(loss, target="cuda")(np.ones(3))
    assert caught.value.cure == "install it"
    assert str(caught.value.__cause__) == "no driver"


@pytest.mark.usefixtures("without_driver")
def test_auto_is_the_processor_with_a_warning() -> None:
    with pytest.warns(RuntimeWarning, match="no GPU is used: driver: no driver; install it"):
        f = symgrad.grad(loss, target="auto")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(f(np.zeros(3)), np.zeros(3))


def test_names_of_targets() -> None:
    assert target_named("cuda") == target_named("numba_cuda") == "numba_cuda"
    with pytest.raises(ArgumentError, match="no target 'gpu'") as caught:
        symgrad.grad(loss, target="gpu")
    assert caught.value.cure == "targets: numba_cpu, numba_cuda, interpreter, cuda, auto"


@pytest.mark.parametrize("option", [{"parallel": True}, {"memory_budget": "1MiB"}], ids=str)
def test_options_about_the_processor_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=next(iter(option))):
        symgrad.value_and_grad(loss, target="cuda", **option)


def test_text_and_ptx_need_no_gpu() -> None:
    f = symgrad.value_and_grad(loss, target="cuda")
    text = f.source(spec("f32[100000]"))
    assert "load_wide(x, group * 4)" in text
    ptx = f.ir("ptx", spec("f32[100000]"))
    assert "ld.global.v4.f32" in ptx.replace("ld.v4.f32", "ld.global.v4.f32")
    assert ".f64" not in ptx
    assert "0 bytes spilled" in ptx
    with pytest.raises(ArgumentError, match="no LLVM code"):
        f.ir("llvm", spec("f32[10]"))
    with pytest.raises(ArgumentError, match="programs for a GPU"):
        symgrad.value_and_grad(loss).ir("ptx", spec("f32[10]"))


def test_numba_code_cannot_call_it() -> None:
    with pytest.raises(ArgumentError, match="for the processor"):
        symgrad.value_and_grad(loss, target="cuda").numba_module(spec("f64[3]"))


def test_what_is_not_there_yet_is_refused_with_the_users_line() -> None:
    f = symgrad.value_and_grad(lambda a: np.sum(np.linalg.cholesky(a)), target="cuda")
    with pytest.raises(UnsupportedError, match="cholesky is not there yet for a GPU") as caught:
        f.source(spec("f64[40,40]"))
    assert caught.value.loc is not None
    assert caught.value.loc.file == __file__
