"""The import order of the layers and the house rules of a file hold, and the checks that say so can fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from layering import COMPILERS, Module, cycle, file_faults, import_faults, layer

ROOT = Path(__file__).parent.parent
FOLDERS = ("src", "tests", "benchmarks", "examples")
LATE = ("symgrad.ir.core", "symgrad.trace.tracer")  # and with them all that traces and compiles
NOT_OURS = {"tests/cases/cases.py"}  # kept byte for byte as it was written


def _files() -> dict[str, str]:
    """The text of every Python file of the repository, by path."""
    paths = [p for folder in FOLDERS for p in (ROOT / folder).rglob("*.py")]
    texts = {p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8") for p in sorted(paths)}
    return {path: text for path, text in texts.items() if path not in NOT_OURS}


def _modules(files: dict[str, str]) -> dict[str, Module]:
    """The modules of the package, by dotted name."""
    found = {}
    for path, source in files.items():
        if path.startswith("src/"):
            name = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            found[name] = Module(name, path, source)
    return found


FILES = _files()
MODULES = _modules(FILES)


def test_the_package_was_found() -> None:
    assert {"symgrad", "symgrad.errors", "symgrad.ir.core"} <= MODULES.keys()


def test_files_are_short_and_open_with_a_docstring() -> None:
    assert [fault for path, source in FILES.items() for fault in file_faults(path, source)] == []


def test_modules_import_from_lower_layers_only_and_at_the_top() -> None:
    assert [fault for module in MODULES.values() for fault in import_faults(module, MODULES)] == []


def test_there_is_no_import_cycle() -> None:
    assert cycle(MODULES) == ()


@pytest.mark.parametrize("heavy", [*COMPILERS, "scipy", "networkx", "matplotlib", *LATE])
def test_importing_the_package_does_not_import(heavy: str) -> None:
    code = f"import sys, symgrad; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def _sample(name: str, source: str) -> Module:
    return Module(name, f"src/{name.replace('.', '/')}.py", source)


def _faults(module: Module) -> list[str]:
    known = {m: _sample(m, "") for m in ("symgrad.errors", "symgrad.ir", "symgrad.ir.core", "symgrad.passes")}
    return list(import_faults(module, known))


@pytest.mark.parametrize(
    ("name", "source", "fault"),
    [
        ("symgrad.ir.builder", "from symgrad.passes import dce", "higher layer"),
        ("symgrad.ir.core", "from symgrad.ir import Builder", "higher layer"),
        ("symgrad.ir.types", "from .core import Op", "higher layer"),
        ("symgrad.ir.types", "from . import core", "higher layer"),
        ("symgrad.ir.types", "import symgrad.ir.core", "higher layer"),
        ("symgrad.ir.types", "if TYPE_CHECKING:\n    import symgrad.ir.core", "higher layer"),
        ("symgrad.ir.ops.linalg", "from ...passes import dce", "higher layer"),
        ("symgrad.passes.cse", "def f():\n    import math", "inside a function"),
        ("symgrad.passes.cse", "class A:\n    async def f(self):\n        from os import path", "inside a"),
        ("symgrad.codegen.lower", "import numba", "outside codegen"),
        ("symgrad.runtime.cache", "from llvmlite import binding", "outside codegen"),
        ("symgrad.codegen.llvm_kernel", "import numba", "outside codegen"),
        ("symgrad.elsewhere.thing", "", "no layer"),
    ],
)
def test_a_bad_import_is_found(name: str, source: str, fault: str) -> None:
    faults = _faults(_sample(name, source))
    assert len(faults) == 1
    assert fault in faults[0]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("symgrad.passes.cse", "import math\nfrom symgrad.ir import Block\nfrom symgrad.errors import Error"),
        ("symgrad.ir.ops.linalg", "from symgrad.ir.core import Op\nfrom ..core import Value"),
        ("symgrad.codegen.numba_cpu", "import numba\nfrom llvmlite import ir"),
        ("symgrad.codegen.llvm_kernel", "from llvmlite import ir"),
        ("symgrad.runtime.devices", "from llvmlite import binding"),
    ],
)
def test_a_good_import_passes(name: str, source: str) -> None:
    assert _faults(_sample(name, source)) == []


def test_a_cycle_is_found() -> None:
    sources = {"a": "import b", "b": "from c import x", "c": "import b", "d": "import a"}
    assert cycle({n: Module(n, f"{n}.py", s) for n, s in sources.items()}) == ("b", "c", "b")
    sources["c"] = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import b"
    assert cycle({n: Module(n, f"{n}.py", s) for n, s in sources.items()}) == ()


def test_a_long_file_and_a_missing_docstring_are_found() -> None:
    assert len(list(file_faults("a.py", "x = 1\n" * 401))) == 2
    assert list(file_faults("a.py", '"""One idea."""\n' + "x = 1\n" * 399)) == []


def test_the_layers_are_in_order() -> None:
    order = [
        "errors",
        "ir.types",
        "ir.core",
        "ir.ops.shapes",
        "ir.printer",
        "trace.tracer",
        "passes.autodiff",
    ]
    order += ["codegen.lower", "runtime.cache", "api", "cli.check"]
    ranks = [layer(f"symgrad.{name}") for name in order]
    assert ranks == sorted({rank for rank in ranks if rank is not None})
