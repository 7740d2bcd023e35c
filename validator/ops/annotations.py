"""Attributes and operations that cannot change what is computed."""

from __future__ import annotations

from ..read.ir import Op

ANNOTATIONS = frozenset(
    {
        "mhlo.frontend_attributes",
        "mhlo.sharding",
        "operand_layouts",
        "result_layout",
        "operand_tilings",
        "result_layouts",
        "result_tilings",
        "sdy.sharding",
        "xla_shape",
    }
)
"""Attributes that any operation may carry: layouts, notes of the front end, and shardings (`Op.shardings`)."""


def hands_on(op: Op) -> bool:
    """Whether an operation of one operand returns it as it is, as annotations do that JAX writes into reducers."""
    if op.name == "stablehlo.custom_call":
        return op.attributes.get("call_target_name") == "Sharding" and len(op.operands) == 1
    return op.name in ("mhlo.copy", "sdy.sharding_constraint", "stablehlo.optimization_barrier")
