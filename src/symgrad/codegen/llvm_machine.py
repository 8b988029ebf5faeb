# llvmlite has no types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
"""Machine code of LLVM modules: optimised, written as an object file, and loaded from one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import binding

from symgrad.codegen.llvm_python import register_python
from symgrad.codegen.llvm_symbols import SPECIAL, register_blas, register_lapack, register_special
from symgrad.codegen.llvm_values import VARIANTS
from symgrad.errors import InternalError

binding.initialize_native_target()
binding.initialize_native_asmprinter()
register_blas()
register_lapack()
register_python()


@dataclass(frozen=True, slots=True)
class Processor:
    """What machine code is made for."""

    name: str
    features: str  # as LLVM writes them: +avx2,-avx512f

    @property
    def register_bits(self) -> int:
        """The bits of a vector register."""
        features = self.features.split(",")
        return next((bits for name, bits in (("+avx512f", 512), ("+avx", 256)) if name in features), 128)

    def machine(self) -> Any:
        """LLVM's code generator; it uses the whole of a register, which LLVM's tunings for Intel leave."""
        features = ",".join(filter(None, (self.features, "-prefer-256-bit")))
        return binding.Target.from_default_triple().create_target_machine(
            self.name, features, opt=3, reloc="pic", codemodel="small"
        )


def optimized(text: str, machine: Any) -> Any:
    """The LLVM module of a text, made fast."""
    module = binding.parse_assembly(text)
    module.verify()
    options = binding.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = True
    options.loop_interleaving = options.loop_unrolling = True
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    _inline_variants(module, builder)
    return module


def _inline_variants(module: Any, builder: Any) -> None:
    """Put the bodies of vector functions where loops that are vectorised now call them, and drop the rest."""
    tables = [variable for variable in module.global_variables if variable.name == VARIANTS]
    if not tables:
        return
    tables[0].linkage = "internal"
    passes = binding.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)


def object_code(text: str, processor: Processor) -> bytes:
    """The object file of an LLVM module."""
    machine = processor.machine()
    return machine.emit_object(optimized(text, machine))


@dataclass(frozen=True, slots=True)
class Loaded:
    """Machine code in memory; it is there as long as this record is."""

    engine: Any

    def address(self, name: str) -> int:
        """Where a function is."""
        return self._known(name, self.engine.get_function_address(name))

    def variable(self, name: str) -> int:
        """Where a variable is."""
        return self._known(name, self.engine.get_global_value_address(name))

    def _known(self, name: str, address: int) -> int:
        if address == 0:
            raise InternalError(f"the machine code has no {name}")
        return address


def loaded(code: bytes, processor: Processor) -> Loaded:
    """The machine code of an object file."""
    if SPECIAL.encode() in code:
        register_special()
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), processor.machine())
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return Loaded(engine)
