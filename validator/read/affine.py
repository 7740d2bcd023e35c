"""Quasi-affine expressions as MLIR's affine maps have them, in one normal form that needs no MLIR."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..compat import ir


@dataclass(frozen=True, slots=True)
class Floor:
    """The numerator divided by a positive integer, rounded down."""

    numerator: Affine
    divisor: int


@dataclass(frozen=True, slots=True)
class Affine:
    """A constant plus integer multiples of variables (by number) and of rounded quotients, each of which once."""

    constant: int = 0
    terms: tuple[tuple[int, int | Floor], ...] = ()

    @staticmethod
    def variable(number: int) -> Affine:
        return Affine(0, ((1, number),))

    @property
    def is_constant(self) -> bool:
        return not self.terms

    def __add__(self, other: Affine) -> Affine:
        totals: dict[int | Floor, int] = {}
        for factor, term in (*self.terms, *other.terms):
            totals[term] = totals.get(term, 0) + factor
        return Affine(
            self.constant + other.constant, tuple((factor, term) for term, factor in totals.items() if factor)
        )

    def times(self, factor: int) -> Affine:
        if factor == 0:
            return Affine()
        return Affine(factor * self.constant, tuple((factor * each, term) for each, term in self.terms))

    def floor_divided(self, divisor: int) -> Affine:
        """Rounded down; the divisor is positive."""
        if self.is_constant:
            return Affine(self.constant // divisor)
        return self if divisor == 1 else Affine(0, ((1, Floor(self, divisor)),))

    def substituted(self, values: Mapping[int, Affine]) -> Affine:
        """With expressions in place of some variables."""
        result = Affine(self.constant)
        for factor, term in self.terms:
            if isinstance(term, Floor):
                inner = term.numerator.substituted(values).floor_divided(term.divisor)
            else:
                inner = values.get(term, Affine.variable(term))
            result += inner.times(factor)
        return result

    def evaluated(self, values: Sequence[Any]) -> Any:
        """The value for integers, or for integer arrays of shapes that broadcast."""
        total: Any = self.constant
        for factor, term in self.terms:
            if isinstance(term, Floor):
                total = total + factor * (term.numerator.evaluated(values) // term.divisor)
            else:
                total = total + factor * values[term]
        return total

    def floors(self) -> list[Floor]:
        """The rounded quotients in it, the inner ones too."""
        found = []
        for _, term in self.terms:
            if isinstance(term, Floor):
                found += [term, *term.numerator.floors()]
        return found

    def numbers(self) -> list[int]:
        """Every constant, factor and divisor in it, the inner ones too."""
        found = [self.constant]
        for factor, term in self.terms:
            found.append(factor)
            if isinstance(term, Floor):
                found += [term.divisor, *term.numerator.numbers()]
        return found

    def variables(self) -> set[int]:
        found: set[int] = set()
        for _, term in self.terms:
            found |= term.numerator.variables() if isinstance(term, Floor) else {term}
        return found


@dataclass(frozen=True, slots=True)
class Constraint:
    """The expression is zero, or it is not negative."""

    expression: Affine
    is_equality: bool


LIMIT = 300
"""More operations in each other, or numbers in the normal form, are refused: remainders of remainders double it."""


def from_mlir(expression: ir.AffineExpr, symbols: Sequence[int], depth: int = 0) -> Affine:
    """The normal form of an MLIR expression, its symbols bound to numbers. Raises ValueError where it is not affine.

    Variables keep their numbers. `depth` tells in how many operations the expression stands.
    """
    combine = _OPERATIONS.get(type(expression))
    if combine is not None and depth <= LIMIT:
        node: Any = expression
        combined = combine(*(from_mlir(side, symbols, depth + 1) for side in (node.lhs, node.rhs)))
        if len(combined.numbers()) <= LIMIT:
            return combined
    if combine is not None:
        raise ValueError(f"an expression of more than {LIMIT} operations or numbers")
    if isinstance(expression, ir.AffineConstantExpr):
        return Affine(expression.value)
    if isinstance(expression, ir.AffineDimExpr):
        return Affine.variable(expression.position)
    if isinstance(expression, ir.AffineSymbolExpr):
        return Affine(symbols[expression.position])
    raise ValueError(f"'{expression}' is no affine expression")


def _product(left: Affine, right: Affine) -> Affine:
    if right.is_constant:
        return left.times(right.constant)
    if left.is_constant:
        return right.times(left.constant)
    raise ValueError("multiplies two variables")


def _divisor(right: Affine) -> int:
    if not right.is_constant or right.constant <= 0:
        raise ValueError("divides by something else than a positive number")
    return right.constant


def _floor(left: Affine, right: Affine) -> Affine:
    return left.floor_divided(_divisor(right))


def _ceiling(left: Affine, right: Affine) -> Affine:
    return left.times(-1).floor_divided(_divisor(right)).times(-1)


def _remainder(left: Affine, right: Affine) -> Affine:
    return left + _floor(left, right).times(-_divisor(right))


_OPERATIONS: dict[type, Callable[[Affine, Affine], Affine]] = {
    ir.AffineAddExpr: Affine.__add__,
    ir.AffineMulExpr: _product,
    ir.AffineFloorDivExpr: _floor,
    ir.AffineCeilDivExpr: _ceiling,
    ir.AffineModExpr: _remainder,
}
