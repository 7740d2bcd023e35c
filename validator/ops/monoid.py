"""The commutative monoids that values may be partial sums of."""

from __future__ import annotations

import enum

from ..read.ir import DType, Op, Region, hands_on


class Monoid(enum.Enum):
    """A reducer; the value is the StableHLO op that combines two elements."""

    ADD = "stablehlo.add"
    MUL = "stablehlo.multiply"
    MAX = "stablehlo.maximum"
    MIN = "stablehlo.minimum"
    AND = "stablehlo.and"
    OR = "stablehlo.or"
    XOR = "stablehlo.xor"

    @property
    def idempotent(self) -> bool:
        """Counting an element twice changes nothing."""
        return self in (Monoid.MAX, Monoid.MIN, Monoid.AND, Monoid.OR)

    def reorders_exactly(self, dtype: DType) -> bool:
        """Any order and grouping gives the same bits (NaN payloads aside)."""
        return self.idempotent or not (dtype.is_float or dtype.is_complex)

    def neutral(self, dtype: DType) -> int | float | None:
        """The neutral element as a Python number; None where the type has none."""
        if dtype.is_complex:
            return {Monoid.ADD: 0, Monoid.MUL: 1}.get(self)
        if dtype.is_float:
            return {
                Monoid.ADD: 0,
                Monoid.MUL: 1,
                Monoid.MAX: float("-inf"),
                Monoid.MIN: float("inf"),
            }.get(self)
        low, high = dtype.integer_range
        ones = 1 if dtype.is_bool else (high if not dtype.is_signed else -1)
        return {
            Monoid.ADD: 0,
            Monoid.MUL: 1,
            Monoid.MAX: low,
            Monoid.MIN: high,
            Monoid.AND: ones,
            Monoid.OR: 0,
            Monoid.XOR: 0,
        }[self]


_BY_OP = {monoid.value: monoid for monoid in Monoid}

_LOGICAL = {Monoid.MAX: Monoid.OR, Monoid.ADD: Monoid.OR, Monoid.MIN: Monoid.AND, Monoid.MUL: Monoid.AND}
"""What the others are on booleans, as StableHLO defines it."""

_SIGNED = {"stablehlo.subtract": (1, -1), "stablehlo.negate": (-1,)}


def combination(name: str, dtype: DType) -> tuple[Monoid, tuple[int, ...]] | None:
    """The monoid in which an elementwise op combines its operands, and their signs; None for any other op."""
    if name in _SIGNED:
        # of positive numbers alone there is nothing that -y could be
        return None if dtype.is_bool or dtype.is_positive else (Monoid.ADD, _SIGNED[name])
    monoid = _BY_OP.get(name)
    return monoid and (_LOGICAL.get(monoid, monoid) if dtype.is_bool else monoid, (1, 1))


def monoid_of_region(region: Region) -> Monoid | None:
    """The monoid a reducer region computes: one binary op on its two arguments; None for anything else."""
    if len(region.arguments) != 2 or len(region.results) != 1 or not region.ops:
        return None
    op: Op = region.ops[0]
    returned = op.results[0] if len(op.results) == 1 else None
    for copy in region.ops[1:]:
        if not hands_on(copy) or copy.operands != (returned,):
            return None
        returned = copy.results[0]
    monoid = _BY_OP.get(op.name)
    if monoid is None or region.results[0] is not returned:
        return None
    if {operand.number for operand in op.operands} != {argument.number for argument in region.arguments}:
        return None
    if op.results[0].tensor.dtype != region.arguments[0].tensor.dtype:
        return None
    return _LOGICAL.get(monoid, monoid) if op.results[0].tensor.dtype.is_bool else monoid
