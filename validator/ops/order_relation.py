"""How operations on whole rows relate: sorts, selections of the greatest, dense factorisations, opaque calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..read.ir import Op
from ..relate.rows import RowOperand, relate_rows
from ..relate.value import AnyVal, Val
from .order_maps import ROWS

if TYPE_CHECKING:
    from ..relate.walk import Walk


def relate_row_op(walk: Walk, op: Op, values: list[AnyVal]) -> list[AnyVal]:
    """An op that treats rows by themselves."""
    rows = ROWS[op.name](walk.builder, op)
    operands = [value for value in values if isinstance(value, Val)]
    if isinstance(rows, str) or len(operands) < len(values):
        return [walk.not_modelled(r.type, rows if isinstance(rows, str) else f"op '{op.name}'") for r in op.results]
    read = [RowOperand(operands[number], rel, rank) for number, rel, rank in rows.operands]
    return relate_rows(walk, rows.key, read, rows.batch, [result.tensor for result in op.results], rows.reads)


RELATIONS = dict.fromkeys(ROWS, relate_row_op)
