"""Comparators of sorts as expressions: what tells two of them apart, what they look at, how they break ties.

An expression is named by a digest of all that it is made of, so that equal names are equal functions, whatever the
order and the names of the ops are that compute them. x > y is written y < x, and floats in their total order are
compared by their bits as integers, those of negative numbers turned: XLA for TPUs writes that out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..read.attributes import Comparison
from ..read.ir import DType, Op, Region, TensorType, Type
from .annotations import ANNOTATIONS
from .devices import DEVICE_NUMBERS
from .keys import frozen_attributes, implied

_SYMMETRIC = frozenset(f"stablehlo.{name}" for name in ("add", "multiply", "maximum", "minimum", "and", "or", "xor"))
_SYMMETRIC_COMPARISONS = {("stablehlo.compare", "EQ"), ("stablehlo.compare", "NE")}
_TURNED = {Comparison.GT: Comparison.LT, Comparison.GE: Comparison.LE}
_BITS = {DType.BF16: DType.I16, DType.F16: DType.I16, DType.F32: DType.I32, DType.F64: DType.I64}
"""Types that have a sign, an exponent and a fraction, in this order, and integers as wide."""

_PARTIAL = "PARTIAL"
"""How floats are compared that are in no total order: NaN is neither less than anything nor greater."""

_NO_FUNCTIONS = frozenset({"stablehlo.custom_call", "stablehlo.rng", *DEVICE_NUMBERS})
"""What is not the same for equal operands on all devices, or not known to be."""


@dataclass(frozen=True, slots=True)
class _Node:
    """An op on other expressions, or an argument by its number."""

    what: tuple[Hashable, ...]
    operands: tuple[str, ...] = ()
    argument: int | None = None


@dataclass(slots=True)
class _Expressions:
    """All expressions of one comparator by their names, those that others are made of first."""

    known: dict[str, _Node] = field(default_factory=dict)

    def argument(self, number: int, type_: str) -> str:
        return self._kept(_Node((type_,), argument=number))

    def applied(self, what: tuple[Hashable, ...], operands: Sequence[str]) -> str:
        symmetric = what[0] in _SYMMETRIC or what[:2] in _SYMMETRIC_COMPARISONS
        return self._kept(_Node(what, tuple(sorted(operands) if symmetric else operands)))

    def op(
        self, name: str, attributes: Mapping[str, Any], type_: Type, operands: Sequence[str], position: int = 0
    ) -> str:
        """One result of an op, the one at this position."""
        wanted = [key for key in attributes if key not in ANNOTATIONS]
        items = tuple(item for item in frozen_attributes(attributes, wanted) if not implied(name, item))
        return self.applied((name, items, str(type_), position), operands)

    def compared(self, direction: Comparison, left: str, right: str, order: str = "") -> str:
        """A comparison; `order` is what else is said of it than the operands' type says."""
        if direction in _TURNED:
            direction, left, right = _TURNED[direction], right, left
        return self.applied(("stablehlo.compare", direction.value, order), (left, right))

    def in_total_order(self, number: str, dtype: DType) -> str:
        """A float as the integer that compares as it does in the total order."""
        integer = TensorType((), _BITS[dtype])
        zero, ones = (
            self.op("stablehlo.constant", {"value": np.array(value, f"int{dtype.bits}")}, integer, ())
            for value in (0, integer.dtype.integer_range[1])
        )
        bits = self.op("stablehlo.bitcast_convert", {}, integer, (number,))
        turned = self.op("stablehlo.xor", {}, integer, (ones, bits))
        negative = self.compared(Comparison.LT, bits, zero)
        return self.op("stablehlo.select", {}, integer, (negative, turned, bits))

    def reached(self, root: str) -> set[str]:
        """The names of all that an expression is made of."""
        found, stack = set[str](), [root]
        while stack:
            name = stack.pop()
            if name not in found:
                found.add(name)
                stack += self.known[name].operands
        return found

    def with_arguments(self, root: str, change: Callable[[int], int]) -> str:
        """The expression with other arguments in the place of its own."""
        made: dict[str, str] = {}
        reached = self.reached(root)
        for name, node in [item for item in self.known.items() if item[0] in reached]:
            if node.argument is not None:
                made[name] = self.argument(change(node.argument), str(node.what[0]))
            else:
                made[name] = self.applied(node.what, [made[operand] for operand in node.operands])
        return made[root]

    def _kept(self, node: _Node) -> str:
        name = hashlib.sha256(repr((node.what, node.operands, node.argument)).encode()).hexdigest()
        self.known.setdefault(name, node)
        return name


