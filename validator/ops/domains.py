"""What the inputs that theory *real* speaks of leave no other value for: what a program divides by is not zero.

Only where the program computes real numbers from an input it is judged by it. So whatever its result depends on for all
inputs, and however choices come out, is a real number; what a choice, a loop or a slice may leave out need not be.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..read.ir import Op, Program, TensorType
from .elementwise import OF_POSITIVE, TOTAL_OVER_REALS
from .monoid import Monoid, monoid_of_region
from .movement_maps import IDENTITIES

LIMITED: Mapping[str, int] = {"stablehlo.divide": 1, **dict.fromkeys(OF_POSITIVE, 0)}
"""Ops that give no real number for some operands: the position of the one that it depends on."""

_POSITIVE = frozenset({"stablehlo.log", "stablehlo.rsqrt"})

ALLOWED_BY: Mapping[str, frozenset[str]] = {
    "stablehlo.divide": _POSITIVE | {"stablehlo.divide"},
    "stablehlo.sqrt": _POSITIVE | {"stablehlo.sqrt"},
    **dict.fromkeys(_POSITIVE, _POSITIVE),
}
"""Limited ops that give a real number for whatever these give one for, if it is a real number."""

_LINEAR = ("broadcast_in_dim", "concatenate", "dot_general", "reshape", "reverse", "transpose")

_WHOLE = frozenset(
    {*(TOTAL_OVER_REALS - {"stablehlo.select"}), *LIMITED, *IDENTITIES, *(f"stablehlo.{name}" for name in _LINEAR)}
)
"""Ops every result of which depends on its operands, and all of these on every element of the operands."""


def limited(program: Program) -> list[tuple[int, str]]:
    """By number, values that a logical program applies limited ops to whatever its inputs are, and these ops.

    They hold for each element of the value, for all inputs. A program of devices has none: its padding may be anything.
    """
    needed = {result.value.number for result in program.results}
    found: list[tuple[int, str]] = []
    for op in reversed(program.body.ops) if program.num_devices == 1 else ():
        if _reads_all(op) and all(result.number in needed for result in op.results):
            needed |= {operand.number for operand in op.operands}
            if op.name in LIMITED and op.results[0].tensor.dtype.is_float:
                found.append((op.operands[LIMITED[op.name]].number, op.name))
    return found


def _reads_all(op: Op) -> bool:
    """Whether the results, taken together, depend on every element of every operand, whatever these are."""
    types = [value.type for value in (*op.operands, *op.results)]
    if not all(isinstance(type_, TensorType) and type_.size for type_ in types):
        return False
    if op.name == "stablehlo.reduce":
        monoid = monoid_of_region(op.regions[0]) if len(op.operands) == 2 else None
        return monoid in (Monoid.ADD, Monoid.MUL, Monoid.MAX, Monoid.MIN)
    return op.name in _WHOLE
