"""Reductions of several operands that never meet, as one reduction each.

XLA for TPUs sums a complex number as two parts in one `reduce`. Each part is a sum by itself; taken together they would
be known only as some function of whole rows in order.
"""

from __future__ import annotations

from dataclasses import replace

from .dependencies import regions
from .ir import Op, Program, Region

_REDUCING = ("stablehlo.reduce", "stablehlo.reduce_window")


def separate_reductions(program: Program) -> Program:
    """The program with a reduction for each operand of one whose reducer combines each by itself."""
    if not any(_is_joint(op) for region in regions(program.body) for op in region.ops):
        return program
    return replace(program, body=_separated(program.body))


def _is_joint(op: Op) -> bool:
    return op.name in _REDUCING and len(op.results) > 1


def _separated(region: Region) -> Region:
    ops: list[Op] = []
    for op in region.ops:
        ops += _parts(op) if _is_joint(op) else [replace(op, regions=tuple(map(_separated, op.regions)))]
    return replace(region, ops=tuple(ops))


def _parts(op: Op) -> list[Op]:
    """A reduction for each result; the op where two of them share an argument or an operation of the reducer."""
    (region,), count = op.regions, len(op.results)
    if len(op.operands) != 2 * count or len(region.arguments) != 2 * count or len(region.results) != count:
        return [op]
    parts, taken = [], set[int]()
    for k in range(count):
        arguments = region.arguments[k], region.arguments[count + k]
        live, inner = {region.results[k].number}, list[Op]()
        for each in reversed(region.ops):
            if live & {result.number for result in each.results}:
                inner.insert(0, each)
                live.update(operand.number for operand in each.operands)
        made = {result.number for each in inner for result in each.results}
        outside = live - made - {argument.number for argument in arguments}
        if outside or made & taken or any(each.regions for each in inner):
            return [op]
        taken |= made
        own = Region(arguments, tuple(inner), (region.results[k],))
        parts.append(
            replace(
                op,
                operands=(op.operands[k], op.operands[count + k]),
                results=(op.results[k],),
                regions=(own,),
                shardings=op.shardings[k : k + 1],
            )
        )
    return parts