@dataclass(frozen=True, slots=True)
class Comparator:
    """Of operand n, argument 2n is what may come first and argument 2n + 1 the other one."""

    expressions: _Expressions
    root: str

    def operands(self) -> tuple[int, ...]:
        """The numbers of the operands that it looks at, in order."""
        arguments = [self.expressions.known[name].argument for name in self.expressions.reached(self.root)]
        return tuple(sorted({argument // 2 for argument in arguments if argument is not None}))

    def name(self, operands: Sequence[int]) -> str:
        """What tells it apart from others; the operands that it looks at are numbered as they stand here."""
        places = {number: place for place, number in enumerate(operands)}
        return self.expressions.with_arguments(self.root, lambda k: 2 * places[k // 2] + k % 2)

    def by_number(self) -> tuple[Comparator, int] | None:
        """(L, n) where this is L, but whether operand n is less where L does not tell two elements apart; else None.

        L is a strict weak order: what it does not tell apart is alike, so there is one order that this sorts into.
        """
        known = self.expressions.known
        top = known[self.root]
        if top.what[0] != "stablehlo.select":
            return None
        alike, less, order = top.operands
        numbers = [known[name].argument for name in known[less].operands]
        if known[less].what != ("stablehlo.compare", "LT", "") or numbers[0] is None or numbers[0] % 2:
            return None
        alike_both_ways = self.expressions.compared(Comparison.EQ, order, self._other_way(order))
        if numbers[1] != numbers[0] + 1 or alike != alike_both_ways or not self._is_weak_order(order):
            return None
        return Comparator(self.expressions, order), numbers[0] // 2

    def _other_way(self, name: str) -> str:
        return self.expressions.with_arguments(name, lambda k: k ^ 1)

    def _is_weak_order(self, name: str) -> bool:
        """Whether this is x < y, where y is of the one what x is of the other, of a type whose numbers have an order,
        or several such tests one after the other, as sorts by several keys have them.

        Neither a conjunction nor a choice by something else is that, nor what calls NaN no less than anything.
        """
        node = self.expressions.known[name]
        match node.what[0]:
            case "stablehlo.compare":
                return self._is_by_key(node)
            case "stablehlo.select":
                test, rest, first = node.operands
                return self._goes_on(first, test, rest)
            case "stablehlo.or":
                return any(self._comes_first(*way) for way in _both_ways(node.operands))
        return False

    def _is_by_key(self, node: _Node) -> bool:
        """Whether this is x < y for one and the same x of each of the two elements by itself."""
        known = self.expressions.known
        if node.what[:2] != ("stablehlo.compare", "LT") or node.what[2] == _PARTIAL:
            return False
        left, right = node.operands
        arguments = [known[name].argument for name in self.expressions.reached(left)]
        sides = {argument % 2 for argument in arguments if argument is not None}
        return len(sides) == 1 and self._other_way(left) == right

    def _comes_first(self, first: str, rest: str) -> bool:
        """Whether this is x < y, or else x = y and something that orders what is left."""
        node = self.expressions.known[rest]
        if node.what[0] != "stablehlo.and":
            return False
        return any(self._goes_on(first, test, more) for test, more in _both_ways(node.operands))

    def _goes_on(self, first: str, test: str, rest: str) -> bool:
        """Whether x < y is asked first, and where x = y, which is the test, something that orders what is left."""
        node = self.expressions.known[first]
        if not self._is_by_key(node):
            return False
        equal = self.expressions.compared(Comparison.EQ, *node.operands, order=str(node.what[2]))
        return test == equal and self._is_weak_order(rest)


def _both_ways(pair: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    return pair, pair[::-1]


def comparator_of(region: Region) -> Comparator | None:
    """What a region says of two elements; None where it reads outer values, nests regions or calls something opaque."""
    expressions, made = _Expressions(), dict[int, str]()
    for number, argument in enumerate(region.arguments):
        made[argument.number] = expressions.argument(number, str(argument.type))
    for op in region.ops:
        if op.regions or op.name in _NO_FUNCTIONS or any(value.number not in made for value in op.operands):
            continue
        operands = [made[value.number] for value in op.operands]
        for position, result in enumerate(op.results):
            made[result.number] = _result(expressions, op, operands, position)
    return Comparator(expressions, made[region.results[0].number]) if region.results[0].number in made else None


def _result(expressions: _Expressions, op: Op, operands: list[str], position: int) -> str:
    type_ = op.results[position].type
    if op.name != "stablehlo.compare":
        return expressions.op(op.name, op.attributes, type_, operands, position)
    dtype, order = op.operands[0].tensor.dtype, str(op.attributes.get("compare_type", "")).upper()
    if not order.endswith("TOTALORDER"):
        order = "" if dtype.is_integer or dtype.is_bool else _PARTIAL
    elif dtype in _BITS and not op.operands[0].tensor.rank:
        operands, order = [expressions.in_total_order(operand, dtype) for operand in operands], ""
    return expressions.compared(op.attributes["comparison_direction"], operands[0], operands[1], order)
