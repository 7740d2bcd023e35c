"""The pass `drop-annotations`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..validator.compat import ir
from ..validator.ops.movement import evaluate_identity
from ..validator.ops.opaque_relation import CONTRACTS, Contract
from ..validator.ops.registry import RECORDS
from ..validator.read.manual_forms import ENTER, LEAVE
from .base import ModulePass
from .rewriting import attributes, nested, replace

_SHARDINGS = ("mhlo.sharding", "sdy.sharding")


@dataclass(frozen=True)
class DropAnnotations(ModulePass):
    """Removes operations that return their operands as they are, and shardings inside functions.

    These are `sdy.sharding_constraint`, `sdy.reshard`, `stablehlo.optimization_barrier`, `mhlo.copy` and the custom
    calls whose contract is the identity, such as `@Sharding` and `@annotate_device_placement`; which ones is read from
    the same records that the validator uses. Shardings of parameters and results stay, since they say what the program
    means on devices. So does what a manual boundary (`@SPMDFullToShardShape` or `@xla.sdy.GlobalToLocalShape`
    and back) reads, and a sharding with `unreduced` axes. With `keep-shardings` only operations are removed.

    ```mlir
    %0 = sdy.sharding_constraint %x <@mesh, [{"a"}]> : tensor<8xf32>
    %1 = stablehlo.negate %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}]>]>} : tensor<8xf32>
    // becomes
    %0 = stablehlo.negate %x : tensor<8xf32>
    ```
    """

    name: ClassVar[str] = "drop-annotations"
    keep_shardings: bool = False

    def apply(self, module: ir.Operation) -> None:
        for op in nested(module):
            if _reads_boundary(op) or "unreduced" in _sharding_text(op):
                continue
            if _is_identity(op):
                replace(op, op.operands)
            elif not self.keep_shardings:
                for key in _SHARDINGS:
                    if key in op.attributes:
                        del op.attributes[key]


def _is_identity(op: ir.Operation) -> bool:
    """Whether the results are the operands; where their types differ, something else is meant."""
    if [value.type for value in op.operands] != [value.type for value in op.results]:
        return False
    if op.name == "stablehlo.custom_call":
        return CONTRACTS.get(attributes(op)["call_target_name"].value) is Contract.IDENTITY
    record = RECORDS.get(op.name)
    return record is not None and record.evaluate is evaluate_identity


def _reads_boundary(op: ir.Operation) -> bool:
    """Whether a manual boundary takes its meaning from the sharding of this operation."""
    return any(_is_boundary(other) for other in (op, *(use.owner.operation for r in op.results for use in r.uses)))


def _is_boundary(op: ir.Operation) -> bool:
    if op.name != "stablehlo.custom_call":
        return False
    target = attributes(op)["call_target_name"].value
    return target in (ENTER, LEAVE) or CONTRACTS.get(target) is Contract.MANUAL


def _sharding_text(op: ir.Operation) -> str:
    return " ".join(str(op.attributes[key]) for key in (*_SHARDINGS, "sharding") if key in op.attributes)
