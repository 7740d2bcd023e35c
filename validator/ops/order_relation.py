"""How operations on whole rows relate: sorts, selections of the greatest, dense factorisations, opaque calls."""

from __future__ import annotations

from typing import Any

from ..read.ir import Op
from .engine import Engine, RowOperand
from .order_maps import ROWS
from .values import is_tensor


def relate_row_op(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    """An op that treats rows by themselves."""
    rows = ROWS[op.name](engine.builder, op)
    if isinstance(rows, str) or not all(map(is_tensor, values)):
        return engine.refuse(op, rows if isinstance(rows, str) else f"op '{op.name}'")
    read = [RowOperand(values[number], rel, rank) for number, rel, rank in rows.operands]
    return engine.rows(rows.key, read, rows.batch, [result.tensor for result in op.results], rows.reads)


RELATIONS = dict.fromkeys(ROWS, relate_row_op)
