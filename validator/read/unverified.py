"""What MLIR accepts of an operation, and nobody gives a meaning to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .attribute_values import UnsupportedType
from .ir import TensorType, Value

_REDUCING = frozenset(
    f"stablehlo.{name}"
    for name in ("all_reduce", "reduce", "reduce_scatter", "reduce_window", "scatter", "select_and_scatter")
)
"""Ops whose results are their first operands, reduced; StableHLO, but not XLA, allows them a wider type."""


def check_meaning(
    name: str, attributes: Mapping[str, Any], operands: Sequence[Value], results: Sequence[Value]
) -> None:
    """Raises `UnsupportedType` for an operation that has none."""
    if name in _REDUCING:
        for operand, result in zip(operands, results, strict=False):
            if operand.tensor.dtype is not result.tensor.dtype:
                told = f"'{operand.tensor.dtype.value}' accumulated in '{result.tensor.dtype.value}'"
                raise UnsupportedType(f"{told} is not supported")
    elif name == "stablehlo.compare":
        _check_comparison(attributes.get("compare_type"), operands[0].tensor)
    elif name == "stablehlo.gather":
        dims = attributes["dimension_numbers"]
        single = (*dims.collapsed_slice_dims, *dims.operand_batching_dims)
        if any(attributes["slice_sizes"][dim] == 0 for dim in single):
            raise UnsupportedType("an element of an empty window has no meaning")


def _check_comparison(kind: Any, operand: TensorType) -> None:
    """XLA compares by the element type, whatever else is said, or in another order."""
    dtype = operand.dtype
    fitting = ("FLOAT", "TOTALORDER") if dtype.is_float else ("FLOAT",) if dtype.is_complex else None
    if kind not in (None, *(fitting or ("SIGNED" if dtype.is_signed else "UNSIGNED",))):
        raise UnsupportedType(f"a comparison of '{dtype.value}' of type '{kind}'")
