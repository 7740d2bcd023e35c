"""The pass `fold-partition-tables`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..validator.compat import ir
from ..validator.relation.mesh import Mesh, affine_fit, coarsest_mesh
from .base import ModulePass
from .rewriting import attributes, build, defining_op, device_counts, is_used, nested, replace


@dataclass(frozen=True)
class FoldPartitionTables(ModulePass):
    """Writes what a table holds for each partition as arithmetic on the partition's number.

    XLA's partitioner looks offsets up in a constant with one element a partition. Where the elements are a sum of
    multiples of the digits of the partition's number, digits of whatever mesh fits, they are computed instead. Every
    element is checked; a table that fits no mesh stays, and so does one in a module that does not say how many
    partitions there are, since the lookup is clamped at the table's end.

    ```mlir
    %t = stablehlo.constant dense<[0, 0, 8, 8]> : tensor<4xi32>
    %p = stablehlo.partition_id : tensor<ui32>
    %0 = stablehlo.dynamic_slice %t, %p, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
    // becomes, with 4 partitions, %p / 2 * 8
    %p = stablehlo.partition_id : tensor<ui32>
    %1 = stablehlo.divide %p, %c2 : tensor<ui32>
    %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>
    %3 = stablehlo.multiply %2, %c8 : tensor<i32>
    %0 = stablehlo.reshape %3 : (tensor<i32>) -> tensor<1xi32>
    ```
    """

    name: ClassVar[str] = "fold-partition-tables"

    def apply(self, module: ir.Operation) -> None:
        counts = device_counts(module)
        if counts is None:
            return
        for op in nested(module):
            table = _lookup(op)
            if table is None or len(table) < counts[1]:
                continue
            digits = _digits(table[: counts[1]])
            if digits is not None:
                sources = [defining_op(operand) for operand in op.operands]
                replace(op, [_arithmetic(op, digits)])
                for source in sources:
                    if source is not None and not is_used(source):
                        source.erase()


def _lookup(op: ir.Operation) -> np.ndarray | None:
    """The table of an operation that picks the element of the own partition."""
    if op.name != "stablehlo.dynamic_slice" or len(op.operands) != 2:
        return None
    table, index = (defining_op(operand) for operand in op.operands)
    if table is None or index is None or table.name != "stablehlo.constant" or index.name != "stablehlo.partition_id":
        return None
    value = table.attributes["value"]
    if list(attributes(op)["slice_sizes"]) != [1] or not isinstance(value, ir.DenseIntElementsAttr):
        return None
    return (
        None
        if ir.RankedTensorType(value.type).element_type == ir.IntegerType.get_signless(1)
        else np.array(value, dtype=np.int64)
    )


@dataclass(frozen=True, slots=True)
class _Digits:
    """constant + Σ coefficient · (number / stride mod size), of the digits that matter; size 0 means no mod."""

    constant: int
    terms: tuple[tuple[int, int, int], ...]


def _digits(table: np.ndarray) -> _Digits | None:
    """The table as a sum over digits, in the mesh with the fewest digits of those that are tried."""
    count = len(table)
    best: _Digits | None = None
    for low in (divisor for divisor in range(1, count + 1) if count % divisor == 0):
        mesh = coarsest_mesh(count, [table], [(count // low, low)])
        fit = affine_fit(mesh.grid(table))
        if fit is not None:
            found = _Digits(fit[0], _terms(mesh, fit[1]))
            if best is None or len(found.terms) < len(best.terms):
                best = found
    return best


def _terms(mesh: Mesh, coefficients: tuple[int, ...]) -> tuple[tuple[int, int, int], ...]:
    terms: list[tuple[int, int, int]] = []
    stride = mesh.num_devices
    for position, (size, coefficient) in enumerate(zip(mesh.sizes, coefficients, strict=False)):
        stride //= size
        if coefficient:
            terms.append((coefficient, stride, size if position else 0))
    return tuple(terms)


def _arithmetic(op: ir.Operation, digits: _Digits) -> ir.Value:
    """The operations in front of a lookup that compute what it finds, and their result.

    Coefficients and constants are taken modulo the element type's range: sums of products do not care.
    """
    point, location = ir.InsertionPoint(op), op.location
    partition = op.operands[1]
    result = ir.RankedTensorType(op.results[0].type)
    unsigned, scalar = partition.type, ir.RankedTensorType.get([], result.element_type)

    def number(value: int, type_: ir.Type) -> ir.Value:
        array = np.array(value).astype(_numpy_type(ir.RankedTensorType(type_).element_type))
        value_ = ir.Attribute.parse(f"dense<{array}> : {type_}")
        return build("stablehlo.constant", [type_], [], point, location, value=value_).results[0]

    def apply(name: str, type_: ir.Type, *operands: ir.Value) -> ir.Value:
        return build(f"stablehlo.{name}", [type_], operands, point, location).results[0]

    total = number(digits.constant, scalar) if digits.constant or not digits.terms else None
    for coefficient, stride, size in digits.terms:
        digit = partition
        if stride > 1:
            digit = apply("divide", unsigned, digit, number(stride, unsigned))
        if size:
            digit = apply("remainder", unsigned, digit, number(size, unsigned))
        term = apply("convert", scalar, digit) if unsigned != scalar else digit
        if coefficient != 1:
            term = apply("multiply", scalar, term, number(coefficient, scalar))
        total = term if total is None else apply("add", scalar, total, term)
    assert total is not None
    return apply("reshape", result, total)


def _numpy_type(type_: ir.Type) -> np.dtype:
    integer = ir.IntegerType(type_)
    return np.dtype(f"{'u' if integer.is_unsigned else ''}int{integer.width}")
