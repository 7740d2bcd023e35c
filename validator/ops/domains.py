"""What the inputs that theory *real* speaks of leave no other value for: what a program divides by is not zero.

Only where the program computes real numbers from an input it is judged by it. So whatever its result depends on for all
inputs, and however choices come out, is a real number; what a choice, a slice or a loop may leave out need not be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..read.ir import Op, Program, TensorType, Value
from ..relation.build import Builder
from ..relation.objects import Dom
from .elementwise import OF_POSITIVE, TOTAL_OVER_REALS
from .monoid import Monoid, monoid_of_region
from .movement_maps import IDENTITIES, MOVES

LIMITED: Mapping[str, int] = {"stablehlo.divide": 1, **dict.fromkeys(OF_POSITIVE, 0)}
"""Ops that give no real number for some operands: the position of the one that it depends on."""

_POSITIVE = frozenset({"stablehlo.log", "stablehlo.rsqrt"})

ALLOWED_BY: Mapping[str, frozenset[str]] = {
    "stablehlo.divide": _POSITIVE | {"stablehlo.divide"},
    "stablehlo.sqrt": _POSITIVE | {"stablehlo.sqrt"},
    **dict.fromkeys(_POSITIVE, _POSITIVE),
}
"""Limited ops that give a real number for whatever these give one for, if it is a real number."""

_ELEMENTWISE = frozenset({*TOTAL_OVER_REALS, *LIMITED, "stablehlo.compare"})
"""Ops every element of whose result depends on those of its operands; of a selection only on what it chooses by."""


def limited(builder: Builder, program: Program) -> list[tuple[int, str, Dom]]:
    """Values by number, limited ops that a logical program applies to them for all inputs, and at which indices.

    A program of devices has none: its padding may be anything.
    """
    store, needed, found = builder.store, dict[int, Dom](), list[tuple[int, str, Dom]]()

    def need(value: Value, indices: Dom) -> None:
        known = needed.get(value.number)
        needed[value.number] = indices if known is None else store.set_union(known, indices)

    for result in program.results if program.num_devices == 1 else ():
        if isinstance(result.value.type, TensorType):
            need(result.value, builder.points(result.value.tensor.shape))
    for op in reversed(program.body.ops):
        if len(op.results) == 1 and op.results[0].number in needed:
            indices = needed[op.results[0].number]
            for operand, read in _reads(builder, op, indices):
                need(operand, read)
            if op.name in LIMITED and op.results[0].tensor.dtype.is_float:
                found.append((op.operands[LIMITED[op.name]].number, op.name, indices))
    return found


def _reads(builder: Builder, op: Op, indices: Dom) -> Iterator[tuple[Value, Dom]]:
    """What an op's result depends on at these indices whatever it is, and at which of its own."""
    if op.name in MOVES:
        for number, rel in MOVES[op.name](builder, op):
            yield op.operands[number], builder.store.image(indices, rel)
    elif op.name in IDENTITIES or op.name in _ELEMENTWISE:
        for operand in op.operands[:1] if op.name == "stablehlo.select" else op.operands:
            if isinstance(operand.type, TensorType) and operand.type.shape == op.results[0].tensor.shape:
                yield operand, indices
    elif _sums_all(op):
        whole = builder.points(op.results[0].tensor.shape)
        if builder.store.set_subset(whole, indices) and not builder.store.set_empty(whole):
            for operand in op.operands:
                yield operand, builder.points(operand.tensor.shape)


def _sums_all(op: Op) -> bool:
    """Whether every element of every operand goes into some element of the result, if it has any."""
    if op.name == "stablehlo.reduce" and len(op.operands) == 2:
        return monoid_of_region(op.regions[0]) in (Monoid.ADD, Monoid.MUL, Monoid.MAX, Monoid.MIN)
    return op.name == "stablehlo.dot_general"
