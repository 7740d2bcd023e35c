"""The pass `general-dots`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..validator.compat import ir
from .base import ModulePass
from .rewriting import build, nested, replace


@dataclass(frozen=True)
class GeneralDots(ModulePass):
    """Writes `stablehlo.dot` as the `stablehlo.dot_general` that it abbreviates.

    ```mlir
    %0 = stablehlo.dot %a, %b : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    // becomes
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    ```
    """

    name: ClassVar[str] = "general-dots"

    def apply(self, module: ir.Operation) -> None:
        for op in nested(module):
            if op.name == "stablehlo.dot":
                last = ir.RankedTensorType(op.operands[0].type).rank - 1
                dims = f"#stablehlo.dot<lhs_contracting_dimensions = [{last}], rhs_contracting_dimensions = [0]>"
                kept = {key: op.attributes[key] for key in op.attributes}
                kept["dot_dimension_numbers"] = ir.Attribute.parse(dims)
                point = ir.InsertionPoint(op)
                types = [op.results[0].type]
                replace(op, build("stablehlo.dot_general", types, op.operands, point, op.location, **kept).results)
