"""The house rules that a syntax tree shows: who may import whom, where, and how long a file may be."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

MAX_LINES = 400

# Lowest first. A module belongs to the longest name here that is its own or that of a package around it.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("symgrad.locks",),
    ("symgrad.errors", "symgrad.syntax"),
    ("symgrad.ir.types", "symgrad.ir.dims", "symgrad.ir.affine", "symgrad.ir.published_names"),
    ("symgrad.ir.core", "symgrad.ir.opdef", "symgrad.ir.laws"),
    ("symgrad.ir.ops",),
    ("symgrad.ir",),
    ("symgrad.trace",),
    ("symgrad.passes",),
    ("symgrad.codegen",),
    ("symgrad.runtime",),
    ("symgrad.api",),
    ("symgrad",),
    ("symgrad.cli", "symgrad.__main__"),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

# Where each compiler may be imported.
COMPILERS = {
    "numba": (
        "codegen/numba_", "codegen/cuda/numba_", "codegen/cuda/intrinsics.py", "codegen/cuda/library.py",
    ),
    "llvmlite": (
        "codegen/numba_", "codegen/llvm_", "codegen/cuda/device_", "codegen/cuda/intrinsics.py",
        "codegen/cuda/library.py", "runtime/devices.py",
    ),
    "cuda": ("codegen/cuda/numba_", "runtime/cuda/driver.py"),
}  # fmt: skip


@dataclass(frozen=True)
class Module:
    """One source file of the package."""

    name: str  # dotted; a package has the name of its folder
    path: str  # relative to the repository, with forward slashes
    source: str


@dataclass(frozen=True)
class Import:
    """One imported name, as written."""

    target: str  # the absolute dotted name, the imported attribute or submodule included
    line: int
    in_function: bool
    for_types: bool  # under `if TYPE_CHECKING`: never carried out


def layer(name: str) -> int | None:
    """The rank of a module's layer; None when the module is in none."""
    if name in RANK:
        return RANK[name]
    package = name.rpartition(".")[0]
    while package.count("."):
        if package in RANK:
            return RANK[package]
        package = package.rpartition(".")[0]
    return None


def imports(module: Module) -> Iterator[Import]:
    """Every import of a module, those inside functions included."""
    pending: list[tuple[ast.AST, bool, bool]] = [(ast.parse(module.source, module.path), False, False)]
    while pending:
        node, in_function, for_types = pending.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            for target in _targets(node, module):
                yield Import(target, node.lineno, in_function, for_types)
        in_function = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            pending.extend((child, in_function, True) for child in node.body)
            pending.extend((child, in_function, for_types) for child in node.orelse)
            continue
        pending.extend((child, in_function, for_types) for child in ast.iter_child_nodes(node))


def _targets(node: ast.Import | ast.ImportFrom, module: Module) -> list[str]:
    """The absolute dotted names that an import statement asks for."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = [node.module] if node.module else []
    if node.level:
        parts = module.name.split(".")
        up = node.level - module.path.endswith("__init__.py")
        base = parts[: len(parts) - up] + base
    return [".".join([*base, alias.name]) for alias in node.names]


def resolve(target: str, modules: Mapping[str, Module]) -> str | None:
    """The module of this package that an imported name comes from; None for other packages."""
    while target:
        if target in modules:
            return target
        target = target.rpartition(".")[0]
    return None


def file_faults(path: str, source: str) -> Iterator[str]:
    """What is wrong with a file by itself: its length, its docstring."""
    lines = source.count("\n")
    if lines > MAX_LINES:
        yield f"{path}: {lines} lines; at most {MAX_LINES}"
    if ast.get_docstring(ast.parse(source, path)) is None:
        yield f"{path}: no docstring that states the file's one idea"


def import_faults(module: Module, modules: Mapping[str, Module]) -> Iterator[str]:
    """What is wrong with a module's imports: upward, inside a function, or of a compiler elsewhere."""
    rank = layer(module.name)
    if rank is None:
        yield f"{module.path}: {module.name} belongs to no layer"
        return
    allowed = {c for c, homes in COMPILERS.items() if any(home in module.path for home in homes)}
    for item in imports(module):
        where = f"{module.path}:{item.line}"
        if item.in_function:
            yield f"{where}: import of {item.target} inside a function"
        compiler = item.target.split(".")[0]
        if compiler in COMPILERS and compiler not in allowed:
            yield f"{where}: {item.target} outside {' and '.join(COMPILERS[compiler])}"
        source = resolve(item.target, modules)
        if source is None:
            continue
        source_rank = layer(source)
        if source_rank is not None and source_rank > rank:
            yield f"{where}: {module.name} imports {source}, which is in a higher layer"


def cycle(modules: Mapping[str, Module]) -> tuple[str, ...]:
    """The modules of one import cycle, in order; empty when there is none.

    Imports for types alone don't count: they are never carried out, and records may name each other.
    """
    edges: dict[str, list[str]] = {}
    for name, module in modules.items():
        sources = {resolve(item.target, modules) for item in imports(module) if not item.for_types}
        edges[name] = sorted(source for source in sources if source is not None)
    done: set[str] = set()
    for root in sorted(edges):
        path: list[str] = []
        pending: list[tuple[str, bool]] = [(root, False)]
        while pending:
            name, leaving = pending.pop()
            if leaving:
                done.add(path.pop())
                continue
            if name in path:
                return (*path[path.index(name) :], name)
            if name in done:
                continue
            path.append(name)
            pending.append((name, True))
            pending.extend((target, False) for target in edges[name])
    return ()
