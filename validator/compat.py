"""Every private JAX and jaxlib import of the validator, in one place.

Only jaxlib's own pieces are used, never `jax` itself: a cold `import jax` costs more than reading a whole program.
The functions here have the same meaning in every supported jaxlib; what a version lacks is reported as None.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import Any

from jaxlib import _hlo, _jax  # pyright: ignore[reportAttributeAccessIssue]
from jaxlib.mlir import ir

# Before the extension of the same name: in jaxlib 0.12 that one loads this module while half of its own classes are
# still missing, and JAX would then find a Shardy without `TensorShardingPerValueAttr` for as long as the process lives.
from jaxlib.mlir.dialects import sdy as _sdy_dialect  # noqa: F401

# isort: split
from jaxlib.mlir._mlir_libs import (  # pyright: ignore[reportMissingImports]
    _chlo,
    _jax_mlir_ext,
    _mlirHlo,
    _sdy,
    _stablehlo,
)
from jaxlib.mlir.passmanager import PassManager
from jaxlib.version import __version__ as jaxlib_version

__all__ = [
    "bytecode_of",
    "hlo_text_to_proto",
    "hlo_to_stablehlo",
    "interpret",
    "interpreted_devices",
    "interpreter_context",
    "ir",
    "is_portable_artifact",
    "jaxlib_version",
    "lowered_module",
    "new_context",
    "parse_module",
    "portable_artifact",
    "stablehlo_attributes",
    "through_hlo",
    "topk_tells_stability",
]


def new_context(*, allow_unregistered: bool = False) -> ir.Context:
    """An MLIR context that knows func, StableHLO, CHLO, MHLO, Shardy and the upstream dialects JAX uses."""
    context = ir.Context()
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    _stablehlo.register_dialect(context)
    _chlo.register_dialect(context)
    _mlirHlo.register_mhlo_dialect(context)
    _sdy.register_dialect(context)
    context.allow_unregistered_dialects = allow_unregistered
    return context


def hlo_text_to_proto(text: str) -> bytes:
    """The serialized HloModuleProto of an HLO text; raises RuntimeError or ValueError with XLA's message."""
    return _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()


def hlo_to_stablehlo(module_proto: bytes) -> bytes:
    """StableHLO bytecode of a serialized HloModuleProto; raises with XLA's message."""
    return _jax.mlir.hlo_to_stablehlo(module_proto)


def through_hlo(module: ir.Module) -> bytes:
    """StableHLO bytecode of a module that has been converted to HLO and back; raises with XLA's message."""
    computation = _jax.mlir.mlir_module_to_xla_computation(bytecode_of(module), False, False)
    return hlo_to_stablehlo(computation.as_serialized_hlo_module_proto())


def is_portable_artifact(data: bytes) -> bool:
    """Whether MLIR bytecode is a portable artifact, that is, whether its producer string is StableHLO's."""
    return data[:4] == b"ML\xefR" and b"StableHLO_v" in data[:64]


def parse_module(source: str | bytes, context: ir.Context) -> ir.Module:
    """Parses MLIR text, MLIR bytecode or a StableHLO portable artifact; raises `ir.MLIRError`."""
    if isinstance(source, bytes) and is_portable_artifact(source):
        return _stablehlo.deserialize_portable_artifact(context, source)
    return ir.Module.parse(source, context)


def bytecode_of(module: ir.Module) -> bytes:
    """The module as MLIR bytecode, locations and operations of any dialect included."""
    file = io.BytesIO()
    module.operation.write_bytecode(file)
    return file.getvalue()


def portable_artifact(module: ir.Module) -> bytes | None:
    """The module as a StableHLO portable artifact, for the oldest version that has all its ops; None where none has.

    Ops of other dialects have no portable form. An attempt that fails leaves a module half converted: each has its own.
    """
    code = bytecode_of(module)
    for version in (_stablehlo.get_minimum_version(), _stablehlo.get_current_version()):
        # the diagnostics of a failure go to stderr unless somebody takes them
        handler: Any = module.context.attach_diagnostic_handler(lambda _: True)
        try:
            return _stablehlo.serialize_portable_artifact(ir.Module.parse(code, module.context), version)
        except (RuntimeError, ValueError, ir.MLIRError):
            continue
        finally:
            handler.detach()
    return None


def interpreter_context() -> ir.Context:
    """A context for what StableHLO's interpreter runs."""
    context = new_context()
    _stablehlo.register_interpreter_dialect(context)
    return context


def interpret(module: ir.Module, arguments: Sequence[ir.Attribute]) -> list[ir.Attribute]:
    """What StableHLO's interpreter gives for the module's main function; it may end the process.

    Ops that it has no meaning for, but other ops have, are replaced in the module by StableHLO's own pass.
    """
    _stablehlo.register_stablehlo_passes()
    replaced = "stablehlo-legalize-deprecated-ops{fail-on-unused=false}"
    with module.context:
        PassManager.parse(f"builtin.module(func.func({replaced}))").run(module.operation)
    return _stablehlo.eval_module(module, arguments)


def topk_tells_stability() -> bool:
    """Whether HLO's `topk` says of itself if ties keep their order; before jaxlib 0.11 they always did."""
    return tuple(map(int, jaxlib_version.split(".")[:2])) >= (0, 11)


def interpreted_devices() -> int:
    """How many devices the interpreter can run at once.

    Before jaxlib 0.12 they wait for each other on a pool of one thread a processor, and give up.
    """
    if tuple(map(int, jaxlib_version.split(".")[:2])) >= (0, 12):
        return sys.maxsize
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def lowered_module(lowered: Any) -> ir.Module | None:
    """The StableHLO module of a `jax.stages.Lowered`, or None for any other object."""
    compiler_ir = getattr(lowered, "compiler_ir", None)
    return None if compiler_ir is None else compiler_ir("stablehlo")


stablehlo_attributes = _stablehlo
"""The extension module whose classes (`DotDimensionNumbers`, ...) take StableHLO's structured attributes apart."""
