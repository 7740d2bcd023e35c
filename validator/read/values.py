"""New values and operations for a program that is rewritten."""

from __future__ import annotations

import numpy as np

from .attributes import DeviceGroups
from .ir import DType, Location, Op, Program, Region, TensorType, Value


class Maker:
    """Makes operations on values whose numbers no other value of the program has."""

    def __init__(self, program: Program) -> None:
        self._next = 1 + max(_numbers(program), default=0)

    def value(self, type_: TensorType) -> Value:
        self._next += 1
        return Value(self._next - 1, type_, f"%{self._next - 1}")

    def constant(self, array: np.ndarray, dtype: DType) -> Op:
        return Op("stablehlo.constant", (), (self.value(TensorType(array.shape, dtype)),), {"value": array})

    def reducer(self, name: str, dtype: DType) -> Region:
        """The region of a reduction that combines two scalars by one operation."""
        left, right, both = (self.value(TensorType((), dtype)) for _ in range(3))
        return Region((left, right), (Op(name, (left, right), (both,), {}),), (both,))

    def all_reduce(self, operand: Value, reducer: str, groups: DeviceGroups, location: Location) -> Op:
        region = self.reducer(reducer, operand.tensor.dtype)
        attributes = {"replica_groups": groups}
        result = self.value(operand.tensor)
        return Op("stablehlo.all_reduce", (operand,), (result,), attributes, (region,), location)

    def where_device(
        self, chosen: np.ndarray, value: Value, other: np.ndarray, result: Value, location: Location
    ) -> list[Op]:
        """`result` is `value` on those devices [devices] that are chosen, and the scalar `other` on the rest."""
        number, own, scalar, mask, fill = (
            self.value(type_)
            for type_ in (
                TensorType((), DType.UI32),
                TensorType((1,), DType.I1),
                TensorType((), DType.I1),
                TensorType(value.tensor.shape, DType.I1),
                value.tensor,
            )
        )
        table, rest = self.constant(chosen, DType.I1), self.constant(other, value.tensor.dtype)
        made = [
            ("stablehlo.partition_id", (), number, {}),
            ("stablehlo.dynamic_slice", (table.results[0], number), own, {"slice_sizes": (1,)}),
            ("stablehlo.reshape", (own,), scalar, {}),
            ("stablehlo.broadcast_in_dim", (scalar,), mask, {"broadcast_dimensions": ()}),
            ("stablehlo.broadcast_in_dim", (rest.results[0],), fill, {"broadcast_dimensions": ()}),
            ("stablehlo.select", (mask, value, fill), result, {}),
        ]
        return [table, rest, *(Op(name, given, (to,), attrs, (), location) for name, given, to, attrs in made)]


def _numbers(program: Program) -> list[int]:
    found = [parameter.value.number for parameter in program.parameters]
    pending = [program.body]
    while pending:
        region = pending.pop()
        found += [argument.number for argument in region.arguments]
        for op in region.ops:
            found += [result.number for result in op.results]
            pending.extend(op.regions)
    return found
